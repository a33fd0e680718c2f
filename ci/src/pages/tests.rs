//! What is found in pages.

use super::{Fate, Shown, is_shown, read, told};

const PAGE: &str = r#"# A page

Type `tilewright check SPEC…` and

```sh
tilewright doctor
```

<!-- not run: takes hours -->
```sh
make everything
```

Text between them says nothing.

```yaml
a: 1
```

## A section

<!-- in: .. -->
<!-- run by: ci/tests/x.rs -->
```cpp
int x;
```

```rust
// src/main.rs
fn main() {}
```

```text
$ tilewright doctor | head -1
all is w…
$ true
```

| `tilewright bundle show B [--kernel K]` | a cell |
|---|---|

```
a picture
```
"#;

#[test]
fn each_block_has_its_fate() {
    let page = read(PAGE);
    let fates: Vec<(usize, usize, &Fate)> = page
        .blocks
        .iter()
        .map(|block| (block.line, block.section, &block.fate))
        .collect();
    let shown = |command: &str, printed: &[&str]| Shown {
        command: command.into(),
        printed: printed.iter().map(|line| (*line).to_owned()).collect(),
    };
    assert!(matches!(fates[2], (17, 1, Fate::Wrong(_))), "{fates:?}");
    let both = vec![
        shown("tilewright doctor | head -1", &["all is w…"]),
        shown("true", &[]),
    ];
    let others = [
        (6, 1, &Fate::Typed),
        (11, 1, &Fate::NotRun("takes hours".into())),
        (25, 2, &Fate::Elsewhere("ci/tests/x.rs".into())),
        (29, 2, &Fate::Written("src/main.rs".into())),
        (34, 2, &Fate::Shown(both)),
        (43, 2, &Fate::Picture),
    ];
    let without: Vec<_> = [0, 1, 3, 4, 5, 6].map(|at| fates[at]).into();
    assert_eq!(without, others);
    let folders: Vec<Option<&str>> = page.blocks.iter().map(|b| b.folder.as_deref()).collect();
    assert_eq!(folders, [None, None, None, Some(".."), None, None, None]);
    let commands: Vec<&str> = page
        .commands
        .iter()
        .map(|(_, text)| text.as_str())
        .collect();
    let both = [
        "tilewright check SPEC…",
        "tilewright bundle show B [--kernel K]",
    ];
    assert_eq!(commands, both);
}

#[test]
fn what_is_printed_is_what_is_shown() {
    let shown = ["one".to_owned(), "beginning…".to_owned()];
    assert!(is_shown("one\nbeginning and end\n", &shown));
    assert!(!is_shown("one\n", &shown));
    assert!(!is_shown("one\nend\n", &shown));
    assert!(!is_shown("one and\nbeginning\n", &shown));
}

#[test]
fn commands_are_taken_apart() {
    let one = told("tilewright bundle show BUNDLE [--kernel K] --require-last-resort=sm_80");
    assert_eq!(one.subcommands, ["bundle", "show"]);
    assert_eq!(one.flags, ["--kernel", "--require-last-resort"]);
    assert!(!one.is_for_typing);
    assert!(told("tilewright check first.yaml").is_for_typing);
    assert!(told("tilewright build first -o k.zip").is_for_typing);
    for open in [
        "tilewright tune --help",
        "tilewright schema",
        "tilewright run B K --m …",
    ] {
        assert!(!told(open).is_for_typing, "{open}");
    }
}
