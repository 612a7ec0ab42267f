//! Agents in plants: clusters, builds, notebooks, logs, provers, and one shell for all; loops, and work that looks like them.
//! Written before it was measured what is found of them.

use serde_json::{Value, json};

use super::lookalikes::Work;
use super::loops::Loop;
use super::made::Made;

pub(super) const LOOPS: &[Loop] = &[
    ("infrastructure: planned, and refused", 5, plan_refused),
    (
        "build server: run again, the same job fails",
        5,
        build_rerun,
    ),
    ("notebook: the kernel dies at one cell", 5, kernel_dies),
    ("logs: nothing in any window", 8, no_hits),
    ("prover: one goal, whatever the tactic", 7, goal_stays),
    ("one shell: one file in ever other ranges", 9, other_ranges),
    (
        "after three hundred calls: five, one changes",
        5,
        round_of_five,
    ),
    ("review: the same remark posted again", 6, same_remark),
    ("panel: tools that only say ok", 6, only_ok),
    ("mail: a code that has always expired", 6, code_expired),
    (
        "one shell: versions that do not fit",
        7,
        versions_do_not_fit,
    ),
];

pub(super) const WORK: &[Work] = &[
    ("infrastructure: module by module", module_by_module),
    ("build server: watched until it is green", build_watched),
    ("notebook: cells edited and run again", cells_edited),
    ("logs: hour by hour", hour_by_hour),
    ("prover: lemma by lemma", lemma_by_lemma),
    ("puzzle: moves taken back", moves_taken_back),
    ("training: a sweep over seeds", sweep),
    ("nightly: five commands each night", nightly),
    ("review: one remark on many files", one_remark),
    ("polling: three jobs, pauses that grow", three_jobs),
    ("one shell: tests mended one by one", mended_one_by_one),
    ("plotter: pen down, move, pen up", plotter),
];

const ROUNDS: usize = 10;

/// What one shell printed, plainly, with its exit code or as JSON.
fn shell(made: &mut Made, style: usize, command: &str, code: u8, printed: &str) {
    let output = match style % 3 {
        0 => json!(printed),
        1 => json!(format!("{printed}\n[exit code: {code}]")),
        _ => json!({"stdout": printed, "stderr": "", "exit_code": code}),
    };
    made.call("bash", json!({"command": command}), output);
}

fn plan_refused(made: &mut Made) {
    made.begin(8);
    let style = made.below(3);
    let (bucket, count) = (made.words(2).replace(' ', "-"), made.between(2, 9));
    for round in 0..ROUNDS {
        let took = made.between(2, 40);
        let plan = [
            "terraform plan",
            "terraform plan -refresh=true",
            "terraform plan -out=tfplan",
        ];
        shell(
            made,
            style,
            plan[round % 3],
            0,
            &format!(
                "aws_s3_bucket.{bucket}: Refreshing state... [id={bucket}]\n\nTerraform will perform the following actions:\n\n  # aws_s3_bucket.{bucket} will be created\n\nPlan: {count} to add, 0 to change, 0 to destroy."
            ),
        );
        let apply = [
            "terraform apply -auto-approve".to_owned(),
            format!("terraform apply -auto-approve -target=aws_s3_bucket.{bucket}"),
            "terraform apply -input=false tfplan".to_owned(),
        ];
        let request = made.hex();
        shell(
            made,
            style,
            &apply[round % 3],
            1,
            &format!(
                "aws_s3_bucket.{bucket}: Creating...\naws_s3_bucket.{bucket}: Still creating... [{took}s elapsed]\n\nError: creating S3 Bucket ({bucket}): BucketAlreadyExists: The requested bucket name is not available.\n\tstatus code: 409, request id: {request}\n\n  with aws_s3_bucket.{bucket},\n  on main.tf line 12, in resource \"aws_s3_bucket\" \"{bucket}\":"
            ),
        );
        made.again();
    }
}

