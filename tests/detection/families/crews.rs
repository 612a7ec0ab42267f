//! Agents among others, and in offices: crews that delegate, supervisors, polite pairs, customers' service with its questions
//! back, clusters and pipelines that are watched, mail, tickets, pictures, games; loops, and work that looks like them. Written
//! before it was measured what is found of them.

use serde_json::json;

use super::lookalikes::Work;
use super::loops::Loop;
use super::made::Made;

pub(super) const LOOPS: &[Loop] = &[
    ("crew: work delegated to and fro", 6, delegated_to_and_fro),
    ("supervisor: sent and sent back", 6, sent_back),
    ("pair: thanks for thanks", 6, thanks),
    ("orchestrator: the plan once more", 6, plan_once_more),
    ("service: asks for a yes that was given", 6, asks_for_yes),
    ("cluster: applied and not rolled out", 6, not_rolled_out),
    ("pipeline: pushed, the same job fails", 6, same_job_fails),
    ("mail: the same three mails", 6, same_three_mails),
    ("pictures: refused whatever the seed", 6, picture_refused),
    ("job: failed, and asked for again", 6, failed_job_asked),
    ("job: asked for without a pause", 9, job_hammered),
    ("network: broken each time", 9, network_broken),
    ("tickets: a field is missing", 6, field_missing),
    ("chat channel: posts nobody answers", 8, posts_unanswered),
    ("adventure: the door stays shut", 6, door_shut),
    (
        "customers: looked up in other spellings",
        6,
        customer_spellings,
    ),
    ("form: refused for another reason's words", 6, form_refused),
];

pub(super) const WORK: &[Work] = &[
    ("crew: parts delegated", parts_delegated),
    ("supervisor: research, text, research", research_and_text),
    ("pair: coder and reviewer", coder_and_reviewer),
    ("orchestrator: one question for ten towns", ten_towns),
    ("service: reservations one by one", reservations),
    ("cluster: a roll-out that gets on", roll_out),
    ("pipeline: checks that come in", checks_come_in),
    ("mail: a hundred mails", hundred_mails),
    ("pictures: variants by seed", picture_variants),
    ("job: no per cent, now and then", job_without_percent),
    ("network: breaks and heals", network_heals),
    ("tickets: moved one by one", tickets_moved),
    ("audit: nobody has too many rights", audit_clean),
    ("smoke test of many addresses", smoke_test),
    ("receipts for many orders", receipts),
    ("queue: batches and lulls", queue),
    ("adventure: rooms explored", rooms),
    ("a person is asked for each", person_asked),
    ("calendar: a free hour is looked for", calendar),
    ("swarm of writers, one outline", outline),
];

const ROUNDS: usize = 10;

fn handoff(made: &mut Made, from: &str, to: &'static str, errand: &str) {
    made.add(json!({"kind": "handoff", "from_agent": from, "to_agent": to, "input": errand}));
    made.as_agent(to);
}

fn delegate(made: &mut Made, from: &'static str, to: &str, task: &str, answer: &str) {
    made.as_agent(from);
    made.call(
        "Delegate work to coworker",
        json!({"task": task, "context": "The report is due today.", "coworker": to}),
        answer,
    );
}

fn delegated_to_and_fro(made: &mut Made) {
    made.begin(8);
    let about = made.words(4);
    for round in 0..ROUNDS {
        let way = ["Write", "Please write", "Compose", "Draft"][round % 4];
        delegate(
            made,
            "Writer",
            "Researcher",
            &format!("{way} down the figures on {about} for the report"),
            &format!(
                "To write down the figures on {about} I need the outline from the Writer first."
            ),
        );
        delegate(
            made,
            "Researcher",
            "Writer",
            &format!("{way} the outline on {about} for the report"),
            &format!(
                "I cannot write the outline on {about} without the figures of the Researcher."
            ),
        );
        made.again();
    }
}

