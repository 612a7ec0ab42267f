//! Work on many things, of which each call is about another one: its answer tells nothing of the next, though both look alike.

use serde_json::{Value, json};

use crate::support::{check, failed, is_warned_of, later};

fn made(tool: &str, input: &Value, output: &Value) -> Value {
    json!({"kind": "tool_call", "agent": "a", "tool": tool, "input": input, "output": output})
}

/// A call for each of several inputs, all of which are answered alike.
fn each(tool: &str, name: &str, values: &[Value], output: &Value) -> Vec<Value> {
    let one = |value: &Value| made(tool, &json!({name: value, "in": "all"}), output);
    values.iter().map(one).collect()
}

fn texts(values: &[&str]) -> Vec<Value> {
    values.iter().map(|value| json!(value)).collect()
}

const SENTENCES: [&str; 9] = [
    "Cache lines from the source files of a program.",
    "The exact value received from the client.",
    "Create a mock object using another object as its model.",
    "For the proof assistant of our department.",
    "Useful for single headers that are composed of several items.",
    "Bit size of a secret scalar for the curve.",
    "Our delivery van broke down near the harbour and waited.",
    "Nobody answers the telephone on winter Sundays!",
    "Return the longhand version of that address as words.",
];

/// Given names that have a number in common, each is another thing; names that differ in their number alone are tried out.
#[test]
fn names_with_one_number() {
    let names = [
        "sales_2023.csv",
        "costs_2023.csv",
        "staff_2023.csv",
        "travel_2023.csv",
        "energy_2023.csv",
        "rent_2023.csv",
        "tax_2023.csv",
        "water_2023.csv",
    ];
    let packed = names.map(|name| json!(format!("gzip -k data/{name}")));
    check(&each("bash", "command", &packed, &json!("")), &[]);
    check(
        &each("search_file", "path", &texts(&names), &json!([])),
        &[],
    );
    let regions = [
        "us-east-1",
        "us-west-1",
        "eu-west-1",
        "ap-south-1",
        "ap-south-2",
        "eu-west-2",
        "eu-west-3",
        "sa-east-1",
    ];
    check(
        &each("list_hosts", "region", &texts(&regions), &json!([])),
        &[],
    );
    let tried = [17, 42, 23, 81, 35, 66, 12, 58].map(|number| json!(format!("orchid_{number}")));
    assert!(is_warned_of(&each(
        "find_references",
        "symbol",
        &tried,
        &json!([])
    )));
}

/// Given numbers that are ids, or codes in the names of files, each is another thing; other numbers, such as those of towns, are
/// tried out where nothing is found.
#[test]
fn numbers_that_are_ids() {
    let nothing = json!({"results": []});
    let ids = [
        48211, 50377, 48902, 61044, 57310, 49008, 60017, 52290, 58833,
    ]
    .map(|id| json!(id));
    check(
        &each("get_open_tickets", "customer_id", &ids, &nothing),
        &[],
    );
    let accounts = texts(&[
        "482110093311",
        "503772209918",
        "489020011734",
        "610447719203",
        "573100448812",
        "490080007123",
        "600170031990",
    ]);
    check(&each("list_trails", "account", &accounts, &nothing), &[]);
    let contracts = texts(&[
        "C-118.pdf",
        "C-907.pdf",
        "C-334.pdf",
        "C-562.pdf",
        "C-771.pdf",
    ]);
    let absent = json!({"found": false});
    check(&each("find_clause", "contract", &contracts, &absent), &[]);
    assert!(is_warned_of(&each("search_orders", "zip", &ids, &nothing)));
    let next: Vec<_> = (48211..48220).map(|id| json!(id)).collect();
    assert!(is_warned_of(&each(
        "get_open_tickets",
        "customer_id",
        &next,
        &nothing
    )));
}

