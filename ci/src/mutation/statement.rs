//! The instructions of a PTX text with their places: enough structure to break one of them.

use std::ops::Range;

/// Opcodes that order, wait or count, by their first words.
const ORDERING: [&str; 22] = [
    "bar",
    "barrier",
    "cp.async.wait_group",
    "cp.async.wait_all",
    "cp.async.commit_group",
    "cp.async.bulk.wait_group",
    "cp.async.bulk.commit_group",
    "cp.async.mbarrier.arrive",
    "fence",
    "membar",
    "wgmma.fence",
    "wgmma.commit_group",
    "wgmma.wait_group",
    "mbarrier.init",
    "mbarrier.inval",
    "mbarrier.arrive",
    "mbarrier.arrive_drop",
    "mbarrier.expect_tx",
    "mbarrier.complete_tx",
    "mbarrier.test_wait",
    "mbarrier.try_wait",
    "setmaxnreg",
];

/// One instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement<'t> {
    /// Where it stands in the text, its semicolon included.
    pub span: Range<usize>,
    /// Its line, from 1.
    pub line: usize,
    /// The predicate of its guard, without `@` and `!`.
    pub guard: Option<&'t str>,
    /// Whether the guard is negated.
    pub negated: bool,
    /// The opcode with its modifiers.
    pub opcode: &'t str,
    /// The operands, split at commas outside brackets.
    pub operands: Vec<&'t str>,
    /// The basic block; blocks are numbered in the order of the text.
    pub block: usize,
    /// The labels before it.
    pub labels: Vec<&'t str>,
}

impl Statement<'_> {
    /// The text without the guard and the semicolon.
    pub fn body(&self) -> String {
        if self.operands.is_empty() {
            return self.opcode.to_owned();
        }
        format!("{} {}", self.opcode, self.operands.join(", "))
    }

    /// The guard as it stands before the opcode, with a blank behind it.
    pub fn guard_text(&self) -> String {
        match self.guard {
            None => String::new(),
            Some(guard) if self.negated => format!("@!{guard} "),
            Some(guard) => format!("@{guard} "),
        }
    }

    /// The whole instruction on one line.
    pub fn text(&self) -> String {
        format!("{}{};", self.guard_text(), self.body())
    }

    /// Whether the opcode has a modifier such as `.shared`.
    pub fn has(&self, modifier: &str) -> bool {
        let mut parts = self.opcode.split('.').skip(1);
        parts.any(|part| part == modifier || part.split("::").next() == Some(modifier))
    }

    /// Whether the opcode is `name` or starts with `name.`.
    pub fn is(&self, name: &str) -> bool {
        let rest = self.opcode.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

/// All instructions of a text, in order.
pub fn statements(text: &str) -> Vec<Statement<'_>> {
    let mut found = Vec::new();
    let bytes = text.as_bytes();
    let (mut at, mut line, mut block) = (0, 1, 0);
    // The start of the piece at hand, its line, and how deep in brackets it is.
    let mut start: Option<(usize, usize)> = None;
    let mut depth = 0usize;
    let mut labels = Vec::new();
    while let Some(&byte) = bytes.get(at) {
        let rest = &text[at..];
        if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        }
        let opened = start.is_some_and(|(start, _)| !is_header(&text[start..at]));
        match byte {
            b'\n' => line += 1,
            b'"' => at += 1 + rest[1..].find('"').unwrap_or(0),
            b'{' | b'(' | b'[' if opened => depth += 1,
            b'}' | b')' | b']' if opened && depth > 0 => depth -= 1,
            b'{' | b'}' => {
                start = None;
                block += 1;
            }
            b';' if depth == 0 => {
                if let Some((start, line)) = start.take()
                    && let Some(mut one) = instruction(text, start..at + 1, line, block)
                {
                    one.labels = std::mem::take(&mut labels);
                    let leaves = ["bra", "ret", "exit", "call", "brx"];
                    block += usize::from(leaves.iter().any(|name| one.is(name)));
                    found.push(one);
                }
            }
            b':' if depth == 0 && !rest.starts_with("::") && !text[..at].ends_with(':') => {
                labels.extend(start.take().map(|(start, _)| text[start..at].trim()));
                block += 1;
            }
            byte if start.is_none() && !byte.is_ascii_whitespace() => start = Some((at, line)),
            _ => {}
        }
        at += 1;
    }
    found
}

