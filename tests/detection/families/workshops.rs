//! Kinds of workshops, where something is made and looked at: builds and plans that print other numbers each time, layers that are
//! set in numbers, payloads that tell what is wrong with what was sent, items that are refused; loops, and work that looks like
//! them.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::lookalikes::Work;
use super::loops::Loop;
use super::made::Made;

pub(super) const LOOPS: &[Loop] = &[
    (
        "plan: refused behind other numbers",
        6,
        refused_behind_numbers,
    ),
    (
        "program: one fault, wherever it stands",
        6,
        fault_that_moves,
    ),
    (
        "layer: set in other numbers, and as it was",
        7,
        layer_as_it_was,
    ),
    ("payload: one error in it each time", 5, error_in_payload),
    ("item: refused whatever it is called", 8, item_refused),
];

pub(super) const WORK: &[Work] = &[
    ("plan: another refusal each time", other_refusals),
    ("program: other faults, one by one", other_faults),
    ("layers: each set and looked at", layers_set),
    ("payloads: some have errors", some_payloads),
    ("items: some are refused", some_items),
    ("chat: what is new since the last time", new_since),
];

const ROUNDS: usize = 10;

/// What a plan of changes prints before it is refused: numbers and names, which are others each time.
fn planned(made: &mut Made, why: &str) -> String {
    let mut printed = String::new();
    for _ in 0..made.between(5, 9) {
        let (name, size) = (made.word(), made.between(10, 900));
        let id = made.hex();
        writeln!(
            printed,
            "  + resource \"volume\" \"{name}\" {{ size = {size}, id = \"{id}\" }}"
        )
        .expect("written");
    }
    let (added, id) = (made.between(1, 9), made.hex());
    format!(
        "{printed}\nPlan: {added} to add, 0 to change.\n\nError: {why}\n  RequestID: {id}\n\nError: the run was stopped\n"
    )
}

/// A command that fails with what it printed.
fn fails(made: &mut Made, command: &str, printed: &str) {
    if made.chance(50) {
        let output = json!({"stdout": printed, "stderr": "", "exit_code": 1});
        made.call("bash", json!({"command": command}), output);
    } else {
        made.sh(command, &format!("{printed}\n[exit code: 1]"));
    }
}

fn edit(made: &mut Made, file: &str) {
    let (old, new) = (made.words(2), made.words(3));
    made.call(
        "edit_file",
        json!({"path": file, "old": old, "new": new}),
        "edited",
    );
}

fn refused_behind_numbers(made: &mut Made) {
    made.begin(6);
    let (file, what) = (made.file(), made.word());
    let command = made.pick(&["terraform apply", "pulumi up --yes", "cdk deploy"]);
    for _ in 0..ROUNDS {
        edit(made, &file);
        let printed = planned(made, &format!("you are not allowed to make a {what} here"));
        fails(made, command, &printed);
        made.again();
    }
}

fn other_refusals(made: &mut Made) {
    made.begin(4);
    let file = made.file();
    for why in [
        "the argument of the volume is not expected here",
        "no subnet of this name was declared",
        "the variable must be a range of addresses",
        "an attribute of this name does not exist",
        "two resources have one name",
        "the provider needs a newer version",
    ] {
        let (what, printed) = (made.word(), planned(made, why));
        fails(made, "terraform apply", &format!("{printed}({what})"));
        edit(made, &file);
    }
    made.sh("terraform apply", "Apply complete! Resources: 3 added.");
    made.work(4);
}

/// What a compiler says of a fault in a file, in the midst of what it warns of.
fn compiled(made: &mut Made, file: &str, fault: &str) -> String {
    let (line, column, warnings) = (
        made.between(20, 90),
        made.between(3, 40),
        made.between(2, 9),
    );
    let mut printed = String::new();
    for _ in 0..warnings {
        let (name, line) = (made.word(), made.between(1, 300));
        writeln!(
            printed,
            "warning: unused variable: `{name}`\n  --> {file}:{line}:5"
        )
        .expect("written");
    }
    format!(
        "{printed}{file}:{line}:{column}: error: {fault}\ncould not compile it: 1 error; {warnings} warnings emitted\n"
    )
}

fn fault_that_moves(made: &mut Made) {
    made.begin(6);
    let (file, name) = (made.file(), made.word());
    let command = made.pick(&["cargo check", "cabal build", "make"]);
    for _ in 0..ROUNDS {
        edit(made, &file);
        let printed = compiled(
            made,
            &file,
            &format!("`{name}` cannot be sent between threads"),
        );
        fails(made, command, &printed);
        made.again();
    }
}