/// Given ids that were made by a machine, that each of them is not there is an answer to each, in whatever words. Names that are
/// guessed are not, nor is another failure, nor one id that is asked for in other ways.
#[test]
fn ids_that_are_not_there() {
    let ids: Vec<String> = (0..8_u64)
        .map(|nth| {
            format!(
                "{:012x}",
                0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(nth + 3) >> 16
            )
        })
        .collect();
    let names = [
        "job0", "mail1", "api2", "web3", "shop4", "blog5", "data6", "news7",
    ]
    .map(|name| format!("{name}.ferry"));
    let failed = |tool: &str, input: Value, error: String| json!({"kind": "tool_call", "agent": "a", "tool": tool, "input": input, "error": error});
    let of_branch = |id: &str, why: &str| {
        failed(
            "bash",
            json!({"command": format!("git branch --contains {id}")}),
            format!("error: {why} {id}"),
        )
    };
    let of_object = |id: &str, why: &str| {
        failed(
            "get_object",
            json!({"sha": id}),
            format!("{why}: object {id}"),
        )
    };
    for (ask, absent, other) in [
        (
            &of_branch as &dyn Fn(&str, &str) -> Value,
            "no such commit",
            "you may not read",
        ),
        (&of_object, "404 Not Found", "403 Forbidden"),
    ] {
        let all = |names: &[String], why: &str| -> Vec<Value> {
            names.iter().map(|name| ask(name, why)).collect()
        };
        check(&all(&ids, absent), &[]);
        assert!(is_warned_of(&all(&ids, other)));
        assert!(is_warned_of(&all(&names, absent)));
        assert!(is_warned_of(&vec![ask(&ids[0], absent); 5]));
    }
}

/// Given a file of which page after page has no table, the next one may have one; many in a row, and pages of a list behind its
/// end, are looked at in vain.
#[test]
fn pages_that_lack_it() {
    let page = |number: u32| {
        let input = json!({"doc": "annual_report.pdf", "page": number});
        made("extract_tables", &input, &json!({"tables": []}))
    };
    check(&(1..10).map(page).collect::<Vec<_>>(), &[]);
    assert!(is_warned_of(&(1..16).map(page).collect::<Vec<_>>()));
    let of_list = |number: u32| {
        let input = json!({"q": "lamps", "page": number});
        made("search_shop", &input, &json!({"items": []}))
    };
    assert!(is_warned_of(&(4..10).map(of_list).collect::<Vec<_>>()));
}

/// Given sentences that are handed over to be judged, all of which are judged alike, each is another text, whatever the argument is
/// called; to a tool that searches they are questions.
#[test]
fn sentences_that_are_judged() {
    let found = json!({"entities": []});
    check(&each("detect_pii", "text", &texts(&SENTENCES), &found), &[]);
    let verdict =
        json!({"flagged": false, "categories": {"hate": false, "violence": false, "harm": false}});
    check(
        &each("moderate", "input", &texts(&SENTENCES), &verdict),
        &[],
    );
    let nothing = json!({"results": []});
    assert!(is_warned_of(&each(
        "search_docs",
        "input",
        &texts(&SENTENCES),
        &nothing
    )));
}

/// Given a small store of knowledge that has one answer to all questions, whose users ask for another thing each time, or of which
/// each answer is written down, nobody goes round; who asks on and on does.
#[test]
fn questions_to_few_texts() {
    let passage = "We handle one request at a time until the shutdown, and return what was asked. ";
    let chunks = json!({"chunks": [{"id": "kb0", "text": passage.repeat(4)}]});
    let questions = [
        "How do you encrypt data at rest?",
        "What is your incident response process?",
        "Do you support single sign-on?",
        "Where are the centers located?",
        "Describe the backup policy",
        "Which penetration tests were run?",
    ];
    let asked = each("search_kb", "query", &texts(&questions), &chunks);
    let turns: Vec<_> = asked
        .iter()
        .flat_map(|call| [json!({"kind": "user_message"}), call.clone()])
        .collect();
    check(&turns, &[]);
    let written: Vec<_> = (0..)
        .zip(&asked)
        .flat_map(|(number, call)| {
            let answer = json!({"question": number, "answer": SENTENCES[number]});
            [call.clone(), made("write_answer", &answer, &json!("saved"))]
        })
        .collect();
    check(&written, &[]);
    assert!(is_warned_of(&asked));
}

