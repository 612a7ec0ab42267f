//! Kinds in which something is new each time by its nature: an id or a time of the request, a token of the answer, the number of a
//! run, a counter beside what is told; loops that this must not hide, and work in which just that is what is asked for.

use serde_json::{Value, json};

use super::lookalikes::Work;
use super::loops::Loop;
use super::made::Made;

pub(super) const LOOPS: &[Loop] = &[
    ("request: an id of its own each time", 6, id_of_its_own),
    ("request: the time of day each time", 6, time_of_day),
    ("answer: a token of its own each time", 6, token_of_its_own),
    ("failing: another token in each error", 6, token_in_error),
    ("failing: the next run each time", 6, next_run),
    ("verdict: the next build each time", 6, next_build),
    ("page: a counter beside it", 6, counter_beside),
    ("world: four rooms, and turns counted", 4, rooms_round),
    ("record: kept for fewer seconds each time", 6, kept_for),
    ("document: undone and done again", 5, undone),
    ("case: its number in other spellings", 6, number_spelled),
];

pub(super) const WORK: &[Work] = &[
    ("requests: looked up by their ids", requests_looked_up),
    ("requests: approved one by one", requests_approved),
    ("logs: searched by ids of traces", logs_by_trace),
    ("prices: at many times", prices_at_times),
    ("readings: written down with their times", readings),
    ("records: each with a version", records_with_versions),
    ("build: fewer faults behind each edit", fewer_faults),
    ("replicas: up one after the other", replicas_up),
    ("import: row by row mended", rows_mended),
    ("views: watched as they grow", views_watched),
    ("world: on to the next room", next_rooms),
    ("release: edited, and another revision", revisions),
    ("names: one record after the other", records_of_names),
    ("cases: their numbers one by one", numbers_of_files),
];

const ROUNDS: usize = 10;

/// An id as clients draw them.
fn id(made: &mut Made) -> String {
    let hex = made.hex();
    match made.below(3) {
        0 => format!(
            "{}-{}-4{}-a{}-{}",
            &hex[..8],
            &hex[8..12],
            &hex[13..16],
            &hex[17..20],
            &hex[20..32]
        ),
        1 => format!("req_{}a1", &hex[..10]),
        _ => format!("{}b2", &hex[..14]),
    }
}

/// A short token in one of the forms in which servers draw them.
fn token(made: &mut Made, form: usize) -> String {
    const SIGNS: &[u8] = b"ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789";
    let count = [8, 12, 16, 21][form % 4];
    if form == 0 {
        return made.hex()[..count].to_owned();
    }
    let signs = (0..count).map(|_| char::from(SIGNS[made.below(SIGNS.len())]));
    signs.collect()
}

/// What is looked up, and what is told of it each time.
fn look_up(made: &mut Made) -> (&'static str, Value, Value) {
    let (word, number) = (made.word(), made.between(1_000, 9_999));
    match made.below(4) {
        0 => (
            "get_customer_status",
            json!({"customer": format!("C-{number}")}),
            json!({"status": "under review", "tier": "gold"}),
        ),
        1 => (
            "find_orders",
            json!({"customer": format!("{word} {number}")}),
            json!([]),
        ),
        2 => (
            "check_stock",
            json!({"article": format!("{word}-{number}"), "shop": "Leeds"}),
            json!({"stock": 0, "note": "This article is sold out, and nobody knows for how long."}),
        ),
        _ => (
            "search_handbook",
            json!({"query": format!("{word} in the rules for {}", made.word())}),
            json!({"text": format!("There is one rule on {word}: ask whoever is on duty, and write it down.")}),
        ),
    }
}

fn asked_anew(made: &mut Made, key: &str, drawn: fn(&mut Made) -> Value) {
    made.begin(6);
    let (tool, asked, told) = look_up(made);
    for _ in 0..ROUNDS {
        let mut asked = asked.clone();
        asked[key] = drawn(made);
        made.call(tool, asked, told.clone());
        made.again();
    }
}

fn id_of_its_own(made: &mut Made) {
    let key = made.pick(&[
        "request_id",
        "requestId",
        "correlation_id",
        "trace_id",
        "client_request_id",
    ]);
    asked_anew(made, key, |made| id(made).into());
}

fn time_of_day(made: &mut Made) {
    let key = made.pick(&["timestamp", "requested_at", "request_time", "now"]);
    if made.chance(50) {
        asked_anew(made, key, |made| made.time().into());
    } else {
        asked_anew(made, key, |made| {
            let seconds = 1_795_000_001 + 60 * made.below(9_000);
            json!(seconds)
        });
    }
}

