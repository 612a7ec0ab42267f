//! What was done, and what it changed: things that are made twice, clicks that do nothing, verdicts that stay no; and work that
//! looks like it, a check after each step, a form for each of many, keys whose pictures nobody kept.

use serde_json::{Value, json};

use crate::support::{check, checked, is_warned_of, later};

fn made(tool: &str, input: &Value, output: &Value) -> Value {
    json!({"kind": "tool_call", "agent": "a", "tool": tool, "input": input, "output": output})
}

/// The rules that see one call that is made again and again.
const AGAIN: [&str; 3] = [
    "no_progress",
    "repeated_tool_call_exact_input",
    "repeated_tool_call_similar_input",
];

const THINGS: [&str; 8] = [
    "anchor", "bridge", "canal", "delta", "ferry", "gorge", "harbour", "island",
];

/// Given an issue, or a row, that is made again with the very same words, that is a loop, though its number is a new one each time.
/// Units of a kind are not, nor are pages that are turned by one button.
#[test]
fn what_is_made_again() {
    let times = |event: &dyn Fn(u64) -> Value| -> Vec<Value> { (0..7).map(event).collect() };
    let issue =
        json!({"repo": "river/app", "title": "The ferry is late", "body": "It was late again."});
    let number = |at: u64| json!({"number": 640 + at, "url": format!("https://git.example/issues/{}", 640 + at)});
    check(
        &times(&|at| made("create_issue", &issue, &number(at))),
        &AGAIN,
    );
    let row = json!({"sql": "INSERT INTO orders (sku, quantity) VALUES ('a', 2) RETURNING id"});
    check(
        &times(&|at| made("run_sql", &row, &json!([{"id": 4_000 + at}]))),
        &["no_progress", "repeated_tool_call_exact_input"],
    );
    let unit = json!({"unit": "archer", "building": 3});
    check(
        &times(&|at| made("create_unit", &unit, &json!({"unit_id": 410 + at}))),
        &[],
    );
    let next = json!({"ref": "e77", "element": "The link to the next page of results"});
    check(
        &times(&|at| {
            made(
                "browser_click",
                &next,
                &json!(format!("Page {} of 20", at + 2)),
            )
        }),
        &[],
    );
}

/// Given a button whose number is another one each time, and behind it the very page that was there before, the click did nothing.
#[test]
fn clicks_that_show_the_page_as_it_was() {
    let page =
        json!("Just a moment. Verify that you are human by completing the action below, please.");
    let goes = json!({"url": "https://shop.example/boats"});
    let events: Vec<_> = (0..8)
        .flat_map(|at| {
            let clicked = json!({"ref": format!("e{}", 3 * at + 4), "element": "box"});
            [
                made("browser_navigate", &goes, &page),
                made("browser_click", &clicked, &page),
            ]
        })
        .collect();
    check(&events, &AGAIN);
}

/// Given clicks, keys and scrolling by ever other names and places, behind all of which the page stays as it was, they come to
/// nothing. A form whose fields the page does not show, one that shows them, pages of a list, and boxes of which each click is
/// merely acknowledged are work, and so are records that are made with the same long word for it.
#[test]
fn pages_that_stay_as_they_were_whatever_is_pressed() {
    let page = "Checkout. Your cart holds two tickets for the ferry. Choose how to pay. ".repeat(5);
    let ways = [
        "#pay",
        "button.pay",
        "form > button",
        "text=Pay now",
        ".primary",
        "input[type=submit]",
        "#box button",
    ];
    let show = |text: &str| {
        [
            json!(text),
            json!({"url": "https://shop.example/pay", "text": text}),
        ]
    };
    let picture =
        json!([{"type": "image", "source": {"type": "base64", "data": "iVBORw0KGgo7".repeat(30)}}]);
    let click = |way: &str, shown: &Value| made("browser_click", &json!({"selector": way}), shown);
    for shown in show(&page).into_iter().chain([picture]) {
        let pressed = |at: usize| match at % 3 {
            1 => made("browser_press_key", &json!({"key": THINGS[at]}), &shown),
            _ => click(ways[at], &shown),
        };
        check(&(0..7).map(pressed).collect::<Vec<_>>(), &["no_progress"]);
        let at_place = |at: usize| {
            let place = json!({"action": "left_click", "coordinate": [500 + 9 * at, 300 + 7 * at]});
            made("computer", &place, &shown)
        };
        assert!(is_warned_of(&(0..7).map(at_place).collect::<Vec<_>>()));
        let typed = |at: usize| {
            made(
                "browser_type",
                &json!({"selector": ways[at], "text": THINGS[at]}),
                &shown,
            )
        };
        check(&(0..7).map(typed).collect::<Vec<_>>(), &[]);
        let saved = |at: usize| made("create_contact", &json!({"name": THINGS[at]}), &shown);
        check(&(0..7).map(saved).collect::<Vec<_>>(), &[]);
    }
    let turned = |at: usize| click("a.next", &json!(format!("{page} {}", THINGS[at])));
    check(&(0..7).map(turned).collect::<Vec<_>>(), &[]);
    for word in [json!("clicked"), json!({"ok": true})] {
        let chosen = |at: usize| click(&format!("#box-{}", THINGS[at]), &word);
        check(&(0..7).map(chosen).collect::<Vec<_>>(), &[]);
    }
}

