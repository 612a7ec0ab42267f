//! Agents at their stations: branches, shops, clusters, desks with an inbox, telephones, sheets, arms and teams; loops, and work
//! that looks like them. Written before it was measured what is found of them.

use serde_json::{Value, json};

use super::benches::shell;
use super::lookalikes::Work;
use super::loops::Loop;
use super::made::Made;

pub(super) const LOOPS: &[Loop] = &[
    ("one shell: one commit conflicts again", 5, conflicts_again),
    (
        "browser: are you a robot, at every address",
        6,
        are_you_a_robot,
    ),
    ("research: one article at many addresses", 6, same_article),
    (
        "pipeline: filled again, nothing written",
        6,
        nothing_written,
    ),
    ("cluster: a pod that dies under each name", 6, pod_dies),
    ("support: the article that did not help", 6, did_not_help),
    (
        "team: planned anew, the first step fails",
        6,
        first_step_fails,
    ),
    ("telephone: back in the main menu", 6, main_menu),
    ("sheet: filtered and shown again", 6, filtered_again),
    ("arm: the part slips", 8, part_slips),
];

pub(super) const WORK: &[Work] = &[
    (
        "one shell: twelve commits, one file conflicts",
        twelve_commits,
    ),
    ("browser: one product in fifteen shops", fifteen_shops),
    ("research: papers screened by one question", papers_screened),
    ("pipeline: filled day by day", day_by_day),
    ("cluster: node after node is started anew", node_by_node),
    ("support: passwords set anew for a queue", passwords_set),
    ("team: planned anew, other steps fail", other_steps_fail),
    ("telephone: an order that is corrected", order_corrected),
    (
        "sheet: payments matched, some are missing",
        payments_matched,
    ),
    ("arm: parts moved, some slip", parts_moved),
];

const ROUNDS: usize = 10;

/// A branch is put on top of another one; the same file conflicts, is edited, and conflicts when it goes on.
fn conflicts_again(made: &mut Made) {
    made.begin(8);
    let (style, file, branch) = (made.below(4), made.file(), made.word());
    let (commit, title) = (made.hex()[..7].to_owned(), made.words(4));
    let conflict = format!(
        "Auto-merging {file}\nCONFLICT (content): Merge conflict in {file}\nerror: could not apply {commit}... {title}\nhint: Resolve all conflicts manually, mark them as resolved with\nhint: \"git add/rm <conflicted_files>\", then run \"git rebase --continue\".\nCould not apply {commit}... {title}"
    );
    for _ in 0..ROUNDS {
        shell(
            made,
            style,
            &format!("git rebase origin/{branch}"),
            1,
            &conflict,
        );
        let (from, wrong) = (made.between(2, 80), made.word());
        let edit = format!(
            "sed -i '{from},{}d' {file} && sed -i 's/{wrong}//' {file}",
            from + made.between(1, 4)
        );
        shell(made, style, &edit, 0, "");
        shell(
            made,
            style,
            &format!("git add {file} && GIT_EDITOR=true git rebase --continue"),
            1,
            &format!(
                "{file}: needs merge\nYou must edit all merge conflicts and then\nmark them as resolved using git add"
            ),
        );
        shell(made, style, "git rebase --abort", 0, "");
        made.again();
    }
}

/// Whatever address is opened, a page stands before it that asks whether a person looks.
fn are_you_a_robot(made: &mut Made) {
    made.begin(8);
    let (shop, style) = (made.word(), made.below(3));
    for round in 0..ROUNDS {
        let path = match round % 5 {
            0 => String::new(),
            1 => format!("search?q={}", made.word()),
            2 => format!("products/{}", made.between(100, 999)),
            3 => format!("{}/{}", made.word(), made.word()),
            _ => format!("?ref={}", made.word()),
        };
        let (url, ray) = (
            format!("https://www.{shop}.example/{path}"),
            made.hex()[..16].to_owned(),
        );
        match style {
            0 => made.call(
                "browser_navigate",
                json!({"url": url}),
                format!("- Page URL: {url}\n- Page Title: Just a moment...\n- Page Snapshot:\n```yaml\n- heading \"{shop}.example\" [level=1] [ref=e4]\n- heading \"Verifying you are human. This may take a few seconds.\" [level=2] [ref=e5]\n- text: \"Ray ID: {ray}\"\n```"),
            ),
            1 => made.call(
                "goto",
                json!({"url": url}),
                json!({"url": url, "title": "Just a moment...", "text": format!("Verifying you are human. This may take a few seconds. {shop}.example needs to review the security of your connection before proceeding. Ray ID: {ray}")}),
            ),
            _ => made.call(
                "fetch_page",
                json!({"url": url, "max_chars": 4_000}),
                format!("# Just a moment...\n\nEnable JavaScript and cookies to continue\n\nRay ID {ray} for {url}"),
            ),
        }
        made.again();
    }
}

