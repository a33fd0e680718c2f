//! Programs in C and C++ that use the library, right and wrong: compiled by the machine's own
//! compilers, linked against the library that cargo built, run on the emulator.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tilewright_fixture::{
    COPY, GEMM, LOOKED_UP, SCALED, copy_kernel, gemm_kernel, hopper_gemm, looked_up_kernel,
    packed_copy_kernel, picky_gemm, scaled_kernel, writer_of,
};
use tilewright_runtime::bundle::{Bundle, SigningKey};

/// What C code is compiled with.
const C: [&str; 6] = [
    "-std=c99",
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Werror",
    "-O1",
];
/// What C++ code is compiled with.
const CPP: [&str; 6] = [
    "-std=c++17",
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Werror",
    "-O1",
];
/// Every wrong access of the program is an error, and so is memory that it loses.
const SANITIZED: [&str; 3] = ["-fsanitize=address", "-fno-omit-frame-pointer", "-g"];

fn crate_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Where cargo puts the libraries: beside the tests.
fn libraries() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().unwrap().to_path_buf();
    let library = folder.join("libtilewright.so");
    assert!(library.is_file(), "{} is not there", library.display());
    folder
}

/// Puts the libraries and the headers below a folder, as users do.
#[track_caller]
fn installed(folder: &Path) -> PathBuf {
    let prefix = folder.join("installed");
    let mut command = Command::new(crate_root().join("install.sh"));
    stdout(command.arg(&prefix).arg(libraries()));
    prefix
}

/// A compiler of the machine; `variable` names another one.
fn compiler(variable: &str, usual: &str) -> Command {
    let named = std::env::var_os(variable).unwrap_or_else(|| OsString::from(usual));
    let mut command = Command::new(named);
    command.current_dir(crate_root()).args(["-I", "include"]);
    command
}

fn ran(command: &mut Command) -> Output {
    let output = command.output();
    output.unwrap_or_else(|error| panic!("{command:?}: {error}: ci/setup.sh installs compilers"))
}

/// What a command prints; it must succeed.
#[track_caller]
fn stdout(command: &mut Command) -> String {
    let output = ran(command);
    let [out, err] = [&output.stdout, &output.stderr].map(|t| String::from_utf8_lossy(t));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{out}{err}",
        output.status
    );
    out.into_owned()
}

/// Compiles a program against the shared library.
#[track_caller]
fn compiled(source: &str, folder: &Path, flags: &[&str]) -> PathBuf {
    let is_c = source.ends_with(".c");
    let (variable, usual, own) = if is_c {
        ("CC", "cc", C)
    } else {
        ("CXX", "c++", CPP)
    };
    let (program, libraries) = (folder.join("program"), installed(folder).join("lib"));
    let mut command = compiler(variable, usual);
    command
        .args(own)
        .args(flags)
        .arg(source)
        .arg("-o")
        .arg(&program);
    command
        .arg("-L")
        .arg(&libraries)
        .args(["-ltilewright", "-pthread"]);
    command.arg(format!("-Wl,-rpath,{}", libraries.display()));
    stdout(&mut command);
    program
}

/// Writes a bundle of everything that the programs launch: its folder, then the files in it. Beside
/// it lie the same bundle signed, and the key.
fn bundle(folder: &Path) -> Vec<OsString> {
    let path = folder.join("kernels.bundle");
    let writer = writer_of([
        (copy_kernel("copy_f32@plain-1"), COPY),
        (packed_copy_kernel("copy_packed@rows-1", [1, 4]), COPY),
        (picky_gemm("gemm_f32@picky-1"), GEMM),
        (gemm_kernel("gemm_f32@plain-2"), GEMM),
        (hopper_gemm("gemm_f32_tn@hopper-1"), GEMM),
        (looked_up_kernel("looked_up_f32@plain-1"), LOOKED_UP),
        (scaled_kernel("scaled_f32@plain-1"), SCALED),
    ]);
    writer.write(&path).unwrap();
    let key = SigningKey::from_random(&[7; 32]);
    let mut signed = Bundle::open(&path).unwrap();
    signed.sign(&key);
    signed.save(&folder.join("kernels.bundle.signed")).unwrap();
    let public = key.public().to_pem();
    std::fs::write(folder.join("kernels.bundle.pub"), public).unwrap();
    let files = writer.to_files().unwrap().into_keys();
    std::iter::once(path.into_os_string())
        .chain(files.map(OsString::from))
        .collect()
}

