//! What is waited for, looked for and looked at, failures that pauses or edits lie between, and agents beside each other; loops,
//! and work that looks like them.

use serde_json::{Value, json};

use super::lookalikes::Work;
use super::loops::Loop;
use super::made::Made;

pub(super) const LOOPS: &[Loop] = &[
    ("failures: the same at any pace", 5, same_at_any_pace),
    ("build: refused in other forms", 6, build_refused),
    ("query: an error in a list", 6, error_in_list),
    ("sub-agents: stopped at their limit", 6, stopped_at_limit),
    ("plan: thought about, and written again", 10, thought_about),
    ("apologies beside an agent at work", 9, apologies),
    ("ring of three beside an agent at work", 10, ring_beside),
    ("search: synonyms of one thing", 6, synonyms),
];

pub(super) const WORK: &[Work] = &[
    ("waiting: a state told in text", state_in_text),
    ("report: asked for twice, minutes apart", asked_twice),
    ("products: looked up, none is there", none_in_stock),
    ("contract: clauses that are not in it", no_such_clause),
    ("errands: short names", short_names),
    ("robot: turns and looks", turns_and_looks),
    ("talk beside an agent at work", talk_beside),
    ("checks: a list of errors for each file", errors_of_files),
    ("hourly: a check that passes, and a failure", hourly),
];

/// A call that fails in a way that does not pass, once in some minutes or an hour.
fn same_at_any_pace(made: &mut Made) {
    made.begin(5);
    let pause = [130, 200, 290, 310, 600, 3_600][made.below(6)];
    let (tool, error) = [
        ("sync_orders", "HTTP 401 Unauthorized: invalid API key"),
        ("run_cell", "KeyError: 'customer_id'"),
        ("load_table", "ValueError: column price is not a number"),
        ("publish_page", "403 Forbidden: the token has no scope"),
    ][made.below(4)];
    let of = made.word();
    for _ in 0..10 {
        made.fails(tool, json!({"of": of}), error);
        made.again();
        made.pause(pause);
    }
}

/// An edit and a build, whose failure is told in one of many forms.
fn build_refused(made: &mut Made) {
    made.begin(6);
    let (file, name) = (made.file(), made.word());
    let why = format!("undefined symbol {name} in module pages, which app imports at line 14");
    let form = made.below(7);
    let told = match form {
        0 => json!({"success": false, "output": why}),
        1 => json!({"success": false, "stderr": why}),
        2 => json!({"success": false, "log": why}),
        3 => json!({"errors": [why]}),
        4 => json!(format!("FAILED: {why}")),
        5 => json!(format!(
            "! Undefined control sequence.\nl.82 shown by \\{name}\nNo pages of output."
        )),
        _ => json!({"success": false, "details": why}),
    };
    for _ in 0..10 {
        let (from, to) = (made.words(3), made.words(4));
        made.call(
            "edit_file",
            json!({"path": file, "find": from, "replace": to}),
            "1 replacement made",
        );
        made.call("build", json!({"target": "web"}), told.clone());
        made.again();
    }
}

/// One query in other spellings, whose error is the only item of a list.
fn error_in_list(made: &mut Made) {
    made.begin(6);
    let (table, field) = (made.word(), made.word());
    let forms = [
        format!("SELECT Id, Name FROM {table} WHERE {field} > TODAY - 30"),
        format!("SELECT Id, Name FROM {table} WHERE {field} > (TODAY - 30)"),
        format!("SELECT Id FROM {table} WHERE {field} >= TODAY-30"),
        format!("SELECT Id, Name, Amount FROM {table} WHERE {field} > TODAY() - 30"),
        format!("SELECT Name FROM {table} WHERE TODAY - {field} < 30"),
        format!("SELECT Id FROM {table} WHERE {field} > DATE(TODAY - 30)"),
        format!("SELECT Id, Name FROM {table} WHERE {field} > TODAY - 30 DAYS"),
        format!("SELECT Id FROM {table} WHERE {field} > NOW - 30"),
    ];
    let code = made.pick(&["MALFORMED_QUERY", "INVALID_FIELD"]);
    for query in forms {
        let column = made.between(30, 70);
        let message = format!("ERROR at Row:1:Column:{column}\nunexpected token: '-'");
        made.call(
            "soql",
            json!({"q": query}),
            json!([{"errorCode": code, "message": message}]),
        );
        made.again();
    }
}