/// Given a check that says no in the same way after each of many tries, that is a loop; one that says yes at last is not, nor are
/// checks of other things.
#[test]
fn verdicts_that_stay_no() {
    let verdict = json!({"passed": false, "issue": "The word for \"landlord\" is missing in what was translated."});
    let tries = |count: usize| -> Vec<Value> {
        let words = [
            "early", "late", "north", "south", "upper", "lower", "inner", "outer",
        ];
        let round = |at: usize| {
            let hint = json!({"segment": 8, "hint": format!("{} {}", words[at], THINGS[at])});
            let text = json!(format!(
                "Der {} liegt {} und bleibt dort.",
                THINGS[at], words[at]
            ));
            [
                made("translate", &hint, &text),
                made("qa_check", &json!({"segment": 8}), &verdict),
            ]
        };
        (0..count).flat_map(round).collect()
    };
    check(&tries(8), &AGAIN);
    let mut passes = tries(4);
    passes.push(made(
        "qa_check",
        &json!({"segment": 8}),
        &json!({"passed": true}),
    ));
    check(&passes, &[]);
    let others = |thing: &&str| made("qa_check", &json!({"file": thing}), &verdict);
    check(&THINGS.iter().map(others).collect::<Vec<_>>(), &[]);
}

/// Given a job that is asked for anew each time it has failed, with a sleep in between, that is a loop: what has failed is no gauge
/// and not waited for.
#[test]
fn jobs_that_fail_again() {
    let state = |at: u64| json!({"state": "failed", "log": format!("KeyError: amount, LINE {}", 300 + at * at * 377 % 600)});
    let round = |at: u64| {
        [
            made(
                "trigger",
                &json!({"job": "daily", "for": format!("run {at}")}),
                &json!({"state": "queued"}),
            ),
            made("sleep", &json!({"seconds": 30}), &json!("")),
            made("get_job", &json!({"job": "daily"}), &state(at)),
        ]
    };
    let events: Vec<_> = (0..14).flat_map(round).collect();
    let timed = events.into_iter().enumerate();
    let timed: Vec<_> = timed
        .map(|(at, event)| later(event, 10 * at as u64))
        .collect();
    check(&timed, &AGAIN);
}

/// Given tests that pass after each package that is installed, or a button that is pressed below each form that is filled in, that
/// is work. One field that is tried with other values is a loop, and so is what is merely looked at.
#[test]
fn checks_after_each_step() {
    let installs = |thing: &&str| {
        let added = json!(
            "Changed 4 packages, and audited 812 packages. Found no vulnerabilities in them, as far as is known."
        );
        let passes = json!(
            "Test suites: 34 passed, 34 in all. Tests: 412 passed, 412 in all. Ran all suites."
        );
        [
            made(
                "bash",
                &json!({"command": format!("npm install {thing}@latest")}),
                &added,
            ),
            made("bash", &json!({"command": "npm test"}), &passes),
        ]
    };
    check(&THINGS.iter().flat_map(installs).collect::<Vec<_>>(), &[]);

    let page = json!(
        "form \"New boat\", text box \"Name\", text box \"Port\", text box \"Owner\", button \"Save\""
    );
    let save = made(
        "browser_click",
        &json!({"ref": "e9", "element": "Save"}),
        &page,
    );
    let fills = |at: usize| {
        let [name, port, owner] = [0, 3, 5].map(|far| THINGS[(at + far) % 8]);
        let fields = json!({"fields": {"e4": name, "e5": port, "e6": owner}});
        [
            made("browser_fill_form", &fields, &json!("Filled 3 fields")),
            save.clone(),
        ]
    };
    check(&(0..8).flat_map(fills).collect::<Vec<_>>(), &[]);
    let guesses = |thing: &&str| {
        let field = json!({"ref": "e5", "text": thing});
        [
            made("browser_fill_form", &field, &json!("ok")),
            save.clone(),
        ]
    };
    check(&THINGS.iter().flat_map(guesses).collect::<Vec<_>>(), &AGAIN);
}

