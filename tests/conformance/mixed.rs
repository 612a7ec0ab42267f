//! Several profiles in one run: each agent and each tool is answered as the page of its own profile says.

use eddy::config::profile::Name;
use serde_json::{Value, json};

use super::guarded::{Guarded, asked, policy};
use super::support::{shown, watch};

/// Four agents, each under the profile of another system.
const FOUR: &str = "detectors:
  profiles:
    '*@ag*': {profile: agentium}
    '*@au*': {profile: automatos}
    '*@run*': {profile: agent-runtime}
    '*@at*': {profile: attocode}
";

/// What the guard answers an agent that makes the same call again and again; a new turn begins after the fifth.
fn answers(guarded: &Guarded, agent: &str, rounds: std::ops::Range<u32>) -> Vec<Value> {
    let mut call = asked("lookup", json!({"q": "same"}));
    call["agent"] = json!(agent);
    rounds
        .map(|round| {
            call["turn_id"] = json!(round / 5);
            let mut answer = guarded.answer(&call);
            let may = ["ALLOW", "NUDGE"]
                .iter()
                .any(|kind| answer["verdict"] == *kind);
            if may {
                guarded.report(&call, &json!({"result": "all that is known of it"}));
            }
            // Another run has warnings with other ids.
            answer.as_object_mut().unwrap().remove("warning_id");
            answer
        })
        .collect()
}

/// Given four agents that make one call by turns, each under its own profile, each is answered, word for word, as it would be
/// alone in a daemon of that profile; what each counts is its own. Whoever has none is answered by the main one, which looks at
/// the whole run.
#[test]
fn agents_are_answered_by_their_own_systems() {
    const ROUNDS: u32 = 8;
    let agents = [
        ("ag1", Name::Agentium),
        ("au1", Name::Automatos),
        ("run1", Name::AgentRuntime),
        ("at1", Name::Attocode),
    ];
    let together = Guarded::with(Name::Standard, FOUR);
    let mut mixed = vec![Vec::new(); agents.len()];
    for round in 0..ROUNDS {
        for ((agent, _), answered) in agents.iter().zip(&mut mixed) {
            answered.extend(answers(&together, agent, round..round + 1));
        }
    }
    for ((agent, profile), mixed) in agents.iter().zip(mixed) {
        let alone = answers(&Guarded::by(*profile), agent, 0..ROUNDS);
        assert_eq!(mixed, alone, "{agent}");
        let refused = alone.iter().filter(|answer| answer["verdict"] == "SKIP");
        assert!(refused.count() > 0, "{agent}");
    }
    let rules = |run: &Value| -> Vec<String> {
        let warnings = run["warnings"].as_array().unwrap().iter();
        warnings
            .map(|warning| warning["rule"].as_str().unwrap().to_owned())
            .collect()
    };
    let found = rules(&together.run());
    assert!(
        found.contains(&"duplicate_call".to_owned()) && found.contains(&"doom_loop".to_owned())
    );
    let other = answers(&together, "other", 0..ROUNDS);
    let refused = other.iter().filter(|answer| answer["verdict"] == "SKIP");
    assert!(refused.clone().count() > 0);
    assert!(
        refused
            .clone()
            .all(|answer| answer["rule"] != "duplicate_call")
    );
}

/// Given profiles of single tools, with changes, and of one agent's tool: the closest name counts, and other tools are the
/// main profile's.
#[test]
fn tools_are_answered_by_their_own_systems() {
    let guarded = Guarded::with(
        Name::Looplens,
        "detectors:
  profiles:
    'web_*': {profile: agent-runtime}
    'web_search@lead':
      profile: agentium
      rules: {duplicate_call: {calls: 3}}
      guard: {actions: [{rules: [duplicate_call], verdict: abort, message: '{tool_name}: {repeats}, {limit}'}]}
",
    );
    let ask = |agent: &str, tool: &str| {
        let mut call = asked(tool, json!({"q": "x"}));
        call["agent"] = json!(agent);
        guarded.call(&call, &json!({"result": "found"}))
    };
    let both = ["ALLOW", "SKIP duplicate_call 2"];
    assert_eq!([(); 2].map(|()| ask("helper", "web_search")), both);
    assert_eq!([(); 2].map(|()| ask("lead", "web_open")), both);
    let three = ["ALLOW", "ALLOW", "ABORT duplicate_call 3"];
    assert_eq!([(); 3].map(|()| ask("lead", "web_search")), three);
    assert_eq!([(); 9].map(|()| ask("lead", "shell")), ["ALLOW"; 9]);
    let mut call = asked("web_search", json!({"q": "x"}));
    call["agent"] = json!("lead");
    assert_eq!(guarded.answer(&call)["message"], json!("web_search: 4, 2"));
}

