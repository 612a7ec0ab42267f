//! Faults that compilers and linters find: the same after each edit, wherever they stand by now, fewer of them, and those of files
//! on which nobody works.

use serde_json::{Value, json};

use crate::support::{call, check, failed, is_warned_of};

const FILES: [&str; 6] = ["anchor", "bridge", "canal", "delta", "ferry", "gorge"];

fn edit(file: &str, number: usize) -> Value {
    json!({"kind": "tool_call", "agent": "a", "tool": "edit_file", "output": "The file was changed.",
        "input": {"path": format!("src/{file}.ts"), "old": format!("let a{number} = load(cart);"),
            "new": format!("const {} = load(cart, {number});", FILES[number % FILES.len()])}})
}

fn look(tool: &str, input: &Value, output: &str) -> Value {
    json!({"kind": "tool_call", "agent": "a", "tool": tool, "input": input, "output": output})
}

/// Edits of a file, each with a look behind it.
fn edits(look: &dyn Fn(usize) -> Value) -> Vec<Value> {
    let numbers = 0..FILES.len();
    numbers
        .flat_map(|number| [edit("cart", number), look(number)])
        .collect()
}

const WRONG: [&str; 6] = [
    "Property `id` does not exist on type `User`.",
    "Cannot find name `Order`.",
    "Expected 2 arguments, but got 1.",
    "Unused label `next`.",
    "Object is possibly null.",
    "The return type is missing.",
];

/// Faults as an editor lists them.
fn listed(line: usize, wrong: &[&str]) -> String {
    let faults: Vec<_> = wrong
        .iter()
        .map(|what| json!({"line": line, "severity": "error", "message": what}))
        .collect();
    json!({"diagnostics": faults}).to_string()
}

/// Faults as a compiler prints them.
fn printed(line: usize, wrong: &[&str]) -> String {
    let faults = wrong.iter();
    let faults: Vec<_> = faults
        .map(|what| format!("src/cart.ts:{line}:5 - error TS2339: {what}"))
        .collect();
    faults.join("\n")
}

/// Given the same faults after each edit, some lines further down, they are found, in a list or in lines; fewer ones, or others,
/// are headway.
#[test]
fn faults_that_stay() {
    let asked = json!({"path": "src/cart.ts"});
    for show in [listed, printed] {
        let same = |number: usize| look("get_diagnostics", &asked, &show(12 + number, &WRONG[..2]));
        assert!(is_warned_of(&edits(&same)));
        let fewer = |number: usize| look("get_diagnostics", &asked, &show(12, &WRONG[number..]));
        check(&edits(&fewer), &[]);
        let others = |number: usize| {
            look(
                "get_diagnostics",
                &asked,
                &show(12, &WRONG[number..=number]),
            )
        };
        check(&edits(&others), &[]);
    }
}

/// Given an edit that shows the faults of its file itself, which are the same each time, that is found.
#[test]
fn faults_that_an_edit_shows() {
    let shown = |wrong: &dyn Fn(usize) -> usize| -> Vec<Value> {
        let shown = |number: usize| {
            let mut edit = edit("cart", number);
            let faults = printed(12 + number, &WRONG[..wrong(number)]);
            edit["output"] = json!(format!("The file was changed. Diagnostics:\n{faults}"));
            edit
        };
        (0..10).map(shown).collect()
    };
    check(&shown(&|_| 2), &["same_error"]);
    check(&shown(&|number| 6 - number % 6), &[]);
}

/// Given warnings that nobody minds, or faults of a file that nobody works on, after each edit of another file, the work goes on;
/// where a file is changed over and over, it does not.
#[test]
fn faults_of_other_files() {
    let old = "src/legacy.ts:12:5 - error TS2339: Property `id` does not exist on type `User`.\n\n\
               Found 1 error in src/legacy.ts:12\n";
    let listed = r#"[{"file":"src/legacy.ts","line":12,"severity":"error","message":"Property `id` does not exist."}]"#;
    let warned =
        r#"[{"file":"src/legacy.ts","line":12,"severity":"warning","message":"It is old."}]"#;
    let checks = [
        call("bash", "npx tsc --noEmit", old),
        look("get_diagnostics", &json!({}), listed),
        look("get_diagnostics", &json!({}), warned),
    ];
    for (checked, is_found) in checks.iter().zip([true, true, false]) {
        let files = FILES.iter().enumerate();
        let each: Vec<_> = files
            .flat_map(|(number, file)| [edit(file, number), checked.clone()])
            .collect();
        check(&each, &[]);
        let same = edits(&|_| checked.clone());
        assert_eq!(is_warned_of(&same), is_found, "{checked}");
    }
}