fn sent_back(made: &mut Made) {
    made.begin(8);
    let about = made.words(3);
    for _ in 0..ROUNDS {
        made.as_agent("supervisor");
        made.call(
            "transfer_to_math_expert",
            json!({}),
            "Successfully transferred to math_expert",
        );
        handoff(
            made,
            "supervisor",
            "math_expert",
            &format!("Tell the sales of {about}"),
        );
        made.says(&format!(
            "I can only do sums. I have no tool to look up {about}."
        ));
        made.call(
            "transfer_back_to_supervisor",
            json!({}),
            "Successfully transferred back to supervisor",
        );
        handoff(made, "math_expert", "supervisor", "");
        made.again();
    }
}

fn thanks(made: &mut Made) {
    made.begin(8);
    let said = [
        "You're welcome! If you have any more questions, feel free to ask. Have a great day!",
        "Thank you! I appreciate your help. Have a great day too!",
        "Glad I could help. Take care and have a great day!",
        "Thanks again, take care! Goodbye!",
        "Goodbye! Feel free to reach out any time you need help.",
    ];
    for round in 0..ROUNDS {
        made.as_agent("assistant");
        let place = made.below(5);
        made.says(said[place]);
        made.as_agent("user_proxy");
        made.says(said[(place + round) % 5]);
        made.again();
    }
}

fn plan_once_more(made: &mut Made) {
    made.begin(8);
    let about = made.some_words(4);
    for round in 0..ROUNDS {
        made.as_agent("MagenticOneOrchestrator");
        let reason = made.words(7);
        made.says(&json!({"is_request_satisfied": {"answer": false, "reason": reason}, "is_progress_being_made": {"answer": false}, "next_speaker": {"answer": "FileSurfer"}}).to_string());
        let errand = match round % 3 {
            0 => format!(
                "Please open the attached file about {} and look for the table of {} and {}.",
                about[0], about[1], about[2]
            ),
            1 => format!(
                "Could you open the attached {} file again, and locate the table with {} and {}?",
                about[0], about[1], about[2]
            ),
            _ => format!(
                "Open the file on {}; find its table of {} and {} and read it to us.",
                about[0], about[1], about[2]
            ),
        };
        handoff(made, "MagenticOneOrchestrator", "FileSurfer", &errand);
        made.says(&format!("Address: file:///data/\nViewport position: page 1 of 1.\n=======================\n# Index of /data/\n{} {}", about[3], round % 2));
        handoff(made, "FileSurfer", "MagenticOneOrchestrator", "");
        made.again();
    }
}

fn asks_for_yes(made: &mut Made) {
    made.begin(8);
    let (id, what) = (made.hex(), made.words(3));
    for round in 0..ROUNDS {
        let text = match round % 3 {
            0 => format!(
                "I will change reservation {} to {what}. Do you confirm? (yes/no)",
                &id[..6]
            ),
            1 => format!(
                "To go on I need your confirmation: change reservation {} to {what}. Please answer yes or no.",
                &id[..6]
            ),
            _ => format!(
                "Please confirm that reservation {} is to be changed to {what} (yes/no).",
                &id[..6]
            ),
        };
        made.call("get_reservation_details", json!({"reservation_id": &id[..6]}), json!({"reservation_id": &id[..6], "status": "confirmed", "cabin": "economy", "flights": [what]}));
        made.says(&text);
        made.user();
        made.again();
    }
}

fn not_rolled_out(made: &mut Made) {
    made.begin(8);
    let (name, file) = (made.word(), made.word());
    let mut age = made.between(60, 300);
    for _ in 0..ROUNDS {
        made.sh(
            &format!("kubectl apply -f {file}.yaml"),
            &format!("deployment.apps/{name} unchanged\nservice/{name} unchanged"),
        );
        age += made.between(5, 30);
        made.sh("kubectl get pods", &format!("NAME              READY   STATUS             RESTARTS   AGE\n{name}-7d9f-x2x   0/1     ImagePullBackOff   0          {}m{}s", age / 60, age % 60));
        made.again();
    }
}

