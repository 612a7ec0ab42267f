//! One shell in a framework's wrapper, customers' service on the phone, pages between two looks, chains that rewrite a question,
//! retries, and runs of hundreds of calls; loops, and work that looks like them. Written before it was measured what is found of
//! them.

use serde_json::json;

use super::lookalikes::Work;
use super::loops::Loop;
use super::made::Made;

pub(super) const LOOPS: &[Loop] = &[
    ("one shell: the script written anew", 6, script_anew),
    (
        "one shell: a file read by other commands",
        6,
        file_otherwise,
    ),
    ("one shell: a server in the foreground", 6, foreground),
    (
        "replace tool: text not found, looked at",
        6,
        replaced_nowhere,
    ),
    ("chat: nobody takes the next step", 6, nobody_begins),
    ("airline: the same flights thought over", 6, flights_again),
    ("retail: an order that cannot be changed", 6, order_refused),
    ("telecom: restarted and tested", 6, restarted),
    ("browser: to and fro between two pages", 6, two_pages),
    ("retrieval: graded no, and rewritten", 6, graded_no),
    ("reduce: from the first chunk again", 3, chunks_again),
    ("rate limit: never waited for", 9, limit_ignored),
];

pub(super) const WORK: &[Work] = &[
    ("one shell: an issue is solved", issue_by_shell),
    ("replace tool: an issue is solved", issue_by_editor),
    ("airline: a trip is booked anew", trip_rebooked),
    ("retail: a customer with many orders", many_orders),
    ("telecom: a check after each change", check_each_change),
    ("browser: hit by hit, and back", hits_and_back),
    ("retrieval: parts of a question", parts_of_question),
    ("map: most chunks say nothing", chunks_say_nothing),
    ("polling: longer pauses until it is done", polled_until_done),
    ("retries: it works at last", works_at_last),
    ("long run: three hundred calls", three_hundred),
    ("chat: the same wish in each turn", same_wish),
];

const ROUNDS: usize = 10;

/// What one shell printed, as three frameworks wrap it.
fn shell(made: &mut Made, style: usize, command: &str, code: u8, printed: &str) {
    match style % 3 {
        0 => made.call(
            "bash",
            json!({"command": command}),
            format!("<returncode>{code}</returncode>\n<output>\n{printed}\n</output>"),
        ),
        1 => made.call(
            "execute_command",
            json!({"command": command, "requires_approval": false}),
            format!("Command executed.\nOutput:\n{printed}\n[exit code: {code}]"),
        ),
        _ => made.call(
            "terminal",
            json!({"cmd": command}),
            json!({"stdout": printed, "stderr": "", "exit_code": code}),
        ),
    }
}

/// Some steps of a shell that get on.
fn explored(made: &mut Made, style: usize) {
    for _ in 0..made.between(1, 7) {
        let (file, word, text, line) = (
            made.file(),
            made.word(),
            made.words(14),
            made.between(1, 400),
        );
        match made.below(3) {
            0 => shell(made, style, &format!("cat {file}"), 0, &text),
            1 => shell(
                made,
                style,
                &format!("grep -rn \"{word}\" --include=*.py ."),
                0,
                &format!("{file}:{line}:{text}"),
            ),
            _ => shell(
                made,
                style,
                &format!("sed -n '{line},{}p' {file}", line + 30),
                0,
                &text,
            ),
        }
    }
    made.begins = made.events.len();
}

fn traceback(made: &mut Made, file: &str, error: &str) -> String {
    let line = made.between(3, 60);
    format!(
        "Traceback (most recent call last):\n  File \"/testbed/{file}\", line {line}, in <module>\n    main()\n{error}"
    )
}

fn script_anew(made: &mut Made) {
    let style = made.below(3);
    explored(made, style);
    let (name, word) = (made.word(), made.word());
    let error = format!("AttributeError: module '{name}' has no attribute '{word}'");
    for _ in 0..ROUNDS {
        let (body, call) = (made.words(9), made.words(3));
        shell(
            made,
            style,
            &format!(
                "cat > test_{name}.py <<'EOF'\nimport {name}\n# {body}\n{name}.{word}('{call}')\nEOF"
            ),
            0,
            "",
        );
        let printed = traceback(made, &format!("test_{name}.py"), &error);
        shell(made, style, &format!("python test_{name}.py"), 1, &printed);
        made.again();
    }
}

