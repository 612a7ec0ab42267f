//! Gauges that are read and jobs that are waited for at an honest pace, and what is too hasty or goes on for too long.

use serde_json::{Value, json};

use crate::support::{call, check, checked, failed, is_warned_of, later};

/// Seconds in which a job is asked for that is not done yet.
const PACE_SECONDS: u64 = 9;

/// What a gauge shows that goes up and down.
fn reading(look: u64) -> String {
    json!({"celsius": 20.0 + (look * 7_919 % 53) as f64 / 10.0}).to_string()
}

/// A call that took so long.
fn takes(mut event: Value, seconds: u64) -> Value {
    event["duration_ms"] = json!(seconds * 1_000);
    event
}

/// Given a gauge that is read once a minute for an hour, it is no loop, however the minute is spent: in a tool that sleeps, in the
/// tool that reads it, or with the model.
#[test]
fn gauges_that_are_read_each_minute() {
    let look = |minute: u64| later(call("read_gauge", "boiler", &reading(minute)), 60 * minute);
    let looks =
        |change: &dyn Fn(u64) -> Vec<Value>| -> Vec<Value> { (0..60).flat_map(change).collect() };

    check(&looks(&|minute| vec![look(minute)]), &[]);
    for (tool, seconds) in [("sleep", "57"), ("bash", "sleep 57")] {
        let sleep = |minute: u64| takes(later(call(tool, seconds, ""), 60 * minute + 2), 57);
        check(&looks(&|minute| vec![look(minute), sleep(minute)]), &[]);
    }
    let asleep = |minute: u64| {
        let read = call("bash", "sleep 57; cat /sys/boiler", &reading(minute));
        takes(later(read, 60 * minute), 57)
    };
    check(&looks(&|minute| vec![asleep(minute)]), &[]);
    check(&looks(&|minute| vec![takes(look(minute), 57)]), &[]);
    let thought = |minute: u64| {
        let model = json!({"kind": "llm_call", "agent": "a", "tokens": 50});
        takes(later(model, 60 * minute + 1), 57)
    };
    check(&looks(&|minute| vec![look(minute), thought(minute)]), &[]);
}

/// Given a gauge that goes up and down and is read without a pause, it is a loop.
#[test]
fn gauges_that_are_read_in_haste() {
    let look = |number: u64| later(call("read_gauge", "boiler", &reading(number)), 3 * number);
    let looks: Vec<_> = (0..12).map(look).collect();
    check(&looks, &["no_progress", "repeated_tool_call_exact_input"]);
}

/// Given builds that are asked for every nine seconds while they say that they are under way, one or two of them, with a sleep in
/// between or the model at work, that is waiting for ten minutes, and a loop after them.
#[test]
fn builds_that_are_polled() {
    let ask = |build: u64, second: u64| {
        let answer =
            json!({"id": build, "status": "running", "elapsed_seconds": second}).to_string();
        later(
            call("get_build", &format!("build {build}"), &answer),
            second,
        )
    };
    let polls = |count: u64, between: &dyn Fn(u64) -> Option<Value>| -> Vec<Value> {
        let poll = |i: u64| {
            let second = PACE_SECONDS * i;
            [Some(ask(4_711, second)), between(second + 1)]
        };
        (0..count).flat_map(poll).flatten().collect()
    };
    check(&polls(60, &|_| None), &[]);
    let rules = [
        "repeated_tool_call_exact_input",
        "repeated_tool_call_similar_input",
    ];
    check(&polls(90, &|_| None), &rules);
    check(&polls(60, &|second| Some(ask(4_712, second))), &[]);
    let thought = |second: u64| {
        let model = json!({"kind": "llm_call", "agent": "a", "tokens": 50});
        Some(takes(later(model, second), 3))
    };
    check(&polls(60, &thought), &[]);
    let sleep = |second: u64| Some(takes(later(call("sleep", "7", ""), second), 7));
    check(&polls(60, &sleep), &[]);
    let hasty: Vec<_> = (0..8).map(|i| ask(4_711, 3 * i)).collect();
    check(&hasty, &rules);
}

