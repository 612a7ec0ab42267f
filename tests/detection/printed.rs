//! Runs of coding, browser, data, research, service and office agents, whose tools print what real ones print: whole files, pages,
//! stack traces, tables. One run of each of 66 kinds of loops and 75 kinds of work, in the events format, written by a generator
//! without sight of the rules. Beside `families`, which knows hundreds of variants with short results, these say what is lost where
//! results are long.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use crate::support::{at, eddy};

/// Loops that are not seen. What users say is not in the format; apologies share too few words; of the others, each call is a new
/// text, and what answers it says no more than that it was taken.
const MISSED: [&str; 5] = [
    "agent_reasks_customer_for_same_info",
    "apologies_without_calls",
    "email_draft_polish_never_sent",
    "mypy_whackamole",
    "write_same_file_over",
];

/// Work that is warned of: one thing after the other in which the same is not found, or fails in the same way, until the last.
const WARNED: [&str; 2] = ["eliminate_flags_one_by_one", "subdomain_lookup_nxdomain"];

/// Given these runs, every loop but the known ones is seen, and no work but the known is warned of.
#[test]
fn runs_with_long_results() {
    let runs = at("tests/detection/printed.jsonl.gz");
    let dir = tempfile::tempdir().expect("a directory");
    let out = dir.path().join("out.jsonl");
    let [runs, verdicts] = [&runs, &out].map(|path| path.to_str().expect("UTF-8"));
    let answer = eddy(&["eval", "--json", runs, "--verdicts", verdicts]);
    let told = fs::read_to_string(&out).expect("verdicts");
    let told = told
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let told: BTreeMap<String, Value> = told
        .map(|verdict| {
            (
                verdict["run_id"].as_str().expect("a name").to_owned(),
                verdict,
            )
        })
        .collect();
    assert_eq!(told.len(), 141);
    let flagged = |kind: &&str| told[*kind]["flagged"] == true;
    assert!(!MISSED.iter().any(flagged), "a loop is missed no more");
    assert!(WARNED.iter().all(flagged), "work is warned of no more");
    let counts = [
        "true_positives",
        "false_negatives",
        "false_positives",
        "true_negatives",
    ];
    let counts = counts.map(|count| answer["datasets"][0][count].as_u64());
    assert_eq!(counts, [61, 5, 2, 73].map(Some), "{answer}");
}