/// Hits of a search are opened one by one, and all of them are the same report of an agency.
fn same_article(made: &mut Made) {
    made.begin(8);
    let about = made.words(3);
    let body = (0..6)
        .map(|_| made.words(14))
        .collect::<Vec<_>>()
        .join(".\n");
    for round in 0..ROUNDS {
        if round % 3 == 0 {
            let hits: Vec<_> = (0..3)
                .map(|_| json!({"title": about, "url": format!("https://{}.example/{}", made.word(), made.between(1_000, 9_999))}))
                .collect();
            let more = made.word();
            made.call(
                "web_search",
                json!({"query": format!("{about} {more}")}),
                json!({"results": hits}),
            );
        }
        let url = format!(
            "https://{}-{}.example/news/{}",
            made.word(),
            made.word(),
            made.between(10_000, 99_999)
        );
        made.call(
            "open_url",
            json!({"url": url}),
            format!("{about}\n\n{body}\n\nRead at {url}"),
        );
        made.again();
    }
}

fn nothing_written(made: &mut Made) {
    made.begin(8);
    let (table, rows) = (
        format!("{}_{}", made.word(), made.word()),
        made.between(1_000, 90_000),
    );
    let day = made.between(10, 28);
    for round in 0..ROUNDS {
        let id = made.hex()[..12].to_owned();
        let manner = ["append", "overwrite", "merge"][round % 3];
        let took = made.between(20, 200);
        made.call(
            "run_job",
            json!({"job": format!("load_{table}"), "date": format!("2026-10-{day}"), "mode": manner, "batch_size": 500 * (1 + round % 4)}),
            json!({"run_id": id, "state": "success", "seconds": took, "rows_written": 0}),
        );
        made.call(
            "run_query",
            json!({"sql": format!("SELECT count(*) FROM {table} WHERE day = '2026-10-{day}'")}),
            json!([{"count": 0}]),
        );
        if made.chance(50) {
            made.call(
                "run_query",
                json!({"sql": format!("SELECT count(*) FROM staging.{table}")}),
                json!([{"count": rows}]),
            );
        }
        made.again();
    }
}

fn pod_dies(made: &mut Made) {
    made.begin(8);
    let (app, space, style) = (made.word(), made.word(), made.below(4));
    let missing = made.word().to_uppercase();
    let mut signs = |from: &[u8], count: usize| -> String {
        (0..count)
            .map(|_| char::from(from[made.below(from.len())]))
            .collect()
    };
    let by_chance = b"bcdfghjklmnpqrstvwxz2456789";
    let template = signs(b"456789bcdf", 9);
    let ends: Vec<_> = (0..=ROUNDS).map(|_| signs(by_chance, 5)).collect();
    let mut pod = format!("{app}-{template}-{}", ends[0]);
    for end in &ends[1..] {
        shell(
            made,
            style,
            &format!("kubectl -n {space} delete pod {pod}"),
            0,
            &format!("pod \"{pod}\" deleted"),
        );
        pod = format!("{app}-{template}-{end}");
        let (restarts, age) = (made.between(1, 4), made.between(15, 80));
        made.pause(age.min(30));
        shell(
            made,
            style,
            &format!("kubectl -n {space} get pods -l app={app}"),
            0,
            &format!(
                "NAME                     READY   STATUS             RESTARTS      AGE\n{pod}   0/1     CrashLoopBackOff   {restarts} (9s ago)   {age}s"
            ),
        );
        let at = made.time();
        shell(
            made,
            style,
            &format!("kubectl -n {space} logs {pod} --tail=20"),
            0,
            &format!(
                "{at} INFO starting {app}\n{at} FATAL environment variable {missing}_URL is not set\n{at} INFO exiting with status 1"
            ),
        );
        made.again();
    }
}

