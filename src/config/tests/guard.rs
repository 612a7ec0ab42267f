//! What is said of bad settings of the guard.

use super::check;

/// Given an action that means nothing, or names what is not put in, it is named by its number and what is wrong with it.
#[test]
fn actions_that_mean_nothing_are_named() {
    let actions =
        |actions: &[&str]| format!("guard:\n  actions:\n    - {}", actions.join("\n    - "));
    check(
        &actions(&[
            "{rules: [tool_cycle], verdict: nudge, message: '{tool_nam}'}",
            "{rules: [tool_cycle], verdict: nudge, message: 'see {x} and {\"a\": 1}'}",
        ]),
        &[
            "3:45: guard.actions.1.message: nothing is put in for `{tool_nam}`; did you mean `{tool_name}`?",
            "4:45: guard.actions.2.message: nothing is put in for `{x}`; known are `{tool_name}`, `{arguments}`",
        ],
    );
    check(
        &actions(&[
            "{rules: [], verdict: skip, message: ' '}",
            "{rules: [tool_cycle], verdict: skip, when: owed, message: enough}",
        ]),
        &[
            "3:8: guard.actions.1.rules: names no rule",
            "3:34: guard.actions.1.message: is empty",
            "4:44: guard.actions.2.when: what is owed can be said",
        ],
    );
    check(
        "detectors: {profiles: {x: {profile: attocode, guard: {actions: [{rules: [], verdict: nudge, message: a}]}}}}",
        &["1:66: detectors.profiles.x.guard.actions.1.rules: names no rule"],
    );
}

/// Given many mistakes in the guard's section, all are said at once, each with the key and the nearest right one; an action keeps
/// its number whatever is wrong with those before it.
#[test]
fn all_mistakes_of_the_guard_are_said_at_once() {
    check(
        "guard:
  mod: observe
  deadline_ms: 0
  exempt_tools: [5, poll]
  actions:
    - {rules: [tool_cycl, no_progres], verdict: nudg, message: a}
    - {rules: [tool_cycle], verdict: skip, mesage: b}
    - {rules: [tool_cycle], verdict: skip, message: '{tol_name}', cont: 3, count: many}
    - {rules: [tool_cycle], verdict: skip}
    - skip
    - {rules: [tool_cycle], verdict: skip, message: a, message: b}
    - {rules: [], verdict: skip, message: '{repeat}'}
",
        &[
            "2:3: guard.mod: unknown key; did you mean `mode`?",
            "3:3: guard.deadline_ms: expected 1 to 10000, found 0",
            "4:18: guard.exempt_tools.1: expected a text",
            "6:16: guard.actions.1.rules.1: `tool_cycl` is not known; did you mean `tool_cycle`?",
            "6:27: guard.actions.1.rules.2: `no_progres` is not known; did you mean `no_progress`?",
            "6:40: guard.actions.1.verdict: `nudg` is not known; did you mean `nudge`?",
            "7:7: guard.actions.2: needs the key `message`",
            "7:44: guard.actions.2.mesage: unknown key; did you mean `message`?",
            "8:44: guard.actions.3.message: nothing is put in for `{tol_name}`; did you mean `{tool_name}`?",
            "8:67: guard.actions.3.cont: unknown key; did you mean `count`?",
            "8:76: guard.actions.3.count: expected a whole number",
            "9:7: guard.actions.4: needs the key `message`",
            "10:7: guard.actions.5: expected a section with keys, found `skip`",
            "11:56: guard.actions.6.message: given twice; the first is in line 11",
            "12:8: guard.actions.7.rules: names no rule",
            "12:34: guard.actions.7.message: nothing is put in for `{repeat}`; did you mean `{repeats}`?",
        ],
    );
}

/// Given a mistake in what holds for all profiles, it is said once, whoever reads it.
#[test]
fn a_mistake_that_several_read_is_said_once() {
    check(
        "detectors: {profiles: {x: {profile: attocode}}}\nguard: {exempt_tools: [5], actions: [{rules: [tool_cycl], verdict: nudge, message: a}]}",
        &[
            "2:24: guard.exempt_tools.1: expected a text",
            "2:47: guard.actions.1.rules.1: `tool_cycl` is not known; did you mean `tool_cycle`?",
        ],
    );
}
