//! The section `tools` of the configuration: what is special about single tools and agents.

use serde_json::{Value, json};

use crate::support::{call, check, check_with, later};

fn by(agent: &str, mut event: Value) -> Value {
    event["agent"] = json!(agent);
    event
}

/// Given a tool that is exempt, or exempt for one agent, its calls are no loop; of others they are.
#[test]
fn exempt_tools_make_no_loop() {
    let same: Vec<_> = (0..6).map(|_| call("recall", "goal", "win")).collect();
    let rules = ["no_progress", "repeated_tool_call_exact_input"];
    check(&same, &rules);
    check_with("tools: {'rec*': {exempt: true}}", &same, &[]);
    check_with("tools: {'*@a': {exempt: true}}", &same, &[]);
    check_with("tools: {'*@b': {exempt: true}}", &same, &rules);
    let closest = "tools: {'*': {exempt: true}, 'recall@a': {exempt: false}}";
    check_with(closest, &same, &rules);
}

/// Given exempt calls between the calls of a loop, the loop is seen all the same.
#[test]
fn exempt_calls_hide_no_loop() {
    let events: Vec<_> = (0..6)
        .flat_map(|i| {
            [
                call("list", "src", "a b"),
                call("think", &format!("step {i}"), "noted"),
            ]
        })
        .collect();
    let rules = ["no_progress", "repeated_tool_call_exact_input"];
    check_with("tools: {think: {exempt: true}}", &events, &rules);
}

/// Given a tool that polls, its equal answers have their time and no count, in every profile; after it they are a loop.
#[test]
fn polling_has_a_budget_of_its_own() {
    let poll = |i: u64| later(call("job", "status", "still running"), 5 * i);
    let polls: Vec<_> = (1..60).map(poll).collect();
    let rules = ["repeated_tool_call_exact_input"];
    check(&polls, &rules);
    let config = |seconds: u64| format!("tools: {{job: {{polling_seconds: {seconds}}}}}");
    check_with(&config(300), &polls, &[]);
    check_with(&config(60), &polls, &rules);
    for profile in ["agentium", "attocode", "automatos", "looplens"] {
        let config = format!("{}\ndetectors: {{profile: {profile}}}", config(300));
        check_with(&config, &polls, &[]);
    }
    // A tool whose name says that it waits may be told that it does not.
    let waits: Vec<_> = (1..8)
        .map(|i| later(call("wait_for", "x", "no"), i))
        .collect();
    check(&waits, &[]);
    let rules = ["no_progress", "repeated_tool_call_exact_input"];
    check_with("tools: {'wait_*': {polling_seconds: 0}}", &waits, &rules);
}

/// Given a limit, one call more is warned of, in any profile and for the agent that it names alone; a user's message begins
/// anew.
#[test]
fn limits_are_set_for_single_tools() {
    let page = |i: usize| call("fetch", &format!("page {i}"), &format!("text of page {i}"));
    let mut pages: Vec<_> = (0..6).map(page).collect();
    check_with("tools: {fetch: {limit: 6}}", &pages, &[]);
    check_with("tools: {fetch: {limit: 5}}", &pages, &["tool_limit"]);
    check_with("tools: {'fetch@b': {limit: 5}}", &pages, &[]);
    let config = "detectors: {profile: looplens}\ntools: {fetch: {limit: 5}}";
    check_with(config, &pages[..2], &[]);
    pages.insert(3, json!({"kind": "user_message"}));
    check_with("tools: {fetch: {limit: 5}}", &pages, &[]);
}

/// Given limits that the profile sets, a user changes one and takes another out.
#[test]
fn a_profile_and_its_user_share_the_section() {
    let reads: Vec<_> = (0..3)
        .map(|i| call("list_directory", &format!("d{i}"), "a"))
        .collect();
    let profile = "detectors: {profile: automatos}\n";
    check_with(profile, &reads, &["tool_limit"]);
    for change in ["{limit: 3}", "off"] {
        let config = format!("{profile}tools: {{list_directory: {change}}}");
        check_with(&config, &reads, &[]);
    }
}

/// Given arguments that are options, calls which differ in nothing else are one attempt.
#[test]
fn main_arguments_are_named() {
    let look = |i: usize| json!({"kind": "tool_call", "agent": "a", "tool": "look", "input": {"place": "cellar", "lamp": i}, "output": "dark"});
    let looks: Vec<_> = (0..4).map(look).collect();
    let profile = "detectors: {profile: attocode}\n";
    check_with(profile, &looks, &[]);
    let config = format!("{profile}tools: {{look: {{primary_arguments: [place]}}}}");
    check_with(&config, &looks, &["doom_loop"]);
}

