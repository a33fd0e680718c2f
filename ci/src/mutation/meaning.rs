//! What an instruction computes, whatever its registers are called.
//!
//! In: the instructions of a text. Out: for each of them its opcode and operands, with registers
//! replaced by what defines them, two steps deep: `setp.ge.u32 (shr.u32 (mov.u32 %ctaid.x), 1), _`.
//! Names of registers and labels change with every change of a kernel, this does not, so reasons
//! of survivors can speak of single instructions. Registers with several definitions are `_`. Of
//! what a branch leads to, and leads past, the first opcode that touches shared state is told:
//! `@(setp.eq.b32 (and.b32 _, 127), 0) bra $ past bar.sync to cp.async.bulk.commit_group`.

use std::collections::HashMap;

use super::statement::{Statement, accesses};

/// How many definitions are looked up behind one another.
const DEPTH: usize = 2;

/// Opcodes whose first operand is no register that they write.
const NO_RESULT: [&str; 12] = [
    "st",
    "red",
    "bar",
    "barrier",
    "bra",
    "cp",
    "wgmma",
    "mbarrier",
    "stmatrix",
    "fence",
    "prefetch",
    "setmaxnreg",
];

/// The instructions that write each register.
struct Definitions<'s, 't>(HashMap<&'t str, Vec<&'s Statement<'t>>>);

/// What each instruction computes.
pub fn meanings(all: &[Statement<'_>]) -> Vec<String> {
    let mut definitions = Definitions(HashMap::new());
    for one in all {
        for register in written(one) {
            definitions.0.entry(register).or_default().push(one);
        }
    }
    let ways = Ways::of(all);
    all.iter()
        .enumerate()
        .map(|(index, one)| {
            let guard = one.guard.map(|guard| {
                let sign = if one.negated { "!" } else { "" };
                format!("@{sign}{} ", definitions.of(guard, DEPTH))
            });
            let body = definitions.body(one, DEPTH);
            format!(
                "{}{body}{}",
                guard.unwrap_or_default(),
                ways.from(all, index)
            )
        })
        .collect()
}

/// Where branches lead.
struct Ways<'t> {
    labels: HashMap<&'t str, Vec<usize>>,
}

impl<'t> Ways<'t> {
    fn of(all: &[Statement<'t>]) -> Ways<'t> {
        let mut labels: HashMap<&str, Vec<usize>> = HashMap::new();
        for (index, one) in all.iter().enumerate() {
            for label in &one.labels {
                labels.entry(label).or_default().push(index);
            }
        }
        Ways { labels }
    }

    /// What a branch under a condition leads past and to.
    fn from(&self, all: &[Statement<'_>], index: usize) -> String {
        let Some(one) = all.get(index) else {
            return String::new();
        };
        if one.guard.is_none() || !one.is("bra") {
            return String::new();
        }
        // Labels of inline assembly are not unique; the nearest one is meant.
        let label = one.operands.first().and_then(|name| self.labels.get(name));
        let target = label.and_then(|all| all.iter().min_by_key(|at| at.abs_diff(index)));
        let first = |start: usize| {
            let block = all.get(start).map(|one| one.block);
            let same = all[start.min(all.len())..].iter();
            let mut same = same.take_while(|one| Some(one.block) == block);
            same.find(|one| accesses(one)).map(|one| one.opcode)
        };
        let way = |word: &str, opcode: Option<&str>| {
            opcode.map_or(String::new(), |opcode| format!(" {word} {opcode}"))
        };
        let to = target.and_then(|target| first(*target));
        way("past", first(index + 1)) + &way("to", to)
    }
}

/// The registers that an instruction writes.
fn written<'t>(one: &Statement<'t>) -> Vec<&'t str> {
    let waits = one.is("mbarrier.try_wait") || one.is("mbarrier.test_wait");
    if !waits && NO_RESULT.iter().any(|name| one.is(name)) {
        return Vec::new();
    }
    let results = one.operands.first().copied().unwrap_or_default();
    let names = results.split(['{', '}', '|', ',']).map(str::trim);
    names.filter(|name| name.starts_with('%')).collect()
}

impl Definitions<'_, '_> {
    fn body(&self, one: &Statement<'_>, depth: usize) -> String {
        let results = usize::from(!written(one).is_empty());
        let operands = one.operands.iter().skip(results);
        let operands: Vec<String> = operands.map(|text| self.operand(text, depth)).collect();
        if operands.is_empty() {
            return one.opcode.to_owned();
        }
        format!("{} {}", one.opcode, operands.join(", "))
    }

    /// An operand with its registers replaced, and labels and names of the kernel left out.
    fn operand(&self, text: &str, depth: usize) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(['%', '$', '_']) {
            out.push_str(&rest[..at]);
            let name_end =
                rest[at + 1..].find(|c: char| !c.is_alphanumeric() && c != '_' && c != '.');
            let end = name_end.map_or(rest.len(), |end| at + 1 + end);
            let name = &rest[at..end];
            match name.as_bytes().first() {
                Some(b'%') => out.push_str(&self.of(name, depth)),
                Some(b'_') => out.push_str(last_word(name)),
                _ => out.push('$'),
            }
            rest = &rest[end..];
        }
        out + rest
    }

    /// What defines a register.
    fn of(&self, name: &str, depth: usize) -> String {
        let Some(definitions) = self.0.get(name) else {
            // A special register, or one that inline assembly declares.
            return name.to_owned();
        };
        match definitions[..] {
            [one] if depth > 0 => format!("({})", self.body(one, depth - 1)),
            _ => "_".to_owned(),
        }
    }
}

/// `_param_3` of `_f16_tn_64x128_param_3`: the end of a name that starts with the kernel's.
fn last_word(name: &str) -> &str {
    name.find("_param_").map_or("_", |at| &name[at..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutation::statement::statements;

    #[test]
    fn registers_become_their_definitions() {
        let text = "ld.param.b32 %r9, [k_128x64_param_4];\nshr.u32 %r1, %r9, 7;\n\
                    add.s32 %r2, %r1, %r5;\nmov.u32 %r3, %tid.x;\nadd.s32 %r4, %r4, 1;\n\
                    mov.b32 %r4, 0;\nsetp.ge.u32 %p1, %r3, %r2;\n@!%p1 bra $L_3;\n\
                    st.shared.b32 [%r4+8], %r3;\nelect.sync %r7|%p2, -1;\n@%p2 bra $L_4;\n";
        let all = meanings(&statements(text));
        assert_eq!(
            all[6],
            "setp.ge.u32 (mov.u32 %tid.x), (add.s32 (shr.u32 _, 7), %r5)"
        );
        assert_eq!(
            all[7],
            "@!(setp.ge.u32 (mov.u32 %tid.x), (add.s32 _, %r5)) bra $ past st.shared.b32"
        );
        assert_eq!(all[8], "st.shared.b32 [_+8], (mov.u32 %tid.x)");
        assert_eq!(all[10], "@(elect.sync -1) bra $");
        assert_eq!(all[1], "shr.u32 (ld.param.b32 [k_param_4]), 7");
    }

    #[test]
    fn branches_tell_where_they_lead() {
        let text = "@%p1 bra $L_1;\nbra.uni $L_2;\n$L_1:\nadd.u32 %r1, %r2, 1;\nbar.sync 0;\n\
                    $L_2:\n{\nagain: mbarrier.try_wait.b64 p, [%r1], %r2;\n@!p bra again;\n}\n\
                    st.shared.b32 [%r1], %r2;\n{\nagain: bar.sync 1;\n@q bra again;\n}\n";
        let all = meanings(&statements(text));
        assert_eq!(all[0], "@%p1 bra $ to bar.sync");
        assert_eq!(all[1], "bra.uni $");
        assert_eq!(
            all[5],
            "@!p bra again past st.shared.b32 to mbarrier.try_wait.b64"
        );
        assert_eq!(all[8], "@q bra again to bar.sync");
    }
}
