//! Kinds in which tools tell a model in words that a call went wrong: the words stand in a plain result, and nothing marks it as
//! a failure; loops, and work in which such words fall although nobody is stuck. It was measured what is found of
//! them before anything was changed; the words that are known since were chosen with most of these texts in view.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::lookalikes::Work;
use super::loops::Loop;
use super::made::Made;

pub(super) const LOOPS: &[Loop] = &[
    ("address: none that is guessed is there", 6, none_is_there),
    ("research: no page tells of it", 6, no_page_tells),
    ("form: no telephone number is valid", 6, no_valid_number),
    ("schema: one field is missing each time", 6, field_missing),
    ("edit: new syntax errors, and not applied", 6, not_applied),
    ("compiler: one borrow, whatever is changed", 6, one_borrow),
    ("mail: reminders that nobody answers", 6, reminders),
    ("pictures: scored low for one flaw", 6, one_flaw),
    (
        "crew: an argument is missing each time",
        6,
        argument_missing,
    ),
    ("crew: an action that does not exist", 6, no_such_action),
    ("chain: a thought without an action", 6, no_action),
    ("interpreter: an import not allowed", 6, import_not_allowed),
    ("elements: numbers that do not exist", 6, no_such_element),
    ("blocks: none matches the file", 6, no_block_matches),
    ("protocol: a list was expected", 6, list_expected),
    ("page tree: references not found", 6, reference_not_found),
    ("search: turned away at each query", 6, turned_away),
    ("solver: not able to answer it", 6, not_able),
    ("tracker: a field that cannot be set", 6, cannot_be_set),
    ("order: the address is missing each time", 6, no_address),
    ("program: one null, whatever is changed", 6, one_null),
    ("infrastructure: argument not expected", 6, not_expected),
    (
        "make: no such member, whatever is changed",
        6,
        no_such_member,
    ),
    ("tools: names that are not known", 6, unknown_names),
    ("rights: only an administrator may", 6, administrator_only),
    ("quota: used up, and asked again", 6, quota_used_up),
    ("browser: shown nothing but a check", 6, only_a_check),
];

pub(super) const WORK: &[Work] = &[
    ("edit: syntax errors, mended at once", mended_at_once),
    ("tickets: read and labelled", tickets_labelled),
    ("tests: first failing, then passing", first_failing),
    ("linter: one error less each time", one_error_less),
    ("contacts: some are not found", contacts),
    ("crawl: some pages are not there", some_not_there),
    ("form: field by field complained of", field_by_field),
    ("mail addresses: some are invalid", some_addresses_invalid),
    ("rows: some are invalid", some_rows_invalid),
    ("compiler: another undefined name", other_undefined),
    ("quiz: some answers are incorrect", quiz),
    ("rights: who may use what", who_may),
    ("search: turned away now and then", now_and_then),
    ("compiler: one warning stays", warning_stays),
    ("articles: on errors and what to try", articles_on_errors),
    ("tests: one less fails each time", one_less_fails),
    ("logs: errors of many services", errors_of_services),
    ("policy: what is not allowed", policies),
    ("interface: refusals that lead on", refusals_lead_on),
    ("compiler: other errors, one by one", other_errors),
    ("rate limit: waited for, and passed", waited_and_passed),
    ("support: customers told to try again", told_to_try_again),
    ("results: tables in which most failed", most_failed),
    ("rights: most are denied", most_denied),
    ("linter: a warning stays, errors go", errors_go),
    ("arguments: right at the third try", third_try),
];

const ROUNDS: usize = 10;

/// An answer as it is, or written out as text; frameworks do either.
fn told(style: usize, answer: Value) -> Value {
    if style == 0 {
        answer
    } else {
        Value::String(answer.to_string())
    }
}

/// A change to a file, unlike any other.
fn changed(made: &mut Made, path: &str, answer: &str) {
    let (old, new) = (made.words(5), made.words(6));
    made.call(
        "edit_file",
        json!({"path": path, "old": old, "new": new}),
        answer,
    );
}

fn none_is_there(made: &mut Made) {
    made.begin(6);
    let style = made.below(2);
    for _ in 0..ROUNDS {
        let path = format!(
            "{}{}{}",
            made.pick(&["/v1/", "/v2/", "/api/", "/api/v1/", "/"]),
            made.pick(&["users", "user", "accounts", "members", "people"]),
            made.pick(&["", "/me", "/list", "/search", "?q=a"])
        );
        let at = made.time();
        made.call(
            "http_request",
            json!({"method": "GET", "url": format!("https://api.acme.example{path}")}),
            told(style, json!({"status": 404, "body": {"message": "Not Found", "path": path, "timestamp": at}})),
        );
        made.again();
    }
}

/// The same is searched for in other words; each page that is asked for it has nothing about it.
fn no_page_tells(made: &mut Made) {
    made.begin(6);
    let house = made.pick(&["Halden Works", "Calder Works", "Norrland Works"]);
    let style = made.below(2);
    let queries = [
        format!("q3 revenue of {house}"),
        format!("{house} third quarter revenue"),
        format!("{house} quarterly report revenue"),
        format!("{house} earnings Q3"),
        format!("{house} financial results"),
    ];
    let answers = [
        format!("The text does not contain information about the Q3 revenue of {house}."),
        format!("The provided text does not mention the Q3 revenue of {house}."),
        format!("There is no information about the Q3 revenue of {house} in the text."),
    ];
    for _ in 0..ROUNDS {
        let year = made.pick(&["", " 2025"]);
        let query = format!("{}{year}", queries[made.below(5)]);
        let hits: Vec<Value> = (0..5)
            .map(|_| json!({"title": made.words(5), "url": format!("https://{}.example/{}", made.word(), made.between(1, 999)), "snippet": made.words(14)}))
            .collect();
        let url = hits[made.below(5)]["url"].clone();
        made.call("google", json!({"query": query}), told(style, json!(hits)));
        let answer = answers[made.below(3)].as_str();
        made.call(
            "browse_website",
            json!({"url": url, "question": format!("What was the Q3 revenue of {house}?")}),
            answer,
        );
        made.again();
    }
}