fn build_rerun(made: &mut Made) {
    made.begin(8);
    let style = made.below(3);
    let (run, job, line) = (
        made.between(7_000_000, 8_000_000),
        made.word(),
        made.between(10, 200),
    );
    for _ in 0..ROUNDS {
        shell(made, style, &format!("gh run rerun {run} --failed"), 0, "");
        let (linted, took) = (made.between(10, 30), made.between(40, 90));
        made.pause(took);
        shell(
            made,
            style,
            &format!("gh run watch {run} --exit-status"),
            1,
            &format!("✗ main CI · {run}\n\nJOBS\n✓ lint in {linted}s\n✗ {job} in {took}s"),
        );
        let at = made.time();
        shell(
            made,
            style,
            &format!("gh run view {run} --log-failed"),
            0,
            &format!(
                "{job}\tRun tests\t{at} error: could not find `{job}-sys` at line {line}\n{job}\tRun tests\t{at} ##[error]Process completed with exit code 101."
            ),
        );
        made.again();
    }
}

fn kernel_dies(made: &mut Made) {
    made.begin(8);
    let (cell, source) = (made.between(8, 20), made.words(8));
    let all = made.chance(50);
    for _ in 0..ROUNDS {
        let id = made.hex();
        made.call(
            "restart_kernel",
            json!({"notebook": "analysis.ipynb"}),
            json!({"kernel_id": id, "state": "idle"}),
        );
        let (seconds, error) = (made.between(20, 70), "DeadKernelError: Kernel died");
        if all {
            made.fails(
                "run_all_cells",
                json!({"notebook": "analysis.ipynb"}),
                &format!("{error} after {seconds} s while executing cell {cell}"),
            );
        } else {
            for number in cell - 2..cell {
                let took = made.between(1, 9);
                made.call(
                    "run_cell",
                    json!({"notebook": "analysis.ipynb", "cell": number}),
                    json!({"outputs": [], "execution_count": number, "seconds": took}),
                );
            }
            made.fails(
                "run_cell",
                json!({"notebook": "analysis.ipynb", "cell": cell, "source": source}),
                error,
            );
        }
        made.again();
    }
}

/// One question of the logs, under windows and filters that an agent goes through again and again.
fn no_hits(made: &mut Made) {
    made.begin(8);
    let (service, words) = (made.word(), made.some_words(2));
    for round in 0..ROUNDS {
        let query = match round % 3 {
            0 => format!("service:{service} AND \"{} {}\"", words[0], words[1]),
            1 => format!("service:{service} AND {} AND level:error", words[0]),
            _ => format!("{service} {} {}", words[0], words[1]),
        };
        let window = ["now-15m", "now-1h", "now-24h", "now-7d"][made.below(4)];
        let took = made.between(2, 90);
        made.call(
            "search_logs",
            json!({"query": query, "from": window, "to": "now", "size": 50}),
            json!({"took": took, "timed_out": false, "hits": {"total": {"value": 0, "relation": "eq"}, "hits": []}}),
        );
        made.again();
    }
}

fn goal_stays(made: &mut Made) {
    made.begin(8);
    let names = made.some_words(4);
    let goal = format!(
        "{} : ℕ\nh : {} < {}\n⊢ {} + {} ≤ {}",
        names[0], names[0], names[1], names[0], names[2], names[1]
    );
    let style = made.below(2);
    for round in 0..ROUNDS {
        let tactic = match round % 6 {
            0 => format!("simp [{}]", names[3]),
            1 => "linarith".to_owned(),
            2 => format!("nlinarith [h, {}]", names[3]),
            3 => format!("rw [{}]; omega", names[3]),
            4 => "norm_num".to_owned(),
            _ => format!("induction {} <;> simp_all", names[0]),
        };
        let first = tactic.split(' ').next().unwrap_or("").to_owned();
        let error = if style == 0 {
            format!("error: unsolved goals\n{goal}")
        } else {
            format!("{first} failed to close the goal\n{goal}")
        };
        made.fails(
            "run_tactic",
            json!({"theorem": names[1], "tactic": tactic}),
            &error,
        );
        made.again();
    }
}

