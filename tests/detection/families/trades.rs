//! Agents of many trades: browsers, databases, retrieval, customers' service, research, games and others; loops, and work
//! that looks like them. Written before it was measured what is found of them.

use serde_json::{Value, json};

use super::lookalikes::Work;
use super::loops::Loop;
use super::made::Made;

pub(super) const LOOPS: &[Loop] = &[
    ("browser: a click that does nothing", 6, click_in_vain),
    ("browser: scrolling at the end", 6, scroll_at_end),
    ("browser: log-in refused", 6, login_refused),
    ("sql: reworded, same error", 6, sql_same_error),
    ("sql: schema, query, schema", 6, sql_schema_again),
    (
        "retrieval: same pieces, other scores",
        6,
        retrieval_same_pieces,
    ),
    ("service: one order again and again", 6, same_order),
    ("coding: list of tasks and nothing else", 6, todo_alone),
    ("manager: next speaker, same errand", 6, ledger_stuck),
    ("research: pages behind the end", 6, pages_behind_end),
    ("research: empty pages that tell a count", 6, pages_counted),
    ("research: from the first page again", 6, pages_again),
    ("pipeline: same items again", 6, items_again),
    ("game: into the wall", 6, into_the_wall),
    ("approval: nobody answers", 6, approval_hammered),
    ("deploy: restarts go on and on", 8, crash_loop),
    ("edit tool: old text not found", 7, old_text_not_found),
    ("mail: draft rewritten and refused", 6, draft_refused),
];

pub(super) const WORK: &[Work] = &[
    ("browser: pages by one button", next_button),
    ("browser: scrolling through a page", scroll_page),
    ("browser: a form filled in", form_filled),
    ("sql: exploring", sql_exploring),
    ("sql: a count between inserts", sql_inserts),
    ("retrieval: pieces that overlap", retrieval_overlap),
    ("service: same look-up, many customers", many_customers),
    ("service: one policy for all", one_policy),
    ("coding: tasks ticked off", tasks_ticked),
    ("manager: one speaker, other errands", ledger_moves),
    ("research: pages to the end", pages_to_end),
    ("pipeline: 200 items", pipeline_items),
    ("cron: all is well every hour", cron_healthy),
    ("game: steps in one direction", game_steps),
    ("game: dice", game_dice),
    ("approvals of many things", approvals),
    ("approval: waiting for a person", approval_waits),
    ("deploy: tried until it is done", deploy_until_done),
    ("translation: paragraph by paragraph", translation),
    ("smart home: switched on and off", switches),
];

const ROUNDS: usize = 10;

/// A picture of a page, another one each time.
fn picture(made: &mut Made) -> String {
    let text: String = (0..24).map(|_| made.hex()).collect();
    format!("data:image/png;base64,iVBORw0KGgo{text}==")
}

fn page(made: &mut Made, url: &str, text: &str) -> Value {
    let picture = picture(made);
    json!({"url": url, "title": text.split(' ').next(), "text": text, "screenshot": picture})
}

fn click_in_vain(made: &mut Made) {
    made.begin(8);
    let (url, text, index) = (
        format!("https://shop.example/{}", made.word()),
        made.words(14),
        made.below(90),
    );
    let style = made.below(3);
    for _ in 0..ROUNDS {
        let seen = page(made, &url, &text);
        match style {
            0 => made.call("browser_click", json!({"index": index}), seen),
            1 => {
                made.call(
                    "browser_click",
                    json!({"selector": "#submit"}),
                    "Clicked #submit",
                );
                made.call("browser_screenshot", json!({}), seen);
            }
            _ => {
                made.call(
                    "click",
                    json!({"ref": format!("e{index}"), "element": "Continue"}),
                    "ok",
                );
                made.call("wait", json!({"seconds": 2}), "Waited for 2 seconds");
                made.call("get_page_text", json!({}), text.as_str());
            }
        }
        made.again();
    }
}