fn no_valid_number(made: &mut Made) {
    made.begin(6);
    made.call(
        "open_page",
        json!({"url": "https://shop.example/checkout"}),
        "Checkout. Fields: name, phone, zip. Button: Continue",
    );
    for _ in 0..ROUNDS {
        let least = 10_usize.pow([8, 9, 10][made.below(3)]);
        let digits = made.between(least, 10 * least - 1);
        let before = made.pick(&["+1", "", "1-", "001 "]);
        made.call(
            "fill",
            json!({"field": "phone", "value": format!("{before}{digits}")}),
            "ok",
        );
        made.call(
            "click",
            json!({"button": "Continue"}),
            "Please enter a valid phone number.",
        );
        made.again();
    }
}

fn field_missing(made: &mut Made) {
    made.begin(6);
    for _ in 0..ROUNDS {
        let (title, day) = (made.words(6), made.between(10, 28));
        let shown = &title[..20];
        made.call(
            "create_event",
            json!({"title": title, "start": format!("2026-03-{day}T10:00")}),
            format!("1 validation error for CreateEvent\nend\n  Field required [type=missing, input_value={{'title': '{shown}...'}}, input_type=dict]\n    For further information visit https://errors.pydantic.dev/2.9/v/missing"),
        );
        made.again();
    }
}

/// An editor that checks each edit refuses them all for their syntax.
fn not_applied(made: &mut Made) {
    made.begin(6);
    for _ in 0..ROUNDS {
        let (line, name, other) = (made.between(100, 130), made.word(), made.word());
        let (last, next) = (line + 3, line + 1);
        made.call(
            "edit",
            json!({"command": format!("edit {line}:{last}\n        if {name} is not None:\n    return {other}\nend_of_edit")}),
            format!("Your proposed edit has introduced new syntax error(s). Please read this error message carefully and then retry editing the file.\n\nERRORS:\n- E999 IndentationError: unindent does not match any outer indentation level\n\nThis is how your edit would have looked if applied\n-------------------------------------------------\n{line}:        if {name} is not None:\n{next}:    return {other}\n-------------------------------------------------\nYour changes have NOT been applied."),
        );
        made.again();
    }
}

fn one_borrow(made: &mut Made) {
    made.begin(6);
    for _ in 0..ROUNDS {
        changed(
            made,
            "src/pool.rs",
            "The file src/pool.rs has been updated.",
        );
        let (line, column, name) = (made.between(80, 99), made.between(9, 20), made.word());
        made.sh(
            "cargo check 2>&1 | tail -20",
            &format!("error[E0502]: cannot borrow `self.slots` as mutable because it is also borrowed as immutable\n   --> src/pool.rs:{line}:{column}\n    |\n{line} |         self.slots.push({name});\n    |         ^^^^^^^^^^ mutable borrow occurs here\n\nFor more information about this error, try `rustc --explain E0502`.\nerror: could not compile `pool` (lib) due to 1 previous error"),
        );
        made.again();
    }
}

fn reminders(made: &mut Made) {
    made.begin(6);
    let style = made.below(2);
    for _ in 0..ROUNDS {
        let subject = made.pick(&[
            "Reminder: contract",
            "Contract reminder",
            "Following up on the contract",
            "Contract",
        ]);
        let (words, id) = (made.words(12), made.between(100_000_000, 999_999_999));
        made.call(
            "send_email",
            json!({"to": "dana@acme.example", "subject": subject, "body": format!("Hi Dana, {words}. Could you send the signed contract?")}),
            told(style, json!({"id": format!("msg_{id}"), "status": "sent"})),
        );
        let at = made.time();
        made.call(
            "check_inbox",
            json!({"from": "dana@acme.example"}),
            told(style, json!({"messages": [], "checked_at": at})),
        );
        made.again();
    }
}

/// Pictures are drawn by ever other wishes, and each is found to have the same flaw.
fn one_flaw(made: &mut Made) {
    made.begin(6);
    let style = made.below(2);
    for _ in 0..ROUNDS {
        let (wish, number) = (made.words(9), made.between(100_000_000, 999_999_999));
        let url = format!("https://img.example/{number}.png");
        made.call(
            "generate_image",
            json!({"prompt": format!("a {wish}, photorealistic, centered text \"Harbor Days\"")}),
            told(style, json!({"url": url})),
        );
        let score = made.between(4, 5);
        let problem = made.pick(&[
            "The text is misspelled.",
            "The text in the image is misspelled.",
            "Text is misspelled: \"Harbr Days\".",
        ]);
        made.call(
            "evaluate_image",
            json!({"url": url}),
            told(style, json!({"score": score, "problem": problem})),
        );
        made.again();
    }
}

fn argument_missing(made: &mut Made) {
    made.begin(6);
    for _ in 0..ROUNDS {
        let body = made.words(12);
        made.call(
            "send_report",
            json!({"body": body}),
            "I encountered an error while trying to use the tool. This was the error: SendReport._run() missing 1 required positional argument: 'recipient'.\n Tool send_report accepts these inputs: Tool Name: send_report\nTool Arguments: {'body': {'description': None, 'type': 'str'}, 'recipient': {'description': None, 'type': 'str'}}\nTool Description: Sends a report",
        );
        made.again();
    }
}

fn no_such_action(made: &mut Made) {
    made.begin(6);
    for _ in 0..ROUNDS {
        let action = made.pick(&["Search the web", "Google", "search", "Web Search"]);
        let input = made.words(5);
        made.call(
            "invalid_tool",
            json!({"action": action, "input": input}),
            format!("Action '{action}' don't exist, these are the only available Actions:\nTool Name: lookup\nTool Arguments: {{'q': str}}\nTool Description: looks up"),
        );
        made.again();
    }
}

