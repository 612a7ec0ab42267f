//! Agents whose only tool is a shell: loops, and work that looks like them. Written before it was measured what is found of
//! them.

use serde_json::json;

use super::lookalikes::Work;
use super::loops::Loop;
use super::made::Made;

pub(super) const LOOPS: &[Loop] = &[
    ("shell: sed that never matches", 6, sed_never_matches),
    ("shell: nothing to commit", 6, nothing_to_commit),
    ("shell: tests that differ in their time", 6, tests_by_time),
    ("shell: curl, ever longer pauses", 9, curl_backs_off),
    (
        "shell: a number changes, the failure not",
        6,
        number_changes,
    ),
    ("shell: round the same three files", 6, same_three_files),
    ("shell: an install that fails again", 6, install_fails),
    ("shell: edit and checkout", 6, edit_and_checkout),
    ("shell: a script written anew", 6, script_rewritten),
    ("shell: a server that never comes up", 6, server_never_up),
];

pub(super) const WORK: &[Work] = &[
    ("shell: sed through many files", sed_many_files),
    ("shell: a commit after each edit", commit_each_edit),
    ("shell: tests between edits, slowly better", tests_improve),
    ("shell: curl until it is up", curl_until_up),
    ("shell: a number is tuned", number_tuned),
    ("shell: looking around and back", looking_around),
    ("shell: many installs, some by detours", many_installs),
    ("shell: a revert and another way", revert_once),
    ("shell: scripts that differ", scripts_differ),
    ("shell: a build that is watched", build_watched),
    ("shell: compiler errors one by one", compiler_errors),
    ("shell: quiet commands", quiet_commands),
];

const ROUNDS: usize = 10;

fn begin(made: &mut Made) {
    let (steps, file) = (made.between(1, 8), made.file());
    made.sh("ls", "README.md\nsrc\ntests");
    made.sh(&format!("cat {file}"), &format!("# {file}\nimport os\n"));
    for _ in 0..steps {
        explore(made);
    }
    made.begins = made.events.len();
}

/// One step of work in a shell that finds something.
fn explore(made: &mut Made) {
    let (file, word, words) = (made.file(), made.word(), made.words(9));
    let number = made.between(1, 400);
    match made.below(4) {
        0 => made.sh(
            &format!("cat {file}"),
            &format!("def {word}():\n    return '{words}'\n"),
        ),
        1 => made.sh(
            &format!("grep -rn {word} src"),
            &format!("{file}:{number}: {words}"),
        ),
        2 => made.sh(
            &format!("sed -n '{number},{}p' {file}", number + 40),
            &words,
        ),
        _ => made.sh(
            &format!("ls -la {file}"),
            &format!("-rw-r--r-- 1 root root {number} {file}"),
        ),
    }
}

fn sed_never_matches(made: &mut Made) {
    begin(made);
    let (file, old, new, rest) = (made.file(), made.word(), made.word(), made.words(20));
    let content = format!("def {old}(x):\n    # {rest}\n    return x\n");
    let forms = [
        format!("sed -i 's/{old}(a)/{new}(a)/' {file}"),
        format!("sed -i 's/{old} (x)/{new}(x)/g' {file}"),
        format!("sed -i \"s/def  {old}/def {new}/\" {file}"),
        format!("sed -i 's/^{old}/{new}/' {file}"),
        format!("sed -i -E 's/{old}\\(y\\)/{new}(y)/' {file}"),
    ];
    let same = made.chance(40);
    for round in 0..ROUNDS {
        let form = if same {
            &forms[0]
        } else {
            &forms[round % forms.len()]
        };
        made.sh(form, "");
        made.sh(&format!("cat {file}"), &content);
        made.again();
    }
}

fn nothing_to_commit(made: &mut Made) {
    begin(made);
    for _ in 0..ROUNDS {
        let message = made.words(4);
        let add = made.pick(&["git add -A && ", "git add . && ", ""]);
        made.fails(
            "bash",
            json!({"command": format!("{add}git commit -m \"{message}\"")}),
            "On branch main\nnothing to commit, working tree clean",
        );
        if made.chance(40) {
            made.sh(
                "git status",
                "On branch main\nnothing to commit, working tree clean",
            );
        }
        made.again();
    }
}

