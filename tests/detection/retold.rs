//! Ways to tell a labelled run otherwise: other names, members in another order, times, ids and wrappers that mean nothing,
//! another pace, other words, another script; and with less, as telemetry that leaves out arguments or results tells it.

use serde_json::{Value, json};

/// A change, by its name.
pub(crate) type Change = (&'static str, fn(&mut Value));

/// Changes that take nothing away from what tells a loop.
pub(crate) const OTHERWISE: [Change; 16] = [
    ("other names", rename),
    ("other names of arguments", |run| {
        each_text(run, &["input"], |_, value| {
            rename_members(value).to_string()
        });
    }),
    ("members in another order", |run| {
        each_text(run, &["input", "output"], turn_round);
    }),
    ("times and ids in results", |run| {
        each_text(run, &["output"], add_noise);
    }),
    ("results in envelopes", |run| {
        each_text(run, &["output"], wrap);
    }),
    ("results as text in a text", |run| {
        each_text(run, &["output"], |_, value| {
            json!(text_of(value)).to_string()
        });
    }),
    ("failures told in objects", |run| each_call(run, refuse)),
    ("ten times as fast", |run| change_pace(run, 0.1)),
    ("ten times as slow", |run| change_pace(run, 10.0)),
    ("on another day, as another run", |run| {
        shift(run, 0, 86_400_000 * 200 + 4_711);
        run["run_id"] = json!(format!("{:x}", hash(&run["run_id"].to_string())));
    }),
    ("other words", |run| translate(run, &["input"], other_word)),
    ("in Cyrillic letters", |run| translate(run, TEXTS, cyrillic)),
    ("in signs without blanks", |run| {
        translate(run, TEXTS, signs);
    }),
    ("in a run with a beginning", prepend_work),
    ("answers of models left out", drop_texts),
    ("calls of models told", tell_models),
];

/// Changes that take something away, as settings of frameworks and collectors do.
pub(crate) const WITH_LESS: [Change; 5] = [
    ("results cut at 1 kB", |run| {
        each_call(run, |call| {
            if let Some(text) = call["output"].as_str().filter(|text| text.len() > 1_000) {
                call["output"] = json!(format!("{}… [truncated]", beginning(text, 1_000)));
            }
        });
    }),
    ("arguments cut at 100 bytes", |run| {
        each_call(run, |call| {
            if let Some(text) = call["input"].as_str().filter(|text| text.len() > 100) {
                call["input"] = json!(beginning(text, 100));
            }
        });
    }),
    ("arguments not recorded", |run| leave_out(run, "input")),
    ("results not recorded", |run| leave_out(run, "output")),
    ("no times", |run| {
        for event in events(run) {
            event.as_object_mut().expect("an event").remove("t_ms");
        }
    }),
];

/// Where an event says something.
const TEXTS: &[&str] = &["input", "output", "text"];

fn events(run: &mut Value) -> &mut Vec<Value> {
    run["events"].as_array_mut().expect("events")
}

fn is_call(event: &Value) -> bool {
    event["kind"] == "tool_call"
}

fn each_call(run: &mut Value, change: impl Fn(&mut Value)) {
    events(run)
        .iter_mut()
        .filter(|event| is_call(event))
        .for_each(change);
}

/// What stands in a text, which is mostly JSON.
fn read(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| json!(text))
}

