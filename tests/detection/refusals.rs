//! Refusals that are told as results: `{"success": false, "message": …}` of a call that ended well. What an object says of itself
//! at its top is a failure; what it says of something else is a result.

use serde_json::{Value, json};

use crate::support::{call, check, is_warned_of, later};

/// Questions that have nothing in common.
const QUESTIONS: [&str; 6] = [
    "weather in Rome",
    "capital of Peru",
    "rust books",
    "tides",
    "opening hours",
    "who paints bridges",
];

/// One question of things that have nothing in common.
const THINGS: [&str; 6] = ["anchor", "bridge", "canal", "delta", "ferry", "gorge"];

fn answers(asked: [&str; 6], answer: impl Fn(usize) -> Value) -> Vec<Value> {
    let asked = asked.iter().enumerate();
    asked
        .map(|(i, words)| call("look_up", words, &answer(i).to_string()))
        .collect()
}

/// Given the same refusal whatever is asked, each call failed, in whichever words the object says so.
#[test]
fn objects_that_refuse_are_failures() {
    let why = "The API key has expired.";
    for refusal in [
        json!({"success": false, "message": why}),
        json!({"success": false, "message": why, "data": null, "attempt": 1}),
        json!({"success": false}),
        json!({"ok": false, "message": why}),
        json!({"ok": false, "errors": [{"code": 17}]}),
        json!({"status": "error", "message": why}),
        json!({"status": "error", "error_message": why, "code": 401}),
        json!({"status": "FAILED", "detail": why, "results": []}),
        json!({"success": false, "error": why}),
        json!({"data": {"user": null}, "errors": [{"message": why, "path": ["user"]}]}),
    ] {
        check(
            &answers(QUESTIONS, |_| refusal.clone()),
            &["no_progress", "same_error"],
        );
    }
}

/// Given an object that may be what was asked for, it is a result: of a check, a job, a server or a search.
#[test]
fn objects_that_tell_of_something_else_are_results() {
    for result in [
        json!({"ok": false}),
        json!({"ok": false, "message": "2 problems", "problems": ["a blank", "no end"]}),
        json!({"ok": false, "reason": "no such move"}),
        json!({"status": "failed"}),
        json!({"status": "failed", "reason": "no memory"}),
        json!({"status": "error", "checked_at": "noon"}),
        json!({"server": "db", "status": "error", "message": "no route"}),
        json!({"job": {"success": false}, "by": "ann"}),
        json!([{"success": false, "message": "no route"}]),
        json!({"success": true, "message": "no route"}),
        json!({"success": false, "message": "User not found"}),
    ] {
        check(&answers(THINGS, |_| result.clone()), &[]);
    }
}

/// Given an edit or a click that finds nothing to change, whatever is tried, it was refused each time; who tries several files
/// has tried each once.
#[test]
fn changes_of_what_is_not_there_are_refused() {
    let answers = [
        ("edit_file", "old_str not found in a.py"),
        (
            "edit_file",
            "The specified text was not found in the document.",
        ),
        (
            "search_and_replace",
            "No occurrences found, nothing found to replace.",
        ),
        (
            "browser_click",
            "Ref e12 not found in the current page snapshot. Try capturing new snapshot.",
        ),
    ];
    for (tool, answer) in answers {
        let tries = THINGS.iter().cycle().take(8).enumerate();
        let tries = tries.map(|(i, thing)| {
            let mut edit = call(tool, "", answer);
            edit["input"] =
                json!({"path": "a.py", "old_str": format!("{thing} {i}"), "new_str": "x"});
            edit
        });
        assert!(is_warned_of(&tries.collect::<Vec<_>>()), "{tool}: {answer}");
    }
    let files = THINGS.iter().take(3).map(|thing| {
        let mut tried = call("edit_file", "", &format!("old_str not found in {thing}.py"));
        tried["input"] = json!({"path": format!("{thing}.py"), "old_str": thing, "new_str": "x"});
        tried
    });
    check(&files.collect::<Vec<_>>(), &[]);
}

