//! Agents that are sent on the same errand again: for the next piece of work, or for the same once more.

use serde_json::{Value, json};

use crate::support::{check, checked, said};

fn ask(from: &str, to: &str, text: &str) -> Value {
    json!({"kind": "handoff", "from_agent": from, "to_agent": to, "input": text})
}

fn call_of(agent: &str, tool: &str, input: &Value, output: &Value) -> Value {
    json!({"kind": "tool_call", "agent": agent, "tool": tool, "input": input, "output": output})
}

fn says(agent: &str, text: &str) -> Value {
    let mut event = said(text);
    event["agent"] = json!(agent);
    event
}

/// Eight pieces of text that have hardly a word in common.
const PIECES: [&str; 8] = [
    "the ferry leaves at dawn and carries apples over the strait before rain begins",
    "our oven broke on monday while bread for the wedding was still rising slowly",
    "three violins were stolen from a museum near the harbour during its renovation",
    "engineers measured how granite bridges expand under summer heat and winter frost",
    "my password never arrived although support promised another mail within minutes",
    "wolves returned to northern valleys where shepherds now train younger guard dogs",
    "invoice forty was paid twice because two clerks pressed confirm simultaneously",
    "satellites photograph coral reefs each night to estimate bleaching from orbit",
];

/// Given the same words to an agent for the next piece of work each time, no errand is repeated as long as new things come of it;
/// where nothing does, and where another agent finds something meanwhile, it is a loop.
#[test]
fn the_next_piece_is_another_errand() {
    let errand = "Summarize the next document of the queue in five sentences and store the summary";
    let lead = |text| ask("lead", "clerk", text);
    let done = |piece: &str| {
        let document = json!({"text": piece});
        [
            lead(errand),
            call_of("clerk", "pop_document", &json!({}), &document),
            call_of("clerk", "store", &document, &json!("ok")),
            ask("clerk", "lead", "Done."),
        ]
    };
    check(&PIECES.map(done).concat(), &[]);
    let vain = |piece: &str| {
        [
            lead(errand),
            call_of(
                "clerk",
                "pop_document",
                &json!({}),
                &json!({"error": "no such queue"}),
            ),
            ask("clerk", "lead", "Done."),
            call_of(
                "other",
                "read_page",
                &json!({"about": piece}),
                &json!(piece),
            ),
        ]
    };
    let loops = PIECES.map(vain).concat();
    let answer = crate::support::checked("", &loops);
    let warnings = answer["runs"][0]["warnings"].as_array().expect("warnings");
    assert!(
        warnings
            .iter()
            .any(|warning| warning["rule"] == "goal_loop")
    );
    // Without a report back, where nothing is ever found, and where something is found at every third time; not at every second.
    for (finds, is_loop) in [(&[][..], true), (&[0, 3, 6], true), (&[0, 2, 4, 6], false)] {
        let turn = |(at, piece): (usize, &&str)| {
            let found = if finds.contains(&at) {
                json!({"text": piece})
            } else {
                json!({"error": "no such queue"})
            };
            [
                lead(errand),
                call_of("clerk", "pop_document", &json!({}), &found),
                call_of(
                    "other",
                    "read_page",
                    &json!({"about": piece}),
                    &json!(PIECES[7 - at]),
                ),
            ]
        };
        let turns: Vec<_> = PIECES[..7].iter().enumerate().flat_map(turn).collect();
        let answer = checked("", &turns).to_string();
        assert_eq!(answer.contains("goal_loop"), is_loop, "{answer}");
    }
}

/// Given an agent that asks for the next piece in the same words each time, and another one that writes it, nobody repeats himself;
/// where the other one says what it said, both do.
#[test]
fn who_asks_for_the_next_piece_gets_it() {
    let turns = |piece: &dyn Fn(usize) -> String| -> Vec<Value> {
        let turn = |number: usize| {
            [
                says("writer", &piece(number)),
                says(
                    "user_proxy",
                    "Please go on with the next part of the story now.",
                ),
            ]
        };
        (0..8).flat_map(turn).collect()
    };
    let new = |number: usize| format!("{} {}", PIECES[number], PIECES[(number + 3) % 8]);
    check(&turns(&new), &[]);
    check(&turns(&|_| new(0)), &["repeated_text"]);
    check(
        &turns(&|number| format!("part {number} is done")),
        &["repeated_text"],
    );
}