/// A sub-agent is sent once more, in the same words or in a few others, and is stopped at its limit each time.
fn stopped_at_limit(made: &mut Made) {
    made.begin(6);
    let (of, where_) = (made.word(), made.word());
    let prompts = [
        format!(
            "Find out which services still use {of} in {where_} and list them with their paths."
        ),
        format!("List all services that still call {of} in {where_}, including their paths."),
        format!("Search {where_} for the remaining users of {of} and report the paths."),
    ];
    let ways = made.between(1, 3);
    let end = made.pick(&[
        "Agent stopped after reaching the turn limit (25) without a final answer.",
        "Agent stopped due to iteration limit or time limit.",
        "The agent reached the maximum number of turns.",
    ]);
    let tool = made.pick(&["Task", "run_subagent", "explore"]);
    for round in 0..10 {
        made.call(tool, json!({"prompt": prompts[round % ways]}), end);
        made.again();
    }
}

/// The plan is thought about and written in another order, again and again.
fn thought_about(made: &mut Made) {
    made.begin(4);
    let thoughts = [
        "Before I begin I should make sure the plan is right.",
        "Let me reconsider the plan so that nothing is missed.",
        "I should restructure the steps for clarity before acting.",
        "The plan could be more detailed; let me refine it.",
    ];
    let steps = [
        "Inspect the endpoint",
        "Add the parameters",
        "Update the query",
        "Write tests",
        "Update the docs",
        "Check the client",
    ];
    let answer = made.pick(&["Your thought has been logged.", "", "ok"]);
    for round in 0..16 {
        made.call("think", json!({"thought": thoughts[round % 4]}), answer);
        let first = made.below(steps.len());
        let count = made.between(4, 6);
        let plan: Vec<Value> = (0..count)
            .map(|at| {
                let aside = made.pick(&["", ".", " first", " carefully"]);
                let step = format!("{}{aside}", steps[(first + at) % steps.len()]);
                json!({"step": step, "status": "pending"})
            })
            .collect();
        made.call("update_plan", json!({"plan": plan}), "Plan updated");
        made.again();
    }
}

/// One agent says in turn that it will begin, while another one reads.
fn apologies(made: &mut Made) {
    made.begin(0);
    let part = made.word();
    let texts = [
        format!(
            "You're right, I apologize for the oversight. I will now proceed with the {part} module."
        ),
        format!("I apologize for the confusion. Let me now start with the {part} module."),
        format!("Understood. I am going to begin with the {part} module right away."),
    ];
    let ways = made.between(2, 3);
    for round in 0..16 {
        made.as_agent("coder");
        made.says(&texts[round % ways]);
        made.again();
        made.as_agent("librarian");
        made.work(1);
    }
}

/// Three agents hand a task round by tools, while a clerk reads.
fn ring_beside(made: &mut Made) {
    made.begin(0);
    let ring = ["sales", "retention", "accounts"];
    let ticket = made.between(100, 999);
    for round in 0..20 {
        made.as_agent(ring[round % 3]);
        let to = ring[(round + 1) % 3];
        made.call(
            &format!("transfer_to_{to}"),
            json!({"ticket": ticket}),
            format!("Transferred to {to}."),
        );
        made.again();
        made.as_agent("clerk");
        made.work(1);
    }
}

/// One thing is looked for by words that mean the same, and is not there.
fn synonyms(made: &mut Made) {
    made.begin(5);
    let all: [[&str; 6]; 4] = [
        [
            "sabbatical policy",
            "unpaid long leave",
            "career break rules",
            "extended leave",
            "gap year policy",
            "long-term absence",
        ],
        [
            "refund after cancellation",
            "money back",
            "cancelled booking reimbursement",
            "return of payment",
            "reimburse customer",
            "get refund",
        ],
        [
            "on-call rota",
            "pager duty schedule",
            "who is on duty",
            "standby plan",
            "incident responder roster",
            "on call schedule",
        ],
        [
            "office dog rules",
            "bring pets to work",
            "animals at the workplace",
            "pet policy",
            "dogs in the office",
            "canine guidelines",
        ],
    ];
    let words = all[made.below(4)];
    let empty = [
        json!([]),
        json!({"results": []}),
        json!("No results found."),
    ][made.below(3)]
    .clone();
    for query in words.iter().chain(&words[..4]) {
        made.call("search_docs", json!({"query": query}), empty.clone());
        made.again();
    }
}

