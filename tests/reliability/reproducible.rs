//! The same source makes the same program, wherever and whenever it is built (docs/operation.md says how).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use memchr::memmem::{find, find_iter};

/// Whether this is something like `Mar  4`: the day on which a file of C was compiled, as it may be written into it, without its
/// year.
fn is_day(text: &[u8]) -> bool {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let Ok(text) = str::from_utf8(text) else {
        return false;
    };
    let (month, day) = text.split_at_checked(3).unwrap_or_default();
    MONTHS.contains(month) && day.trim().parse::<u8>().is_ok()
}

/// Given the program as it was built with the tests, it has no date in it, and nothing of its source asks the machine for
/// anything but the number of the version.
#[test]
fn nothing_of_a_machine_is_built_in() {
    let program = fs::read(env!("CARGO_BIN_EXE_eddy")).expect("it was built");
    for at in find_iter(&program, " 20") {
        let day = program.get(at.saturating_sub(6)..at);
        assert!(
            !day.is_some_and(is_day),
            "a date at byte {at}: code in C was built without the SOURCE_DATE_EPOCH of .cargo/config.toml"
        );
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for file in files(&root.join("src")) {
        let text = fs::read_to_string(&file).expect("it can be read");
        let asked = text.split("env!(").skip(1);
        let asked = asked.filter_map(|rest| rest.split('"').nth(1));
        for name in asked {
            // Tests may ask where their files are.
            let is_known = ["CARGO_PKG_VERSION", "CARGO_MANIFEST_DIR"].contains(&name);
            assert!(is_known, "{}: {name}", file.display());
        }
    }
    let build = fs::read_to_string(root.join("build.rs")).expect("it is there");
    for way in ["env", "time", "Command"] {
        assert!(!build.contains(&format!("std::{way}")), "{way}");
        assert!(!build.contains("option_env!"));
    }
}

/// The files below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).expect("it is there").flatten();
    let each = entries.map(|entry| match entry.path() {
        path if path.is_dir() => files(&path),
        path => vec![path],
    });
    each.flatten().collect()
}

/// Copies the source to a new directory, without what was built of it.
fn copy_source(to: &Path) {
    fs::create_dir_all(to).expect("it can be made");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let entries = fs::read_dir(root).expect("it is there").flatten();
    let names = entries.map(|entry| entry.file_name());
    let names = names.filter(|name| name != "target" && name != ".git");
    for name in names {
        let mut copying = Command::new("cp");
        let copied = copying.arg("-R").arg(root.join(name)).arg(to).status();
        assert!(copied.expect("there is cp").success());
    }
}

/// The program that is made of the source in a directory, and what must not be found in it.
fn built_in(directory: &Path) -> (Vec<u8>, [String; 2]) {
    let cargo_home = std::env::var("CARGO_HOME").unwrap_or_else(|_| {
        let home = std::env::var("HOME").expect("there is a home");
        format!("{home}/.cargo")
    });
    let places = [directory.to_string_lossy().into_owned(), cargo_home];
    let [source, registry] = &places;
    let built = Command::new(std::env::var("CARGO").expect("cargo runs the tests"))
        .args([
            "build",
            "--release",
            "--locked",
            "--offline",
            "--bin",
            "eddy",
        ])
        .current_dir(directory)
        .env("CARGO_TARGET_DIR", directory.join("target"))
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env(
            "RUSTFLAGS",
            format!("--remap-path-prefix={source}=/eddy --remap-path-prefix={registry}=/cargo"),
        )
        .status();
    assert!(built.expect("it runs").success());
    let program = fs::read(directory.join("target/release/eddy")).expect("it was built");
    (program, places)
}

/// Given the source in two directories (with `EDDY_REPRODUCIBLE=1`, which builds two releases), the programs made of them are
/// the same, byte for byte, and neither names a directory of this machine.
#[test]
fn the_same_source_makes_the_same_program() {
    if std::env::var_os("EDDY_REPRODUCIBLE").is_none() {
        return;
    }
    let temporary = tempfile::tempdir().expect("a directory");
    let [one, other] = ["one", "another/place"].map(|name| temporary.path().join(name));
    // Both at once: somebody may go on writing it.
    copy_source(&one);
    copy_source(&other);
    let (program, places) = built_in(&one);
    for place in places {
        assert_eq!(find(&program, place.as_bytes()), None, "{place}");
    }
    assert!(program == built_in(&other).0, "they differ");
    println!("{} bytes, twice the same", program.len());
}
