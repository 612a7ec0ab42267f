//! Work that is done in equal steps: parts of a batch, things that are read once more, queries that find nothing.

use serde_json::{Value, json};

use crate::support::{check, checked, is_warned_of};

fn made(tool: &str, input: &Value, output: &Value) -> Value {
    json!({"kind": "tool_call", "agent": "a", "tool": tool, "input": input, "output": output})
}

/// Given a call that takes away a number of things at most, and says each time that it took some, each time it took others; where
/// it took none, or where nothing is taken away, the same call is a loop.
#[test]
fn the_next_part_of_a_batch() {
    let delete = "DELETE FROM events WHERE created_at < '2023-01-01' LIMIT 1000";
    let sql = |statement: &str, output: Value| made("run_sql", &json!({"sql": statement}), &output);
    let some = sql(delete, json!({"rows_affected": 1000}));
    check(&vec![some; 9], &[]);
    let process = json!({"job": "reindex", "size": 100});
    let part = made(
        "process_next_batch",
        &process,
        &json!({"processed": 100, "has_more": true}),
    );
    check(&vec![part; 9], &[]);
    let none = sql(delete, json!({"rows_affected": 0}));
    assert!(is_warned_of(&vec![none; 9]));
    let read = sql("SELECT * FROM events LIMIT 1000", json!({"rows": 1000}));
    assert!(is_warned_of(&vec![read; 9]));
    let one = made(
        "delete_user",
        &json!({"id": 8812}),
        &json!({"deleted": true, "id": 8812}),
    );
    assert!(is_warned_of(&vec![one; 9]));
}

/// Given five files that are each read once more, as who has forgotten them does, that is no standstill yet; the third time is one.
#[test]
fn what_is_read_once_more() {
    let read = |number: u32| {
        let text = format!(
            "chapter {number} of the manual, with everything that it says and some more words"
        );
        made(
            "read_file",
            &json!({"path": format!("docs/{}.md", ["a", "b", "c", "d", "e"][number as usize])}),
            &json!(text),
        )
    };
    let round = || (0..5).map(read);
    let save = |text: &str| {
        made(
            "write_file",
            &json!({"path": "summary.md", "content": text}),
            &json!("ok"),
        )
    };
    let twice: Vec<_> = round()
        .chain([save("first")])
        .chain(round())
        .chain([save("second")])
        .collect();
    check(&twice, &[]);
    let thrice: Vec<_> = round().chain(round()).chain(round()).collect();
    assert!(is_warned_of(&thrice));
}

/// Given logs or metrics of which a query finds no stream or series, the answer's own words around it do not make it something.
#[test]
fn queries_without_streams() {
    let ask = |start: u64| {
        let input = json!({"query": "{app=\"billing\"} |= \"error\"", "start": start, "end": start + 3_600});
        let nothing = json!({"status": "success", "data": {"resultType": "streams", "result": []}});
        made("query_loki", &input, &nothing)
    };
    let asked: Vec<_> = (0..9).map(|time| ask(1_763_780_255 + 3 * time)).collect();
    check(&asked, &["empty_result_loop", "no_progress"]);
}

/// Given questions of one matter of which most have no answer, each that was dealt with leads to another question; where nothing is
/// done about them, it is a dead end.
#[test]
fn blanks_that_are_dealt_with() {
    let claims = [
        "the ferry of the harbour began in winter",
        "copper from the harbour paid for a library",
        "a ferry sank before the tunnel was dug",
        "the library burnt down after the war",
        "orchids were sold on the ferry each morning",
        "the tunnel flooded twice before it was opened",
        "violins were made of wood from the harbour",
    ];
    let nothing = json!({"results": []});
    let search = |claim: &str| made("search_archive", &json!({"query": claim}), &nothing);
    let record = |claim: &str| {
        let input = json!({"claim": claim, "verdict": "no evidence"});
        made("record_verdict", &input, &json!({"saved": true}))
    };
    let dealt_with: Vec<_> = claims
        .iter()
        .flat_map(|claim| [search(claim), record(claim)])
        .collect();
    check(&dealt_with, &[]);
    let searched: Vec<_> = claims.iter().map(|claim| search(claim)).collect();
    assert!(is_warned_of(&searched));
    let worded = [
        "ferry harbour winter",
        "winter ferry of the harbour",
        "harbour ferry in winter",
        "the harbour's winter ferry",
    ];
    let reworded: Vec<_> = worded
        .iter()
        .flat_map(|words| [search(words), record(words)])
        .collect();
    assert!(is_warned_of(&reworded));
}