/// Ranges of one file that overlap those before: nothing is read that was not read before.
fn other_ranges(made: &mut Made) {
    made.begin(8);
    let style = made.below(3);
    let file = made.file();
    let lines: Vec<_> = (0..120).map(|_| made.words(5)).collect();
    shell(made, style, &format!("cat {file}"), 0, &lines.join("\n"));
    for _ in 0..ROUNDS {
        let from = made.between(1, 90);
        let to = (from + made.between(15, 40)).min(120);
        let command = match made.below(3) {
            0 => format!("sed -n '{from},{to}p' {file}"),
            1 => format!("head -n {to} {file} | tail -n {}", to - from + 1),
            _ => format!("cd /app && sed -n {from},{to}p {file}"),
        };
        shell(made, style, &command, 0, &lines[from - 1..to].join("\n"));
        made.again();
    }
}

fn round_of_five(made: &mut Made) {
    made.work(300);
    made.begins = made.events.len();
    let (queue, file, text) = (made.word(), made.file(), made.words(20));
    for round in 0..ROUNDS {
        made.call(
            "get_status",
            json!({"queue": queue}),
            json!({"state": "degraded", "queue": queue}),
        );
        made.call("read_file", json!({"path": file}), text.clone());
        let (id, load) = (made.hex(), made.between(10, 90));
        made.call(
            "probe",
            json!({"queue": queue, "nonce": id}),
            json!({"load": load, "alive": true}),
        );
        made.call(
            "list_workers",
            json!({"queue": queue}),
            json!({"workers": []}),
        );
        made.call(
            "write_note",
            json!({"note": format!("Round {round}: {queue} is degraded.")}),
            "ok",
        );
        made.again();
    }
}

fn same_remark(made: &mut Made) {
    made.begin(8);
    let (file, line, about) = (made.file(), made.between(10, 300), made.words(3));
    let diff = format!(
        "--- a/{file}\n+++ b/{file}\n@@ -{line},3 +{line},4 @@\n+    {}",
        made.words(12)
    );
    for round in 0..ROUNDS {
        made.call(
            "get_pull_request_diff",
            json!({"number": 481}),
            diff.clone(),
        );
        let body = match round % 3 {
            0 => format!("Consider checking {about} here before it is used."),
            1 => format!("Please check {about} here before using it."),
            _ => format!("{about}: this should be checked before it is used here."),
        };
        let id = made.between(1_000_000, 9_999_999);
        made.call(
            "create_review_comment",
            json!({"number": 481, "path": file, "line": line, "body": body}),
            json!({"id": id, "url": format!("https://git.example/pull/481#r{id}"), "state": "pending"}),
        );
        made.again();
    }
}

/// Buttons of a panel whose tools answer nothing else; the places that are pressed move by some points.
fn only_ok(made: &mut Made) {
    made.begin(8);
    let places: Vec<_> = (0..3)
        .map(|_| [made.between(100, 900), made.between(100, 700)])
        .collect();
    let moves = made.chance(40);
    let text = made.words(2);
    for _ in 0..ROUNDS {
        for [x, y] in &places {
            let by = if moves { made.below(4) } else { 0 };
            made.call("tap", json!({"x": x + by, "y": y + by}), "ok");
        }
        made.call("type_text", json!({"text": text}), "ok");
        made.again();
    }
}

fn code_expired(made: &mut Made) {
    made.begin(8);
    let account = format!("{}@mail.example", made.word());
    let reads = made.chance(50);
    for _ in 0..ROUNDS {
        made.call(
            "request_code",
            json!({"account": account}),
            json!({"sent": true, "to": account}),
        );
        let code = made.between(100_000, 999_999);
        if reads {
            let at = made.time();
            made.call(
                "read_inbox",
                json!({"account": account, "unread": true}),
                json!([{"from": "no-reply@login.example", "subject": "Your code", "body": format!("Your code is {code}."), "at": at}]),
            );
        }
        made.fails(
            "enter_code",
            json!({"account": account, "code": code.to_string()}),
            "The code has expired. Please request a new one.",
        );
        made.again();
    }
}

