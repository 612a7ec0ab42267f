//! What the guard of profile `standard` leaves alone: it refuses only what must bring what it brought, whoever is told of it.

use eddy::config::profile::Name;
use serde_json::{Value, json};

use crate::guarded::Guarded;

/// A call with what it brings: a text is its result, and `{"error": …}` its failure.
type Step = (Value, Value);

fn step(tool: &str, arguments: impl Into<Value>, brings: impl Into<Value>) -> Step {
    let arguments: Value = arguments.into();
    (json!({"tool": tool, "arguments": arguments}), brings.into())
}

fn fails(why: &str) -> Value {
    json!({"error": why})
}

/// Makes each call if it may, and gives one letter for each verdict: `.` allowed, `n` nudged, `S` refused.
fn play(guard: &Guarded, steps: &[Step]) -> String {
    let letter = |(call, brings): &Step| {
        let brought = match brings {
            Value::Object(failed) if failed.contains_key("error") => brings.clone(),
            result => json!({"result": result}),
        };
        match guard.call(call, &brought).split(' ').next() {
            Some("ALLOW") => '.',
            Some("NUDGE") => 'n',
            _ => 'S',
        }
    };
    steps.iter().map(letter).collect()
}

#[track_caller]
fn refuses_none(steps: &[Step]) -> String {
    let verdicts = play(&Guarded::by(Name::Standard), steps);
    assert!(!verdicts.contains('S'), "{verdicts}");
    verdicts
}

fn search(words: &str, brings: impl Into<Value>) -> Step {
    step("web_search", json!({"query": words}), brings)
}

fn shell(command: &str, brings: impl Into<Value>) -> Step {
    step("bash", json!({"command": command}), brings)
}

/// Questions in other words about one thing.
const ABOUT_ONE: [&str; 9] = [
    "nginx 502 bad gateway upstream",
    "nginx upstream 502 bad gateway cause",
    "bad gateway 502 nginx upstream fix",
    "why nginx upstream gives 502 bad gateway",
    "nginx bad gateway 502 from upstream server",
    "upstream 502 nginx bad gateway error",
    "nginx 502 bad gateway upstream timeout",
    "fix nginx 502 bad gateway upstream",
    "nginx gateway 502 bad upstream config",
];

/// Given searches for one thing in other words that find nothing, one more is refused; searches for other things are not,
/// whoever makes them.
#[test]
fn other_questions_are_asked() {
    let guard = Guarded::by(Name::Standard);
    let in_vain = ABOUT_ONE.map(|words| search(words, json!([])));
    play(&guard, &in_vain);
    let again = search("nginx bad gateway 502 upstream again", json!([]));
    assert_eq!(play(&guard, &[again]), "S");
    let others = [
        "weather in rome today",
        "capital of mongolia",
        "who won the world cup",
        "cheap flights from oslo",
    ];
    for words in others {
        let other = search(words, json!([]));
        assert!(!play(&guard, &[other]).contains('S'), "{words}");
    }
    for words in [
        "tallest bridge in europe",
        "how do eels breathe",
        "olive harvest dates",
    ] {
        let mut other = search(words, json!([]));
        other.0["agent"] = json!("second");
        assert!(!play(&guard, &[other]).contains('S'), "{words}");
    }
}

/// Given a batch of look-ups of different things, each without a find or refused, none is held back.
#[test]
fn batches_go_on() {
    let symbols = [
        "fn load_config(path",
        "struct OldCache {",
        "impl Drop for Guard",
        "const MAX_RETRIES",
        "mod legacy_parser",
        "trait Storage",
        "enum WireFormat",
        "pub fn flush_all",
        "static REGISTRY",
        "type NodeId =",
        "macro_rules! ensure",
        "use crate::old",
    ];
    let greps = symbols.map(|symbol| step("Grep", json!({"pattern": symbol}), "No matches found"));
    refuses_none(&greps);
    let hosts: Vec<_> = (1..=13)
        .map(|host| {
            shell(
                &format!("ssh host{host} uptime"),
                fails("Permission denied"),
            )
        })
        .collect();
    refuses_none(&hosts);
}

/// Given calls that fail in the same way, what may mend the cause is not held back.
#[test]
fn repairs_are_made() {
    let guard = Guarded::by(Name::Standard);
    let targets = [
        "all", "lib", "test", "docs", "bench", "install", "clean", "dist", "tags",
    ];
    for target in targets {
        let make = shell(
            &format!("make {target}"),
            fails("cc: No such file or directory"),
        );
        play(&guard, &[make]);
    }
    for repair in [
        "apt-get install -y gcc",
        "which cc gcc clang",
        "ln -s /usr/bin/clang /usr/bin/cc",
        "touch foo.h",
    ] {
        let tried = shell(repair, fails("cc: No such file or directory"));
        assert_eq!(play(&guard, &[tried]).replace('n', "."), ".", "{repair}");
    }
}

/// Given a failing call that was refused, a message of the user has it made again, and so has another turn.
#[test]
fn a_user_has_it_tried_again() {
    let guard = Guarded::by(Name::Standard);
    let test = shell("npm test", fails("1 failing: adds numbers"));
    let four = [test.clone(), test.clone(), test.clone(), test.clone()];
    assert!(play(&guard, &four).ends_with('S'));
    guard.message("user", "I have repaired it by hand. Run it again.");
    assert_ne!(play(&guard, &four[..1]), "S");
    // Not for ever.
    assert!(play(&guard, &four).ends_with('S'));

    let verdicts: String = (1..8)
        .map(|turn| {
            let mut weather = step("get_weather", json!({"city": "Rome"}), SUNNY);
            weather.0["turn_id"] = json!(format!("turn {turn}"));
            play(&guard, &[weather])
        })
        .collect();
    assert_eq!(verdicts, ".......");
}

