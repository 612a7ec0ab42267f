//! Rounds that look like headway, and work that looks like rounds.

use serde_json::{Value, json};

use super::lookalikes::Work;
use super::loops::Loop;
use super::made::Made;

pub(super) const LOOPS: &[Loop] = &[
    (
        "job: failed for good, slept for before each look",
        6,
        slept_for_no,
    ),
    (
        "list: the last page again under further numbers",
        7,
        last_page_again,
    ),
    ("screen: pressed beside a button", 6, pressed_beside),
    ("rooms: to and fro, and the moves counted", 6, moves_counted),
    ("tool: fails in ever other words", 11, fails_in_other_words),
    ("user: asked the same, whatever is answered", 7, asked_again),
    ("score: unmoved by ever other texts", 8, score_unmoved),
];

pub(super) const WORK: &[Work] = &[
    ("stock: things of two words", things_of_two_words),
    ("quote: at the pace of a timer", quote_by_timer),
    ("job: slept for until it is done", slept_for_job),
    ("list: pages by number, the last ones short", short_pages),
    ("screen: boxes of a list ticked", boxes_ticked),
    ("screen: the next page by one button", next_by_place),
    ("jobs: two polled in turn", two_jobs),
    ("game: moves counted, each room another", rooms_found),
    ("script: one error mended after the other", errors_mended),
    (
        "tool: fails in other words between changes",
        fails_between_changes,
    ),
    ("user: asked for one thing after the other", next_asked),
    ("user: asked the same of each case", asked_of_each),
    ("score: moved now and then by other texts", score_moved),
    ("code: changed in parts, as well covered", still_covered),
];

/// One question about one thing after the other, each called by two words or three, and nearly always one answer.
fn things_of_two_words(made: &mut Made) {
    made.begin(5);
    let (tool, name, answer) = [
        ("check_stock", "product", json!({"in_stock": true})),
        ("get_flag", "flag", json!({"enabled": false})),
        ("check_allergen", "dish", json!({"contains": false})),
        ("check_policy", "topic", json!({"allowed": true})),
        ("consultar_stock", "producto", json!({"disponible": true})),
        (
            "get_availability",
            "item",
            json!({"available": true, "warehouse": "Rotterdam", "lead_time": "next day"}),
        ),
    ][made.below(6)]
    .clone();
    let is_first_upper = made.chance(30);
    let count = made.between(1, 2) + 1;
    for words in made.some_words(36).chunks(count).take(12) {
        let mut thing = words.join(" ");
        if is_first_upper {
            thing[..1].make_ascii_uppercase();
        }
        let is_other = made.chance(8);
        let answer = if is_other {
            Value::Null
        } else {
            answer.clone()
        };
        made.call(tool, json!({name: thing}), answer);
    }
}

/// A sleep before each look at what has failed, or is not there, and stays so.
fn slept_for_no(made: &mut Made) {
    made.begin(5);
    let job = format!("job-{}", made.between(1_000, 9_999));
    let seconds = made.between(1, 9);
    let style = made.below(3);
    for _ in 0..12 {
        if made.chance(50) {
            made.call("sleep", json!({"seconds": seconds}), "done");
        } else {
            made.sh(&format!("sleep {seconds}"), "");
        }
        made.pause(seconds);
        let asked = json!({"id": job});
        match style {
            0 => made.call(
                "get_job",
                asked,
                json!({"id": job, "state": "FAILED", "message": "image not found"}),
            ),
            1 => made.call("get_job", asked, json!({"error": "job not found"})),
            _ => made.call(
                "get_job",
                asked,
                json!({"job": job, "status": "failed", "reason": "no such image"}),
            ),
        }
        made.again();
    }
}

/// The same, of a job that runs, and is done at last.
fn slept_for_job(made: &mut Made) {
    made.begin(5);
    let job = format!("job-{}", made.between(1_000, 9_999));
    let seconds = made.between(5, 20);
    let state = made.pick(&["RUNNING", "queued", "in_progress"]);
    for _ in 0..made.between(5, 12) {
        made.call("sleep", json!({"seconds": seconds}), "done");
        made.pause(seconds);
        made.call(
            "get_job",
            json!({"id": job}),
            json!({"id": job, "state": state}),
        );
    }
    made.call(
        "get_job",
        json!({"id": job}),
        json!({"id": job, "state": "SUCCEEDED"}),
    );
}

