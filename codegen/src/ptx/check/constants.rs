//! Approximate instructions whose operand ptxas can prove constant.
//!
//! NOTE: ptxas 13.0 replaces them by the correctly rounded value (read from its SASS; 64 constants
//! of each of rcp, rsqrt, sqrt, lg2, ex2, sin and cos), which is not always the one the GPU and the
//! emulator compute: rsqrt of 2 is 0x3f3504f3 folded and 0x3f3504f2 computed. `tanh` is not folded.

use std::collections::{HashMap, HashSet};

/// Operations of which ptxas knows the result when it knows the operands.
const PURE: [&str; 22] = [
    "mov", "cvt", "add", "sub", "mul", "mad", "fma", "neg", "abs", "min", "max", "and", "or",
    "xor", "not", "shl", "shr", "selp", "setp", "prmt", "bfe", "lop3",
];

/// The first operand that matters: of a quotient the divisor, which ptxas inverts.
const FOLDED: [(&str, usize); 8] = [
    ("rcp", 0),
    ("rsqrt", 0),
    ("sqrt", 0),
    ("lg2", 0),
    ("ex2", 0),
    ("sin", 0),
    ("cos", 0),
    ("div", 1),
];

/// An instruction as written: its opcode's parts, the registers of its first operand and of the
/// others.
struct Statement<'t> {
    text: &'t str,
    opcode: Vec<&'t str>,
    results: Vec<&'t str>,
    sources: Vec<&'t str>,
}

/// Reads `opcode result, sources`; `None` for everything else.
fn statement<'t>(text: &'t str) -> Option<Statement<'t>> {
    let text = text.trim_start_matches(['{', '}']).trim();
    let guarded = text.starts_with('@');
    let text = match text.split_once(char::is_whitespace) {
        Some((_, rest)) if guarded => rest.trim_start(),
        _ => text,
    };
    let (opcode, operands) = text.split_once(char::is_whitespace)?;
    if opcode.starts_with('.') || opcode.ends_with(':') {
        return None;
    }
    let operands = operands.trim();
    // Several results stand in braces, or around a bar: `{%f0, %f1}`, `%r1|%p1`.
    let first = match operands.starts_with('{') {
        true => operands.find('}').map_or(operands.len(), |end| end + 1),
        false => operands.find(',').unwrap_or(operands.len()),
    };
    let (results, sources) = operands.split_at(first);
    let parts = |list: &'t str, apart: &'static [char]| {
        let parts = list
            .split(apart)
            .map(|part| part.trim_matches(['{', '}', ' ', '\t']));
        parts.filter(|part| !part.is_empty()).collect()
    };
    Some(Statement {
        text,
        opcode: opcode.split('.').collect(),
        results: parts(results, &[',', '|']),
        sources: parts(sources, &[',']),
    })
}

/// The statements of a text without its comments.
fn statements(text: &str) -> impl Iterator<Item = Statement<'_>> {
    let code = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    code.flat_map(|line| line.split(';')).filter_map(statement)
}

fn is_number(operand: &str) -> bool {
    operand
        .trim_start_matches('-')
        .starts_with(|c: char| c.is_ascii_digit())
}

impl Statement<'_> {
    fn is_pure(&self) -> bool {
        self.opcode.first().is_some_and(|base| PURE.contains(base))
    }

    /// Whether ptxas computes the result itself, given the registers it knows.
    fn is_folded(&self, known: &HashSet<&str>) -> bool {
        let base = self.opcode.first().copied().unwrap_or_default();
        let approximate = |part: &&str| matches!(*part, "approx" | "full");
        let Some((_, from)) = FOLDED.iter().find(|(name, _)| *name == base) else {
            return false;
        };
        let mut sources = self.sources.iter().skip(*from).peekable();
        self.opcode.iter().any(approximate)
            && sources.peek().is_some()
            && sources.all(|source| is_number(source) || known.contains(source))
    }
}