fn token_of_its_own(made: &mut Made) {
    made.begin(6);
    let (name, city) = (made.words(2), made.word());
    let (form, shape) = (made.below(4), made.below(4));
    let key = made.pick(&["etag", "csrf_token", "correlation_id", "cf_ray"]);
    for _ in 0..ROUNDS {
        let token = token(made, form);
        let told = match shape {
            0 | 1 => json!({"id": "003A9", "name": name, "city": city, key: token}),
            2 => json!(format!(
                "HTTP/1.1 200 OK\nETag: W/\"{token}\"\n\n{name} lives in {city}."
            )),
            _ => json!(format!("{name} lives in {city}. (Request ID: {token})")),
        };
        made.call("get_contact", json!({"id": "003A9"}), told);
        made.again();
    }
}

fn token_in_error(made: &mut Made) {
    made.begin(6);
    let (kind, word, code) = (made.below(5), made.word(), made.between(130, 139));
    for round in 0..ROUNDS {
        let hex = made.hex();
        let long: String = (0..3).map(|_| token(made, 3)).collect::<Vec<_>>().join("/");
        let drawn: String = (0..3)
            .map(|_| made.pick(&["b", "f", "k", "q", "x"]))
            .collect();
        let address = format!("203.0.113.{}", made.between(2, 250));
        let (command, error) = match kind {
            0 => (
                "nextflow run main.nf -resume".to_owned(),
                format!(
                    "[{}/{}] process > {word} (S1) failed: 1\nERROR ~ Process `{word} (S1)` terminated with an error exit status ({code})\nWork dir:\n  /data/work/{}/{}",
                    &hex[..2],
                    &hex[2..8],
                    &hex[8..10],
                    &hex[2..32]
                ),
            ),
            1 => (
                format!("aws s3 cp out.bin s3://{word}/out.bin"),
                format!("Error: AccessDenied: Access Denied, HostId: {long}="),
            ),
            2 => (
                format!("gcloud run deploy {word} --source ."),
                format!(
                    "ERROR: (gcloud.run.deploy) Revision '{word}-{:05}-{drawn}' is not ready and cannot serve traffic.",
                    31 + round
                ),
            ),
            3 => (
                format!("curl -sf https://{word}.example.com/list"),
                format!(
                    "Error: 403 Forbidden: you have been blocked. Ray ID: {} Your IP: {address}",
                    &hex[..16]
                ),
            ),
            _ => (
                format!("make {word}"),
                format!(
                    "Error: cannot open the lock of worker {} for {word}",
                    &hex[..6]
                ),
            ),
        };
        made.fails("bash", json!({"command": command}), &error);
        made.again();
    }
}

fn next_run(made: &mut Made) {
    made.begin(6);
    let first = made.between(3, 900);
    let (form, word) = (made.below(4), made.word());
    for round in 0..ROUNDS {
        let run = first + round;
        let error = match form {
            0 => format!("Error: run {run} failed: disk quota exceeded"),
            1 => format!("Error: Import #{run} failed: field '{word}' is required"),
            2 => format!("Error: job {run} of queue {word} failed: the worker is not known"),
            _ => format!("ERROR: Pipeline #{run} failed in stage {word}: no runner is online"),
        };
        made.fails("run_job", json!({"job": word}), &error);
        made.again();
    }
}

fn next_build(made: &mut Made) {
    made.begin(6);
    let first = made.between(3, 9_000);
    let key = made.pick(&["build", "build_number", "run_number", "run_id"]);
    let step = made.words(2);
    for round in 0..ROUNDS {
        made.call(
            "trigger_build",
            json!({"pipeline": "release"}),
            json!({key: first + round, "status": "FAILED", "step": step, "log": "no signing certificate found"}),
        );
        made.again();
    }
}

fn counter_beside(made: &mut Made) {
    made.begin(6);
    let mut count = made.between(3, 9_000);
    let (title, text) = (made.words(2), made.words(12));
    let key = made.pick(&["views", "view_count", "visits", "revision"]);
    for _ in 0..ROUNDS {
        count += 1 + made.below(2);
        made.call(
            "get_article",
            json!({"article": "KB0010233"}),
            json!({"title": title, "body": format!("Reinstall the {text}."), key: count}),
        );
        made.again();
    }
}

fn rooms_round(made: &mut Made) {
    made.begin(6);
    let names = made.some_words(4);
    let rooms: Vec<String> = names
        .iter()
        .map(|name| format!("The {name}: {}. There are two ways out.", made.words(3)))
        .collect();
    let mut turn = made.below(30);
    for _ in 0..ROUNDS {
        for (way, room) in ["east", "south", "west", "north"].iter().zip(&rooms) {
            turn += 1;
            made.call(
                "do",
                json!({"action": format!("go {way}")}),
                json!({"text": room, "turn": turn, "score": 5}),
            );
        }
        made.again();
    }
}

