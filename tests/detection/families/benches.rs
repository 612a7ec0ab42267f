//! Coding agents at their benches: a shell that is the only tool, patches, lists of tasks, calls side by side, and runs of
//! hundreds of calls; loops, and work that looks like them. Written before it was measured what is found of them.

use serde_json::{Value, json};

use super::lookalikes::Work;
use super::loops::Loop;
use super::made::Made;

pub(super) const LOOPS: &[Loop] = &[
    ("patch: lines that are not in the file", 6, patch_refused),
    ("one shell: a failing test, other flags", 6, other_flags),
    ("one shell: quotes break each script", 6, quotes_break),
    ("session: a password is asked for", 8, password_asked),
    ("edit: a file that was never read", 6, never_read),
    ("tasks: rewritten, and a file read", 6, tasks_rewritten),
    ("side by side: the same three look-ups", 6, same_three),
    ("side by side: three searches reworded", 6, three_reworded),
    ("after four hundred calls: three files", 6, late_round),
];

pub(super) const WORK: &[Work] = &[
    ("migration: a hundred files", migration),
    ("matrix: all versions", matrix),
    ("bisect: good and bad", bisect),
    ("session: a long build is polled", build_polled),
    ("patch: some are refused at first", patches_mended),
    ("tasks: thirty, one after the other", tasks_done),
    ("side by side: reads of a code base", reads_together),
    ("upgrade: one package after the other", upgrades),
];

const ROUNDS: usize = 10;

/// What one shell printed, as four frameworks give it to the model.
pub(super) fn shell(made: &mut Made, style: usize, command: &str, code: u8, printed: &str) {
    let millis = made.between(20, 9_000);
    let seconds = millis as f64 / 1_000.0;
    match style % 4 {
        0 => made.call(
            "shell",
            json!({"command": ["bash", "-lc", command], "workdir": "/home/app", "timeout_ms": 120_000}),
            json!({"output": printed, "metadata": {"exit_code": code, "duration_seconds": seconds}})
                .to_string(),
        ),
        1 => {
            let (chunk, tokens) = (made.hex(), printed.len() / 4);
            made.call(
                "exec_command",
                json!({"cmd": command, "yield_time_ms": 10_000, "max_output_tokens": 6_000}),
                format!(
                    "Chunk ID: {}\nWall time: {seconds:.4} seconds\nProcess exited with code {code}\nOriginal token count: {tokens}\nOutput:\n{printed}",
                    &chunk[..6]
                ),
            );
        }
        2 if printed.is_empty() => made.sh(
            command,
            "Your command ran successfully and did not produce any output.",
        ),
        2 => made.sh(command, printed),
        _ => made.call(
            "bash",
            json!({"command": command}),
            json!({"returncode": code, "output": printed}).to_string(),
        ),
    }
}

/// A patch as agents write them: one hunk of a file.
fn patch(made: &mut Made, path: &str) -> (String, String) {
    let (context, old, new) = (made.words(4), made.words(5), made.words(6));
    let text = format!(
        "*** Begin Patch\n*** Update File: {path}\n@@\n {context}\n-{old}\n+{new}\n*** End Patch"
    );
    (text, format!("{context}\n{old}"))
}

fn apply(made: &mut Made, path: &str) {
    let (text, _) = patch(made, path);
    made.call(
        "apply_patch",
        json!({"input": text}),
        format!("Success. Updated the following files:\nM {path}\n"),
    );
}

fn refuse(made: &mut Made, path: &str) {
    let (text, lines) = patch(made, path);
    made.fails(
        "apply_patch",
        json!({"input": text}),
        &format!(
            "apply_patch verification failed: Failed to find expected lines in /home/app/{path}:\n{lines}"
        ),
    );
}

/// Calls that one model answer asks for: they begin at one time.
fn together(made: &mut Made, calls: Vec<(&str, Value, Value)>) {
    made.add(json!({"kind": "llm_call", "tokens": 1_200}));
    let mut first = None;
    for (place, (tool, input, output)) in calls.into_iter().enumerate() {
        made.call(tool, input, output);
        let event = made.events.last_mut().expect("a call");
        let begun = *first.get_or_insert(event["t_ms"].as_u64().expect("a time"));
        event["t_ms"] = json!(begun + place as u64 * 3);
        event["duration_ms"] = json!(400 + place * 90);
    }
    made.pause(2);
}

