//! Agents whose only tool is a shell: the tool's name says nothing, so that only commands and what they print can tell.

use serde_json::{Value, json};

use crate::support::{call, check, checked, failed, is_warned_of, later};

fn sh(command: &str, printed: &str) -> Value {
    call("bash", command, printed)
}

fn fails(command: &str, printed: &str) -> Value {
    failed("bash", command, printed)
}

const EDIT: &str = "sed -i 's/a/b/' src/lib.rs";

/// Given one command that prints the same again and again, it is a loop; the same command over a tree that grows is not.
#[test]
fn repeated_listings() {
    let same: Vec<_> = (0..5).map(|_| sh("ls", "a.rs\nb.rs")).collect();
    check(&same, &["no_progress", "repeated_tool_call_exact_input"]);
    let files = ["a.rs", "a.rs b.rs", "a.rs b.rs c.rs", "a.rs b.rs c.rs d.rs"];
    let grows: Vec<_> = files
        .iter()
        .enumerate()
        .flat_map(|(i, files)| [sh(&format!("touch {i}.rs"), ""), sh("ls", files)])
        .collect();
    check(&grows, &[]);
}

/// Given a file that is read in pieces, or again after each edit, it is work; read again and again with nothing between, it
/// is a loop.
#[test]
fn files_that_are_read_again() {
    let piece = |i: usize| {
        let (from, to) = (i * 100 + 1, i * 100 + 100);
        sh(
            &format!("sed -n '{from},{to}p' src/lib.rs"),
            &format!("fn part_{i}() {{ body {i} }}"),
        )
    };
    let pieces: Vec<_> = (0..8).map(piece).collect();
    check(&pieces, &[]);
    let edited = |i: usize| {
        [
            sh(&format!("sed -i 's/v{i}/w/' src/lib.rs"), ""),
            sh("cat src/lib.rs", &format!("fn f() {{ {i} }}")),
        ]
    };
    let edits: Vec<_> = (0..6).flat_map(edited).collect();
    check(&edits, &[]);
    let stuck: Vec<_> = (0..5).map(|_| sh("cat src/lib.rs", "fn f() {}")).collect();
    check(&stuck, &["no_progress", "repeated_tool_call_exact_input"]);
}

/// Given tests after edits, fewer failures, or other ones, are progress; the same failure after each edit is not.
#[test]
fn tests_after_edits() {
    let round = |i: usize, printed: &str| {
        [
            sh(&format!("sed -i '{i}d' src/lib.rs"), ""),
            fails("cargo test", printed),
        ]
    };
    let better: Vec<_> = (1..7)
        .rev()
        .flat_map(|left| {
            round(
                left,
                &format!("test result: FAILED. {left} failed; finished in 0.0{left}s"),
            )
        })
        .collect();
    check(&better, &[]);
    let names = ["parse", "print", "walk", "sort", "merge", "split"];
    let other: Vec<_> = (0..6)
        .flat_map(|i| {
            round(
                i,
                &format!("---- {} stdout ---- assertion failed", names[i]),
            )
        })
        .collect();
    check(&other, &[]);
    let stuck: Vec<_> = (1..7)
        .flat_map(|i| {
            round(
                i,
                "---- parse stdout ---- assertion failed: left 3, right 4",
            )
        })
        .collect();
    check(
        &stuck,
        &[
            "no_progress",
            "repeated_tool_call_exact_input",
            "repeated_tool_call_similar_input",
            "same_error",
        ],
    );
}