/// Given a tool that looks for faults after each edit and finds none, that is well; with nothing done between two looks it is a
/// loop, and so is a search that finds nothing after each edit.
#[test]
fn no_fault_after_each_edit_is_well() {
    let edit = |number: usize| {
        let change = json!({"path": "a.ts", "old": format!("let a{number}"), "new": format!("const a{number}")});
        made(
            "edit_file",
            &change,
            &json!("The file a.ts has been updated."),
        )
    };
    let after_each = |tool: &str, found: &Value| -> Vec<Value> {
        let look = made(tool, &json!({"path": "a.ts"}), found);
        (0..8)
            .flat_map(|number| [edit(number), look.clone()])
            .collect()
    };
    for tool in ["getDiagnostics", "get_errors", "mcp__ide__problems", "lint"] {
        check(&after_each(tool, &json!([])), &[]);
        check(&after_each(tool, &json!("No problems found.")), &[]);
        let row = vec![made(tool, &json!({"path": "a.ts"}), &json!([])); 8];
        let answer = checked("", &row);
        assert!(
            answer.to_string().contains("empty_result_loop"),
            "{answer:#}"
        );
    }
    check(&after_each("search", &json!([])), &["empty_result_loop"]);
}

/// Given several checks through one shell behind each step, they are one look at what came of it, whatever the step is; the same
/// checks with nothing done in between go round.
#[test]
fn several_checks_behind_each_step() {
    let sh = |command: &str, printed: &str| {
        made("bash", &json!({ "command": command }), &json!(printed))
    };
    let checks = || {
        [
            sh("ruff check .", "All checks passed!"),
            sh("mypy src", "Success: no issues found in 40 source files"),
            sh("pytest -q", "212 passed"),
            sh("pip check", "No broken requirements found."),
        ]
    };
    let edit = |thing: &str| {
        let change = json!({"path": format!("src/{thing}.py"), "old": "a", "new": thing});
        made("edit_file", &change, &json!("The file has been updated."))
    };
    let replace = |thing: &str| sh(&format!("sed -i s/a/{thing}/ src/{thing}.py"), "");
    let steps: [&dyn Fn(&str) -> Value; 2] = [&edit, &replace];
    for step in steps {
        let rounds = THINGS.iter().map(|thing| {
            let mut round = vec![step(thing)];
            round.extend(checks());
            round
        });
        check(&rounds.flatten().collect::<Vec<_>>(), &[]);
    }
    let round: Vec<Value> = (0..4).flat_map(|_| checks()).collect();
    assert!(is_warned_of(&round));
}

/// Given packages that are installed one after the other, with checks of many words behind each, that is work, though each answers
/// alike. Installs that fail, or of the same one, are a loop, and so is one file that is changed in other ways.
#[test]
fn several_checks_behind_installs() {
    let sh = |command: &str, printed: &str| {
        made("bash", &json!({ "command": command }), &json!(printed))
    };
    let passes = "Test suites: 34 passed, 34 in all. Tests: 412 passed, 412 in all. Ran them.";
    let lint = "All files pass the linter. It found no problems in any of the 212 files there.";
    let added = "added 1 package, and audited 212 packages. Found no vulnerabilities in them.";
    let runs = |step: &dyn Fn(&str) -> Value| {
        let round = |thing: &&str| {
            [
                step(thing),
                sh("npm test", passes),
                sh("npm run lint", lint),
            ]
        };
        THINGS.iter().flat_map(round).collect::<Vec<_>>()
    };
    check(
        &runs(&|thing| sh(&format!("npm install {thing}"), added)),
        &[],
    );
    for step in [
        &|_: &str| sh("npm install harbour", added) as Value,
        &|thing: &str| {
            let refused = "npm ERR! code E401\nnpm ERR! Unable to authenticate, need: Basic";
            json!({"kind": "tool_call", "agent": "a", "tool": "bash",
                "input": {"command": format!("npm install {thing}")}, "error": refused})
        },
        &|thing: &str| sh(&format!("./patch {thing} src/a.ts"), added),
    ] as [&dyn Fn(&str) -> Value; 3]
    {
        assert!(is_warned_of(&runs(step)));
    }
}

/// Given thoughts between equal looks at something short, nothing is done by them, whatever is answered to a thought; a message
/// that is sent in between may have changed it.
#[test]
fn thoughts_are_no_deeds() {
    let rounds = |tool: &str, answer: &dyn Fn(usize) -> Value| {
        let round = |(at, thing): (usize, &&str)| {
            let thought = format!("I wonder whether the {thing} is on the list by now.");
            [
                made(tool, &json!({"thought": thought}), &answer(at)),
                made("list_tasks", &json!({}), &json!(["buy milk", "call Bob"])),
            ]
        };
        THINGS
            .iter()
            .enumerate()
            .flat_map(round)
            .collect::<Vec<_>>()
    };
    let numbered = |at: usize| json!({"thoughtNumber": at, "nextThoughtNeeded": true});
    let rules = ["no_progress", "repeated_tool_call_exact_input"];
    check(
        &rounds("think", &|_| json!("Your thought has been logged.")),
        &rules,
    );
    check(&rounds("scratchpad", &|_| json!("")), &rules);
    check(&rounds("sequentialthinking", &numbered), &rules);
    check(&rounds("send_message", &|_| json!("ok")), &[]);
}