fn file_otherwise(made: &mut Made) {
    let style = made.below(3);
    explored(made, style);
    let (file, text) = (made.file(), made.words(30));
    for round in 0..ROUNDS {
        let command = match round % 5 {
            0 => format!("cat {file}"),
            1 => format!("head -n 200 {file}"),
            2 => format!("sed -n '1,200p' {file}"),
            3 => format!("cd /testbed && cat {file}"),
            _ => format!("less {file} | cat"),
        };
        shell(made, style, &command, 0, &text);
        made.again();
    }
}

fn foreground(made: &mut Made) {
    let style = made.below(3);
    explored(made, style);
    let serve = made.pick(&["npm start", "python app.py", "cargo run", "flask run"]);
    for round in 0..ROUNDS {
        let command = match round % 4 {
            0 => serve.to_owned(),
            1 => format!("cd /app && {serve}"),
            2 => format!("PORT={} {serve}", 3_000 + round),
            _ => format!("{serve} --host 0.0.0.0"),
        };
        made.pause(60);
        let printed = format!(
            "The command timed out after 60 seconds and was ended. Last output:\nServing on http://127.0.0.1:{}",
            3_000 + round
        );
        shell(made, style, &command, 124, &printed);
        made.again();
    }
}

fn replaced_nowhere(made: &mut Made) {
    made.begin(8);
    let (path, text) = (format!("/testbed/{}", made.file()), made.words(40));
    for _ in 0..ROUNDS {
        let (old, new) = (made.words(6), made.words(6));
        made.call(
            "str_replace_editor",
            json!({"command": "str_replace", "path": path, "old_str": old, "new_str": new}),
            format!("ERROR:\nNo replacement was performed, old_str `{old}` did not appear verbatim in {path}."),
        );
        if made.chance(50) {
            made.call(
                "str_replace_editor",
                json!({"command": "view", "path": path, "view_range": [1, 60]}),
                format!("Here's the result of running `cat -n` on {path}:\n     1\t{text}"),
            );
        }
        made.again();
    }
}

fn nobody_begins(made: &mut Made) {
    made.begin(8);
    let about = made.words(3);
    for round in 0..ROUNDS {
        made.as_agent("Engineer");
        let ask = [
            "Could you share the data",
            "I am ready as soon as I have the data",
            "Please send me the data first",
        ][round % 3];
        made.says(&format!(
            "{ask} for {about}, so that I can write the program for it."
        ));
        made.as_agent("Analyst");
        let give = [
            "I will look at the data",
            "I can check the data",
            "Let me know when I may look at the data",
        ][round % 3];
        made.says(&format!(
            "{give} for {about} once the program has been written by the Engineer."
        ));
        made.again();
    }
}

fn flights_again(made: &mut Made) {
    made.begin(8);
    let (from, to) = (
        made.pick(&["JFK", "SFO", "ORD"]),
        made.pick(&["SEA", "BOS", "MIA"]),
    );
    let flights: Vec<_> = (0..3)
        .map(|at| {
            let (number, price) = (made.between(100, 299), made.between(90, 400));
            json!({"flight_number": format!("HAT{number}"), "scheduled_departure_time_est": format!("0{}:00:00", at + 5), "status": "available", "prices": {"economy": price}})
        })
        .collect();
    for _ in 0..ROUNDS {
        let thought = made.words(12);
        made.call(
            "search_direct_flight",
            json!({"origin": from, "destination": to, "date": "2024-05-17"}),
            json!(flights),
        );
        made.call(
            "think",
            json!({"thought": format!("The user wants the cheapest flight. {thought}")}),
            "",
        );
        if made.chance(50) {
            made.call(
                "calculate",
                json!({"expression": "255 - 187"}),
                json!("68.0"),
            );
        }
        made.again();
    }
}