/// What moves up and down is read every so many seconds, and nothing is done in between.
fn quote_by_timer(made: &mut Made) {
    made.begin(5);
    made.steady();
    let seconds = [9, 10, 12, 15, 20][made.below(5)];
    let style = made.below(3);
    for round in 0..40 {
        let host = ["web-a", "web-b"][round % 2];
        let late = made.below(2);
        made.pause(seconds + late);
        let time = made.time();
        let mut number = || made.between(9_900, 10_300) as f64 / 100.0;
        match style {
            0 => {
                let told = json!({"bid": number(), "ask": number() + 5.0, "time": time});
                made.call("get_quote", json!({"symbol": "ACME"}), told);
            }
            1 => {
                let told = json!({"cpu": number()});
                made.call("get_cpu", json!({"host": host}), told);
            }
            _ => {
                let told = format!("temperature {} C", number());
                made.call("read_sensor", json!({"sensor": "boiler"}), told);
            }
        }
    }
}

/// The last page of a list, two or three things or many numbers, comes again for each further page that is asked for.
fn last_page_again(made: &mut Made) {
    made.begin(5);
    let name = made.pick(&["page", "offset", "pageNumber"]);
    let style = made.below(3);
    let things: Value = match style {
        0 => (0..2)
            .map(|_| json!(format!("review: {}.", made.words(5))))
            .collect(),
        1 => (0..20).map(|id| json!({"id": 40 + id})).collect(),
        _ => (0..3)
            .map(|id| json!({"id": id, "name": made.words(2)}))
            .collect(),
    };
    let first = made.between(3, 6);
    for page in first..first + 12 {
        let at = match name {
            "offset" => json!(20 * page),
            _ => json!(page),
        };
        made.call("list_reviews", json!({name: at}), things.clone());
        made.again();
    }
}

/// A list whose pages have few things each, others on each page.
fn short_pages(made: &mut Made) {
    made.begin(5);
    let name = made.pick(&["page", "offset"]);
    for page in 1..made.between(10, 16) {
        let things: Value = (0..2).map(|_| json!({"name": made.words(2)})).collect();
        let at = if name == "page" { page } else { 2 * page };
        made.call("list_reviews", json!({name: at}), things);
    }
    made.call("list_reviews", json!({name: 40}), json!([]));
}

/// A press at a place of a screen, by a tool for that or by one for all of it.
fn press(made: &mut Made, style: usize, [x, y]: [usize; 2], told: &str) {
    match style {
        0 => made.call("click", json!({"x": x, "y": y}), told),
        1 => made.call(
            "mouse_click",
            json!({"button": "left", "x": x, "y": y}),
            told,
        ),
        _ => made.call(
            "computer",
            json!({"action": "left_click", "coordinate": [x, y]}),
            told,
        ),
    }
}

/// A button is pressed a few pixels further each time, and nothing comes of it.
fn pressed_beside(made: &mut Made) {
    made.begin(5);
    let style = made.below(3);
    let (x, y) = (made.between(200, 1_200), made.between(60, 700));
    let told = format!("Clicked. The page still asks: {}?", made.words(3));
    for _ in 0..10 {
        let at = [x + made.below(9), y + made.below(7)];
        press(made, style, at, &told);
        made.again();
    }
}

/// One box below the other is ticked, and each press is answered by one sentence.
fn boxes_ticked(made: &mut Made) {
    made.begin(5);
    let style = made.below(3);
    let (x, y) = (made.between(200, 1_200), made.between(60, 200));
    let step = made.between(18, 40);
    for row in 0..made.between(10, 16) {
        let at = [x + made.below(5), y + row * step + made.below(4)];
        press(
            made,
            style,
            at,
            "The left button was pressed at this place.",
        );
    }
}

/// The button for the next page is pressed at nearly the same place, and the page is read, or shown behind the press.
fn next_by_place(made: &mut Made) {
    made.begin(5);
    let style = made.below(3);
    let (x, y) = (made.between(200, 1_200), made.between(60, 700));
    let reads = made.chance(50);
    for _ in 0..made.between(10, 14) {
        let at = [x + made.below(6), y + made.below(5)];
        let page = made.words(12);
        if reads {
            press(
                made,
                style,
                at,
                "The left button was pressed at this place.",
            );
            made.call("get_page_text", json!({}), page);
        } else {
            press(made, style, at, &page);
        }
    }
}