fn same_job_fails(made: &mut Made) {
    made.begin(8);
    let (branch, file) = (made.word(), made.file());
    let error = made.words(5);
    let mut run = made.between(900_000_000, 990_000_000);
    for _ in 0..ROUNDS {
        let (message, sha) = (made.words(3), made.hex());
        made.sh(
            &format!("git commit -am '{message}' && git push origin {branch}"),
            &format!("[{branch} {}] {message}\n 1 file changed, 2 insertions(+), 1 deletion(-)\nTo example:app.git\n   {}..{}  {branch} -> {branch}", &sha[..7], &sha[8..15], &sha[16..23]),
        );
        run += made.between(1_000, 9_000);
        made.pause(40);
        let seconds = made.between(20, 59);
        made.sh(
            "gh run view --log-failed",
            &format!("X {branch} CI · {run}\nTriggered via push about 1 minute ago\n\nJOBS\nX build in 1m{seconds}s (ID {})\n  ✓ Set up job\n  ✓ Checkout\n  X Build\n\nbuild\tBuild\terror: {error} ({file})", run * 3),
        );
        made.again();
    }
}

fn same_three_mails(made: &mut Made) {
    made.begin(8);
    let mails: Vec<_> = (0..3)
        .map(|_| (made.hex(), made.words(4), made.words(20)))
        .collect();
    for _ in 0..ROUNDS {
        let list: Vec<_> = mails
            .iter()
            .map(|mail| json!({"id": mail.0, "subject": mail.1, "unread": true}))
            .collect();
        made.call("list_unread", json!({"folder": "INBOX"}), json!(list));
        for mail in &mails {
            made.call(
                "read_mail",
                json!({"id": mail.0}),
                json!({"id": mail.0, "subject": mail.1, "body": mail.2}),
            );
            made.call("mark_as_read", json!({"id": mail.0}), "ok");
        }
        made.again();
    }
}

fn picture_refused(made: &mut Made) {
    made.begin(8);
    let what = made.words(6);
    for _ in 0..ROUNDS {
        let (seed, id) = (made.between(1, 999_999_999), made.hex());
        made.fails(
            "generate_image",
            json!({"prompt": format!("a photo of {what}"), "seed": seed, "size": "1024x1024"}),
            &format!("400 Bad Request: Your request was rejected by our safety system. If you believe this is an error, contact us and include the request ID req_{id}."),
        );
        made.again();
    }
}

fn failed_job_asked(made: &mut Made) {
    made.begin(8);
    let id = made.hex();
    for _ in 0..ROUNDS {
        let at = made.time();
        made.call(
            "get_job",
            json!({"job_id": id}),
            json!({"job_id": id, "status": "failed", "reason": "out of memory", "checked_at": at}),
        );
        made.again();
    }
}

/// A job that never ends, asked for every few seconds; how long it has been at work is told.
fn job_hammered(made: &mut Made) {
    made.begin(8);
    let id = made.hex();
    let mut elapsed = made.between(10, 90);
    for _ in 0..ROUNDS + 4 {
        elapsed += made.between(2, 12);
        made.call("get_job_status", json!({"job_id": id}), json!({"job_id": id, "status": "RUNNING", "stage": "provisioning", "elapsed_seconds": elapsed}));
        made.again();
    }
}

fn network_broken(made: &mut Made) {
    made.begin(8);
    let url = format!("https://{}.example/data.csv", made.word());
    for _ in 0..ROUNDS + 2 {
        let port = made.between(30_000, 60_000);
        made.fails(
            "download",
            json!({"url": url}),
            &format!(
                "ConnectionResetError: [Errno 104] Connection reset by peer (local port {port})"
            ),
        );
        made.again();
    }
}

