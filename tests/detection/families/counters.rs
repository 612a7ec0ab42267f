//! Agents at counters: voices, tickets, sheets, pupils and other languages, and crews of agents in graphs and chats; loops, and
//! work that looks like them. Written before it was measured what is found of them.

use serde_json::{Value, json};

use super::lookalikes::Work;
use super::loops::Loop;
use super::made::Made;

pub(super) const LOOPS: &[Loop] = &[
    ("voice: a code that is misheard", 6, code_misheard),
    ("tickets: one goes round three desks", 5, ticket_goes_round),
    (
        "group chat: the coder's module is missing",
        6,
        module_missing,
    ),
    ("graph: the critic is never content", 8, critic_not_content),
    ("sheet: the formula stays an error", 6, formula_error),
    (
        "search in German, Spanish, Chinese: nothing",
        6,
        nothing_abroad,
    ),
    ("files in German: not found", 6, not_found_abroad),
    ("thoughts in other words, one action", 7, one_action),
    ("retrieval: reranked, and not supported", 6, not_supported),
];

pub(super) const WORK: &[Work] = &[
    ("service: a customer who takes no offer", takes_no_offer),
    ("voice: spelled piece by piece", spelled),
    ("graph: plan, do and judge ten tasks", tasks_judged),
    ("group chat: a part in each round", parts_in_rounds),
    ("sheet: a column, cell by cell", column_filled),
    ("search in ten languages", ten_languages),
    ("tutor: one question, many pupils", many_pupils),
    ("translation: eighty files", eighty_files),
    ("mail: one text to many", one_text_to_many),
    ("retrieval: verified claim by claim", claims_verified),
];

const ROUNDS: usize = 10;

fn says_user(made: &mut Made, text: &str) {
    made.pause(6);
    made.add(json!({"kind": "user_message", "agent": "user", "text": text}));
}

fn hand_over(made: &mut Made, from: &str, to: &'static str, why: &str) {
    made.add(json!({"kind": "handoff", "from_agent": from, "to_agent": to, "input": why}));
    made.as_agent(to);
}

/// What was said is written down as one of two codes, and neither is known; the caller says nothing that is recorded.
fn code_misheard(made: &mut Made) {
    made.begin(8);
    let word = made.word().to_uppercase();
    let codes = [format!("{}47", &word[..4]), format!("{}4T", &word[..4])];
    let asks = [
        "I'm sorry, I could not find that booking. Could you please repeat your booking code?",
        "Sorry, I didn't catch that. Could you spell the booking code for me once more?",
        "I still can't find it, I'm afraid. Would you say the booking code again, slowly?",
    ];
    for round in 0..ROUNDS {
        let code = &codes[usize::from(made.chance(30))];
        made.call(
            "find_booking",
            json!({"code": code, "channel": "phone"}),
            json!({"found": false, "message": format!("No booking with code {code}")}),
        );
        made.says(asks[round % 3]);
        made.again();
    }
}

fn ticket_goes_round(made: &mut Made) {
    made.begin(8);
    let (number, about) = (made.between(1_000, 9_999), made.words(3));
    let ticket = json!({"id": number, "subject": about, "state": "open"});
    let desks = ["billing", "technical", "accounts"];
    made.as_agent("billing");
    for round in 0..ROUNDS {
        for place in 0..3 {
            let (from, to) = (desks[place], desks[(place + 1) % 3]);
            if made.chance(60) {
                made.call("get_ticket", json!({"id": number}), ticket.clone());
            }
            let why = match (round + place) % 4 {
                0 => format!("The ticket about {about} is for {to}."),
                1 => format!("{from} cannot settle {about}; please take over."),
                2 => format!("Not ours: {about}. {to} should look at it."),
                _ => format!("Please handle ticket {number} ({about})."),
            };
            hand_over(made, from, to, &why);
        }
        made.again();
    }
}