fn no_action(made: &mut Made) {
    made.begin(6);
    for _ in 0..ROUNDS {
        let thought = made.words(14);
        made.call(
            "_Exception",
            json!(thought),
            "Invalid Format: Missing 'Action:' after 'Thought:'",
        );
        made.again();
    }
}

fn import_not_allowed(made: &mut Made) {
    made.begin(6);
    for _ in 0..ROUNDS {
        let (name, host) = (made.word(), made.word());
        made.call(
            "python_interpreter",
            json!({"code": format!("import requests\n{name} = requests.get('https://{host}.com')\nprint({name})")}),
            "Code execution failed at line 'import requests' due to: InterpreterError: Import of requests is not allowed. Authorized imports are: ['math', 'random', 're', 'datetime', 'statistics', 'collections']",
        );
        made.again();
    }
}

fn no_such_element(made: &mut Made) {
    made.begin(6);
    for _ in 0..ROUNDS {
        let index = made.between(3, 60);
        made.call(
            "click_element",
            json!({"index": index}),
            format!("Element index {index} does not exist - retry or use alternative actions"),
        );
        made.again();
    }
}

/// Blocks to be replaced are never in the file as they are written.
fn no_block_matches(made: &mut Made) {
    made.begin(6);
    for _ in 0..ROUNDS {
        let (block, new, near) = (made.words(20), made.words(18), made.words(15));
        made.call(
            "apply_edits",
            json!({"edits": format!("src/app.py\n<<<<<<< SEARCH\n{block}\n=======\n{new}\n>>>>>>> REPLACE")}),
            format!("# 1 SEARCH/REPLACE block failed to match!\n\n## SearchReplaceNoExactMatch: This SEARCH block failed to exactly match lines in src/app.py\n<<<<<<< SEARCH\n{block}\n=======\n{new}\n>>>>>>> REPLACE\n\nDid you mean to match some of these actual lines from src/app.py?\n\n```\n{near}\n```\n\nThe SEARCH section must exactly match an existing block of lines including all white space, comments, indentation, docstrings, etc"),
        );
        made.again();
    }
}

fn list_expected(made: &mut Made) {
    made.begin(6);
    for _ in 0..ROUNDS {
        let (title, labels) = (made.words(6), made.some_words(2).join(","));
        made.call(
            "create_issue",
            json!({"title": title, "labels": labels}),
            "MCP error -32602: Invalid arguments for tool create_issue: [\n  {\n    \"code\": \"invalid_type\",\n    \"expected\": \"array\",\n    \"received\": \"string\",\n    \"path\": [\n      \"labels\"\n    ],\n    \"message\": \"Expected array, received string\"\n  }\n]",
        );
        made.again();
    }
}

/// A button is clicked under references that the page does not have; the page is looked at now and then.
fn reference_not_found(made: &mut Made) {
    made.begin(6);
    let page = format!(
        "- generic [ref=e1]:\n  - heading \"Orders\" [level=1]\n  - button \"Export\" [ref=e12]\n{}",
        made.words(30)
    );
    for _ in 0..ROUNDS {
        let reference = made.between(20, 90);
        made.call(
            "browser_click",
            json!({"element": "Export button", "ref": format!("e{reference}")}),
            format!("Error: Ref e{reference} not found in the current page snapshot. Try capturing new snapshot."),
        );
        if made.chance(60) {
            made.call("browser_snapshot", json!({}), page.as_str());
        }
        made.again();
    }
}

fn turned_away(made: &mut Made) {
    made.begin(6);
    for _ in 0..ROUNDS {
        let query = made.words(5);
        made.call(
            "web_search",
            json!({"query": query}),
            "https://html.duckduckgo.com/html 202 Ratelimit",
        );
        made.again();
    }
}

fn not_able(made: &mut Made) {
    made.begin(6);
    for _ in 0..ROUNDS {
        let (how, what) = (
            made.pick(&["integral of", "integrate", "antiderivative of"]),
            made.pick(&["x^x dx", "x**x", "x^x from 0 to 1", "the function x^x"]),
        );
        made.call(
            "wolfram_alpha",
            json!({"query": format!("{how} {what}")}),
            "Wolfram Alpha wasn't able to answer it",
        );
        made.again();
    }
}

fn cannot_be_set(made: &mut Made) {
    made.begin(6);
    let style = made.below(2);
    for _ in 0..ROUNDS {
        let sprint = match made.below(10) {
            0 => json!(24),
            1..5 => json!(made.pick(&["24", "Sprint 24", "S24", "sprint-24"])),
            _ => json!(made.words(2)),
        };
        made.call(
            "jira_update",
            json!({"issue": "OPS-41", "fields": {"sprint": sprint}}),
            told(style, json!({"errorMessages": [], "errors": {"sprint": "Field 'sprint' cannot be set. It is not on the appropriate screen, or unknown."}})),
        );
        made.again();
    }
}

fn no_address(made: &mut Made) {
    made.begin(6);
    let style = made.below(2);
    for _ in 0..ROUNDS {
        let order = json!({"name": made.words(2), "qty": made.between(1, 9)});
        made.call(
            "create_order",
            order.clone(),
            told(style, json!({"detail": [{"type": "missing", "loc": ["body", "address"], "msg": "Field required", "input": order}]})),
        );
        made.again();
    }
}

fn one_null(made: &mut Made) {
    made.begin(6);
    for _ in 0..ROUNDS {
        changed(made, "src/Main.java", "ok");
        let (line, from) = (made.between(30, 60), made.between(10, 29));
        made.sh(
            "mvn -q exec:java",
            &format!("Exception in thread \"main\" java.lang.NullPointerException: Cannot invoke \"String.length()\" because \"name\" is null\n\tat app.Main.run(Main.java:{line})\n\tat app.Main.main(Main.java:{from})"),
        );
        made.again();
    }
}

