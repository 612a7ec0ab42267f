//! What each rule is for: a kind of loop that is seen later without it, or not at all.

use super::{all_loops, run, variants_of, verdicts_under};

/// The rules of profile `standard` that see loops, each with such a kind. `repeated_tool_call` sees none before the others do;
/// `long_running_step`, `cost_spike` and `cost_budget_exceeded` are about time and money.
const KINDS: [(&str, &str); 12] = [
    (
        "repeated_tool_call_similar_input",
        "reworded query, same result",
    ),
    ("repeated_tool_call_exact_input", "edits, same failing test"),
    ("no_progress", "reduce: from the first chunk again"),
    ("empty_result_loop", "research: pages behind the end"),
    ("retry_storm", "rate limit: never waited for"),
    ("handoff_bounce", "hand-offs between 2"),
    ("tool_cycle", "cycle of 2"),
    ("stagnation", "retrieval: same pieces, other scores"),
    ("same_error", "other calls, error that names them"),
    ("handoff_cycle", "hand-offs between 3"),
    ("goal_loop", "errand reworded"),
    ("repeated_text", "monologue reworded"),
];

/// Given a rule that is switched off, some run of its kind is seen later than with it or not at all, and none earlier.
#[test]
fn each_rule_sees_something() {
    let all = all_loops();
    for (rule, kind) in KINDS {
        let numbered = (0..).zip(&all);
        let mut found = numbered.filter(|(_, (name, _, _))| *name == kind);
        let (number, (_, _, build)) = found.next().expect("the kind is there");
        let made = variants_of(number, *build, 6);
        let runs: Vec<_> = (made.iter().enumerate())
            .map(|(variant, made)| run(kind, variant, made))
            .collect();
        let first_flags = |config: &str| -> Vec<u64> {
            let verdicts = verdicts_under(config, &runs);
            let firsts = verdicts.iter().map(|verdict| &verdict["first_flag_event"]);
            firsts
                .map(|first| first.as_u64().unwrap_or(u64::MAX))
                .collect()
        };
        let with = first_flags("{}");
        let without = first_flags(&format!("detectors: {{rules: {{{rule}: off}}}}"));
        let told = format!("{rule} on {kind}: {with:?} and {without:?}");
        let mut pairs = with.iter().zip(&without);
        assert!(with.iter().any(|first| *first < u64::MAX), "{told}");
        assert!(
            pairs.clone().all(|(with, without)| with <= without),
            "{told}"
        );
        assert!(pairs.any(|(with, without)| with < without), "{told}");
    }
}