/// To and fro between two rooms or three, each of which looks as it did; how many moves were made is told beside it.
fn moves_counted(made: &mut Made) {
    made.begin(5);
    let rooms = made.between(2, 3);
    let looks: Vec<String> = (0..rooms).map(|_| made.words(8)).collect();
    let style = made.below(3);
    let mut moves = made.between(1, 30);
    for _ in 0..14 {
        for (way, look) in ["north", "south", "up"].iter().zip(&looks) {
            moves += 1;
            made.call("move", json!({"direction": way}), room(style, look, moves));
        }
        made.again();
    }
}

/// How a room is told after so many moves.
fn room(style: usize, look: &str, moves: usize) -> Value {
    match style {
        0 => json!(format!("You are in a room with {look}. Turn {moves}.")),
        1 => json!({"room": look, "moves": moves}),
        _ => json!(format!("A room with {look}. Moves: {moves}")),
    }
}

/// Rooms are gone through, most of them for the first time, and some ways are gone back.
fn rooms_found(made: &mut Made) {
    made.begin(5);
    let style = made.below(3);
    let mut moves = made.between(1, 30);
    let mut looks: Vec<String> = vec![made.words(8)];
    for _ in 0..made.between(15, 25) {
        moves += 1;
        let is_back = made.chance(25);
        if !is_back {
            looks.push(made.words(8));
        } else if looks.len() > 1 {
            looks.pop();
        }
        let look = looks.last().cloned().unwrap_or_default();
        let way = made.pick(&["north", "south", "up", "east"]);
        made.call("move", json!({"direction": way}), room(style, &look, moves));
    }
}

/// Two jobs are looked at in turn until they are done; each gets on by its own steps.
fn two_jobs(made: &mut Made) {
    made.begin(5);
    let jobs = [made.hex(), made.hex()];
    let mut done = [0, made.between(0, 30)];
    let steps = [made.between(1, 4), made.between(1, 4)];
    while done.iter().any(|done| *done < 40) {
        for (at, job) in jobs.iter().enumerate() {
            done[at] += steps[at] + made.below(2);
            let told = json!({"job": job, "items_done": done[at]});
            made.call("get_job", json!({"id": &job[..8]}), told);
        }
    }
}

/// Ways in which a thing is refused, each in words of its own.
const REFUSALS: [&str; 12] = [
    "Permission denied: /srv/app",
    "Error: a password is required",
    "PermissionError: [Errno 1] Operation not permitted",
    "Error: the account is not in the list of operators",
    "Error: read-only file system",
    "Error: authentication failure",
    "Access denied by policy 'default'",
    "Error: the key was revoked",
    "Error: no credentials were given",
    "Error: signature does not match",
    "Error: this role may not write",
    "Error: the session has ended",
];

/// One tool is tried in ever other ways, and fails in ever other words, for what must be one cause.
fn fails_in_other_words(made: &mut Made) {
    made.begin(5);
    let is_shell = made.chance(50);
    let first = made.below(12);
    for round in 0..12 {
        let (error, words) = (REFUSALS[(first + 5 * round) % 12], made.words(2));
        if is_shell {
            let program = made.pick(&[
                "mkdir",
                "sudo install -d",
                "touch",
                "docker run",
                "chown me",
            ]);
            let command = format!("{program} {}", words.replace(' ', "/"));
            made.fails("bash", json!({"command": command}), error);
        } else {
            made.fails(
                "send_report",
                json!({"to": "office@mail.example", "subject": words}),
                error,
            );
        }
        made.again();
    }
}

/// A program is written out and run, and one error after the other is mended until it runs.
fn errors_mended(made: &mut Made) {
    made.begin(5);
    for _ in 0..2 {
        let mut lines = Vec::new();
        for at in 0..made.between(3, 8) {
            let word = made.word();
            lines.push(format!("x{at} = load('{word}')"));
            let error = format!("NameError: name '{word}_{at}' is not defined");
            made.fails("run_python", json!({"code": lines.join("\n")}), &error);
        }
        made.call(
            "run_python",
            json!({"code": lines.join(";")}),
            made_of(&lines),
        );
    }
}

fn made_of(lines: &[String]) -> Value {
    json!(format!(
        "{} lines were read, and the sums are right.",
        lines.len() + 40
    ))
}

/// A build fails in other words each time, and something is changed in between.
fn fails_between_changes(made: &mut Made) {
    made.begin(5);
    for round in 0..made.between(10, 14) {
        let (file, text) = (made.file(), made.words(5));
        made.call("edit_file", json!({"path": file, "new": text}), "edited");
        let error = format!(
            "error[E{:04}]: {} in {file}",
            100 + 7 * round,
            made.words(4)
        );
        made.fails("build", json!({}), &error);
    }
    made.call("build", json!({}), "Build succeeded, no warnings.");
}