fn text_of(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// Changes the texts that stand under some keys of each call.
fn each_text(run: &mut Value, keys: &[&str], change: fn(usize, Value) -> String) {
    for (number, event) in events(run).iter_mut().enumerate() {
        for key in keys {
            if is_call(event)
                && let Some(text) = event[*key].as_str()
            {
                event[*key] = json!(change(number, read(text)));
            }
        }
    }
}

/// A text up to so many bytes.
fn beginning(text: &str, bytes_max: usize) -> &str {
    let is_end = |at: &usize| text.is_char_boundary(*at);
    let end = (0..=bytes_max).rev().find(is_end);
    &text[..end.unwrap_or(0)]
}

fn leave_out(run: &mut Value, key: &str) {
    each_call(run, |call| {
        call.as_object_mut().expect("an event").remove(key);
    });
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

/// The same values under names that say nothing.
fn rename_members(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let told = |(key, value): (String, Value)| {
                (format!("k{:x}", hash(&key) >> 44), rename_members(value))
            };
            members.into_iter().map(told).collect()
        }
        Value::Array(items) => items.into_iter().map(rename_members).collect(),
        other => other,
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
    let meta = json!({"request_id": format!("{:016x}", hash(&number.to_string()))});
    json!({"content": [{"type": "text", "text": text_of(value)}], "meta": meta}).to_string()
}

/// A call that failed seems to have ended well, and its result tells the failure.
fn refuse(call: &mut Value) {
    if let Some(why) = call["output"].as_str().filter(|_| call["error"] == true) {
        call["output"] = json!({"success": false, "message": why}).to_string().into();
        call["error"] = Value::Null;
    }
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

/// What stands under some keys of each event, word by word in another language; the names of arguments stay.
fn translate(run: &mut Value, keys: &[&str], word: fn(&str) -> String) {
    for event in events(run) {
        for key in keys {
            if let Some(text) = event[*key].as_str() {
                let mut value = read(text);
                translate_value(&mut value, word);
                event[*key] = json!(text_of(value));
            }
        }
    }
}

fn translate_value(value: &mut Value, word: fn(&str) -> String) {
    match value {
        Value::String(text) => *text = translate_text(text, word),
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| translate_value(item, word)),
        Value::Object(members) => members
            .values_mut()
            .for_each(|value| translate_value(value, word)),
        _ => {}
    }
}

/// Each word of letters becomes another, always the same; behind a number it is a unit and stays. A script without blanks has
/// none behind its signs.
fn translate_text(text: &str, word: fn(&str) -> String) -> String {
    let mut translated = String::new();
    for piece in text.split_inclusive(|letter: char| !letter.is_ascii_alphabetic()) {
        let letters = piece.trim_end_matches(|letter: char| !letter.is_ascii_alphabetic());
        let is_unit = translated.ends_with(|before: char| before.is_ascii_digit());
        let other = if is_unit {
            letters.to_owned()
        } else {
            word(letters)
        };
        let has_signs = other.ends_with(is_sign);
        translated.push_str(&other);
        translated.push_str(piece[letters.len()..].trim_matches(|rest| rest == ' ' && has_signs));
    }
    translated
}

/// Another word of the same length: its letters are others, and they are the same wherever the word stands.
fn other_word(word: &str) -> String {
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

/// The same word in another alphabet.
fn cyrillic(word: &str) -> String {
    let other = |letter: u8| match letter {
        b'A'..=b'Z' => char::from_u32(0x410 + u32::from(letter - b'A')).expect("a letter"),
        _ => char::from_u32(0x430 + u32::from(letter - b'a')).expect("a letter"),
    };
    word.bytes().map(other).collect()
}

fn is_sign(letter: char) -> bool {
    letter.len_utf8() == 3
}

/// The word as one or two signs of a script without blanks.
fn signs(word: &str) -> String {
    let sign = |number: u64| char::from_u32(0x4e00 + (number % 0x5000) as u32).expect("a sign");
    let hash = hash(&word.to_ascii_lowercase());
    let count = match word.len() {
        0 => 0,
        1..=3 => 1,
        _ => 2,
    };
    (0..count).map(|at| sign(hash >> (20 * at))).collect()
}

/// Moves a run's events by so many places and so much time.
fn shift(run: &mut Value, places: u64, ms: u64) {
    for event in events(run) {
        event["i"] = json!(event["i"].as_u64().unwrap_or(0) + places);
        if let Some(time) = event["t_ms"].as_u64() {
            event["t_ms"] = json!(time + ms);
        }
    }
    for key in ["onset_event", "first_true_event"] {
        if let Some(event) = run["label"][key].as_u64() {
            run["label"][key] = json!(event + places);
        }
    }
}

/// Thirty calls of work that gets on come first.
fn prepend_work(run: &mut Value) {
    let count = 30;
    shift(run, count, count * 2_000);
    let timed = events(run).iter().any(|event| event["t_ms"].is_u64());
    let work = (0..count).map(|i| {
        let time = if timed { json!(i * 2_000) } else { Value::Null };
        let text = translate_text(["harbour", "ferry", "invoice", "copper", "library"][i as usize % 5], other_word);
        json!({"i": i, "kind": "tool_call", "agent": "reader", "tool": "open_note", "t_ms": time,
            "input": {"note": format!("{text}-{i}")}, "output": format!("{text} {i} {:x}", hash(&i.to_string()) >> 48)})
    });
    let work: Vec<_> = work.collect();
    events(run).splice(0..0, work);
}

/// Before each call of a tool comes the one of the model that asked for it, as traces of models tell: what is left of the time
/// since the step before is a pause, which comes first.
fn tell_models(run: &mut Value) {
    const THINKS_MS_MAX: u64 = 2_000;
    for key in ["onset_event", "first_true_event"] {
        if let Some(event) = run["label"][key].as_u64() {
            run["label"][key] = json!(2 * event + 1);
        }
    }
    let mut told = Vec::new();
    let mut before_ms = 0;
    for mut event in std::mem::take(events(run)) {
        event["i"] = json!(2 * event["i"].as_u64().unwrap_or(0) + 1);
        let start_ms = event["t_ms"].as_u64();
        if let Some(start_ms) = start_ms.filter(|_| is_call(&event)) {
            let thinks_ms = start_ms.saturating_sub(before_ms).min(THINKS_MS_MAX);
            told.push(json!({
                "i": event["i"].as_u64().unwrap_or(0) - 1, "kind": "llm_call", "agent": event["agent"],
                "t_ms": start_ms - thinks_ms, "duration_ms": thinks_ms, "tokens": 500,
            }));
        }
        if let Some(start_ms) = start_ms {
            before_ms = before_ms.max(start_ms + event["duration_ms"].as_u64().unwrap_or(0));
        }
        told.push(event);
    }
    *events(run) = told;
}

/// Texts of models are not recorded; runs of which they are the loop tell nothing any more and lose their label.
fn drop_texts(run: &mut Value) {
    events(run).retain(|event| event["kind"] != "llm_text" || event["agent"] == "user");
    if run["label"]["scenario"] == "P_monologue" {
        run["label"]["looping"] = Value::Null;
    }
}