fn not_expected(made: &mut Made) {
    made.begin(6);
    for _ in 0..ROUNDS {
        let content = made.words(40);
        made.call(
            "write_file",
            json!({"path": "main.tf", "content": content}),
            "ok",
        );
        let line = made.between(10, 50);
        made.sh(
            "terraform plan",
            &format!("╷\n│ Error: Unsupported argument\n│ \n│   on main.tf line {line}, in resource \"aws_s3_bucket\" \"logs\":\n│   {line}:   acl = \"private\"\n│ \n│ An argument named \"acl\" is not expected here.\n╵"),
        );
        made.again();
    }
}

fn no_such_member(made: &mut Made) {
    made.begin(6);
    for _ in 0..ROUNDS {
        changed(made, "a.c", "ok");
        let (line, column) = (made.between(10, 50), made.between(2, 20));
        made.sh(
            "make",
            &format!("gcc -O2 -c a.c\na.c: In function 'main':\na.c:{line}:{column}: error: 'struct node' has no member named 'next'\nmake: *** [Makefile:4: a.o] Error 1"),
        );
        made.again();
    }
}

/// A tool is called by names that it might have.
fn unknown_names(made: &mut Made) {
    made.begin(6);
    for _ in 0..ROUNDS {
        let name = made.pick(&["search_web", "web_search", "google_search", "search"]);
        let query = made.words(4);
        made.call(
            name,
            json!({"q": query}),
            format!("Unknown tool name: '{name}'. Available tools: 'lookup', 'final_answer'"),
        );
        made.again();
    }
}

fn administrator_only(made: &mut Made) {
    made.begin(6);
    for _ in 0..ROUNDS {
        let (id, role) = (made.between(100, 999), made.pick(&["admin", "editor"]));
        made.call(
            "update_user",
            json!({"id": id, "role": role}),
            "You do not have permission to perform this action. Contact your administrator.",
        );
        made.again();
    }
}

fn quota_used_up(made: &mut Made) {
    made.begin(6);
    for _ in 0..ROUNDS {
        let prompt = made.words(8);
        made.call(
            "generate",
            json!({"prompt": prompt}),
            "You exceeded your current quota, please check your plan and billing details.",
        );
        made.again();
    }
}

/// Pages of a shop are opened, and each shows a check for humans in its stead.
fn only_a_check(made: &mut Made) {
    made.begin(6);
    for _ in 0..ROUNDS {
        let url = format!("https://shop.example/{}-{}", made.word(), made.word());
        made.call(
            "goto",
            json!({"url": url}),
            "Just a moment...\nVerify you are human by completing the action below.\nshop.example needs to review the security of your connection before proceeding.",
        );
        made.again();
    }
}

/// Edits, some of which are refused for their syntax once or twice; then they are taken, and tests pass.
fn mended_at_once(made: &mut Made) {
    made.begin(6);
    for part in 0..made.between(5, 7) {
        let (line, file) = (made.between(100, 900), made.file());
        let last = line + 3;
        for _ in 0..made.below(3) {
            let (text, shown) = (made.words(8), made.words(8));
            made.call(
                "edit",
                json!({"command": format!("edit {line}:{last}\n{text}\nend_of_edit")}),
                format!("Your proposed edit has introduced new syntax error(s). Please read this error message carefully and then retry editing the file.\n\nERRORS:\n- E999 IndentationError: unexpected indent\n\n{line}: {shown}\nYour changes have NOT been applied."),
            );
        }
        let (text, shown) = (made.words(8), made.words(30));
        made.call(
            "edit",
            json!({"command": format!("edit {line}:{last}\n{text}\nend_of_edit")}),
            format!("[File: {file} (900 lines total)]\n{line}: {shown}\nFile updated. Please review the changes."),
        );
        let (passed, hundredths) = (made.between(3, 20), made.between(10, 99));
        made.sh(
            &format!("python -m pytest tests/test_{part}.py -q"),
            &format!("{passed} passed in 0.{hundredths}s"),
        );
    }
}

fn tickets_labelled(made: &mut Made) {
    made.begin(6);
    let (style, first) = (made.below(2), made.between(1_000, 8_000));
    for ticket in 0..made.between(12, 18) {
        let id = first + ticket * 7;
        let (subject, body) = (made.words(6), made.words(20));
        made.call(
            "get_ticket",
            json!({"id": id}),
            told(style, json!({"id": id, "subject": subject, "body": body})),
        );
        let label = made.pick(&["bug", "billing", "feature"]);
        made.call(
            "add_label",
            json!({"id": id, "label": label}),
            told(style, json!({"ok": true})),
        );
    }
}

/// A test for what is not there yet fails, the code is written, and it passes.
fn first_failing(made: &mut Made) {
    made.begin(6);
    let count = made.between(7, 10);
    for (round, name) in made.some_words(count).into_iter().enumerate() {
        let passed = round * 2;
        made.sh(
            "pytest -q",
            &format!(
                "E  NameError: name \"{name}\" is not defined\n1 failed, {passed} passed in 0.2s"
            ),
        );
        made.call(
            "edit_file",
            json!({"path": "app.py", "old": "pass", "new": format!("def {name}(): return {round}")}),
            "The file app.py has been updated.",
        );
        made.sh("pytest -q", &format!("{} passed in 0.2s", passed + 1));
    }
}

fn one_error_less(made: &mut Made) {
    made.begin(6);
    let files: Vec<_> = (0..6).map(|_| made.file()).collect();
    let rounds = made.between(9, 13);
    for round in 0..rounds {
        made.sh(
            "ruff check src | tail -1",
            &format!("Found {} errors.", rounds + 2 - round),
        );
        let (old, new) = (made.words(4), made.words(4));
        made.call(
            "str_replace",
            json!({"path": files[round % 6], "old_str": old, "new_str": new}),
            "The file has been edited.",
        );
    }
}

fn contacts(made: &mut Made) {
    made.begin(6);
    let style = made.below(2);
    for _ in 0..made.between(12, 18) {
        let (first, last) = (made.word(), made.word());
        let matches = if made.chance(30) {
            json!([])
        } else {
            json!([{"email": format!("{first}@{last}.example")}])
        };
        made.call(
            "lookup_contact",
            json!({"name": format!("{first} {last}")}),
            told(style, json!({"matches": matches})),
        );
    }
}