/// Given the errors of services that have a form of their own for them, each call failed; a form that tells of a record that was
/// checked, or of a call that went well, is a result.
#[test]
fn errors_in_forms_of_their_own_are_failures() {
    let why = "The slot was not given";
    for error in [
        json!({"resourceType": "OperationOutcome", "issue": [{"severity": "error", "diagnostics": why}]}),
        json!({"RETURN": [{"TYPE": "E", "NUMBER": "024", "MESSAGE": why}]}),
        json!({"RETURN": {"TYPE": "A", "MESSAGE": why}}),
        json!({"Fault": {"Error": [{"Message": "Required", "Detail": why}]}, "time": "now"}),
        json!({"faultcode": "soap:Client", "faultstring": why}),
        json!({"odata.error": {"code": "-1", "message": {"lang": "en", "value": why}}}),
        json!({"Error": {"Code": "SlotMissing", "Message": why}}),
        json!({"errorMessages": [], "errors": {"slot": why}}),
        json!({"errors": [{"status": 400, "title": "Bad Request", "detail": why}]}),
        json!([{"message": why, "errorCode": "REQUIRED_FIELD_MISSING", "fields": ["Slot"]}]),
    ] {
        check(
            &answers(QUESTIONS, |_| error.clone()),
            &["no_progress", "same_error"],
        );
    }
    let issue = json!({"severity": "error", "diagnostics": why});
    for result in [
        json!({"resourceType": "OperationOutcome", "issue": [issue, issue]}),
        json!({"resourceType": "OperationOutcome", "issue": [{"severity": "information", "diagnostics": "done"}]}),
        json!({"RETURN": {"TYPE": "S", "MESSAGE": "The material was changed"}}),
        json!({"errors": [{"line": 3, "detail": why}]}),
        json!({"Error": "none", "rows": 4}),
        json!({"device": "pump", "fault": {"code": 3, "message": why}}),
        json!({"stack": "web", "Error": {"Code": "Rollback", "Message": why}}),
    ] {
        check(&answers(THINGS, |_| result.clone()), &[]);
    }
}

/// Given refusals that differ, each says something new.
#[test]
fn other_refusals_are_news() {
    let fields = ["name", "street", "town", "code", "country", "phone"];
    let refused =
        |i: usize| json!({"success": false, "message": format!("{} is missing", fields[i])});
    check(&answers(THINGS, refused), &[]);
}

/// Given the same short text in words of refusal, whatever is asked, eight times in a row, these are no answers; of a tool that
/// looks, or to the same question, they may be.
#[test]
fn refusals_in_words_are_known_when_nothing_else_comes() {
    let names = [
        "anchor", "bridge", "canal", "delta", "ferry", "gorge", "harbour", "island",
    ];
    let asked = |tool: &str, why: &str, count: usize| -> Vec<Value> {
        let names = names.iter().take(count);
        names.map(|name| call(tool, name, why)).collect()
    };
    for why in [
        "The command was blocked by policy.",
        "The user doesn't want to proceed with this.",
        "Your session has expired.",
        "Input too long.",
        "Der Auftrag wurde abgelehnt.",
        "No se pudo completar el encargo.",
        "Impossible de traiter la demande.",
        "操作被拒绝",
        "この操作はできません",
        "요청을 처리할 수 없습니다",
    ] {
        check(&asked("errand", why, 7), &[]);
        check(&asked("errand", why, 8), &["same_error"]);
        check(&asked("check_errand", why, 8), &[]);
    }
    for told in [
        "The errand was run.",
        "Der Auftrag läuft.",
        "已完成",
        "エラーはありません",
    ] {
        check(&asked("errand", told, 8), &[]);
    }
}

/// Given an object of words alone that may have been sent to somebody, or found, it is a result.
#[test]
fn words_that_were_sent_are_results() {
    for result in [
        json!({"message": "I cannot come, the ferry is late."}),
        json!({"message": "It was refused.", "type": "text", "timestamp": 1_795_000_000}),
        json!({"errors": ["missing semicolon"]}),
        json!({"detail": "It turns where the bank is steep."}),
        json!("Failed logins: 0"),
        json!("The author was refused."),
        json!("Two of them were killed."),
        json!({"status": 3, "message": "Permission is granted."}),
    ] {
        check(&answers(THINGS, |_| result.clone()), &[]);
    }
}