/// Given a user who asks for the same again each time, nobody is sent in a circle, whatever comes of it; where nobody asks,
/// somebody is.
#[test]
fn what_a_user_asks_for_again_is_no_errand_in_a_circle() {
    let turns = |user: &[Value]| -> Vec<Value> {
        let state = json!({"service": "billing", "state": "healthy", "version": 17});
        let turn = [
            ask(
                "lead",
                "clerk",
                "Please tell what state the deployment of the billing service is in",
            ),
            call_of(
                "clerk",
                "get_deployment",
                &json!({"service": "billing"}),
                &state,
            ),
            says("clerk", "It is healthy."),
        ];
        vec![[user, &turn].concat(); 7].concat()
    };
    let asks = json!({"kind": "user_message"});
    check(&turns(&[asks]), &[]);
    let answer = checked("", &turns(&[]));
    assert!(answer.to_string().contains("goal_loop"), "{answer:#}");
}

/// Given an errand in other words each time, and other errands, in languages that have no blanks between words or letters of
/// several bytes, the former is a loop and the latter are none.
#[test]
fn errands_in_many_languages() {
    let again = [
        [
            "请在领英上查找管理团队成员的入职日期",
            "请通过领英资料确认管理团队成员的准确入职日期",
            "请查看管理团队成员的领英主页以找到他们的入职时间",
            "请继续在领英上搜索管理团队成员的入职日期",
            "请再次在领英上核实管理团队成员的入职日期",
        ],
        [
            "2020年に入社した経営陣の入社日を検索してください",
            "経営陣の入社日を2020年について確認してください",
            "もう一度、2020年の経営陣の入社日を探してください",
            "2020年の経営陣について、入社日をほかの資料で調べてください",
            "経営陣が2020年に入社した日を改めて検索してください",
        ],
        [
            "2020년에 입사한 경영진의 입사일을 찾아주세요",
            "경영진의 입사일을 2020년 기준으로 검색해 주세요",
            "2020년 경영진 입사 날짜를 다시 확인해 주세요",
            "다른 자료에서 2020년 경영진의 입사일을 찾아 주세요",
            "경영진의 2020년 입사일을 한 번 더 검색해 주세요",
        ],
        [
            "Найди даты прихода членов руководства компании Fubo",
            "Посмотри, какие даты прихода членов руководства указаны у Fubo",
            "На сайте Fubo должны быть даты прихода членов руководства",
            "Проверь другие источники: нужны даты прихода членов руководства Fubo",
            "Нужны точные даты прихода членов руководства Fubo, поищи снова",
        ],
    ];
    // Each errand brings something.
    let told = |errands: &[&str]| -> Vec<Value> {
        let told = errands.iter().zip(PIECES).map(|(errand, piece)| {
            let found = call_of("clerk", "look", &json!({"of": errand}), &json!(piece));
            [ask("lead", "clerk", errand), found]
        });
        told.flatten().collect()
    };
    for errands in again {
        check(&told(&errands), &["goal_loop"]);
    }
    let others = [
        [
            "请查找北京今天的天气情况",
            "请写一份关于水质的简短报告",
            "请把这封邮件翻译成英文",
            "请计算上个季度的销售总额",
            "请检查登录页面为什么报错",
            "请总结会议记录中的主要结论",
        ],
        [
            "北京の今日の天気を調べてください",
            "先月の売上の合計を計算してください",
            "このメールを英語に翻訳してください",
            "ログイン画面のエラーの原因を調べてください",
            "新しい機能のテストを書いてください",
            "会議の要点を三つにまとめてください",
        ],
        [
            "베이징의 오늘 날씨를 찾아주세요",
            "지난 분기 매출 합계를 계산해 주세요",
            "이 메일을 영어로 번역해 주세요",
            "로그인 화면의 오류 원인을 찾아주세요",
            "새 기능의 단위 테스트를 작성해 주세요",
            "회의 내용을 세 줄로 요약해 주세요",
        ],
        [
            "आज दिल्ली का मौसम कैसा है यह पता करो",
            "पिछली तिमाही की कुल बिक्री का हिसाब लगाओ",
            "इस पत्र का अंग्रेज़ी में अनुवाद करो",
            "लॉगिन पृष्ठ की त्रुटि का कारण खोजो",
            "नई सुविधा के लिए परीक्षण लिखो",
            "बैठक की मुख्य बातें संक्षेप में बताओ",
        ],
        [
            "ค้นหาสภาพอากาศวันนี้ที่เชียงใหม่",
            "คำนวณยอดขายรวมของไตรมาสที่แล้ว",
            "แปลจดหมายฉบับนี้เป็นภาษาอังกฤษ",
            "หาสาเหตุที่หน้าเข้าสู่ระบบผิดพลาด",
            "เขียนการทดสอบสำหรับคุณสมบัติใหม่",
            "สรุปประเด็นหลักของการประชุม",
        ],
    ];
    for errands in others {
        check(&told(&errands), &[]);
    }
    // How one asks another to go on says nothing of what is to be done.
    check(&told(&["请写下一部分"; 6]), &[]);
}

