//! Labelled runs told in another way: other names, members in another order, times, ids and wrappers that mean nothing, another
//! pace, other words. What a run's label says still holds of it, so the bars do as well.

use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;

use flate2::read::GzDecoder;
use serde_json::{Map, Value, json};

use crate::number;
use crate::support::{at, eddy};

/// A change, by its name, that takes nothing away from what tells a loop.
type Change = (&'static str, fn(&mut Value));

const CHANGES: [Change; 9] = [
    ("other names", rename),
    ("members in another order", |run| {
        each_text(run, &["input", "output"], turn_round);
    }),
    ("times and ids in results", |run| {
        each_text(run, &["output"], add_noise);
    }),
    ("results in envelopes", |run| {
        each_text(run, &["output"], wrap);
    }),
    ("ten times as fast", |run| change_pace(run, 0.1)),
    ("ten times as slow", |run| change_pace(run, 10.0)),
    ("other words", translate),
    ("in a run with a beginning", prepend_work),
    ("answers of models left out", drop_texts),
];

const FILES: [&str; 4] = [
    "grafted.tune.jsonl.gz",
    "magentic_agentrx.tune.jsonl.gz",
    "tau_airline_gpt4o.tune.jsonl.gz",
    "tau_retail_agentrx.tune.jsonl.gz",
];

fn labelled() -> Vec<Value> {
    let read = |file: &str| {
        let packed = fs::File::open(at("tests/labelled").join(file)).expect("it is there");
        let mut text = String::new();
        GzDecoder::new(packed)
            .read_to_string(&mut text)
            .expect("UTF-8");
        let runs = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"));
        runs.collect::<Vec<Value>>()
    };
    FILES.iter().flat_map(|file| read(file)).collect()
}

fn events(run: &mut Value) -> &mut Vec<Value> {
    run["events"].as_array_mut().expect("events")
}

fn is_call(event: &Value) -> bool {
    event["kind"] == "tool_call"
}

/// Changes the texts that stand under some keys of each call; JSON in a text is given as JSON.
fn each_text(run: &mut Value, keys: &[&str], change: fn(usize, Value) -> String) {
    for (number, event) in events(run).iter_mut().enumerate() {
        for key in keys {
            if is_call(event)
                && let Some(text) = event[*key].as_str()
            {
                let value = serde_json::from_str(text).unwrap_or_else(|_| json!(text));
                event[*key] = json!(change(number, value));
            }
        }
    }
}

/// A stable number of a text.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Tools and agents get names that say nothing.
fn rename(run: &mut Value) {
    for event in events(run) {
        for (key, kind) in [
            ("tool", "f"),
            ("agent", "a"),
            ("from_agent", "a"),
            ("to_agent", "a"),
        ] {
            if let Some(name) = event[key].as_str().filter(|name| *name != "user") {
                event[key] = json!(format!("{kind}{:x}", hash(name) >> 40));
            }
        }
    }
}

/// JSON text whose objects have their members in the opposite order.
fn turn_round(_: usize, value: Value) -> String {
    match value {
        Value::Object(members) => {
            let told =
                |(key, value): (String, Value)| format!("{}: {}", json!(key), turn_round(0, value));
            let members: Vec<_> = members.into_iter().rev().map(told).collect();
            format!("{{{}}}", members.join(" , "))
        }
        Value::Array(items) => {
            let items: Vec<_> = items.into_iter().map(|item| turn_round(0, item)).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}

/// Adds what is new in each result and means nothing.
fn add_noise(number: usize, value: Value) -> String {
    let id = format!(
        "{:016x}{:016x}",
        hash(&number.to_string()),
        hash(&value.to_string()).rotate_left(number as u32)
    );
    let time = format!(
        "2026-03-0{}T{:02}:{:02}:41.{:03}Z",
        number % 9 + 1,
        number % 24,
        number % 60,
        number * 7 % 1_000
    );
    match value {
        Value::Object(mut members) => {
            members.insert("request_id".into(), json!(id));
            members.insert("timestamp".into(), json!(time));
            members.insert("took_ms".into(), json!(number * 37 % 900));
            Value::Object(members).to_string()
        }
        Value::String(text) => format!(
            "{text}\n[{time}] request {id} took {} ms",
            number * 37 % 900
        ),
        other => other.to_string(),
    }
}

fn wrap(number: usize, value: Value) -> String {
    let text = match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    json!({"content": [{"type": "text", "text": text}], "meta": {"request_id": format!("{:016x}", hash(&number.to_string()))}}).to_string()
}

fn change_pace(run: &mut Value, factor: f64) {
    let events = events(run);
    let first = events
        .iter()
        .find_map(|event| event["t_ms"].as_f64())
        .unwrap_or(0.0);
    for event in events {
        if let Some(time) = event["t_ms"].as_f64() {
            event["t_ms"] = json!((first + (time - first) * factor) as u64);
        }
        if let Some(duration) = event["duration_ms"].as_f64() {
            event["duration_ms"] = json!((duration * factor) as u64);
        }
    }
}

/// What is asked and said, in words of another language: each word of letters becomes another, always the same.
fn translate(run: &mut Value) {
    for event in events(run) {
        let Some(text) = event["input"].as_str() else {
            continue;
        };
        let translated = match serde_json::from_str::<Map<String, Value>>(text) {
            Ok(mut members) => {
                members.values_mut().for_each(translate_value);
                json!(members).to_string()
            }
            Err(_) => translate_text(text),
        };
        event["input"] = json!(translated);
    }
}

fn translate_value(value: &mut Value) {
    match value {
        Value::String(text) => *text = translate_text(text),
        Value::Array(items) => items.iter_mut().for_each(translate_value),
        Value::Object(members) => members.values_mut().for_each(translate_value),
        _ => {}
    }
}

fn translate_text(text: &str) -> String {
    let mut translated = String::new();
    for piece in text.split_inclusive(|letter: char| !letter.is_ascii_alphabetic()) {
        let word = piece.trim_end_matches(|letter: char| !letter.is_ascii_alphabetic());
        translated.push_str(&translate_word(word));
        translated.push_str(&piece[word.len()..]);
    }
    translated
}

/// Another word of the same length: its letters are others, and they are the same wherever the word stands.
fn translate_word(word: &str) -> String {
    let shift = (hash(&word.to_ascii_lowercase()) % 25) as u8 + 1;
    let other = |letter: u8| {
        let base = if letter.is_ascii_uppercase() {
            b'A'
        } else {
            b'a'
        };
        char::from(base + (letter - base + shift) % 26)
    };
    word.bytes().map(other).collect()
}

/// Thirty calls of work that gets on come first.
fn prepend_work(run: &mut Value) {
    let events = events(run);
    let offset = 30;
    for event in events.iter_mut() {
        event["i"] = json!(event["i"].as_u64().unwrap_or(0) + offset);
        if let Some(time) = event["t_ms"].as_u64() {
            event["t_ms"] = json!(time + offset * 2_000);
        }
    }
    let timed = events.iter().any(|event| event["t_ms"].is_u64());
    let work = (0..offset).map(|i| {
        let time = if timed { json!(i * 2_000) } else { Value::Null };
        let text = translate_text(["harbour", "ferry", "invoice", "copper", "library"][i as usize % 5]);
        json!({"i": i, "kind": "tool_call", "agent": "reader", "tool": "open_note", "t_ms": time,
            "input": {"note": format!("{text}-{i}")}, "output": format!("{text} {i} {:x}", hash(&i.to_string()) >> 48)})
    });
    let work: Vec<_> = work.collect();
    events.splice(0..0, work);
    for key in ["onset_event", "first_true_event"] {
        if let Some(event) = run["label"][key].as_u64() {
            run["label"][key] = json!(event + offset);
        }
    }
}

/// Texts of models are not recorded; runs of which they are the loop tell nothing any more and lose their label.
fn drop_texts(run: &mut Value) {
    events(run).retain(|event| event["kind"] != "llm_text" || event["agent"] == "user");
    if run["label"]["scenario"] == "P_monologue" {
        run["label"]["looping"] = Value::Null;
    }
}

/// Given labelled runs told in another way, what is found of them is held to the same bars as before.
#[test]
fn labels_hold_when_runs_are_told_in_another_way() {
    let (runs, dir) = (labelled(), tempfile::tempdir().expect("a directory"));
    let (mut table, mut bad) = (String::new(), Vec::new());
    for (name, change) in &CHANGES {
        let file = dir.path().join("changed.jsonl");
        let lines = runs.iter().map(|run| {
            let mut run = run.clone();
            change(&mut run);
            run.to_string()
        });
        fs::write(&file, lines.collect::<Vec<_>>().join("\n")).expect("written");
        let answer = eddy(&["eval", "--json", file.to_str().expect("UTF-8")]);
        let of = |name: &str| {
            let sets = answer["datasets"].as_array().expect("data sets");
            let set = sets.iter().find(|set| set["dataset"] == name);
            set.unwrap_or_else(|| panic!("{name} in {answer}")).clone()
        };
        let (made, goals) = (of("grafted_tune"), of("magentic_agentrx"));
        let tau = [of("tau_airline_gpt4o"), of("tau_retail_agentrx")];
        let flagged: f64 = tau
            .iter()
            .map(|set| number(set, "successful_flagged"))
            .sum();
        let (f1, wrong) = (
            number(&made, "f1") * 100.0,
            number(&made, "false_positive_rate") * 100.0,
        );
        let (goal_f1, goal_wrong) = (
            number(&goals, "f1") * 100.0,
            number(&goals, "false_positive_rate") * 100.0,
        );
        writeln!(
            table,
            "| {name} | {f1:.0} | {wrong:.0} | {goal_f1:.0} | {goal_wrong:.0} | {flagged} of 73 |"
        )
        .expect("written");
        if f1 < 95.0 || wrong > 3.0 || goal_f1 < 90.0 || goal_wrong > 20.0 || flagged > 0.0 {
            bad.push(*name);
        }
    }
    println!("{table}");
    assert!(bad.is_empty(), "{bad:?}\n{table}");
}