/// Given keys and buttons of a screen whose pictures were left out, it is not known that nothing changes; without anything done
/// between two looks, it is a loop.
#[test]
fn screens_whose_pictures_were_left_out() {
    let does = |input: Value| made("computer", &input, &json!(""));
    let look = || {
        made(
            "computer",
            &json!({"action": "screenshot"}),
            &json!("[image]"),
        )
    };
    let types = |thing: &&str| {
        let typed = does(json!({"action": "type", "text": format!("the {thing} of the river")}));
        let tab = does(json!({"action": "key", "text": "Tab"}));
        [typed, look(), tab, look()]
    };
    check(&THINGS.iter().flat_map(types).collect::<Vec<_>>(), &[]);
    let looks: Vec<_> = (0..8).map(|_| look()).collect();
    check(
        &looks,
        &[
            "repeated_tool_call_exact_input",
            "repeated_tool_call_similar_input",
        ],
    );
}

/// Given a shell that works the keys of a screen and prints nothing, what is pressed for each of several things is pressed anew;
/// nothing typed in between, it is a loop.
#[test]
fn screens_that_a_shell_works() {
    let keys = |typed: &dyn Fn(usize) -> String| -> Vec<Value> {
        let rounds = (0..8).flat_map(|round| {
            let text = format!("adb shell input text '{}'", typed(round));
            [
                "adb shell input tap 980 600".to_owned(),
                text,
                "adb shell input keyevent 66".to_owned(),
            ]
        });
        rounds
            .map(|command| made("bash", &json!({"command": command}), &json!("")))
            .collect()
    };
    check(&keys(&|round| THINGS[round].to_owned()), &[]);
    assert!(is_warned_of(&keys(&|_| "anchor".to_owned())));
}

/// Given something that is mended in the same way before each of several calls, which failed and then bring something new, that is
/// work; where they fail again it is a loop.
#[test]
fn what_is_mended_before_each_call() {
    let rounds = |works: bool| -> Vec<Value> {
        let names = ["ann", "bob", "cleo", "dora", "emil", "fay", "gus", "hans"];
        let round = |name: &str| {
            let asked = json!({"path": format!("/v1/customers/{name}")});
            let ask = |found: &Value| made("api_get", &asked, found);
            let refused = json!({"kind": "tool_call", "agent": "a", "tool": "api_get", "input": asked, "error": "401 Unauthorized"});
            let token = json!({"access_token": "3f9c1d7be04a55d2aa10", "expires_in": 60, "scope": "customers.read customers.write"});
            let found = ask(&json!({"name": name, "city": format!("{name}ville")}));
            let again = if works { found } else { refused.clone() };
            [refused, made("refresh_token", &json!({}), &token), again]
        };
        names.into_iter().flat_map(round).collect()
    };
    check(&rounds(true), &[]);
    let answer = checked("", &rounds(false));
    assert_eq!(answer["runs"][0]["status"], "likely_stuck", "{answer:#}");
}

/// Given a test that passes and fails in turn, or a benchmark that takes its time, run again and again with nothing in between, it
/// is measured. One that only fails is a loop.
#[test]
fn what_is_measured() {
    let runs = |fails: &dyn Fn(u64) -> bool| -> Vec<Value> {
        let run = |at: u64| {
            let said = if fails(at) {
                "1 failed, 6 passed"
            } else {
                "7 passed"
            };
            made(
                "bash",
                &json!({"command": "pytest -q tests/test_sync.py"}),
                &json!(said),
            )
        };
        (0..14).map(run).collect()
    };
    check(&runs(&|at| at % 3 == 1), &[]);
    check(
        &runs(&|_| true),
        &[
            "no_progress",
            "repeated_tool_call_exact_input",
            "repeated_tool_call_similar_input",
            "retry_storm",
            "same_error",
        ],
    );
    let bench = |at: u64| {
        let [mean, most] = [at * 7_919 % 53, at * 104_729 % 97];
        let said = json!(format!(
            "mean: 11.{mean:02} ms of work\nslowest: {most} in all"
        ));
        let mut event = later(made("bash", &json!({"command": "./bench"}), &said), 12 * at);
        event["duration_ms"] = json!(10_000);
        event
    };
    check(&(0..10).map(bench).collect::<Vec<_>>(), &[]);
}