fn scroll_at_end(made: &mut Made) {
    made.begin(8);
    let style = made.below(2);
    for _ in 0..ROUNDS {
        let picture = picture(made);
        let output = if style == 0 {
            json!("Scrolled down by 600 pixels. 0 pixels below.")
        } else {
            json!({"scrolled": 600, "pixels_below": 0, "screenshot": picture})
        };
        made.call(
            "scroll",
            json!({"direction": "down", "amount": 600}),
            output,
        );
        made.again();
    }
}

fn login_refused(made: &mut Made) {
    made.begin(8);
    let url = "https://bank.example/login";
    for _ in 0..ROUNDS {
        made.call(
            "type_text",
            json!({"selector": "#user", "text": "ann"}),
            "typed",
        );
        made.call(
            "type_text",
            json!({"selector": "#password", "text": "hunter2"}),
            "typed",
        );
        let seen = page(
            made,
            url,
            "Sign in. The user name or password is not right.",
        );
        made.call("click", json!({"selector": "#sign-in"}), seen);
        made.again();
    }
}

fn sql_same_error(made: &mut Made) {
    made.begin(8);
    let (table, column) = (made.word(), made.word());
    for round in 0..ROUNDS {
        let (other, limit) = (made.word(), made.between(1, 50));
        let query = match round % 5 {
            0 => format!("SELECT {column} FROM {table}"),
            1 => format!("SELECT t.{column}, count(*) FROM {table} t GROUP BY 1 LIMIT {limit}"),
            2 => format!("select distinct {column} from {table} where {other} is not null"),
            3 => format!("SELECT {column} AS {other} FROM {table} ORDER BY {column} DESC"),
            _ => format!("SELECT max({column}) FROM {table} WHERE {other} > {limit}"),
        };
        let at = query.find(column).unwrap_or(0) + 1;
        made.fails(
            "run_sql",
            json!({"query": query}),
            &format!(
                "ERROR: column \"{column}\" does not exist\nLINE 1: {query}\n{:>at$}",
                "^"
            ),
        );
        made.again();
    }
}

fn sql_schema_again(made: &mut Made) {
    made.begin(8);
    let tables: Vec<_> = (0..3).map(|_| (made.word(), made.words(8))).collect();
    for _ in 0..ROUNDS {
        made.call(
            "list_tables",
            json!({}),
            json!(tables.iter().map(|table| table.0).collect::<Vec<_>>()),
        );
        for (name, columns) in &tables {
            if made.chance(70) {
                made.call(
                    "describe_table",
                    json!({"table": name}),
                    json!({"table": name, "columns": columns}),
                );
            }
        }
        if made.chance(50) {
            made.call(
                "run_sql",
                json!({"query": format!("SELECT * FROM {} LIMIT 1", tables[0].0)}),
                json!([]),
            );
        }
        made.again();
    }
}

fn retrieval_same_pieces(made: &mut Made) {
    made.begin(8);
    let words = made.some_words(4);
    let pieces: Vec<_> = (0..3).map(|_| made.words(18)).collect();
    for round in 0..ROUNDS {
        let extra = made.word();
        let query = match round % 4 {
            0 => words.join(" "),
            1 => format!("{} {} {}", words[1], words[0], words[3]),
            2 => format!("how does {} relate to {}", words[0], words[2]),
            _ => format!("{} {extra}", words.join(" ")),
        };
        let hits: Vec<_> = pieces
            .iter()
            .enumerate()
            .map(|(id, text)| json!({"id": format!("doc-{id}"), "text": text, "score": made.below(1_000) as f64 / 1_000.0}))
            .collect();
        made.call(
            "retrieve",
            json!({"query": query, "top_k": 3}),
            json!({"chunks": hits}),
        );
        made.again();
    }
}

fn same_order(made: &mut Made) {
    made.begin(8);
    let (id, city) = (made.between(10_000, 99_999), made.words(3));
    for _ in 0..ROUNDS {
        made.call(
            "get_order_details",
            json!({"order_id": format!("#W{id}")}),
            json!({"order_id": format!("#W{id}"), "status": "delivered", "address": city, "items": [{"name": "lamp", "price": 44.5}]}),
        );
        if made.chance(40) {
            made.says("Let me look at the order once more.");
        }
        made.again();
    }
}