/// Given a program that fails with one error, and prints something else before it each time, somebody looks for the cause; where
/// it prints the same, or where other programs fail so, it is a standstill.
#[test]
fn one_error_behind_other_prints() {
    let round = |i: usize, command: &str, printed: &str| {
        let words = [
            "rows", "header", "zone", "first", "last", "format", "cell", "sheet", "name",
        ];
        let traced = format!(
            "{printed}\nTraceback (most recent call last):\n  File \"load.py\", line {i}, in <module>\nValueError: time data does not match the format"
        );
        let answer = json!({"returncode": 1, "output": traced});
        [
            call(
                "edit_file",
                &format!("insert {i}: print('{}')", words[i]),
                "edited",
            ),
            sh(command, &answer.to_string()),
        ]
    };
    let prints = [
        "rows of harbour",
        "a header",
        "no zone",
        "the first is a ferry",
        "last one",
        "as in May",
        "cell is blank",
        "sheet of ledgers",
        "name: orchid",
    ];
    let looked: Vec<_> = (0..9)
        .flat_map(|i| round(i, "python load.py", prints[i]))
        .collect();
    check(&looked, &[]);
    let same: Vec<_> = (0..9)
        .flat_map(|i| round(i, "python load.py", "loading"))
        .collect();
    check(
        &same,
        &[
            "repeated_tool_call_exact_input",
            "repeated_tool_call_similar_input",
            "same_error",
        ],
    );
    let others: Vec<_> = (0..9)
        .flat_map(|i| {
            round(
                i,
                &format!("python load_{}.py", ["a", "b", "c"][i % 3]),
                prints[i],
            )
        })
        .collect();
    check(&others, &["same_error"]);
}

/// Given builds, fewer errors are progress even where the command is one; the same error again and again is none.
#[test]
fn builds_that_fail() {
    let build = |left: usize| fails("make", &format!("error: could not compile, {left} errors"));
    let better: Vec<_> = (1..8)
        .rev()
        .flat_map(|left| [sh(EDIT, ""), build(left)])
        .collect();
    check(&better, &[]);
    let stuck: Vec<_> = (0..6).map(|_| build(3)).collect();
    check(
        &stuck,
        &[
            "no_progress",
            "repeated_tool_call_exact_input",
            "repeated_tool_call_similar_input",
            "retry_storm",
            "same_error",
        ],
    );
    // Up and down between two states of the code is going round, however many edits lie between.
    let swings: Vec<_> = (0..12)
        .flat_map(|i| {
            [
                sh(
                    if i % 2 == 0 {
                        EDIT
                    } else {
                        "git checkout src/lib.rs"
                    },
                    "",
                ),
                build(3 + i % 2),
            ]
        })
        .collect();
    check(
        &swings,
        &[
            "no_progress",
            "repeated_tool_call_exact_input",
            "repeated_tool_call_similar_input",
            "tool_cycle",
        ],
    );
}

/// Given a job that is looked at with a pause before it, waiting is silent for its time; without a pause it is a loop.
#[test]
fn jobs_that_are_polled() {
    let look = |i: u64| later(sh("sleep 5; kubectl get pods", "web-0 0/1 Pending"), 8 * i);
    let polls: Vec<_> = (1..30).map(look).collect();
    check(&polls, &[]);
    let look = |i: u64| {
        later(
            sh("sleep 20 && kubectl get pods", "web-0 0/1 Pending"),
            23 * i,
        )
    };
    let polls: Vec<_> = (1..80).map(look).collect();
    check(&polls, &["no_progress", "repeated_tool_call_exact_input"]);
    let hasty: Vec<_> = (1..8)
        .map(|i| later(sh("kubectl get pods", "web-0 0/1 Pending"), 3 * i))
        .collect();
    check(&hasty, &["no_progress", "repeated_tool_call_exact_input"]);
    let ages: Vec<_> = (1..8)
        .map(|i| {
            later(
                sh(
                    "sleep 5; kubectl get pods",
                    &format!("web-0 0/1 Pending 0 {}s", 8 * i),
                ),
                8 * i,
            )
        })
        .collect();
    check(&ages, &[]);
}