fn field_missing(made: &mut Made) {
    made.begin(8);
    let (project, summary) = (made.word().to_uppercase(), made.words(5));
    let field = made.between(10_000, 10_900);
    for round in 0..ROUNDS {
        let more = made.words(6);
        let input = match round % 3 {
            0 => json!({"project": project, "summary": summary, "description": more}),
            1 => {
                json!({"fields": {"project": {"key": project}, "summary": summary, "issuetype": {"name": "Task"}}, "description": more})
            }
            _ => {
                json!({"project": project, "summary": summary, "priority": "Medium", "labels": [more]})
            }
        };
        made.fails("jira_create_issue", input, &format!("{{\"errorMessages\":[],\"errors\":{{\"customfield_{field}\":\"Team is required.\"}}}}"));
        made.again();
    }
}

/// A channel in which nobody but the agent speaks: what is read grows by what was posted.
fn posts_unanswered(made: &mut Made) {
    made.begin(8);
    let about = made.words(4);
    let mut posted = Vec::new();
    for round in 0..ROUNDS {
        let text = match round % 3 {
            0 => format!("Could somebody with access please approve the {about} change?"),
            1 => format!(
                "Ping: the {about} change still needs an approval, could somebody please look?"
            ),
            _ => format!("Reminder: please approve the {about} change."),
        };
        let at = made.time();
        made.call(
            "post_message",
            json!({"channel": "#releases", "text": text}),
            json!({"ok": true, "ts": at}),
        );
        posted.push(json!({"user": "bot", "text": text}));
        made.call(
            "read_channel",
            json!({"channel": "#releases", "limit": 50}),
            json!({"messages": posted, "has_more": false}),
        );
        made.again();
    }
}

fn door_shut(made: &mut Made) {
    made.begin(8);
    let room = made.words(12);
    let verbs = ["open door", "push door", "pull door", "open the door"];
    let mut moves = made.between(5, 50);
    for round in 0..ROUNDS {
        for (command, answer) in [
            ("look", room.as_str()),
            (verbs[round % 4], "The door is locked."),
        ] {
            moves += 1;
            made.call(
                "game_command",
                json!({"command": command}),
                format!("{answer}\n\nScore: 10  Moves: {moves}"),
            );
        }
        made.again();
    }
}

fn customer_spellings(made: &mut Made) {
    made.begin(8);
    let (first, last) = (made.word(), made.word());
    for round in 0..ROUNDS {
        let zip = made.between(10_000, 99_999);
        let input = match round % 5 {
            0 => json!({"first_name": first, "last_name": last, "zip": zip.to_string()}),
            1 => json!({"email": format!("{first}.{last}@mail.example")}),
            2 => json!({"first_name": last, "last_name": first, "zip": zip.to_string()}),
            3 => json!({"email": format!("{last}{first}@mail.example")}),
            _ => json!({"phone": format!("+1-555-{}", zip % 10_000)}),
        };
        made.fails("find_user", input, "Error: user not found");
        made.again();
    }
}

fn form_refused(made: &mut Made) {
    made.begin(8);
    let name = made.words(2);
    for round in 0..ROUNDS {
        let date = format!("{:02}/{:02}/2027", made.between(1, 12), made.between(1, 28));
        made.call(
            "fill_field",
            json!({"field": "name", "value": name}),
            "Filled.",
        );
        made.call(
            "fill_field",
            json!({"field": "date", "value": date}),
            "Filled.",
        );
        let way = [
            "Please check your entries.",
            "Check your entries, please.",
            "Some entries are not valid.",
        ][round % 3];
        made.call("submit_form", json!({}), json!({"success": false, "alert": format!("{way} Field: date"), "url": "https://booking.example/new"}));
        made.again();
    }
}

fn parts_delegated(made: &mut Made) {
    made.begin(8);
    for part in made.some_words(8) {
        let (what, found) = (made.words(4), made.words(25));
        delegate(
            made,
            "Manager",
            "Researcher",
            &format!("Collect what is known of {part}, above all {what}"),
            &found,
        );
        if made.chance(50) {
            let text = made.words(30);
            delegate(
                made,
                "Manager",
                "Writer",
                &format!("Write the section on {part} from the notes"),
                &text,
            );
        }
    }
}

