//! What is made, set, sent out or looked up once more, where a short id, the time of the call or a name that is repeated makes each
//! answer another one; and work in which just that is what is asked for.

use serde_json::{Value, json};

use super::lookalikes::Work;
use super::loops::Loop;
use super::made::Made;

pub(super) const LOOPS: &[Loop] = &[
    ("ticket: opened again under a new number", 6, ticket_again),
    ("device: set each time, and as it was", 6, set_in_vain),
    ("errand: refused by whoever gets it", 6, errand_refused),
    ("errand: sent again, the same answer", 6, errand_answered),
    ("record: looked up as of now", 6, as_of_now),
    ("address: a time against the cache", 6, cache_busted),
    ("queue: empty under each request's id", 8, queue_empty),
    ("tools: names that are not there", 7, unknown_tools),
    (
        "search pages: a check that names the query",
        7,
        check_names_query,
    ),
];

pub(super) const WORK: &[Work] = &[
    ("units: many of a kind", many_of_a_kind),
    ("tickets: each with other words", other_tickets),
    ("devices: set one after the other", other_devices),
    ("errands: one helper, each another", other_errands),
    ("queue: one job after the other", jobs_received),
    ("events: written down when they were", events_written),
    ("pages: one query after the other", pages_found),
];

const ROUNDS: usize = 12;

/// The name of what was made, as services draw it; of one kind in a run.
fn name(made: &mut Made, form: usize) -> String {
    match form {
        0 => format!("INC{}", made.between(10_000, 99_999)),
        1 => made.hex()[..8].to_owned(),
        2 => format!("T{}-{}", made.between(1, 9), made.between(100, 999)),
        _ => format!("#{}", made.between(1_000, 9_999)),
    }
}

fn receipt(name: &str, form: usize) -> Value {
    match form {
        0 => json!({"id": name}),
        1 => json!(format!("Created {name}.")),
        _ => json!({"key": name, "url": format!("https://desk.example/t/{name}"), "state": "open"}),
    }
}

fn ticket_again(made: &mut Made) {
    made.begin(5);
    let (of, told) = (made.below(4), made.below(3));
    let (title, body) = (made.words(3), made.words(6));
    let (tool, arguments) = match made.below(3) {
        0 => (
            "create_ticket",
            json!({"title": title, "body": body, "priority": "P2"}),
        ),
        1 => (
            "send_email",
            json!({"to": "desk@shop.example", "subject": title, "body": body}),
        ),
        _ => (
            "jira_create_issue",
            json!({"project": "OPS", "summary": title, "text": body}),
        ),
    };
    for _ in 0..ROUNDS {
        let name = name(made, of);
        made.call(tool, arguments.clone(), receipt(&name, told));
        made.again();
    }
}

/// What is set, and how it is looked at.
fn device(made: &mut Made, room: &str) -> ((&'static str, Value), (&'static str, Value)) {
    let level = made.between(2, 9) * 10;
    match made.below(2) {
        0 => (
            ("set_volume", json!({"device": room, "level": level})),
            ("get_volume", json!({"device": room})),
        ),
        _ => (
            ("set_blind", json!({"room": room, "percent": level})),
            ("get_blind", json!({"room": room})),
        ),
    }
}

fn set_in_vain(made: &mut Made) {
    made.begin(5);
    let room = made.word();
    let ((sets, to), (looks, at)) = device(made, room);
    let key = made.pick(&["cmd", "command", "order", "ref"]);
    for _ in 0..ROUNDS {
        let token = format!("{}7", &made.hex()[..made.between(5, 8)]);
        made.call(sets, to.clone(), json!({"ok": true, key: token}));
        made.call(looks, at.clone(), json!({"level": 15}));
        made.again();
    }
}

/// A tool that hands over, in one of four forms, and the errand, to a helper.
fn errand(form: usize, what: &str, helper: &str) -> (&'static str, Value) {
    match form {
        0 => ("delegate_task", json!({"to": helper, "task": what})),
        1 => ("delegate_work", json!({"assignee": helper, "task": what})),
        2 => (
            "Delegate work to coworker",
            json!({"coworker": helper, "task": what}),
        ),
        _ => (
            "handoff_to_agent",
            json!({"agent_name": helper, "message": what}),
        ),
    }
}

fn errand_refused(made: &mut Made) {
    made.begin(5);
    let what = format!("Find out about the {} of last year", made.words(2));
    let (tool, arguments) = errand(made.below(4), &what, "analyst");
    for _ in 0..ROUNDS {
        made.fails(
            tool,
            arguments.clone(),
            "Error executing tool. coworker mentioned not found, it must be one of: senior analyst",
        );
        made.again();
    }
}

fn errand_answered(made: &mut Made) {
    made.begin(5);
    let what = format!("Find out about the {} of last year", made.words(2));
    let (mut tool, mut arguments) = errand(made.below(4), &what, "analyst");
    if made.chance(30) {
        (tool, arguments) = ("delegate", json!({"task": what}));
    }
    for _ in 0..ROUNDS {
        made.call(
            tool,
            arguments.clone(),
            json!({"status": "incomplete", "message": "I have no tool with which to look this up."}),
        );
        made.again();
    }
}