/// Given a count that stays nought however the question is worded, that is a question without an answer, whatever the clock beside
/// it says. Checks of one table for many faults, of many files for one, and a question that finds something at last, are work.
#[test]
fn counts_that_stay_nought() {
    let asked = [
        "refund ferry strike",
        "ferry strike refunds",
        "money back when the ferry is on strike",
        "refunds for a strike of the ferry",
        "strike ferry compensation",
        "how are ferry strikes refunded",
    ];
    let counted = |tool: &str, input: &str, count: usize, at: usize| {
        let answer = json!({"count": count, "took_ms": 8 + at * 7_919 % 90});
        json!({"kind": "tool_call", "agent": "a", "tool": tool, "input": {"query": input}, "output": answer})
    };
    let runs = |tool: &str, asked: &[String], count: &dyn Fn(usize) -> usize| -> Vec<Value> {
        let call = |(at, input): (usize, &String)| counted(tool, input, count(at), at);
        asked.iter().enumerate().map(call).collect()
    };
    let nought = |_| 0;
    let questions = asked.map(str::to_owned);
    check(&runs("search_docs", &questions, &nought), &["stagnation"]);
    check(&runs("search_docs", &questions[..3], &nought), &[]);
    check(&runs("search_docs", &questions, &|at| at / 3), &[]);
    let faults = [
        "total < 0",
        "customer IS NULL",
        "shipped < ordered",
        "currency = ''",
        "discount > total",
        "lines = 0",
    ];
    let queries = faults.map(|fault| format!("SELECT COUNT(*) FROM orders WHERE {fault}"));
    check(&runs("run_sql", &queries, &nought), &[]);
    let files = ["a", "b", "c", "d", "e", "f"]
        .map(|file| format!("count TODO in src/parser/{file}_module.rs"));
    check(&runs("count_matches", &files, &nought), &[]);
}

/// Given the same long answer to each of ten questions, one after the other, as where the number of a page is ignored, what is
/// asked makes no difference; fewer are things that are alike, short ones tell that all is well, and another one in between counts.
#[test]
fn answers_that_are_the_same_whatever_is_asked() {
    let page = json!({"request_id": "none", "items": (0..40).map(|i| format!("used bicycle number {i}")).collect::<Vec<_>>()});
    let pages = |count: usize, answer: &dyn Fn(usize) -> String| -> Vec<Value> {
        let asked =
            (1..=count).map(|page| (page, format!("https://bikes.example/items?page={page}")));
        asked
            .map(|(page, url)| {
                json!({"kind": "tool_call", "tool": "fetch", "input": {"url": url}, "output": answer(page)})
            })
            .collect()
    };
    check(&pages(10, &|_| page.to_string()), &["stagnation"]);
    check(&pages(9, &|_| page.to_string()), &[]);
    check(&pages(20, &|_| "all is well, ".repeat(20)), &[]);
    let with_one_more =
        |page: usize, of: &Value| format!("{of} {}", ["", "and one more"][page / 6 % 2]);
    check(&pages(11, &|nth| with_one_more(nth, &page)), &[]);
}

/// Given the same passages for each query in other words, they are no news for fitting each of them otherwise.
#[test]
fn passages_are_the_same_whatever_they_score() {
    let queries = [
        "notice period maintenance contract",
        "how long is the notice period of a maintenance contract?",
        "maintenance contract: which notice period",
        "notice period for maintenance contracts",
        "contract maintenance notice period length",
        "period of notice, maintenance contract",
    ];
    let passage =
        |i: usize| format!("Paragraph {i} of the terms says what holds between both sides");
    let hits = |query: usize| -> Value {
        (0..4)
            .map(|i| json!({"source": "terms.pdf", "page": i, "text": passage(i), "score": 0.5 + ((query * 37 + i * 11) % 40) as f64 / 100.1}))
            .collect()
    };
    let asked = |answer: &dyn Fn(usize) -> Value| -> Vec<Value> {
        let asked = queries.iter().enumerate();
        asked
            .map(|(i, query)| {
                json!({"kind": "tool_call", "tool": "search", "input": {"q": query}, "output": answer(i).to_string()})
            })
            .collect()
    };
    let warned = checked("", &asked(&hits));
    assert_ne!(warned["runs"][0]["warnings"], json!([]), "{warned:#}");
}