/// Given searches with other patterns, hits are work, and so are a few misses; the same miss in near-equal words is a dead end.
#[test]
fn searches() {
    let hits = ["parse", "print", "walk", "sort", "merge", "split"];
    let found: Vec<_> = hits
        .iter()
        .map(|word| {
            sh(
                &format!("grep -rn {word} src"),
                &format!("src/{word}.rs:1: fn {word}()"),
            )
        })
        .collect();
    check(&found, &[]);
    let mixed = hits.iter().enumerate().map(|(i, word)| {
        let hit = format!("src/a.rs:{i}: {word}");
        sh(
            &format!("grep -rn {word} src"),
            if i % 2 == 0 { &hit } else { "" },
        )
    });
    let mixed: Vec<_> = mixed.collect();
    check(&mixed, &[]);
    let misses: Vec<_> = (0..6)
        .map(|i| {
            sh(
                &format!(
                    "grep -rn \"runtime_config{}\" src",
                    ["", "s", "_", "_v", "_x", "_y"][i]
                ),
                "",
            )
        })
        .collect();
    check(
        &misses,
        &[
            "empty_result_loop",
            "no_progress",
            "repeated_tool_call_similar_input",
        ],
    );
}

/// Given long work of other commands with other results, it is silent, however long.
#[test]
fn long_work() {
    let words = ["alpha", "beta", "gamma", "delta", "omega", "sigma", "kappa"];
    let step = |i: usize| {
        let (a, b) = (words[i % 7], words[(i / 7) % 7]);
        match i % 4 {
            0 => sh(
                &format!("cat src/{a}/{b}.rs"),
                &format!("mod {a}; use {b}; // {i}"),
            ),
            1 => sh(&format!("sed -i 's/{a}/{b}/' src/{b}.rs"), ""),
            2 => sh(&format!("git diff src/{b}.rs"), &format!("-{a}\n+{b}\n{i}")),
            _ => sh(
                &format!("cargo test {a}::{b}"),
                &format!("test result: ok. {} passed", i + 1),
            ),
        }
    };
    let work: Vec<_> = (0..120).map(step).collect();
    check(&work, &[]);
}

/// Given a look at the same state now and then amid work that brings new things, it is silent.
#[test]
fn looks_at_the_same_state() {
    let words = ["parse", "print", "walk", "sort", "merge"];
    let work = |i: usize| {
        let word = words[i];
        [
            sh(&format!("cat src/{word}.rs"), &format!("fn {word}() {{}}")),
            sh("git status --short", "?? notes.txt"),
            sh(&format!("sed -i 's/x/{word}/' src/{word}.rs"), ""),
        ]
    };
    let events: Vec<_> = (0..5).flat_map(work).collect();
    check(&events, &[]);
}

/// Given a command that fails in the same way whatever is changed about it, it is seen.
#[test]
fn one_error_under_other_commands() {
    let ways = [
        "pip install torch",
        "pip3 install torch",
        "python -m pip install torch",
        "sudo pip install torch",
        "pip install --user torch",
    ];
    let tries: Vec<_> = ways
        .iter()
        .map(|way| fails(way, "ERROR: No space left on device"))
        .collect();
    check(&tries, &["no_progress", "same_error"]);
}

/// Given checks that pass alike after each edit without a word, each is about another edit; a look at what no edit changes is not
/// excused by them.
#[test]
fn checks_after_quiet_edits() {
    let passed = "Test Suites: 34 passed, 34 total\nTests:       412 passed, 412 total\nRan all test suites.";
    let files = [
        "lease", "grade", "boat", "tide", "rope", "sail", "mast", "keel",
    ];
    let rounds = |look: &str, printed: &str| -> Vec<Value> {
        let round = |file: &&str| {
            [
                sh(
                    &format!("sed -i 's/old_{file}/new_{file}/' src/{file}.js"),
                    "",
                ),
                sh(look, printed),
            ]
        };
        files.iter().flat_map(round).collect()
    };
    check(&rounds("npm test", passed), &[]);
    check(
        &rounds(
            "grep -rn 'deprecated' src | head",
            "src/harbour.js:17: // deprecated since the last flood, to be removed",
        ),
        &[
            "no_progress",
            "repeated_tool_call_exact_input",
            "repeated_tool_call_similar_input",
        ],
    );
}