fn some_not_there(made: &mut Made) {
    made.begin(6);
    let style = made.below(2);
    for _ in 0..made.between(15, 22) {
        let url = format!("https://site.example/{}-{}", made.word(), made.word());
        let answer = if made.chance(60) {
            json!({"status": 200, "body": made.words(30)})
        } else {
            json!({"status": 404, "body": "Not Found"})
        };
        made.call("fetch", json!({"url": url}), told(style, answer));
    }
}

fn field_by_field(made: &mut Made) {
    made.begin(6);
    for (field, complaint) in [
        ("name", "Please enter your full name."),
        ("zip", "Please enter a valid zip code."),
        ("phone", "Please enter a valid phone number."),
        ("email", "Please enter a valid email address."),
    ] {
        let (wrong, right) = (made.word(), made.words(2));
        made.call("fill", json!({"field": field, "value": wrong}), "ok");
        made.call("click", json!({"button": "Continue"}), complaint);
        made.call("fill", json!({"field": field, "value": right}), "ok");
    }
    let thanks = made.words(10);
    made.call(
        "click",
        json!({"button": "Continue"}),
        format!("Thank you for your order {thanks}"),
    );
}

fn some_addresses_invalid(made: &mut Made) {
    made.begin(6);
    for _ in 0..made.between(14, 20) {
        let email = format!("{}.{}@{}.com", made.word(), made.word(), made.word());
        let answer = made.pick(&["valid", "invalid", "valid"]);
        made.call("validate_email", json!({"email": email}), answer);
    }
}

fn some_rows_invalid(made: &mut Made) {
    made.begin(6);
    for row in 0..made.between(14, 20) {
        let value = made.words(3);
        let answer = made.pick(&["ok", "Row is invalid: column amount must be a number", "ok"]);
        made.call("validate_row", json!({"row": row, "value": value}), answer);
    }
}

fn other_undefined(made: &mut Made) {
    made.begin(6);
    let count = made.between(8, 11);
    for name in made.some_words(count) {
        changed(made, "pool.go", "ok");
        let (line, column) = (made.between(30, 60), made.between(2, 20));
        let end = made.pick(&["", "Size", "Queue"]);
        made.sh(
            "go test ./...",
            &format!("# example.com/pool\n./pool.go:{line}:{column}: undefined: {name}{end}\nFAIL\texample.com/pool [build failed]\nFAIL"),
        );
    }
}

fn quiz(made: &mut Made) {
    made.begin(6);
    for question in 0..made.between(10, 16) {
        let answer = made.pick(&["A", "B", "C", "D"]);
        let verdict = made.pick(&["Correct.", "Incorrect.", "Correct."]);
        made.call(
            "submit_answer",
            json!({"question": question, "answer": answer}),
            verdict,
        );
    }
}

fn who_may(made: &mut Made) {
    made.begin(6);
    let count = made.between(12, 18);
    for user in made.some_words(count) {
        let resource = format!("/{}", made.word());
        let answer = made.pick(&[
            "allowed",
            "denied: role does not allow this",
            "allowed",
            "denied: not a member",
        ]);
        made.call(
            "check_access",
            json!({"user": user, "resource": resource}),
            answer,
        );
    }
}

fn now_and_then(made: &mut Made) {
    made.begin(6);
    let style = made.below(2);
    for round in 0..made.between(10, 14) {
        let query = made.words(5);
        let answer = if [3, 4, 7].contains(&round) {
            json!("https://html.duckduckgo.com/html 202 Ratelimit")
        } else {
            let hits: Vec<_> = (0..3).map(|_| made.words(8)).collect();
            told(style, json!(hits))
        };
        made.call("web_search", json!({"query": query}), answer);
    }
}

/// File after file is changed; each build ends well, and with the one warning that nobody cares for.
fn warning_stays(made: &mut Made) {
    made.begin(6);
    let count = made.between(8, 11);
    for name in made.some_words(count) {
        changed(
            made,
            &format!("src/{name}.rs"),
            "The file has been updated.",
        );
        let (seconds, hundredths) = (made.between(1, 9), made.between(10, 99));
        made.sh(
            "cargo build 2>&1 | tail -5",
            &format!("warning: field `error_count` is never read\n  --> src/lib.rs:12:5\nwarning: `app` (lib) generated 1 warning\n    Finished `dev` profile [unoptimized + debuginfo] target(s) in {seconds}.{hundredths}s"),
        );
    }
}

fn articles_on_errors(made: &mut Made) {
    made.begin(6);
    for article in 0..made.between(10, 15) {
        let about = made.pick(&["Error", "Invalid password", "Failed payment"]);
        let (name, advice, more) = (made.words(3), made.words(12), made.words(30));
        made.call(
            "get_article",
            json!({"id": article + 40}),
            format!("{about} {name}: please {advice} and try again. {more}"),
        );
    }
}

fn one_less_fails(made: &mut Made) {
    made.begin(6);
    let count = made.between(8, 11);
    let names = made.some_words(count);
    for mended in 0..count {
        changed(made, "a.py", "ok");
        let mut printed = format!("E       AssertionError: {}\n", made.words(4));
        for name in &names[mended..] {
            writeln!(
                printed,
                "FAILED tests/test_{name}.py::test_{name} - AssertionError"
            )
            .expect("written");
        }
        let hundredths = made.between(10, 99);
        made.sh(
            "pytest -q 2>&1 | tail -8",
            &format!(
                "{printed}{} failed, {} passed in 0.{hundredths}s",
                count - mended,
                20 + mended
            ),
        );
    }
}