fn as_of_now(made: &mut Made) {
    made.begin(5);
    let key = made.pick(&[
        "as_of", "at", "date", "sent_at", "clientTs", "fecha", "moment",
    ]);
    let order = format!("SO-{}", made.between(10_000, 99_999));
    for _ in 0..ROUNDS {
        let now = made.time();
        made.call(
            "get_order",
            json!({"order_id": order, key: now}),
            json!({"order_id": order, "status": "cancelled", "total": 12}),
        );
        made.again();
    }
}

fn cache_busted(made: &mut Made) {
    made.begin(5);
    let key = made.pick(&["t", "_", "cb", "nocache"]);
    let (page, words) = (made.word(), made.words(6));
    for _ in 0..ROUNDS {
        let now = made.now_ms();
        made.call(
            "fetch_page",
            json!({"url": format!("https://status.example/{page}?{key}={now}")}),
            format!("<h1>Incident</h1><p>Nobody can say yet when this ends: {words}.</p>"),
        );
        made.again();
    }
}

fn queue_empty(made: &mut Made) {
    made.begin(5);
    let queue = made.word();
    let told = made.below(3);
    for _ in 0..ROUNDS + 4 {
        let hex = made.hex();
        let id = format!(
            "{}-{}-4{}-a{}-{}",
            &hex[..8],
            &hex[8..12],
            &hex[13..16],
            &hex[17..20],
            &hex[20..32]
        );
        let output = match told {
            0 => {
                json!({"Messages": [], "ResponseMetadata": {"RequestId": id, "HTTPStatusCode": 200}})
            }
            1 => json!({"messages": [], "request_id": id}),
            _ => json!(format!("No messages. RequestId: {id}")),
        };
        made.call("sqs_receive", json!({"queue": queue, "max": 10}), output);
        made.again();
    }
}

fn unknown_tools(made: &mut Made) {
    made.begin(5);
    let thing = made.word();
    let list = made.chance(50);
    for verb in [
        "get", "fetch", "read", "load", "current", "show", "find", "open", "look", "ask", "view",
        "tell",
    ] {
        let name = format!("{verb}_{thing}");
        let known = if list {
            format!(". Available tools: find_{thing}_list")
        } else {
            String::new()
        };
        made.fails(
            "call_tool",
            json!({"city": "Oslo", "name": name}),
            &format!("Unknown tool: {name}{known}"),
        );
        made.again();
    }
}

fn check_names_query(made: &mut Made) {
    made.begin(5);
    let thing = made.word();
    let check =
        "Unfortunately, bots use this search too. Please complete the challenge below to go on. ";
    for _ in 0..ROUNDS {
        let query = format!("{thing} {}", made.words(2));
        made.call(
            "fetch_page",
            json!({"url": format!("https://duck.example/html/?q={}", query.replace(' ', "+"))}),
            format!(
                "<html><title>{query} at Duck</title>{}</html>",
                check.repeat(7)
            ),
        );
        made.again();
    }
}

fn many_of_a_kind(made: &mut Made) {
    made.begin(5);
    let unit = made.word();
    let form = made.below(3);
    for _ in 0..ROUNDS {
        let name = name(made, form);
        made.call("create_unit", json!({"unit": unit}), json!({"id": name}));
    }
}

fn other_tickets(made: &mut Made) {
    made.begin(5);
    let (of, told) = (made.below(4), made.below(3));
    for _ in 0..ROUNDS {
        let (title, body) = (made.words(3), made.words(6));
        let name = name(made, of);
        made.call(
            "create_ticket",
            json!({"title": title, "body": body, "priority": "P2"}),
            receipt(&name, told),
        );
    }
}

fn other_devices(made: &mut Made) {
    made.begin(5);
    for room in made.some_words(ROUNDS) {
        let ((sets, to), _) = device(made, room);
        let token = format!("{}7", &made.hex()[..7]);
        made.call(sets, to, json!({"ok": true, "cmd": token}));
    }
}

fn other_errands(made: &mut Made) {
    made.begin(5);
    let form = made.below(4);
    for _ in 0..ROUNDS {
        let (what, found) = (made.words(3), made.words(7));
        let (tool, arguments) = errand(form, &format!("Find out about the {what}"), "analyst");
        made.call(
            tool,
            arguments,
            format!("This is what there is on it: {found}."),
        );
    }
}

fn jobs_received(made: &mut Made) {
    made.begin(5);
    let queue = made.word();
    for _ in 0..ROUNDS {
        let job = format!("{}4", &made.hex()[..15]);
        made.call(
            "sqs_receive",
            json!({"queue": queue}),
            json!({"Messages": [{"MessageId": job}], "ResponseMetadata": {"HTTPStatusCode": 200}}),
        );
        made.call("delete_message", json!({"id": job}), json!({"ok": true}));
    }
}

fn events_written(made: &mut Made) {
    made.begin(5);
    let (shift, who) = (made.word(), made.word());
    for _ in 0..ROUNDS {
        let now = made.time();
        made.call(
            "log_event",
            json!({"kind": "heartbeat", "shift": shift, "by": who, "at": now}),
            json!({"ok": true}),
        );
        made.pause(40);
    }
}

fn pages_found(made: &mut Made) {
    made.begin(5);
    for _ in 0..ROUNDS {
        let (query, found) = (made.words(2), made.words(9));
        made.call(
            "fetch_page",
            json!({"url": format!("https://duck.example/html/?q={}", query.replace(' ', "+"))}),
            format!("<html><title>{query} at Duck</title><p>{found}</p></html>"),
        );
    }
}