/// Given the same request, answered in responses of JSON-RPC which number on, nothing comes of it, whether they carry an error or
/// an answer; another answer is news.
#[test]
fn numbers_of_responses_are_no_news() {
    let asked = |carried: &dyn Fn(usize) -> Value| -> Vec<Value> {
        let respond = |number: usize| {
            let mut response = json!({"jsonrpc": "2.0", "id": 17 + number});
            response
                .as_object_mut()
                .expect("an object")
                .extend(carried(number).as_object().expect("an object").clone());
            call("look_up", "anchor", &response.to_string())
        };
        (0..6).map(respond).collect()
    };
    let error = json!({"error": {"code": -32602, "message": "Invalid params"}});
    let answer = json!({"result": {"content": [{"type": "text", "text": "A bank."}]}});
    let failed = [
        "no_progress",
        "repeated_tool_call_exact_input",
        "repeated_tool_call_similar_input",
        "retry_storm",
        "same_error",
    ];
    check(&asked(&|_| error.clone()), &failed);
    check(&asked(&|_| answer.clone()), &failed[..2]);
    check(&asked(&|number| json!({"result": {"rows": [number]}})), &[]);
}

/// Given the same call again and again, with nothing in between, its failure is the same, whatever is new beside it.
#[test]
fn what_stands_beside_an_error_is_no_print() {
    let servers = ["mw417", "mw386", "ms-2", "mw402", "mw9", "mw511"];
    let refused = |server: &&str| {
        let error = json!({"error": {"code": "missingtitle", "info": "The page does not exist."}, "servedby": server});
        call("look_up", "anchor", &error.to_string())
    };
    let calls: Vec<_> = servers.iter().map(refused).collect();
    check(&calls, &["same_error"]);
}

/// Given a text that blames what was given and asks for another try, or speaks of the call itself, each call failed.
#[test]
fn complaints_are_failures() {
    for why in [
        "Please enter a valid name.",
        "MCP error -32602: Invalid arguments for tool look_up: []",
        "Unknown tool name: 'look_up'. Available tools: 'ask'",
        r#"{"status": 403, "body": {"message": "The key may not do this."}}"#,
        r#"{"errcode": 40001, "errmsg": "invalid credential"}"#,
        r#"{"code": 10013, "msg": "无效的参数", "data": null}"#,
        r#"{"cod": 401, "message": "Invalid API key."}"#,
        r#"{"detail": "Not authenticated"}"#,
        r#"{"message": "Unauthenticated."}"#,
        r#"{"errors": ["Forbidden"]}"#,
        r#"{"errors": {"base": ["Invalid credentials"]}}"#,
        r#"{"ok": 0, "errmsg": "not authorized on admin", "code": 13, "codeName": "Unauthorized"}"#,
        "Invalid API key",
        "401 - Unauthorized",
        "ssh: connect to host 10.0.0.7 port 22: Connection refused",
        "ORA-01017: invalid username/password; logon denied",
        "mkdir: cannot create directory 'a': No space left on device",
        "Please verify you are a human.",
        "Fehler: Der Schlüssel ist abgelaufen",
        "错误：没有权限",
        "日期格式错误，请重新输入。",
    ] {
        let calls: Vec<_> = QUESTIONS
            .iter()
            .map(|words| call("look_up", words, why))
            .collect();
        check(&calls, &["no_progress", "same_error"]);
    }
    check(
        &answers(
            THINGS,
            |_| json!({"url": "https://a.example", "status": 403}),
        ),
        &[],
    );
}