/// Given things that are looked up by their names, and of which hardly more than the name comes back, each was found; one that is
/// found under all names is found once.
#[test]
fn the_answer_is_what_was_asked() {
    let names = [
        "carbon monitor",
        "river gauge",
        "harbour crane",
        "night ferry",
        "copper kettle",
        "paper lantern",
    ];
    let found: Vec<_> = (0..)
        .zip(names)
        .map(|(number, name)| {
            let id = format!("93b05a04cd085b71ba6676{number:02}");
            made(
                "find_user",
                &json!({"name": name}),
                &json!([{"id": id, "name": name}]),
            )
        })
        .collect();
    check(&found, &[]);
    let queries = [
        "carbon cycle history",
        "river gauge design",
        "harbour crane safety",
        "night ferry routes",
    ];
    let titles: Vec<_> = queries
        .iter()
        .map(|title| {
            made(
                "wikipedia_search",
                &json!({"query": title}),
                &json!([title]),
            )
        })
        .collect();
    check(&titles, &[]);
    let one = json!([{"title": "The history of the ferry, from its beginning on"}]);
    let reworded = [
        "history of the ferry",
        "the ferry and its history",
        "ferry history beginning",
        "ferry history, all of it",
        "what history has the ferry",
    ];
    assert!(is_warned_of(&each(
        "wikipedia_search",
        "query",
        &texts(&reworded),
        &one
    )));
}

/// Given commands that look for one thing after the other and end with 1 without a word, they found nothing, however that is told;
/// a build that ends so failed.
#[test]
fn searches_that_end_with_1() {
    let blank = |command: &str| {
        let mut call = failed("bash", command, "exit status 1");
        call["output"] = json!("");
        call
    };
    let words = [
        "alpha", "bravo", "castle", "delta", "echo", "falcon", "garden",
    ];
    let searched = words.map(|word| blank(&format!("grep -c {word} /etc/app.conf")));
    check(&searched, &[]);
    assert!(is_warned_of(&vec![blank("make alpha"); 6]));
}

/// Given a lock that is had at the second try for each of several services, each was deployed; where it is never had, or nothing is
/// done with it, the agent goes round.
#[test]
fn what_works_at_the_second_try() {
    let lock = json!({"name": "deploy"});
    let held = || json!({"kind": "tool_call", "agent": "a", "tool": "acquire_lock", "input": lock, "error": "lock is held by another process"});
    let had = || made("acquire_lock", &lock, &json!({"acquired": true}));
    let services = [
        "alpha", "bravo", "castle", "delta", "echo", "falcon", "garden", "harbour",
    ];
    let deployed = services.iter().flat_map(|service| {
        let done = format!("{service} was deployed, and its three pods are running now");
        let input = json!({"service": service});
        [
            held(),
            had(),
            made("deploy", &input, &json!(done)),
            made("release_lock", &lock, &json!("ok")),
        ]
    });
    check(&deployed.collect::<Vec<_>>(), &[]);
    assert!(is_warned_of(&vec![held(); 8]));
    let in_vain = (0..8).flat_map(|_| [held(), had(), made("release_lock", &lock, &json!("ok"))]);
    assert!(is_warned_of(&in_vain.collect::<Vec<_>>()));
}

/// Given code that is run and prints nothing, other code did another thing; the same code again did not.
#[test]
fn code_that_prints_nothing() {
    for nothing in [
        json!({"executed": true, "result": ""}),
        json!({"output": ""}),
        json!({"status": "ok", "outputs": []}),
    ] {
        let run = |number: i32| {
            let code = format!(
                "import bpy\nbpy.ops.mesh.cube_add(location=({}, 8, {number}))",
                5 - number
            );
            made("execute_blender_code", &json!({"code": code}), &nothing)
        };
        check(&(0..9).map(run).collect::<Vec<_>>(), &[]);
        assert!(is_warned_of(&vec![run(3); 9]));
    }
}

/// Given a console that stays empty after each of several edits, that was hoped for; one that is looked at again and again is not.
#[test]
fn a_console_without_messages() {
    let look = || made("list_console_messages", &json!({}), &json!([]));
    let names = ["alpha", "bravo", "castle", "delta", "echo", "falcon"];
    let edited = names.iter().zip(SENTENCES).flat_map(|(name, text)| {
        let edit = json!({"path": format!("src/{name}.ts"), "new": text});
        [made("edit_file", &edit, &json!("ok")), look()]
    });
    check(&edited.collect::<Vec<_>>(), &[]);
    assert!(is_warned_of(&vec![look(); 6]));
}

/// Given batches of which none failed, each was another one; where none is done, or all fail, it is the same one.
#[test]
fn batches_of_which_none_failed() {
    let next = |processed: u32, failed: u32| {
        let done = json!({"processed": processed, "failed": failed});
        made("process_next_batch", &json!({"queue": "thumbnails"}), &done)
    };
    check(&vec![next(50, 0); 9], &[]);
    assert!(is_warned_of(&vec![next(0, 0); 9]));
    assert!(is_warned_of(&vec![next(0, 50); 9]));
}

