//! Loops and what looks like them, rule by rule: what is warned of, and what is not.

use serde_json::{Value, json};

use crate::support::{call, check, checked, failed, is_warned_of, later, said};

/// Given failures that may pass, honest back-off is silent however long; hammering is a storm, later than other failures.
#[test]
fn transient_failures() {
    let limited = |seconds| later(failed("fetch", "rates", "429 Too Many Requests"), seconds);
    let backing_off: Vec<_> = (1..9).map(|power| limited(1 << power)).collect();
    check(&backing_off, &[]);
    let hammering: Vec<_> = (1..8).map(limited).collect();
    check(&hammering[..5], &[]);
    check(&hammering, &["retry_storm"]);
}

/// Given a job that is looked at every half minute, waiting is silent for its ten minutes and a loop after them.
#[test]
fn waiting_has_a_budget() {
    let poll = |minute_half: u64| later(call("job", "status", "still running"), minute_half * 30);
    let polls: Vec<_> = (1..18).map(poll).collect();
    check(&polls, &[]);
    let polls: Vec<_> = (1..28).map(poll).collect();
    check(&polls, &["repeated_tool_call_exact_input"]);
}

/// Given answers that say that something is under way, it may be asked for some times more; given failures in a list that is gone
/// through, more of them may be alike; and what works at last is headway.
#[test]
fn what_is_not_done_yet_is_asked_for_again() {
    let ask = |times: usize, state: &str| -> Vec<Value> {
        let answer = json!({"id": 7, "state": state}).to_string();
        vec![call("get_job", "7", &answer); times]
    };
    check(&ask(3, "in_progress"), &[]);
    check(&ask(6, "in_progress"), &["repeated_tool_call_exact_input"]);
    check(&ask(3, "open"), &["repeated_tool_call_exact_input"]);
    let ask = |times: usize, done: bool| -> Vec<Value> {
        let answer = json!({"id": 7, "done": done}).to_string();
        vec![call("get_job", "7", &answer); times]
    };
    check(&ask(3, false), &[]);
    check(&ask(6, false), &["repeated_tool_call_exact_input"]);
    check(&ask(3, true), &["repeated_tool_call_exact_input"]);
    // At an honest pace, in whatever words.
    for words in [
        "Deployment is in progress.",
        "Status: RUNNING",
        "Building...",
        "Your request is being processed.",
        r#"{"Status":"InProgress"}"#,
        r#"{"ready":false}"#,
        r#"{"jobs":[{"id":"j1","status":"running"}]}"#,
    ] {
        let ask = |time: u64| later(call("get_job", "7", words), time * 14);
        check(&(1..12).map(ask).collect::<Vec<_>>(), &[]);
        let long: Vec<_> = (1..60).map(ask).collect();
        let answer = checked("", &long).to_string();
        assert!(
            answer.contains("repeated_tool_call_exact_input"),
            "{answer}"
        );
    }
    // Three jobs in turn.
    let jobs = ["7a", "8b", "9c"];
    let ask = |job: &str| call("get_job", job, r#"{"status":"RUNNING"}"#);
    let turns: Vec<_> = (0..4).flat_map(|_| jobs.map(ask)).collect();
    check(&turns, &[]);

    let train = |seed: usize| {
        let command = format!("train --seed {seed}");
        failed("bash", &command, "the loss is not finite: stopping")
    };
    let listed: Vec<_> = (8..14).map(train).collect();
    check(&listed, &[]);
    let listed: Vec<_> = (8..17).map(train).collect();
    check(&listed, &["no_progress", "same_error"]);
    let picked: Vec<_> = [8, 3, 97, 45, 6, 21].map(train).into();
    check(&picked, &["no_progress", "same_error"]);
    check(&[8, 3, 4, 5].map(train), &[]);
    check(&[8, 9, 3, 4].map(train), &["no_progress", "same_error"]);

    let save = |file: &str| {
        let broken = failed("save", file, "the disk is being checked");
        [
            broken.clone(),
            broken,
            call("save", file, r#"{"saved": true}"#),
        ]
    };
    let saved: Vec<_> = ["ferry", "harbour", "ferry", "harbour"]
        .iter()
        .flat_map(|file| save(file))
        .collect();
    check(&saved[..9], &[]);
}

/// Given what has moved on several times, it may stand still for one look more than what never moved; not for ever, and not where
/// it goes round.
#[test]
fn what_moves_may_stand_still() {
    let look = |stage: &str| call("get_render", "7", &json!({"stage": stage}).to_string());
    let stages = ["track", "composite", "encode", "mux", "seal"];
    let looks = |times: [usize; 5]| -> Vec<Value> {
        let stages = stages.iter().zip(times);
        stages
            .flat_map(|(stage, times)| vec![look(stage); times])
            .collect()
    };
    check(&looks([1, 2, 1, 3, 3]), &[]);
    check(&looks([3, 1, 1, 1, 1]), &["repeated_tool_call_exact_input"]);
    check(&looks([1, 2, 1, 1, 5]), &["repeated_tool_call_exact_input"]);
    check(&looks([1, 1, 3, 0, 0]), &[]);
    check(&looks([1, 1, 4, 0, 0]), &["repeated_tool_call_exact_input"]);
    check(&looks([1, 3, 0, 0, 0]), &["repeated_tool_call_exact_input"]);
    let rules = ["no_progress", "repeated_tool_call_exact_input"];
    check(&looks([1, 1, 8, 0, 0]), &rules);
    let round: Vec<_> = (0..6).map(|at| look(stages[at % 3])).collect();
    check(&round, &rules);
}

/// Given jobs that are watched one after the other, the next may stand still as the one before it might; not for ever, and not
/// where those before it had one state each.
#[test]
fn what_moves_as_the_job_before_it_did() {
    let polls = |tool: &str, ask: &dyn Fn(usize) -> String, told: &dyn Fn(usize) -> String| {
        let watch = |job: usize, stages: &[usize]| -> Vec<Value> {
            let poll = |stage: &usize| call(tool, &ask(job), &told(*stage));
            stages.iter().map(poll).collect()
        };
        let first = watch(0, &[0, 20, 60, 100]);
        let next = [
            watch(1, &[0, 0, 0, 40, 80, 100]),
            watch(2, &[0, 30, 30, 30, 60, 100]),
        ];
        check(&[first.clone(), next.concat()].concat(), &[]);
        assert!(is_warned_of(&[first, watch(1, &[0; 5])].concat()));
        let single = (0..5)
            .map(|job| watch(job, &[20 * job]))
            .collect::<Vec<_>>();
        assert!(is_warned_of(&[single.concat(), watch(7, &[0; 3])].concat()));
    };
    let id = |job: usize| format!("job-{}", ["4f1c", "9a2e", "c07d"][job % 3]);
    polls("get_progress", &id, &|stage| {
        json!({"progress": stage}).to_string()
    });
    polls("job_status", &id, &|stage| format!("{stage}% complete"));
    let status = |job: usize| format!("./jobctl status {}", ["anchor", "bridge", "canal"][job % 3]);
    polls("bash", &status, &|stage| {
        format!("Step {} of 5", stage / 20)
    });
}

/// Given a shell that says nothing because there is nothing to say, and a tool that never does, nobody looked in vain.
#[test]
fn silence_is_no_dead_end() {
    let commands = [
        "mkdir a",
        "cp x a/x",
        "sed -i s/1/2/ a/x",
        "git add a",
        "touch done",
        "rm -r tmp",
    ];
    check(&commands.map(|command| call("shell", command, "")), &[]);
    let thoughts = [
        "first the user, then the order",
        "what did they pay",
        "is it past the day",
        "so no refund",
    ];
    check(&thoughts.map(|thought| call("think", thought, "")), &[]);
}

/// Given failing tests, fewer failures are progress; the same failure after every edit is none, though no mere retry.
#[test]
fn tests_after_edits() {
    let edit = |i: usize| json!({"kind": "tool_call", "tool": "edit_file", "input": {"path": "a", "new": i}, "output": "edited"});
    let tests = |left: usize| {
        failed(
            "shell",
            "pytest -q",
            &format!("{left} failed, 40 passed in 0.{left}s"),
        )
    };
    let better: Vec<_> = (1..7).rev().flat_map(|i| [edit(i), tests(i)]).collect();
    check(&better, &[]);
    let stuck: Vec<_> = (1..7).flat_map(|i| [edit(i), tests(3)]).collect();
    check(
        &stuck,
        &[
            "repeated_tool_call_exact_input",
            "repeated_tool_call_similar_input",
            "same_error",
        ],
    );
}

/// Given a round of calls, the same results make it a cycle; one new result a round makes it work, until the others have
/// come again and again.
#[test]
fn rounds_of_calls() {
    let rounds = |count: usize, more: &str, news: &dyn Fn(usize) -> String| -> Vec<Value> {
        let round = |i: usize| {
            [
                call("list", "src", &format!("a b c{more}")),
                call("read", "a", &news(i)),
                call("grep", "x", &format!("a: x = 1{more}")),
            ]
        };
        (0..count).flat_map(round).collect()
    };
    let cycle = [
        "no_progress",
        "repeated_tool_call_exact_input",
        "tool_cycle",
    ];
    check(&rounds(4, "", &|_| "the text".into()), &cycle);
    let words = ["one", "two", "three", "four", "five", "six", "seven"];
    let news = |i: usize| format!("the text, version {}", words[i]);
    check(&rounds(7, "", &news), &[]);
    let more = ", and more than would do to say that a call was made and went well";
    check(&rounds(5, more, &news), &[]);
    check(
        &rounds(7, more, &news),
        &[cycle[0], cycle[1], "repeated_tool_call_similar_input"],
    );
}

/// Given twenty files that are read again and again, the third time is a cycle. The second is not, for what was known may be
/// lost; nor is a third by another agent, after an hour, or with a file that has changed.
#[test]
fn long_rounds_of_calls() {
    let names = "anchor bridge canal delta eddy ford gorge harbour inlet jetty kelp lagoon mouth narrows oxbow pool quay \
                 rapids shoal tide";
    let names: Vec<&str> = names.split_whitespace().collect();
    let round = |number: usize, change: &dyn Fn(usize, Value) -> Value| -> Vec<Value> {
        let read = |name: &&str| {
            call(
                "read",
                name,
                &format!("all that the file of the {name} holds"),
            )
        };
        names
            .iter()
            .map(|name| change(number, read(name)))
            .collect()
    };
    let rounds = |count: usize, change: &dyn Fn(usize, Value) -> Value| -> Vec<Value> {
        (0..count)
            .flat_map(|number| round(number, change))
            .collect()
    };
    let same = |_: usize, event: Value| event;
    check(&rounds(3, &same), &["tool_cycle"]);
    check(&rounds(2, &same), &[]);
    let by_others = |number: usize, mut event: Value| {
        event["agent"] = json!(["a", "b", "c"][number % 3]);
        event
    };
    check(&rounds(3, &by_others), &[]);
    let changed = |number: usize, mut event: Value| {
        if event["input"]["command"] == "jetty" {
            event["output"] = json!(format!(
                "the jetty, repaired by {}",
                ["Ann", "Bob", "Cleo"][number]
            ));
        }
        event
    };
    check(&rounds(3, &changed), &[]);
    let mut hourly = rounds(4, &same);
    for (number, event) in hourly.iter_mut().enumerate() {
        let hour = number / names.len();
        *event = later(event.take(), (hour * 3_600 + 2 * number) as u64);
    }
    check(&hourly, &[]);
}

/// Given files that are read again and again, in another order each time and with searches between them, nine in a row that are
/// read for the third time are a standstill, for who has no tool but a shell, too. Files that are changed after they were read are
/// none, nor those that a user asks for in each turn, nor sixty files.
#[test]
fn many_files_gone_through_again() {
    let words = "anchor bridge canal delta eddy ford gorge harbour inlet jetty kelp lagoon mouth narrows oxbow pool";
    let words: Vec<&str> = words.split_whitespace().collect();
    for by_shell in [false, true] {
        let look = |tool: &str, asked: &str, text: &str| {
            let text = format!(
                "{text}, all that is known of the {asked} and of the boats that pass it by night"
            );
            if by_shell {
                call("bash", &format!("{tool} {asked}"), &text)
            } else {
                call(tool, asked, &text)
            }
        };
        let file =
            |word: &str, number: usize| look("read_file", &format!("src/{word}_{number}.py"), word);
        // Each round has them in another order.
        let round = |number: usize| -> Vec<Value> {
            let read = |nth: usize| {
                let word = words[nth ^ number];
                let found = (nth % 5 == 4)
                    .then(|| look("grep", ["boats", "tide", "rope"][nth / 5], "ford"));
                [Some(file(word, 1)), found].into_iter().flatten()
            };
            (0..words.len()).flat_map(read).collect()
        };
        let rounds = |count: usize| (0..count).flat_map(round).collect::<Vec<_>>();
        check(&rounds(2), &[]);
        check(&rounds(3), &["no_progress"]);
        let user = json!({"kind": "user_message"});
        let turn = |number: usize| [vec![user.clone()], round(number)].concat();
        check(&(0..4).flat_map(turn).collect::<Vec<_>>(), &[]);
        let edited = |number: usize| {
            let edit = move |(nth, read): (usize, Value)| {
                let input = format!("src/x_{nth}.py: line {number}");
                [read, call("edit_file", &input, "The file was changed.")]
            };
            round(number).into_iter().enumerate().flat_map(edit)
        };
        check(&(0..4).flat_map(edited).collect::<Vec<_>>(), &[]);
        let many = (0..4).flat_map(|number| words.iter().map(move |word| file(word, number)));
        check(&many.collect::<Vec<_>>(), &[]);
    }
}

/// Given wholly other words and the same long answer, it is stagnation; a batch that is acknowledged is not.
#[test]
fn the_same_answer_to_other_questions() {
    let answer =
        r#"{"results":[{"title":"General questions","url":"https://kb.example/general"}]}"#;
    let questions = [
        "refund after a strike",
        "who pays hotels",
        "compensation rules",
        "late arrival policy",
        "vouchers",
    ];
    check(
        &questions.map(|words| call("search", words, answer)),
        &["stagnation"],
    );
    check(&questions.map(|words| call("tag", words, "done")), &[]);
    check(
        &questions.map(|words| call("save_note", words, answer)),
        &[],
    );
}

/// Given a warning that costs no more than a healthy run may lose, the run is not healthy all the same.
#[test]
fn who_is_warned_of_is_not_healthy() {
    let text = "The harbour is closed until the storm is over, so the ferry waits for the tide.";
    let told = checked("", &vec![said(text); 8]);
    let run = &told["runs"][0];
    assert_eq!(run["warnings"][0]["rule"], "repeated_text", "{run:#}");
    assert_eq!(
        (&run["score"], &run["status"]),
        (&json!(80), &json!("warning"))
    );
}

/// Given a run of which only what is merely worth knowing is said, by however many rules, it is healthy; one that failed is not.
#[test]
fn what_is_merely_worth_knowing_alarms_nobody() {
    let build = |target: &str, second: u64| {
        let mut event = call("bash", &format!("make {target}"), "done");
        event["duration_ms"] = json!(40_000);
        later(event, second)
    };
    let look = |second: u64| later(call("bash", "git status", "On branch main"), second);
    let mut events = vec![build("all", 60), look(120), build("docs", 130), look(190)];
    events.extend([look(250), look(310)]);
    let told = |events: &[Value]| {
        let run = checked("", events)["runs"][0].take();
        let warnings = run["warnings"].as_array().expect("warnings");
        let rules: Vec<_> = warnings.iter().map(|one| one["rule"].clone()).collect();
        (run["score"].clone(), run["status"].clone(), json!(rules))
    };
    let notes = json!(["repeated_tool_call", "long_running_step"]);
    assert_eq!(told(&events), (json!(80), json!("healthy"), notes.clone()));
    events.push(later(json!({"kind": "run_end", "status": "failed"}), 320));
    assert_eq!(told(&events), (json!(50), json!("failed"), notes));
}

/// Given long steps, they are told in a sentence, one or several.
#[test]
fn long_steps_are_told() {
    let steps = |count: u64| -> Vec<Value> {
        let step = |number: u64| {
            let mut event = call("bash", &format!("make part-{number}"), "done");
            event["duration_ms"] = json!(31_000);
            later(event, 60 * (number + 1))
        };
        (0..count).map(step).collect()
    };
    for (count, expected) in [
        (1, "One step, `bash`, took 31 s."),
        (2, "2 steps took long, the longest 31 s."),
    ] {
        let answer = checked("", &steps(count));
        let told = &answer["runs"][0]["warnings"][0]["what_happened"];
        assert_eq!(told, expected, "{answer:#}");
    }
}

/// Given the same error whatever is asked, with other tools working in between, it is seen; other errors are not.
#[test]
fn the_same_error_of_other_calls() {
    let events = |error: &dyn Fn(usize) -> String| -> Vec<Value> {
        [
            "weather in Rome",
            "capital of Peru",
            "rust books",
            "tides",
            "opening hours",
        ]
        .iter()
        .enumerate()
        .flat_map(|(i, words)| {
            [
                failed("search", words, &error(i)),
                call("read", words, &format!("page on {words}")),
            ]
        })
        .collect()
    };
    check(
        &events(&|_| "401 Unauthorized: key expired".into()),
        &["same_error"],
    );
    check(
        &events(&|i| format!("no column named {}", ["a", "b", "c", "d", "e"][i])),
        &[],
    );
    check(&events(&|i| format!("Exit code {}", i % 2)), &[]);
}

/// Given commands of which only the exit code is told as their error, they fail in the same way where they printed the same.
#[test]
fn exit_codes_with_an_output() {
    let make = |target: &str, printed: &str| {
        let mut event = failed("bash", &format!("make {target}"), "exit code 2");
        event["output"] = json!(printed);
        event
    };
    let words = ["docs", "tests", "binary", "package", "image", "site"];
    let same = words.map(|target| make(target, "no rule in the file Makefile"));
    check(&same, &["no_progress", "same_error"]);
    let others = words.map(|target| make(target, &format!("{target}.mk: a blank is missing")));
    check(&others, &[]);
}

/// Given tests of many versions, one that fails in each of them is what was asked; where nothing passes, it is an error.
#[test]
fn tests_of_many_versions() {
    let runs = |passed: usize| {
        let run = |version: usize| {
            let printed = format!("FAILED test_a\n1 failed, {passed} passed in 0.{version}s");
            call("bash", &format!("tox -e py3{version}"), &printed)
        };
        (9..19).map(run).collect::<Vec<_>>()
    };
    check(&runs(212), &[]);
    check(&runs(0), &["no_progress", "same_error"]);
}

/// Given recaps in rotation, they are seen; closing words after work, and talk with a user, are not.
#[test]
fn texts_that_come_again() {
    let recaps = [
        "I will now sum up and plan the next step.",
        "Let me recap where we are and decide.",
    ];
    let rotating: Vec<_> = (0..6).map(|i| said(recaps[i % 2])).collect();
    check(&rotating, &["repeated_text"]);
    let mut closing = vec![call("shell", "pytest", "all 41 tests passed")];
    closing.extend((0..6).map(|_| said("The task is complete and all tests pass.")));
    check(&closing, &[]);
    let asked = json!({"kind": "user_message"});
    let talk: Vec<_> = (0..6)
        .flat_map(|i| [said(recaps[i % 2]), asked.clone()])
        .collect();
    check(&talk, &[]);
}

/// Given a ring of three agents, three rounds without news are a cycle; a discussion that says new things is not.
#[test]
fn agents_in_a_ring() {
    let (givers, receivers) = (["a", "b", "c"], ["b", "c", "a"]);
    let pass = |i: usize| {
        let (from, to) = (givers[i % 3], receivers[i % 3]);
        json!({"kind": "handoff", "from_agent": from, "to_agent": to})
    };
    let ring: Vec<_> = (0..9).map(pass).collect();
    check(&ring[..8], &[]);
    check(&ring, &["handoff_cycle"]);
    let news = [call("read", "notes", "what nobody had read before")];
    check(&[&ring[..6], &news[..], &ring[..6]].concat(), &[]);
    check(
        &[&ring[..6], &news[..], &ring[..]].concat(),
        &["handoff_cycle"],
    );
    let points = [
        "cost of the move",
        "weather at the coast",
        "who is to drive",
        "what the children want",
    ];
    let talk: Vec<_> = (0..12)
        .flat_map(|i| {
            [
                pass(i),
                said(&format!(
                    "My next point is the {} {}",
                    points[i % 4],
                    ["now", "then", "later"][i / 4]
                )),
            ]
        })
        .collect();
    check(&talk, &[]);
}

/// Given one errand in other words to one agent, it is a goal loop; different errands are none, and a program's state is none.
#[test]
fn errands_that_come_again() {
    let ask = |text: &str| json!({"kind": "handoff", "from_agent": "lead", "to_agent": "surfer", "input": text});
    let errand =
        "Please scroll down on the archive page to find the entry of the first week of August";
    let ways = [
        "",
        " now",
        ", please",
        " and read it",
        " again",
        " once more",
    ];
    let rules = |events: &[Value], expected: &[&str]| check(events, expected);
    rules(
        &ways.map(|way| ask(&format!("{errand}{way}"))),
        &["goal_loop", "handoff_bounce"],
    );
    // Spans within each other tell of one instruction.
    let within = ways.map(|way| {
        let mut told = ask(&format!("{errand}{way}"));
        told["duration_ms"] = json!(100_000);
        told
    });
    rules(&within, &["handoff_bounce"]);
    let other = [
        "Find a flight to Rome",
        "Book the cheapest room there",
        "Write the invoice for Anna",
        "Check the weather on Monday",
    ];
    let done: Vec<_> = other
        .iter()
        .flat_map(|errand| {
            [
                ask(errand),
                call("web", errand, &format!("page on {errand}")),
            ]
        })
        .collect();
    rules(&done, &[]);
    // To delegate again is no bounce: the errands differ, although their answers were not recorded.
    rules(&other.map(ask), &[]);
}

/// Given many other calls after a long step, the next long step is counted with it.
#[test]
fn counts_of_the_whole_run_last() {
    let slow = |mut event: Value| {
        event["duration_ms"] = json!(40_000);
        event
    };
    let page = |i: usize| {
        later(
            call("fetch", &format!("page {i}"), &format!("text {i}")),
            60 * i as u64,
        )
    };
    let mut events: Vec<_> = (1..100).map(page).collect();
    for place in [1, 50, 98] {
        events[place] = slow(events[place].clone());
    }
    let answer = checked("", &events);
    let warnings = answer["runs"][0]["warnings"].as_array().expect("warnings");
    let long = warnings
        .iter()
        .find(|warning| warning["rule"] == "long_running_step");
    assert_eq!(long.expect("a warning")["count"], 3);
}

/// Given one question of many things, with equal answers or blanks, it is a batch; given one question in other words, it is
/// not.
#[test]
fn one_question_of_many_things() {
    let answer =
        "Checked 1 file in the project. No fixes were applied, and nothing is left to do here.";
    let files = ["a.ts", "b.ts", "c.ts", "d.ts", "e.ts", "f.ts"];
    check(
        &files.map(|file| call("bash", &format!("npx biome check src/{file}"), answer)),
        &[],
    );
    let tables = ["ships", "crews", "ports", "tides", "fees", "maps"];
    check(
        &tables.map(|table| {
            call(
                "sql",
                &format!("SELECT id FROM {table} WHERE name IS NULL"),
                "[]",
            )
        }),
        &[],
    );
    let forms = [
        "SELECT id FROM ships WHERE name = 'Ann'",
        "select id, name from ships where lower(name) like '%Ann%'",
        "SELECT count(id) FROM ships WHERE trim(name) = 'Ann'",
    ];
    check(
        &forms.map(|form| call("sql", form, "[]")),
        &["empty_result_loop"],
    );
}

/// Given values that name another thing each, of people, addresses, codes and days, or texts that have nothing in common, blanks
/// and equal answers are no loop; the same people in other words are.
#[test]
fn values_that_are_names() {
    let ask = |key: &str, value: &str, answer: &str| json!({"kind": "tool_call", "agent": "a", "tool": "look_up", "input": {key: value}, "output": answer});
    for (key, values) in [
        (
            "email",
            [
                "ann@mail.example",
                "bob@mail.example",
                "cleo@mail.example",
                "dan@mail.example",
            ],
        ),
        (
            "customer",
            ["Ann Meier", "Bob Okafor", "Cleo Rossi", "Dan Singh"],
        ),
        (
            "to",
            [
                "10115 Berlin",
                "80331 München",
                "20095 Hamburg",
                "50667 Köln",
            ],
        ),
        (
            "region",
            ["us-east-1", "us-west-2", "eu-central-1", "sa-east-1"],
        ),
        (
            "address",
            ["10.0.1.14", "10.0.2.7", "10.0.3.99", "192.168.1.77"],
        ),
        ("country", ["DE", "FR", "ES", "IT"]),
        (
            "from",
            [
                "2026-03-10T00:00:00Z",
                "2026-03-11T00:00:00Z",
                "2026-03-12T00:00:00Z",
                "2026-03-13T00:00:00Z",
            ],
        ),
        (
            "text",
            [
                "The quarterly meeting was moved to Thursday because the auditorium is being renovated.",
                "Photosynthesis converts sunlight into chemical energy stored in glucose molecules.",
                "Our delivery van broke down near Leipzig, so its driver waited three hours.",
                "Interest rates stayed unchanged after last week's council decision, analysts say.",
            ],
        ),
    ] {
        let answer =
            "Nothing was flagged, and there is nothing that anybody would have to look at again.";
        for answer in ["[]", answer] {
            check(&values.map(|value| ask(key, value, answer)), &[]);
        }
    }
    let forms = [
        "orders of Ann Meier",
        "Ann Meier orders",
        "any orders by Ann Meier?",
    ];
    check(
        &forms.map(|form| ask("query", form, "[]")),
        &["empty_result_loop"],
    );
}

/// Given an object that says something beside an empty list, it is no blank; given one that tells how a thing is that it names,
/// the call did not fail.
#[test]
fn answers_that_look_like_none() {
    let ask = |of: &str, answer: &Value| json!({"kind": "tool_call", "agent": "a", "tool": "get_account", "input": {"account": of}, "output": answer});
    let accounts = ["ann", "bob", "cleo", "dan", "eve"];
    let balances = (0..).zip(accounts);
    let balances: Vec<_> = balances
        .map(|(nth, of)| ask(of, &json!({"balance": 48_211 - 977 * nth, "holds": []})))
        .collect();
    check(&balances, &[]);
    let jobs = accounts.map(|of| {
        ask(
            of,
            &json!({"job_id": of, "status": "failed", "error": "out of memory"}),
        )
    });
    check(&jobs, &[]);
    let made = accounts.map(|of| ask(of, &json!({"job_id": format!("j{}", of.len()), "status": "failed", "error": "out of memory"})));
    check(&made, &["same_error"]);
    let refused = accounts.map(|of| ask(of, &json!({"status": "failed", "error": "no such key"})));
    check(&refused, &["no_progress", "same_error"]);
}

/// Given a linter that fails with the same fault at another place after each edit, it is the same failure.
#[test]
fn faults_that_move_are_the_same() {
    for fault in [
        "./a.go:LINE:5: undefined: foo",
        "src/a.ts\n  LINE:5  error  'x' is not defined  no-undef",
    ] {
        let round = |line: usize| {
            let fault = fault.replace("LINE", &line.to_string());
            let edit = json!({"path": "a", "old": format!("left {}", line * 37), "new": format!("right {}", line * 91)});
            [
                failed("bash", "make lint", &format!("Exit code 1\n{fault}")),
                json!({"kind": "tool_call", "agent": "a", "tool": "edit_file", "input": edit, "output": "The file has been updated."}),
            ]
        };
        let answer = checked("", &(12..20).flat_map(round).collect::<Vec<_>>());
        let warnings = answer["runs"][0]["warnings"].as_array().expect("warnings");
        let mut rules = warnings.iter().map(|warning| &warning["rule"]);
        assert!(
            rules.any(|rule| rule == "repeated_tool_call_exact_input"),
            "{answer:#}"
        );
    }
}

/// Given many tools that fail in a row with one error, or for want of a tool of that name, it is seen whichever is called; given
/// one that works in between, or other errors, it is not.
#[test]
fn one_error_of_many_tools() {
    let tools = [
        "list_issues",
        "get_issue",
        "list_pulls",
        "get_pull",
        "get_me",
        "search",
        "list_runs",
        "get_run",
    ];
    let refused = tools.map(|tool| failed(tool, "x", "Bad credentials (HTTP 401)"));
    check(&refused, &["same_error"]);
    check(&refused[..7], &[]);
    let unknown = tools.map(|tool| failed(tool, tool, &format!("Unknown tool: {tool}")));
    check(&unknown, &["same_error"]);
    let mut works = refused.to_vec();
    works.insert(4, call("list_teams", "x", "red, green and blue"));
    check(&works, &[]);
    let others =
        tools.map(|tool| failed(tool, "x", &format!("no access to the {} of it", &tool[4..])));
    check(&others, &[]);
}

/// Given a tool that hands out one thing after the other, of which nothing but an id tells which one it is, each is news; given the
/// same one again, or none, it is a loop.
#[test]
fn what_is_handed_out_is_known_by_its_id() {
    fn take(nth: u32) -> Value {
        let id = format!(
            "{:08x}-4d1c-4b7e-a10a-2e931b45e834",
            nth.wrapping_mul(2_654_435_761)
        );
        json!({"kind": "tool_call", "agent": "a", "tool": "next_image", "input": {}, "output": {"image_id": id}})
    }
    let label = json!({"kind": "tool_call", "agent": "a", "tool": "label_image", "input": {"label": "cat"}, "output": {"ok": true}});
    let each: Vec<_> = (1..12).flat_map(|nth| [take(nth), label.clone()]).collect();
    check(&each, &[]);
    let again = |nth: u32| {
        let mut same = take(nth);
        same["output"]["title"] = json!("Relabel the shelf by the door");
        same
    };
    for take in [|_: u32| take(1), again] {
        let events: Vec<_> = (1..12).flat_map(|nth| [take(nth), label.clone()]).collect();
        let rules = checked("", &events)["runs"][0]["warnings"].to_string();
        assert!(rules.contains("repeated_tool_call_exact_input"), "{rules}");
    }
}

/// Given agents side by side that read the same once each, nobody repeats; given one that reads it again and again, or workers
/// that all do, somebody does.
#[test]
fn each_agent_begins_with_nothing() {
    let read = |who: &str, name: &str| json!({"kind": "tool_call", who: name, "tool": "read_file", "input": {"path": "README.md"}, "output": "All about it."});
    let names = ["a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8"];
    for who in ["agent", "worker"] {
        check(&names.map(|name| read(who, name)), &[]);
        let one: Vec<_> = names.iter().map(|_| read(who, "a1")).collect();
        let found = ["no_progress", "repeated_tool_call_exact_input"];
        check(&one, &found);
        let three: Vec<_> = (0..9).map(|nth| read(who, names[nth % 3])).collect();
        check(&three, &found);
        let two = |name: &&str| {
            let mut style = read(who, name);
            style["input"]["path"] = json!("STYLE.md");
            [read(who, name), style]
        };
        check(&names.iter().flat_map(two).collect::<Vec<_>>(), &[]);
        let ever_new: Vec<_> = (0..16).map(|nth| read(who, &format!("a{nth}"))).collect();
        check(&ever_new, &found);
        check(&ever_new[..11], &[]);
        check(&ever_new[..12], &["repeated_tool_call_exact_input"]);
    }
}

/// Given a loop of tools, or of texts, that a user ends by asking for other things, its warnings resolve as the answers come.
#[test]
fn answers_to_a_user_are_a_way_out() {
    let open = |events: &[Value]| {
        let answer = checked("", events);
        let warnings = answer["runs"][0]["warnings"].as_array().expect("warnings");
        assert!(!warnings.is_empty(), "{answer:#}");
        warnings
            .iter()
            .filter(|warning| warning["state"] == "open")
            .count()
    };
    let turns = (0..12).flat_map(|turn| {
        let answer = ["tides", "ships", "ports", "crews", "maps", "fees", "sails", "masts", "winds", "docks", "ropes", "keels"][turn];
        [
            json!({"kind": "user_message"}),
            said(&format!("About {answer} there is this to be told: number {turn} is the one that {answer} are known by.")),
        ]
    });
    let turns: Vec<_> = turns.collect();
    let tools = vec![call("search", "harbour", "nothing new, the same as before"); 8];
    let texts = vec![said("I will now go on with the next step of the plan."); 8];
    for events in [tools, texts] {
        assert!(open(&events) > 0);
        assert_eq!(open(&[events, turns.clone()].concat()), 0);
    }
}

/// Given a user who asks for something each time before control passes, of which no text was recorded, that is no bounce and no
/// ring; without the user it is.
#[test]
fn a_user_who_asks_anew_ends_a_bounce() {
    let hand =
        |from: &str, to: &str| json!({"kind": "handoff", "from_agent": from, "to_agent": to});
    let two = [hand("triage", "faq"), hand("faq", "triage")];
    let three = ["triage", "faq", "desk"];
    let three = [0, 1, 2].map(|at| hand(three[at], three[(at + 1) % 3]));
    let turns = |hands: &[Value], user: &[Value]| vec![[user, hands].concat(); 6].concat();
    let asks = [json!({"kind": "user_message"})];
    check(&turns(&two, &asks), &[]);
    check(&turns(&three, &asks), &[]);
    check(&turns(&two, &[]), &["handoff_bounce"]);
    check(&turns(&three, &[]), &["handoff_cycle"]);
}

/// Given a hand-off that a transfer tool and a hand-off span tell of, it is one: two of them are no bounce.
#[test]
fn a_hand_off_that_is_told_twice() {
    let transfer = |from: &str, to: &str| -> Vec<Value> {
        vec![
            json!({"kind": "tool_call", "agent": from, "tool": format!("transfer_to_{to}"), "input": {}, "output": "done"}),
            json!({"kind": "handoff", "from_agent": from, "to_agent": to}),
        ]
    };
    let twice = [transfer("ann", "bob"), transfer("bob", "ann")].concat();
    check(&twice, &[]);
    let more = [twice.clone(), twice].concat();
    check(&more, &["handoff_bounce"]);
}

/// Given calls whose arguments say that they wait, they have the time of waiting; without, they are a loop.
#[test]
fn arguments_that_say_to_wait() {
    let receive = |input: Value| {
        let event = json!({"kind": "tool_call", "agent": "a", "tool": "receive", "input": input, "output": []});
        vec![event; 5]
    };
    check(&receive(json!({"queue": "in", "wait_seconds": 20})), &[]);
    check(
        &receive(json!({"queue": "in"})),
        &[
            "empty_result_loop",
            "no_progress",
            "repeated_tool_call_exact_input",
            "repeated_tool_call_similar_input",
        ],
    );
}

/// Given equal calls, what to try is told by whether they fail.
#[test]
fn advice_is_told_by_how_calls_go() {
    let advice = |event: Value| -> String {
        let answer = checked("", &vec![event; 3]);
        let warnings = answer["runs"][0]["warnings"].as_array().expect("warnings");
        let exact = warnings
            .iter()
            .find(|warning| warning["rule"] == "repeated_tool_call_exact_input");
        exact.expect("a warning")["what_to_try"].to_string()
    };
    let works = advice(call("read", "a.txt", "the same text as before"));
    assert!(works.contains("earlier result"), "{works}");
    let fails = advice(failed("read", "a.txt", "permission denied for this file"));
    assert!(
        fails.contains("cause") && !fails.contains("earlier result"),
        "{fails}"
    );
}

/// Given a round of calls that are merely acknowledged, it is critical from the fifth time on, for four tries may be in earnest.
#[test]
fn rounds_that_are_acknowledged() {
    let keys = ["up", "down", "left", "right"];
    let severity = |calls: usize| {
        let calls: Vec<_> = (0..calls)
            .map(|at| call("press", keys[at % 4], "ok"))
            .collect();
        let answer = checked("", &calls);
        let warnings = answer["runs"][0]["warnings"].as_array().expect("warnings");
        let mut cycles = warnings
            .iter()
            .filter(|warning| warning["rule"] == "tool_cycle");
        cycles.next().map(|cycle| cycle["severity"].clone())
    };
    assert_eq!(severity(11), None);
    assert_eq!(severity(12), Some(json!("warning")));
    assert_eq!(severity(19), Some(json!("warning")));
    assert_eq!(severity(20), Some(json!("critical")));
}

/// Given a look at the same between finds, it is work as long as the looks are fewer than six of the newest calls, or something is
/// found between each two of them; six of nine, two at a time, go round.
#[test]
fn looks_that_are_most_of_what_is_done() {
    let run = |steps: &str| -> Vec<Value> {
        let step = |(at, step): (usize, char)| match step {
            'x' => call(
                "read",
                "notes",
                "what the notes say, which is more than a mere word or two, and always the same",
            ),
            _ => call("read", &format!("page {at}"), &format!("text {at}")),
        };
        steps.chars().enumerate().map(step).collect()
    };
    for steps in ["x.xx.xx.", "x.x.x.x.x.x.x.x.", "xx..x..xx"] {
        check(&run(steps), &[]);
    }
    let again = [
        "repeated_tool_call_exact_input",
        "repeated_tool_call_similar_input",
    ];
    check(&run("x.xx.xx.x"), &again);
}
