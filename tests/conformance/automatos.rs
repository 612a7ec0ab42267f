//! The page *Tool Loop Prevention* of Automatos.
//!
//! Still to come with the guard: the skip with its reason (limit, identical, similar, in this order, the first that holds);
//! that a skipped call uses up nothing; the cache of the recipe executor, which answers with the earlier result. A warning
//! is about calls that were made, so a call may be over its limit and identical at once.

use eddy::config::profile::Name;
use serde_json::{Value, json};

use super::support::{call, check, shown, user, watch, with};

const AUTOMATOS: Name = Name::Automatos;

fn numbered(tool: &str, count: usize) -> Vec<Value> {
    // Nothing is alike: neither arguments nor queries.
    let words = ["alpha", "how do rivers form", "7 x 9", "zebra?"];
    let one = |i: usize| call(tool, json!({"query": words[i], "page": i}));
    (0..count).map(one).collect()
}

fn search(tool: &str, queries: &[&str]) -> Vec<Value> {
    let one = |query: &&str| call(tool, json!({"query": query}));
    queries.iter().map(one).collect()
}

/// Every row of the table of limits: as many calls are silent, one more is not.
#[test]
fn every_tool_has_its_limit() {
    for (tool, limit) in [
        ("composio_execute", 2),
        ("search_knowledge", 2),
        ("semantic_search", 2),
        ("search_codebase", 2),
        ("smart_query_database", 2),
        ("query_database", 2),
        ("read_file", 3),
        ("write_file", 2),
        ("list_directory", 2),
        ("anything_else", 3),
    ] {
        check(AUTOMATOS, &numbered(tool, limit), &[]);
        let over = format!("tool_limit {} warning {tool}", limit + 1);
        check(AUTOMATOS, &numbered(tool, limit + 1), &[&over]);
    }
}

/// Limits are each tool's own; a call that failed uses up one.
#[test]
fn limits_count_per_tool() {
    let mut run = numbered("read_file", 3);
    run.extend(numbered("write_file", 2));
    check(AUTOMATOS, &run, &[]);
    let failed = |event: Value| with(event, "error", json!("busy"));
    let run: Vec<Value> = numbered("composio_execute", 3)
        .into_iter()
        .map(failed)
        .collect();
    check(AUTOMATOS, &run, &["tool_limit 3 warning composio_execute"]);
}

/// Exact deduplication: the same call a second time in the turn, in a row or not, failed or not; keys in any order.
#[test]
fn identical_calls() {
    let read = call(
        "read_file",
        json!({"path": "a", "options": {"x": 1, "y": [1, 2]}}),
    );
    let turned = call(
        "read_file",
        json!("{\"options\":{\"y\":[1,2],\"x\":1},\"path\":\"a\"}"),
    );
    let found = &["duplicate_call 2 warning read_file"];
    check(AUTOMATOS, &[read.clone(), turned], found);
    let between = call("write_file", json!({"path": "a"}));
    check(AUTOMATOS, &[read.clone(), between, read.clone()], found);
    let failed = with(read.clone(), "error", json!("busy"));
    check(AUTOMATOS, &[failed, read.clone()], found);
    let list = call(
        "read_file",
        json!({"path": "a", "options": {"x": 1, "y": [2, 1]}}),
    );
    check(AUTOMATOS, &[read.clone(), list], &[]);
    let other_tool = call(
        "list_directory",
        json!({"path": "a", "options": {"x": 1, "y": [1, 2]}}),
    );
    check(AUTOMATOS, &[read, other_tool], &[]);
}