fn order_refused(made: &mut Made) {
    made.begin(8);
    let order = format!("#W{}", made.between(1_000_000, 9_999_999));
    let style = made.below(2);
    for _ in 0..ROUNDS {
        let (old, new) = (
            made.between(1_000_000_000, 9_999_999_999),
            made.between(1_000_000_000, 9_999_999_999),
        );
        let input = json!({"order_id": order, "item_ids": [old.to_string()], "new_item_ids": [new.to_string()], "payment_method_id": format!("credit_card_{}", made.between(1_000, 9_999))});
        let output = "Error: non-pending order cannot be modified";
        if style == 0 {
            made.call("modify_pending_order_items", input, output);
        } else {
            made.fails("modify_pending_order_items", input, output);
        }
        if made.chance(40) {
            made.call(
                "get_order_details",
                json!({"order_id": order}),
                json!({"order_id": order, "status": "processed"}),
            );
        }
        made.again();
    }
}

fn restarted(made: &mut Made) {
    made.begin(8);
    let style = made.below(2);
    for _ in 0..ROUNDS {
        made.call("reboot_device", json!({}), "Device has been rebooted.");
        if style == 1 {
            made.call(
                "check_network_status",
                json!({}),
                "Airplane Mode: OFF\nSIM Card Status: active\nCellular Connection: connected\nMobile Data Enabled: Yes",
            );
        }
        made.call(
            "run_speed_test",
            json!({}),
            "Speed test failed: No Connection.",
        );
        made.again();
    }
}

fn two_pages(made: &mut Made) {
    made.begin(8);
    let site = made.word();
    let pages = [made.words(30), made.words(30)];
    for _ in 0..ROUNDS {
        for (place, text) in pages.iter().enumerate() {
            let url = format!("https://www.{site}.example/{}", ["list", "help"][place]);
            let console = made.between(0, 9);
            made.call(
                "browser_navigate",
                json!({"url": url}),
                json!({"content": [{"type": "text", "text": format!("### Ran Playwright code\nawait page.goto('{url}');\n### New console messages\n- {console} warnings\n### Page state\n- Page URL: {url}\n- Page Snapshot:\n  - main [ref=e2]: {text}")}]}),
            );
        }
        made.again();
    }
}

fn graded_no(made: &mut Made) {
    made.begin(8);
    let words = made.some_words(5);
    let documents: Vec<_> = (0..3)
        .map(|_| json!({"page_content": made.words(20), "metadata": {"source": "manual.pdf"}}))
        .collect();
    let mut question = format!("How do I set the {} of the {}?", words[0], words[1]);
    for round in 0..ROUNDS {
        made.call(
            "retrieve",
            json!({"question": question}),
            json!({"documents": documents}),
        );
        made.call(
            "grade_documents",
            json!({"question": question, "documents": documents}),
            json!({"binary_score": "no"}),
        );
        let rewritten = match round % 5 {
            0 => format!(
                "What are the steps to set the {} of a {}?",
                words[0], words[1]
            ),
            1 => format!(
                "Which {} settings does the {} have, and how are they changed?",
                words[0], words[1]
            ),
            2 => format!("{} {} configuration guide", words[1], words[0]),
            3 => format!(
                "In what way can a user change the {} of their {}?",
                words[0], words[1]
            ),
            _ => format!(
                "Setting up the {} on the {}: instructions",
                words[0], words[1]
            ),
        };
        made.call(
            "transform_query",
            json!({"question": question}),
            json!({"question": rewritten}),
        );
        question = rewritten;
        made.again();
    }
}

fn chunks_again(made: &mut Made) {
    made.begin(8);
    let chunks: Vec<_> = (0..6).map(|_| made.words(18)).collect();
    for _ in 0..5 {
        for (number, summary) in chunks.iter().enumerate() {
            let tokens = made.between(400, 600);
            made.call(
                "summarize_chunk",
                json!({"document": "report.pdf", "chunk": number}),
                json!({"summary": summary, "usage": {"total_tokens": tokens}}),
            );
        }
        made.again();
    }
}