/// What a program is told: the bundle's folder, and one that reads files itself their names.
fn arguments(source: &str, folder: &Path) -> Vec<OsString> {
    let mut all = bundle(folder);
    if !source.ends_with("uses.c") {
        all.truncate(1);
    }
    all
}

/// Compiles a program and runs it on the bundle.
#[track_caller]
fn answer(source: &str, flags: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(source, folder.path(), flags);
    let mut command = Command::new(program);
    command
        .args(arguments(source, folder.path()))
        .env("ASAN_OPTIONS", "detect_leaks=1");
    stdout(&mut command)
}

#[test]
fn a_gemm_in_c_is_right() {
    let told = answer("../examples/c/gemm.c", &[]);
    assert_eq!(told, "gemm_f32@plain-2: 0 of 340 elements are wrong\n");
}

#[test]
fn a_gemm_in_cpp_is_right() {
    let told = answer("../examples/cpp/gemm.cpp", &[]);
    assert_eq!(told, "gemm_f32@plain-2: 0 of 340 elements are wrong\n");
}

#[test]
fn the_cmake_project_is_made_of_files_that_there_are() {
    let folder = Path::new("../examples/cpp");
    let text = std::fs::read_to_string(folder.join("CMakeLists.txt")).unwrap();
    let made = text
        .lines()
        .filter_map(|line| line.strip_prefix("add_executable("));
    let sources: Vec<&str> = made
        .filter_map(|line| line.trim_end_matches(')').split_once(' '))
        .flat_map(|(_, sources)| sources.split(' '))
        .collect();
    assert_eq!(sources.len(), 2, "{text}");
    for source in sources {
        assert!(folder.join(source).is_file(), "{source}");
    }
}

#[test]
fn the_wrapper_owns_and_throws() {
    let told = answer("tests/c/wrapper.cpp", &SANITIZED);
    assert_eq!(told, "all is well\n");
}

#[test]
fn programs_look_for_the_library_by_a_name_with_its_version() {
    let folder = tempfile::tempdir().unwrap();
    let program = compiled("../examples/c/gemm.c", folder.path(), &[]);
    let major = env!("CARGO_PKG_VERSION_MAJOR");
    let told = stdout(Command::new("ldd").arg(&program));
    let name = format!("libtilewright.so.{major} => ");
    assert!(told.contains(&name), "{told}");
    // Without the path that the linker noted, loaders look where they are told to.
    let elsewhere = folder.path().join("elsewhere");
    std::fs::rename(folder.path().join("installed/lib"), &elsewhere).unwrap();
    let mut run = Command::new(&program);
    run.args(arguments("gemm.c", folder.path()));
    let output = ran(&mut run);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && text.contains(&name[..18]),
        "{text}"
    );
    stdout(run.env("LD_LIBRARY_PATH", &elsewhere));
}

#[test]
fn the_archive_links_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    let mut command = compiler("CC", "cc");
    command
        .args(C)
        .arg("../examples/c/gemm.c")
        .arg("-o")
        .arg(&program);
    command.arg(libraries().join("libtilewright.a"));
    command.args(["-pthread", "-ldl", "-lm"]);
    stdout(&mut command);
    let told = stdout(Command::new(program).args(arguments("gemm.c", folder.path())));
    assert!(told.ends_with("0 of 340 elements are wrong\n"), "{told}");
}

#[test]
fn everything_that_a_kernel_takes_is_given_in_c() {
    let told = answer("tests/c/uses.c", &SANITIZED);
    assert!(told.ends_with("all is well\n"), "{told}");
}

#[test]
fn misuse_is_an_error_and_never_a_crash() {
    let told = answer("tests/c/misuse.c", &SANITIZED);
    let (count, rest) = told.trim_end().split_once(' ').unwrap();
    assert_eq!(rest, "misuses, each told", "{told}");
    assert!(count.parse::<u32>().unwrap() >= 125, "{told}");
}