fn kept_for(made: &mut Made) {
    made.begin(6);
    let name = made.word();
    let as_text = made.chance(50);
    for round in 0..ROUNDS {
        let left = 3_600 - 6 * round;
        let told = if as_text {
            json!(format!(
                ";; status: NXDOMAIN\n{name}.example.\t{left}\tIN\tSOA\tns1.{name}.example. admin.{name}.example. 7 7200 3600 1209600 3600"
            ))
        } else {
            json!({"Status": 3, "Authority": [{"name": name, "type": 6, "TTL": left, "data": "ns1.example. admin.example. 7"}]})
        };
        made.call("dig", json!({"name": format!("api.{name}.example")}), told);
        made.again();
    }
}

fn undone(made: &mut Made) {
    made.begin(6);
    let first = made.between(3, 300);
    for round in 0..ROUNDS {
        for (nth, (tool, cell)) in [("undo", 0), ("redo", 120)].into_iter().enumerate() {
            let told = json!({"rev": first + 2 * round + nth, "changed": "Q3!B2:B9", "preview": [[cell], [cell], [cell]]});
            made.call(tool, json!({}), told);
        }
        made.again();
    }
}

fn requests_looked_up(made: &mut Made) {
    made.begin(6);
    let style = made.below(3);
    for _ in 0..ROUNDS {
        let request = id(made);
        let state = made.pick(&["approved", "approved", "waits for a manager"]);
        let (tool, asked) = match style {
            0 => (
                "get_request",
                json!({"request_id": request, "tenant": "T-12"}),
            ),
            1 => ("get_status", json!({"request_id": request})),
            _ => (
                "get_request_status",
                json!({"requestId": request, "fields": "all of them"}),
            ),
        };
        made.call(tool, asked, json!({"state": state}));
    }
    made.says("All requests have been looked at.");
}

fn requests_approved(made: &mut Made) {
    made.begin(6);
    let tool = made.pick(&["approve", "close_request", "answer_request"]);
    for _ in 0..ROUNDS {
        let request = id(made);
        made.call(
            tool,
            json!({"request_id": request, "decision": "yes", "by": "Rosa Quinn"}),
            "ok",
        );
    }
}

fn logs_by_trace(made: &mut Made) {
    made.begin(6);
    let tool = made.pick(&["search_logs", "get_trace", "query_spans"]);
    for _ in 0..ROUNDS {
        let trace = made.hex();
        let told = if made.chance(60) {
            json!([])
        } else {
            json!([{"service": "billing", "message": made.words(7)}])
        };
        made.call(
            tool,
            json!({"trace_id": trace, "service": "billing-2"}),
            told,
        );
    }
}

fn prices_at_times(made: &mut Made) {
    made.begin(6);
    let day = made.between(10, 28);
    let as_number = made.chance(50);
    let price = made.between(90, 99);
    for round in 0..ROUNDS {
        let at = if as_number {
            json!(1_795_000_020 + 60 * round)
        } else {
            json!(format!("2026-09-{day}T14:{:02}:00Z", 10 + round))
        };
        made.call(
            "get_price",
            json!({"symbol": "ACME", "timestamp": at}),
            json!({"last": price}),
        );
    }
}

fn readings(made: &mut Made) {
    made.begin(6);
    for _ in 0..ROUNDS {
        let (at, value) = (made.time(), made.between(20, 22));
        made.call(
            "record_reading",
            json!({"sensor": "boiler 2", "timestamp": at, "value": value}),
            "ok",
        );
    }
}

fn records_with_versions(made: &mut Made) {
    made.begin(6);
    for number in 0..ROUNDS {
        let (name, city) = (made.words(2), made.word());
        let key = format!("00{number}A{}", made.between(1, 9));
        let etag = token(made, 0);
        made.call(
            "get_contact",
            json!({"id": key}),
            json!({"id": key, "name": name, "city": city, "etag": etag}),
        );
        let (etag, city) = (token(made, 0), made.word());
        made.call(
            "update_contact",
            json!({"id": key, "fields": {"city": city}}),
            json!({"success": true, "id": key, "etag": etag}),
        );
    }
}