/// Given queries in other words whose hits are dealt from the same few, with one new one now and then, they find nothing new; other
/// questions may find the same, and lists that shrink, or change for the same question, tell something.
#[test]
fn hits_that_were_listed_before() {
    let hit = |n: usize| json!({"title": format!("How the mill number {n} was built"), "url": format!("https://mills.example/{n}")});
    let hits = |call: usize| -> Vec<Value> {
        let known = (0..9).filter(|n| !(n + call).is_multiple_of(3)).map(hit);
        known.chain([hit(100 + call)]).collect()
    };
    let queries = [
        "cost of a mill wheel",
        "mill wheel cost",
        "what does a mill wheel cost",
        "cost mill wheel report",
        "mill wheel: its cost",
        "wheel of a mill, cost",
        "cost of mill wheels statistics",
    ];
    let asked = |queries: &[String], hits: &dyn Fn(usize) -> Vec<Value>| -> Vec<Value> {
        let asked = queries.iter().enumerate();
        asked
            .map(|(at, query)| {
                made(
                    "web_search",
                    &json!({"query": query}),
                    &json!({"results": hits(at)}),
                )
            })
            .collect()
    };
    let queries = queries.map(str::to_owned);
    assert!(is_warned_of(&asked(&queries, &hits)));
    let new = |call: usize| (0..9).map(|n| hit(n + call * 5)).collect();
    check(&asked(&queries, &new), &[]);
    let others = ["oak", "lime", "stone", "straw", "iron", "glass", "brick"];
    let others = others.map(|what| format!("where to buy {what} in Wakefield"));
    check(&asked(&others, &hits), &[]);
    let open = |left: usize| {
        made(
            "list_tickets",
            &json!({"state": "open"}),
            &json!((0..left).map(hit).collect::<Vec<_>>()),
        )
    };
    let tickets: Vec<_> = (3..12).rev().map(open).collect();
    check(&tickets, &[]);
    let page = |page: usize| {
        made(
            "fetch_page",
            &json!({"page": page}),
            &json!({"items": (0..6).map(hit).collect::<Vec<_>>()}),
        )
    };
    let pages: Vec<_> = (1..6).map(page).collect();
    assert!(is_warned_of(&pages));
    check(&pages[..3], &[]);
    let ship = |ship: usize| {
        made(
            "fetch_crew",
            &json!({"ship": ship}),
            &json!({"items": (0..6).map(hit).collect::<Vec<_>>()}),
        )
    };
    let ships: Vec<_> = (1..11).map(ship).collect();
    assert!(is_warned_of(&ships));
    check(&ships[..9], &[]);
}

/// Given a question that finds nothing, and something that its tool finds in between, it is counted anew; with nothing in between
/// the third time is a dead end.
#[test]
fn blanks_between_finds() {
    let blank = || {
        made(
            "search",
            &json!({"query": "tides of the harbour"}),
            &json!([]),
        )
    };
    let other = made(
        "search",
        &json!({"query": "mills"}),
        &json!(["a mill at the lock", "a mill at the quay"]),
    );
    let row = vec![blank(); 3];
    assert!(is_warned_of(&row));
    check(&[blank(), blank(), other, blank(), blank()], &[]);
}

/// Given three questions in other words about one thing, each of which had an answer of its own, asking all of them once more is a
/// standstill: nobody has forgotten an answer who asks for it in three ways.
#[test]
fn questions_that_are_asked_once_more() {
    let asked = ["harbour tides", "tides harbour", "tides of harbour"];
    let ask = |(words, of): (&&str, &str)| {
        let answer = format!("What the book says of the {of}, from the first page to the last.");
        made("search", &json!({"query": words}), &json!(answer))
    };
    let once = asked.iter().zip(["quay", "mill", "lock"]).map(ask);
    let once: Vec<_> = once.collect();
    check(&once, &[]);
    check(&[&once[..], &once[..]].concat(), &["no_progress"]);
}

