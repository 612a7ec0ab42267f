//! Loops, kind by kind. Each run works for a while and then goes round; the last event of every round is marked.

use serde_json::{Value, json};

use super::made::Made;

/// A kind of loop: its name, by which repetition it should be seen, and how a run of it is made.
pub(super) type Loop = (&'static str, usize, fn(&mut Made));

pub(super) const LOOPS: &[Loop] = &[
    ("exact", 5, exact),
    ("exact, volatile result", 5, exact_volatile),
    ("exact, jittering numbers", 8, exact_numbers),
    ("exact, stale calls between", 5, exact_between_stale),
    ("exact, news between", 7, exact_amid_news),
    ("cycle of 2", 5, |made| cycle(made, 2)),
    ("cycle of 3", 5, |made| cycle(made, 3)),
    ("cycle of 4", 5, |made| cycle(made, 4)),
    ("cycle of 5", 5, |made| cycle(made, 5)),
    ("cycle of 6", 5, |made| cycle(made, 6)),
    ("reworded query, same result", 5, reworded_same),
    ("reworded query, nothing found", 5, reworded_empty),
    (
        "reworded query, hits in another order",
        6,
        reworded_shuffled,
    ),
    ("same call, failing in other words", 5, error_varies),
    ("other calls, same error", 5, same_error),
    ("other calls, error that names them", 6, error_echoes),
    ("edit and undo", 5, edit_undo),
    ("edits, same failing test", 6, edits_same_test),
    ("ranges of a file again", 5, reread_ranges),
    ("shell: one question, other spelling", 5, shell_spelling),
    ("shell: build fails the same way", 5, shell_build),
    ("long code, same failure", 5, long_code),
    ("hand-offs between 2", 5, |made| handoffs(made, 2)),
    ("hand-offs between 3", 5, |made| handoffs(made, 3)),
    ("hand-offs between 4", 5, |made| handoffs(made, 4)),
    ("transfer tools", 5, transfers),
    ("monologue in rotation", 6, monologue_rotating),
    ("monologue reworded", 6, monologue_reworded),
    ("plan restated by a tool", 9, plan_restated),
    ("swarm", 6, swarm),
    ("page that only grows by noise", 6, growing_noise),
    ("errand reworded", 6, errand_reworded),
];

/// Kinds that are not seen, for the reasons that `docs/detection.md` gives.
pub(super) const MISSED: [&str; 21] = [
    "page that only grows by noise",
    "elements: clicks on numbers that move",
    "research: open, find, open",
    "adventure: the door stays shut",
    "chat channel: posts nobody answers",
    "retrieval: seven passages dealt anew",
    "service: asks for a yes that was given",
    "graph: the critic is never content",
    "one shell: one file in ever other ranges",
    "pipeline: filled again, nothing written",
    "arm: the part slips",
    "terminal: a push that the hook refuses",
    "chart: drawn anew, labels overlap",
    "pipeline: asked for by ever new run ids",
    "mail: answers to answers, ever longer subjects",
    "browser: next month, and back",
    "research: no page tells of it",
    "mail: reminders that nobody answers",
    "pictures: scored low for one flaw",
    "elements: numbers that do not exist",
    "search: turned away at each query",
];

/// Kinds that are seen in some of their runs, or late.
pub(super) const PARTLY: [&str; 22] = [
    "shell: nothing to commit",
    "sub-agents: the same search sent out",
    "sums: one sum in other words",
    "pair: thanks for thanks",
    "pipeline: pushed, the same job fails",
    "replace tool: text not found, looked at",
    "reduce: from the first chunk again",
    "one shell: quotes break each script",
    "session: a password is asked for",
    "screen: a click that changes nothing",
    "files in German: not found",
    "panel: tools that only say ok",
    "prover: one goal, whatever the tactic",
    "mail: a code that has always expired",
    "telephone: back in the main menu",
    "terminal: a pod without a node",
    "calendar: the hour is always taken",
    "fares: five days round and round",
    "cache: an address with a new number",
    "reviewer: the same wants on ever new drafts",
    "research: other years, the same hits",
    "tools: names that are not known",
];

const ROUNDS: usize = 9;

fn tool(made: &mut Made) -> &'static str {
    made.pick(&[
        "search",
        "kb_lookup",
        "get_weather",
        "fetch_url",
        "query_db",
        "list_files",
        "describe_table",
    ])
}