/// What a service may have written about an error.
fn error_line(made: &mut Made) -> String {
    let (name, other, number) = (made.word(), made.word(), made.between(2, 900));
    let (minute, second) = (made.below(60), made.below(60));
    let text = match made.below(6) {
        0 => format!("connection to {name}:5432 refused, retrying in {number} ms"),
        1 => format!("failed to parse message {number} of topic {name}: unexpected end of input"),
        2 => format!("request to {name} timed out after {number} ms"),
        3 => format!("could not renew the lease of {name}: permission denied for {other}"),
        4 => format!("unhandled exception in {name} of {other}: index {number} out of range"),
        _ => format!("invalid token for user {number}, access to {name} denied"),
    };
    format!("2026-11-18T10:{minute:02}:{second:02}Z ERROR {text}")
}

/// Services are looked at one after the other for what went wrong in the last hour; a few have nothing to tell.
fn errors_of_services(made: &mut Made) {
    made.begin(6);
    let (style, count) = (made.below(3), made.between(15, 24));
    for service in made.some_words(count) {
        let lines: Vec<_> = (0..made.below(4)).map(|_| error_line(made)).collect();
        match style {
            0 => made.sh(
                &format!("kubectl logs deploy/{service} --since=1h | grep ERROR | tail -3"),
                &lines.join("\n"),
            ),
            1 => made.call(
                "get_logs",
                json!({"service": service, "level": "error", "since": "1h"}),
                json!({"service": service, "lines": lines}),
            ),
            _ if lines.is_empty() => made.sh(
                &format!("journalctl -u {service} -p err -n 3 --no-pager"),
                "-- No entries --",
            ),
            _ => made.sh(
                &format!("journalctl -u {service} -p err -n 3 --no-pager"),
                &lines.join("\n"),
            ),
        }
        if !lines.is_empty() && made.chance(30) {
            let cause = made.words(6);
            made.says(&format!(
                "{service} fails because of {cause}. I go on to the next one."
            ));
        }
    }
}

/// Rules of a house are read, all of which say what must not be done and what is refused.
fn policies(made: &mut Made) {
    made.begin(6);
    let (style, count) = (made.below(3), made.between(15, 22));
    for topic in made.some_words(count) {
        let (name, other, more, days) = (
            made.word(),
            made.word(),
            made.words(10),
            made.between(2, 90),
        );
        let rule = match made.below(5) {
            0 => format!("Staff are not allowed to take any {topic} out of the {name}."),
            1 => {
                format!("No {topic} can be returned after {days} days. Later requests are denied.")
            }
            2 => {
                format!(
                    "It is not permitted to lend any {topic} without the consent of the {name}."
                )
            }
            3 => format!("Access to any {topic} is denied to guests, and {other} is forbidden."),
            _ => {
                format!("An invalid {topic} is rejected; please contact the {name} and try again.")
            }
        };
        let text = format!("{rule} {more}. Failure to comply leads to a warning.");
        match style {
            0 => made.call("get_policy", json!({"topic": topic}), text),
            1 => made.call(
                "read_file",
                json!({"path": format!("handbook/{topic}.md")}),
                format!("# {topic}\n\n{text}"),
            ),
            _ => made.call(
                "search_handbook",
                json!({"query": format!("what is not allowed with any {topic}"), "limit": 1}),
                json!([{"section": format!("{}.{}", days / 9 + 1, days % 9), "text": text}]),
            ),
        }
    }
}

/// A request to an interface, and what came of it, in one of three ways to ask.
fn request(made: &mut Made, style: usize, asked: (&str, &str), status: u16, body: &Value) {
    let (method, path) = asked;
    let url = format!("https://api.depot.example{path}");
    match style {
        0 => made.call(
            "http_request",
            json!({"method": method, "url": url}),
            json!({"status": status, "body": body}),
        ),
        1 => made.sh(
            &format!("curl -s -w '\\n%{{http_code}}' -X {method} '{url}'"),
            &format!("{body}\n{status}"),
        ),
        _ => made.call(
            "requests",
            json!({"method": method, "url": url, "headers": {"Accept": "application/json"}}),
            format!("Status code: {status}\nResponse: {body}"),
        ),
    }
}

/// An interface that nobody described: each refusal says something else, and what to ask next.
fn refusals_lead_on(made: &mut Made) {
    made.begin(6);
    let (style, count) = (made.below(3), made.between(4, 6));
    let answer =
        json!({"error": "unauthorized", "message": "No token. Ask POST /session for one."});
    request(made, style, ("GET", "/"), 401, &answer);
    let answer = json!({"token": made.hex()});
    request(made, style, ("POST", "/session"), 200, &answer);
    for name in made.some_words(count) {
        let (key, value, other) = (made.word(), made.word(), made.word());
        let (id, stock) = (made.between(100, 999), made.between(1, 90));
        let list = format!("/v2/{name}");
        if made.chance(40) {
            let answer =
                json!({"error": "gone", "message": format!("/v1/{name} has moved to {list}.")});
            request(made, style, ("GET", &format!("/v1/{name}")), 410, &answer);
        }
        let answer = json!({"error": "bad_request", "message": format!("Query parameter '{key}' is required.")});
        request(made, style, ("GET", &list), 400, &answer);
        if made.chance(50) {
            let path = format!("{list}?{key}=1");
            let answer = json!({"error": "unprocessable", "message": format!("{key} must be one of: {value}, {other}.")});
            request(made, style, ("GET", &path), 422, &answer);
        }
        let path = format!("{list}?{key}={value}");
        let answer = json!([{"id": id, "stock": stock}]);
        request(made, style, ("GET", &path), 200, &answer);
        let path = format!("{list}/{id}");
        if made.chance(50) {
            let answer = json!({"error": "method_not_allowed", "message": format!("POST is not allowed for {path}; use PATCH.")});
            request(made, style, ("POST", &path), 405, &answer);
        }
        let answer = json!({"id": id, "stock": stock + 1});
        request(made, style, ("PATCH", &path), 200, &answer);
    }
}