fn versions_do_not_fit(made: &mut Made) {
    made.begin(8);
    let style = made.below(3);
    let [one, other, third] = [made.word(), made.word(), made.word()];
    for round in 0..ROUNDS {
        let (major, minor) = (made.between(1, 3), made.between(0, 19));
        let size = made.between(20, 900);
        let command = match round % 4 {
            0 => format!("pip install {one}=={major}.{minor} {other}"),
            1 => format!("pip install '{one}>={major}.{minor}' '{other}<3'"),
            2 => format!("pip install --upgrade {one} {other}=={major}.{minor}.0"),
            _ => format!("pip install --no-cache-dir {other} {one}=={major}.{minor}"),
        };
        shell(
            made,
            style,
            &command,
            1,
            &format!(
                "Collecting {one}\n  Downloading {one}-{major}.{minor}.tar.gz ({size} kB)\nERROR: Cannot install {one} and {other} because these package versions have conflicting dependencies.\n\nThe conflict is caused by:\n    {one} {major}.{minor} depends on {third}>=2\n    {other} 2.4.1 depends on {third}<2\n\nERROR: ResolutionImpossible: for help visit https://pip.pypa.io/en/latest/topics/dependency-resolution/"
            ),
        );
        made.again();
    }
}

fn module_by_module(made: &mut Made) {
    made.begin(4);
    let style = made.below(3);
    for _ in 0..made.between(10, 16) {
        let module = format!("modules/{}_{}", made.word(), made.word());
        shell(
            made,
            style,
            &format!("cd {module} && terraform init -input=false"),
            0,
            "Initializing the backend...\n\nTerraform has been successfully initialized!",
        );
        let (drifts, count, name) = (made.chance(30), made.between(1, 6), made.word());
        shell(
            made,
            style,
            &format!("cd {module} && terraform plan -detailed-exitcode"),
            if drifts { 2 } else { 0 },
            &if drifts {
                format!(
                    "Terraform will perform the following actions:\n\n  # {name}.this will be updated in-place\n\nPlan: 0 to add, {count} to change, 0 to destroy."
                )
            } else {
                "No changes. Your infrastructure matches the configuration.".to_owned()
            },
        );
        if drifts {
            shell(
                made,
                style,
                &format!("cd {module} && terraform apply -auto-approve"),
                0,
                &format!("Apply complete! Resources: 0 added, {count} changed, 0 destroyed."),
            );
        }
    }
}

fn build_watched(made: &mut Made) {
    made.begin(4);
    let style = made.below(3);
    for attempt in 0..3 {
        let run = made.between(7_000_000, 8_000_000);
        let mut pause = made.between(10, 20);
        let failing = made.word();
        for look in 0..made.between(4, 7) {
            made.pause(pause);
            pause += pause / 3 + 2;
            let states = (0..3).map(|job| {
                if job < look / 2 {
                    "completed"
                } else {
                    "in_progress"
                }
            });
            let states: Vec<_> = states.map(|state| json!({"status": state})).collect();
            shell(
                made,
                style,
                &format!("gh run view {run} --json jobs"),
                0,
                &json!({"jobs": states}).to_string(),
            );
        }
        if attempt < 2 {
            shell(
                made,
                style,
                &format!("gh run view {run} --log-failed"),
                0,
                &format!("test\tRun tests\tassertion failed: {failing}"),
            );
            let (file, mended) = (made.file(), made.word());
            shell(
                made,
                style,
                &format!(
                    "sed -i 's/{failing}/{mended}/' {file} && git commit -qam 'Mend {failing}' && git push -q"
                ),
                0,
                "",
            );
        }
    }
}

