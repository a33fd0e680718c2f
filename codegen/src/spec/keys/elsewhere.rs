//! What other tools call the keys of a spec, and how they are written here.

/// How something is written here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Here {
    /// As the key of that name, at the file's top.
    Key(&'static str),
    /// As those lines, in the place of a key that there is not.
    Lines(&'static str),
}

use Here::{Key, Lines};

const ELSEWHERE: [(&str, Here); 15] = [
    ("formula", Key("compute")),
    ("expression", Key("compute")),
    ("equation", Key("compute")),
    ("tensors", Key("operands")),
    ("inputs", Key("operands")),
    ("arguments", Key("operands")),
    ("dims", Key("modes")),
    ("sizes", Key("modes")),
    ("stages", Lines("pipeline: { stages: 3 }")),
    ("num_stages", Lines("pipeline: { stages: 3 }")),
    ("split_k", Lines("scheduler: { kind: stream_k }")),
    ("splitk", Lines("scheduler: { kind: stream_k }")),
    ("stream_k", Lines("scheduler: { kind: stream_k }")),
    ("num_warps", Lines("threads: 128  # 32 for each warp")),
    ("warps", Lines("threads: 128  # 32 for each warp")),
];

/// How a key of another tool is written here.
pub(super) fn elsewhere(key: &str) -> Option<Here> {
    let found = ELSEWHERE.iter().find(|(known, _)| *known == key);
    found.map(|(_, here)| *here)
}
