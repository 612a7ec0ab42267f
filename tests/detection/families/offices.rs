//! Kinds of hospitals, accounts, telephones and games: services that tell errors in forms of their own, a shell that works a
//! screen, windows of time that are searched; loops, and work that looks like them.

use serde_json::{Value, json};

use super::lookalikes::Work;
use super::loops::Loop;
use super::made::Made;

pub(super) const LOOPS: &[Loop] = &[
    (
        "records: one error in a form of its own",
        6,
        error_of_its_own,
    ),
    (
        "phone: taps that change nothing, by a shell",
        6,
        taps_in_vain,
    ),
    ("events: none under each search's id", 8, none_under_ids),
    ("board: moves that are not legal", 6, illegal_moves),
    ("cells: one error, told within a text", 6, error_within_text),
];

pub(super) const WORK: &[Work] = &[
    ("logs: one window behind the other", window_behind_window),
    ("phone: contacts typed in by a shell", contacts_typed),
    ("records: some refused in a form of its own", some_refused),
    ("phone: pages swiped by a shell", pages_swiped),
];

const ROUNDS: usize = 10;

/// One error as services tell it, each in another form.
fn error_in_form(form: usize, field: &str) -> Value {
    let missing = format!("The field {field} is required and was not given");
    match form {
        0 => json!({"resourceType": "OperationOutcome", "issue": [
            {"severity": "error", "code": "required", "diagnostics": missing},
        ]}),
        1 => json!({"RETURN": {"TYPE": "E", "ID": "M3", "NUMBER": "024", "MESSAGE": missing}}),
        2 => {
            json!({"Fault": {"Error": [{"Message": "Required", "Detail": missing, "code": "2020"}], "type": "ValidationFault"}})
        }
        3 => json!({"errorMessages": [], "errors": {field: missing}}),
        4 => {
            json!({"errors": [{"status": "400", "title": "INVALID DATA RECEIVED", "detail": missing}]})
        }
        _ => json!(format!(
            "<soap:Envelope><soap:Body><soap:Fault><faultcode>soap:Client</faultcode><faultstring>{missing}</faultstring>\
             </soap:Fault></soap:Body></soap:Envelope>"
        )),
    }
}

fn error_of_its_own(made: &mut Made) {
    made.begin(6);
    let (form, field, id) = (made.below(6), made.word(), made.between(1_000, 9_999));
    for _ in 0..ROUNDS {
        let (name, value) = (
            made.pick(&["start", "begin", "note", "comment", "priority"]),
            made.words(2),
        );
        made.call(
            "create_record",
            json!({"subject": id, name: value}),
            error_in_form(form, field),
        );
        made.again();
    }
}

/// Of many records, every third one is refused; the others are made.
fn some_refused(made: &mut Made) {
    made.begin(4);
    let (form, field) = (made.below(6), made.word());
    for at in 0..14 {
        let (id, of) = (made.between(1_000, 9_999), made.words(2));
        let answer = if at % 3 == 2 {
            error_in_form(form, field)
        } else {
            json!({"id": made.between(10_000, 99_999), "status": "booked"})
        };
        made.call("create_record", json!({"subject": id, "of": of}), answer);
    }
}

fn taps_in_vain(made: &mut Made) {
    made.begin(6);
    let screen = format!(
        "<hierarchy rotation=\"0\"><node text=\"{}\" class=\"android.widget.TextView\"/><node text=\"{}\" enabled=\"false\"/></hierarchy>",
        made.words(4),
        made.word()
    );
    let (x, y) = (made.between(200, 800), made.between(900, 2_000));
    for _ in 0..ROUNDS {
        let (x, y) = (x + made.below(6), y + made.below(6));
        made.call(
            "bash",
            json!({"command": "adb shell uiautomator dump /dev/tty"}),
            screen.clone(),
        );
        made.call(
            "bash",
            json!({"command": format!("adb shell input tap {x} {y}")}),
            "",
        );
        made.again();
    }
}

