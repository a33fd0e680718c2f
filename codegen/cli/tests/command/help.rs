//! Help texts, completion scripts and usage errors.

use crate::session::{assert_golden, tilewright};

/// The subcommands that `--help` lists.
fn subcommands() -> Vec<String> {
    let help = tilewright(["--help"]).expect(0).stdout;
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    listed
        .take_while(|line| !line.is_empty())
        .map(|line| line.split_whitespace().next().unwrap().to_owned())
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
#[cfg(feature = "codegen")]
fn keys_of_a_spec_have_their_part_of_its_page() {
    let told = |key: &str| tilewright(["help", key]).expect(0).stdout;
    assert!(told("cta_tile").contains("by position or by mode"));
    assert!(told("copy.a.g2s").contains("from global to shared memory"));
    let kind = told("scheduler.kind");
    assert!(kind.contains("persistent"), "{kind}");
    let spills = told("spill-stores");
    assert!(spills.contains("half of n"), "{spills}");
    tilewright(["help", "copy.a.g2x"]).expect(2);
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

#[test]
fn help_of_a_subcommand_is_what_it_says_itself() {
    let said = |words: &[&str]| tilewright(words).expect(0).stdout;
    assert_eq!(said(&["help"]), said(&["--help"]));
    assert_eq!(said(&["help", "verify"]), said(&["verify", "--help"]));
    assert_eq!(said(&["help", "help"]), said(&["help", "--help"]));
    assert_eq!(said(&["bundle", "help"]), said(&["bundle", "--help"]));
    assert_eq!(
        said(&["bundle", "help", "show"]),
        said(&["bundle", "show", "--help"])
    );
    assert_eq!(
        said(&["layout", "help", "eval"]),
        said(&["layout", "eval", "--help"])
    );
    if cfg!(feature = "codegen") {
        assert_eq!(said(&["help", "build"]), said(&["build", "--help"]));
    } else {
        let run = tilewright(["help", "build"]).expect(2);
        assert!(run.stderr.contains("none"), "{}", run.stderr);
    }
}

#[test]
fn what_help_knows_nothing_of_is_told_with_what_is_near() {
    let near = |words: &[&str]| {
        let run = tilewright(words).expect(2);
        assert_eq!(run.stdout, "");
        run.stderr
    };
    let said = near(&["help", "verfy"]);
    assert!(
        said.contains("did you mean `tilewright help verify`?"),
        "{said}"
    );
    let said = near(&["help", "zzzz"]);
    assert!(
        said.contains("`tilewright help` lists the subcommands"),
        "{said}"
    );
    let said = near(&["help", "bundle", "shw"]);
    assert!(said.contains("`bundle shw` is no subcommand"), "{said}");
    let said = near(&["help", "a\u{1b}[31m"]);
    assert!(!said.contains('\u{1b}'), "{said}");
}

#[cfg(feature = "codegen")]
#[test]
fn help_explains_a_diagnostic() {
    let said = tilewright(["help", "unknown-key"]).expect(0).stdout;
    for part in [
        "unknown-key\n\nRaised by the text of a spec.\n\n    kernel: gemm\n",
        "\n    error[unknown-key]: unknown key `cta_tiles`",
        "\n    -cta_tiles: \"(128,128,64)\"\n    +cta_tile: \"(128,128,64)\"\n",
    ] {
        assert!(said.contains(part), "{said}");
    }
    assert!(!said.contains("```") && !said.contains("<!--"), "{said}");
    let near = tilewright(["help", "unknwon-key"]).expect(2).stderr;
    assert!(
        near.contains("did you mean `tilewright help unknown-key`?"),
        "{near}"
    );
}

/// The page on every key has each in a line of its own.
#[cfg(feature = "codegen")]
#[test]
fn help_tells_every_key_of_a_spec() {
    let said = tilewright(["help", "spec"]).expect(0).stdout;
    assert!(said.contains("\n`cta_tile`; `(128,128,64)`"), "{said}");
    assert!(said.lines().all(|line| !line.starts_with('|')), "{said}");
}

#[test]
fn help_tells_what_formulas_are_written_with() {
    let said = tilewright(["help", "formula"]).expect(0).stdout;
    assert!(said.contains("\nDerived functions\n"), "{said}");
    let gelu = tilewright(["help", "gelu"]).expect(0).stdout;
    assert!(gelu.contains("Gaussian error linear unit"), "{gelu}");
    assert!(gelu.lines().count() < 8, "{gelu}");
    let near = tilewright(["help", "sigmod"]).expect(2).stderr;
    assert!(near.contains("`tilewright help sigmoid`"), "{near}");
}

/// Whatever a diagnostic is called, no subcommand hides it.
#[cfg(feature = "codegen")]
#[test]
fn codes_are_no_subcommands() {
    let commands = subcommands();
    let formulas = tilewright_formula::page::names();
    let all = tilewright_codegen::guide::codes().chain(["spec", "formula"]);
    for code in all.chain(formulas) {
        assert!(!commands.iter().any(|name| name == code), "{code}");
    }
}

#[cfg(not(feature = "codegen"))]
#[test]
fn codes_come_with_the_generator() {
    for word in ["spec", "unknown-key"] {
        let said = tilewright(["help", word]).expect(2).stderr;
        assert!(said.contains("this build of it has none"), "{said}");
    }
    tilewright(["help", "verify"]).expect(0);
}