/// A group chat in which the manager picks the same speaker, who writes other code each time.
fn module_missing(made: &mut Made) {
    made.begin(8);
    let (module, style) = (made.word(), made.below(2));
    for _ in 0..ROUNDS {
        made.as_agent("chat_manager");
        made.says(r#"{"next_speaker": "coder"}"#);
        made.as_agent("coder");
        let (names, body) = (made.words(2).replace(' ', "_"), made.words(10));
        let (rows, line) = (made.between(2, 90), made.between(2, 30));
        let code = format!(
            "import {module}\n\ndef {names}(rows={rows}):\n    \"\"\"{body}\"\"\"\n    return {module}.load(rows)\n\nprint({names}())"
        );
        let error = format!(
            "Traceback (most recent call last):\n  File \"/workspace/tmp_code_{}.py\", line {line}, in <module>\n    import {module}\nModuleNotFoundError: No module named '{module}'",
            &made.hex()[..8]
        );
        made.as_agent("executor");
        if style == 0 {
            made.call(
                "execute_code_blocks",
                json!({"code_blocks": [{"language": "python", "code": code}]}),
                format!("exitcode: 1 (execution failed)\nCode output: {error}\n"),
            );
        } else {
            let file = format!("tmp_{}.py", made.below(999));
            made.call(
                "CodeExecutor",
                json!({"language": "python", "code": code}),
                json!({"exit_code": 1, "output": error, "code_file": file}),
            );
        }
        made.again();
    }
}

fn critic_not_content(made: &mut Made) {
    made.begin(8);
    let about = made.some_words(3);
    for round in 0..ROUNDS {
        made.as_agent("writer");
        let draft = format!("On {}: {}.", about[0], made.words(30));
        made.call(
            "save_draft",
            json!({"text": draft, "version": round + 1}),
            json!({"saved": true}),
        );
        made.as_agent("critic");
        let score = made.between(5, 7);
        let feedback = match round % 3 {
            0 => format!(
                "The {} lacks sources; cite at least two for the {}.",
                about[1], about[2]
            ),
            1 => format!(
                "Please cite two sources at least on {}: the {} has none.",
                about[2], about[1]
            ),
            _ => format!(
                "Sources are missing in the {}. Two are needed for the {}.",
                about[1], about[2]
            ),
        };
        made.call(
            "grade_draft",
            json!({"draft": draft}),
            json!({"score": score, "pass": false, "feedback": feedback}),
        );
        made.again();
    }
}

fn formula_error(made: &mut Made) {
    made.begin(8);
    let (sheet, error) = (
        made.word(),
        made.pick(&["#REF!", "#N/A", "#NAME?", "#VALUE!"]),
    );
    let cell = format!("D{}", made.between(2, 40));
    for round in 0..ROUNDS {
        let (from, to) = (made.between(1, 9), made.between(20, 99));
        let formula = match round % 4 {
            0 => format!("=VLOOKUP(A2,{sheet}!$A${from}:$C${to},3,FALSE)"),
            1 => format!("=INDEX({sheet}!C{from}:C{to},MATCH(A2,{sheet}!A{from}:A{to},0))"),
            2 => format!("=XLOOKUP(A2,{sheet}!A{from}:A{to},{sheet}!C{from}:C{to})"),
            _ => format!("=IF(A2=\"\",\"\",VLOOKUP($A2,{sheet}!A:C,3,0))"),
        };
        made.call(
            "set_cell",
            json!({"sheet": "Report", "cell": cell, "formula": formula}),
            json!({"updated": 1, "formula": formula}),
        );
        made.call(
            "read_range",
            json!({"sheet": "Report", "range": cell}),
            json!({"values": [[error]]}),
        );
        made.again();
    }
}

/// One question, reworded in its own language, of which the answer is in that language too.
fn nothing_abroad(made: &mut Made) {
    made.begin(8);
    let (questions, nothing) = match made.below(3) {
        0 => (
            [
                "Öffnungszeiten Bürgeramt Feiertage",
                "wann hat das Bürgeramt an Feiertagen offen",
                "Bürgeramt geöffnet Feiertag",
                "Feiertage Bürgeramt Sprechzeiten",
                "Ist das Bürgeramt an Feiertagen geöffnet?",
            ],
            "Es wurden keine Ergebnisse gefunden.",
        ),
        1 => (
            [
                "horario de la oficina en festivos",
                "oficina abierta días festivos",
                "cuándo abre la oficina en festivos",
                "festivos horario atención oficina",
                "¿abre la oficina los festivos?",
            ],
            "No se encontraron resultados.",
        ),
        _ => (
            [
                "节假日 服务大厅 开放时间",
                "服务大厅节假日几点开门",
                "节假日服务大厅是否开放",
                "服务大厅 放假 时间安排",
                "请问节假日服务大厅的开放时间",
            ],
            "没有找到相关结果。",
        ),
    };
    let output = if made.chance(50) {
        json!(nothing)
    } else {
        json!({"message": nothing, "results": []})
    };
    for round in 0..ROUNDS {
        let year = made.between(2_024, 2_027);
        let query = match round / 5 {
            0 => questions[round].to_owned(),
            _ => format!("{} {year}", questions[round % 5]),
        };
        made.call("web_search", json!({"query": query}), output.clone());
        made.again();
    }
}

fn not_found_abroad(made: &mut Made) {
    made.begin(8);
    let file = format!("{}_{}", made.word(), made.word());
    let style = made.below(2);
    for round in 0..ROUNDS {
        let dir = made.pick(&["daten", "berichte", "ablage/2026", "export", "tmp"]);
        let end = ["csv", "xlsx", "txt", "CSV"][round % 4];
        let path = format!("{dir}/{file}.{end}");
        let error = if style == 0 {
            format!("Fehler: Die Datei »{path}« wurde nicht gefunden.")
        } else {
            format!("Datei oder Verzeichnis nicht gefunden: {path}")
        };
        made.fails("datei_lesen", json!({"pfad": path}), &error);
        made.again();
    }
}

/// An agent whose tools are not traced: each turn is a text with a thought, in ever other words, and the same action.
fn one_action(made: &mut Made) {
    made.begin(8);
    let about = made.some_words(3);
    let action = format!(
        "Action: search_documents\nAction Input: {{\"query\": \"{} {}\", \"folder\": \"{}\"}}",
        about[0], about[1], about[2]
    );
    for round in 0..ROUNDS {
        let thought = match round % 5 {
            0 => format!("I need to find out about the {} first.", about[0]),
            1 => format!(
                "Let me look for documents on {} and {}.",
                about[0], about[1]
            ),
            2 => "The last search did not help, so I will try once more.".to_owned(),
            3 => format!("To answer this I should search the {} folder.", about[2]),
            _ => "I still do not have what I need.".to_owned(),
        };
        made.says(&format!("Thought: {thought}\n{action}"));
        made.again();
    }
}

fn not_supported(made: &mut Made) {
    made.begin(8);
    let (claim, passages) = (
        made.words(6),
        [made.words(25), made.words(25), made.words(25)],
    );
    for round in 0..ROUNDS {
        let top_k = 3 + round % 3;
        made.call(
            "retrieve",
            json!({"query": claim, "top_k": top_k}),
            json!({"passages": passages}),
        );
        let mut scores: Vec<_> = (0..3)
            .map(|_| made.between(300, 600) as f64 / 1_000.0)
            .collect();
        scores.sort_by(|left, right| right.total_cmp(left));
        made.call(
            "rerank",
            json!({"query": claim, "passages": passages}),
            json!({"scores": scores}),
        );
        let reason = made.pick(&[
            "none of the passages mentions it",
            "the passages do not mention it",
            "it is not mentioned in any passage",
        ]);
        made.call(
            "verify",
            json!({"claim": claim, "passages": passages}),
            json!({"supported": false, "reason": reason}),
        );
        made.again();
    }
}

/// Each turn of the customer's is answered by a look at the booking and a search, until a person takes over.
fn takes_no_offer(made: &mut Made) {
    made.begin(4);
    let id = made.hex()[..6].to_uppercase();
    let booking =
        json!({"id": id, "cabin": "economy", "flights": [made.words(3)], "insurance": "no"});
    let wishes = [
        "No, that is too late for me.",
        "I don't want that one. What else is there?",
        "That's too expensive.",
        "No. I want a refund.",
    ];
    for turn in 0..made.between(8, 12) {
        says_user(made, wishes[turn % 4]);
        if made.chance(70) {
            made.call(
                "get_reservation_details",
                json!({"reservation_id": id}),
                booking.clone(),
            );
        }
        if turn % 4 == 3 {
            made.says("I am sorry, but basic economy tickets that were booked more than 24 hours ago cannot be refunded. I can offer you another flight instead.");
        } else {
            let day = made.between(10, 28);
            let flights = (0..made.below(3)).map(|_| json!({"number": format!("HAT{}", made.between(100, 300)), "price": made.between(90, 400)}));
            let flights: Vec<_> = flights.collect();
            made.call(
                "search_direct_flight",
                json!({"origin": "SEA", "destination": "JFK", "date": format!("2027-05-{day}")}),
                json!(flights),
            );
            made.says(&format!(
                "On May {day} there is another flight. Shall I book it for you?"
            ));
        }
    }
    made.call(
        "transfer_to_human_agents",
        json!({"summary": "The customer wants a refund that the policy does not allow."}),
        "Transfer successful",
    );
}

fn spelled(made: &mut Made) {
    made.begin(4);
    for slot in [
        "booking code",
        "last name",
        "e-mail address",
        "phone number",
    ] {
        let all = made.hex();
        for end in 1..made.between(5, 8) {
            made.says("Thank you. Please go on.");
            if made.chance(50) {
                says_user(made, &all[end * 2 - 2..end * 2]);
            }
            made.call(
                "update_slot",
                json!({"slot": slot, "value": &all[..end * 2]}),
                json!({"ok": true, "complete": false}),
            );
        }
        made.call(
            "confirm_slot",
            json!({"slot": slot}),
            json!({"ok": true, "complete": true}),
        );
    }
}

fn tasks_judged(made: &mut Made) {
    made.begin(4);
    for task in 1..=10 {
        let about = made.words(4);
        made.as_agent("planner");
        made.says(&format!("Step {task}: find out about {about}."));
        for attempt in 0..made.between(1, 2) {
            made.as_agent("executor");
            let found = made.words(14);
            made.call(
                "search",
                json!({"query": format!("{about} {}", ["", "in detail"][attempt]).trim()}),
                json!({"hits": [found]}),
            );
            made.as_agent("critic");
            made.call(
                "judge",
                json!({"step": task, "answer": found}),
                json!({"pass": attempt == 1 || task % 3 > 0, "issues": []}),
            );
        }
    }
}

fn parts_in_rounds(made: &mut Made) {
    made.begin(4);
    for _ in 0..made.between(8, 12) {
        let part = made.words(3);
        made.as_agent("planner");
        made.says(&format!("Next is the part on {part}."));
        hand_over(made, "planner", "coder", "Please write the next part.");
        let body = made.words(20);
        made.says(&format!("```python\n# {part}\nprint('{body}')\n```"));
        hand_over(made, "coder", "tester", "Please run it.");
        made.call(
            "execute_code_blocks",
            json!({"code_blocks": [{"language": "python", "code": format!("# {part}\nassert check('{body}')")}]}),
            "exitcode: 0 (execution succeeded)\nCode output: \n",
        );
        hand_over(made, "tester", "planner", "It works.");
    }
}

fn column_filled(made: &mut Made) {
    made.begin(4);
    let style = made.below(2);
    for row in 2..made.between(30, 50) {
        let cell = format!("D{row}");
        if style == 0 {
            made.call(
                "set_cell",
                json!({"sheet": "Report", "cell": cell, "formula": format!("=IF(B{row}=\"\",\"\",B{row}*C{row}*1.19)")}),
                json!({"updated": 1}),
            );
        } else {
            let value = made.pick(&["yes", "no", "unclear"]);
            let read = made.words(5);
            made.call(
                "read_range",
                json!({"sheet": "Report", "range": format!("A{row}:C{row}")}),
                json!({"values": [[read]]}),
            );
            made.call(
                "set_cell",
                json!({"sheet": "Report", "cell": cell, "value": value}),
                json!({"updated": 1}),
            );
        }
        if row % 10 == 0 {
            made.call(
                "recalculate",
                json!({"sheet": "Report"}),
                json!({"errors": 0}),
            );
        }
    }
}

fn ten_languages(made: &mut Made) {
    made.begin(4);
    let about = made.word();
    let places = [
        ("Vorschriften", "Es wurden keine Ergebnisse gefunden."),
        ("normativa", "No se encontraron resultados."),
        ("réglementation", "Aucun résultat trouvé."),
        ("法规", "没有找到相关结果。"),
        ("規制", "該当する結果がありません。"),
        ("regolamento", "Nessun risultato trovato."),
        ("regulamento", "Nenhum resultado encontrado."),
        ("правила", "Ничего не найдено."),
        ("voorschriften", "Geen resultaten gevonden."),
        ("przepisy", "Nie znaleziono wyników."),
    ];
    for (query, nothing) in places {
        if made.chance(20) {
            made.call(
                "web_search",
                json!({"query": format!("{about} {query}")}),
                nothing,
            );
            continue;
        }
        let (title, text) = (made.words(4), made.words(20));
        let url = format!("https://{}.example/{query}", made.word());
        made.call(
            "web_search",
            json!({"query": format!("{about} {query}")}),
            json!({"results": [{"title": format!("{query} {title}"), "text": text}]}),
        );
        made.call("fetch_url", json!({"url": url}), text.clone());
    }
}

fn many_pupils(made: &mut Made) {
    made.begin(4);
    let question = format!(
        "What is a {} made of, and why? Please explain it in your own words.",
        made.word()
    );
    for number in 1..made.between(15, 25) {
        made.says(&question);
        says_user(made, "I think it has to do with how it is used.");
        let (correct, answer) = (made.chance(40), made.words(8));
        made.call(
            "grade_answer",
            json!({"pupil": number, "answer": answer}),
            json!({"correct": correct, "hint": if correct { Value::Null } else { json!("Mention the material and its use.") }}),
        );
        if !correct {
            made.says("Not quite. Think of the material and of its use, and try again.");
        }
    }
}

fn eighty_files(made: &mut Made) {
    made.begin(4);
    let glossary = made.words(30);
    let style = made.below(2);
    for number in 0..80 {
        let path = format!("docs/{}_{number}.md", made.word());
        let text = made.words(25);
        if made.chance(30) {
            made.call(
                "read_file",
                json!({"path": "docs/glossary.md"}),
                glossary.clone(),
            );
        }
        made.call("read_file", json!({"path": path}), text.clone());
        let target = path.replace("docs/", "docs/de/");
        let output = if style == 0 {
            json!("ok")
        } else {
            json!(format!("File created successfully at: {target}"))
        };
        made.call(
            "write_file",
            json!({"path": target, "content": format!("Übersetzt: {text}")}),
            output,
        );
    }
}

fn one_text_to_many(made: &mut Made) {
    made.begin(4);
    let (subject, body) = (made.words(4), made.words(40));
    let answer = made.below(3);
    for number in 0..made.between(25, 40) {
        let (name, id) = (made.word(), made.hex());
        let to = format!("{name}.{}@mail.example", made.word());
        if made.chance(50) {
            made.call(
                "get_contact",
                json!({"id": number}),
                json!({"name": name, "mail": to, "opted_in": true}),
            );
        }
        made.call(
            "send_email",
            json!({"to": to, "subject": subject, "body": format!("Dear {name},\n\n{body}\n\nKind regards")}),
            match answer {
                0 => json!({"status": "queued", "id": id}),
                1 => json!("Email sent successfully."),
                _ => json!({"success": true}),
            },
        );
    }
}

fn claims_verified(made: &mut Made) {
    made.begin(4);
    let handbook: Vec<_> = (0..6).map(|_| made.words(25)).collect();
    for _ in 0..made.between(10, 16) {
        let claim = made.words(6);
        let mut passages = handbook.clone();
        passages.truncate(made.between(3, 6));
        passages.push(made.words(25));
        made.call(
            "retrieve",
            json!({"query": claim, "top_k": 4}),
            json!({"passages": passages}),
        );
        let supported = made.chance(80);
        made.call(
            "verify",
            json!({"claim": claim, "passages": passages}),
            if supported {
                json!({"supported": true})
            } else {
                json!({"supported": false, "reason": "none of the passages mentions it"})
            },
        );
    }
}