/// Something is begun and looked at at an honest pace; its state is told in text, in a table, or in words of another language.
fn state_in_text(made: &mut Made) {
    made.begin(6);
    made.steady();
    let states = [
        (
            "kubectl get deploy web",
            json!(
                "NAME   READY   UP-TO-DATE   AVAILABLE   AGE\nweb    3/6     6            3           41d"
            ),
            6,
        ),
        (
            "kubectl get pods",
            json!(
                "NAME    READY   STATUS    RESTARTS   AGE\nweb-1   0/1     Pending   0          12s"
            ),
            3,
        ),
        (
            "kubectl get pods",
            json!(
                "NAME    READY   STATUS    RESTARTS   AGE\nweb-1   0/1     Running   0          5m"
            ),
            6,
        ),
        (
            "kubectl get jobs",
            json!("NAME   COMPLETIONS   DURATION   AGE\nload   0/1           41s        41s"),
            6,
        ),
        (
            "kubectl get svc lb",
            json!(
                "NAME   TYPE           CLUSTER-IP   EXTERNAL-IP   PORT(S)\nlb     LoadBalancer   10.0.0.9     <pending>     80:31412/TCP"
            ),
            6,
        ),
        (
            "aws rds describe-db-instances --output text",
            json!("creating"),
            12,
        ),
        (
            "aws cloudformation describe-stacks --output text",
            json!("CREATE_IN_PROGRESS"),
            12,
        ),
        (
            "docker ps",
            json!("NAME   STATUS\napi    Up Less than a minute (health: starting)"),
            5,
        ),
        (
            "check order",
            json!({"auftrag": "A-77", "status": "In Arbeit"}),
            6,
        ),
        ("check request", json!({"状態": "審査中"}), 6),
        ("check request", json!({"상태": "심사 중"}), 6),
        ("check order", json!("Статус: в обработке"), 6),
        ("get export", json!("The export has not finished yet."), 6),
        ("get replicas", json!("0 of 3 replicas are ready"), 6),
        (
            "squeue",
            json!(
                "  JOBID PARTITION     NAME     USER ST       TIME  NODES\n     71     batch     load      ann PD       0:00      1"
            ),
            8,
        ),
        (
            "systemctl status web",
            json!("\u{25cf} web.service - Web\n   Active: activating (start)"),
            6,
        ),
        ("get job", json!("Job 77 is running"), 8),
    ];
    let (command, told, most) = &states[made.below(states.len())];
    made.sh("make deploy", "started");
    let pause = made.between(9, 15);
    for _ in 0..made.between(3, *most) {
        made.pause(pause);
        made.call("bash", json!({"command": command}), told.clone());
    }
    made.pause(pause);
    made.sh(command, "available");
    made.work(2);
}

/// A report that is not there yet is asked for twice, and is there at the third time.
fn asked_twice(made: &mut Made) {
    made.begin(6);
    let (number, of) = (made.between(2, 900), made.word());
    made.call(
        "request_report",
        json!({"of": of}),
        json!({"report": number}),
    );
    let pause = made.between(30, 900);
    for _ in 0..2 {
        made.fails(
            "get_report",
            json!({"id": number}),
            &format!("report {number} not found"),
        );
        made.pause(pause);
    }
    made.call(
        "get_report",
        json!({"id": number}),
        json!({"rows": 44, "of": of}),
    );
    made.work(3);
}

/// Products or people are looked for one by one, and none of them is known.
fn none_in_stock(made: &mut Made) {
    made.begin(6);
    let products = [
        "Logitech MX Keys",
        "Anker PowerCore 20000",
        "Dell XPS 13",
        "Bose QuietComfort 45",
        "Sony WH-1000XM5",
        "Garmin Fenix 7",
        "Kindle Paperwhite",
        "Samsung T7 Shield",
        "Canon EOS R6",
    ];
    let people = [
        "Ana Castillo",
        "Jan Larsen",
        "Li Wei",
        "Karl Weber",
        "Rosa Vargas",
        "John Quinn",
        "Emeka Okafor",
        "Hana Ito",
        "Olga Petrov",
    ];
    let (tool, all) = if made.chance(50) {
        ("search_inventory", products)
    } else {
        ("search_documents", people)
    };
    let empty =
        [json!([]), json!({"items": []}), json!("No results found.")][made.below(3)].clone();
    let (first, count) = (made.below(9), made.between(4, 9));
    for at in 0..count {
        let query = all[(first + at) % 9];
        made.call(tool, json!({"query": query}), empty.clone());
    }
    made.says("None of them is known.");
}