/// An answer of a few fields or sentences.
fn answer(made: &mut Made) -> Value {
    let words = made.words(5);
    let long = made.words(30);
    match made.below(4) {
        0 => json!({"results": [{"title": words, "score": 0.71}], "total": 1}),
        1 => json!(format!("{words}: {long}")),
        2 => json!({"status": "ok", "items": [long]}),
        _ => json!([{"id": made.below(90), "text": words}, {"id": made.below(90), "text": long}]),
    }
}

fn arguments(made: &mut Made) -> Value {
    let words = made.words(3);
    match made.below(4) {
        0 => json!({"query": words}),
        1 => json!({"q": words, "limit": 10}),
        2 => json!({"params": {"name": words, "deep": true}}),
        _ => json!({"path": format!("/srv/{}", made.word())}),
    }
}

fn exact(made: &mut Made) {
    made.begin(12);
    let (tool, input, output) = (tool(made), arguments(made), answer(made));
    for _ in 0..ROUNDS {
        if made.chance(20) {
            made.says("Let me look at that once more.");
        }
        made.call(tool, input.clone(), output.clone());
        made.again();
    }
}

fn volatile(made: &mut Made, words: &str) -> Value {
    let (time, id, took) = (made.time(), made.hex(), made.between(2, 900));
    json!({"request_id": id, "at": time, "took_ms": took, "text": words})
}

fn exact_volatile(made: &mut Made) {
    made.begin(12);
    let (tool, input, words) = (tool(made), arguments(made), made.words(9));
    let style = made.below(3);
    for _ in 0..ROUNDS {
        let output = match style {
            0 => volatile(made, &words),
            1 => json!(format!(
                "[{}] {words} (took {} ms)",
                made.time(),
                made.between(2, 900)
            )),
            _ => json!(format!(
                "{words}\ntrace {}\nelapsed: {}.{}s",
                made.hex(),
                made.below(9),
                made.below(99)
            )),
        };
        made.call(tool, input.clone(), output);
        made.again();
    }
}

/// Numbers that go up and down and say nothing.
fn exact_numbers(made: &mut Made) {
    made.begin(12);
    let (tool, input, words) = (tool(made), arguments(made), made.words(6));
    let style = made.below(3);
    for _ in 0..ROUNDS + 3 {
        let (small, large) = (made.between(10, 99), made.between(5_000, 5_999));
        let output = match style {
            0 => json!({"text": words, "score": format!("0.{small}")}),
            1 => json!(format!("{words}; free memory {large} MB, load 0.{small}")),
            _ => json!({"items": [words], "shard": small, "cached": large}),
        };
        made.call(tool, input.clone(), output);
        made.again();
    }
}

fn exact_between_stale(made: &mut Made) {
    made.begin(12);
    let others = made.between(1, 3);
    let calls: Vec<_> = (0..=others)
        .map(|_| (tool(made), arguments(made), answer(made)))
        .collect();
    for _ in 0..ROUNDS {
        let (tool, input, output) = calls[0].clone();
        made.call(tool, input, output);
        made.again();
        for _ in 0..made.between(1, others) {
            let (tool, input, output) = calls[made.between(1, others)].clone();
            made.call(tool, input, output);
        }
    }
}

fn exact_amid_news(made: &mut Made) {
    made.begin(12);
    let (tool, input, output) = (tool(made), arguments(made), answer(made));
    for _ in 0..ROUNDS {
        made.call(tool, input.clone(), output.clone());
        made.again();
        let steps = made.between(0, 2);
        made.work(steps);
    }
}

fn cycle(made: &mut Made, period: usize) {
    made.begin(12);
    let volatile = made.chance(50);
    let calls: Vec<_> = (0..period)
        .map(|_| (tool(made), arguments(made), made.words(12)))
        .collect();
    for _ in 0..ROUNDS {
        for (tool, input, words) in &calls {
            let output = if volatile {
                self::volatile(made, words)
            } else {
                json!(words)
            };
            made.call(tool, input.clone(), output);
        }
        made.again();
    }
}

/// One question in other words each time.
fn reworded(made: &mut Made, words: &[&str], round: usize) -> String {
    let year = made.between(2_019, 2_026);
    let mut shuffled = words.to_vec();
    shuffled.swap(0, round % words.len());
    let (plain, other) = (words.join(" "), shuffled.join(" "));
    match round % 9 {
        0 => plain,
        1 => format!("{plain} {year}"),
        2 => format!("\"{plain}\""),
        3 => other,
        4 => format!("{plain}s"),
        5 => format!("{other} site:{}.example", words[0]),
        6 => format!("what is known about {plain}"),
        7 => format!("{other} details"),
        _ => format!("latest {plain} information"),
    }
}