/// Given a worker that asks for something to do every half minute while another one is at work, it is idle; one that asks without a
/// pause is not.
#[test]
fn workers_with_nothing_to_do() {
    let rounds = |pause: u64| -> Vec<Value> {
        let round = |at: u64| {
            let mut asks = later(
                made(
                    "claim_job",
                    &json!({"queue": "maps"}),
                    &json!({"job": null}),
                ),
                at * pause,
            );
            asks["agent"] = json!("idle");
            let wrote = json!({"path": format!("maps/{at}-{}.md", THINGS[at as usize % 8])});
            let mut works = later(
                made("draw", &wrote, &json!(format!("map {} of {at}", at * 37))),
                at * pause + pause / 2,
            );
            works["agent"] = json!("busy");
            [asks, works]
        };
        (0..12).flat_map(round).collect()
    };
    check(&rounds(34), &[]);
    check(
        &rounds(6),
        &[
            "empty_result_loop",
            "no_progress",
            "repeated_tool_call_exact_input",
            "repeated_tool_call_similar_input",
        ],
    );
}

/// Given a key that is drawn anew for each call, so that it is known when it comes twice, the calls are the same.
#[test]
fn keys_that_are_drawn_anew() {
    let answer = json!({"status": "requires_action", "message": "The customer must confirm this payment in the application."});
    let pays = |at: u64| {
        let key = format!("268cc35f-1738-4538-ad63-b1a00ac8{at:04}");
        made(
            "charge",
            &json!({"idempotency_key": key, "amount": 1_290, "customer": "cus_77"}),
            &answer,
        )
    };
    check(&(0..7).map(pays).collect::<Vec<_>>(), &AGAIN);
}

/// A commit as it is told for short: another one for each number.
fn commit(at: usize) -> String {
    format!("{:07x}", 0x1a2_b3c4 + at * 0x10_9d87)
}

fn test_log(why: &str) -> String {
    format!("FAILED tests/test_login.py::test_login - {why}\n1 failed, 48 passed")
}

/// A look at what came of a push, by its number and the words of a failure.
type Look = dyn Fn(usize, &str) -> Value;

/// Given a check that fails in the same way after each push, as one tool or another tells it, that is a loop, though the push, the
/// commit and the run are others each time; one that fails otherwise each time is not, nor is one that passes at the fourth try.
#[test]
fn pushes_that_fail_in_the_same_way() {
    let object = |at: usize, why: &str| {
        let run = 8_200_000 + at * 7_919 % 900_000;
        let answer =
            json!({"conclusion": "failure", "head": commit(at), "run": run, "log": test_log(why)});
        made("get_ci_status", &json!({"branch": "login"}), &answer)
    };
    let rows = |at: usize, why: &str| {
        let run = 8_200_000 + at * 7_919;
        let printed = format!(
            "test\tfail\t1m{}s\thttps://git.example/runs/{run}\t{why}\nlint\tpass\t9s",
            at + 7
        );
        made(
            "bash",
            &json!({"command": "gh pr checks 12"}),
            &json!(printed),
        )
    };
    let run = |at: usize, why: &str| {
        let printed = format!(
            "X login CI · {}\n\nJOBS\nX test in 1m{}s\n{}",
            8_200_000 + at * 7_919,
            at + 7,
            test_log(why)
        );
        made("bash", &json!({"command": "gh run view"}), &json!(printed))
    };
    let asleep = |at: usize, why: &str| {
        let printed = format!(
            "completed\tfailure\tlogin\tCI\t{}\t{why}",
            8_200_000 + at * 7_919
        );
        made(
            "bash",
            &json!({"command": "sleep 60; gh run list -L 1"}),
            &json!(printed),
        )
    };
    let pushes = |look: &Look, why: &dyn Fn(usize) -> String| -> Vec<Value> {
        let round = |at: usize| {
            let edit =
                json!({"path": "src/login.py", "old": THINGS[at], "new": THINGS[(at + 3) % 8]});
            let pushed = format!(
                "To git.example:river/app.git\n   {}..{}  login -> login",
                commit(at),
                commit(at + 1)
            );
            let push = made("bash", &json!({"command": "git push"}), &json!(pushed));
            [
                made("edit_file", &edit, &json!("edited")),
                push,
                look(at, &why(at)),
            ]
        };
        let events = (0..8).flat_map(round).zip(0..);
        events.map(|(event, at)| later(event, 30 * at)).collect()
    };
    let looks: [&Look; 4] = [&object, &rows, &run, &asleep];
    for look in looks {
        let same = |_| "expected 200, got 401".to_owned();
        let rules = &checked("", &pushes(look, &same))["runs"][0]["warnings"];
        let mut warnings = rules.as_array().expect("warnings").iter();
        assert!(
            warnings.any(|warning| warning["rule"] == "repeated_tool_call_exact_input"),
            "{rules:#}"
        );
        let other = |at: usize| format!("no {} at the {}", THINGS[at], THINGS[(at + 2) % 8]);
        check(&pushes(look, &other), &[]);
        let mut mended = pushes(look, &same);
        mended.truncate(11);
        let passes = json!({"conclusion": "success"});
        let passes = made("get_ci_status", &json!({"branch": "login"}), &passes);
        mended.push(later(passes, 330));
        check(&mended, &[]);
    }
}

