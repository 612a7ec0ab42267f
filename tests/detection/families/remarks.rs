//! What stands beside a result: an error that is none or is another's, a code that tells a part of the answer, a number that a
//! clock makes; and errors of which nothing but their words tells.

use serde_json::{Value, json};

use super::lookalikes::Work;
use super::loops::Loop;
use super::made::Made;

pub(super) const LOOPS: &[Loop] = &[
    ("search: one error, and never a hit", 6, error_without_hits),
    (
        "program: one crash after each edit, no code",
        6,
        crash_without_code,
    ),
    (
        "service: as it was but for a clock",
        9,
        unchanged_but_for_clock,
    ),
];

pub(super) const WORK: &[Work] = &[
    ("search: hits beside an error", hits_beside_error),
    ("linter: faults of each file", faults_of_files),
    ("shell: codes that are answers", codes_that_answer),
    ("counts: another number for each thing", other_counts),
    ("program: another crash after each edit", other_crashes),
    ("job: rows that go on while it is looked at", rows_go_on),
];

const ROUNDS: usize = 12;

fn hits_beside_error(made: &mut Made) {
    made.begin(4);
    let error = [
        json!("None"),
        json!("OK"),
        json!({"code": 0, "message": ""}),
        json!("one of three sources did not answer"),
    ][made.below(4)]
    .clone();
    let name = made.pick(&["results", "hotels", "items"]);
    for _ in 0..ROUNDS {
        let (query, hit) = (made.words(3), made.words(5));
        let hits = json!([{"title": hit, "rank": 1}, {"title": made.words(4), "rank": 2}]);
        made.call(
            "search",
            json!({"query": query}),
            json!({name: hits, "error": error}),
        );
    }
}

fn error_without_hits(made: &mut Made) {
    made.begin(4);
    let name = made.pick(&["results", "hotels", "items"]);
    for _ in 0..ROUNDS {
        let query = made.words(3);
        made.call(
            "search",
            json!({"query": query}),
            json!({name: [], "error": "the source did not answer to this account"}),
        );
        made.again();
    }
}

fn faults_of_files(made: &mut Made) {
    made.begin(4);
    for _ in 0..ROUNDS {
        let (path, line) = (made.file(), made.between(1, 400));
        made.call(
            "lint_file",
            json!({"path": path}),
            json!({"ok": false, "errors": [{"line": line, "message": "missing semicolon"}]}),
        );
    }
}

fn printed(made: &mut Made, command: &str, output: &str, errors: &str, code: u8) {
    made.call(
        "bash",
        json!({"command": command}),
        json!({"stdout": output, "stderr": errors, "exit_code": code}),
    );
}

fn codes_that_answer(made: &mut Made) {
    made.begin(4);
    let (kind, is_marked) = (made.below(2), made.chance(50));
    for thing in made.some_words(ROUNDS) {
        let (old, new) = (made.words(4), made.words(4));
        let (command, output, code) = if kind == 0 {
            (
                format!("diff old/{thing}.md new/{thing}.md"),
                format!("3c3\n< {old}\n---\n> {new}"),
                1,
            )
        } else {
            (
                format!("systemctl is-active {thing}"),
                "inactive".to_owned(),
                3,
            )
        };
        if is_marked {
            made.sh(&command, &format!("{output}\n[exit code: {code}]"));
        } else {
            printed(made, &command, &output, "", code);
        }
    }
}

fn other_counts(made: &mut Made) {
    made.begin(4);
    let style = made.below(3);
    let first = made.between(5, 60);
    let mut words = made.some_words(2 * ROUNDS).into_iter();
    for nth in 0..ROUNDS {
        let thing: Vec<_> = words.by_ref().take(2).collect();
        let count = first + nth * 7 + made.below(5);
        let answer: Value = match style {
            0 => json!(format!(
                "There are {count} orders. The field price is not shown."
            )),
            1 => json!({"total": count, "source": "all public job boards in the country"}),
            _ => json!({"data": {"n": count}, "notes": [{"message": "field price is not shown"}]}),
        };
        made.call("count_orders", json!({"q": thing.join(" ")}), answer);
    }
}

/// Commands, and what they print of an error.
const CRASHES: [(&str, &str); 6] = [
    (
        "ruby main.rb",
        "main.rb:1:in `<main>': undefined local variable or method `foo' for main:Object (NameError)",
    ),
    (
        "dotnet run",
        "Unhandled exception. System.NullReferenceException: Object reference not set.\n   at A.Main() in /a.cs:line 3",
    ),
    (
        "go build ./...",
        "# example.com/a\n./main.go:3:2: undefined: foo",
    ),
    (
        "Rscript a.R",
        "Error in library(foo) : there is no package called 'foo'\nExecution halted",
    ),
    (
        "cmake .",
        "CMake Error at CMakeLists.txt:3 (find_package):\n  Could not find a package\n\n-- Configuring incomplete, errors occurred!",
    ),
    ("make", "make: *** [Makefile:3: all] Error 1"),
];

fn edited(made: &mut Made) {
    let (old, new) = (made.words(4), made.words(4));
    made.call(
        "edit_file",
        json!({"path": "src/main", "old": old, "new": new}),
        "The file src/main has been updated.",
    );
}

fn crash_without_code(made: &mut Made) {
    made.begin(4);
    let (command, crash) = CRASHES[made.below(CRASHES.len())];
    for _ in 0..ROUNDS {
        edited(made);
        made.sh(command, crash);
        made.again();
    }
}

fn other_crashes(made: &mut Made) {
    made.begin(4);
    for name in made.some_words(8) {
        edited(made);
        let line = made.between(1, 90);
        made.sh(
            "ruby main.rb",
            &format!("main.rb:{line}:in `<main>': undefined local variable or method `{name}' (NameError)"),
        );
    }
    edited(made);
    made.sh("ruby main.rb", "12 orders were read");
}

fn unchanged_but_for_clock(made: &mut Made) {
    made.begin(4);
    made.steady();
    let (mut seconds, style) = (made.between(9_000, 90_000), made.below(3));
    for _ in 0..ROUNDS + 2 {
        let answer: Value = match style {
            0 => json!(format!(
                "Service: web\nState: degraded\nUp for: {seconds}\nLast error: queue unreachable"
            )),
            1 => {
                json!({"service": "web", "state": "degraded", "upMs": seconds * 1_000, "last_error": "queue unreachable"})
            }
            _ => {
                json!({"service": "web", "state": "stuck", "age_seconds": seconds, "last_error": "queue unreachable"})
            }
        };
        made.call("get_service", json!({"service": "web"}), answer);
        made.again();
        let pause = made.between(2, 22);
        made.pause(pause);
        // Half a second goes by with each step.
        seconds += pause + made.events.len() % 2;
    }
}

fn rows_go_on(made: &mut Made) {
    made.begin(4);
    made.steady();
    let mut rows = made.between(100, 900);
    for _ in 0..ROUNDS {
        made.call(
            "get_import",
            json!({"import": "orders"}),
            json!({"import": "orders", "rows_done": rows, "note": "the file is large"}),
        );
        let pause = made.between(2, 22);
        made.pause(pause);
        rows += pause * made.between(3, 60);
    }
}
