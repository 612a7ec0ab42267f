//! What can be said of the supply chain without a network: `deny.toml` and the lock file agree. `cargo deny check` itself also
//! asks for advisories, which change from day to day.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    fs::read_to_string(path).expect("it is there")
}

/// The texts between quotes of the list that follows a key, each behind a prefix.
fn listed<'t>(text: &'t str, key: &str, prefix: &str) -> BTreeSet<&'t str> {
    let (_, list) = text.split_once(&format!("\n{key} = [")).expect("a list");
    let (list, _) = list.split_once("\n]").expect("its end");
    let entries = list
        .lines()
        .filter_map(|line| line.trim().strip_prefix(prefix));
    entries
        .filter_map(|entry| entry.split('"').next())
        .collect()
}

/// A field of a package of the lock file.
fn field<'t>(package: &'t str, key: &str) -> Option<&'t str> {
    let line = package
        .lines()
        .find_map(|line| line.strip_prefix(&format!("{key} = \"")));
    line.and_then(|line| line.strip_suffix('"'))
}

/// Given the lock file, everything comes from one registry with a checksum, nothing that is banned is in it, and the crates
/// that are there in several versions are those that the policy names.
#[test]
fn the_lock_file_keeps_the_policy() {
    let (lock, policy) = (read("Cargo.lock"), read("deny.toml"));
    let packages = lock.split("[[package]]").skip(1);
    let mut versions: BTreeMap<&str, u32> = BTreeMap::new();
    let mut sources = BTreeSet::new();
    for package in packages {
        let name = field(package, "name").expect("a name");
        *versions.entry(name).or_default() += 1;
        if name == env!("CARGO_PKG_NAME") {
            continue;
        }
        let source = field(package, "source").unwrap_or_else(|| panic!("{name} has no source"));
        assert!(source.starts_with("registry+"), "{name} is from {source}");
        sources.insert(source);
        let checksum = field(package, "checksum").map(str::len);
        assert_eq!(checksum, Some(64), "{name} has no checksum");
    }
    assert_eq!(sources.len(), 1, "{sources:?}");
    assert!(versions.len() > 200, "{} packages", versions.len());
    let several = versions.iter().filter(|(_, count)| **count > 1);
    let several: BTreeSet<&str> = several.map(|(name, _)| *name).collect();
    assert_eq!(several, listed(&policy, "skip", "{ crate = \""));
    let banned = listed(&policy, "deny", "{ crate = \"");
    assert!(banned.len() > 3, "{banned:?}");
    for name in banned {
        assert!(!versions.contains_key(name), "{name} is banned");
    }
}

/// What cargo knows of every package that is built here.
fn packages() -> Vec<Value> {
    let cargo = std::env::var("CARGO").expect("cargo runs the tests");
    let version = Command::new(&cargo).arg("-vV").output().expect("it runs");
    let version = String::from_utf8(version.stdout).expect("text");
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let output = Command::new(cargo)
        .args(["metadata", "--offline", "--locked", "--format-version", "1"])
        .args(["--filter-platform", host.expect("a host")])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut metadata: Value = serde_json::from_slice(&output.stdout).expect(&said);
    let packages = metadata["packages"].take();
    let packages: Vec<Value> = serde_json::from_value(packages).expect("packages");
    assert!(packages.len() > 100, "{} packages", packages.len());
    packages
}

/// Given the oldest Rust that Eddy says is enough, no package asks for a newer one. (That Eddy's own code uses nothing newer
/// of the standard library is a lint of clippy's.)
#[test]
fn the_oldest_rust_is_enough() {
    let numbers = |version: &str| -> Vec<u32> {
        let parts = version.split('.');
        parts.map(|part| part.parse().expect("a number")).collect()
    };
    let ours = numbers(env!("CARGO_PKG_RUST_VERSION"));
    for package in packages() {
        if let Some(version) = package["rust_version"].as_str() {
            let asked = numbers(version);
            assert!(asked[..2] <= ours[..2], "{}: {version}", package["name"]);
        }
    }
}

/// Given what every package says of its licence, one that the policy allows can be chosen.
#[test]
fn licences_are_allowed() {
    let policy = read("deny.toml");
    let allowed = listed(&policy, "allow", "\"");
    for package in packages() {
        let licence = package["license"].as_str().unwrap_or_default();
        // Outside of brackets `AND` binds; a slash is an older form of `OR`.
        let parts = licence.replace(['(', ')'], "").replace('/', " OR ");
        let chosen = parts.split(" AND ").all(|part| {
            let mut choices = part.split(" OR ").map(str::trim);
            choices.any(|choice| allowed.contains(choice))
        });
        assert!(chosen, "{}: {licence}", package["name"]);
    }
}