/// Semantic deduplication: "fix bug" and "fix the bug"; case and punctuation do not count; other questions are other ones.
#[test]
fn similar_queries() {
    for tool in [
        "search_knowledge",
        "semantic_search",
        "search_codebase",
        "smart_query_database",
        "query_database",
    ] {
        let found = format!("similar_query 2 warning {tool}");
        check(
            AUTOMATOS,
            &search(tool, &["fix bug", "fix the bug"]),
            &[&found],
        );
        check(
            AUTOMATOS,
            &search(tool, &["Fix: the BUG!", "fix the bug"]),
            &[&found],
        );
        check(
            AUTOMATOS,
            &search(tool, &["fix the bug", "list all users"]),
            &[],
        );
        check(AUTOMATOS, &search(tool, &["???", "!!!"]), &[]);
    }
    // Only search tools compare queries, and each its own.
    check(
        AUTOMATOS,
        &search("read_file", &["fix bug", "fix the bug"]),
        &[],
    );
    let mut two = search("semantic_search", &["fix bug"]);
    two.extend(search("search_codebase", &["fix the bug"]));
    check(AUTOMATOS, &two, &[]);
}

/// The query is the first text among six names.
#[test]
fn queries_have_many_names() {
    for key in ["query", "search_query", "q", "text", "question", "prompt"] {
        let ask = |said: &str| call("semantic_search", json!({"top": 5, key: said}));
        let run = [ask("fix bug"), ask("fix the bug")];
        check(
            AUTOMATOS,
            &run,
            &["similar_query 2 warning semantic_search"],
        );
    }
    let ask = |said: &str| call("semantic_search", json!({"title": said}));
    check(AUTOMATOS, &[ask("fix bug"), ask("fix the bug")], &[]);
}

/// Dangerous words keep queries apart.
#[test]
fn destructive_words_are_not_alike() {
    let run = search(
        "query_database",
        &["delete user account 5", "deactivate user account 5"],
    );
    check(AUTOMATOS, &run, &[]);
    let run = search(
        "query_database",
        &["delete user account 5", "delete the user account 5"],
    );
    check(AUTOMATOS, &run, &["similar_query 2 warning query_database"]);
}

/// A third query is compared with all earlier ones; the limit speaks too.
#[test]
fn all_earlier_queries_count() {
    let run = search(
        "semantic_search",
        &["fix bug", "how do rivers form", "fix the bug"],
    );
    let found = [
        "similar_query 2 warning semantic_search",
        "tool_limit 3 warning semantic_search",
    ];
    check(AUTOMATOS, &run, &found);
}

/// A new message of a user starts everything anew.
#[test]
fn a_turn_starts_anew() {
    for (first, second) in [
        (numbered("read_file", 3), numbered("search_knowledge", 2)),
        (
            search("semantic_search", &["fix bug"]),
            search("semantic_search", &["fix the bug"]),
        ),
        (numbered("read_file", 1), numbered("read_file", 1)),
    ] {
        let mut run = vec![user()];
        run.extend(first);
        run.push(user());
        run.extend(second);
        check(AUTOMATOS, &run, &[]);
    }
}

/// Searches that one model answer asked for are one round, and not compared with each other.
#[test]
fn one_answer_is_one_round() {
    let together = |i: usize, query: &str| {
        let ask = call("semantic_search", json!({"query": query}));
        let ask = with(ask, "t_ms", json!(1000 + i));
        with(ask, "duration_ms", json!(500))
    };
    let run = [together(0, "fix bug"), together(1, "fix the bug")];
    check(AUTOMATOS, &run, &[]);
}

/// The reasons say limit, identical and similar.
#[test]
fn reasons_are_told() {
    let mut run = search("semantic_search", &["fix bug", "fix the bug"]);
    run.extend(search("semantic_search", &["fix bug"]));
    let view = watch(&AUTOMATOS.policy(), &run);
    let said: Vec<&str> = view
        .warnings
        .iter()
        .map(|warning| &*warning.what_happened)
        .collect();
    for reason in [
        "more than it may be",
        "identical arguments",
        "nearly the same",
    ] {
        assert!(
            said.iter().any(|said| said.contains(reason)),
            "{reason}: {:?}",
            shown(&view)
        );
    }
}