fn patch_refused(made: &mut Made) {
    made.begin(8);
    let (style, path, shown) = (made.below(4), made.file(), made.words(40));
    let looks = made.chance(50);
    for _ in 0..ROUNDS {
        refuse(made, &path);
        if looks && made.chance(60) {
            shell(made, style, &format!("sed -n '1,80p' {path}"), 0, &shown);
        }
        made.again();
    }
}

fn other_flags(made: &mut Made) {
    made.begin(8);
    let (style, name) = (made.below(4), made.words(2).replace(' ', "_"));
    let (file, line) = (made.file(), made.between(20, 300));
    let (left, right) = (made.between(1, 9), made.between(10, 99));
    for round in 0..ROUNDS {
        let command = match round % 6 {
            0 => format!("cargo test {name}"),
            1 => format!("cargo test {name} -- --nocapture"),
            2 => format!("RUST_BACKTRACE=1 cargo test {name}"),
            3 => format!("cargo test {name} 2>&1 | tail -n 40"),
            4 => format!("cd /home/app && cargo test --all-features {name}"),
            _ => format!("cargo test {name} -- --exact --test-threads=1"),
        };
        let seconds = made.between(1, 90) as f64 / 100.0;
        let printed = format!(
            "running 1 test\ntest tests::{name} ... FAILED\n\nfailures:\n\n---- tests::{name} stdout ----\nthread 'tests::{name}' panicked at {file}:{line}:9:\nassertion `left == right` failed\n  left: {left}\n right: {right}\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 41 filtered out; finished in {seconds:.2}s"
        );
        shell(made, style, &command, 101, &printed);
        made.again();
    }
}

fn quotes_break(made: &mut Made) {
    made.begin(8);
    let style = made.below(4);
    for _ in 0..ROUNDS {
        let (body, more, line) = (made.words(8), made.words(5), made.between(3, 40));
        let command =
            format!("python - <<EOF\ntext = '{body}'\nprint(text.replace('{more}', ''))\nEOF'");
        shell(
            made,
            style,
            &command,
            2,
            &format!(
                "bash: -c: line {line}: unexpected EOF while looking for matching `''\nbash: -c: line {}: syntax error: unexpected end of file",
                line + 1
            ),
        );
        made.again();
    }
}

fn password_asked(made: &mut Made) {
    made.begin(8);
    shell(
        made,
        1,
        "sudo apt-get install -y ripgrep",
        0,
        "[sudo] password for dev: ",
    );
    for _ in 0..ROUNDS {
        let (chars, chunk) = (made.pick(&["", "\n"]), made.hex());
        let seconds = 5.0 + made.between(0, 99) as f64 / 10_000.0;
        made.pause(4);
        made.call(
            "write_stdin",
            json!({"session_id": 3, "chars": chars, "yield_time_ms": 5_000}),
            format!(
                "Chunk ID: {}\nWall time: {seconds:.4} seconds\nProcess running with session ID 3\nOriginal token count: 6\nOutput:\n[sudo] password for dev: ",
                &chunk[..6]
            ),
        );
        made.again();
    }
}

fn never_read(made: &mut Made) {
    made.begin(8);
    let path = format!("/home/me/app/{}", made.file());
    let writes = made.chance(40);
    for round in 0..ROUNDS {
        let (old, new) = (made.words(6), made.words(9));
        let error = "<tool_use_error>File has not been read yet. Read it first before writing to it.</tool_use_error>";
        if writes && round % 3 == 2 {
            made.fails("Write", json!({"file_path": path, "content": new}), error);
        } else {
            made.fails(
                "Edit",
                json!({"file_path": path, "old_string": old, "new_string": new}),
                error,
            );
        }
        made.again();
    }
}

/// A list of tasks as it is written, with how far each has come.
fn todos(tasks: &[String], done: usize) -> Value {
    let state = |place: usize| match place.cmp(&done) {
        std::cmp::Ordering::Less => "completed",
        std::cmp::Ordering::Equal => "in_progress",
        std::cmp::Ordering::Greater => "pending",
    };
    let all = tasks.iter().enumerate().map(|(place, task)| {
        json!({"content": task, "status": state(place), "activeForm": format!("Doing: {task}")})
    });
    json!({"todos": all.collect::<Vec<_>>()})
}

const TODOS_WRITTEN: &str = "Todos have been modified successfully. Ensure that you continue to use the todo list to track your progress. Please proceed with the current tasks if applicable";

