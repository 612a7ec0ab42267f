//! Calls that differ in how much is shown of an answer, in how long it may take, or in which page of it is asked for.

use serde_json::{Value, json};

use crate::support::{call, check, failed, is_warned_of};

/// What a test run prints of which some passed, its newest lines.
fn tests_printed(lines: usize) -> String {
    let names = [
        "harbour", "ferry", "orchid", "copper", "tunnel", "garden", "signal", "ladder", "meadow",
        "pillow", "rocket", "saddle",
    ];
    let shown = &names[names.len().saturating_sub(lines)..];
    let passed = shown
        .iter()
        .map(|name| format!("tests/test_{name}.py::test_{name} PASSED\n"));
    let passed = passed.collect::<String>();
    format!(
        "{passed}FAILED tests/test_fare.py::test_fare - assert 93 == 118\n1 failed, 12 passed in 0.{lines}s"
    )
}

fn with(tool: &str, input: Value, output: Value) -> Value {
    let mut event = json!({"kind": "tool_call", "agent": "a", "tool": tool});
    event["input"] = input;
    event["output"] = output;
    event
}

/// Given a question with a number that is drawn anew each time, it is the same question.
#[test]
fn numbers_that_are_drawn_for_each_call() {
    let asked = |nonce: &str| {
        let input = json!({"query": "ferry to the island", "nonce": nonce});
        with("search", input, json!([{"title": "Ferries at noon"}]))
    };
    check(
        &["f3a9", "07bc", "e1d2", "99c0"].map(asked),
        &["no_progress", "repeated_tool_call_exact_input"],
    );
}

/// Given one run of tests that fails, of which now more lines are shown and now fewer, or that may take longer, or which is
/// asked for with other flags, it is the same run; of each version or seed it is another one.
#[test]
fn failing_tests_of_which_more_is_shown() {
    let piped = |lines: usize| {
        let command = format!("pytest 2>&1 | tail -n {lines}");
        call("Bash", &command, &tests_printed(lines))
    };
    let longer = |seconds: usize| {
        let command = format!("timeout {seconds} pytest");
        failed("Bash", &command, &tests_printed(9))
    };
    let flagged = |flag: &str| failed("Bash", &format!("pytest {flag}"), &tests_printed(9));
    let rules = ["no_progress", "same_error"];
    check(&[11, 9, 12, 8, 10].map(piped), &["same_error"]);
    check(&[60, 120, 30, 90, 300].map(longer), &rules);
    check(
        &["-v", "-x", "-l", "-vv", "-s"].map(flagged),
        &[
            "no_progress",
            "repeated_tool_call_similar_input",
            "same_error",
        ],
    );
    let other = |command: String| failed("Bash", &command, &tests_printed(9));
    for commands in [
        ["py39", "py310", "py311", "py312", "py313"].map(|version| format!("tox -e {version}")),
        [7, 1, 12, 3, 5].map(|seed| format!("pytest -p randomly --seed {seed} | tail -n 20")),
    ] {
        check(&commands.map(other), &[]);
    }
}

/// Given the same answer however much of it is asked for, or however long it may take, it is one question; where more of it
/// comes, that is new.
#[test]
fn answers_of_which_more_is_asked_for() {
    let page =
        "The ferry leaves the harbour at dawn, and again when the tide has turned in the evening.";
    let shell = |command: String| call("Bash", &command, page);
    let read = |limit: usize| {
        with(
            "read_file",
            json!({"path": "fares.txt", "limit": limit}),
            json!(page),
        )
    };
    let run = |timeout: usize| {
        with(
            "Bash",
            json!({"command": "ls -l", "timeout": timeout}),
            json!(page),
        )
    };
    let amounts = [2_000, 500, 1_000, 3_000];
    let rules = ["stagnation"];
    check(
        &amounts.map(|n| shell(format!("curl -s https://a.example | head -c {n}"))),
        &rules,
    );
    check(
        &amounts.map(|n| shell(format!("psql -c 'SELECT * FROM fares LIMIT {n}'"))),
        &rules,
    );
    check(&amounts.map(read), &rules);
    check(&amounts.map(run), &rules);
    let tried = |attempt: usize| {
        with(
            "find_seat",
            json!({"train": "harbour line", "attempt": attempt}),
            json!(page),
        )
    };
    check(&[1, 2, 3, 4].map(tried), &rules);
    let grows = |n: usize| {
        let command = format!("cat fares.txt | head -n {n}");
        call("Bash", &command, &page.repeat(n))
    };
    check(&[1, 2, 4, 8, 16].map(grows), &[]);
    let seat = |n: usize| {
        with(
            "find_seat",
            json!({"train": "harbour line", "seat": n}),
            json!(page),
        )
    };
    check(&[4, 9, 2, 7, 5].map(seat), &[]);
}