fn todo_alone(made: &mut Made) {
    made.begin(8);
    let tasks: Vec<_> = (0..4).map(|_| made.words(6)).collect();
    let answer = made.pick(&[
        "Todos have been modified successfully.",
        "ok",
        "Plan updated",
    ]);
    for _ in 0..ROUNDS {
        let list: Vec<_> = tasks
            .iter()
            .map(|task| json!({"content": task, "status": "pending"}))
            .collect();
        made.call("todo_write", json!({"todos": list}), answer);
        if made.chance(50) {
            made.call("todo_read", json!({}), json!(list));
        }
        made.again();
    }
}

/// What the manager says each time, in the shape of a ledger.
fn ledger(made: &mut Made, speaker: &'static str, errand: &str) {
    let reason = made.words(6);
    made.as_agent("manager");
    made.says(&json!({"is_request_satisfied": {"answer": false, "reason": reason}, "next_speaker": {"answer": speaker}, "instruction_or_question": {"answer": errand}}).to_string());
    made.add(
        json!({"kind": "handoff", "from_agent": "manager", "to_agent": speaker, "input": errand}),
    );
    made.as_agent(speaker);
}

fn ledger_stuck(made: &mut Made) {
    made.begin(8);
    let (about, url) = (made.words(4), format!("https://{}.example/", made.word()));
    for _ in 0..ROUNDS {
        let way = made.pick(&["", " Please", " Now", " Once more"]);
        ledger(
            made,
            "web_surfer",
            &format!(
                "{way} visit the site of {about} and find the list of opening hours for the coming week."
            ),
        );
        let seen = page(made, &url, "404 page not found");
        made.call("visit_url", json!({"url": url}), seen);
        made.says("The page could not be found on the site.");
        made.again();
    }
}

fn pages_behind_end(made: &mut Made) {
    let output = if made.chance(50) {
        json!({"papers": []})
    } else {
        json!("No more results.")
    };
    behind_end(made, &output);
}

fn pages_counted(made: &mut Made) {
    behind_end(made, &json!({"papers": [], "page_count": 3, "error": null}));
}

fn behind_end(made: &mut Made, output: &Value) {
    made.begin(8);
    let words = made.words(3);
    for page in 0..3 {
        let hits: Vec<_> = (0..4).map(|_| made.words(5)).collect();
        made.call(
            "search_papers",
            json!({"query": words, "page": page}),
            json!({"papers": hits}),
        );
    }
    made.begins = made.events.len();
    for page in 3..ROUNDS + 3 {
        made.call(
            "search_papers",
            json!({"query": words, "page": page}),
            output.clone(),
        );
        made.again();
    }
}

fn pages_again(made: &mut Made) {
    made.begin(8);
    let words = made.words(3);
    let pages: Vec<Vec<_>> = (0..made.between(2, 4))
        .map(|_| (0..4).map(|_| made.words(5)).collect())
        .collect();
    for _ in 0..ROUNDS {
        for (page, hits) in pages.iter().enumerate() {
            made.call(
                "search_papers",
                json!({"query": words, "page": page}),
                json!({"papers": hits}),
            );
        }
        made.again();
    }
}

fn items_again(made: &mut Made) {
    made.begin(8);
    let items: Vec<_> = (0..made.between(2, 5))
        .map(|_| (made.between(100, 999), made.words(3)))
        .collect();
    for _ in 0..ROUNDS {
        for (id, text) in &items {
            made.call(
                "process_item",
                json!({"item_id": id}),
                json!({"item_id": id, "status": "processed", "label": text}),
            );
        }
        made.again();
    }
}

fn into_the_wall(made: &mut Made) {
    made.begin(8);
    let (x, y) = (made.below(9), made.below(9));
    let ways = ["up", "left"];
    let alternate = made.chance(40);
    for round in 0..ROUNDS {
        let way = if alternate { ways[round % 2] } else { ways[0] };
        made.call("move", json!({"direction": way}), json!({"moved": false, "position": [x, y], "message": "You cannot go that way.", "turn": round + 1}));
        made.again();
    }
}

fn approval_hammered(made: &mut Made) {
    made.begin(8);
    let id = made.hex();
    for _ in 0..ROUNDS {
        made.call(
            "get_approval",
            json!({"request": id}),
            json!({"request": id, "state": "pending", "approver": "ops"}),
        );
        made.again();
    }
}

