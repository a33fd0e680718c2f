//! What stands last in each `--help`: an example, and the page to read on.
//!
//! Comes in: the command line as clap derives it. Goes out: the same with those lines. Examples are
//! parsed by a test, which wants one of each subcommand that is shown.

use clap::{Command, CommandFactory};

use crate::args::Cli;

/// Where pages are read.
const PAGES: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main");

/// A subcommand's words, what is typed behind `tilewright`, and a page.
type Row = (&'static str, &'static str, &'static str);

const TUTORIAL: &str = "codegen/docs/tutorial.md";
const TUNING: &str = "codegen/docs/tuning.md";
const COMMAND: &str = "codegen/cli/README.md";
const OPERATING: &str = "runtime/docs/operating.md";
const LAUNCH_FILES: &str = "runtime/docs/launch_files.md";
const LAYOUTS: &str = "codegen/layout/README.md";

const ROWS: &[Row] = &[
    (
        "init",
        "init rmsnorm --arch sm_80 -o rmsnorm.yaml",
        TUTORIAL,
    ),
    (
        "check",
        "check specs --dropped",
        "codegen/docs/diagnostics.md",
    ),
    ("plan", "plan specs/gemm/bf16_tn.yaml --all", TUNING),
    ("ir", "ir rmsnorm.yaml", TUTORIAL),
    ("ptx", "ptx rmsnorm.yaml --line-info", TUTORIAL),
    ("explain", "explain rmsnorm.yaml --svg rmsnorm.svg", TUNING),
    (
        "build",
        "build specs --cubin sm_90 -o kernels.zip",
        TUTORIAL,
    ),
    ("schema", "schema", "codegen/docs/spec.md"),
    ("verify", "verify kernels.zip --problems 5", TUTORIAL),
    (
        "run",
        "run kernels.zip rmsnorm --size m=4096,n=512",
        COMMAND,
    ),
    (
        "select",
        "select kernels.zip --kernel gemm --m 4096 --n 512 --k 64 --arch sm_90",
        TUNING,
    ),
    (
        "emulate",
        "emulate cases --schedules 8 --sarif findings.sarif",
        LAUNCH_FILES,
    ),
    (
        "bench",
        "bench kernels.zip --kernel gemm --problem 4096x512x64:TN --quick",
        TUNING,
    ),
    (
        "tune",
        "tune kernels.zip --problem 4096x512x64:TN --records records.jsonl -o tuned.zip",
        TUNING,
    ),
    (
        "pack",
        "pack kernels.zip gemm_int4 b b.bin -o packed.bin --size n=4096,k=512",
        COMMAND,
    ),
    (
        "bundle show",
        "bundle show kernels.zip --kernel gemm",
        OPERATING,
    ),
    (
        "bundle verify",
        "bundle verify kernels.zip --require-key release.pub",
        OPERATING,
    ),
    ("bundle zip", "bundle zip kernels -o kernels.zip", OPERATING),
    (
        "bundle unzip",
        "bundle unzip kernels.zip -o kernels",
        OPERATING,
    ),
    (
        "bundle merge",
        "bundle merge norms.zip gemms.zip -o kernels.zip",
        OPERATING,
    ),
    (
        "bundle split",
        "bundle split kernels.zip --by arch -o parts --zip",
        OPERATING,
    ),
    (
        "bundle edit",
        "bundle edit kernels.zip --ptx ptx/rmsnorm@8x256-0e1131.ptx -o edited.zip",
        OPERATING,
    ),
    ("bundle keygen", "bundle keygen release.pem", OPERATING),
    (
        "bundle sign",
        "bundle sign kernels.zip --key release.pem",
        OPERATING,
    ),
    ("diff", "diff before.zip after.zip", OPERATING),
    (
        "layout eval",
        "layout eval \"composition((6,2):(8,2), (4,3):(3,1))\"",
        LAYOUTS,
    ),
    (
        "layout show",
        "layout show \"Sw<3,3,3> o 0 o (8,64):(64,1)\"",
        LAYOUTS,
    ),
    (
        "layout explain",
        "layout explain \"complement((2,2):(1,6), 24)\"",
        LAYOUTS,
    ),
    ("layout vectors", "layout vectors vectors.jsonl", LAYOUTS),
    ("doctor", "doctor", "codegen/docs/install.md"),
    ("completions", "completions bash", COMMAND),
];

/// The command line, with an example and a page in the help of each subcommand.
pub fn command() -> Command {
    with_rows(Cli::command(), "")
}

fn with_rows(command: Command, before: &str) -> Command {
    let names = command
        .get_subcommands()
        .map(|one| one.get_name().to_owned());
    let names: Vec<String> = names.collect();
    names.into_iter().fold(command, |command, name| {
        let words = format!("{before}{name}");
        command.mut_subcommand(&name, |found| {
            let found = with_rows(found, &format!("{words} "));
            match ROWS.iter().find(|(row, ..)| *row == words) {
                Some((_, example, page)) => with_row(found, example, page),
                None => found,
            }
        })
    })
}

fn with_row(command: Command, example: &str, page: &str) -> Command {
    let row = format!("Example: tilewright {example}\nRead on: {PAGES}/{page}");
    let said = |own: Option<&clap::builder::StyledStr>| match own {
        Some(own) => format!("{own}\n\n{row}"),
        None => row.clone(),
    };
    let short = said(command.get_after_help());
    let long = command.get_after_long_help().map(|own| said(Some(own)));
    let command = command.after_help(short);
    match long {
        Some(long) => command.after_long_help(long),
        None => command,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Command, ROWS, command};

    /// The words of the shown subcommands that have none below them.
    fn leaves(command: &Command, before: &str, found: &mut Vec<String>) {
        let shown = command.get_subcommands().filter(|one| !one.is_hide_set());
        for one in shown.filter(|one| one.get_name() != "help") {
            let words = format!("{before}{}", one.get_name());
            match one.has_subcommands() {
                true => leaves(one, &format!("{words} "), found),
                false => found.push(words),
            }
        }
    }

    #[test]
    fn each_subcommand_has_an_example_that_parses() {
        let mut wanted = Vec::new();
        leaves(&command(), "", &mut wanted);
        let has = |words: &&String| !ROWS.iter().any(|(row, ..)| row == words);
        assert_eq!(wanted.iter().filter(has).collect::<Vec<_>>(), [""; 0]);
        for (words, example, page) in ROWS
            .iter()
            .filter(|row| wanted.iter().any(|one| one == row.0))
        {
            assert!(example.starts_with(words), "{example}");
            // Quotes hold what has spaces.
            let quoted = example.split('"').enumerate();
            let typed = quoted.flat_map(|(at, part)| match at % 2 {
                0 => part.split_whitespace().map(str::to_owned).collect(),
                _ => vec![part.to_owned()],
            });
            let typed = std::iter::once("tilewright".to_owned()).chain(typed);
            let refused = command().try_get_matches_from(typed).err();
            assert!(refused.is_none(), "{example}: {refused:?}");
            let file = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../..")
                .join(page);
            assert!(file.is_file(), "no {page}");
        }
    }
}