/// Whether a piece of text is the head of a function, whose body is what follows.
fn is_header(text: &str) -> bool {
    let is_function = text.contains(".entry") || text.contains(".func");
    text.starts_with('.') && is_function && !text.contains('=')
}

fn instruction(text: &str, span: Range<usize>, line: usize, block: usize) -> Option<Statement<'_>> {
    let mut body = text[span.start..span.end - 1].trim();
    if body.starts_with('.') {
        return None;
    }
    let (mut guard, mut negated) = (None, false);
    if let Some(rest) = body.strip_prefix('@') {
        let (name, rest) = rest.trim_start().split_once(char::is_whitespace)?;
        negated = name.starts_with('!');
        guard = Some(name.trim_start_matches('!'));
        body = rest.trim_start();
    }
    let (opcode, operands) = body.split_once(char::is_whitespace).unwrap_or((body, ""));
    if opcode.is_empty() {
        return None;
    }
    Some(Statement {
        span,
        line,
        guard,
        negated,
        opcode,
        operands: split(operands),
        block,
        labels: Vec::new(),
    })
}

/// Whether an instruction orders, waits or counts.
pub fn orders(one: &Statement<'_>) -> bool {
    ORDERING.iter().any(|name| one.is(name)) && !one.is("bar.red")
}

/// Whether an instruction touches memory that several threads see, or orders such accesses.
pub fn accesses(one: &Statement<'_>) -> bool {
    let touches = [
        "ld", "st", "atom", "red", "ldmatrix", "stmatrix", "cp", "wgmma",
    ];
    let param = one.has("param") || one.has("const") || one.has("local");
    orders(one) || !param && touches.iter().any(|name| one.is(name))
}

/// Operands between commas outside brackets.
fn split(operands: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0i32, 0);
    for (at, byte) in operands.bytes().enumerate() {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => depth -= 1,
            b',' if depth == 0 => {
                parts.push(operands[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    let last = operands[start..].trim();
    if !last.is_empty() {
        parts.push(last);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = ".version 8.0\n.target sm_90 // none; here\n.visible .entry k(\n\
        .param .u64 p\n)\n.maxntid 128, 1, 1\n{\n.reg .b32 %r<3>;\nLOOP:\n\
        @!%p1 ld.shared::cta.v2.b32 {%r1, %r2}, [%r3+16];\n\
        { .reg .pred q; W: mbarrier.try_wait.parity.shared.b64 q, [%r1], %r2;\n\
        @q bra D; bra W; D: }\n\
        // a comment; with a semicolon\nbar.sync 0;\nret;\n}\n";

    #[test]
    fn instructions_are_found_with_guards_lines_and_blocks() {
        let found = statements(TEXT);
        let opcodes: Vec<&str> = found.iter().map(|one| one.opcode).collect();
        let wait = "mbarrier.try_wait.parity.shared.b64";
        assert_eq!(
            opcodes,
            [
                "ld.shared::cta.v2.b32",
                wait,
                "bra",
                "bra",
                "bar.sync",
                "ret"
            ]
        );
        let load = &found[0];
        assert_eq!(
            (load.guard, load.negated, load.line),
            (Some("%p1"), true, 10)
        );
        assert_eq!(load.operands, ["{%r1, %r2}", "[%r3+16]"]);
        assert!(load.has("shared") && load.is("ld") && !load.is("l"));
        assert_eq!(
            (&found[0].labels[..], &found[1].labels[..]),
            (&["LOOP"][..], &["W"][..])
        );
        assert_eq!(&TEXT[found[4].span.clone()], "bar.sync 0;");
        assert_eq!(found[4].block, found[5].block);
        assert_ne!(found[0].block, found[1].block);
    }
}