fn tests_by_time(made: &mut Made) {
    begin(made);
    let (file, words) = (made.file(), made.words(4));
    let forms = [
        "pytest -q",
        "python -m pytest -q",
        "pytest",
        "pytest -x",
        "pytest -q --tb=short",
    ];
    let same = made.chance(50);
    for round in 0..ROUNDS {
        let form = if same {
            forms[0]
        } else {
            forms[round % forms.len()]
        };
        let printed = format!(
            "F...\n{file}: AssertionError: {words}\n1 failed, 3 passed in {}.{:02}s",
            made.between(1, 3),
            made.below(100)
        );
        made.fails("bash", json!({"command": form}), &printed);
        made.again();
    }
}

fn curl_backs_off(made: &mut Made) {
    begin(made);
    let port = made.between(3_000, 9_000);
    let mut pause = 1;
    for _ in 0..ROUNDS + 4 {
        let took = made.below(9);
        made.fails(
            "bash",
            json!({"command": format!("sleep {pause} && curl -s http://localhost:{port}/health")}),
            &format!("curl: (7) Failed to connect to localhost port {port} after {took} ms: Connection refused"),
        );
        made.pause(pause);
        pause = (pause * 2).min(60);
        made.again();
    }
}

fn number_changes(made: &mut Made) {
    begin(made);
    let (word, name) = (made.word(), made.word());
    for round in 0..ROUNDS {
        made.fails(
            "bash",
            json!({"command": format!("python -c \"import {word}; print({word}.{name}({}))\"", round * 10 + 1)}),
            &format!("Traceback (most recent call last):\n  File \"<string>\", line 1, in <module>\nAttributeError: module '{word}' has no attribute '{name}'"),
        );
        made.again();
    }
}

fn same_three_files(made: &mut Made) {
    begin(made);
    let files: Vec<_> = (0..3).map(|_| (made.file(), made.words(25))).collect();
    for _ in 0..ROUNDS {
        let first = made.below(3);
        for step in 0..3 {
            let (file, text) = &files[(first + step) % 3];
            if made.chance(20) {
                made.sh("ls src", "a.py\nb.py\nc.py");
            }
            let form = made.pick(&["cat", "cat", "head -100"]);
            made.sh(&format!("{form} {file}"), text);
        }
        made.again();
    }
}

fn install_fails(made: &mut Made) {
    begin(made);
    let name = format!("{}-{}", made.word(), made.word());
    let style = made.below(3);
    let flags = [
        "",
        " --user",
        " --no-cache-dir",
        " --upgrade",
        " --force-reinstall",
        " -v",
        " --pre",
    ];
    for round in 0..ROUNDS {
        let flag = flags[round % flags.len()];
        let (command, error) = match style {
            0 => (
                format!("pip install {name}=={}.{}{flag}", round % 3, round),
                format!(
                    "ERROR: Could not find a version that satisfies the requirement {name}=={}.{} (from versions: none)\nERROR: No matching distribution found for {name}=={}.{}",
                    round % 3,
                    round,
                    round % 3,
                    round
                ),
            ),
            1 => (
                format!(
                    "apt-get install -y {name}{}",
                    ["", "-dev", "1", "-bin"][round % 4]
                ),
                format!(
                    "Reading package lists...\nBuilding dependency tree...\nE: Unable to locate package {name}{}",
                    ["", "-dev", "1", "-bin"][round % 4]
                ),
            ),
            _ => (
                format!("pip install {name}{flag}"),
                format!(
                    "  error: subprocess-exited-with-error\n  × Building wheel for {name} did not run successfully.\n  │ exit code: 1\n  gcc: fatal error: no input files (after {}.{}s)",
                    made.below(9),
                    made.below(99)
                ),
            ),
        };
        made.fails("bash", json!({"command": command}), &error);
        made.again();
    }
}

fn edit_and_checkout(made: &mut Made) {
    begin(made);
    let (file, old, new, words) = (made.file(), made.word(), made.word(), made.words(4));
    for _ in 0..ROUNDS {
        made.sh(&format!("sed -i 's/{old}/{new}/' {file}"), "");
        let first = format!(
            "E   NameError: name '{new}' is not defined\n1 failed in 0.{}s",
            made.between(10, 99)
        );
        made.fails("bash", json!({"command": "pytest -q"}), &first);
        made.sh(
            &format!("git checkout {file}"),
            "Updated 1 path from the index",
        );
        let second = format!(
            "E   AssertionError: {words}\n1 failed in 0.{}s",
            made.between(10, 99)
        );
        made.fails("bash", json!({"command": "pytest -q"}), &second);
        made.again();
    }
}