/// Given a service that is looked at every five minutes and is now in one state and now in another, somebody looks in; at the pace
/// of a model, it is a loop.
#[test]
fn two_states_at_a_slow_pace() {
    let look = |seconds: u64, number: usize| {
        let state = if [0, 2, 5, 6, 8, 10].contains(&number) {
            "healthy"
        } else {
            "degraded"
        };
        let call = made(
            "get_health",
            &json!({"service": "db"}),
            &json!({"status": state}),
        );
        later(call, 1_763_734_882 + seconds * number as u64)
    };
    check(
        &(0..12).map(|number| look(300, number)).collect::<Vec<_>>(),
        &[],
    );
    assert!(is_warned_of(
        &(0..12).map(|number| look(3, number)).collect::<Vec<_>>()
    ));
}

/// Given a query that is still running, that it has brought nothing so far is no search in vain; at last it brings something.
#[test]
fn nothing_as_long_as_it_runs() {
    let ids = ["alpha", "bravo", "castle"];
    let asked = ids.iter().flat_map(|id| {
        let input = json!({"queryId": format!("q-{id}")});
        let runs = made(
            "get_query_results",
            &input,
            &json!({"status": "Running", "results": []}),
        );
        let begun = made(
            "start_query",
            &json!({"q": id}),
            &json!({"queryId": format!("q-{id}")}),
        );
        let done = made(
            "get_query_results",
            &input,
            &json!({"status": "Complete", "results": [[id, 4]]}),
        );
        [begun, runs.clone(), runs.clone(), runs, done]
    });
    let at = |(number, call): (u64, Value)| later(call, 1_763_734_882 + 5 * number);
    check(&(0..).zip(asked).map(at).collect::<Vec<_>>(), &[]);
}

/// Given messages for which each call waits as long as it says, none came in that time; without a pause, the agent goes round.
#[test]
fn messages_are_waited_for() {
    let ask = |seconds: u64, number: u64| {
        let input = json!({"offset": 7, "timeout": 30});
        let text = SENTENCES[number as usize % SENTENCES.len()];
        let came = if number.is_multiple_of(4) {
            json!([{"id": number, "text": text}])
        } else {
            json!([])
        };
        later(
            made("get_updates", &input, &came),
            1_763_734_882 + seconds * number,
        )
    };
    check(
        &(0..20).map(|number| ask(33, number)).collect::<Vec<_>>(),
        &[],
    );
    let asked: Vec<_> = (0..20).map(|number| ask(2, number)).collect();
    assert!(is_warned_of(&asked));
}

/// Given tools whose long names differ at their ends alone, they are other tools; one of them, called again and again, goes round.
#[test]
fn tools_with_long_names() {
    let long = "mcp__company_internal_knowledge_base_server__".repeat(4);
    let asked = |tool: &str| {
        made(
            tool,
            &json!({"q": "refund"}),
            &json!("nothing relevant here"),
        )
    };
    let places = ["confluence", "jira", "gitlab", "wiki", "slack"];
    let each: Vec<Value> = places
        .iter()
        .map(|place| asked(&format!("{long}{place}")))
        .collect();
    check(&each, &[]);
    assert!(is_warned_of(&vec![asked(&format!("{long}jira")); 5]));
}

/// Given tests that are told as numbers, of which one fails after each edit, they fail; where all pass, that is confirmed.
#[test]
fn tests_told_as_numbers() {
    let edited = |result: &Value| -> Vec<Value> {
        let steps = SENTENCES
            .iter()
            .cycle()
            .take(16)
            .enumerate()
            .flat_map(|(number, text)| {
                let edit = json!({"path": "src/cache.py", "new": format!("{number}: {text}")});
                [
                    made("str_replace", &edit, &json!("ok")),
                    made("run_tests", &json!({}), result),
                ]
            });
        steps.collect()
    };
    for no in [
        json!({"passed": 41, "failed": 1, "failures": ["test_ttl"]}),
        json!({"numFailedTests": 1, "numPassedTests": 41}),
        json!({"passed": 41, "failures": [{"name": "test_ttl"}]}),
    ] {
        assert!(is_warned_of(&edited(&no)), "{no}");
    }
    assert!(!is_warned_of(&edited(
        &json!({"passed": 42, "failed": 0, "failures": []})
    )));
}