/// Given addresses of many sites behind which a page stands that lets no machine in, with another number each time, all of them
/// fail in one way; pages that are about such pages are read. Where others are read before, some may be closed, and eight are not.
#[test]
fn pages_before_those_that_were_asked_for() {
    let opens = |(at, page): (usize, String)| {
        let url = format!("https://site-{at}.example/{at}");
        made("fetch", &json!({"url": url}), &json!(page))
    };
    let number = |at: usize| 7_301 * (at + 11);
    let wall = |at: usize| {
        format!(
            "<html><head><title>Access Denied</title></head><body><p>You may not see this page.</p><p>Reference {}</p></body></html>",
            number(at)
        )
    };
    let walls: Vec<_> = (0..9).map(|at| opens((at, wall(at)))).collect();
    assert!(is_warned_of(&walls));
    let about = |at: usize| {
        format!(
            "<html><head><title>Notes, part {}</title></head><h1>On walls</h1><p>Of sites</p><p>Access Denied</p></html>",
            number(at)
        )
    };
    let articles: Vec<_> = (0..9).map(|at| opens((at, about(at)))).collect();
    assert!(!is_warned_of(&articles));
    let after_others = |walls: &[Value]| [&articles[..3], walls].concat();
    assert!(!is_warned_of(&after_others(&walls[..7])));
    assert!(is_warned_of(&after_others(&walls)));
    let of_site = |(at, page): (usize, &str)| {
        let url = json!({"url": format!("https://site.example/{page}")});
        made("fetch", &url, &json!(wall(at)))
    };
    let pages = ["news", "shop", "about", "team", "jobs"];
    let one_site: Vec<_> = pages.into_iter().enumerate().map(of_site).collect();
    assert!(is_warned_of(&after_others(&one_site)));
}

/// Given other addresses that all bring the same page, four may be one article at many sites, and five are not; two questions by
/// turns are no stagnation, whatever they bring; and what is counted of one result is not counted of the next.
#[test]
fn the_same_page_of_other_addresses() {
    let page =
        json!("Verify that you are human by completing the action below, please. ".repeat(6));
    let opens = |at: &str| {
        made(
            "fetch",
            &json!({"url": format!("https://shop.example/{at}")}),
            &page,
        )
    };
    let opened = ["boats", "oars", "sails", "masts", "ropes"].map(opens);
    check(&opened[..4], &[]);
    check(&opened, &["stagnation"]);

    let answer = |of: &str| {
        json!(format!(
            "All that is known of the {of}, in a text that is longer than a mere word."
        ))
    };
    let ask = |words: &&str, of: &str| made("search", &json!({"query": words}), &answer(of));
    let tides = [
        "refund ferry strike",
        "ferry strike refunds",
        "refunds for a strike of the ferry",
        "strike ferry compensation",
    ];
    let ponds = [
        "depth of the mill pond",
        "mill pond depth",
        "pond depth mill how",
        "the mill pond: depth",
    ];
    let by_turns: Vec<_> = (0..6).map(|at| ask(&tides[at % 2], "ferry")).collect();
    check(&by_turns, &["tool_cycle"]);
    let both = tides
        .iter()
        .map(|words| ask(words, "ferry"))
        .chain(ponds.iter().map(|words| ask(words, "pond")));
    let answer = checked("", &both.collect::<Vec<_>>());
    let warnings = answer["runs"][0]["warnings"].as_array().expect("warnings");
    let counts = warnings
        .iter()
        .filter(|warning| warning["rule"] == "stagnation")
        .map(|warning| &warning["count"]);
    assert_eq!(counts.collect::<Vec<_>>(), [&json!(4)], "{answer:#}");
}

/// Given a batch of which every third item fails in the same way, what went well with other items in between is no standstill;
/// where nothing else goes well, or only what was done before, it is.
#[test]
fn batches_of_which_some_items_fail() {
    let notify = |item: usize| {
        let customer =
            json!({"customer": format!("C-{}", 1_000 + item * 7), "template": "reminder"});
        let mut event = made("notify_customer", &customer, &json!({"sent": true}));
        if item % 3 == 1 {
            event["output"] = json!({"error": "Customer has opted out"});
        }
        event
    };
    check(&(0..21).map(notify).collect::<Vec<_>>(), &[]);
    let copy = |item: usize| {
        let file = ["gate", "lamp", "tide", "rope", "mast", "keel", "sail"][item % 7];
        let from = format!("/old/{file}{}.conf", ["", "-east", "-west"][item / 7]);
        let printed = match item % 3 {
            1 => format!("cp: cannot stat '{from}': No such file or directory"),
            _ => String::new(),
        };
        let command = json!({"command": format!("cp {from} /new/")});
        made("bash", &command, &json!(printed))
    };
    check(&(0..21).map(copy).collect::<Vec<_>>(), &[]);
    let refused = |item: usize| [notify(3 * item + 1), notify(0)];
    let all: Vec<_> = (0..6).flat_map(refused).collect();
    assert!(is_warned_of(&all));
}