/// The registers that hold one number whatever way the program takes.
fn constants<'t>(statements: &[Statement<'t>]) -> HashSet<&'t str> {
    let mut definitions: HashMap<&str, u32> = HashMap::new();
    for register in statements.iter().flat_map(|one| &one.results) {
        *definitions.entry(register).or_default() += 1;
    }
    let mut known = HashSet::new();
    loop {
        let before = known.len();
        for one in statements.iter().filter(|one| one.is_pure()) {
            let [result] = one.results[..] else {
                continue;
            };
            let single = definitions.get(result) == Some(&1);
            let mut sources = one.sources.iter();
            let all = sources.all(|source| is_number(source) || known.contains(source));
            if single && all && !one.sources.is_empty() {
                known.insert(result);
            }
        }
        if known.len() == before {
            return known;
        }
    }
}

/// The first approximate instruction that ptxas would compute itself.
pub(super) fn folded(text: &str) -> Option<&str> {
    let statements: Vec<Statement<'_>> = statements(text).collect();
    let known = constants(&statements);
    let found = statements.iter().find(|one| one.is_folded(&known));
    found.map(|one| one.text)
}

#[cfg(test)]
mod tests {
    use super::folded;

    #[test]
    fn constants_that_reach_an_approximate_instruction_are_found() {
        for (text, found) in [
            (
                "ex2.approx.ftz.f32 %f1, 0f3F000000;",
                "ex2.approx.ftz.f32 %f1, 0f3F000000",
            ),
            (
                "mov.b32 %r1, 1; // one\n\tcvt.rn.f32.u32 %f1, %r1;\n\
                 \t@%p1 rsqrt.approx.f32 %f2, %f1;",
                "rsqrt.approx.f32 %f2, %f1",
            ),
            (
                "{ .reg .f32 t; mov.f32 t, 0f40000000; lg2.approx.f32 %f1, t; }",
                "lg2.approx.f32 %f1, t",
            ),
            (
                "mov.b32 %r1, 0; mov.b64 %rd1, {%r1, 7}; cvt.rn.f32.u64 %f1, %rd1; \
                 sqrt.approx.f32 %f2, %f1;",
                "sqrt.approx.f32 %f2, %f1",
            ),
            (
                "div.full.f32 %f1, %f2, 0f40400000;",
                "div.full.f32 %f1, %f2, 0f40400000",
            ),
        ] {
            assert_eq!(folded(text), Some(found), "{text}");
        }
    }

    #[test]
    fn what_ptxas_cannot_know_or_does_not_fold_is_left_alone() {
        for text in [
            "ld.global.f32 %f1, [%rd1]; ex2.approx.f32 %f2, %f1;",
            "tanh.approx.f32 %f1, 0f3F000000;",
            "div.approx.f32 %f1, 0f3F800000, %f2;",
            "sqrt.rn.f32 %f1, 0f40000000;",
            // A counter is not constant, nor is a value of two branches.
            "mov.b32 %r1, 0; add.s32 %r1, %r1, 1; ex2.approx.f32 %f2, %r1;",
            "mov.f32 %f1, 0f00000000; @%p1 mov.f32 %f1, 0f3F800000; ex2.approx.f32 %f2, %f1;",
            "mov.b32 %f1, 0; ld.global.v2.f32 {%f0, %f1}, [%rd1]; sin.approx.f32 %f2, %f1;",
            // Of four registers those in the middle as well.
            "mov.b32 %f1, 0; @%p1 bra L; ld.global.v4.b32 {%f0, %f1, %f2, %f3}, [%rd1]; L:\n\
             \tmul.rn.f32 %f4, %f1, 0f3FB8AA3B; ex2.approx.ftz.f32 %f5, %f4;",
            "mov.b32 %f2, 0; ld.global.v4.b32 {%f0,%f1,%f2,%f3}, [%rd1]; cos.approx.f32 %f5, %f2;",
            "mov.b32 %f1, 0; shfl.sync.bfly.b32 %f1|%p1, %f3, 1, 31, -1; sin.approx.f32 %f2, %f1;",
        ] {
            assert_eq!(folded(text), None, "{text}");
        }
    }
}