/// Given a review that asks for the same changes each time that a draft is handed in, that is a loop; one that asks for other
/// changes is not.
#[test]
fn reviews_that_ask_for_the_same() {
    let reviews = |comment: &dyn Fn(usize) -> String| -> Vec<Value> {
        let round = |at: usize| {
            let edit =
                json!({"path": "handler.py", "old": THINGS[at], "new": THINGS[(at + 3) % 8]});
            let asked = json!({"path": "handler.py"});
            let verdict = json!({"verdict": "changes_requested", "comment": comment(at), "revision": commit(at)});
            [
                made("edit_file", &edit, &json!("edited")),
                made("request_review", &asked, &verdict),
            ]
        };
        (0..8).flat_map(round).collect()
    };
    let same =
        |_| "The handler lacks a test for the empty case, and it swallows the error.".to_owned();
    check(&reviews(&same), &AGAIN[1..]);
    let other = |at: usize| {
        format!(
            "The {} lacks a test, and it swallows the {}.",
            THINGS[at],
            THINGS[(at + 2) % 8]
        )
    };
    check(&reviews(&other), &[]);
}

/// Given a button that does nothing, of a page whose elements have other names in each snapshot, it is the same button; a form that
/// is filled in, and pages that follow one another, are work.
#[test]
fn elements_are_numbered_anew_in_each_snapshot() {
    let chrome = |snapshot: usize, title: &str, fields: &str| {
        format!(
            "## Latest page snapshot\nuid={snapshot}_0 RootWebArea \"{title}\"\n{fields}  uid={snapshot}_5 button \"Go on\"\n"
        )
    };
    let pressed = |page: &dyn Fn(usize) -> String| -> Vec<Value> {
        (1..9)
            .map(|at| {
                made(
                    "click",
                    &json!({"uid": format!("{at}_5")}),
                    &json!(page(at)),
                )
            })
            .collect()
    };
    let stays = pressed(&|at| chrome(at + 1, "Checkout", ""));
    check(&stays, &AGAIN);
    check(
        &pressed(&|at| chrome(at + 1, &format!("Step {at}"), "")),
        &[],
    );
    let in_playwright = (1..9).map(|at| {
        let page = format!(
            "- Page URL: https://shop.example/pay\n- Page Snapshot:\n- main [ref=s{0}e2]:\n  - button \"Go on\" [ref=s{0}e5]\n",
            at + 1
        );
        let input = json!({"element": "Go on button", "ref": format!("s{at}e5")});
        made("browser_click", &input, &json!(page))
    });
    check(&in_playwright.collect::<Vec<_>>(), &AGAIN);
    let filled = (1..9).map(|at| {
        let fields = (1..9).map(|field| {
            let value = if field <= at {
                format!(" value=\"v{field}\"")
            } else {
                String::new()
            };
            format!(
                "  uid={}_{field} textbox \"Field {field}\"{value}\n",
                at + 1
            )
        });
        let page = chrome(at + 1, "Form", &fields.collect::<String>());
        let value = json!({"uid": format!("{at}_{at}"), "value": format!("v{at}")});
        made("fill", &value, &json!(page))
    });
    check(&filled.collect::<Vec<_>>(), &[]);
}

/// Given a plan that is written nine times and never begun, that is a standstill; not where something is done in between, nor where
/// each of many agents begins with a plan of its own.
#[test]
fn plans_that_are_never_begun() {
    let plan = |agent: &str, step: usize| {
        let todos =
            json!([{"content": format!("look at part {step} of the mill"), "status": "pending"}]);
        let answer = "The list was updated. Go on with the task at hand, as far as there is one.";
        json!({"kind": "tool_call", "agent": agent, "tool": "TodoWrite", "input": {"todos": todos}, "output": answer})
    };
    let alone = |count: usize| (0..count).map(|step| plan("a", step)).collect::<Vec<_>>();
    check(&alone(9), &["no_progress"]);
    check(&alone(8), &[]);
    let read = |part: usize| {
        let path = format!("part{part}.md");
        let text = format!("What part {part} is for.");
        made("Read", &json!({"file_path": path}), &json!(text))
    };
    let worked: Vec<_> = (0..12)
        .flat_map(|step| [plan("a", step), read(step)])
        .collect();
    check(&worked, &[]);
    let agents: Vec<_> = (0..14)
        .map(|agent| plan(&format!("helper {agent}"), agent))
        .collect();
    check(&agents, &[]);
}