fn script_rewritten(made: &mut Made) {
    begin(made);
    let lines: Vec<_> = (0..12)
        .map(|at| format!("{}_{at} = {}", made.word(), made.below(99)))
        .collect();
    let (name, missing) = (made.word(), made.word());
    let two_steps = made.chance(50);
    for round in 0..ROUNDS {
        let mut script = lines.clone();
        script[0] = format!("import {missing}");
        script[made.between(1, 11)] = format!("# try {round}: {}", made.words(2));
        let text = script.join("\n");
        let error = format!(
            "Traceback (most recent call last):\n  File \"{name}.py\", line {}, in <module>\nModuleNotFoundError: No module named '{missing}'",
            made.between(2, 12)
        );
        if two_steps {
            made.sh(&format!("cat > {name}.py <<'EOF'\n{text}\nEOF"), "");
            made.fails(
                "bash",
                json!({"command": format!("python {name}.py")}),
                &error,
            );
        } else {
            made.fails("bash", json!({"command": format!("cat > {name}.py <<'EOF'\n{text}\nEOF\npython {name}.py")}), &error);
        }
        made.again();
    }
}

fn server_never_up(made: &mut Made) {
    begin(made);
    let port = made.between(3_000, 9_000);
    let refused =
        format!("curl: (7) Failed to connect to localhost port {port}: Connection refused");
    for _ in 0..ROUNDS {
        made.fails(
            "bash",
            json!({"command": format!("curl -s localhost:{port}")}),
            &refused,
        );
        match made.below(4) {
            0 => made.sh("ps aux | grep server | grep -v grep", ""),
            1 => {
                let (seconds, pid) = (made.between(1, 5), made.between(9_000, 30_000));
                made.sh(
                    &format!("npm start > server.log 2>&1 & echo $! && sleep {seconds}"),
                    &pid.to_string(),
                );
            }
            2 => made.sh(
                "tail -5 server.log",
                "Error: Cannot find module 'express'\nNode.js v20.11.0",
            ),
            _ => made.sh(&format!("lsof -i :{port}"), ""),
        }
        made.again();
    }
}

fn sed_many_files(made: &mut Made) {
    begin(made);
    let (old, new) = (made.word(), made.word());
    for _ in 0..made.between(8, 16) {
        let file = made.file();
        made.sh(&format!("sed -i 's/{old}/{new}/g' {file}"), "");
        if made.chance(30) {
            let changed = made.events.len();
            made.sh(
                "git diff --stat | tail -1",
                &format!(" {changed} files changed"),
            );
        }
    }
    made.sh(&format!("grep -rn {old} src"), "");
}

fn commit_each_edit(made: &mut Made) {
    begin(made);
    for _ in 0..made.between(5, 10) {
        let (file, words, message, id) = (made.file(), made.words(3), made.words(4), made.hex());
        made.sh(&format!("echo '{words}' >> {file}"), "");
        made.sh(
            &format!("git commit -am '{message}'"),
            &format!(
                "[main {}] {message}\n 1 file changed, 1 insertion(+)",
                &id[..7]
            ),
        );
        made.sh("git status --short", "");
    }
}

fn tests_improve(made: &mut Made) {
    begin(made);
    let mut failed = made.between(4, 8);
    while failed > 0 {
        for _ in 0..made.between(1, 2) {
            let (file, line, words) = (made.file(), made.between(1, 90), made.words(3));
            made.sh(&format!("sed -i '{line}s/.*/{words}/' {file}"), "");
        }
        let words = made.words(3);
        // Now and then a change does not help.
        failed -= usize::from(made.chance(70));
        let printed = format!(
            "{words}\n{failed} failed, {} passed in 0.{}s",
            40 - failed,
            made.between(10, 99)
        );
        if failed > 0 {
            made.fails("bash", json!({"command": "pytest -q"}), &printed);
        } else {
            made.sh("pytest -q", &printed);
        }
    }
}

fn curl_until_up(made: &mut Made) {
    begin(made);
    let port = made.between(3_000, 9_000);
    made.sh("docker compose up -d", "Container web Started");
    let mut pause = 1;
    for _ in 0..made.between(2, 5) {
        made.fails(
            "bash",
            json!({"command": format!("sleep {pause}; curl -s localhost:{port}/health")}),
            &format!("curl: (7) Failed to connect to localhost port {port}: Connection refused"),
        );
        made.pause(pause);
        pause *= 2;
    }
    made.sh(
        &format!("curl -s localhost:{port}/health"),
        "{\"status\":\"ok\"}",
    );
    for _ in 0..5 {
        explore(made);
    }
}