/// Given a list that is the same on each page, by number or by cursor, the fourth one says that pages are not told apart, also
/// where it says which page it is; of one that is short, the sixth. Shorter answers, other lists and pages of a file say nothing.
#[test]
fn pages_that_are_the_same() {
    let ids = ["q8Zk2mXw", "h3Rt9pLc", "b7Yv4nDs", "w2Kj6fGa", "z5Mx1qTe"];
    let names = ["Ann", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hal"];
    let list = |from: usize| json!({"people": names[from..].iter().map(|name| json!({"name": name, "since": "the spring of 2019"})).collect::<Vec<_>>()});
    let by_number = |n: usize| with("list_people", json!({"page": n, "of": "crew"}), list(0));
    let by_cursor = |id: &str| with("list_people", json!({"cursor": id, "of": "crew"}), list(0));
    let says_which = |n: usize| {
        let mut page = by_number(n);
        page["output"]["page"] = json!(n);
        page
    };
    let rules = ["stagnation"];
    check(&[1, 2, 3, 4].map(by_number), &rules);
    check(&[1, 2, 3].map(by_number), &[]);
    check(&[1, 2, 3, 4].map(says_which), &rules);
    check(&ids.map(by_cursor), &rules);
    let of_another = |team: &str| with("list_people", json!({"page": 1, "of": team}), list(0));
    check(
        &["crew", "guests", "pilots", "cooks", "guards"].map(of_another),
        &[],
    );
    let short = |n: usize| with("list_people", json!({"page": n, "of": "crew"}), list(5));
    check(&[1, 2, 3, 4, 5].map(short), &[]);
    check(&[4, 5, 6, 7, 8, 9].map(short), &rules);
    let none = |n: usize| {
        with(
            "list_people",
            json!({"page": n, "of": "crew"}),
            json!("the crew is full"),
        )
    };
    check(&[4, 5, 6, 7, 8, 9].map(none), &[]);
    let file = |n: usize| with("read_page", json!({"page": n, "of": "crew.pdf"}), list(5));
    check(&[4, 5, 6, 7, 8, 9].map(file), &[]);
}

/// Given arguments that are no JSON, an error that says at which sign is the same wherever that is.
#[test]
fn arguments_that_cannot_be_read() {
    for error in [
        "Expecting ',' delimiter: line 1 column COLUMN (char SIGN)",
        "Unexpected token } in JSON at position SIGN",
    ] {
        let queries = [
            "harbour",
            "when does the ferry leave",
            "tide",
            "copper mines of old",
            "orchids",
        ];
        let search = |query: &str| {
            let told = error
                .replace("COLUMN", &(query.len() + 13).to_string())
                .replace("SIGN", &(query.len() + 12).to_string());
            json!({"kind": "tool_call", "agent": "a", "tool": "search",
                "input": format!("{{\"query\": \"{query}\",}}"), "error": told})
        };
        check(&queries.map(search), &["no_progress", "same_error"]);
    }
}

/// Given a tool that looks and brings the same short answer to one question with other signs or words in it, it is a standstill;
/// where others are asked about, or a tool does something, the same word for it is none.
#[test]
fn short_answers_to_who_looks() {
    let grep = |pattern: &str| with("grep", json!({"pattern": pattern}), json!("src/door.rs:12"));
    let patterns = [
        "open_door",
        "open_door\\(",
        "open_door(key)",
        "def open_door",
    ];
    check(&patterns.map(grep), &["stagnation"]);
    check(&["open", "shut", "lock", "knock", "paint"].map(grep), &[]);
    let list = |command: &str| call("bash", command, "door.rs\nkey.rs");
    check(
        &["ls src", "cd src && ls", "ls -1 src", "cd src; ls"].map(list),
        &["stagnation"],
    );
    let paint = |of: &str| with("paint", json!({"of": of}), json!("src/door.rs:12"));
    check(&patterns.map(paint), &[]);
}

/// Given ids that are drawn, each is what was asked for; one that stays the same is not.
#[test]
fn ids_that_are_drawn() {
    let draw = |id: &str| with("generate_uuid", json!({}), json!(id));
    let ids = [
        "0f21ddb6-6cad-4a26-8d11-6ece1738f7d9",
        "f28c105d-1fb1-4c23-90c1-92cfd3ac94af",
        "1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed",
        "9c858901-8a57-4791-81fe-4c455b099bc9",
        "16fd2706-8baf-433b-82eb-8c7fada847da",
    ];
    check(&ids.map(draw), &[]);
    let same = [ids[0]; 5].map(draw);
    check(
        &same,
        &[
            "no_progress",
            "repeated_tool_call_exact_input",
            "repeated_tool_call_similar_input",
        ],
    );
}

/// Given a range that is halved until what breaks is found, each step has an answer of its own, whether the call itself or a step
/// before it says where; numbers that are tried in another order, or one after the other, do not find it so.
#[test]
fn ranges_that_are_halved() {
    let parse = |rows: usize| {
        let error = "parse error: unexpected quote in a row of this file";
        failed(
            "Bash",
            &format!("head -n {rows} fares.csv | ./parse"),
            error,
        )
    };
    let down = [2_048, 1_024, 512, 256, 128, 64, 32, 16, 8, 4];
    check(&down.map(parse), &[]);
    let build = |age: usize| {
        let tests = "FAILED tests/test_fare.py::test_fare - assert 93 == 118, 12 passed";
        [
            call("Bash", &format!("git checkout -q main~{age}"), ""),
            failed("Bash", "make check", tests),
        ]
    };
    let ages = [400, 600, 700, 750, 775, 787, 793, 796, 798];
    check(&ages.map(build).concat(), &[]);
    let between = |from: usize, to: usize| {
        let range = json!({"from": from, "to": to});
        json!({"kind": "tool_call", "agent": "a", "tool": "import_rows", "input": range,
            "error": "one of these rows cannot be read"})
    };
    let halves = [
        (0, 512),
        (0, 256),
        (128, 256),
        (128, 192),
        (160, 192),
        (160, 176),
        (168, 176),
    ];
    check(&halves.map(|(from, to)| between(from, to)), &[]);
    let rules = ["no_progress", "same_error"];
    check(&[2_048, 900, 1_500, 700, 1_900, 1_200].map(parse), &rules);
    check(&[9, 8, 7, 6, 5, 4, 3].map(parse), &rules);
    // The same number once more finds out nothing.
    assert!(is_warned_of(&[256, 128, 128, 64, 64, 64].map(parse)));
}

/// Given a long quote for each of ever other sums, in which the numbers are others as well, each is what was asked for; one that is
/// the same whatever the sum is, is not.
#[test]
fn quotes_for_other_sums() {
    let terms = "The quote is not binding, and subject to approval. ".repeat(12);
    let sums = [
        100.0, 137.5, 99.25, 250.0, 1_200.75, 80.0, 64.5, 900.0, 33.25, 410.0, 512.5, 77.0,
    ];
    let quote = |sum: f64, monthly: f64| {
        let told = json!({"monthly": monthly, "terms": terms});
        with("get_quote", json!({"sum": sum, "of": "loan"}), told)
    };
    check(&sums.map(|sum| quote(sum, sum / 8.0)), &[]);
    assert!(is_warned_of(&sums.map(|sum| quote(sum, 12.5))));
}

/// Given a number that grows with each call, whichever it is, it counts the calls, and rooms that look as they did are gone through
/// in a circle. What is polled alone and grows by one is progress, and so are two jobs, each of which gets on by two.
#[test]
fn numbers_that_count_the_calls() {
    let goes = |at: usize| {
        let (way, room) = [
            ("north", "a cellar with a ladder"),
            ("south", "an attic full of dust"),
        ][at % 2];
        let told = json!({"room": room, "moves": at + 4});
        with("move", json!({"direction": way}), told)
    };
    let moves: Vec<_> = (0..14).map(goes).collect();
    assert!(is_warned_of(&moves));
    let read_rows = |at: usize| with("get_job", json!({"id": 7}), json!({"rows_done": at + 4}));
    let polls: Vec<_> = (0..14).map(read_rows).collect();
    check(&polls, &[]);
    let in_turn = |at: usize| {
        let id = at % 2;
        let told = json!({"rows_done": at - id + 40 * id});
        with("get_job", json!({"id": id}), told)
    };
    let polls: Vec<_> = (0..14).map(in_turn).collect();
    check(&polls, &[]);
}