/// How a user is asked.
fn ask(made: &mut Made, style: usize, question: &str, answer: &str) {
    match style {
        0 => made.call("ask_user", json!({"question": question}), answer),
        1 => made.call(
            "request_human_input",
            json!({"prompt": question}),
            json!({"answer": answer}),
        ),
        _ => made.call(
            "AskUserQuestion",
            json!({"question": question}),
            json!({"text": answer}),
        ),
    }
}

/// A user is asked the very same again and again, and answers in other words each time.
fn asked_again(made: &mut Made) {
    made.begin(5);
    let style = made.below(3);
    let question = format!("Which {} shall I take: {}?", made.word(), made.words(2));
    for _ in 0..12 {
        let words = made.between(1, 5);
        let answer = made.words(words);
        ask(made, style, &question, &answer);
        made.again();
    }
}

/// A user is asked for one thing after the other until there are no more.
fn next_asked(made: &mut Made) {
    made.begin(5);
    let style = made.below(3);
    let question = [
        "What is the next item?",
        "Anything else?",
        "What shall I add next?",
    ][made.below(3)];
    for _ in 0..made.between(8, 14) {
        let answer = made.words(2);
        ask(made, style, question, &answer);
    }
}

/// A user is asked the same of each case, behind what was found of it or before what is done with it.
fn asked_of_each(made: &mut Made) {
    made.begin(5);
    let style = made.below(3);
    let shows = made.chance(50);
    for _ in 0..made.between(8, 14) {
        let (file, answer) = (made.file(), made.words(3));
        if shows {
            let told = format!("This is {file}: {}.", made.words(6));
            made.says(&told);
        }
        ask(made, style, "What do you think of it?", &answer);
        if !shows {
            made.call("save_note", json!({"of": file, "note": answer}), "saved");
        }
    }
}

/// How a text is changed on which a score depends.
fn change(made: &mut Made, style: usize, text: &str) {
    match style {
        0 => made.call("update_prompt", json!({"text": text}), "updated"),
        1 => made.call(
            "write_file",
            json!({"path": "prompts/system.md", "content": text}),
            "File updated successfully.",
        ),
        _ => made.call(
            "edit_file",
            json!({"path": "app/rank.py", "new": text}),
            json!({"ok": true}),
        ),
    }
}

/// What is measured behind that.
fn measure(made: &mut Made, style: usize, thousandths: usize) {
    let score = thousandths as f64 / 1_000.0;
    match style {
        0 => made.call("run_eval", json!({"set": "held-out"}), json!({"accuracy": score, "n": 50})),
        1 => made.call("evaluate", json!({"suite": "all"}), format!("accuracy: {score}")),
        _ => made.call(
            "measure_ranking",
            json!({"queries": "dev.tsv"}),
            json!({"ndcg": score, "queries": 120, "set": "those of the second half of the year, and of the spring"}),
        ),
    }
}

/// A text is written in ever other words, and the score behind it does not move at all.
fn score_unmoved(made: &mut Made) {
    made.begin(5);
    let (style, score) = (made.below(3), made.between(200, 900));
    for _ in 0..12 {
        let text = made.words(7);
        change(made, style, &text);
        measure(made, style, score);
        made.again();
    }
}

/// The same, of a score that stays at times, and moves at others.
fn score_moved(made: &mut Made) {
    made.begin(5);
    let (style, mut score) = (made.below(3), made.between(200, 500));
    for round in 0..made.between(10, 16) {
        let text = made.words(7);
        change(made, style, &text);
        if round % 4 == 3 || made.chance(30) {
            score += made.between(1, 20);
        }
        measure(made, style, score);
    }
}

/// One part of a program after the other is written anew; its tests pass, and cover as much of it as before.
fn still_covered(made: &mut Made) {
    made.begin(5);
    let (share, together) = (made.between(700, 950) as f64 / 1_000.0, made.chance(50));
    for _ in 0..made.between(8, 14) {
        let (file, text) = (made.file(), made.words(7));
        made.call("edit_file", json!({"path": file, "new": text}), "edited");
        if together {
            made.call(
                "run_tests",
                json!({}),
                json!({"passed": 41, "failed": 0, "covered": share}),
            );
        } else {
            made.call("run_tests", json!({}), "41 passed");
            made.call("get_coverage", json!({}), json!({"covered": share}));
        }
    }
}