/// A customer says in ever other words that it did not help, and is sent the same article again.
fn did_not_help(made: &mut Made) {
    made.begin(4);
    let (thing, number) = (made.words(2), made.between(100, 999));
    let article = json!({"id": format!("KB-{number}"), "title": format!("How to connect your {thing}"), "body": made.words(30)});
    let complaints = [
        "That did not help, it still does not connect.",
        "I have already done that. It still doesn't work.",
        "Same as before, it won't connect.",
        "I told you that I tried this.",
    ];
    let replies = [
        format!(
            "I am sorry for the trouble. Please follow the steps in KB-{number} to connect your {thing}."
        ),
        format!(
            "Sorry to hear that. The article KB-{number} explains how to connect your {thing}."
        ),
        format!("I understand. Have you tried the steps of KB-{number} for your {thing}?"),
    ];
    for round in 0..ROUNDS {
        made.pause(20);
        made.add(json!({"kind": "user_message", "agent": "user", "text": complaints[round % 4]}));
        let query = match round % 4 {
            0 => format!("{thing} does not connect"),
            1 => format!("connect {thing} not working"),
            2 => format!("{thing} connection problem"),
            _ => format!("cannot connect {thing}"),
        };
        let score = made.between(700, 950) as f64 / 1_000.0;
        made.call(
            "search_knowledge_base",
            json!({"query": query}),
            json!({"articles": [article], "scores": [score]}),
        );
        made.says(&replies[round % 3]);
        made.again();
    }
}

fn first_step_fails(made: &mut Made) {
    made.begin(6);
    let (bucket, about) = (made.words(2).replace(' ', "-"), made.some_words(3));
    let error = format!(
        "AccessDenied: User is not authorized to perform: s3:GetObject on resource: arn:aws:s3:::{bucket}"
    );
    for round in 0..ROUNDS {
        made.as_agent("planner");
        let plan = match round % 3 {
            0 => json!([
                "Download the files",
                format!("Parse the {}", about[0]),
                format!("Report the {}", about[1])
            ]),
            1 => json!([
                format!("Fetch {} from the bucket", about[0]),
                "Load it into a frame",
                format!("Compare the {}", about[1])
            ]),
            _ => json!([
                "Get the data from storage",
                format!("Clean the {}", about[0]),
                format!("Summarise {} and {}", about[1], about[2])
            ]),
        };
        made.call(
            "create_plan",
            json!({"goal": format!("Report on {}", about.join(" ")), "steps": plan}),
            json!({"plan_id": round + 1, "steps": 3}),
        );
        made.as_agent("executor");
        let key = match round % 3 {
            0 => format!("{}.csv", about[0]),
            1 => format!("raw/{}.csv", about[0]),
            _ => format!("2026/{}.csv.gz", about[0]),
        };
        made.fails("download", json!({"bucket": bucket, "key": key}), &error);
        made.as_agent("replanner");
        let why = match round % 3 {
            0 => "The first step failed: access was denied. Let us make a new plan.",
            1 => "Access to the bucket is denied, so another plan is needed.",
            _ => "We could not download the file. A new plan should work around this.",
        };
        made.says(why);
        made.again();
    }
}

/// A telephone's menu: whichever key is pressed, it comes back to its start.
fn main_menu(made: &mut Made) {
    made.begin(4);
    let firm = made.word();
    let top = format!(
        "Welcome to {firm}. For sales, press 1. For service, press 2. For opening hours, press 3. To hear this again, press 9."
    );
    let menus = [
        format!("Our sales team is busy. To return to the main menu of {firm}, press 0."),
        "For service, please have your customer number ready. To return to the main menu, press 0."
            .to_owned(),
        "We are open from Monday to Friday, nine to five. To return to the main menu, press 0."
            .to_owned(),
    ];
    let call = made.hex();
    for _ in 0..ROUNDS {
        let key = made.below(3);
        for (digits, heard) in [((key + 1).to_string(), &menus[key]), ("0".to_owned(), &top)] {
            let seconds = made.between(40, 120) as f64 / 10.0;
            made.call(
                "send_dtmf",
                json!({"call_id": call, "digits": digits}),
                json!({"transcript": heard, "seconds": seconds}),
            );
        }
        made.again();
    }
}