/// Clauses of a list are looked for in a contract, some of which are not in it one after the other.
fn no_such_clause(made: &mut Made) {
    made.begin(6);
    let clauses = [
        "most favoured nation clause",
        "change of control",
        "automatic renewal",
        "exclusivity undertaking",
        "liquidated damages",
        "non-compete",
        "audit rights",
        "source code escrow",
    ];
    let first = made.below(8);
    for at in 0..made.between(3, 4) {
        let query = clauses[(first + at) % 8];
        made.call(
            "search_contract",
            json!({"query": query, "contract": "MSA-2024"}),
            json!({"matches": []}),
        );
    }
    made.says("The contract has none of these clauses.");
}

/// One errand for companies, countries or towns whose names are short.
fn short_names(made: &mut Made) {
    made.begin(0);
    let companies = ["SAP", "BMW", "BASF", "EON", "RWE", "MTU"];
    let countries = ["UK", "USA", "UAE", "Peru", "Iran", "Cuba"];
    let towns = ["Kiel", "Bonn", "Jena", "Ulm", "Hof", "Trier"];
    let (all, form) = [
        (
            companies,
            "Summarise the latest quarterly results of {} in three sentences and name the main risks.",
        ),
        (
            countries,
            "Describe the rules for the import of {} used machines and name the forms that are needed.",
        ),
        (
            towns,
            "Collect the opening hours and the entrance fees of the museums in {} and report them as a table.",
        ),
    ][made.below(3)];
    for name in all {
        let asked = form.replace("{}", name);
        made.add(json!({"kind": "handoff", "from_agent": "supervisor", "to_agent": "analyst", "input": asked}));
        made.as_agent("analyst");
        let found = made.words(12);
        made.call(
            "web_search",
            json!({"query": format!("{name} facts")}),
            json!([{"text": found}]),
        );
        let text = made.words(30);
        made.says(&text);
        made.add(json!({"kind": "handoff", "from_agent": "analyst", "to_agent": "supervisor", "input": "done"}));
    }
}

/// A robot turns or drives a little, and looks; it finds what it looks for in the end, or has driven all the way.
fn turns_and_looks(made: &mut Made) {
    made.begin(3);
    let turns = made.chance(50);
    for step in 1..=made.between(4, 9) {
        if turns {
            made.call(
                "rotate_base",
                json!({"deg": 45}),
                json!({"ok": true, "yaw": 45 * step}),
            );
            made.call(
                "detect",
                json!({"class": "red_mug"}),
                json!({"found": false, "detections": []}),
            );
        } else {
            made.call(
                "move_forward",
                json!({"meters": 0.5}),
                json!({"ok": true, "odom": step as f64 / 2.0}),
            );
            let range = made.between(100, 400) as f64 / 100.0;
            made.call(
                "scan",
                json!({}),
                json!({"obstacles": [], "min_range": range}),
            );
        }
    }
    made.call(
        "detect",
        json!({"class": "red_mug"}),
        json!({"found": true, "detections": [{"x": 0.3}]}),
    );
}

/// One agent tells what it does, or asks for the next piece in the same few words, while another one reads.
fn talk_beside(made: &mut Made) {
    made.begin(0);
    let form = made.below(2);
    for _ in 0..14 {
        made.as_agent("writer");
        let part = made.words(18);
        let text = match form {
            0 => format!(
                "The section is written, which says that {part}, and I go on with the next one."
            ),
            _ => "Please go on with the next document of the list.".to_owned(),
        };
        made.says(&text);
        made.as_agent("librarian");
        made.work(1);
    }
}

/// File after file is checked, each of which has an error of the same kind or none.
fn errors_of_files(made: &mut Made) {
    made.begin(3);
    let why = made.pick(&[
        "a docstring is missing",
        "the licence is missing",
        "a key is not sorted",
    ]);
    for _ in 0..made.between(6, 12) {
        let file = made.file();
        let errors = if made.chance(75) {
            json!([format!("{file}: {why}")])
        } else {
            json!([])
        };
        made.call(
            "check_file",
            json!({"path": file}),
            json!({"errors": errors}),
        );
    }
    made.says("These files have to be mended.");
}

/// Something is checked each hour, and fails once or twice in a way that passes.
fn hourly(made: &mut Made) {
    made.begin(0);
    let fails_at = made.between(1, 6);
    for hour in 0..10 {
        if hour == fails_at || hour == fails_at + 1 {
            made.fails(
                "check_site",
                json!({"site": "shop"}),
                "503 Service Unavailable",
            );
        } else {
            made.call(
                "check_site",
                json!({"site": "shop"}),
                json!({"status": "up", "version": "4.2"}),
            );
        }
        made.pause(3_600);
    }
}