/// A pod that dies and starts anew: the number of its restarts grows, and nothing else comes of it.
fn crash_loop(made: &mut Made) {
    made.begin(8);
    let (name, words) = (made.word(), made.words(4));
    let mut restarts = made.between(1, 5);
    for _ in 0..ROUNDS + 2 {
        let minutes = made.between(1, 9);
        made.sh("kubectl get pods", &format!("NAME READY STATUS RESTARTS AGE\n{name}-7d 0/1 CrashLoopBackOff {restarts} ({minutes}m ago) {restarts}m"));
        let time = made.time();
        made.sh(
            &format!("kubectl logs {name}-7d"),
            &format!("{time} fatal: {words}"),
        );
        if made.chance(40) {
            made.sh(
                &format!("kubectl rollout restart deployment/{name}"),
                &format!("deployment.apps/{name} restarted"),
            );
        }
        restarts += made.between(0, 2);
        made.again();
    }
}

fn old_text_not_found(made: &mut Made) {
    made.begin(8);
    let (file, content) = (made.file(), made.words(30));
    for _ in 0..ROUNDS {
        let (old, new) = (made.words(6), made.words(6));
        made.fails(
            "str_replace_editor",
            json!({"command": "str_replace", "path": file, "old_str": old, "new_str": new}),
            &format!(
                "No replacement was performed, old_str `{old}` did not appear verbatim in {file}."
            ),
        );
        if made.chance(50) {
            made.call(
                "str_replace_editor",
                json!({"command": "view", "path": file}),
                content.as_str(),
            );
        }
        made.again();
    }
}

fn draft_refused(made: &mut Made) {
    made.begin(8);
    let lines: Vec<_> = (0..6).map(|_| made.words(9)).collect();
    for _ in 0..ROUNDS {
        let mut letter = lines.clone();
        letter[2] = made.words(9);
        made.fails(
            "send_email",
            json!({"to": "ann@example.com", "body": letter.join(" ")}),
            "422 Unprocessable: recipient address is on the block list",
        );
        made.again();
    }
}

fn next_button(made: &mut Made) {
    made.begin(8);
    for number in 1..made.between(7, 14) {
        let words = made.words(14);
        let seen = page(
            made,
            &format!("https://shop.example/list?page={number}"),
            &words,
        );
        made.call("browser_click", json!({"index": 14}), seen);
    }
}

fn scroll_page(made: &mut Made) {
    made.begin(8);
    let mut below = made.between(4_000, 9_000);
    while below > 600 {
        below -= 600;
        let (words, picture) = (made.words(12), picture(made));
        made.call(
            "scroll",
            json!({"direction": "down", "amount": 600}),
            json!({"pixels_below": below, "text": words, "screenshot": picture}),
        );
    }
}

fn form_filled(made: &mut Made) {
    made.begin(8);
    for field in made.some_words(9) {
        let text = made.words(2);
        made.call(
            "type_text",
            json!({"selector": format!("#{field}"), "text": text}),
            "typed",
        );
        if made.chance(40) {
            made.call(
                "click",
                json!({"selector": format!("#{field}-next")}),
                "clicked",
            );
        }
    }
    let seen = page(made, "https://form.example/done", "Thank you");
    made.call("click", json!({"selector": "#send"}), seen);
}

fn sql_exploring(made: &mut Made) {
    made.begin(8);
    let tables = made.some_words(5);
    made.call("list_tables", json!({}), json!(tables));
    for table in tables {
        let (columns, other, count) = (made.words(8), made.word(), made.between(10, 9_000));
        made.call(
            "describe_table",
            json!({"table": table}),
            json!({"table": table, "columns": columns}),
        );
        if made.chance(40) {
            made.fails(
                "run_sql",
                json!({"query": format!("SELECT {other} FROM {table}")}),
                &format!("ERROR: column \"{other}\" does not exist"),
            );
        }
        made.call(
            "run_sql",
            json!({"query": format!("SELECT count(*) FROM {table}")}),
            json!([{"count": count}]),
        );
        if made.chance(50) {
            made.call(
                "run_sql",
                json!({"query": format!("SELECT * FROM {table} WHERE {other} = 1")}),
                json!([]),
            );
        }
    }
}