fn number_tuned(made: &mut Made) {
    begin(made);
    let word = made.word();
    for step in 1..made.between(7, 14) {
        let (score, best) = (made.between(400, 990), made.chance(30));
        let printed = if best {
            String::from("converged: no")
        } else {
            format!("score: 0.{score}")
        };
        made.sh(&format!("python train.py --{word} 0.{step}"), &printed);
    }
}

fn looking_around(made: &mut Made) {
    begin(made);
    let files: Vec<_> = (0..4).map(|_| (made.file(), made.words(25))).collect();
    for round in 0..made.between(3, 5) {
        for (file, text) in &files {
            if made.chance(60) {
                made.sh(&format!("cat {file}"), text);
            }
            explore(made);
            if made.chance(50) {
                explore(made);
            }
        }
        made.sh("git status --short", &format!(" M src/{round}.py"));
    }
}

fn many_installs(made: &mut Made) {
    begin(made);
    for _ in 0..made.between(5, 9) {
        let name = format!("{}-{}", made.word(), made.word());
        let (fetched, version) = (made.below(9_000), made.below(90));
        if made.chance(30) {
            made.fails(
                "bash",
                json!({"command": format!("apt-get install -y {name}")}),
                &format!("E: Unable to locate package {name}"),
            );
            made.sh("apt-get update", &format!("Fetched {fetched} kB in 2s"));
        }
        made.sh(
            &format!("apt-get install -y {name}"),
            &format!("Setting up {name} (1.{version}) ..."),
        );
    }
}

fn revert_once(made: &mut Made) {
    begin(made);
    for _ in 0..2 {
        let (file, one, other) = (made.file(), made.word(), made.word());
        made.sh(&format!("sed -i 's/{one}/{other}/' {file}"), "");
        let error = format!("E   NameError: name '{other}' is not defined\n1 failed in 0.21s");
        made.fails("bash", json!({"command": "pytest -q"}), &error);
        made.sh(
            &format!("git checkout {file}"),
            "Updated 1 path from the index",
        );
        explore(made);
        let words = made.words(3);
        made.sh(&format!("sed -i 's/{one}/{words}/' {file}"), "");
        let passed = 40 + made.events.len();
        made.sh("pytest -q", &format!("{passed} passed in 0.30s"));
    }
}

fn scripts_differ(made: &mut Made) {
    begin(made);
    for _ in 0..made.between(5, 10) {
        let (name, text, result) = (made.word(), made.words(14), made.words(4));
        made.sh(
            &format!("cat > {name}.py <<'EOF'\nprint('{text}')\nEOF"),
            "",
        );
        if made.chance(30) {
            let line = made.between(1, 30);
            made.fails(
                "bash",
                json!({"command": format!("python {name}.py")}),
                &format!(
                    "  File \"{name}.py\", line {line}\nSyntaxError: invalid syntax near '{text}'"
                ),
            );
            made.sh(&format!("sed -i '{line}d' {name}.py"), "");
        }
        made.sh(&format!("python {name}.py"), &result);
    }
}

fn build_watched(made: &mut Made) {
    begin(made);
    made.sh("make all > build.log 2>&1 &", "");
    for step in 1..made.between(6, 14) {
        let (file, word) = (made.file(), made.word());
        made.sh(
            "sleep 20; tail -2 build.log",
            &format!("CC {file}\nLD {word}.o [{step}/40]"),
        );
        made.pause(20);
    }
}

fn compiler_errors(made: &mut Made) {
    begin(made);
    let file = made.file();
    for _ in 0..made.between(4, 9) {
        let (word, other, line) = (made.word(), made.word(), made.between(1, 300));
        made.fails(
            "bash",
            json!({"command": "cargo build 2>&1 | tail -20"}),
            &format!("error[E0425]: cannot find value `{word}` in this scope\n --> {file}:{line}:9\nerror: could not compile `app` due to 1 previous error"),
        );
        made.sh(&format!("sed -i '{line}s/{word}/{other}/' {file}"), "");
    }
    made.sh(
        "cargo build 2>&1 | tail -20",
        "    Finished dev profile in 3.21s",
    );
}

fn quiet_commands(made: &mut Made) {
    begin(made);
    for _ in 0..made.between(10, 24) {
        let (file, word, other) = (made.file(), made.word(), made.word());
        let command = match made.below(6) {
            0 => format!("mkdir -p build/{word}"),
            1 => format!("cp {file} build/{word}/{other}"),
            2 => format!("chmod +x scripts/{word}.sh"),
            3 => format!("export {}={other}", word.to_uppercase()),
            4 => format!("touch {file}"),
            _ => format!("echo {other} > {file}"),
        };
        made.sh(&command, "");
    }
}