fn ask(made: &mut Made) -> (&'static str, &'static str) {
    let tool = made.pick(&[
        "web_search",
        "search_kb",
        "google",
        "retrieve",
        "docs.search",
    ]);
    (tool, made.pick(&["query", "q", "search_query", "text"]))
}

fn reworded_same(made: &mut Made) {
    made.begin(12);
    let ((tool, key), words, output) = (ask(made), made.some_words(4), answer(made));
    for round in 0..ROUNDS {
        let query = reworded(made, &words, round);
        made.call(tool, json!({key: query}), output.clone());
        made.again();
    }
}

fn reworded_empty(made: &mut Made) {
    made.begin(12);
    let ((tool, key), words) = (ask(made), made.some_words(4));
    for round in 0..ROUNDS {
        let query = reworded(made, &words, round);
        let output = match made.below(4) {
            0 => json!([]),
            1 => json!({"results": [], "total": 0}),
            2 => json!("No results found."),
            _ => json!({"hits": [], "query": query}),
        };
        made.call(tool, json!({key: query}), output);
        made.again();
    }
}

fn reworded_shuffled(made: &mut Made) {
    made.begin(12);
    let ((tool, key), words) = (ask(made), made.some_words(4));
    let mut hits: Vec<_> = (0..4)
        .map(|id| json!({"id": id, "title": made.words(5)}))
        .collect();
    for round in 0..ROUNDS {
        let query = reworded(made, &words, round);
        let (one, other) = (made.below(4), made.below(4));
        hits.swap(one, other);
        made.call(tool, json!({key: query}), json!({"results": hits.clone()}));
        made.again();
    }
}

fn error_varies(made: &mut Made) {
    made.begin(12);
    let (tool, input, words) = (tool(made), arguments(made), made.words(3));
    let style = made.below(4);
    for _ in 0..ROUNDS {
        let error = match style {
            0 => format!(
                "{} ERROR {words}: permission denied (request {})",
                made.time(),
                made.hex()
            ),
            1 => format!(
                "Traceback: File \"/tmp/run_{}/main.py\", line {}: KeyError: '{words}'",
                made.hex(),
                made.between(10, 99)
            ),
            2 => format!(
                "RuntimeError: {words} at 0x{:x} after {} ms",
                made.between(0x7f00_0000_0000, 0x7fff_0000_0000),
                made.between(3, 900)
            ),
            _ => format!(
                "connection to {words}:{} refused",
                made.between(30_000, 60_000)
            ),
        };
        made.fails(tool, input.clone(), &error);
        made.again();
    }
}

fn same_error(made: &mut Made) {
    made.begin(12);
    let (tool, words) = (tool(made), made.words(3));
    let error = made.pick(&[
        "401 Unauthorized: the API key has expired",
        "OperationalError: no such table: customers",
        "OSError: [Errno 28] No space left on device",
        "Access denied. Your role does not allow this operation.",
    ]);
    for _ in 0..ROUNDS {
        let query = made.words(3);
        made.fails(tool, json!({"query": query, "of": words}), error);
        made.again();
    }
}

/// Each time another thing is guessed, and the answer is that it is not there.
fn error_echoes(made: &mut Made) {
    made.begin(12);
    let style = made.below(3);
    for _ in 0..ROUNDS {
        let guess = format!(
            "{}_{}_{}",
            made.word(),
            made.word(),
            made.between(100, 9_999)
        );
        match style {
            0 => made.fails(
                "get_user",
                json!({"user_id": guess}),
                &format!("Error: user {guess} not found"),
            ),
            1 => made.fails(
                "read_file",
                json!({"path": format!("src/{guess}.py")}),
                &format!(
                    "FileNotFoundError: [Errno 2] No such file or directory: 'src/{guess}.py'"
                ),
            ),
            _ => made.fails(
                "bash",
                json!({"command": format!("pip install {guess}")}),
                &format!("ERROR: No matching distribution found for {guess}"),
            ),
        }
        made.again();
    }
}