fn tasks_rewritten(made: &mut Made) {
    made.begin(8);
    let (path, text) = (format!("/home/me/app/{}", made.file()), made.words(40));
    let about = made.some_words(4);
    for round in 0..ROUNDS {
        let verbs = [
            ["Look at", "Change", "Test", "Describe"],
            ["Read", "Rework", "Check", "Document"],
            ["Study", "Adapt", "Verify", "Explain"],
        ][round % 3];
        let tasks: Vec<_> = verbs
            .iter()
            .zip(&about)
            .map(|(verb, word)| format!("{verb} the {word} module"))
            .collect();
        made.call("TodoWrite", todos(&tasks, 0), TODOS_WRITTEN);
        made.call(
            "Read",
            json!({"file_path": path}),
            format!("     1\t{text}\n"),
        );
        made.again();
    }
}

fn same_three(made: &mut Made) {
    made.begin(8);
    let words = made.some_words(3);
    let asked: Vec<_> = words
        .iter()
        .map(|word| {
            (
                json!({"pattern": word, "path": "src", "output_mode": "content"}),
                format!(
                    "{}:{}:{}",
                    made.file(),
                    made.between(1, 400),
                    made.words(12)
                ),
            )
        })
        .collect();
    for _ in 0..ROUNDS {
        let calls = asked
            .iter()
            .map(|(input, output)| ("Grep", input.clone(), json!(output)));
        let calls = calls.collect();
        together(made, calls);
        made.again();
    }
}

fn three_reworded(made: &mut Made) {
    made.begin(8);
    let words = made.some_words(4);
    let hits: Vec<_> = (0..3)
        .map(|place| json!({"url": format!("https://{}.example/{place}", words[place]), "title": made.words(5), "content": made.words(30)}))
        .collect();
    for round in 0..ROUNDS {
        let asked = [
            format!(
                "{} {} {} {}",
                words[0],
                words[1],
                words[2],
                round % 7 + 2_020
            ),
            [
                format!(
                    "what is the {} of the {} in a {}",
                    words[0], words[1], words[2]
                ),
                format!("{} {} {} explained", words[1], words[0], words[2]),
                format!("best {} for {} and {}", words[0], words[2], words[1]),
            ][round % 3]
                .clone(),
            [
                format!("{} {} guide {}", words[2], words[0], words[1]),
                format!("how does {} work with {} {}", words[2], words[1], words[0]),
                format!("{} versus {} {}", words[0], words[1], words[2]),
            ][round % 3]
                .clone(),
        ];
        let calls = asked.into_iter().map(|query| {
            let score = made.between(60, 99) as f64 / 100.0;
            let results: Vec<_> = hits
                .iter()
                .map(|hit| {
                    let mut hit = hit.clone();
                    hit["score"] = json!(score);
                    hit
                })
                .collect();
            (
                "tavily_search",
                json!({"query": query, "max_results": 3}),
                json!({"query": query, "results": results, "response_time": score * 2.0}),
            )
        });
        let calls = calls.collect();
        together(made, calls);
        made.again();
    }
}

fn late_round(made: &mut Made) {
    made.work(400);
    made.begins = made.events.len();
    let style = made.below(4);
    let files: Vec<_> = (0..3).map(|_| (made.file(), made.words(40))).collect();
    for _ in 0..ROUNDS {
        for (file, text) in &files {
            shell(made, style, &format!("cat {file}"), 0, text);
        }
        made.again();
    }
}

/// A change that is made to one file after the other, each looked at, edited and checked.
fn migration(made: &mut Made) {
    made.begin(8);
    let style = made.below(4);
    let files = made.between(90, 110);
    for number in 0..files {
        let path = format!("src/{}/{}_{number}.ts", made.word(), made.word());
        let text = made.words(30);
        shell(made, style, &format!("sed -n '1,120p' {path}"), 0, &text);
        if made.chance(50) {
            apply(made, &path);
        } else {
            let (old, new) = (made.word(), made.word());
            shell(
                made,
                style,
                &format!(
                    "perl -0pi -e 's/from \"{old}\"/from \"@app\\/{new}\"/g' {path} && git diff --stat"
                ),
                0,
                &format!(" {path} | 2 +-\n 1 file changed, 1 insertion(+), 1 deletion(-)"),
            );
        }
        let check = format!("npx tsc --noEmit -p . && npx eslint {path}");
        if made.chance(15) {
            let line = made.between(1, 90);
            shell(
                made,
                style,
                &check,
                2,
                &format!(
                    "{path}({line},7): error TS2307: Cannot find module '@app/core' or its corresponding type declarations."
                ),
            );
            apply(made, &path);
        }
        shell(made, style, &check, 0, "");
        if number % 20 == 19 {
            let passed = made.between(300, 320);
            shell(
                made,
                style,
                "npm test --silent",
                0,
                &format!("Tests:       {passed} passed, {passed} total"),
            );
        }
    }
}

