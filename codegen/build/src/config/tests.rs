//! What a command is asked for a configuration.

use super::*;

fn asked(config: &Config) -> Vec<String> {
    let files = [PathBuf::from("copy.yaml")];
    let args = config.arguments(&files, Path::new("kept"), Path::new("out.zip"));
    let text = |arg: OsString| arg.to_string_lossy().into_owned();
    args.into_iter().map(text).collect()
}

#[test]
fn a_command_is_asked_what_was_configured() {
    let jobs = NonZeroUsize::MIN;
    let plain = Config::new().jobs(jobs);
    let fixed = [
        "copy.yaml",
        "--output",
        "out.zip",
        "--cache",
        "kept",
        "--jobs",
        "1",
    ];
    assert_eq!(asked(&plain), fixed);
    let all = plain
        .arch("sm_90")
        .ptxas("required")
        .cubin("sm_90")
        .cubin_only()
        .lock("kernels.lock")
        .line_info();
    let more = "--arch sm_90 --ptxas required --cubin sm_90 --lock kernels.lock --locked \
                --cubin-only --line-info";
    let all = asked(&all);
    assert_eq!(all[..fixed.len()], fixed);
    assert_eq!(all[fixed.len()..].join(" "), more);
}