/// Given people who are looked up by name, of whom some are not known, each has an answer of its own, and so where what was found
/// is the same for each; where none is known any more, or none ever was, that is a dead end.
#[test]
fn batches_of_which_some_are_not_there() {
    let names = [
        "ann", "ben", "cleo", "dan", "eve", "finn", "gus", "hal", "ida", "jon", "kim", "leo",
    ];
    let names = names
        .into_iter()
        .chain(["mia", "ned", "ora", "pam", "rob", "sue", "tom", "uta"]);
    let missing = json!({"error": "not_found", "message": "There is no contact of this name."});
    let looked_up = |is_known: &dyn Fn(usize) -> bool| {
        let look = |(at, name): (usize, &str)| {
            let found = json!({"name": name, "desk": 40 + 7 * at});
            let answer = if is_known(at) { &found } else { &missing };
            made("lookup_contact", &json!({"name": name}), answer)
        };
        names.clone().enumerate().map(look).collect::<Vec<_>>()
    };
    check(&looked_up(&|at| at % 6 == 1), &[]);
    let rules = ["no_progress", "same_error"];
    check(&looked_up(&|at| at == 1 || at == 3), &rules);
    check(&looked_up(&|_| false)[..5], &rules);
    let offers = |at: usize| {
        let offers = if at.is_multiple_of(4) {
            json!([{"bank": "mill"}])
        } else {
            json!([])
        };
        made(
            "find_offers",
            &json!({"sum": 90 * at + 40}),
            &json!({"offers": offers}),
        )
    };
    check(&(0..12).map(offers).collect::<Vec<_>>(), &[]);
}

/// Given pages and files in which no fault is found, an empty list of faults is what was hoped for; asked of the same again and
/// again, it is a loop.
#[test]
fn no_fault_in_one_thing_after_the_other() {
    let scan = |page: usize| {
        let url = json!({"url": format!("https://s.example/page/{page}")});
        made("run_axe", &url, &json!({"violations": []}))
    };
    check(&(0..12).map(scan).collect::<Vec<_>>(), &[]);
    assert!(is_warned_of(&[0; 12].map(scan)));
    let lint = |file: usize| {
        let path = json!({"path": format!("src/module_{file:02}.py")});
        made("lint_file", &path, &json!([]))
    };
    check(&(0..14).map(lint).collect::<Vec<_>>(), &[]);
    assert!(is_warned_of(&[0; 12].map(lint)));
}

/// Given texts that have hardly a word in common and are handed over to be judged, the same verdict on all of them is no loop; a
/// question in other words to a tool that searches is one, whatever its argument is called.
#[test]
fn texts_that_are_judged() {
    let texts = [
        "Great product, would buy again!",
        "How do I reset the filter light?",
        "My parcel arrived two days late but fine otherwise.",
        "Thanks a lot, that solved it for me.",
        "Loving the new colours in the spring range.",
        "The instructions are only in German, sadly.",
    ];
    let verdict = json!({"category": "feedback", "priority": "normal", "language": "en", "sentiment": "neutral"});
    let all = |tool: &str, name: &str| -> Vec<Value> {
        let judged = texts
            .iter()
            .map(|text| made(tool, &json!({name: text}), &verdict));
        judged.collect()
    };
    for name in ["text", "document", "message"] {
        check(&all("classify", name), &[]);
    }
    assert!(is_warned_of(&all("search_handbook", "text")));
    assert!(is_warned_of(&all("classify", "query")));
}

/// Given a command that is done without a word after each edit, it is no search that finds nothing, in whatever words its tool says
/// so.
#[test]
fn commands_that_print_nothing() {
    let round = |number: u32, said: &str| {
        [
            made(
                "edit_file",
                &json!({"path": "a.ts", "text": format!("let a = {number};")}),
                &json!("The file was changed."),
            ),
            made(
                "Bash",
                &json!({"command": "npx tsc --noEmit"}),
                &json!(said),
            ),
        ]
    };
    for said in [
        "(no output)",
        "(no content)",
        "(Bash completed with no output)",
        "Command completed with no output.",
    ] {
        let rounds: Vec<_> = (0..7).flat_map(|number| round(number, said)).collect();
        check(&rounds, &[]);
    }
}