/// The same tests on every pair of versions; one of them is broken everywhere.
fn matrix(made: &mut Made) {
    made.begin(8);
    let style = made.below(4);
    let broken = made.chance(50).then(|| made.word());
    for python in 9..14 {
        for django in ["3.2", "4.0", "4.1", "4.2", "5.0", "5.1"] {
            for database in ["sqlite", "postgres"] {
                let seconds = made.between(200, 900) as f64 / 100.0;
                let (code, printed) = match broken {
                    Some(name) => (
                        1,
                        format!(
                            "FAILED tests/test_{name}.py::test_{name} - AssertionError: assert None\n========= 1 failed, 212 passed in {seconds:.2}s ========="
                        ),
                    ),
                    None => (
                        0,
                        format!("========= 213 passed in {seconds:.2}s ========="),
                    ),
                };
                shell(
                    made,
                    style,
                    &format!(
                        "DB={database} tox -q -e py3{python}-django{django} -- -q | tail -n 2"
                    ),
                    code,
                    &printed,
                );
            }
        }
    }
}

fn bisect(made: &mut Made) {
    made.begin(8);
    let (style, name) = (made.below(4), made.word());
    shell(
        made,
        style,
        "git bisect start HEAD v1.0.0",
        0,
        "Bisecting: 255 revisions left to test after this (roughly 8 steps)",
    );
    let mut left = 255_u32;
    while left > 0 {
        let bad = made.chance(50);
        let (code, printed, mark) = if bad {
            (
                1,
                format!(
                    "FAILED tests/test_{name}.py::test_{name} - KeyError: '{name}'\n1 failed in 0.41s"
                ),
                "bad",
            )
        } else {
            (0, "1 passed in 0.38s".to_owned(), "good")
        };
        shell(
            made,
            style,
            &format!("python -m pytest -q tests/test_{name}.py"),
            code,
            &printed,
        );
        left /= 2;
        let (id, words) = (made.hex(), made.words(5));
        shell(
            made,
            style,
            &format!("git bisect {mark}"),
            0,
            &format!(
                "Bisecting: {left} revisions left to test after this (roughly {} steps)\n[{id}] {words}",
                (left + 1).ilog2()
            ),
        );
    }
}

fn build_polled(made: &mut Made) {
    made.begin(8);
    let chunk = made.hex();
    made.call(
        "exec_command",
        json!({"cmd": "cargo build --release", "yield_time_ms": 10_000}),
        format!(
            "Chunk ID: {}\nWall time: 10.0011 seconds\nProcess running with session ID 7\nOriginal token count: 3\nOutput:\n   Compiling app v0.1.0 (/home/app)\n",
            &chunk[..6]
        ),
    );
    for _ in 0..made.between(5, 12) {
        let wait = [10, 20, 30][made.below(3)];
        made.pause(wait);
        let (chunk, seconds) = (
            made.hex(),
            wait as f64 + made.between(0, 99) as f64 / 10_000.0,
        );
        let printed = if made.chance(30) {
            format!("   Compiling {} v0.3.1\n", made.word())
        } else {
            String::new()
        };
        made.call(
            "write_stdin",
            json!({"session_id": 7, "chars": "", "yield_time_ms": wait * 1_000}),
            format!(
                "Chunk ID: {}\nWall time: {seconds:.4} seconds\nProcess running with session ID 7\nOriginal token count: {}\nOutput:\n{printed}",
                &chunk[..6],
                printed.len() / 4
            ),
        );
    }
    made.call(
        "write_stdin",
        json!({"session_id": 7, "chars": "", "yield_time_ms": 30_000}),
        "Chunk ID: 0a1b2c\nWall time: 4.2011 seconds\nProcess exited with code 0\nOriginal token count: 15\nOutput:\n    Finished `release` profile [optimized] target(s) in 3m 41s\n",
    );
}