fn limit_ignored(made: &mut Made) {
    made.begin(8);
    let words = made.some_words(3);
    for round in 0..12 {
        let wait = made.between(20, 59);
        made.fails(
            "web_search",
            json!({"query": words.join(" "), "page": 1, "attempt": round}),
            &format!(
                "HTTP 429 Too Many Requests: rate limit exceeded. Retry after {wait} seconds."
            ),
        );
        made.again();
    }
}

/// A run of an agent with one shell, as benchmarks of mended issues have them.
fn issue_by_shell(made: &mut Made) {
    let style = made.below(3);
    let (file, name) = (made.file(), made.word());
    shell(made, style, "ls -la", 0, "setup.py\nsrc\ntests\nREADME.md");
    explored(made, style);
    let repro = made.words(8);
    shell(
        made,
        style,
        &format!("cat > reproduce.py <<'EOF'\n# {repro}\nEOF"),
        0,
        "",
    );
    let error = format!("ValueError: {name} is not supported");
    for _ in 0..made.between(1, 3) {
        let printed = traceback(made, "reproduce.py", &error);
        shell(made, style, "python reproduce.py", 1, &printed);
        explored(made, style);
        let (from, old, new) = (made.between(10, 300), made.word(), made.word());
        shell(
            made,
            style,
            &format!("sed -i '{from}s/{old}/{new}/' {file}"),
            0,
            "",
        );
        let shown = made.words(12);
        shell(
            made,
            style,
            &format!("sed -n '{},{}p' {file}", from - 5, from + 5),
            0,
            &shown,
        );
    }
    shell(made, style, "python reproduce.py", 0, "ok");
    for failed in [3, 1, 0] {
        let seconds = made.between(100, 900);
        shell(
            made,
            style,
            "python -m pytest tests -x -q",
            u8::from(failed > 0),
            &format!(
                "{failed} failed, {} passed in {}.{:02}s",
                90 - failed,
                seconds / 100,
                seconds % 100
            ),
        );
        let (line, word) = (made.between(10, 300), made.words(3));
        shell(
            made,
            style,
            &format!("sed -i '{line}s/.*/    {word}/' {file}"),
            0,
            "",
        );
        shell(
            made,
            style,
            "git diff --stat",
            0,
            &format!(" {file} | {} +-\n 1 file changed", 2 + failed),
        );
    }
    shell(made, style, "rm reproduce.py", 0, "");
    shell(
        made,
        style,
        "git add -A && git diff --cached > patch.txt",
        0,
        "",
    );
    shell(made, style, "git status --short", 0, &format!("M  {file}"));
}

fn issue_by_editor(made: &mut Made) {
    let style = made.below(2);
    let path = format!("/workspace/{}", made.file());
    explored(made, style);
    for from in [1, 80, 160, 240] {
        let text = made.words(25);
        made.call(
            "str_replace_editor",
            json!({"command": "view", "path": path, "view_range": [from, from + 79]}),
            format!("Here's the result of running `cat -n` on {path}:\n{from}\t{text}"),
        );
    }
    for _ in 0..made.between(2, 5) {
        for _ in 0..made.below(3) {
            let old = made.words(5);
            made.call(
                "str_replace_editor",
                json!({"command": "str_replace", "path": path, "old_str": old, "new_str": "pass"}),
                format!("ERROR:\nNo replacement was performed, old_str `{old}` did not appear verbatim in {path}."),
            );
            let (from, text) = (made.between(1, 300), made.words(25));
            made.call(
                "str_replace_editor",
                json!({"command": "view", "path": path, "view_range": [from, from + 19]}),
                format!("Here's the result of running `cat -n` on {path}:\n{from}\t{text}"),
            );
        }
        let (old, new, shown) = (made.words(5), made.words(8), made.words(14));
        made.call(
            "str_replace_editor",
            json!({"command": "str_replace", "path": path, "old_str": old, "new_str": new}),
            format!("The file {path} has been edited. Here's the result of running `cat -n` on a snippet of {path}:\n{shown}"),
        );
        let failed = made.between(1, 6);
        let names = made
            .words(failed)
            .replace(' ', "\nFAILED tests/test_a.py::test_");
        shell(
            made,
            style,
            "cd /workspace && python -m pytest tests/test_a.py",
            1,
            &format!("FAILED tests/test_a.py::test_{names}\n{failed} failed in 0.41s"),
        );
    }
    shell(
        made,
        style,
        "cd /workspace && python -m pytest tests/test_a.py",
        0,
        "12 passed in 0.40s",
    );
    made.call(
        "finish",
        json!({"message": "The issue has been solved."}),
        "",
    );
}