/// Given one tool that fails ten times in a row, in ever other words and ways, it has one cause all the same; where it works, or
/// something else is called in between, or fewer fail, it may have others.
#[test]
fn failures_in_ever_other_words() {
    let errors = [
        "Permission denied",
        "a password is required",
        "operation not permitted",
        "not in the list of operators",
        "read-only file system",
        "authentication failure",
        "the key was revoked",
        "no credentials were given",
        "the signature does not match",
        "this role may not write",
    ];
    let tried = [
        "mkdir a",
        "sudo install b",
        "touch c",
        "chown me d",
        "docker run e",
        "su -c f",
        "doas g",
        "pkexec h",
        "ln i",
        "cp j k",
    ];
    let fails = |at: usize| failed("bash", tried[at], errors[at]);
    let all: Vec<_> = (0..10).map(fails).collect();
    check(&all, &["same_error"]);
    check(&all[..9], &[]);
    let mut works = all.clone();
    works.insert(
        5,
        call(
            "bash",
            "id",
            "uid=1000(me) gid=1000(me) groups=1000(me),27(staff)",
        ),
    );
    check(&works, &[]);
    let mut changed = all.clone();
    changed.insert(5, call("edit_file", "a.conf", "edited"));
    check(&changed, &[]);
}

/// What a plan of changes prints before it fails: its numbers are others each time.
fn planned(number: usize, error: &str) -> String {
    let way: Vec<_> = (0..12)
        .map(|line| {
            format!(
                "  + volume {line}: size = {}, rate = {}",
                number * 7 + line,
                90 - number
            )
        })
        .collect();
    format!(
        "{}\n\nPlan: {number} to add.\nError: {error}\n\n  on main.tf line {number}:\n\nError: the run was stopped\n",
        way.join("\n")
    )
}

/// Given a build that prints something else each time and fails in the same way, whatever is changed in between, that is a loop;
/// where it fails in another way each time, it is not.
#[test]
fn one_failure_behind_other_numbers() {
    let asked = "terraform apply";
    let same = |number: usize| {
        let printed = planned(
            number,
            "you are not allowed to make a volume in this account",
        );
        failed("bash", asked, &printed)
    };
    let rounds = |look: &dyn Fn(usize) -> Value| -> Vec<Value> {
        let numbers = 0..8;
        numbers
            .flat_map(|number| [edit("cart", number), look(number)])
            .collect()
    };
    assert!(is_warned_of(&rounds(&same)));
    let others =
        |number: usize| failed("bash", asked, &planned(number, WRONG[number % WRONG.len()]));
    check(&rounds(&others), &[]);
}

/// Given one failure after each edit that names a temporary file, whose name is drawn anew each time, that is found; other
/// failures are headway.
#[test]
fn one_failure_behind_drawn_names() {
    let names = ["Xa3bCd", "qWeRtY", "abcdef", "Z9y8X7", "mNbVcX", "k3k4K5"];
    let compiled = |number: usize, wrong: &str| {
        let object = names[number];
        let linked = format!("/usr/bin/ld: /tmp/cc{object}.o: in function `main':\n{wrong}");
        failed("bash", "make", &linked)
    };
    let same = |number: usize| compiled(number, "undefined reference to `open_order'");
    assert!(is_warned_of(&edits(&same)));
    let others = |number: usize| compiled(number, WRONG[number]);
    check(&edits(&others), &[]);
}

/// How a program tells what went wrong, in the run of this number.
type Form = dyn Fn(usize, &str) -> String;

/// Given one failure after each edit in whose words something else is told each time that says nothing of it, that is found; other
/// failures in the same words are headway.
#[test]
fn one_failure_behind_what_a_run_tells() {
    let forms: [&Form; 5] = [
        &|number, wrong| {
            let at = 0x1f2e_3040 + number * 64;
            format!(
                "panic: {wrong}\n\ngoroutine {number}8 [running]:\nmain.f(0xc0{at:08x})\n\t/app/main.go:1{number} +0x{number}d"
            )
        },
        &|number, wrong| {
            format!(
                "fatal: [web]: FAILED! => {{\"msg\": \"{wrong}\", \"delta\": \"0:00:0{number}.34618{number}\"}}"
            )
        },
        &|number, wrong| {
            format!(
                "[7{number}1:7{number}1:1201/11420{number}.99121{number}:ERROR:page.cc(239)] {wrong}"
            )
        },
        &|number, wrong| {
            format!("2026-11-30 10:0{number}:00.123 UTC [4{number}13] FATAL:  {wrong}")
        },
        &|number, wrong| format!("level=error msg=\"{wrong}\" duration_ms=3{number}8"),
    ];
    for form in forms {
        let told = |number: usize, wrong: &str| failed("bash", "make", &form(number, wrong));
        let same = |number: usize| told(number, WRONG[0]);
        assert!(is_warned_of(&edits(&same)), "{}", form(0, WRONG[0]));
        check(&edits(&|number| told(number, WRONG[number])), &[]);
    }
}