/// Errors of a compiler; a name is put for `NAME`.
const RUST_ERRORS: [(&str, &str); 11] = [
    ("E0432", "unresolved import `crate::NAME`"),
    ("E0425", "cannot find value `NAME` in this scope"),
    ("E0308", "mismatched types: expected `usize`, found `NAME`"),
    ("E0382", "borrow of moved value: `NAME`"),
    ("E0599", "no method named `NAME` found for struct `Pool`"),
    ("E0277", "the trait bound `NAME: Clone` is not satisfied"),
    (
        "E0061",
        "this function takes 2 arguments but 3 were supplied",
    ),
    ("E0106", "missing lifetime specifier"),
    ("E0004", "non-exhaustive patterns: `Kind::NAME` not covered"),
    ("E0603", "function `NAME` is private"),
    ("E0282", "type annotations needed for `Vec<_>`"),
];

/// The same of another compiler.
const TYPESCRIPT_ERRORS: [(&str, &str); 11] = [
    (
        "TS2307",
        "Cannot find module './NAME' or its type declarations.",
    ),
    ("TS2304", "Cannot find name 'NAME'."),
    (
        "TS2322",
        "Type 'string' is not assignable to type 'number'.",
    ),
    ("TS2339", "Property 'NAME' does not exist on type 'Pool'."),
    ("TS2554", "Expected 2 arguments, but got 3."),
    ("TS2531", "Object is possibly 'null'."),
    ("TS7006", "Parameter 'NAME' implicitly has an 'any' type."),
    ("TS2741", "Property 'NAME' is missing in type '{}'."),
    (
        "TS2345",
        "Argument of type 'NAME' is not assignable to parameter of type 'Pool'.",
    ),
    ("TS1005", "';' expected."),
    (
        "TS2420",
        "Class 'Pool' incorrectly implements interface 'NAME'.",
    ),
];

/// One error after the other is met with and mended at the next step; the last build ends well.
fn other_errors(made: &mut Made) {
    made.begin(6);
    let style = made.below(2);
    let (mut left, end, command) = if style == 0 {
        (RUST_ERRORS.to_vec(), "rs", "cargo check 2>&1 | tail -12")
    } else {
        (TYPESCRIPT_ERRORS.to_vec(), "ts", "npx tsc --noEmit")
    };
    for _ in 0..made.between(8, 11) {
        let (code, text) = left.swap_remove(made.below(left.len()));
        let (name, line, column) = (made.word(), made.between(2, 400), made.between(2, 40));
        let (path, text) = (
            format!("src/{}.{end}", made.word()),
            text.replace("NAME", name),
        );
        let printed = if style == 0 {
            format!(
                "error[{code}]: {text}\n  --> {path}:{line}:{column}\n\nFor more information about this error, try `rustc --explain {code}`.\nerror: could not compile `depot` (lib) due to 1 previous error"
            )
        } else {
            format!("{path}({line},{column}): error {code}: {text}")
        };
        made.sh(command, &printed);
        changed(made, &path, "The file has been updated.");
    }
    let printed = if style == 0 {
        "    Finished `dev` profile [unoptimized + debuginfo] target(s) in 2.14s"
    } else {
        ""
    };
    made.sh(command, printed);
}

/// Houses are looked up one by one; some calls are put off, waited for, and made again with success.
fn waited_and_passed(made: &mut Made) {
    made.begin(6);
    let (style, count) = (made.below(3), made.between(14, 20));
    for name in made.some_words(count) {
        let domain = format!("{name}.example");
        if made.chance(35) {
            let seconds = made.between(5, 60);
            let answer = match style {
                0 => json!(format!(
                    "Rate limit exceeded. Please try again in {seconds} seconds."
                )),
                1 => {
                    json!({"error": {"code": 429, "message": "Too Many Requests", "retry_after": seconds}})
                }
                _ => json!("429 Too Many Requests: you have sent too many requests, slow down"),
            };
            made.call("enrich_company", json!({"domain": domain}), answer);
            made.pause(seconds);
            if style == 2 {
                made.sh(&format!("sleep {seconds}"), "");
            }
        }
        let (staff, city) = (made.between(3, 9_000), made.word());
        made.call(
            "enrich_company",
            json!({"domain": domain}),
            json!({"domain": domain, "employees": staff, "city": city}),
        );
    }
}

/// Cases of customers whose words are all about what failed; each is looked up and answered.
fn told_to_try_again(made: &mut Made) {
    made.begin(6);
    let (style, first) = (made.below(3), made.between(10_000, 90_000));
    for case in 0..made.between(8, 12) {
        let (id, thing, other) = (first + case, made.word(), made.word());
        let text = match made.below(4) {
            0 => format!(
                "It says \"Something went wrong, please try again\" when I open my {thing}."
            ),
            1 => {
                format!("My {thing} was not accepted: invalid {other}. I tried again three times.")
            }
            2 => format!(
                "I cannot log in to the {thing}. Error: access denied. What about my {other}?"
            ),
            _ => format!("The payment for a {thing} failed, and so did the one for a {other}."),
        };
        made.call(
            "get_case",
            json!({"id": id}),
            json!({"id": id, "status": "open", "text": text}),
        );
        if style != 1 {
            let steps = made.words(9);
            made.call(
                "search_help",
                json!({"query": format!("{thing} {other} failed")}),
                format!("If your {thing} fails, check {steps}. If the error persists, sign out and try again."),
            );
        }
        let advice = made.words(7);
        made.call(
            "reply",
            json!({"case": id, "text": format!("We are sorry that your {thing} failed. Please check {advice} and try again.")}),
            told(style, json!({"sent": true, "case": id})),
        );
        if style == 2 {
            made.says(&format!("Case {id} is answered. I take the next one."));
        }
    }
}