/// Given terms of a script without blanks that a glossary lacks, each is another term, as in other scripts.
#[test]
fn other_terms_are_no_question_in_other_words() {
    for terms in [
        ["勘定", "在庫", "監査", "配当", "負債", "資産"],
        ["어음", "감사", "부채", "배당", "자산", "재고"],
    ] {
        let answers: Vec<_> = terms
            .iter()
            .map(|term| call("glossary", term, r#"{"entries": []}"#))
            .collect();
        check(&answers, &[]);
    }
}

/// Given a failure that is too long to be kept, it is the same again by its lines that speak of errors, whatever stands beside
/// them; how much memory there was, or which process it was, are other details each time.
#[test]
fn long_failures_are_the_same_by_what_they_say_of_errors() {
    let versions = ["1.0", "1.1", "1.2", "2.0", "2.1", "3.0"];
    let installs: Vec<_> = versions
        .iter()
        .enumerate()
        .map(|(i, version)| {
            let tried = format!("Collecting widget=={version}\n  Downloading widget-{version}.tar.gz ({i}1 kB)\n");
            let failed = format!(
                "{tried}error: subprocess-exited-with-error\n\nwhile the metadata of the package were made, which is an error of the package.\n\
                 ModuleNotFoundError: No module named 'wheelmaker'\nnote: This error originates from a subprocess, and is likely not a \
                 problem with pip.\nhint: look above. This error is one of the package that was asked for.\nerror: metadata-generation-failed"
            );
            call("shell", &format!("pip install widget=={version}"), &failed)
        })
        .collect();
    check(&installs, &["same_error"]);
    let trained: Vec<_> = (0..6)
        .map(|i| {
            let free = 40 + i * 17;
            let failed = format!(
                "Traceback (most recent call last):\n  File \"train.py\", line 4\nOutOfMemoryError: out of memory. Tried to allocate \
                 {free}.00 MiB. GPU 0 has a total capacity of 22.06 GiB of which {free}.25 MiB is free. Process {free}13 has 21.{free} GiB \
                 memory in use. Of the allocated memory 20.{free} GiB is allocated, and {free}.55 MiB is reserved but unallocated."
            );
            call("python", &format!("train(how={:?})", QUESTIONS[i]), &failed)
        })
        .collect();
    check(&trained, &["same_error"]);
}

/// Given tests of which one times out, or a server of one's own that fails whatever is changed, that is no failure which passes by
/// itself; where nothing is changed in between, or too much is asked, it may be.
#[test]
fn failures_that_stay_whatever_is_changed() {
    let edit = |number: usize| {
        json!({"kind": "tool_call", "agent": "a", "tool": "edit_file", "output": "The file was changed.",
            "input": {"path": "src/queue.ts", "text": format!("export const queue{number} = {number};")}})
    };
    let rounds = |tries: &Value| -> Vec<Value> {
        (0..8)
            .flat_map(|number| [edit(number), tries.clone()])
            .collect()
    };
    let fails = |command: &str, printed: &str| {
        json!({"kind": "tool_call", "agent": "a", "tool": "bash", "input": {"command": command},
            "output": printed, "error": printed})
    };
    let test = fails(
        "npx vitest run",
        " \u{d7} queue > drains 5004ms\n   Test timed out in 5000ms.\n\n Test Files  1 failed (1)\n      Tests  1 failed | 2 passed (3)",
    );
    let server = fails(
        "curl -s -X POST localhost:8000/hook -d @x.json",
        "Internal Server Error",
    );
    let limit = fails(
        "curl -s https://api.example/v1/items",
        "429 Too Many Requests",
    );
    assert!(is_warned_of(&rounds(&test)));
    assert!(is_warned_of(&rounds(&server)));
    assert!(!is_warned_of(&rounds(&server)[..6]));
    assert!(!is_warned_of(&rounds(&limit)));
}

/// Given a plan that is written once more with other words beside it, and a file that is read again, nothing is new.
#[test]
fn a_plan_with_other_words_beside_it() {
    let told = [
        "First look",
        "Looking again",
        "Once more",
        "To be sure",
        "Checking",
        "Nearly there",
        "Now then",
        "So",
        "Well",
    ];
    let round = |said: &&str| {
        let plan = json!([{"step": "Find the failing request", "status": "in_progress"}]);
        [
            json!({"kind": "tool_call", "agent": "a", "tool": "update_plan", "output": "Plan updated",
                "input": {"plan": plan, "explanation": said}}),
            json!({"kind": "tool_call", "agent": "a", "tool": "read_file", "input": {"path": "src/handler.py"},
                "output": "def handle(request):\n    return answer(request.body, request.headers, request.query)"}),
        ]
    };
    let rounds: Vec<_> = told.iter().flat_map(round).collect();
    assert!(is_warned_of(&rounds));
}

/// Given a verdict that says no to one thing, asked for in other words each time, with ids and times that are new each time, it is
/// the same no; no to each of other things is an answer.
#[test]
fn verdicts_that_stay() {
    let pleas = [
        "the customer asks for it",
        "customer is upset about the wait",
        "the item was broken on arrival",
        "my manager agreed to the refund",
        "second try with other words",
        "asking once more because it is needed",
        "this is urgent and cannot wait",
        "final attempt for this order",
    ];
    let asked = |tool: &str, input: Value, number: usize, told: &str| {
        let told = told.replace("NOW", &format!("2026-11-20T10:0{number}:11Z"));
        let told = told.replace(
            "ID",
            &format!("{number}f2a91c0-77d1-4e0b-9a52-0c1f6f2f9d1{number}"),
        );
        json!({"kind": "tool_call", "agent": "a", "tool": tool, "input": input, "output": told})
    };
    for told in [
        r#"{"allowed":false,"reason":"The account is on hold (case ID)"}"#,
        r#"{"permitted":false,"denial_reason":"The window for refunds has closed.","checked_at":"NOW"}"#,
        r#"{"approved":false,"message":"Policy P-12 forbids this at NOW."}"#,
        r#"{"decision":"deny","reason":"The amount is above your limit.","decision_id":"ID"}"#,
    ] {
        for tool in ["book_refund", "ask_for_refund"] {
            let pleas = pleas.iter().enumerate();
            let same = pleas.map(|(number, plea)| {
                asked(
                    tool,
                    json!({"order": "A-17", "comment": plea}),
                    number,
                    told,
                )
            });
            assert!(is_warned_of(&same.collect::<Vec<_>>()), "{tool} {told}");
        }
        for tool in ["book_refund", "score_order"] {
            let things = THINGS.iter().enumerate();
            let others =
                things.map(|(number, thing)| asked(tool, json!({"order": thing}), number, told));
            check(&others.collect::<Vec<_>>(), &[]);
        }
    }
}

/// Given a verdict that stays no whatever is written in between, that is found; one whose reason is another each time is not.
#[test]
fn verdicts_amid_edits() {
    let rounds = |why: &dyn Fn(usize) -> String| -> Vec<Value> {
        let round = |number: usize| {
            let verdict = json!({"allowed": false, "reason": why(number), "eval_id": format!("{number}f2a91c077d14e0b")});
            [
                call(
                    "write_file",
                    &format!("allow if {}", THINGS[number % 6]),
                    "ok",
                ),
                call("evaluate", "policy.rego", &verdict.to_string()),
            ]
        };
        (0..6).flat_map(round).collect()
    };
    assert!(is_warned_of(&rounds(
        &|_| "the rule deny_public matched".to_owned()
    )));
    check(
        &rounds(&|number| format!("the rule {} matched", THINGS[number])),
        &[],
    );
}

/// Given a refusal of several lines, with an address and an id that are new each time, it is the same refusal.
#[test]
fn refusals_of_several_lines() {
    let refused = |number: usize| {
        format!(
            "The request could not be completed.\nSee https://status.example/incidents/{number}b3dba93{number} for details.\n\
             Request ID: {number}f2a91c0-471{number}"
        )
    };
    let names = [
        "anchor", "bridge", "canal", "delta", "ferry", "gorge", "harbour", "island",
    ];
    let asked: Vec<_> = names
        .iter()
        .enumerate()
        .map(|(number, name)| call("errand", name, &refused(number)))
        .collect();
    check(&asked, &["same_error"]);
}

/// Given an approval that is asked for each minute until it is given, that it is not yet given is no refusal.
#[test]
fn approvals_that_are_waited_for() {
    let ask = |minute: u64, approved: bool| {
        let status = if approved { "approved" } else { "pending" };
        let told = json!({"approved": approved, "status": status}).to_string();
        later(call("get_approval", "change 7", &told), 60 * minute)
    };
    let asked: Vec<_> = (1..10).map(|minute| ask(minute, minute == 9)).collect();
    check(&asked, &[]);
}