/// Given a job that is under way as long as the agent does what it should not do meanwhile, that is a loop as before.
#[test]
fn work_that_changes_nothing_is_no_waiting() {
    let round = |i: u64| {
        [
            call(
                "apply",
                "web.yaml",
                "deployment web unchanged, all of it as it was before",
            ),
            call("get_pods", "web", r#"{"name":"web-0","status":"Pending"}"#),
        ]
        .map(|event| later(event, PACE_SECONDS * i))
    };
    let rounds: Vec<_> = (0..12).flat_map(round).collect();
    check(
        &rounds,
        &[
            "no_progress",
            "repeated_tool_call_exact_input",
            "repeated_tool_call_similar_input",
        ],
    );
}

/// Given looks that fail until a service is up, each after a sleep of its own or of a tool whose name says so, that is waiting and
/// no storm of retries; without a sleep it is one, and so it is when the time is used up.
#[test]
fn failing_looks_that_wait_first() {
    let refused = "curl: (7) Failed to connect to localhost port 3000: Connection refused";
    let look = |command: &str, second: u64| {
        let fails = json!({"kind": "tool_call", "agent": "a", "tool": "bash", "input": {"command": command},
            "output": refused, "error": "exit code 7"});
        later(fails, second)
    };
    let asleep = |number: u64| {
        vec![takes(
            look("sleep 10 && curl -sf localhost:3000/health", 14 * number),
            11,
        )]
    };
    let by_tool = |number: u64| {
        let sleep = json!({"kind": "tool_call", "agent": "a", "tool": "sleep", "input": {"seconds": 12}, "output": ""});
        let sleep = takes(later(sleep, 15 * number), 12);
        vec![
            sleep,
            look("curl -sf localhost:3000/health", 15 * number + 13),
        ]
    };
    let hasty = |number: u64| vec![look("curl -sf localhost:3000/health", 3 * number)];
    let made = |looks: u64, of: &dyn Fn(u64) -> Vec<Value>| -> Vec<Value> {
        (0..looks).flat_map(of).collect()
    };
    check(&made(7, &asleep), &[]);
    check(&made(7, &by_tool), &[]);
    let storms = |events: &[Value]| {
        let answer = crate::support::checked("", events);
        answer["runs"][0]["warnings"] != json!([])
    };
    assert!(storms(&made(7, &hasty)));
    assert!(storms(&made(40, &asleep)));
    assert!(storms(&made(40, &by_tool)));
}

/// Given a test that is run again and again to see how often it fails, tens of runs are work, as many again after an edit too; one
/// that goes on for ever is a loop, whether it fails each second time or now and then.
#[test]
fn tests_that_flip() {
    let runs = |count: usize, fails: &dyn Fn(usize) -> bool| -> Vec<Value> {
        let run = |number: usize| {
            let seconds = 20 + number * 7_919 % 9;
            let input = json!({"command": "pytest tests/test_queue.py -x -q"});
            let mut event =
                json!({"kind": "tool_call", "agent": "a", "tool": "bash", "input": input});
            event["output"] = json!(format!("1 passed in 2.{seconds}s"));
            if fails(number) {
                event["error"] = json!(true);
                event["output"] = json!(format!(
                    "AssertionError: the queue was not drained\n1 failed in 2.{seconds}s"
                ));
            }
            event
        };
        (0..count).map(run).collect()
    };
    let each_second = |number: usize| number.is_multiple_of(2);
    let now_and_then = |number: usize| number * 7_919 % 5 < 2;
    let each_fifth = |number: usize| number % 5 == 1;
    for fails in [
        &each_second as &dyn Fn(usize) -> bool,
        &now_and_then,
        &each_fifth,
    ] {
        check(&runs(30, fails), &[]);
        let edit = json!({"kind": "tool_call", "agent": "a", "tool": "edit_file", "input": {"path": "queue.py"}, "output": "edited"});
        check(
            &[runs(30, fails), vec![edit], runs(30, fails)].concat(),
            &[],
        );
        let warnings = &checked("", &runs(120, fails))["runs"][0]["warnings"];
        let is_seen = |warning: &Value| warning["severity"] != "info" && warning["state"] == "open";
        let mut warnings = warnings.as_array().expect("warnings").iter();
        assert!(warnings.any(is_seen));
    }
}

/// Given a test that passes several times before the first failure, somebody looks whether it fails now and then; a test that
/// passes for ever is a loop, and so are all tests once more, and what tests nothing.
#[test]
fn tests_that_pass_at_first() {
    let runs = |command: &str, count: usize| {
        vec![call("bash", command, "ok  \texample.com/app/queue\t0.2s"); count]
    };
    let passes = |count: usize| runs("go test ./queue -run TestDrain -count=1", count);
    let fails = vec![failed(
        "bash",
        "go test ./queue -run TestDrain -count=1",
        "--- FAIL: TestDrain: got 3, want 0",
    )];
    let edit = vec![call("edit_file", "queue.go", "edited")];
    check(
        &[passes(7), fails.clone(), edit.clone(), passes(7)].concat(),
        &[],
    );
    check(&[passes(4), edit, passes(8), fails].concat(), &[]);
    let rules = ["no_progress", "repeated_tool_call_exact_input"];
    check(&passes(10), &[]);
    check(&passes(11), &rules);
    check(&passes(13), &rules);
    for other in ["go vet ./queue", "go test ./...", "pytest -q"] {
        check(&runs(other, 4), &rules);
    }
}

/// Given what is as it was whenever it is looked at, once a minute for an hour, that is monitoring, however the minute is spent and
/// whatever is looked at besides. Without the rest it is a loop, and so it is after ten minutes where the answer is no, where
/// something is under way, or where something is done in each round.
#[test]
fn looks_once_a_minute() {
    let look = |tool: &str, output: &Value| json!({"kind": "tool_call", "agent": "a", "tool": tool, "input": {"of": "web"}, "output": output});
    let healthy = json!({"status": "healthy", "alerts": []});
    let health = || look("check_health", &healthy);
    let sleep = |tool: &str, input: Value| {
        let sleep =
            json!({"kind": "tool_call", "agent": "a", "tool": tool, "input": input, "output": ""});
        takes(sleep, 57)
    };
    let by_tool = || sleep("sleep", json!({"seconds": 57}));
    let by_shell = || sleep("bash", json!({"command": "sleep 57"}));
    let is_active = || call("bash", "systemctl is-active web", "active");
    let rounds = |pace: u64, events: &[Value]| -> Vec<Value> {
        let round = |number: u64| {
            let events = events.iter().cloned().zip(0..);
            let timed = move |(event, at): (Value, u64)| {
                // What comes behind a sleep comes when it has ended.
                let slept = if at > 0 && pace > 57 { 57 } else { 0 };
                later(event, pace * number + at + slept)
            };
            events.map(timed).collect::<Vec<_>>()
        };
        (0..60).flat_map(round).collect()
    };
    check(&rounds(60, &[health()]), &[]);
    check(&rounds(62, &[by_tool(), health()]), &[]);
    check(&rounds(62, &[by_shell(), is_active()]), &[]);
    let alerts = look("get_alerts", &json!("No active alerts."));
    let depth = look("get_queue", &json!({"depth": 0}));
    check(&rounds(64, &[by_tool(), health(), alerts, depth]), &[]);

    let is_seen = |events: &[Value]| {
        let warnings = &checked("", events)["runs"][0]["warnings"];
        let mut warnings = warnings.as_array().expect("warnings").iter();
        assert!(warnings.any(|warning| warning["severity"] != "info"));
    };
    is_seen(&rounds(6, &[health()]));
    is_seen(&rounds(
        60,
        &[look("get_job", &json!({"state": "pending"}))],
    ));
    is_seen(&rounds(
        60,
        &[look("get_review", &json!({"approved": false}))],
    ));
    let apply = call("apply", "web.yaml", "ok");
    is_seen(&rounds(64, &[by_tool(), apply, health()]));
}

/// Given a job that is started anew each minute and fails each time, that goes round, however long each takes; a job that is
/// started once and looked at each minute is waited for.
#[test]
fn jobs_that_are_started_anew() {
    let start = |minute: u64| {
        let queued =
            json!({"run": format!("manual__2026-11-20T05:{minute:02}:09"), "state": "queued"});
        later(
            call("trigger_job", "nightly", &queued.to_string()),
            60 * minute,
        )
    };
    let look = |minute: u64, state: &str| {
        let run = format!("manual__2026-11-20T05:{minute:02}:09");
        let told = json!({"run": run, "state": state}).to_string();
        later(call("get_job", &run, &told), 60 * minute + 40)
    };
    let anew: Vec<_> = (0..9)
        .flat_map(|minute| [start(minute), look(minute, "failed")])
        .collect();
    let warned = checked("", &anew);
    assert_ne!(warned["runs"][0]["status"], "healthy", "{warned:#}");
    let looks = (0..9).map(|minute| later(look(0, "running"), 60 * minute + 40));
    let once: Vec<_> = [start(0)].into_iter().chain(looks).collect();
    check(&once, &[]);
}

/// Given events that are waited for, and dealt with as they come, there is no end to that; where none comes, or what came is not
/// new, there are ten minutes.
#[test]
fn events_that_are_waited_for() {
    let wait = |second: u64| later(call("wait_for_event", "in", "an event has come"), second);
    let rounds = |deals: &dyn Fn(u64) -> Option<Value>| -> Vec<Value> {
        let round = |number: u64| {
            let second = 100 * number;
            let deal = deals(number).map(|deal| later(deal, second + 31));
            [Some(wait(second)), deal, Some(wait(second + 33))]
        };
        (0..20).flat_map(round).flatten().collect()
    };
    let names = ["anchor", "bridge", "canal", "delta"];
    let deal = |number: u64| {
        let name = names[number as usize % 4];
        let told = format!(
            "What was to be done about it is done, which was matter n{number} of all that came in."
        );
        Some(call("handle", &format!("{name}{number}"), &told))
    };
    check(&rounds(&deal), &[]);
    let rules = ["no_progress", "repeated_tool_call_exact_input"];
    check(&rounds(&|_| None), &rules);
}

/// Given a look that fails each half minute, that is waiting for two minutes. What is looked at again after five is begun anew each
/// time where it fails in a way that may pass, and where it does not, it is a loop at any pace; twice is none at any.
#[test]
fn failing_looks_have_less_time() {
    let looks = |count: u64, pace: u64, why: &str| -> Vec<Value> {
        let look = |number: u64| later(failed("bash", "curl -sf localhost", why), pace * number);
        (0..count).map(look).collect()
    };
    let rules = [
        "no_progress",
        "repeated_tool_call_exact_input",
        "repeated_tool_call_similar_input",
        "retry_storm",
        "same_error",
    ];
    check(&looks(5, 30, "refused"), &[]);
    check(&looks(7, 30, "refused"), &rules);
    check(&looks(12, 310, "refused"), &rules);
    let may_pass = "curl: (7) Failed to connect to localhost port 80: Connection refused";
    check(&looks(12, 310, may_pass), &[]);
    for pace in [10, 60, 115, 120, 200, 295, 310, 3_600] {
        check(&looks(2, pace, "refused"), &[]);
        assert!(is_warned_of(&looks(6, pace, "refused")), "{pace}");
    }
}

/// Given looks after ever longer pauses that all fail, the ninth one is one too many: what was waited for in vain was asked for
/// before. One that comes up at the ninth is work.
#[test]
fn pauses_that_grow_in_vain() {
    let looks = |ask: &dyn Fn(u64) -> String, last: Option<Value>| -> Vec<Value> {
        let pauses = [1, 2, 4, 8, 16, 32, 60, 60, 60];
        let mut time = 0;
        let mut all = Vec::new();
        for pause in pauses {
            all.push(later(
                failed(
                    "bash",
                    &ask(pause),
                    "curl: (7) Failed to connect to localhost port 8080: Connection refused",
                ),
                time,
            ));
            time += pause + 2;
        }
        if let Some(last) = last {
            let end = all.pop().expect("a look");
            all.push(later(last, end["t_ms"].as_u64().expect("a time") / 1_000));
        }
        all
    };
    let health = |pause: u64| format!("sleep {pause} && curl -s http://localhost:8080/health");
    let page = |pause: u64| format!("sleep {pause}; curl -sf http://localhost:8080/");
    for ask in [&health as &dyn Fn(u64) -> String, &page] {
        assert!(is_warned_of(&looks(ask, None)));
        let up = call("bash", &ask(60), "{\"status\": \"up\"}");
        check(&looks(ask, Some(up)), &[]);
    }
}

/// Given what was just started, it is waited for as long as nobody answers, for about two minutes; not where nothing was started,
/// where it is started anew each time, and not for ever.
#[test]
fn what_was_just_started_is_waited_for() {
    let refused = |second: u64| {
        let fails = failed(
            "bash",
            "curl -sf localhost:8080/health",
            "curl: (7) Failed to connect to localhost port 8080 after 0 ms: Connection refused",
        );
        later(fails, second)
    };
    let start = |second: u64| {
        later(
            call("bash", "docker run -d -p 8080:8080 api", "3f2a91c0"),
            second,
        )
    };
    let knocks = |count: u64| (1..=count).map(|look| refused(5 * look));
    let started =
        |count: u64| -> Vec<Value> { [start(0)].into_iter().chain(knocks(count)).collect() };
    check(&started(12), &[]);
    assert!(is_warned_of(&started(40)));
    assert!(is_warned_of(&knocks(8).collect::<Vec<_>>()));
    let anew: Vec<_> = (0..8)
        .flat_map(|round| [start(10 * round), refused(10 * round + 5)])
        .collect();
    assert!(is_warned_of(&anew));
}

/// Given a job, a stack, an order or a service that is asked for at an honest pace, whatever word its tool has for what is under
/// way, that is waiting; one that says that it is missing or failing is none, nor is what is handed in anew each time.
#[test]
fn states_that_are_known_by_their_form() {
    let ask = |tool: &str, state: &str| -> Vec<Value> {
        let told = json!({"id": "x1", "status": state}).to_string();
        let ask = |look: u64| later(call(tool, "x1", &told), 12 * look);
        (0..6).map(ask).collect()
    };
    for state in [
        "transcribing",
        "CREATE_IN_PROGRESS",
        "ContainerCreating",
        "backing-up",
        "pending_review",
        "awaiting payment",
        "RUNNABLE",
        "shipped",
        "on hold",
        "läuft",
    ] {
        check(&ask("describe", state), &[]);
    }
    for state in ["missing", "warning", "FAILING", "available"] {
        assert!(is_warned_of(&ask("describe", state)), "{state}");
    }
    assert!(is_warned_of(&ask("submit_claim", "submitted")));
    let service = |state: &str| {
        let told = json!({"services": [{"name": "api", "deployments": [{"rolloutState": state}]}]});
        let ask = |look: u64| {
            later(
                call("describe_services", "api", &told.to_string()),
                12 * look,
            )
        };
        (0..6).map(ask).collect::<Vec<_>>()
    };
    check(&service("IN_PROGRESS"), &[]);
}

/// Given a look that fails in a way that may pass, it gets on where it tells of more parts that are done each time; not where it
/// counts attempts, or the number stays.
#[test]
fn failures_that_get_on() {
    let looks = |said: &dyn Fn(u64) -> String| -> Vec<Value> {
        let look = |number: u64| {
            later(
                failed("kubectl", "rollout status api", &said(number)),
                10 * number,
            )
        };
        (0..8).map(look).collect()
    };
    let parts = |done: u64| {
        format!("{done} out of 9 new replicas are up: timed out waiting for the condition")
    };
    check(&looks(&|look| parts(look)), &[]);
    check(&looks(&|_| parts(2)), &["retry_storm"]);
    let attempts = |look: u64| format!("attempt {look} of 9: timed out");
    check(&looks(&attempts), &["retry_storm"]);
}

/// Given a call that fails with a number that goes up and down, it fails in the same way; where something was done in between, each
/// number is an answer.
#[test]
fn failures_whose_number_jitters() {
    let fails = |number: u64| {
        let residual = [4_310, 870, 2_204, 9_001, 1_555, 7_023, 640, 3_300, 8_080][number as usize];
        failed(
            "move_to",
            "shelf",
            &format!("no way to the shelf (residual 0.{residual:04})"),
        )
    };
    let again: Vec<_> = (0..9).map(fails).collect();
    assert!(is_warned_of(&again));
    let tuned: Vec<_> = (0..9)
        .flat_map(|number| {
            [
                call("set_joint", &format!("{number} degrees"), "ok"),
                fails(number),
            ]
        })
        .collect();
    check(&tuned, &[]);
}

/// Given what a terminal has printed so far, which grows now and then, that is no loop though nothing tells that it goes on; where
/// it never grows, it is one.
#[test]
fn terminals_that_grow_now_and_then() {
    let lines = ["Compiling a", "Compiling b", "Linking", "It is made."];
    let reads = |grown: &[usize]| -> Vec<Value> {
        let reads = grown
            .iter()
            .map(|count| call("get_terminal_output", "t1", &lines[..*count].join("\n")));
        reads.collect()
    };
    check(&reads(&[1, 1, 1, 2, 2, 2, 3, 4]), &[]);
    assert!(is_warned_of(&reads(&[1, 1, 1, 1, 1, 1])));
}