/// Given members that are another each time, what else is equal is equal, in arguments as in results.
#[test]
fn volatile_fields_are_no_news() {
    let ask = |i: usize| {
        let salt = format!("n{}", i * 7919);
        json!({"kind": "tool_call", "agent": "a", "tool": "ask", "input": {"of": "rates", "salt": salt},
            "output": {"rates": [1, 2], "meta": {"made_by": format!("host-{i}")}}})
    };
    let asks: Vec<_> = (0..4).map(ask).collect();
    check(&asks, &[]);
    let config = "tools: {ask: {volatile_fields: [salt, made_by]}}";
    check_with(
        config,
        &asks,
        &["no_progress", "repeated_tool_call_exact_input"],
    );
}

/// Given words and members that say in this system that nothing was found, empty results are known as such.
#[test]
fn empty_results_are_described() {
    let ask = |i: usize, output: Value| {
        let words = [
            "tide tables",
            "ferry from Oslo",
            "who rents boats",
            "harbour fees",
            "pilots on call",
            "moorings in winter",
            "lights at night",
        ][i];
        json!({"kind": "tool_call", "agent": "a", "tool": "find", "input": {"q": words}, "output": output})
    };
    let told: Vec<_> = (0..7)
        .map(|i| ask(i, json!(format!("The shelf is bare ({i})"))))
        .collect();
    check(&told, &[]);
    let config = "tools: {find: {empty_phrases: [shelf is bare]}}";
    check_with(config, &told, &["empty_result_loop", "no_progress"]);
    let wrapped = |i: usize| ask(i, json!({"offers": {}, "note": format!("try {i}")}));
    let wrapped: Vec<_> = (0..7).map(wrapped).collect();
    check(&wrapped, &[]);
    for config in [
        "tools: {find: {payload_fields: [offers]}}",
        "tools: {find: {payload_fields: [offers], volatile_fields: [note]}}",
    ] {
        check_with(config, &wrapped, &["empty_result_loop", "no_progress"]);
    }
    let found = |i: usize| ask(i, json!({"offers": {"boat": i}, "more": {}}));
    let found: Vec<_> = (0..7).map(found).collect();
    check_with(
        "tools: {find: {payload_fields: [offers, more]}}",
        &found,
        &[],
    );
}

/// Given a tool that searches, queries that are alike and bring nothing new are one question; where each finds something, they are
/// not.
#[test]
fn search_tools_are_named() {
    let ask = |q: &str| json!({"kind": "tool_call", "agent": "a", "tool": "kb", "input": {"query": q}, "output": "See the manual."});
    let queries = [
        "fix the bug in login",
        "fix bug in login",
        "fix the bug in the login",
    ]
    .map(ask);
    let rules = "detectors: {rules: {repeated_tool_call_similar_input: off}}\n";
    check_with(rules, &queries, &[]);
    let config = format!("{rules}tools: {{kb: {{search: true}}}}");
    check_with(&config, &queries, &["similar_query"]);
    let mut found = queries;
    for (query, of) in found.iter_mut().zip(["ferry", "quay", "mill"]) {
        query["output"] = json!(format!("See the page on the {of}."));
    }
    check_with(&config, &found, &[]);
}

/// Given a shell under a name of its own and a command that runs the tests, failed tests in a row are seen.
#[test]
fn shells_and_test_commands_are_named() {
    let run = |i: usize| call("sandbox", "./ci.sh --fast", &format!("{} failed", 9 - i));
    let runs: Vec<_> = (0..3).map(run).collect();
    let profile = "detectors: {profile: attocode, rules: {doom_loop: off}}\n";
    check_with(profile, &runs, &[]);
    let config = format!("{profile}tools: {{sandbox: {{shell: true, test_commands: [./ci.sh]}}}}");
    check_with(&config, &runs, &["test_fix_cycle"]);
}

/// Given agents that work side by side, settings of one are not those of the other.
#[test]
fn agents_have_settings_of_their_own() {
    let config = "tools: {'*@scout': {exempt: true}}";
    let of = |agent: &str| -> Vec<Value> {
        (0..4)
            .map(|_| by(agent, call("look", "out", "nothing yet")))
            .collect()
    };
    check_with(config, &of("scout"), &[]);
    check_with(
        config,
        &of("cook"),
        &["no_progress", "repeated_tool_call_exact_input"],
    );
}