fn fewer_faults(made: &mut Made) {
    made.begin(6);
    let file = made.file();
    let mut line = made.between(200, 400);
    for left in (1..=6).rev() {
        let run = token(made, 0);
        line += made.between(3, 40);
        let error = format!(
            "Error: build b{run}: {file}:{line}: {} is not known ({left} in all)",
            made.word()
        );
        made.fails("bash", json!({"command": "make all"}), &error);
        let text = made.words(6);
        made.call("edit_file", json!({"path": file, "new": text}), "edited");
    }
    made.call("bash", json!({"command": "make all"}), "done");
}

fn replicas_up(made: &mut Made) {
    made.begin(6);
    let all = made.between(4, 7);
    for up in 1..all {
        made.pause(8);
        let error = format!(
            "Error: job web-{}: {up} out of {all} replicas are up",
            made.between(100, 999)
        );
        made.fails("wait_for", json!({"job": "web"}), &error);
    }
    made.call("wait_for", json!({"job": "web"}), "all replicas are up");
}

fn rows_mended(made: &mut Made) {
    made.begin(6);
    let mut row = made.between(3, 40);
    for run in 0..7 {
        row += made.between(2, 90);
        let error = format!(
            "Error: import {run} stopped: row {row} has no {}",
            made.word()
        );
        made.fails("bash", json!({"command": "make import"}), &error);
        let text = made.words(6);
        made.call(
            "edit_file",
            json!({"path": "data/rows.csv", "row": row, "new": text}),
            "edited",
        );
    }
    made.call("bash", json!({"command": "make import"}), "imported");
}

fn views_watched(made: &mut Made) {
    made.begin(6);
    let mut views = made.between(3, 900);
    for _ in 0..ROUNDS {
        views += made.between(1, 60);
        made.pause(20);
        made.call(
            "get_statistics",
            json!({"video": "v-12"}),
            json!({"title": "How we went to the sea", "views": views}),
        );
    }
}

fn next_rooms(made: &mut Made) {
    made.begin(6);
    let names = made.some_words(ROUNDS);
    for (turn, name) in names.iter().enumerate() {
        let way = made.pick(&["east", "south", "west", "north"]);
        let things = made.words(4);
        made.call(
            "do",
            json!({"action": format!("go {way}")}),
            json!({"text": format!("The {name}: {things}."), "turn": turn, "score": 5}),
        );
    }
}

fn revisions(made: &mut Made) {
    made.begin(6);
    let first = made.between(3, 30);
    for round in 0..6 {
        let text = made.words(6);
        made.call(
            "edit_file",
            json!({"path": "chart/values.yaml", "new": text}),
            "edited",
        );
        made.call(
            "bash",
            json!({"command": "helm upgrade web ./chart"}),
            json!({"name": "web", "status": "deployed", "revision": first + round, "chart": "web-1.2"}),
        );
        made.sh("curl -s https://web.example/health", &made.time());
    }
}

fn records_of_names(made: &mut Made) {
    made.begin(6);
    let names = made.some_words(ROUNDS);
    for name in names {
        let (left, part) = (made.between(10, 3_600), made.between(2, 250));
        made.call(
            "dig",
            json!({"name": format!("{name}.example")}),
            format!("{name}.example.\t{left}\tIN\tA\t203.0.113.{part}"),
        );
    }
}

/// One number of a file in ever other spellings, and nothing is found under it.
fn number_spelled(made: &mut Made) {
    made.begin(6);
    let (letter, number) = (made.pick(&["A", "B", "K"]), made.between(101, 999));
    let style = made.below(3);
    let spelled = [
        format!("2026/{letter}-0{number}"),
        format!("2026-{letter}-0{number}"),
        format!("{letter}-0{number}/2026"),
        format!("2026/{letter}0{number}"),
        format!("2026 {letter} 0{number}"),
        format!("{letter}-{number}/2026"),
        format!("2026/{}-0{number}", letter.to_lowercase()),
        format!("0{number}/2026"),
    ];
    for spelled in &spelled {
        let told = match style {
            0 => json!([]),
            1 => json!({"hits": 0, "message": format!("No case found for file number {spelled}.")}),
            _ => json!({"cases": []}),
        };
        made.call("search_case", json!({"file_number": spelled}), told);
        made.again();
    }
}

/// Other files each, some of which are not found.
fn numbers_of_files(made: &mut Made) {
    made.begin(6);
    for nth in 0..ROUNDS {
        let letter = made.pick(&["A", "B", "K"]);
        let number = format!("2026/{letter}-0{}", made.between(101, 999));
        let told = if nth % 2 == 0 {
            json!([])
        } else {
            json!([{"file": number, "title": made.words(5)}])
        };
        made.call("search_case", json!({"file_number": number}), told);
    }
}