fn says_user(made: &mut Made, text: &str) {
    made.pause(15);
    made.add(json!({"kind": "llm_text", "agent": "user", "input": text}));
}

fn trip_rebooked(made: &mut Made) {
    let user = format!("{}_{}", made.word(), made.between(1_000, 9_999));
    says_user(made, "Hello, I need to change my trip.");
    made.says("I can help you with that. What is your user id?");
    says_user(made, &format!("It is {user}."));
    let reservations: Vec<_> = (0..made.between(3, 6))
        .map(|_| made.hex()[..6].to_uppercase())
        .collect();
    made.call(
        "get_user_details",
        json!({"user_id": user}),
        json!({"name": user, "reservations": reservations}),
    );
    for reservation in &reservations {
        let flight = made.between(100, 299);
        made.call(
            "get_reservation_details",
            json!({"reservation_id": reservation}),
            json!({"reservation_id": reservation, "flights": [{"flight_number": format!("HAT{flight}")}]}),
        );
    }
    let (from, to) = (made.pick(&["JFK", "SFO"]), made.pick(&["SEA", "BOS"]));
    for day in 16..16 + made.between(3, 6) {
        for tool in ["search_direct_flight", "search_onestop_flight"] {
            let flight = made.between(100, 299);
            let output = if made.chance(40) {
                json!([])
            } else {
                json!([{"flight_number": format!("HAT{flight}"), "price": flight * 2}])
            };
            made.call(
                tool,
                json!({"origin": from, "destination": to, "date": format!("2024-05-{day}")}),
                output,
            );
        }
    }
    for _ in 0..2 {
        let sum = made.between(100, 900);
        made.call(
            "calculate",
            json!({"expression": format!("2 * {sum}")}),
            json!((2 * sum).to_string()),
        );
        made.says(&format!(
            "The new trip would cost ${}. Shall I book it? (yes/no)",
            2 * sum
        ));
        says_user(made, "Could you look for something cheaper?");
    }
    for reservation in &reservations {
        made.call(
            "cancel_reservation",
            json!({"reservation_id": reservation}),
            json!({"reservation_id": reservation, "status": "cancelled"}),
        );
    }
}

fn many_orders(made: &mut Made) {
    says_user(made, "Hi, I want to return some things.");
    for _ in 0..made.between(1, 3) {
        let mail = format!("{}{}@mail.example", made.word(), made.between(100, 999));
        made.fails(
            "find_user_id_by_email",
            json!({"email": mail}),
            "Error: user not found",
        );
        made.says("I could not find that address. Could you give me another one, or your name and zip code?");
        says_user(made, "Oh, then try this one.");
    }
    let user = format!("{}_{}", made.word(), made.between(1_000, 9_999));
    let first = made.word();
    made.call(
        "find_user_id_by_name_zip",
        json!({"first_name": first, "last_name": "Rossi", "zip": "19122"}),
        user.as_str(),
    );
    made.call(
        "get_user_details",
        json!({"user_id": user}),
        json!({"user": user}),
    );
    for _ in 0..made.between(5, 10) {
        let (order, item) = (made.between(1_000_000, 9_999_999), made.words(3));
        made.call(
            "get_order_details",
            json!({"order_id": format!("#W{order}")}),
            json!({"order_id": format!("#W{order}"), "user_id": user, "status": "delivered", "items": [item]}),
        );
    }
    made.call(
        "list_all_product_types",
        json!({}),
        json!({"T-Shirt": "9523456873", "Lamp": "6817146515"}),
    );
    for _ in 0..made.between(2, 4) {
        let product = made.between(1_000_000_000, 9_999_999_999);
        let name = made.words(2);
        made.call(
            "get_product_details",
            json!({"product_id": product.to_string()}),
            json!({"name": name, "product_id": product.to_string()}),
        );
    }
    for _ in 0..made.between(2, 5) {
        let order = made.between(1_000_000, 9_999_999);
        made.says("I will return these things to your card. Do you confirm (yes/no)?");
        says_user(made, "Yes.");
        made.call(
            "return_delivered_order_items",
            json!({"order_id": format!("#W{order}"), "item_ids": ["1"], "payment_method_id": "credit_card_9"}),
            json!({"order_id": format!("#W{order}"), "status": "return requested"}),
        );
    }
}