fn other_faults(made: &mut Made) {
    made.begin(4);
    let file = made.file();
    for fault in [
        "a value is used after it was moved",
        "it is borrowed as mutable twice",
        "this does not live long enough",
        "two types do not match",
        "no method of this name was found",
        "a lifetime is missing",
    ] {
        let printed = compiled(made, &file, fault);
        fails(made, "cargo check", &printed);
        edit(made, &file);
    }
    made.sh("cargo check", "Finished in 0.71s");
    made.work(4);
}

/// A layer of a drawing is set in numbers, of which the answer tells them.
fn set_layer(made: &mut Made, node: &str) -> [f64; 2] {
    let share = |made: &mut Made| made.between(1, 99) as f64 / 100.0;
    let [red, green] = [share(made), share(made)];
    made.call(
        "set_fill_color",
        json!({"nodeId": node, "r": red, "g": green}),
        format!("The fill is {red} and {green} now"),
    );
    [red, green]
}

fn look_at_layer(made: &mut Made, node: &str, name: &str, fill: &Value) {
    made.call(
        "get_node_info",
        json!({"nodeId": node}),
        json!({"id": node, "name": name, "type": "INSTANCE", "fills": [{"type": "SOLID", "color": fill}]}),
    );
}

fn layer_as_it_was(made: &mut Made) {
    made.begin(5);
    let (node, name) = (format!("31:{}", made.between(100, 999)), made.word());
    for _ in 0..ROUNDS {
        set_layer(made, &node);
        look_at_layer(made, &node, name, &json!("#d9d9d9"));
        made.again();
    }
}

fn layers_set(made: &mut Made) {
    made.begin(4);
    for at in 0..12 {
        let (node, name) = (format!("{at}:{}", made.between(100, 999)), made.word());
        let fill = set_layer(made, &node);
        look_at_layer(made, &node, name, &json!(fill));
    }
}

/// A mutation of a product: what it answers where that is refused, or done.
fn mutate(made: &mut Made, id: usize, refused: Option<&str>) {
    let (title, left) = (made.words(3), made.between(1_000, 1_990));
    let errors: Vec<_> = refused
        .iter()
        .map(|why| json!({"field": ["id"], "message": why}))
        .collect();
    let product = refused.is_none().then(|| json!({"id": id}));
    made.call(
        "graphql",
        json!({"query": "mutation($input: ProductInput!){productUpdate(input: $input){product{id} userErrors{message}}}",
            "variables": {"input": {"id": id, "title": title}}}),
        json!({"data": {"productUpdate": {"product": product, "userErrors": errors}},
            "extensions": {"cost": {"asked": 10, "available": left}}}),
    );
}

fn error_in_payload(made: &mut Made) {
    made.begin(6);
    let (id, what) = (made.between(10_000_000, 99_999_999), made.word());
    for _ in 0..ROUNDS {
        mutate(made, id, Some(&format!("The {what} must not be changed")));
        made.again();
    }
}

fn some_payloads(made: &mut Made) {
    made.begin(4);
    let what = made.word();
    for at in 0..14 {
        let (id, why) = (
            made.between(10_000_000, 99_999_999),
            format!("The {what} must not be changed"),
        );
        mutate(made, id, (at % 3 == 2).then_some(&why));
    }
}

/// A label is handed in for an item.
fn label(made: &mut Made, item: &str, accepted: bool) {
    let (label, places) = (
        made.pick(&["car", "truck", "van", "bus"]),
        [made.between(0, 200), made.between(300, 600)],
    );
    let event = made.hex();
    let answer = if accepted {
        json!({"accepted": true, "event": event})
    } else {
        json!({"accepted": false, "item_id": item, "message": "The box is not where the hint is.", "event": event})
    };
    made.call(
        "submit_annotation",
        json!({"item_id": item, "label": label, "box": places}),
        answer,
    );
}

fn item_refused(made: &mut Made) {
    made.begin(6);
    let item = format!("img_{}", made.between(1_000, 9_999));
    for _ in 0..ROUNDS {
        label(made, &item, false);
        made.again();
    }
}

fn some_items(made: &mut Made) {
    made.begin(4);
    for at in 0..16 {
        let item = format!("img_{}", made.between(1_000, 9_999));
        label(made, &item, at % 4 != 3);
    }
}

/// Every minute somebody asks what was said since the last time, mostly nothing.
fn new_since(made: &mut Made) {
    made.begin(4);
    let chat = made.word();
    for _ in 0..14 {
        let since = made.time();
        made.pause(60);
        let found = if made.chance(20) {
            json!([{"from": made.word(), "text": made.words(6)}])
        } else {
            json!([])
        };
        made.call(
            "list_messages",
            json!({"chat": chat, "since": since}),
            json!({"messages": found}),
        );
    }
}
