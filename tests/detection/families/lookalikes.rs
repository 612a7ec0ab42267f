//! What looks like a loop and is none, kind by kind: no run of it may be warned of.

use serde_json::{Value, json};

use super::made::Made;

/// A kind of work: its name, and how a run of it is made.
pub(super) type Work = (&'static str, fn(&mut Made));

pub(super) const WORK: &[Work] = &[
    ("polling, per cent", polling_percent),
    ("polling, states", polling_states),
    ("polling, rows left", polling_rows),
    ("paging by number", paging_number),
    ("paging by cursor", paging_cursor),
    ("chunks of a file in a shell", chunks),
    ("batch over ids", batch_ids),
    ("batch over files", batch_files),
    ("batch of long texts", batch_long),
    ("batch with some misses", batch_misses),
    ("tests after edits", tests_after_edits),
    ("a stubborn test, then mended", stubborn_test),
    ("rate limits that pass", rate_limits),
    ("time-outs that pass", time_outs),
    ("arguments mended", arguments_mended),
    ("fan-out of one tool", fan_out),
    ("reads between edits", reads_between_edits),
    ("a session in an interpreter", repl),
    ("debate of agents", debate),
    ("review and revision", review),
    ("chat with many turns", chat),
    ("chat, the user asks again", chat_again),
    ("monitoring", monitoring),
    ("monitoring, numbers up and down", monitoring_numbers),
    ("looks at the state amid work", idempotent),
    ("to-do list kept", todo_list),
    ("thoughts written down", thoughts),
    ("heartbeats amid work", heartbeats),
    ("screen, click, screen", screens),
    ("one shell, long work", shell_work),
    ("queries that narrow down", narrowing),
    ("errands to one helper", errands),
    ("swarm on parts", swarm_parts),
    ("status lines in words", status_lines),
    ("memory looked up for each turn", recall),
    ("edits that fail, then fit", edits_that_miss),
];

fn polling_percent(made: &mut Made) {
    made.begin(10);
    let (mut percent, style) = (0, made.below(3));
    let tool = made.pick(&["get_job", "check_status", "deployment_status"]);
    while percent < 100 {
        percent += made.between(1, 14);
        let done = percent.min(100);
        let output = match style {
            0 => json!({"state": "running", "progress": done}),
            1 => json!(format!("Uploading… {done}% complete")),
            _ => json!({"state": "running", "fraction": done as f64 / 100.0}),
        };
        made.call(tool, json!({"id": "job-9"}), output);
    }
}

fn polling_states(made: &mut Made) {
    made.begin(10);
    for state in [
        "queued",
        "preparing",
        "building",
        "testing",
        "deploying",
        "verifying",
        "done",
    ] {
        for _ in 0..made.between(1, 2) {
            made.call("get_build", json!({"build": 4_711}), json!({"id": 4_711, "state": state, "queue": "default", "url": "https://ci.example/4711"}));
        }
        let words = made.words(3);
        match made.below(4) {
            0 => made.sh("sleep 10", ""),
            1 => made.says(&words),
            _ => {}
        }
    }
}

fn polling_rows(made: &mut Made) {
    made.begin(10);
    let mut rows = made.between(40_000, 90_000);
    while rows > 0 {
        rows = rows.saturating_sub(made.between(2_000, 9_000));
        made.sh(
            "psql -c 'select count(*) from queue'",
            &format!(" count\n-------\n {rows}\n(1 row)"),
        );
    }
}

fn paging_number(made: &mut Made) {
    made.begin(10);
    let (tool, key) = (
        made.pick(&["list_issues", "search", "fetch_url"]),
        made.pick(&["page", "offset", "p"]),
    );
    for page in 1..made.between(8, 24) {
        let input = match key {
            "p" => json!({"url": format!("https://shop.example/list?sort=new&p={page}")}),
            "offset" => json!({"query": "open", "offset": page * 50, "limit": 50}),
            _ => json!({"query": "open", "page": page}),
        };
        let output: Vec<_> = (0..5)
            .map(|_| json!({"id": made.below(9_999), "title": made.words(3)}))
            .collect();
        made.call(tool, input, output);
    }
}

fn paging_cursor(made: &mut Made) {
    made.begin(10);
    let mut cursor = made.hex();
    for _ in 0..made.between(8, 16) {
        let next = made.hex();
        let items: Vec<_> = (0..4).map(|_| made.words(2)).collect();
        made.call(
            "list_customers",
            json!({"cursor": cursor, "page_size": 100, "fields": "name,city"}),
            json!({"items": items, "next": next}),
        );
        cursor = next;
    }
}

fn chunks(made: &mut Made) {
    made.begin(10);
    let file = made.file();
    for piece in 0..made.between(8, 20) {
        let text = made.words(12);
        made.sh(
            &format!("sed -n '{},{}p' {file}", piece * 80 + 1, piece * 80 + 80),
            &text,
        );
    }
}

fn batch_ids(made: &mut Made) {
    made.begin(10);
    let acknowledged = made.chance(50);
    for _ in 0..made.between(8, 30) {
        let (id, city) = (made.between(10_000, 99_999), made.word());
        let output = if acknowledged {
            json!({"status": "success", "message": "Order was cancelled.", "code": 0})
        } else {
            json!({"id": id, "state": "shipped", "city": city, "lines": 2})
        };
        made.call(
            if acknowledged {
                "cancel_order"
            } else {
                "get_order"
            },
            json!({"order_id": format!("W{id}")}),
            output,
        );
    }
}

fn batch_files(made: &mut Made) {
    made.begin(10);
    for _ in 0..made.between(8, 20) {
        let (file, text) = (made.file(), made.words(20));
        made.call("read_file", json!({"path": file}), text);
        made.call("edit_file", json!({"path": file, "old": "2025", "new": "2026"}), "The file was updated successfully. All checks that are configured for it have passed as well.");
    }
}

/// The same letter to other people: the texts differ in their middle alone, and each is acknowledged in the same way.
fn batch_long(made: &mut Made) {
    made.begin(10);
    let (opening, end) = (made.words(40), made.words(40));
    let answer = json!({"status": "accepted", "queue": "mail-outgoing", "note": "The message will be sent within the next minutes."});
    for _ in 0..made.between(8, 20) {
        let (name, body) = (made.words(2), made.words(24));
        made.call(
            "send_mail",
            json!({"subject": "Your stay", "text": format!("{opening} Dear {name}, {body} {end}")}),
            answer.clone(),
        );
    }
}

fn batch_misses(made: &mut Made) {
    made.begin(10);
    for _ in 0..made.between(10, 20) {
        let (name, city) = (made.words(2), made.word());
        let output = if made.chance(30) {
            json!([])
        } else {
            json!([{"name": name, "city": city}])
        };
        made.call("find_customer", json!({"name": name}), output);
    }
}

fn tests_after_edits(made: &mut Made) {
    made.begin(10);
    let file = made.file();
    for left in (0..made.between(4, 9)).rev() {
        for _ in 0..made.between(1, 2) {
            let (old, new) = (made.words(2), made.words(2));
            made.call(
                "edit_file",
                json!({"path": file, "old": old, "new": new}),
                "edited",
            );
        }
        let printed = format!(
            "{left} failed, {} passed in 0.{}s",
            40 - left,
            made.between(10, 99)
        );
        if left == 0 {
            made.sh("pytest -q", &printed);
        } else {
            made.fails("bash", json!({"command": "pytest -q"}), &printed);
        }
    }
}

/// The same failure three times, with reading and editing in between, before the right change is found.
fn stubborn_test(made: &mut Made) {
    made.begin(10);
    let (file, words) = (made.file(), made.words(3));
    for _ in 0..3 {
        let steps = made.between(0, 2);
        made.work(steps);
        let (old, new) = (made.words(2), made.words(3));
        made.call(
            "edit_file",
            json!({"path": file, "old": old, "new": new}),
            "edited",
        );
        let printed = format!(
            "E   AssertionError: {words}\n1 failed, 39 passed in 0.{}s",
            made.between(10, 99)
        );
        made.fails("bash", json!({"command": "pytest -q"}), &printed);
    }
    made.call(
        "edit_file",
        json!({"path": file, "old": words, "new": "fixed"}),
        "edited",
    );
    made.sh("pytest -q", "40 passed in 0.31s");
    made.work(4);
}

fn rate_limits(made: &mut Made) {
    made.begin(10);
    for _ in 0..made.between(1, 3) {
        let input = json!({"symbol": made.word()});
        for wait in 0..made.between(1, 5) {
            made.fails(
                "get_quote",
                input.clone(),
                "429 Too Many Requests: rate limit exceeded, try again later",
            );
            made.pause(1 << wait);
        }
        let quote = made.between(100, 999);
        made.call("get_quote", input, json!({"price": quote}));
        made.work(3);
    }
}

fn time_outs(made: &mut Made) {
    made.begin(10);
    for _ in 0..made.between(2, 4) {
        let input = json!({"url": format!("https://{}.example", made.word())});
        for _ in 0..made.between(1, 3) {
            made.fails(
                "fetch_url",
                input.clone(),
                "Read timed out. (read timeout=10)",
            );
        }
        let page = made.words(14);
        made.call("fetch_url", input, page);
    }
}

/// A call is refused twice or three times for what is wrong with its arguments, each time another thing, and then goes through.
fn arguments_mended(made: &mut Made) {
    made.begin(10);
    for _ in 0..2 {
        let words = made.words(2);
        let missing = [
            "field 'city' is required",
            "field 'date' must be YYYY-MM-DD",
            "field 'guests' must be a number",
        ];
        for (at, error) in missing.iter().enumerate().take(made.between(1, 3)) {
            made.fails(
                "book_room",
                json!({"name": words, "try": at}),
                &format!("ValidationError: {error}"),
            );
        }
        let number = made.between(100, 999);
        made.call(
            "book_room",
            json!({"name": words, "city": "Oslo"}),
            json!({"booking": number}),
        );
        made.work(2);
    }
}

/// Many calls of one tool at the same time, some of which find nothing.
fn fan_out(made: &mut Made) {
    made.begin(10);
    for _ in 0..2 {
        let words = made.words(3);
        made.add(json!({"kind": "llm_call", "tokens": 900}));
        for at in 0..made.between(4, 10) {
            let (text, word, empty) = (made.words(8), made.word(), made.chance(40));
            let output = if empty {
                json!([])
            } else {
                json!([{"text": text}])
            };
            made.call(
                "web_search",
                json!({"query": format!("{words} {word}")}),
                output,
            );
            let event = made.events.last_mut().expect("a call");
            event["duration_ms"] = json!(60_000);
            event["call_id"] = json!(format!("c{at}"));
        }
        made.pause(90);
    }
}

fn reads_between_edits(made: &mut Made) {
    made.begin(10);
    let file = made.file();
    for _ in 0..made.between(5, 10) {
        let (old, new, text) = (made.words(2), made.words(2), made.words(20));
        made.call(
            "edit_file",
            json!({"path": file, "old": old, "new": new}),
            "edited",
        );
        made.call("read_file", json!({"path": file}), text);
    }
}

fn repl(made: &mut Made) {
    made.begin(10);
    let mut failed = false;
    for step in 0..made.between(10, 24) {
        let (word, other) = (made.word(), made.word());
        // What failed is looked into before the next try.
        let what = if failed { 3 } else { made.below(4) };
        failed = what == 2;
        match what {
            0 => made.call("python", json!({"code": format!("import {word}")}), ""),
            1 => made.call(
                "python",
                json!({"code": format!("{word} = load('{other}.csv')")}),
                "None",
            ),
            2 => made.fails(
                "python",
                json!({"code": format!("{word}.{other}()")}),
                &format!("AttributeError: '{word}' object has no attribute '{other}'"),
            ),
            _ => made.call(
                "python",
                json!({"code": format!("print({word}.head({step}))")}),
                format!("{word} {other} {step}"),
            ),
        }
    }
}

fn debate(made: &mut Made) {
    made.begin(10);
    for _ in 0..made.between(4, 8) {
        for (from, to) in [("for", "against"), ("against", "for")] {
            made.add(json!({"kind": "handoff", "from_agent": from, "to_agent": to}));
            made.as_agent(to);
            let point = made.words(14);
            made.says(&format!(
                "I see your point. My next argument is this: {point}."
            ));
        }
    }
}

fn review(made: &mut Made) {
    made.begin(10);
    for round in 1..made.between(4, 7) {
        made.as_agent("writer");
        let (draft, notes) = (made.words(30), made.words(16));
        made.call(
            "save_draft",
            json!({"text": draft, "version": round}),
            json!({"saved": true, "version": round}),
        );
        made.add(json!({"kind": "handoff", "from_agent": "writer", "to_agent": "critic"}));
        made.as_agent("critic");
        made.says(&format!(
            "Thank you for the draft. Please change the following: {notes}."
        ));
        made.add(json!({"kind": "handoff", "from_agent": "critic", "to_agent": "writer"}));
    }
}

fn chat(made: &mut Made) {
    for _ in 0..made.between(6, 14) {
        made.user();
        let (number, words) = (made.between(1_000, 9_999), made.words(6));
        made.call(
            "get_account",
            json!({"id": number}),
            json!({"id": number, "name": words, "open": true}),
        );
        made.says("Is there anything else that I can help you with today?");
    }
}

/// Users ask for the same again, and so the agent looks again.
fn chat_again(made: &mut Made) {
    let times = made.between(4, 7);
    for _ in 0..times {
        made.user();
        made.call(
            "get_balance",
            json!({"account": "main"}),
            json!({"balance": 1_200, "currency": "EUR"}),
        );
        made.says(
            "Your balance is 1200 EUR. Is there anything else that I can help you with today?",
        );
        if made.chance(50) {
            made.user();
            let (words, sum) = (made.words(2), made.between(3, 90));
            made.call(
                "get_transactions",
                json!({"of": words}),
                json!([{"of": words, "sum": sum}]),
            );
            made.says("Here are your transactions. Is there anything else that I can help you with today?");
        }
    }
}

fn monitoring(made: &mut Made) {
    for _ in 0..9 {
        made.call(
            "check_health",
            json!({"service": "web"}),
            json!({"status": "ok", "instances": 3}),
        );
        made.pause(60);
    }
}

/// A gauge that is read every minute for an hour and a half.
fn monitoring_numbers(made: &mut Made) {
    for _ in 0..90 {
        let (load, memory) = (made.between(10, 99), made.between(5_000, 5_999));
        made.call(
            "get_metrics",
            json!({"host": "web-1"}),
            json!({"load": format!("0.{load}"), "memory_mb": memory}),
        );
        made.pause(60);
    }
}

fn idempotent(made: &mut Made) {
    let looks = [
        ("git status --short", " M src/lib.rs"),
        ("ls", "Cargo.toml\nsrc\ntests"),
        ("git branch --show-current", "main"),
        ("pwd", "/app"),
    ];
    for _ in 0..made.between(6, 12) {
        let (command, printed) = looks[made.below(looks.len())];
        made.sh(command, printed);
        let steps = made.between(2, 4);
        made.work(steps);
    }
}

fn todo_list(made: &mut Made) {
    let tasks: Vec<_> = (0..6).map(|_| made.words(7)).collect();
    let tool = made.pick(&["TodoWrite", "update_todos", "todo", "update_plan"]);
    let answer = made.pick(&["Todos have been modified successfully. Ensure that you continue to use the todo list to track your progress. Please proceed with the current tasks.", "ok", "Plan updated"]);
    for done in 0..=tasks.len() {
        let states = |at: usize| match at.cmp(&done) {
            std::cmp::Ordering::Less => "completed",
            std::cmp::Ordering::Equal => "in_progress",
            std::cmp::Ordering::Greater => "pending",
        };
        let list: Vec<Value> = tasks
            .iter()
            .enumerate()
            .map(|(at, task)| json!({"content": task, "status": states(at)}))
            .collect();
        made.call(tool, json!({"todos": list}), answer);
        let steps = made.between(1, 4);
        made.work(steps);
    }
}

fn thoughts(made: &mut Made) {
    let answer = made.pick(&["Your thought has been logged.", "", "{\"thoughtHistoryLength\": 1, \"branches\": [], \"next_thought_needed\": true, \"note\": \"continue\"}"]);
    for _ in 0..made.between(6, 12) {
        let thought = made.words(14);
        made.call("think", json!({"thought": thought}), answer);
        let steps = made.between(0, 2);
        made.work(steps);
    }
}

fn heartbeats(made: &mut Made) {
    for step in 0..made.between(8, 20) {
        let steps = made.between(1, 2);
        made.work(steps);
        if made.chance(50) {
            made.call(
                "log_event",
                json!({"level": "info", "message": "still at work"}),
                "logged",
            );
        } else {
            made.call(
                "report_progress",
                json!({"message": format!("step {step} done")}),
                json!({"ok": true}),
            );
        }
    }
}

fn screens(made: &mut Made) {
    let screen = made.pick(&[
        "Screenshot taken",
        "[image]",
        "<image>",
        "Took a screenshot of the browser window",
    ]);
    for _ in 0..made.between(8, 16) {
        made.call("computer", json!({"action": "screenshot"}), screen);
        let (x, y, words) = (made.below(1_200), made.below(800), made.words(2));
        if made.chance(60) {
            made.call(
                "computer",
                json!({"action": "left_click", "coordinate": [x, y]}),
                "done",
            );
        } else {
            made.call("computer", json!({"action": "type", "text": words}), "done");
        }
    }
}

fn shell_work(made: &mut Made) {
    for step in 0..made.between(20, 50) {
        let (file, word) = (made.file(), made.word());
        match made.below(8) {
            0 if step % 3 == 0 => made.sh("git status --short", " M src/lib.rs"),
            1 => made.sh(
                &format!("cat {file}"),
                &format!("// {word} {step}\nfn {word}() {{}}"),
            ),
            2 => made.sh(&format!("sed -i 's/{word}/x{step}/' {file}"), ""),
            3 => made.sh(
                &format!("grep -rn {word} ."),
                if step % 3 == 0 { "" } else { "./a.rs:1: found" },
            ),
            4 => made.sh(&format!("python -c 'import {word}'"), ""),
            5 => made.fails(
                "bash",
                json!({"command": format!("{word} --help")}),
                &format!("bash: {word}: command not found"),
            ),
            6 => made.sh(&format!("mkdir -p out/{word}_{step}"), ""),
            _ => made.sh(
                "cargo test",
                &format!("test result: ok. {} passed; 0 failed", 20 + step),
            ),
        }
    }
}

/// Each query says more than the one before, and what comes back is another thing each time.
fn narrowing(made: &mut Made) {
    made.begin(10);
    let words = made.some_words(8);
    for count in 2..=words.len() {
        let (query, title) = (words[..count].join(" "), made.words(5));
        made.call(
            "web_search",
            json!({"query": query}),
            json!({"results": [{"title": title}, {"title": "General questions"}]}),
        );
    }
}

fn errands(made: &mut Made) {
    for _ in 0..made.between(5, 10) {
        let (errand, answer) = (made.words(9), made.words(12));
        made.add(json!({"kind": "handoff", "from_agent": "lead", "to_agent": "helper", "input": format!("Please find out about {errand}")}));
        made.as_agent("helper");
        made.call("web_search", json!({"query": errand}), answer);
        made.add(json!({"kind": "handoff", "from_agent": "helper", "to_agent": "lead"}));
        made.as_agent("lead");
    }
}

fn swarm_parts(made: &mut Made) {
    let words = made.words(2);
    for part in 0..12 {
        made.as_worker(["w1", "w2", "w3"][part % 3]);
        let (city, text) = (made.words(2), made.words(9));
        made.call(
            "web_search",
            json!({"query": format!("{words} {city}")}),
            text,
        );
    }
}

/// A program that tells in words how far it is.
fn status_lines(made: &mut Made) {
    made.begin(10);
    let pages = made.between(6, 14);
    for page in 1..=pages {
        made.says(&format!(
            "Page {page} of {pages} has been translated, I will go on with the next one."
        ));
    }
}

fn recall(made: &mut Made) {
    for _ in 0..made.between(5, 10) {
        made.user();
        made.call(
            "recall_memory",
            json!({"user": "u1"}),
            json!({"likes": ["tea", "trains"], "city": "Oslo"}),
        );
        made.work(1);
        let answer = made.words(10);
        made.says(&answer);
    }
}

/// Edits whose old text is not there, told in full, before one that fits.
fn edits_that_miss(made: &mut Made) {
    made.begin(10);
    for _ in 0..3 {
        let file = made.file();
        for _ in 0..made.between(1, 3) {
            let (old, text, line) = (made.words(8), made.words(20), made.below(50));
            made.fails("str_replace_editor", json!({"command": "str_replace", "path": file, "old_str": old, "new_str": "x"}),
                &format!("No replacement was performed, old_str `{old}` did not appear verbatim in {file}."));
            made.call(
                "str_replace_editor",
                json!({"command": "view", "path": file, "view_range": [line, 90]}),
                text,
            );
        }
        let old = made.words(3);
        made.call(
            "str_replace_editor",
            json!({"command": "str_replace", "path": file, "old_str": old, "new_str": "y"}),
            format!("The file {file} has been edited: {old}"),
        );
    }
}