/// Given an instruction into which another name or text is filled each time, it is another errand, and reports back in the same
/// words are of other things; who says the same of each does not repeat himself. Given the same of one thing, it is a loop.
#[test]
fn forms_that_are_filled_in_are_other_errands() {
    let call_up = |name: &str| {
        [
            ask(
                "lead",
                "caller",
                &format!("Call {name} and ask whether they want to renew the contract"),
            ),
            call_of(
                "caller",
                "phone",
                &json!({"to": name}),
                &json!({"answered": false}),
            ),
            ask(
                "caller",
                "lead",
                "Nobody answered, I left a message on the voicemail there.",
            ),
        ]
    };
    let names = [
        "Sven Patel",
        "Marek Berg",
        "Xenia Ivanov",
        "Quentin Kowalski",
        "Marek Novak",
        "Dmitri Costa",
    ];
    check(&names.map(call_up).concat(), &[]);
    let refund = |name: &str| {
        let order = 10_000 + name.len() * 7_919;
        let wish = format!(
            "Customer {name} wants a refund for order {order}, please check the rules and process it"
        );
        [
            ask("triage", "refunds", &wish),
            call_of(
                "refunds",
                "get_rules",
                &json!({}),
                &json!("Refunds are granted within 30 days."),
            ),
            call_of(
                "refunds",
                "issue_refund",
                &json!({"order": order}),
                &json!({"ok": true}),
            ),
            ask(
                "refunds",
                "triage",
                "The refund was issued and the customer has been notified by mail.",
            ),
        ]
    };
    check(&names.map(refund).concat(), &[]);
    let judge = |piece: &str| {
        let question = format!("Question: is this right? Answer: {piece}. Is the answer correct?");
        [
            ask("runner", "judge", &question),
            says(
                "judge",
                "Verdict: PASS. The answer is correct and complete.",
            ),
            ask("judge", "runner", ""),
        ]
    };
    check(&PIECES.map(judge).concat(), &[]);
    let again = PIECES.map(|_| judge(PIECES[0])).concat();
    check(&again, &["goal_loop", "handoff_bounce", "repeated_text"]);
}

/// Given a page that is scrolled down under three errands, that is a loop; what was done before the first errand was under none.
#[test]
fn the_same_call_under_several_errands() {
    let errands = [
        "Count all ferries that leave before noon",
        "Write down which boats were painted lately",
        "Tell whether more rain is expected there",
    ];
    let errand = |number: usize| ask("lead", "surfer", errands[number]);
    let scroll = |number: usize| {
        let shown = json!(format!("what stands in part {number} of the page"));
        call_of("surfer", "scroll", &json!({"to": "down"}), &shown)
    };
    let three = [
        errand(0),
        scroll(0),
        errand(1),
        scroll(1),
        scroll(2),
        errand(2),
        scroll(3),
    ];
    check(&three, &["goal_loop"]);
    check(&three[..6], &[]);
    let two = [
        scroll(0),
        scroll(1),
        errand(0),
        scroll(2),
        errand(1),
        scroll(3),
    ];
    check(&two, &[]);
}

/// Given one task after the other that is planned, done and tested by the same command, the tests are no errand of their own as
/// long as they pass.
#[test]
fn tests_after_each_task() {
    let tasks = [
        "Add a retry with growing pauses to the upload client",
        "Parse the new layout of invoices with two addresses",
        "Move the sessions from memory into the database",
        "Show the number of the build on a page of its own",
        "Let administrators export the audit log as a table",
    ];
    let round = |(number, task): (usize, &&str)| {
        let change = json!({"path": format!("src/part{number}.rs"), "text": task});
        [
            ask("lead", "coder", &format!("Task {number}: {task}")),
            call_of(
                "coder",
                "edit_file",
                &change,
                &json!("The file was changed."),
            ),
            ask(
                "coder",
                "tester",
                &format!("Please test whether this works: {task}"),
            ),
            call_of(
                "tester",
                "bash",
                &json!({"command": "pytest -q"}),
                &json!(format!("{} passed in 1.2s", 20 + number)),
            ),
        ]
    };
    let rounds: Vec<_> = tasks.iter().enumerate().flat_map(round).collect();
    check(&rounds, &[]);
}