fn research_and_text(made: &mut Made) {
    made.begin(8);
    for _ in 0..6 {
        let (topic, found, text) = (made.words(3), made.words(12), made.words(26));
        made.as_agent("supervisor");
        made.call(
            "transfer_to_researcher",
            json!({}),
            "Successfully transferred to researcher",
        );
        handoff(
            made,
            "supervisor",
            "researcher",
            &format!("Look up {topic}"),
        );
        made.call(
            "web_search",
            json!({"query": topic}),
            json!({"results": [found]}),
        );
        made.call(
            "transfer_back_to_supervisor",
            json!({}),
            "Successfully transferred back to supervisor",
        );
        handoff(made, "researcher", "supervisor", "");
        made.call(
            "transfer_to_writer",
            json!({}),
            "Successfully transferred to writer",
        );
        handoff(made, "supervisor", "writer", &format!("Write on {topic}"));
        made.says(&text);
        made.call(
            "transfer_back_to_supervisor",
            json!({}),
            "Successfully transferred back to supervisor",
        );
        handoff(made, "writer", "supervisor", "");
    }
}

fn coder_and_reviewer(made: &mut Made) {
    made.begin(8);
    let task = made.words(4);
    for round in 1..8 {
        let (code, remark) = (made.words(20), made.words(9));
        made.as_agent("coder");
        made.says(&format!("Here is version {round} of the function for {task}:\n```python\ndef run():\n    {code}\n```\nPlease review."));
        made.as_agent("reviewer");
        made.says(&format!("Thank you for the update. The function for {task} is better now, but please mend this: {remark}. Then send it again."));
    }
    made.says("Looks good to me. APPROVE");
}

/// One question for many towns: each errand has the words of the others but one, and each answer is another.
fn ten_towns(made: &mut Made) {
    made.begin(8);
    for town in made.some_words(10) {
        let (figure, page) = (made.between(10_000, 900_000), made.words(18));
        made.as_agent("Orchestrator");
        let errand = format!(
            "Please look up how many people live in {town} according to the newest census."
        );
        handoff(made, "Orchestrator", "WebSurfer", &errand);
        made.call(
            "web_search",
            json!({"query": format!("{town} population census")}),
            json!({"results": [{"title": town, "snippet": page}]}),
        );
        made.call(
            "visit_page",
            json!({"url": format!("https://{town}.example/")}),
            format!("{page} {figure}"),
        );
        made.says(&format!(
            "According to the newest census {figure} people live in {town}."
        ));
        handoff(made, "WebSurfer", "Orchestrator", "");
    }
}

fn reservations(made: &mut Made) {
    made.begin(8);
    made.call(
        "get_user_details",
        json!({"user_id": "ann_4711"}),
        json!({"user_id": "ann_4711", "reservations": 6}),
    );
    for _ in 0..6 {
        let (id, city, price) = (made.hex(), made.word(), made.between(90, 900));
        let id = &id[..6];
        made.call(
            "get_reservation_details",
            json!({"reservation_id": id}),
            json!({"reservation_id": id, "destination": city, "price": price, "cabin": "economy"}),
        );
        made.call(
            "calculate",
            json!({"expression": format!("{price} - 50")}),
            (price - 50).to_string(),
        );
        made.says(&format!("Reservation {id} to {city} can be cancelled for a refund of {} dollars. Do you confirm (yes/no)?", price - 50));
        made.user();
        made.call(
            "cancel_reservation",
            json!({"reservation_id": id}),
            json!({"reservation_id": id, "status": "cancelled"}),
        );
        if made.chance(40) {
            made.call(
                "think",
                json!({"thought": format!("Next I look at the reservation after {id}.")}),
                "",
            );
        }
    }
}

fn roll_out(made: &mut Made) {
    made.begin(8);
    let name = made.word();
    let mut age = 10;
    made.sh(
        &format!("kubectl apply -f {name}.yaml"),
        &format!("deployment.apps/{name} configured"),
    );
    for ready in 0..=6 {
        for _ in 0..made.between(1, 2) {
            age += made.between(8, 40);
            made.sh(&format!("kubectl rollout status deployment/{name} --timeout=5s || true"), &format!("Waiting for deployment \"{name}\" rollout to finish: {ready} out of 6 new replicas have been updated..."));
            made.sh("kubectl get pods", &format!("NAME            READY   STATUS    RESTARTS   AGE\n{name}-7d9f-x2x   {ready}/6     Running   0          {age}s"));
            made.pause(10);
        }
    }
}