fn contacts_typed(made: &mut Made) {
    made.begin(3);
    let (add, save) = (made.between(800, 990), made.between(100, 700));
    for _ in 0..12 {
        let (name, number) = (made.some_words(2), made.between(1_000_000, 9_999_999));
        for command in [
            format!("input tap {add} 2100"),
            format!("input text '{}%s{}'", name[0], name[1]),
            "input keyevent 61".to_owned(),
            format!("input text '0170{number}'"),
            format!("input tap {save} 180"),
        ] {
            made.call(
                "bash",
                json!({"command": format!("adb shell {command}")}),
                "",
            );
        }
    }
}

fn pages_swiped(made: &mut Made) {
    made.begin(3);
    for _ in 0..12 {
        made.call(
            "bash",
            json!({"command": "adb shell input swipe 540 1800 540 600"}),
            "",
        );
        let shown = format!(
            "<hierarchy><node text=\"{}\"/><node text=\"{}\"/></hierarchy>",
            made.words(4),
            made.words(4)
        );
        made.call(
            "bash",
            json!({"command": "adb shell uiautomator dump /dev/tty"}),
            shown,
        );
    }
}

fn none_under_ids(made: &mut Made) {
    made.begin(8);
    let names = made.some_words(3);
    for round in 0..ROUNDS {
        let query = match round % 4 {
            0 => format!("index={} {} {}", names[0], names[1], names[2]),
            1 => format!("{} {} index={}", names[2], names[1], names[0]),
            2 => format!("index={} \"{} {}\"", names[0], names[1], names[2]),
            _ => format!("index={} {} {} failed", names[0], names[1], names[2]),
        };
        let id = format!("{}.{}", made.now_ms() / 1_000, made.between(1_000, 99_999));
        made.call(
            "search_events",
            json!({"query": query}),
            json!({"preview": false, "messages": [], "fields": [], "results": [], "sid": id}),
        );
        made.again();
    }
}

fn illegal_moves(made: &mut Made) {
    made.begin(6);
    let asks = made.chance(50);
    for _ in 0..ROUNDS {
        let from = format!(
            "{}{}",
            made.pick(&["a", "b", "c", "d", "e", "f"]),
            made.between(1, 8)
        );
        let moved = format!(
            "{from}{}{}",
            made.pick(&["a", "b", "c", "d", "e", "f"]),
            made.between(1, 8)
        );
        let answer = if asks {
            format!("Illegal move: {moved}. A move must be legal in the present position.")
        } else {
            format!("Illegal move: {moved}")
        };
        made.call("make_move", json!({"move": moved}), answer);
        made.again();
    }
}

fn error_within_text(made: &mut Made) {
    made.begin(6);
    let name = made.word();
    for round in 0..ROUNDS {
        let error = json!({"output_type": "error", "ename": "NameError", "evalue": format!("name '{name}' is not defined")});
        let code = format!(
            "{}({name}.{})",
            made.pick(&["plot", "print", "show", "draw", "save"]),
            made.word()
        );
        made.call(
            "execute_cell",
            json!({"code": code}),
            json!({"execution_count": round + 4, "outputs": [error]}).to_string(),
        );
        made.again();
    }
}

/// One thing is looked for in each part of several days.
fn window_behind_window(made: &mut Made) {
    made.begin(4);
    let (words, hours) = (made.words(2), [3, 6, 8, 12][made.below(4)]);
    for at in 0..16 {
        let time = |hour: usize| format!("2026-01-{:02}T{:02}:00:00Z", 4 + hour / 24, hour % 24);
        made.call(
            "query_logs",
            json!({"query": words, "start": time(at * hours), "end": time((at + 1) * hours), "limit": 1}),
            json!({"status": "success", "data": {"resultType": "streams", "result": []}}),
        );
    }
}
