//! Sees to it that docs/reliability.md tells the truth about which tests there are, that what is stored changes its shape only
//! together with the number of its format, and what can be said of the supply chain without a network. What needs another process
//! of the tests is here too: a process that begins has all locks of the one that begins it for a moment.

#[cfg(target_os = "linux")]
mod cache;
#[cfg(target_os = "linux")]
mod every_call;
mod panics;
mod reproducible;
mod supply_chain;

use std::fs;
use std::path::Path;

/// The words between backquotes.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// Given the table, every file that it names exists, and has each of the tests that stand behind its name.
#[test]
fn the_tests_of_the_table_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manual = fs::read_to_string(root.join("docs/reliability.md")).expect("the manual is there");
    let lines: Vec<&str> = manual.lines().collect();
    // The head of a table is the row above the rule.
    let is_row = |pair: &&[&str]| pair[0].starts_with("| ") && !pair[1].starts_with("|--");
    let mut checked = 0;
    for row in lines.windows(2).filter(is_row).map(|pair| pair[0]) {
        let cells: Vec<&str> = row.split('|').collect();
        let mut text = String::new();
        for word in quoted(cells[3]) {
            if Path::new(word)
                .extension()
                .is_some_and(|found| found == "rs")
            {
                text = fs::read_to_string(root.join(word))
                    .unwrap_or_else(|error| panic!("{word}: {error}"));
            } else {
                assert!(
                    text.contains(&format!("fn {word}(")),
                    "{row}: no test `{word}`"
                );
                checked += 1;
            }
        }
        assert!(!text.is_empty(), "{row}: it names no test");
    }
    assert!(checked > 40, "{checked} tests are named");
}

/// The fields of all stored records: file, message, number and kind of each, as the sources have them.
fn fields(root: &Path) -> String {
    let directory = root.join("src/store/records");
    let files = fs::read_dir(directory).expect("the records are there");
    let mut paths: Vec<_> = files.flatten().map(|file| file.path()).collect();
    paths.sort();
    let mut fields = String::new();
    for path in paths {
        let text = fs::read_to_string(&path).expect("it can be read");
        let file = path.file_stem().expect("a name").to_string_lossy();
        let mut message = "";
        let mut rest = text.as_str();
        while let Some(at) = rest.find(['#', 's', 'e']) {
            rest = &rest[at..];
            let is_item = |word: &str| rest.strip_prefix(word);
            if let Some(name) = is_item("struct ").or_else(|| is_item("enum ")) {
                message = name
                    .split(|letter: char| !letter.is_alphanumeric())
                    .next()
                    .unwrap_or("");
            }
            if let Some(field) = rest.strip_prefix("#[prost(") {
                let field = field.split(")]").next().expect("it is closed");
                let field: Vec<_> = field.split_whitespace().collect();
                let field = field.join(" ");
                let line = format!("{file} {message}: {}\n", field.trim_end_matches(','));
                fields.push_str(&line);
            }
            rest = &rest[1..];
        }
    }
    fields
}

/// Given what lies on disk, a release reads only the format that it knows, so that it never drops a field of a newer one: a field
/// that is new, or means something else, needs a new number of the format (`SCHEMA_KNOWN`). Of the present format every field
/// is listed; before the first release with a format, `EDDY_WRITE_FIELDS=1` lists them anew.
#[test]
fn fields_change_with_the_format() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let open = fs::read_to_string(root.join("src/store/open.rs")).expect("the store is there");
    let known = open.split("SCHEMA_KNOWN: u32 = ").nth(1).expect("a number");
    let known = known.split(';').next().expect("a number");
    let list = root.join(format!("tests/store_formats/{known}.fields"));
    let found = fields(root);
    assert!(found.lines().count() > 200, "{found}");
    if std::env::var_os("EDDY_WRITE_FIELDS").is_some() {
        fs::write(&list, &found).expect("it can be written");
    }
    let listed = fs::read_to_string(&list).unwrap_or_default();
    let new: Vec<_> = found
        .lines()
        .filter(|field| !listed.lines().any(|line| line == *field))
        .collect();
    assert!(
        new.is_empty(),
        "a release with format {known} would drop these fields; raise SCHEMA_KNOWN in src/store/open.rs, and put a store of the \
         new format in tests/store_formats: {new:#?}"
    );
}