fn edit_undo(made: &mut Made) {
    made.begin(12);
    let (file, one, other) = (made.file(), made.words(2), made.words(2));
    let test = made.pick(&["pytest -q", "cargo test", "npm test"]);
    for round in 0..ROUNDS {
        let (old, new) = if round % 2 == 0 {
            (&one, &other)
        } else {
            (&other, &one)
        };
        made.call(
            "edit_file",
            json!({"path": file, "old": old, "new": new}),
            "The file has been edited.",
        );
        let error = format!(
            "AssertionError: {old}\n1 failed, 12 passed in 0.{}s",
            made.between(10, 99)
        );
        made.fails("bash", json!({"command": test}), &error);
        made.again();
    }
}

fn edits_same_test(made: &mut Made) {
    made.begin(12);
    let (file, words) = (made.file(), made.words(3));
    let test = made.pick(&["pytest -q tests", "cargo test", "npm test", "go test ./..."]);
    for _ in 0..ROUNDS {
        let (old, new) = (made.words(3), made.words(3));
        made.call(
            "str_replace_editor",
            json!({"command": "str_replace", "path": file, "old_str": old, "new_str": new}),
            format!("The file {file} has been edited. Here is a snippet:\n{new}"),
        );
        let error = format!(
            "E   AssertionError: expected 3, got 2 ({words})\n1 failed, 41 passed in 0.{}s",
            made.between(10, 99)
        );
        made.fails("bash", json!({"command": test}), &error);
        made.again();
    }
}

fn reread_ranges(made: &mut Made) {
    made.begin(12);
    let file = made.file();
    let starts: Vec<_> = (0..made.between(2, 4))
        .map(|at| at * made.between(20, 100))
        .collect();
    let texts: Vec<_> = starts.iter().map(|_| made.words(20)).collect();
    let shell = made.chance(50);
    for _ in 0..ROUNDS {
        for (start, text) in starts.iter().zip(&texts) {
            if shell {
                made.sh(
                    &format!("sed -n '{},{}p' {file}", start + 1, start + 100),
                    text,
                );
            } else {
                made.call(
                    "read_file",
                    json!({"path": file, "offset": start, "limit": 100}),
                    text.as_str(),
                );
            }
        }
        made.again();
    }
}

fn shell_spelling(made: &mut Made) {
    made.begin(12);
    let (dir, word, hits) = (made.word(), made.word(), made.between(0, 1));
    let found = format!(
        "src/{dir}.py:14: {}\nsrc/{dir}.py:90: {}",
        made.words(5),
        made.words(5)
    );
    let spell = [
        format!("grep -rn {word} src"),
        format!("cd /app && grep -rn {word} src"),
        format!("grep -rn \"{word}\" src 2>&1"),
        format!("grep -rn '{word}' src | head -20"),
        format!("cd /app && grep -rn {word} src 2>/dev/null"),
        format!("grep -rn {word} ./src || true"),
        format!("sleep 1; grep -rn {word} src"),
        format!("grep -rn {word} src/ | cat"),
        format!("cd /app; grep -rn -- {word} src"),
    ];
    for command in spell {
        made.sh(&command, if hits == 1 { &found } else { "" });
        made.again();
    }
}

fn shell_build(made: &mut Made) {
    made.begin(12);
    let words = made.words(3);
    let ways = [
        "",
        " --verbose",
        " 2>&1",
        " 2>&1 | tail -20",
        " -j1",
        " --force",
        " --no-cache",
        " || true",
        " && echo done",
    ];
    let build = made.pick(&["npm run build", "make", "cargo build", "docker build ."]);
    for way in ways {
        let error = format!(
            "error: cannot resolve module {words}\nbuild failed after {}.{}s",
            made.between(1, 9),
            made.between(10, 99)
        );
        made.fails("bash", json!({"command": format!("{build}{way}")}), &error);
        made.again();
    }
}

/// A long program, changed in the middle a little each time, that fails in the same way.
fn long_code(made: &mut Made) {
    made.begin(12);
    let lines: Vec<_> = (0..40)
        .map(|at| format!("{}_{at} = load('{}')", made.word(), made.word()))
        .collect();
    for round in 0..ROUNDS {
        let mut program = lines.clone();
        program[20] = format!("# attempt {round}: {}", made.words(2));
        made.fails(
            "python",
            json!({"code": program.join("\n")}),
            "NameError: name 'load' is not defined",
        );
        made.again();
    }
}