/// Given a command whose description is worded anew each time, as coding agents do: tests that pass after each edit are work, and
/// the command again and again a loop.
#[test]
fn descriptions_beside_commands() {
    const WORDS: [&str; 6] = [
        "Run tests",
        "Run the tests again",
        "Verify the fix",
        "Check that all is well",
        "Re-run the suite",
        "Make sure nothing broke",
    ];
    let test = |number: usize| {
        let mut test = sh(
            "npm test",
            "Test Suites: 2 passed, 2 total\nTests:       12 passed, 12 total",
        );
        test["input"]["description"] = json!(WORDS[number]);
        test
    };
    let edit = |number: usize| {
        let mut edit = call(
            "Edit",
            &format!("src/m{number}.ts"),
            "The file has been updated successfully.",
        );
        edit["input"]["new_string"] = json!(WORDS[number].repeat(number + 1));
        edit
    };
    let work: Vec<_> = (0..6)
        .flat_map(|number| [edit(number), test(number)])
        .collect();
    check(&work, &[]);
    let loops: Vec<_> = (0..6).map(test).collect();
    check(
        &loops,
        &[
            "no_progress",
            "repeated_tool_call_exact_input",
            "repeated_tool_call_similar_input",
        ],
    );
}

/// Given a command in the background that is looked at while it runs, however its shell says so, that is waiting.
#[test]
fn commands_in_the_background() {
    for running in [
        "<status>running</status>",
        "<retrieval_status>timeout</retrieval_status>\n\n<task_id>b1</task_id>\n\n<status>running</status>",
        "The command is still running.",
    ] {
        let look = |number: u64| later(call("BashOutput", "b1", running), 16 * number);
        let looks: Vec<_> = (0..12).map(look).collect();
        check(&looks, &[]);
    }
}

/// Given a command that makes something up each time, as a password, each is another one; the same word again and again is not, nor
/// are ids of what is begun anew.
#[test]
fn what_is_made_up_by_chance() {
    let id = |nth: u64| {
        format!(
            "{:016x}{:016x}",
            0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(nth + 3),
            0xbf58_476d_1ce4_e5b9_u64.wrapping_mul(nth + 5)
        )
    };
    let runs = |command: &str, again: bool| -> Vec<Value> {
        (0..8)
            .map(|nth| sh(command, &id(if again { 1 } else { nth })))
            .collect()
    };
    for command in [
        "openssl rand -hex 16",
        "uuidgen",
        "python3 -c 'import secrets; print(secrets.token_hex(16))'",
    ] {
        check(&runs(command, false), &[]);
        assert!(is_warned_of(&runs(command, true)));
    }
    assert!(is_warned_of(&runs("docker run -d river/app", false)));
}

/// Given a command that is timed, at whatever pace, it is measured some times; not without end, and not where it is just run.
#[test]
fn commands_that_are_timed() {
    let runs = |command: &str, count: u64| -> Vec<Value> {
        let pause = |nth: u64| 7 * nth + 11 * (nth % 3);
        let run = |nth: u64| {
            let printed = format!(
                "4711\n\nreal\t0m{}.{nth}12s\nuser\t0m1.{nth}40s\nsys\t0m0.0{nth}0s",
                2 + nth % 3
            );
            later(sh(command, &printed), pause(nth))
        };
        (0..count).map(run).collect()
    };
    for program in ["./solver big.in", "python3 solve.py"] {
        let timed = format!("time {program}");
        check(&runs(&timed, 7), &[]);
        assert!(is_warned_of(&runs(&timed, 16)));
        assert!(is_warned_of(&runs(program, 7)));
    }
}

/// Given a benchmark that is run some times before and after a change, of which times alone differ, that is measuring; what is run
/// without end goes round.
#[test]
fn benchmarks() {
    let bench = |number: usize| {
        let printed = format!("parse: {}.6 ms\nencode: 46.{number} ms", 100 + number);
        call("Bash", "./target/release/bench --suite core", &printed)
    };
    let build = call(
        "Bash",
        "git checkout feature && cargo build --release",
        "Finished",
    );
    let before = (0..7).map(bench);
    let both: Vec<_> = before.clone().chain([build]).chain(before).collect();
    check(&both, &[]);
    let endless: Vec<_> = (0..16).map(bench).collect();
    let warned = checked("", &endless);
    assert_ne!(warned["runs"][0]["status"], "healthy", "{warned:#}");
}