fn sql_inserts(made: &mut Made) {
    made.begin(8);
    let table = made.word();
    for round in 1..made.between(6, 10) {
        let words = made.words(3);
        made.call(
            "run_sql",
            json!({"query": format!("INSERT INTO {table} VALUES ('{words}')")}),
            json!({"rows_affected": 1}),
        );
        if made.chance(60) {
            made.call(
                "run_sql",
                json!({"query": format!("SELECT count(*) FROM {table}")}),
                json!([{"count": round}]),
            );
        }
    }
}

/// Different questions to one collection, whose answers share pieces.
fn retrieval_overlap(made: &mut Made) {
    made.begin(8);
    let pieces: Vec<_> = (0..24).map(|_| made.words(18)).collect();
    for _ in 0..made.between(6, 12) {
        let query = made.words(4);
        let hits: Vec<_> = (0..4)
            .map(|_| {
                let id = made.below(24);
                json!({"id": format!("doc-{id}"), "text": pieces[id], "score": made.below(1_000) as f64 / 1_000.0})
            })
            .collect();
        made.call(
            "retrieve",
            json!({"query": query, "top_k": 4}),
            json!({"chunks": hits}),
        );
    }
}

fn many_customers(made: &mut Made) {
    for _ in 0..made.between(8, 14) {
        made.user();
        let (id, name, tier) = (
            made.between(1_000, 9_999),
            made.words(2),
            made.pick(&["gold", "silver"]),
        );
        made.call(
            "find_customer",
            json!({"email": format!("{}@example.com", name.replace(' ', "."))}),
            json!({"customer_id": id}),
        );
        made.call(
            "get_customer",
            json!({"customer_id": id}),
            json!({"name": name, "tier": tier, "open_orders": 0}),
        );
        made.call("get_open_tickets", json!({"customer_id": id}), json!([]));
        made.says("Your account is in order. Can I help you with anything else?");
    }
}

/// The same page of the rules is read again for each case.
fn one_policy(made: &mut Made) {
    let policy = made.words(30);
    for _ in 0..made.between(7, 12) {
        let (id, words) = (made.between(1_000, 9_999), made.words(4));
        made.call(
            "get_case",
            json!({"case_id": id}),
            json!({"case_id": id, "about": words}),
        );
        made.call("get_policy", json!({"name": "refunds"}), policy.as_str());
        made.call(
            "resolve_case",
            json!({"case_id": id, "decision": made_decision(id)}),
            json!({"ok": true}),
        );
    }
}

fn made_decision(id: usize) -> &'static str {
    if id.is_multiple_of(2) {
        "refund"
    } else {
        "decline"
    }
}

fn tasks_ticked(made: &mut Made) {
    let tasks: Vec<_> = (0..5).map(|_| made.words(6)).collect();
    for done in 0..=tasks.len() {
        let list: Vec<_> = tasks
            .iter()
            .enumerate()
            .map(|(at, task)| json!({"id": at, "content": task, "done": at < done}))
            .collect();
        made.call(
            "todo_write",
            json!({"todos": list}),
            "Todos have been modified successfully.",
        );
        if made.chance(30) {
            made.call("todo_read", json!({}), json!(list));
        }
        let steps = made.between(0, 3);
        made.work(steps);
    }
}

fn ledger_moves(made: &mut Made) {
    made.begin(8);
    for _ in 0..made.between(6, 10) {
        let (about, what, url) = (
            made.words(3),
            made.words(5),
            format!("https://{}.example/{}", made.word(), made.word()),
        );
        ledger(
            made,
            "web_surfer",
            &format!("Please look up {about} and tell me about {what}."),
        );
        let text = made.words(14);
        let seen = page(made, &url, &text);
        made.call("visit_url", json!({"url": url}), seen);
        made.says(&format!("I found this: {text}"));
    }
}