fn checks_come_in(made: &mut Made) {
    made.begin(8);
    let checks = made.some_words(6);
    let mut done = 0;
    while done <= 6 {
        let lines: Vec<_> = checks
            .iter()
            .enumerate()
            .map(|(place, name)| {
                format!(
                    "{name}\t{}\t{}",
                    if place < done { "pass" } else { "pending" },
                    if place < done { "1m2s" } else { "0" }
                )
            })
            .collect();
        made.sh("gh pr checks 42", &lines.join("\n"));
        made.pause(45);
        done += made.below(3);
    }
}

fn hundred_mails(made: &mut Made) {
    made.begin(8);
    for _ in 0..30 {
        let (id, subject, body) = (made.hex(), made.words(4), made.words(16));
        made.call(
            "get_mail",
            json!({"id": id}),
            json!({"id": id, "subject": subject, "body": body}),
        );
        let label = made.pick(&["billing", "support", "spam", "sales"]);
        made.call("apply_label", json!({"id": id, "label": label}), json!({"success": true, "message": "The label has been applied to the message.", "undo": true}));
        if label == "spam" {
            made.call("archive", json!({"id": id}), json!({"success": true}));
        }
    }
}

fn picture_variants(made: &mut Made) {
    made.begin(8);
    let what = made.words(6);
    for _ in 0..10 {
        let (seed, id) = (made.between(1, 999_999_999), made.hex());
        made.call("generate_image", json!({"prompt": format!("a photo of {what}"), "seed": seed}), json!({"url": format!("https://images.example/{id}.png"), "revised_prompt": format!("a photo of {what}"), "width": 1024}));
    }
}

fn job_without_percent(made: &mut Made) {
    made.begin(8);
    let id = made.hex();
    for _ in 0..made.between(6, 12) {
        let at = made.time();
        made.call(
            "get_job_status",
            json!({"job_id": id}),
            json!({"job_id": id, "status": "RUNNING", "updated_at": at}),
        );
        made.pause(35);
    }
    made.call(
        "get_job_status",
        json!({"job_id": id}),
        json!({"job_id": id, "status": "DONE", "rows": 1200}),
    );
}

fn network_heals(made: &mut Made) {
    made.begin(8);
    for _ in 0..9 {
        let (path, text) = (made.word(), made.words(20));
        let url = format!("https://data.example/{path}.csv");
        for _ in 0..made.below(3) {
            let port = made.between(30_000, 60_000);
            made.fails(
                "download",
                json!({"url": url}),
                &format!(
                    "ConnectionResetError: [Errno 104] Connection reset by peer (local port {port})"
                ),
            );
        }
        made.call("download", json!({"url": url}), text);
    }
}

/// Tickets are moved on: each has the same ways on, and each answer is the same.
fn tickets_moved(made: &mut Made) {
    made.begin(8);
    let project = made.word().to_uppercase();
    let first = made.between(100, 900);
    for number in first..first + 12 {
        let issue = format!("{project}-{number}");
        made.call("jira_get_transitions", json!({"issue": issue}), json!({"transitions": [{"id": 11, "name": "To Do"}, {"id": 21, "name": "In Progress"}, {"id": 31, "name": "Done"}]}));
        made.call("jira_transition", json!({"issue": issue, "transition": 31}), json!({"status": "success", "message": "The issue was moved to Done.", "warnings": [], "errors": []}));
    }
}

fn audit_clean(made: &mut Made) {
    made.begin(8);
    for user in made.some_words(14) {
        let role = made.pick(&["viewer", "editor"]);
        made.call(
            "get_account",
            json!({"user": user}),
            json!({"user": user, "role": role, "active": true}),
        );
        made.call(
            "list_admin_grants",
            json!({"user": user}),
            json!({"grants": []}),
        );
    }
}

