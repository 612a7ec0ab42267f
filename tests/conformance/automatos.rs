//! The page *Tool Loop Prevention* of Automatos.
//!
//! The first half is about what spans tell, the second about what the guard answers. A warning is about calls that were made,
//! so a call may be over its limit and identical at once; a refusal has one reason: limit, identical, similar, in this order.

use eddy::config::profile::Name;
use serde_json::{Value, json};

use super::guarded::{Guarded, asked, shown as verdict};
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

/// Each tool may be called as often as the table says, with other arguments each time; the next call names the limit.
#[test]
fn limits_of_the_table() {
    let guard = Guarded::by(AUTOMATOS);
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
        let call = |n: u32| asked(tool, json!({"n": n}));
        for n in 0..limit {
            assert_eq!(
                guard.call(&call(n), &json!({"result": n})),
                "ALLOW",
                "{tool}"
            );
        }
        let answer = guard.answer(&call(limit));
        assert_eq!(
            verdict(&answer),
            format!("SKIP tool_limit {}", limit + 1),
            "{tool}"
        );
        let message = answer["message"].as_str().unwrap();
        assert!(
            message.contains(tool) && message.contains(&format!("({limit})")),
            "{message}"
        );
        // Asked once more, the limit that is named is still the limit.
        let message = guard.answer(&call(limit + 1))["message"].to_string();
        assert!(message.contains(&format!("({limit})")), "{message}");
    }
}

/// Exact: one earlier equal call is enough, whatever came of it. Where the limit is reached as well, the limit is the reason.
#[test]
fn identical_calls_are_skipped() {
    let guard = Guarded::by(AUTOMATOS);
    let read = |path: &str| asked("read_file", json!({"path": path}));
    assert_eq!(guard.call(&read("a"), &json!({"error": "busy"})), "ALLOW");
    assert_eq!(guard.check(&read("a")), "SKIP duplicate_call 2");
    // What was skipped has used up nothing: two more may be read.
    assert_eq!(guard.call(&read("b"), &json!({"result": "x"})), "ALLOW");
    assert_eq!(guard.call(&read("c"), &json!({"result": "x"})), "ALLOW");
    assert_eq!(guard.check(&read("a")), "SKIP tool_limit 4");
    assert_eq!(guard.check(&read("d")), "SKIP tool_limit 5");
}

/// Semantic: "fix bug" and "fix the bug" are one query; what means something else is none, nor is that of another tool, and a
/// query that was skipped is no earlier one.
#[test]
fn similar_queries_are_skipped() {
    let guard = Guarded::by(AUTOMATOS);
    let search = |tool: &str, q: &str| asked(tool, json!({"query": q}));
    let found = json!({"result": ["x"]});
    assert_eq!(
        guard.call(&search("search_knowledge", "fix bug"), &found),
        "ALLOW"
    );
    assert_eq!(
        guard.check(&search("search_knowledge", "Fix the bug!")),
        "SKIP similar_query 2"
    );
    assert_eq!(
        guard.check(&search("search_codebase", "fix the bug")),
        "ALLOW"
    );
    assert_eq!(
        guard.check(&search("search_knowledge", "deploy on friday")),
        "ALLOW"
    );
    let guard = Guarded::by(AUTOMATOS);
    assert_eq!(
        guard.call(&search("semantic_search", "delete user"), &found),
        "ALLOW"
    );
    assert_eq!(
        guard.check(&search("semantic_search", "deactivate user")),
        "ALLOW"
    );
    let guard = Guarded::by(AUTOMATOS);
    let found_bug = guard.call(&search("semantic_search", "fix bug"), &found);
    assert_eq!(found_bug, "ALLOW");
    for (query, verdict) in [
        ("fix the bug", "SKIP similar_query 2"),
        ("fit the bug", "ALLOW"),
    ] {
        assert_eq!(guard.check(&search("semantic_search", query)), verdict);
    }
}

/// All of it holds for one turn: a message of a user or another `turn_id` begins the next. Calls of one round are not compared
/// with each other for similarity.
#[test]
fn turns_and_rounds() {
    let guard = Guarded::by(AUTOMATOS);
    let list = asked("list_directory", json!({"path": "."}));
    assert_eq!(
        [guard.check(&list), guard.check(&list)],
        ["ALLOW", "SKIP duplicate_call 2"]
    );
    guard.message("user", "and now?");
    assert_eq!(
        [guard.check(&list), guard.check(&list)],
        ["ALLOW", "SKIP duplicate_call 2"]
    );
    let in_turn = |turn: &str, path: &str| {
        let mut call = asked("list_directory", json!({"path": path}));
        call["turn_id"] = json!(turn);
        call
    };
    let verdicts = [
        ("1", "a"),
        ("1", "a"),
        ("2", "a"),
        ("2", "b"),
        ("2", "c"),
        ("3", "c"),
    ]
    .map(|(turn, path)| guard.check(&in_turn(turn, path)));
    let expected = [
        "ALLOW",
        "SKIP duplicate_call 2",
        "ALLOW",
        "ALLOW",
        "SKIP tool_limit 3",
        "ALLOW",
    ];
    assert_eq!(verdicts, expected);
    let in_round = |round: &str, query: &str| {
        let mut call = asked("search_knowledge", json!({"query": query}));
        call["round_id"] = json!(round);
        call
    };
    assert_eq!(guard.check(&in_round("1", "rust async runtime")), "ALLOW");
    assert_eq!(guard.check(&in_round("1", "rust async runtimes")), "ALLOW");
    guard.message("user", "next");
    assert_eq!(guard.check(&in_round("2", "rust async runtime")), "ALLOW");
    assert_eq!(
        guard.check(&in_round("3", "rust async runtimes")),
        "SKIP similar_query 2"
    );
}

/// The recipe executor gives the earlier result back instead of a reason.
#[test]
fn the_recipe_cache() {
    let yaml = "
guard:
  keep_results: true
  actions:
    - {rules: [duplicate_call], verdict: skip, tools: ['composio_*'], message: '{previous_result}'}
";
    let guard = Guarded::with(AUTOMATOS, yaml);
    let call = asked("composio_execute", json!({"action": "SEND", "to": "a"}));
    guard.call(&call, &json!({"result": {"sent": true}}));
    let answer = guard.answer(&call);
    assert_eq!(answer["previous_result"], json!(r#"{"sent":true}"#));
    assert_eq!(answer["message"], answer["previous_result"]);
    // Another tool is none of its business.
    let other = asked("list_directory", json!({"path": "."}));
    assert_eq!(
        [guard.check(&other), guard.check(&other)],
        ["ALLOW", "ALLOW"]
    );
}