fn pages_to_end(made: &mut Made) {
    made.begin(8);
    for _ in 0..2 {
        let words = made.words(3);
        for page in 0..made.between(4, 9) {
            let hits: Vec<_> = (0..4).map(|_| made.words(5)).collect();
            made.call(
                "search_papers",
                json!({"query": words, "page": page}),
                json!({"papers": hits, "page": page}),
            );
        }
        made.call(
            "search_papers",
            json!({"query": words, "page": 99}),
            json!({"papers": []}),
        );
    }
}

fn pipeline_items(made: &mut Made) {
    let style = made.below(3);
    for item in 0..200 {
        let (word, number) = (made.word(), made.below(500));
        match style {
            0 => made.call(
                "process_item",
                json!({"item_id": item}),
                json!({"status": "ok"}),
            ),
            1 => made.call(
                "convert",
                json!({"file": format!("data/{word}_{item}.csv"), "to": "parquet"}),
                "done",
            ),
            _ => made.call(
                "embed",
                json!({"text": format!("{word} {number} {item}")}),
                json!({"dimensions": 768, "stored": true}),
            ),
        }
    }
}

fn cron_healthy(made: &mut Made) {
    for _ in 0..24 {
        made.call(
            "http_get",
            json!({"url": "https://shop.example/health"}),
            json!({"status": 200, "body": "ok"}),
        );
        made.call("query_metrics", json!({"query": "up"}), json!({"up": 1}));
        if made.chance(50) {
            made.says("All systems are working normally.");
        }
        made.pause(3_600);
    }
}

fn game_steps(made: &mut Made) {
    made.begin(8);
    let y = made.below(9);
    for x in 0..made.between(8, 16) {
        made.call(
            "move",
            json!({"direction": "right"}),
            json!({"moved": true, "position": [x, y]}),
        );
    }
}

/// A die has six sides, so that what it shows has soon been seen.
fn game_dice(made: &mut Made) {
    for turn in 1..made.between(10, 20) {
        let (dice, field) = (made.between(1, 6), made.word());
        made.call("roll_dice", json!({"sides": 6}), json!({"result": dice}));
        made.call(
            "move_piece",
            json!({"fields": dice}),
            json!({"turn": turn, "field": field, "coins": turn * 3}),
        );
    }
}

fn approvals(made: &mut Made) {
    made.begin(8);
    for _ in 0..made.between(6, 12) {
        let words = made.words(5);
        made.call(
            "ask_human",
            json!({"question": format!("May I go on with: {words}?")}),
            "yes",
        );
        let steps = made.between(0, 2);
        made.work(steps);
    }
}

fn approval_waits(made: &mut Made) {
    made.begin(8);
    let id = made.hex();
    for _ in 0..made.between(5, 12) {
        made.call(
            "get_approval",
            json!({"request": id}),
            json!({"request": id, "state": "pending"}),
        );
        made.pause(40);
    }
    made.call(
        "get_approval",
        json!({"request": id}),
        json!({"request": id, "state": "approved"}),
    );
    made.work(3);
}

fn deploy_until_done(made: &mut Made) {
    made.begin(8);
    made.call(
        "deploy",
        json!({"service": "web"}),
        json!({"deployment": 71, "state": "started"}),
    );
    let replicas = made.between(3, 6);
    for ready in 0..=replicas {
        for _ in 0..made.between(1, 2) {
            made.call("rollout_status", json!({"deployment": 71}), format!("Waiting for deployment web: {ready} of {replicas} updated replicas are available..."));
            made.pause(5);
        }
    }
    made.call(
        "rollout_status",
        json!({"deployment": 71}),
        "deployment web successfully rolled out",
    );
}

fn translation(made: &mut Made) {
    made.begin(8);
    for at in 0..made.between(8, 16) {
        let (text, result) = (made.words(20), made.words(20));
        made.call("translate", json!({"text": text, "to": "nb"}), result);
        made.call(
            "append_to_file",
            json!({"path": "out.md", "paragraph": at}),
            "appended",
        );
    }
}

fn switches(made: &mut Made) {
    for _ in 0..made.between(4, 8) {
        for state in ["on", "off"] {
            made.user();
            made.call(
                "set_light",
                json!({"room": "kitchen", "state": state}),
                json!({"ok": true}),
            );
            made.says("Done.");
        }
    }
}