const TEAM: [&str; 4] = ["planner", "writer", "critic", "editor"];

fn handoffs(made: &mut Made, agents: usize) {
    made.begin(12);
    for round in 0..ROUNDS {
        for at in 0..agents {
            let (from, to) = (TEAM[at], TEAM[(at + 1) % agents]);
            made.add(json!({"kind": "handoff", "from_agent": from, "to_agent": to}));
        }
        if round % 3 == 1 {
            made.as_agent("planner");
            made.says("I have passed this on.");
        }
        made.again();
    }
}

fn transfers(made: &mut Made) {
    made.begin(12);
    for _ in 0..ROUNDS {
        made.as_agent("triage");
        made.call(
            "transfer_to_billing",
            json!({}),
            json!({"assistant": "billing"}),
        );
        made.as_agent("billing");
        made.call(
            "transfer_to_triage",
            json!({}),
            json!({"assistant": "triage"}),
        );
        made.again();
    }
}

fn monologue_rotating(made: &mut Made) {
    made.begin(12);
    let about = made.words(3);
    let texts = [
        format!("I will now go through {about} and decide on the next step."),
        format!("Let me look at where we stand with {about}, then choose what to do."),
        format!("Before going on I want to be clear about {about}."),
    ];
    made.call("search", json!({"query": about}), json!([]));
    for round in 0..ROUNDS {
        made.says(&texts[round % texts.len()]);
        made.again();
    }
}

/// The same said in slightly other words.
fn reworded_text(made: &mut Made, about: &str, round: usize) -> String {
    let now = made.pick(&["now", "next", "at this point", "then"]);
    let sure = made.pick(&["carefully", "in detail", "step by step", "once more"]);
    let opening = made.pick(&["I will", "I am going to", "Let me", "I should"]);
    let end = made.pick(&[
        "and then decide what to do.",
        "and decide what to do then.",
        "before deciding what to do.",
        "and afterwards decide what to do.",
    ]);
    format!(
        "{opening} {now} go through the notes about {about} {sure}, compare the numbers for {about} with the report of the year {} {end}",
        2_000 + round % 2
    )
}

fn monologue_reworded(made: &mut Made) {
    made.begin(12);
    let about = made.words(4);
    made.call("search", json!({"query": about}), json!([]));
    for round in 0..ROUNDS {
        let text = reworded_text(made, &about, round);
        made.says(&text);
        made.again();
    }
}

fn plan_restated(made: &mut Made) {
    made.begin(12);
    let about = made.words(4);
    let steps: Vec<_> = (0..5).map(|_| made.words(6)).collect();
    for round in 0..ROUNDS {
        let mut plan = steps.clone();
        plan[round % 5] = format!(
            "{} {}",
            plan[round % 5],
            made.pick(&["first", "soon", "again"])
        );
        made.call(
            "update_plan",
            json!({"goal": about, "steps": plan}),
            "Plan updated",
        );
        made.again();
    }
}

fn swarm(made: &mut Made) {
    made.begin(12);
    let (tool, input, output) = (tool(made), arguments(made), answer(made));
    for round in 0..ROUNDS {
        made.as_worker(["w1", "w2", "w3"][round % 3]);
        made.call(tool, input.clone(), output.clone());
        made.again();
    }
}

/// A log that grows by one heartbeat between two looks.
fn growing_noise(made: &mut Made) {
    made.begin(12);
    let mut log = made.words(12);
    let input = json!({"path": "/var/log/app.log"});
    for _ in 0..ROUNDS {
        let line = format!("\n{} heartbeat ok", made.time());
        log.push_str(&line);
        made.call("read_file", input.clone(), log.as_str());
        made.again();
    }
}

fn errand_reworded(made: &mut Made) {
    made.begin(12);
    let about = made.words(4);
    for _ in 0..ROUNDS {
        let way = made.pick(&[
            "",
            " please",
            " now",
            " and tell me what it says",
            " again",
            " once more",
        ]);
        let text = format!(
            "Open the page about {about} and find the name of the person who signed the first letter{way}"
        );
        made.add(
            json!({"kind": "handoff", "from_agent": "lead", "to_agent": "surfer", "input": text}),
        );
        made.as_agent("surfer");
        let (page, site) = (made.words(12), made.word());
        made.call(
            "open_page",
            json!({"url": format!("https://{site}.example")}),
            page,
        );
        made.again();
    }
}