fn filtered_again(made: &mut Made) {
    made.begin(8);
    let (sheet, column) = (made.word(), made.word());
    let row = |made: &mut Made| json!([made.word(), made.between(1, 900), made.word()]);
    let all: Vec<Value> = (0..8).map(|_| row(made)).collect();
    let some = all[..3].to_vec();
    let sorts = made.chance(50);
    for round in 0..ROUNDS {
        made.call(
            "set_filter",
            json!({"sheet": sheet, "column": column, "condition": "not_empty"}),
            json!({"status": "applied", "hidden_rows": 5}),
        );
        made.call(
            "read_range",
            json!({"sheet": sheet, "range": "A1:C9"}),
            json!({"rows": some}),
        );
        if sorts {
            let order = ["asc", "desc"][round % 2];
            made.call(
                "sort_range",
                json!({"sheet": sheet, "column": column, "order": order}),
                json!({"status": "sorted"}),
            );
        }
        made.call(
            "clear_filter",
            json!({"sheet": sheet}),
            json!({"status": "cleared"}),
        );
        made.call(
            "read_range",
            json!({"sheet": sheet, "range": "A1:C9"}),
            json!({"rows": all}),
        );
        made.again();
    }
}

/// An arm reaches for a part, at places some millimetres from each other, and never holds it.
fn part_slips(made: &mut Made) {
    made.begin(4);
    let (part, x, y) = (made.word(), made.between(200, 500), made.between(100, 300));
    for _ in 0..ROUNDS {
        let at = json!({"x": x + made.below(5), "y": y + made.below(5), "z": 12 + made.below(3)});
        let error = made.between(1, 9) as f64 / 10.0;
        made.call(
            "move_to",
            at.clone(),
            json!({"reached": true, "error_mm": error}),
        );
        let force = made.between(2, 30) as f64 / 10.0;
        made.call(
            "close_gripper",
            json!({"width_mm": 18}),
            json!({"closed": true, "force_n": force}),
        );
        made.call(
            "lift",
            json!({"height_mm": 80}),
            json!({"object_held": false, "object": part}),
        );
        made.call("open_gripper", json!({}), json!({"open": true}));
        made.again();
    }
}

fn twelve_commits(made: &mut Made) {
    made.begin(4);
    let (style, file, branch) = (made.below(4), made.file(), made.word());
    let conflict = |made: &mut Made, number: usize| {
        let (commit, title) = (made.hex()[..7].to_owned(), made.words(4));
        format!(
            "Rebasing ({number}/12)\nAuto-merging {file}\nCONFLICT (content): Merge conflict in {file}\nerror: could not apply {commit}... {title}\nhint: Resolve all conflicts manually, mark them as resolved with\nhint: \"git add/rm <conflicted_files>\", then run \"git rebase --continue\".\nCould not apply {commit}... {title}"
        )
    };
    let mut number = made.between(1, 2);
    let printed = conflict(made, number);
    shell(
        made,
        style,
        &format!("git rebase origin/{branch}"),
        1,
        &printed,
    );
    while number < 12 {
        let (ours, theirs, at) = (made.words(3), made.words(3), made.between(10, 300));
        shell(
            made,
            style,
            "git diff",
            0,
            &format!(
                "diff --cc {file}\n@@@ -{at},6 -{at},6 +{at},11 @@@\n++<<<<<<< HEAD\n +{ours}\n++=======\n+ {theirs}\n++>>>>>>> theirs"
            ),
        );
        shell(
            made,
            style,
            &format!("sed -i '/<<<<<<< /d;/=======/,/>>>>>>> /d' {file}"),
            0,
            "",
        );
        number += made.between(1, 2);
        let goes_on = "git add -A && GIT_EDITOR=true git rebase --continue";
        if number < 12 {
            let printed = conflict(made, number);
            shell(made, style, goes_on, 1, &printed);
        } else {
            shell(
                made,
                style,
                goes_on,
                0,
                &format!("Successfully rebased and updated refs/heads/{branch}."),
            );
        }
    }
}

fn fifteen_shops(made: &mut Made) {
    made.begin(4);
    let product = made.words(2);
    for _ in 0..15 {
        let shop = format!("{}-{}", made.word(), made.word());
        let url = format!(
            "https://{shop}.example/search?q={}",
            product.replace(' ', "+")
        );
        made.call(
            "browser_navigate",
            json!({"url": url}),
            format!("- Page URL: {url}\n- Page Title: Search\n- Page Snapshot:\n```yaml\n- button \"Accept all cookies\" [ref=e3]\n- heading \"Search\" [level=1] [ref=e5]\n```"),
        );
        made.call(
            "browser_click",
            json!({"element": "Accept all cookies", "ref": "e3"}),
            format!("- Page URL: {url}\n- Page Title: Search"),
        );
        let text = match made.below(4) {
            0 => "0 results".to_owned(),
            1 => format!("{product} - out of stock"),
            _ => format!("{product} - {}.99 EUR - in stock", made.between(10, 400)),
        };
        made.call(
            "browser_extract",
            json!({"goal": format!("price of {product}")}),
            json!({"text": text}),
        );
    }
}