fn smoke_test(made: &mut Made) {
    made.begin(8);
    for path in made.some_words(12) {
        let took = made.between(12, 240);
        made.call("http_get", json!({"url": format!("https://staging.example/{path}/health")}), json!({"status": 200, "elapsed_ms": took, "body": {"status": "ok", "version": "4.12.0", "database": "connected", "cache": "connected"}}));
    }
}

fn receipts(made: &mut Made) {
    made.begin(8);
    for _ in 0..12 {
        let (name, count) = (made.words(2), made.between(1, 9));
        made.call("create_order_line", json!({"product": name, "quantity": count}), json!({"code": 200, "message": "Request processed successfully", "data": {"accepted": true, "queued": true}}));
    }
}

fn queue(made: &mut Made) {
    made.begin(8);
    for _ in 0..16 {
        let messages: Vec<_> = (0..if made.chance(55) {
            0
        } else {
            made.between(1, 4)
        })
            .map(|_| made.words(4))
            .collect();
        let count = messages.len();
        made.call(
            "receive_messages",
            json!({"queue": "inbound", "wait_seconds": 20}),
            json!({"messages": messages}),
        );
        made.pause(if count == 0 { 20 } else { 1 });
        for _ in 0..count {
            let note = made.words(3);
            made.call("handle", json!({"note": note}), "done");
        }
    }
}

fn rooms(made: &mut Made) {
    made.begin(8);
    let mut moves = made.between(5, 50);
    for _ in 0..10 {
        let way = made.pick(&["north", "south", "east", "west"]);
        moves += 1;
        let answer = if made.chance(25) {
            "You can't go that way.".to_owned()
        } else {
            made.words(14)
        };
        made.call(
            "game_command",
            json!({"command": format!("go {way}")}),
            format!("{answer}\n\nScore: 10  Moves: {moves}"),
        );
        if made.chance(40) {
            let thing = made.word();
            moves += 1;
            made.call(
                "game_command",
                json!({"command": format!("take {thing}")}),
                format!("Taken.\n\nScore: 10  Moves: {moves}"),
            );
        }
    }
}

fn person_asked(made: &mut Made) {
    made.begin(8);
    for _ in 0..9 {
        let (what, price) = (made.words(3), made.between(10, 900));
        made.call("ask_human", json!({"question": format!("May I order {what} for {price} dollars?")}), json!({"approved": true, "by": "ann", "comment": null, "channel": "slack", "request_type": "purchase"}));
        let number = made.between(1_000, 9_999);
        made.call("order", json!({"item": what}), json!({"order": number}));
    }
}

fn calendar(made: &mut Made) {
    made.begin(8);
    for day in 1..9 {
        let date = format!("2027-03-{:02}", day + 3);
        made.call(
            "find_free_slots",
            json!({"people": ["ann", "bob", "eve"], "date": date, "minutes": 60}),
            if day == 8 {
                json!({"slots": ["14:00"]})
            } else {
                json!({"slots": []})
            },
        );
        if made.chance(50) {
            let busy = made.words(4);
            made.call(
                "list_events",
                json!({"person": "eve", "date": date}),
                json!({"events": [busy]}),
            );
        }
    }
}

fn outline(made: &mut Made) {
    made.begin(8);
    let outline = made.words(30);
    for (place, part) in made.some_words(8).into_iter().enumerate() {
        made.as_agent(["writer_a", "writer_b", "writer_c"][place % 3]);
        made.call(
            "read_document",
            json!({"name": "outline"}),
            outline.as_str(),
        );
        let (found, text) = (made.words(10), made.words(25));
        made.call(
            "web_search",
            json!({"query": format!("{part} history")}),
            json!({"results": [found]}),
        );
        made.call(
            "append_section",
            json!({"title": part, "text": text}),
            json!({"ok": true}),
        );
    }
}