fn cells_edited(made: &mut Made) {
    made.begin(4);
    let head = made.words(12);
    for number in 1..made.between(8, 12) {
        for attempt in 0..made.between(1, 4) {
            let (source, column) = (made.words(5), made.word());
            made.call(
                "edit_cell",
                json!({"cell": number, "source": format!("df['{column}'] = '{source}'")}),
                "Cell updated.",
            );
            if attempt == 0 && made.chance(40) {
                made.fails(
                    "run_cell",
                    json!({"cell": number}),
                    &format!("KeyError: '{column}'"),
                );
            } else if made.chance(20) {
                made.call("run_cell", json!({"cell": number}), "");
            } else {
                let value = made.between(10, 9_999);
                made.call(
                    "run_cell",
                    json!({"cell": number}),
                    format!("{column}    {value}.0\ndtype: float64"),
                );
            }
        }
        if made.chance(40) {
            made.call(
                "run_cell",
                json!({"cell": 0, "source": "df.head()"}),
                head.clone(),
            );
        }
    }
}

fn hour_by_hour(made: &mut Made) {
    made.begin(4);
    let (service, word) = (made.word(), made.word());
    for hour in 0..24 {
        let found = if made.chance(25) {
            made.between(1, 3)
        } else {
            0
        };
        let hits: Vec<_> = (0..found)
            .map(|_| json!({"message": made.words(10)}))
            .collect();
        let took = made.between(2, 90);
        made.call(
            "search_logs",
            json!({"query": format!("service:{service} AND {word}"), "from": format!("2026-11-18T{hour:02}:00:00Z"), "to": format!("2026-11-18T{hour:02}:59:59Z")}),
            json!({"took": took, "timed_out": false, "hits": {"total": {"value": found, "relation": "eq"}, "hits": hits}}),
        );
    }
}

fn lemma_by_lemma(made: &mut Made) {
    made.begin(4);
    for _ in 0..made.between(5, 8) {
        let lemma = made.words(2).replace(' ', "_");
        for left in (0..made.between(2, 5)).rev() {
            let goal = format!("⊢ {} ≤ {}", made.words(2), made.word());
            for _ in 0..made.below(3) {
                let tactic = made.pick(&["linarith", "omega", "simp", "norm_num", "ring"]);
                let hint = made.word();
                made.fails(
                    "run_tactic",
                    json!({"theorem": lemma, "tactic": format!("{tactic} [{hint}]")}),
                    &format!("error: unsolved goals\n{goal}"),
                );
            }
            let output = if left == 0 {
                json!("no goals")
            } else {
                json!(format!("{left} goals\n⊢ {}", made.words(3)))
            };
            let hint = made.word();
            made.call(
                "run_tactic",
                json!({"theorem": lemma, "tactic": format!("nlinarith [{hint}]")}),
                output,
            );
        }
    }
}

/// A puzzle that is solved by trying: what does not fit is taken back, and another thing is tried there.
fn moves_taken_back(made: &mut Made) {
    made.begin(4);
    let mut filled = 20;
    for _ in 0..made.between(30, 50) {
        let (row, column, value) = (made.between(1, 9), made.between(1, 9), made.between(1, 9));
        let place = json!({"row": row, "column": column, "value": value});
        if made.chance(45) {
            made.call(
                "place",
                place,
                json!({"ok": false, "reason": "conflict in row"}),
            );
        } else if made.chance(30) {
            made.call("place", place, json!({"ok": true, "filled": filled + 1}));
            made.call("undo", json!({}), json!({"ok": true, "filled": filled}));
        } else {
            filled += 1;
            made.call("place", place, json!({"ok": true, "filled": filled}));
        }
    }
}

fn sweep(made: &mut Made) {
    made.begin(4);
    let style = made.below(3);
    for rate in ["1e-2", "1e-3", "3e-4", "1e-4"] {
        for seed in 0..made.between(4, 6) {
            let accuracy = made.between(700, 930) as f64 / 1_000.0;
            let printed = if rate == "1e-2" {
                "epoch 1: loss nan\nRuntimeError: loss is not finite, stopping".to_owned()
            } else {
                format!(
                    "epoch 10: loss {:.3}\ntest accuracy: {accuracy:.3}",
                    2.0 - accuracy
                )
            };
            shell(
                made,
                style,
                &format!("python train.py --lr {rate} --seed {seed}"),
                u8::from(rate == "1e-2"),
                &printed,
            );
        }
    }
}

