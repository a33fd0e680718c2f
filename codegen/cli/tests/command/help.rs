//! Help texts, completion scripts and usage errors.

use crate::session::{assert_golden, tilewright};

/// The subcommands that `--help` lists.
fn subcommands() -> Vec<String> {
    let help = tilewright(["--help"]).expect(0).stdout;
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    listed
        .take_while(|line| !line.is_empty())
        .map(|line| line.split_whitespace().next().unwrap().to_owned())
        // It is for the help of the others.
        .filter(|name| name != "help")
        .collect()
}

/// Every help text on one page, so that a change of the command line shows in review. The command
/// without LLVM has fewer subcommands, and its page is another one.
#[test]
fn every_help_text_is_as_reviewed() {
    let mut page = tilewright(["--help"]).expect(0).stdout;
    for name in subcommands() {
        let help = tilewright([&name, "--help"]).expect(0).stdout;
        page.push_str(&format!("\n==== {name}\n\n{help}"));
    }
    let name = if cfg!(feature = "codegen") {
        "help.txt"
    } else {
        "help_without_llvm.txt"
    };
    assert_golden(name, &page);
}

#[test]
fn the_worker_subcommand_is_hidden() {
    assert!(subcommands().iter().all(|name| !name.starts_with("__")));
}

#[test]
fn wrong_usage_exits_with_2_and_says_what_is_known() {
    let run = tilewright(["chek"]).expect(2);
    assert_eq!(run.stdout, "");
    assert!(
        run.stderr.contains("unrecognized subcommand 'chek'"),
        "{}",
        run.stderr
    );
    tilewright([""; 0]).expect(2);
    tilewright(["bundle", "show"]).expect(2);
}

#[test]
fn every_shell_gets_a_completion_script() {
    let nested = tilewright(["help", "bundle", "show"]).expect(0).stdout;
    assert_eq!(
        nested,
        tilewright(["bundle", "show", "--help"]).expect(0).stdout
    );
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = tilewright(["completions", shell]).expect(0).stdout;
        assert!(script.contains("tilewright"), "{shell}: {script}");
        assert!(script.contains("doctor"), "{shell}: {script}");
        assert!(script.contains("contestants"), "{shell}: {script}");
        for hidden in ["__compile-worker", "--worker", "l worker"] {
            assert!(!script.contains(hidden), "{shell}: {script}");
        }
    }
}