/// What most telephones get when a helper goes through a list of causes.
fn check_each_change(made: &mut Made) {
    says_user(made, "I cannot send pictures from my phone.");
    let changes = [
        ("toggle_airplane_mode", "Airplane Mode is now OFF."),
        ("toggle_data", "Mobile Data is now ON."),
        (
            "reset_apn_settings",
            "APN settings will be reset at reboot.",
        ),
        ("reboot_device", "Device has been rebooted."),
        (
            "set_network_mode_preference",
            "Preferred Network Mode set to: 4g_5g_preferred",
        ),
        ("toggle_wifi_calling", "Wi-Fi Calling is now OFF."),
        (
            "grant_app_permission",
            "Permission 'sms' granted to app 'messaging'.",
        ),
        ("reseat_sim_card", "SIM card re-seated."),
    ];
    let style = made.below(3);
    for (change, done) in &changes[..made.between(4, 8)] {
        if style == 0 {
            made.call(
                "check_network_status",
                json!({}),
                "Airplane Mode: OFF\nSIM Card Status: active\nCellular Connection: connected\nCellular Signal: good\nMobile Data Enabled: Yes",
            );
        }
        made.call(change, json!({}), *done);
        made.call(
            "can_send_mms",
            json!({}),
            "Your messaging app cannot send MMS messages.",
        );
        if style == 2 {
            made.says(&format!(
                "That did not help yet. {done} Let us try the next thing."
            ));
            says_user(made, "All right, what is next?");
        }
    }
    made.call(
        "can_send_mms",
        json!({}),
        "Your messaging app can send MMS messages.",
    );
}

fn hits_and_back(made: &mut Made) {
    made.begin(8);
    let site = made.word();
    let list: Vec<_> = (0..10).map(|_| made.words(4)).collect();
    let style = made.below(2);
    let shown = list.join("\n  - link: ");
    for hit in &list {
        let text = made.words(30);
        made.call(
            "browser_click",
            json!({"element": hit, "ref": format!("e{}", hit.len())}),
            json!({"content": [{"type": "text", "text": format!("- Page URL: https://{site}.example/{}\n- Page Snapshot: {text}", hit.replace(' ', "-"))}]}),
        );
        let (tool, input) = if style == 0 {
            ("browser_navigate_back", json!({}))
        } else {
            (
                "browser_navigate",
                json!({"url": format!("https://{site}.example/list")}),
            )
        };
        made.call(
            tool,
            input,
            json!({"content": [{"type": "text", "text": format!("- Page URL: https://{site}.example/list\n- Page Snapshot:\n  - link: {shown}")}]}),
        );
    }
}

fn parts_of_question(made: &mut Made) {
    made.begin(8);
    let documents: Vec<_> = (0..4)
        .map(|id| json!({"id": id, "text": made.words(22)}))
        .collect();
    for _ in 0..made.between(6, 10) {
        let (topic, said) = (made.words(3), made.words(9));
        let first = made.below(2);
        made.call(
            "retriever",
            json!({"query": format!("What does the contract say about {topic}?")}),
            json!({"documents": &documents[first..first + 3]}),
        );
        made.says(&format!("On {topic} the contract says: {said}."));
    }
}