/// Given a nudge that one profile owes, it comes with the next question, whichever profile that is answered by, and once; what
/// other profiles warn of is not told by the main one.
#[test]
fn nudges_are_owed_by_whoever_warned() {
    let guarded = Guarded::with(
        Name::Attocode,
        "detectors: {profiles: {web_search: {profile: agent-runtime}}}\n",
    );
    for n in 0..3 {
        let call = asked(
            "bash",
            json!({"command": format!("cargo test --lib part{n}")}),
        );
        assert_eq!(
            guarded.call(&call, &json!({"error": "1 test failed"})),
            "ALLOW"
        );
    }
    let search = |q: u32| guarded.check(&asked("web_search", json!({"q": q})));
    assert_eq!(search(1), "NUDGE test_fix_cycle 3");
    assert_eq!(search(2), "ALLOW");

    let guarded = Guarded::with(
        Name::Standard,
        "detectors: {profiles: {'*@quiet': {profile: looplens, guard: {mode: enforce}}}}\n",
    );
    let mut call = asked("lookup", json!({"q": 1}));
    call["agent"] = json!("quiet");
    for _ in 0..9 {
        assert_eq!(guarded.call(&call, &json!({"result": "the same"})), "ALLOW");
    }
    assert!(guarded.run()["warnings"].as_array().unwrap().len() > 1);
}

/// Given an agent whose profile only observes, or keeps results, that holds for it alone; what the file says of all holds for all.
#[test]
fn modes_are_each_profile_s_own() {
    let guarded = Guarded::with(
        Name::Agentium,
        "guard: {exempt_tools: ['Get_*']}
detectors: {profiles: {'*@new': {profile: agent-runtime, guard: {mode: observe}}, '*@old': {profile: agent-runtime}}}\n",
    );
    let again = |agent: &str| {
        let mut call = asked("lookup", json!({"q": agent}));
        call["agent"] = json!(agent);
        for _ in 0..3 {
            guarded.call(&call, &json!({"result": "seen before"}));
        }
        guarded.answer(&call)
    };
    assert_eq!(again("new")["verdict"], json!("ALLOW"));
    let answer = again("old");
    assert_eq!(answer["verdict"], json!("SKIP"));
    assert_eq!(answer["previous_result"], json!("seen before"));
    let answer = again("else");
    assert_eq!(answer["verdict"], json!("SKIP"));
    assert_eq!(answer.get("previous_result"), None);
    for agent in ["old", "else"] {
        let mut call = asked("get_time", json!({}));
        call["agent"] = json!(agent);
        for _ in 0..5 {
            assert_eq!(guarded.call(&call, &json!({"result": "noon"})), "ALLOW");
        }
    }
}

/// Given what is about the run as a whole, the main profile's numbers hold whoever does it: one budget, one swarm, one score.
#[test]
fn the_run_is_the_main_profile_s() {
    let guarded = Guarded::with(
        Name::Attocode,
        "detectors: {profiles: {'*@a': {profile: agentium}, '*@b': {profile: agent-runtime}}}\n",
    );
    let work = |agent: &str, n: u32| {
        let mut call = asked(
            "fetch",
            json!({"url": "https://example.org/a", "attempt": n}),
        );
        call["agent"] = json!(agent);
        guarded.call(&call, &json!({"result": "done"}))
    };
    let mut told = Vec::new();
    for n in 0..6 {
        for agent in ["a", "b"] {
            told.push(work(agent, n));
        }
    }
    let global: Vec<_> = told
        .iter()
        .filter(|answer| answer.contains("global"))
        .collect();
    assert_eq!(
        global,
        ["NUDGE global_doom_loop 10", "NUDGE global_doom_loop 11"]
    );
}

/// Given entries that say which members of a call mean nothing and which words are nothing, its own agent's calls are read so,
/// asked for or told by a span, and nobody else's.
#[test]
fn calls_are_read_by_the_profile_that_judges_them() {
    const ONE: &str = "detectors:
  profiles:
    '*@lead':
      profile: standard
      tools: {enquire: {volatile_fields: [mood], empty_phrases: [nobody knows]}}
";
    let guarded = Guarded::with(Name::Standard, ONE);
    let ask = |agent: &str| {
        ["amber", "birch", "cedar", "dune", "elm"].map(|mood| {
            let mut call = asked("enquire", json!({"q": "x", "mood": mood}));
            call["agent"] = json!(agent);
            guarded.call(&call, &json!({"result": "found"}))
        })
    };
    assert_eq!(ask("helper"), ["ALLOW"; 5]);
    let again = |times: u32| format!("NUDGE repeated_tool_call_exact_input {times}");
    let [first, second, others @ ..] = ask("lead");
    assert_eq!([first, second], ["ALLOW"; 2]);
    assert_eq!(others, [3, 4, 5].map(again));
    let policy = policy(Name::Standard, ONE);
    let warned = |agent: &str| {
        let call = |n: u32| {
            json!({"kind": "tool_call", "t_ms": n, "tool": "enquire", "agent": agent,
                "input": {"q": n}, "output": format!("nobody knows {n}")})
        };
        let view = watch(&policy, &(0..6).map(call).collect::<Vec<_>>());
        shown(&view)
    };
    assert_eq!(warned("helper"), [""; 0]);
    let empty = "empty_result_loop 6 warning enquire".to_owned();
    assert!(warned("lead").contains(&empty));
}
