//! Sees to it that docs/reliability.md tells the truth about which tests there are, and what can be said of the supply chain
//! without a network.

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
    let rows = manual.lines().filter(|line| line.starts_with("| "));
    let mut checked = 0;
    for row in rows.skip(1) {
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