fn nightly(made: &mut Made) {
    made.begin(4);
    let style = made.below(3);
    for _ in 0..made.between(6, 9) {
        made.pause(6 * 3_600);
        for (command, printed) in [
            (
                "df -h /",
                "Filesystem      Size  Used Avail Use% Mounted on\n/dev/sda1        50G   21G   27G  44% /",
            ),
            ("systemctl is-active app", "active"),
            ("pg_dump -Fc app > /backup/app.dump", ""),
            ("find /backup -mtime +7 -delete", ""),
            ("journalctl -p err --since yesterday", "-- No entries --"),
        ] {
            shell(made, style, command, 0, printed);
        }
    }
}

fn one_remark(made: &mut Made) {
    made.begin(4);
    let body = format!("Please add a test for {}.", made.word());
    for _ in 0..made.between(12, 20) {
        let (file, line, id) = (
            made.file(),
            made.between(1, 300),
            made.between(1_000_000, 9_999_999),
        );
        if made.chance(60) {
            let text = made.words(20);
            made.call("get_file", json!({"path": file}), text);
        }
        made.call(
            "create_review_comment",
            json!({"number": 481, "path": file, "line": line, "body": body}),
            json!({"id": id, "state": "pending"}),
        );
    }
}

fn three_jobs(made: &mut Made) {
    made.begin(4);
    let jobs: Vec<_> = (0..3).map(|_| made.hex()).collect();
    let ends: Vec<_> = (0..3).map(|_| made.between(4, 8)).collect();
    let mut pause = made.between(3, 8);
    for look in 0..=8 {
        made.pause(pause);
        pause = pause * 3 / 2 + 1;
        for (job, end) in jobs.iter().zip(&ends).filter(|(_, end)| look <= **end) {
            let state = if look == *end { "succeeded" } else { "running" };
            made.call(
                "get_job",
                json!({"id": job}),
                json!({"id": job, "state": state}),
            );
        }
    }
}

fn mended_one_by_one(made: &mut Made) {
    made.begin(4);
    let style = made.below(3);
    for _ in 0..made.between(10, 14) {
        let (file, name) = (made.file(), made.words(2).replace(' ', "_"));
        let test = format!("python -m pytest -q tests/test_all.py -k {name}");
        let (left, right) = (made.between(1, 90), made.between(1, 90));
        for _ in 0..made.between(1, 2) {
            let seconds = made.between(10, 90);
            shell(
                made,
                style,
                &test,
                1,
                &format!(
                    "E       assert {left} == {right}\n1 failed, 40 deselected in 0.{seconds}s"
                ),
            );
            let (line, new) = (made.between(1, 200), made.words(3));
            shell(
                made,
                style,
                &format!("sed -i '{line}s/.*/    return \"{new}\"/' {file}"),
                0,
                "",
            );
        }
        let seconds = made.between(10, 90);
        shell(
            made,
            style,
            &test,
            0,
            &format!("1 passed, 40 deselected in 0.{seconds}s"),
        );
    }
}

fn plotter(made: &mut Made) {
    made.begin(4);
    let answer = [Value::Null, json!("ok"), json!({"ok": true})][made.below(3)].clone();
    for stroke in 0..made.between(20, 40) {
        made.call(
            "move_to",
            json!({"x": stroke % 8 * 10, "y": stroke / 8 * 10}),
            answer.clone(),
        );
        made.call("pen_down", json!({}), answer.clone());
        for _ in 0..made.between(1, 3) {
            let (x, y) = (made.between(0, 80), made.between(0, 80));
            made.call("move_to", json!({"x": x, "y": y}), answer.clone());
        }
        made.call("pen_up", json!({}), answer.clone());
    }
}