fn papers_screened(made: &mut Made) {
    made.begin(4);
    let question = "Does the study randomise adults? Answer with include or exclude.";
    let reasons = [
        "wrong population",
        "no control group",
        "not randomised",
        "a protocol only",
    ];
    for _ in 0..made.between(25, 40) {
        let id = format!("PMC{}", made.between(1_000_000, 9_999_999));
        if made.chance(40) {
            let (title, text) = (made.words(8), made.words(40));
            made.call(
                "get_abstract",
                json!({"id": id}),
                json!({"id": id, "title": title, "abstract": text}),
            );
        }
        let answer = if made.chance(15) {
            json!({"decision": "include"})
        } else {
            json!({"decision": "exclude", "reason": made.pick(&reasons)})
        };
        made.call(
            "screen_paper",
            json!({"id": id, "question": question}),
            answer,
        );
    }
}

fn day_by_day(made: &mut Made) {
    made.begin(4);
    let table = format!("{}_{}", made.word(), made.word());
    let checks = made.chance(50);
    for day in 1..=28 {
        let rows = if day % 7 < 2 || made.chance(20) {
            0
        } else {
            made.between(10, 9_000)
        };
        let (id, took) = (made.hex()[..12].to_owned(), made.between(3, 90));
        made.call(
            "run_job",
            json!({"job": format!("load_{table}"), "date": format!("2026-10-{day:02}"), "mode": "append"}),
            json!({"run_id": id, "state": "success", "seconds": took, "rows_written": rows}),
        );
        if checks {
            made.call(
                "run_query",
                json!({"sql": format!("SELECT count(*) FROM {table} WHERE day = '2026-10-{day:02}'")}),
                json!([{"count": rows}]),
            );
        }
    }
}

fn node_by_node(made: &mut Made) {
    made.begin(4);
    let (style, zone) = (made.below(4), made.word());
    for number in 1..=made.between(9, 14) {
        let node = format!("{zone}-worker-{number:02}");
        shell(
            made,
            style,
            &format!("kubectl drain {node} --ignore-daemonsets --delete-emptydir-data"),
            0,
            &format!("node/{node} cordoned\nnode/{node} drained"),
        );
        shell(
            made,
            style,
            &format!("ssh {node} sudo reboot"),
            255,
            &format!("Connection to {node} closed by remote host."),
        );
        for look in 0..made.between(1, 3) {
            made.pause(40);
            let state = if look == 0 {
                "NotReady,SchedulingDisabled"
            } else {
                "Ready,SchedulingDisabled"
            };
            shell(
                made,
                style,
                &format!("kubectl get node {node} --no-headers"),
                0,
                &format!("{node}   {state}   <none>   41d   v1.31.2"),
            );
        }
        shell(
            made,
            style,
            &format!("kubectl uncordon {node}"),
            0,
            &format!("node/{node} uncordoned"),
        );
    }
}

fn passwords_set(made: &mut Made) {
    made.begin(4);
    for _ in 0..made.between(10, 16) {
        let (ticket, name) = (
            made.between(10_000, 99_999),
            format!("{}.{}", made.word(), made.word()),
        );
        made.call(
            "next_ticket",
            json!({"queue": "passwords"}),
            json!({"id": ticket, "from": format!("{name}@firm.example"), "subject": "Password"}),
        );
        made.call(
            "verify_identity",
            json!({"user": name}),
            json!({"verified": true}),
        );
        made.call(
            "reset_password",
            json!({"user": name, "notify": true}),
            json!({"status": "reset", "sent": true}),
        );
        made.call(
            "reply",
            json!({"ticket": ticket, "body": "We have sent you a link by which you can choose a new password."}),
            json!({"status": "sent"}),
        );
        made.call(
            "close_ticket",
            json!({"id": ticket}),
            json!({"status": "closed"}),
        );
    }
    made.call("next_ticket", json!({"queue": "passwords"}), json!(null));
}