/// Results of one suite of tests after the other are read; most of what they list has failed.
fn most_failed(made: &mut Made) {
    made.begin(6);
    let (style, count) = (made.below(3), made.between(15, 20));
    for suite in made.some_words(count) {
        let names = made.some_words(6);
        let rows: Vec<_> = names
            .iter()
            .map(|name| {
                let verdict = if made.chance(80) { "failed" } else { "passed" };
                (*name, verdict, made.between(10, 9_000))
            })
            .collect();
        let table = |between: &str| -> String {
            let lines = rows.iter().map(|(name, verdict, millis)| {
                [*name, *verdict, &format!("{millis} ms")].join(between)
            });
            lines.collect::<Vec<_>>().join("\n")
        };
        match style {
            0 => made.call(
                "read_file",
                json!({"path": format!("reports/{suite}.md")}),
                format!("test | result | time\n--- | --- | ---\n{}", table(" | ")),
            ),
            1 => made.call(
                "get_results",
                json!({"suite": suite, "run": 412}),
                json!({"suite": suite, "results": rows}),
            ),
            _ => made.sh(&format!("column -t results/{suite}.tsv"), &table("  ")),
        }
        if made.chance(30) {
            let cause = made.words(5);
            made.call(
                "add_note",
                json!({"suite": suite, "text": format!("fails because of {cause}")}),
                "noted",
            );
        }
    }
}

/// It is checked user by user who may do a thing; hardly anybody may, and so it should be.
fn most_denied(made: &mut Made) {
    made.begin(6);
    let (style, count) = (made.below(3), made.between(16, 28));
    let host = made.word();
    for user in made.some_words(count) {
        let is_denied = made.chance(85);
        match style {
            0 => made.call(
                "check_access",
                json!({"user": user, "action": "delete", "resource": format!("db/{host}")}),
                if is_denied {
                    json!({"allowed": false, "reason": "permission denied"})
                } else {
                    json!({"allowed": true, "reason": "member of owners"})
                },
            ),
            1 => made.sh(
                &format!("kubectl auth can-i delete pods -n {host} --as {user}"),
                if is_denied { "no" } else { "yes" },
            ),
            _ => made.sh(
                &format!("ssh {host} sudo -l -U {user}"),
                &if is_denied {
                    format!("User {user} is not allowed to run sudo on {host}.")
                } else {
                    format!("User {user} may run the following commands on {host}:\n    (root) /usr/bin/systemctl")
                },
            ),
        }
    }
}

/// A linter names one warning at every run, besides errors, of which each change mends one.
fn errors_go(made: &mut Made) {
    made.begin(6);
    let (style, count) = (made.below(3), made.between(8, 12));
    let (command, end, warning, all) = [
        (
            "npx eslint src --format unix",
            "ts",
            "14:3: Unexpected console statement. [Warning/no-console]",
            "problems",
        ),
        (
            "ruff check src --output-format concise",
            "py",
            "14:89: E501 Line too long (112 > 88)",
            "errors",
        ),
        (
            "golangci-lint run",
            "go",
            "14:2: Error return value is not checked (errcheck)",
            "issues",
        ),
    ][style];
    let stays = format!("src/{}/main.{end}", made.word());
    let errors: Vec<_> = made
        .some_words(count)
        .into_iter()
        .map(|name| {
            let path = format!("src/{}/{name}.{end}", made.word());
            let (line, column) = (made.between(2, 300), made.between(1, 60));
            let text = match style {
                0 => format!("'{name}' is not defined. [Error/no-undef]"),
                1 => format!("F821 Undefined name `{name}`"),
                _ => format!("undefined: {name} (typecheck)"),
            };
            (format!("{path}:{line}:{column}: {text}"), path)
        })
        .collect();
    for mended in 0..=count {
        let mut printed = format!("{stays}:{warning}\n");
        for (error, _) in &errors[mended..] {
            writeln!(printed, "{error}").expect("written");
        }
        let left = count - mended + 1;
        made.sh(command, &format!("{printed}\n{left} {all}"));
        if let Some((_, path)) = errors.get(mended) {
            changed(made, path, "The file has been updated.");
        }
    }
}

/// What a tool says of an argument that is missing or of the wrong kind, as three frameworks put it.
fn complaint(style: usize, tool: &str, argument: &str, is_missing: bool) -> String {
    match (style, is_missing) {
        (0, true) => format!(
            "I encountered an error while trying to use the tool. This was the error: {tool}._run() missing 1 required positional argument: '{argument}'."
        ),
        (0, false) => format!(
            "I encountered an error while trying to use the tool. This was the error: '{argument}' must be an integer."
        ),
        (1, true) => format!(
            "1 validation error for {tool}\n{argument}\n  Field required [type=missing, input_type=dict]"
        ),
        (1, false) => format!(
            "1 validation error for {tool}\n{argument}\n  Input should be a valid integer, unable to parse string as an integer [type=int_parsing, input_type=str]"
        ),
        (_, true) => {
            format!("MCP error -32602: Invalid arguments for tool {tool}: {argument}: Required")
        }
        (_, false) => format!(
            "MCP error -32602: Invalid arguments for tool {tool}: {argument}: Expected number, received string"
        ),
    }
}

/// Tools that are new to the agent: it gets the arguments of each right at the second or third try, then looks something up and
/// goes on to another tool.
fn third_try(made: &mut Made) {
    made.begin(6);
    let style = made.below(3);
    for verb in ["book", "ship", "move", "count", "weigh", "price", "label"] {
        let (thing, argument, number) = (made.word(), made.word(), made.between(1, 900));
        let tool = format!("{verb}_{thing}");
        let name = made.words(2);
        made.call(
            &tool,
            json!({"name": name}),
            complaint(style, &tool, argument, true),
        );
        if made.chance(60) {
            made.call(
                &tool,
                json!({"name": name, argument: format!("{number} of them")}),
                complaint(style, &tool, argument, false),
            );
        }
        let reference = made.hex()[..8].to_owned();
        made.call(
            &tool,
            json!({"name": name, argument: number}),
            json!({"ok": true, "reference": reference}),
        );
        let (query, found) = (made.words(4), made.words(14));
        made.call("lookup", json!({"q": query}), found);
    }
}