fn chunks_say_nothing(made: &mut Made) {
    made.begin(8);
    let nothing = made.pick(&[
        "No relevant information in this chunk.",
        "NOT_RELEVANT",
        "The passage does not mention the question.",
    ]);
    for number in 0..made.between(20, 40) {
        let text = made.words(35);
        let output = if made.chance(15) {
            made.words(12)
        } else {
            nothing.to_owned()
        };
        made.call(
            "ask_chunk",
            json!({"question": "Who signed the first letter?", "chunk": number, "text": text}),
            output,
        );
    }
}

fn polled_until_done(made: &mut Made) {
    made.begin(8);
    let id = made.hex();
    let style = made.below(3);
    let mut pause = 2;
    for _ in 0..made.between(6, 9) {
        match style {
            0 => made.call(
                "get_job",
                json!({"id": id}),
                json!({"id": id, "state": "running"}),
            ),
            1 => shell(
                made,
                0,
                &format!("sleep {pause} && gh run view 4711 --json status"),
                0,
                "{\"status\":\"in_progress\"}",
            ),
            _ => made.call("check_export", json!({"export": id}), "Still being made."),
        }
        made.pause(pause);
        pause *= 2;
    }
    made.call(
        "get_job",
        json!({"id": id}),
        json!({"id": id, "state": "done", "url": "https://files.example/a"}),
    );
}

fn works_at_last(made: &mut Made) {
    made.begin(8);
    for _ in 0..made.between(3, 5) {
        let (url, text) = (
            format!("https://{}.example/data", made.word()),
            made.words(12),
        );
        let error = made.pick(&[
            "ConnectionError: the connection was reset by the peer",
            "TimeoutError: timed out after 30 seconds",
            "503 Service Unavailable",
        ]);
        let mut pause = 1;
        for _ in 0..made.between(1, 4) {
            made.fails("http_get", json!({"url": url}), error);
            made.pause(pause);
            pause *= 3;
        }
        made.call("http_get", json!({"url": url}), text);
        for _ in 0..made.below(3) {
            made.fails(
                "save",
                json!({"key": url}),
                "sqlite3.OperationalError: database is locked",
            );
        }
        made.call("save", json!({"key": url}), json!({"saved": true}));
    }
}

/// A long day of an agent that codes: the same looks and the same tests between ever new edits.
fn three_hundred(made: &mut Made) {
    let style = made.below(3);
    let (readme, listing) = (made.words(40), made.words(12));
    while made.events.len() < 300 {
        explored(made, style);
        for _ in 0..made.between(1, 3) {
            let (file, old, new) = (made.file(), made.words(3), made.words(3));
            shell(
                made,
                style,
                &format!("sed -i 's/{old}/{new}/' {file}"),
                0,
                "",
            );
        }
        match made.below(5) {
            0 => shell(made, style, "npm test", 0, "Tests: 42 passed, 42 total"),
            1 => shell(made, style, "npm run build", 0, "Compiled successfully."),
            2 => shell(made, style, "cat README.md", 0, &readme),
            3 => shell(made, style, "ls", 0, &listing),
            _ => {
                let message = made.words(4);
                let id = made.hex();
                shell(
                    made,
                    style,
                    &format!("git commit -qam '{message}' && git log --oneline -1"),
                    0,
                    &format!("{} {message}", &id[..7]),
                );
                shell(made, style, "git status --short", 0, "");
            }
        }
    }
}

fn same_wish(made: &mut Made) {
    let (symbol, place) = (made.word().to_uppercase(), made.word());
    for _ in 0..10 {
        if made.chance(50) {
            made.user();
        } else {
            says_user(made, &format!("How is {symbol} doing now?"));
        }
        made.call(
            "get_quote",
            json!({"symbol": symbol, "market": place}),
            json!({"symbol": symbol, "price": 187, "state": "closed"}),
        );
        made.says(&format!(
            "{symbol} stands at 187. The market in {place} is closed."
        ));
    }
}