/// Each plan gets one step further than the one before, until nothing fails.
fn other_steps_fail(made: &mut Made) {
    made.begin(4);
    let about = made.words(3);
    let steps: Vec<_> = (0..6).map(|_| (made.word(), made.words(3))).collect();
    let errors = [
        "PermissionError: the file may not be written",
        "ValueError: could not convert string to float",
        "KeyError: the column is missing",
        "the request timed out",
        "SchemaError: expected 4 columns, found 5",
    ];
    for last in 0..6 {
        made.as_agent("planner");
        let names: Vec<_> = steps
            .iter()
            .map(|(verb, what)| format!("{verb} {what}"))
            .collect();
        made.call(
            "create_plan",
            json!({"goal": format!("Report on {about}"), "steps": &names[last..]}),
            json!({"plan_id": last + 1, "steps": 6 - last}),
        );
        made.as_agent("executor");
        for (place, (verb, what)) in steps
            .iter()
            .enumerate()
            .take(last + 1)
            .skip(last.saturating_sub(1))
        {
            let input = json!({"step": verb, "what": what});
            if place == last && last < 5 {
                made.fails("run_step", input, errors[last]);
            } else {
                made.call("run_step", input, json!({"status": "done"}));
            }
        }
        if last < 5 {
            made.as_agent("replanner");
            made.says(&format!(
                "The step {} failed: {}. The plan is changed.",
                names[last], errors[last]
            ));
        }
    }
}

/// A caller orders, and changes items and numbers; what is said on the telephone is not recorded.
fn order_corrected(made: &mut Made) {
    made.begin(2);
    let order = made.between(100, 999);
    let mut items: Vec<(&str, usize)> = Vec::new();
    for turn in 0..made.between(10, 14) {
        made.user();
        if turn < 3 || made.chance(40) {
            items.push((made.word(), made.between(1, 4)));
        } else {
            let place = made.below(items.len());
            items[place].1 = items[place].1 % 5 + 1;
        }
        let lines: Vec<_> = items
            .iter()
            .map(|(name, count)| json!({"item": name, "count": count}))
            .collect();
        made.call(
            "update_order",
            json!({"order": order, "items": lines}),
            json!({"ok": true}),
        );
        if made.chance(40) {
            made.call(
                "check_stock",
                json!({"order": order}),
                json!({"available": true}),
            );
        }
        made.says("I have changed that. Is there anything else?");
    }
    made.call(
        "place_order",
        json!({"order": order}),
        json!({"ok": true, "eta_minutes": 35}),
    );
}

fn payments_matched(made: &mut Made) {
    made.begin(4);
    for row in 2..made.between(25, 40) {
        let (number, cents) = (made.between(10_000, 99_999), made.between(100, 99_999));
        let is_known = made.chance(65);
        let amount = cents as f64 / 100.0;
        if is_known {
            let customer = made.word();
            made.call(
                "find_invoice",
                json!({"number": number}),
                json!({"number": number, "amount": amount, "customer": customer}),
            );
        } else {
            made.call(
                "find_invoice",
                json!({"number": number}),
                json!({"error": null, "invoice": null}),
            );
            if made.chance(50) {
                made.call(
                    "find_invoice_by_amount",
                    json!({"amount": amount}),
                    json!([]),
                );
            }
        }
        let mark = if is_known { "matched" } else { "missing" };
        made.call(
            "set_cell",
            json!({"sheet": "Payments", "cell": format!("F{row}"), "value": mark}),
            json!({"updated": 1}),
        );
    }
}

fn parts_moved(made: &mut Made) {
    made.begin(4);
    for number in 0..made.between(14, 20) {
        let from = json!({"x": 100 + 40 * (number % 5), "y": 80 + 40 * (number / 5), "z": 12});
        loop {
            made.call("move_to", from.clone(), json!({"reached": true}));
            made.call(
                "close_gripper",
                json!({"width_mm": 18}),
                json!({"closed": true}),
            );
            let slips = made.chance(15);
            made.call(
                "lift",
                json!({"height_mm": 80}),
                json!({"object_held": !slips}),
            );
            if !slips {
                break;
            }
            made.call("open_gripper", json!({}), json!({"open": true}));
        }
        let to = json!({"x": 400 + 30 * (number % 4), "y": 60 + 30 * (number / 4), "z": 20});
        made.call("move_to", to, json!({"reached": true}));
        made.call("open_gripper", json!({}), json!({"open": true}));
    }
}