/// Given one text that is written in other words again and again while nothing else is done but to look at it, that is a
/// standstill. One that grows part by part, a list whose items are ticked off or done, parts in files of their own, a text that
/// is written anew after each test or when a user asks for it, and notes that are added are work.
#[test]
fn texts_that_are_written_in_other_words() {
    let plan = |at: usize| {
        let verbs = ["Read", "Study", "Go through", "Examine", "Look at"];
        let tests = [
            "a failing test",
            "a test that shows it",
            "a regression test",
        ];
        let (verb, test) = (verbs[at * 3 % 5], tests[at % 3]);
        format!(
            "# Plan\n1. {verb} the importer\n2. Write {test}\n3. {verb} the parser\n4. {} the dates\n",
            THINGS[at]
        )
    };
    let bytes = |text: &str| {
        [
            json!("ok"),
            json!({"path": "plan.md", "written": text.len()}),
        ]
    };
    for nth in [0, 1] {
        let write = |path: &str, text: &str| {
            let input = json!({"path": path, "content": text});
            made("write_file", &input, &bytes(text)[nth])
        };
        let plans = |more: &dyn Fn(usize) -> Option<Value>| -> Vec<Value> {
            let round = |at: usize| {
                [Some(write("plan.md", &plan(at))), more(at)]
                    .into_iter()
                    .flatten()
            };
            (0..8).flat_map(round).collect()
        };
        let look = |at: usize| made("read_file", &json!({"path": "plan.md"}), &json!(plan(at)));
        check(&plans(&|_| None), &["no_progress"]);
        check(&plans(&|at| Some(look(at))), &["no_progress"]);
        let test = |at: usize| {
            made(
                "run_tests",
                &json!({}),
                &json!(format!("{} failed, {at} passed", 9 - at)),
            )
        };
        check(&plans(&|at| Some(test(at))), &[]);
        check(&plans(&|_| Some(json!({"kind": "user_message"}))), &[]);
        let grown = |at: usize| write("plan.md", &(0..=at).map(plan).collect::<String>());
        check(&(0..8).map(grown).collect::<Vec<_>>(), &[]);
        let ticked = |at: usize| {
            let item =
                |nth: usize| format!("- [{}] {}\n", if nth < at { "x" } else { " " }, THINGS[nth]);
            write("plan.md", &(0..8).map(item).collect::<String>())
        };
        check(&(0..8).map(ticked).collect::<Vec<_>>(), &[]);
        let parts = |at: usize| write(&format!("{}.md", THINGS[at]), &plan(at));
        check(&(0..8).map(parts).collect::<Vec<_>>(), &[]);
        let note = |at: usize| {
            made(
                "add_note",
                &json!({"title": "Plan", "text": plan(at)}),
                &json!("ok"),
            )
        };
        check(&(0..8).map(note).collect::<Vec<_>>(), &[]);
    }
    let report = |at: usize| {
        made(
            "save_report",
            &json!({"title": "Ferries", "body": plan(at)}),
            &json!({"status": "saved"}),
        )
    };
    check(&(0..8).map(report).collect::<Vec<_>>(), &["no_progress"]);
    let done = |at: usize| {
        let state = |nth: usize| if nth < at { "completed" } else { "pending" };
        let items = (0..8).map(|nth| json!({"step": THINGS[nth], "status": state(nth)}));
        made(
            "update_plan",
            &json!({"plan": items.collect::<Vec<_>>()}),
            &json!("Plan updated"),
        )
    };
    check(&(0..9).map(done).collect::<Vec<_>>(), &[]);
}

/// Given a look that shows the same, and in between something that was done without a word, one look more is needed for a
/// standstill.
#[test]
fn looks_around_a_deed_without_a_word() {
    let look = || {
        made(
            "bash",
            &json!({"command": "ls"}),
            &json!(
                "harbour.md, mill.md and quay.md, and nothing else that anybody would look for."
            ),
        )
    };
    let deed = made("bash", &json!({"command": "mkdir maps"}), &json!(""));
    let looks = |count: usize| [vec![look(), look(), deed.clone()], vec![look(); count]].concat();
    check(&looks(3), &AGAIN[1..]);
    check(&looks(4), &AGAIN);
    check(&vec![look(); 4], &AGAIN);
}