const SUNNY: &str = "It is sunny in Rome today, 24 degrees, with a light wind from the west.";

/// Given what one agent has read again and again, another one reads it for the first time; and whoever was not told is not
/// refused.
#[test]
fn each_agent_is_told_itself() {
    let guard = Guarded::by(Name::Standard);
    let read = |agent: &str| {
        let text = "A long file that says what is to be done in this project, line by line.";
        let mut read = step("read_file", json!({"path": "notes.md"}), text);
        read.0["agent"] = json!(agent);
        read
    };
    let first = [read("first"), read("first"), read("first"), read("first")];
    assert_eq!(play(&guard, &first), "..nS");
    let second = [read("second"), read("second")];
    let verdicts = play(&guard, &second);
    assert!(
        verdicts.starts_with('.') && !verdicts.contains('S'),
        "{verdicts}"
    );
}

/// Given one that reads a file again and again, whether by another name, as another worker or without a name as a main agent has
/// none, who begins beside it is told nothing of that; and the one that does it is.
#[test]
fn who_begins_beside_a_loop_is_not_told_of_it() {
    let text = "A long file that says what is to be done in this project, line by line.";
    let read = |who: &[(&str, &str)]| {
        let mut read = step("read_file", json!({"path": "notes.md"}), text);
        for (key, name) in who {
            read.0[*key] = json!(name);
        }
        read
    };
    for (first, second) in [
        (read(&[("agent", "first")]), read(&[("agent", "second")])),
        (read(&[("worker", "first")]), read(&[("worker", "second")])),
        (
            read(&[("agent", "one"), ("worker", "first")]),
            read(&[("agent", "one"), ("worker", "second")]),
        ),
        (read(&[]), read(&[("agent", "second")])),
        (read(&[("agent", "first")]), read(&[])),
    ] {
        let guard = Guarded::by(Name::Standard);
        let loops = vec![first.clone(); 3];
        assert_eq!(play(&guard, &loops), "..n", "{first:?}");
        assert_eq!(
            play(&guard, std::slice::from_ref(&second)),
            ".",
            "{second:?}"
        );
        assert_eq!(play(&guard, &[first]), "S");
    }
}

/// Given calls that go round, one that was refused is refused again as long as nothing new is found or done, whatever is asked in
/// between; and made again as soon as something is, or a user speaks.
#[test]
fn a_refusal_in_a_round_holds_until_something_is_new() {
    let file = "A long file that says what is to be done in this project, line by line.";
    let make = shell("make", fails("error: foo.h is not there"));
    let read = |path: &str| {
        step(
            "read_file",
            json!({"path": path}),
            format!("{path}: {file}"),
        )
    };
    for one in [read("one.md"), make] {
        let round = [one.clone(), read("two.md")];
        let rounds: Vec<Step> = (0..24).map(|place| round[place % 2].clone()).collect();
        let guard = Guarded::by(Name::Standard);
        let verdicts = play(&guard, &rounds);
        assert_eq!(verdicts, ".....nSnSSSSSSSSSSSSSSSS", "{one:?}");

        let run = guard.run();
        assert_eq!(run["skipped_calls"], 17, "{run}");

        assert_eq!(play(&guard, &[read("three.md")]), ".");
        assert_ne!(play(&guard, &round[..1]), "S");
        let verdicts = play(&guard, &rounds);
        assert!(verdicts.ends_with("SSSSSS"), "{verdicts}");
        guard.message("user", "Look again.");
        assert_ne!(play(&guard, &round[..1]), "S");
    }
}

/// Given something that is done between two looks, the second look is made, also where both come again and again.
#[test]
fn looks_between_deeds_are_made() {
    let pairs = [
        (
            step("scroll_down", json!({}), "ok"),
            step(
                "find_element",
                json!({"text": "Buy"}),
                fails("element not found"),
            ),
        ),
        (
            step("bump_quota", json!({"by": 1}), json!({"ok": true})),
            step("deploy", json!({"to": "test"}), fails("quota exceeded")),
        ),
        (
            step(
                "append_file",
                json!({"path": "log", "text": "x"}),
                "written",
            ),
            step(
                "count_lines",
                json!({"path": "log"}),
                "fewer than ten lines, so that the limit is not reached yet",
            ),
        ),
        (
            step("press_key", json!({"key": "Down"}), "pressed"),
            step(
                "get_selected",
                json!({}),
                "a menu item that is called as the one before it is selected now",
            ),
        ),
        (
            step("wait", json!({"seconds": 5}), "ok"),
            step(
                "get_deployment",
                json!({"name": "web"}),
                "{\"phase\":\"Pending\",\"message\":\"the image is pulled at this moment\"}",
            ),
        ),
    ];
    for (deed, look) in pairs {
        let both = [deed, look];
        let rounds: Vec<Step> = (0..20).map(|place| both[place % 2].clone()).collect();
        refuses_none(&rounds);
    }
}

/// Given a tool that acts, and says no more than that it did, it is not held back, however often it is called.
#[test]
fn deeds_are_done_again() {
    for (tool, says) in [
        ("press_key", "Pressed key ArrowDown in the page"),
        ("scroll_down", "Scrolled down by 500 pixels"),
        ("step_over", "Debugger stepped one line on"),
        ("increment_counter", "The counter was incremented."),
        ("run_migration", "One migration was applied."),
        ("restart_service", "The service was restarted well"),
        ("pop_queue", "An entry was taken from the queue"),
    ] {
        let deed = step(tool, json!({"of": "this"}), says);
        refuses_none(&vec![deed; 8]);
    }
}