fn patches_mended(made: &mut Made) {
    made.begin(8);
    let style = made.below(4);
    for _ in 0..made.between(8, 14) {
        let path = made.file();
        for _ in 0..made.below(3) {
            refuse(made, &path);
            let (from, shown) = (made.between(1, 300), made.words(30));
            shell(
                made,
                style,
                &format!("sed -n '{from},{}p' {path}", from + 60),
                0,
                &shown,
            );
        }
        apply(made, &path);
        if made.chance(40) {
            shell(made, style, &format!("python -m py_compile {path}"), 0, "");
        }
    }
    shell(made, style, "python -m pytest -q", 0, "213 passed in 9.21s");
}

fn tasks_done(made: &mut Made) {
    made.begin(8);
    let style = made.below(4);
    let tasks: Vec<_> = (0..30)
        .map(|number| format!("Step {number}: {}", made.words(4)))
        .collect();
    for done in 0..=tasks.len() {
        made.call("TodoWrite", todos(&tasks, done), TODOS_WRITTEN);
        for _ in 0..made.between(1, 3) {
            let path = made.file();
            if made.chance(40) {
                let text = made.words(25);
                made.call(
                    "Read",
                    json!({"file_path": path}),
                    format!("     1\t{text}\n"),
                );
            } else {
                apply(made, &path);
            }
        }
        if made.chance(50) {
            shell(
                made,
                style,
                "cargo check",
                0,
                "    Finished `dev` profile [unoptimized + debuginfo] target(s) in 0.61s",
            );
        }
    }
}

fn reads_together(made: &mut Made) {
    made.begin(8);
    for _ in 0..made.between(8, 14) {
        let mut calls = Vec::new();
        for _ in 0..made.between(2, 5) {
            let (file, word, text, line) = (
                made.file(),
                made.word(),
                made.words(20),
                made.between(1, 400),
            );
            let name = made.words(2).replace(' ', "_");
            calls.push(match made.below(4) {
                0 => (
                    "Read",
                    json!({"file_path": format!("/home/me/app/{file}")}),
                    json!(format!("     1\t{text}\n")),
                ),
                1 => (
                    "Glob",
                    json!({"pattern": format!("**/*{word}*.ts")}),
                    json!("No files found"),
                ),
                2 => (
                    "Grep",
                    json!({"pattern": name, "path": "src"}),
                    json!("No matches found"),
                ),
                _ => (
                    "Grep",
                    json!({"pattern": format!("fn {name}"), "output_mode": "content"}),
                    json!(format!("{file}:{line}:{text}")),
                ),
            });
        }
        together(made, calls);
        if made.chance(30) {
            let text = made.words(12);
            made.says(&format!("So far: {text}."));
        }
    }
}

fn upgrades(made: &mut Made) {
    made.begin(8);
    let style = made.below(4);
    for number in 0..made.between(50, 70) {
        let name = format!("{}-{}", made.word(), made.word());
        let (major, minor) = (made.between(1, 9), made.between(0, 30));
        shell(
            made,
            style,
            &format!("npm view {name} version"),
            0,
            &format!("{major}.{minor}.0"),
        );
        let seconds = made.between(1, 9);
        shell(
            made,
            style,
            &format!("npm install {name}@{major}.{minor}.0"),
            0,
            &format!(
                "\nchanged 1 package, and audited 812 packages in {seconds}s\n\n94 packages are looking for funding\n  run `npm fund` for details\n\nfound 0 vulnerabilities"
            ),
        );
        let broken = made.chance(15);
        let millis = made.between(2_000, 9_000);
        if broken {
            let (path, line, class) = (made.file(), made.between(1, 200), made.word());
            shell(
                made,
                style,
                "npm test -- --silent",
                1,
                &format!(
                    "FAIL {path}\n  TypeError: {}.create is not a function (line {line})\nTests: 1 failed, 211 passed, 212 total\nTime: {}.{:03} s",
                    class,
                    millis / 1_000,
                    millis % 1_000
                ),
            );
            apply(made, &path);
        }
        shell(
            made,
            style,
            "npm test -- --silent",
            0,
            &format!(
                "Tests: 212 passed, 212 total\nTime: {}.{:03} s",
                millis / 1_000,
                millis % 1_000
            ),
        );
        shell(
            made,
            style,
            &format!("git commit -qam \"Upgrade {name}\""),
            0,
            "",
        );
        if number % 10 == 9 {
            shell(made, style, "git status --short", 0, "");
        }
    }
}