/// Given edits and clicks that are acknowledged, and a look after each that shows the same, they are in vain; where the look is at
/// something else than what was done, as rules are looked up for each letter, or shows something new, it is work.
#[test]
fn deeds_after_each_of_which_the_same_is_seen() {
    let lines = "def total(items):\n    return sum(i.price for i in items)\n".repeat(4);
    let edits = |shown: &dyn Fn(usize) -> String| -> Vec<Value> {
        (0..12)
            .flat_map(|at| {
                let change = json!({"path": "a.py", "old": THINGS[at % 4], "new": format!("{} {at}", THINGS[(at + 1) % 4])});
                let edit = made("edit_file", &change, &json!("ok"));
                [edit, made("read_file", &json!({"path": "a.py"}), &json!(shown(at)))]
            })
            .collect()
    };
    let is_found = |events: &[Value]| {
        let answer = checked("", events).to_string();
        answer.contains("repeated_tool_call_exact_input")
    };
    assert!(is_found(&edits(&|_| lines.clone())));
    check(&edits(&|at| format!("{lines}# {}", "x".repeat(at))), &[]);
    let clicks: Vec<_> = (0..12)
        .flat_map(|at| {
            let click = made(
                "click",
                &json!({"x": 480 + at * 7 % 40, "y": 300 + at * 11 % 40}),
                &json!("ok"),
            );
            [click, made("get_screen", &json!({}), &json!(lines))]
        })
        .collect();
    assert!(is_found(&clicks));
    let letters: Vec<_> = (0..12)
        .flat_map(|at| {
            let to = json!({"to": format!("{}@mail.example", THINGS[at % 4]), "text": format!("Dear customer {at}")});
            [made("send_letter", &to, &json!("ok")), made("get_rules", &json!({"of": "returns"}), &json!(lines))]
        })
        .collect();
    check(&letters, &[]);
}

/// Given a text that is written in ever other words, and a score behind it that does not move at all, the seventh look says that
/// nothing comes of it. A score that moves, one behind changes of ever other files, and tests that pass are none.
#[test]
fn scores_that_do_not_move() {
    let rounds = |change: &dyn Fn(usize) -> Value, told: &dyn Fn(usize) -> Value| -> Vec<Value> {
        let round = |at| {
            let measured = made("run_eval", &json!({"set": "held-out"}), &told(at));
            [change(at), measured]
        };
        (0..8).flat_map(round).collect()
    };
    let prompt = |at: usize| {
        let text = format!("Think of the {} first.", THINGS[at]);
        made("update_prompt", &json!({"text": text}), &json!("updated"))
    };
    let file = |at: usize| {
        let changed = json!({"path": format!("src/{}.py", THINGS[at]), "new": "a = 1"});
        made("edit_file", &changed, &json!("edited"))
    };
    let stays = |_| json!({"accuracy": 0.42, "n": 50});
    let moves = |at: usize| json!({"accuracy": 0.42 + 0.01 * (at / 3) as f64, "n": 50});
    let passes = |_| json!({"passed": 12, "failed": 0});
    assert!(is_warned_of(&rounds(&prompt, &stays)));
    assert!(!is_warned_of(&rounds(&prompt, &stays)[..12]));
    check(&rounds(&prompt, &moves), &[]);
    check(&rounds(&file, &stays), &[]);
    check(&rounds(&prompt, &passes), &[]);
    let tested = (0..8).flat_map(|at| {
        let told = json!({"passed": 12, "failed": 0, "covered": 0.91});
        [prompt(at), made("run_tests", &json!({}), &told)]
    });
    check(&tested.collect::<Vec<_>>(), &[]);
}

/// Given a colour that is set in other numbers each time, of which the answer tells them, and a look that shows it as it was, the
/// agent goes round; where the look is at another thing, or shows another colour, it does not.
#[test]
fn what_is_set_in_other_numbers() {
    let runs = |look: &dyn Fn(u64) -> (String, Value)| -> Vec<Value> {
        let round = |at: u64| {
            let (red, green) = (0.05 * (at + 1) as f64, 0.9 - 0.07 * at as f64);
            let (node, shown) = look(at);
            [
                made(
                    "set_fill_color",
                    &json!({"nodeId": "31:207", "r": red, "g": green}),
                    &json!(format!(
                        "The fill of \"Card\" is {red:.2} and {green:.2} now"
                    )),
                ),
                made("get_node_info", &json!({"nodeId": node}), &shown),
            ]
        };
        (0..9).flat_map(round).collect()
    };
    let shown = |colour: &str| json!({"name": "Card", "type": "INSTANCE", "fills": [{"type": "SOLID", "color": colour}]});
    assert!(is_warned_of(&runs(&|_| (
        "31:207".into(),
        shown("#d9d9d9")
    ))));
    check(&runs(&|_| ("4:11".into(), shown("#d9d9d9"))), &[]);
    check(
        &runs(&|at| ("31:207".into(), shown(&format!("#d9d9{:02x}", at * 7)))),
        &[],
    );
}