#[test]
fn the_bench_compiles_without_cuda() {
    let mut command = compiler("CXX", "c++");
    command
        .args(CPP)
        .args(["-fsyntax-only", "bench/overhead.cpp"]);
    stdout(&mut command);
}

/// The commands that the head of a source file tells to type: lines three columns in, and what goes
/// on four further in.
fn commands(source: &str) -> Vec<String> {
    let marks = ["//", " *", "/*"];
    let head = source.lines().map_while(|line| {
        let rest = marks.iter().find_map(|mark| line.strip_prefix(mark));
        rest.map(|rest| rest.trim_end_matches(['\\', ' ']))
    });
    let mut commands: Vec<String> = Vec::new();
    for line in head {
        let line = line.trim_end_matches("(all of it one line)");
        match (line.strip_prefix("       "), line.strip_prefix("   ")) {
            (Some(more), _) => commands.last_mut().unwrap().push_str(&format!(" {more}")),
            (None, Some(command)) => commands.push(command.to_owned()),
            (None, None) => {}
        }
    }
    commands
}

/// A program that is compiled as its head tells finds the library when it starts.
#[test]
fn what_heads_tell_to_type_makes_programs_that_start() {
    let sources = [
        "../examples/c/gemm.c",
        "../examples/cpp/gemm.cpp",
        "bench/product.cpp",
        "bench/overhead.cpp",
    ];
    for source in sources {
        let folder = tempfile::tempdir().unwrap();
        installed(folder.path());
        let runtime = crate_root().join("..").canonicalize().unwrap();
        symlink(runtime, folder.path().join("runtime")).unwrap();
        let text = std::fs::read_to_string(crate_root().join(source)).unwrap();
        let commands = commands(&text);
        let installs = |command: &String| command.ends_with("runtime/capi/install.sh installed");
        assert!(commands.iter().any(installs), "{source}: {commands:?}");
        let compiles =
            |command: &&String| command.starts_with("c++ ") || command.starts_with("cc ");
        let compiles = commands.iter().find(compiles).unwrap();
        let mut shell = Command::new("sh");
        stdout(shell.args(["-c", compiles]).current_dir(folder.path()));
        let runs = commands.iter().find(|command| command.starts_with("./"));
        let program = runs.unwrap().split_whitespace().next().unwrap();
        let told = ran(Command::new(folder.path().join(program)).current_dir(folder.path()));
        let told = String::from_utf8_lossy(&told.stderr).into_owned();
        assert!(!told.contains("shared"), "{source}: {told}");
        assert!(told.contains("usage"), "{source}: {told}");
    }
}

#[test]
fn the_header_stands_by_itself_in_c_and_in_cpp() {
    for (variable, usual, flags, language) in [("CC", "cc", C, "c"), ("CXX", "c++", CPP, "c++")] {
        let mut command = compiler(variable, usual);
        command
            .args(flags)
            .args(["-fsyntax-only", "-x", language])
            .arg("include/tilewright.h");
        // The header is the file that is compiled, of which compilers warn where it has `once`.
        stdout(&mut command);
    }
}

/// The fragment that README.md shows is one of a program that compiles; a GPU is what it would run
/// on.
#[test]
fn the_fragment_of_the_readme_compiles() {
    let readme = std::fs::read_to_string(crate_root().join("README.md")).unwrap();
    let (_, fragment) = readme.split_once("```cpp\n").unwrap();
    let (fragment, behind) = fragment.split_once("```").unwrap();
    assert!(!behind.contains("```cpp"), "a fragment without a test");
    let program = format!(
        "#include \"tilewright.hpp\"\nvoid launch(const void *a, const void *b, void *d, \
         int64_t m, int64_t n, int64_t k, void *stream) {{\n{fragment}}}\n"
    );
    let folder = tempfile::tempdir().unwrap();
    let (source, object) = (folder.path().join("f.cpp"), folder.path().join("f.o"));
    std::fs::write(&source, program).unwrap();
    let mut command = compiler("CXX", "c++");
    stdout(
        command
            .args(CPP)
            .arg("-c")
            .arg(&source)
            .arg("-o")
            .arg(&object),
    );
}
