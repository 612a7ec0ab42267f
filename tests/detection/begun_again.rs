//! What is begun again and again with new ids, and fails as before: pipelines, jobs, pods. And what only looks alike, since the
//! failure moves on, or each run is of another thing.

use serde_json::{Value, json};

use crate::support::{call, check, failed, is_warned_of};

/// Names that have nothing in common.
const NAMES: [&str; 8] = [
    "anchor", "bridge", "canal", "delta", "ferry", "gorge", "harbour", "island",
];

fn event(tool: &str, input: &Value, output: &str) -> Value {
    json!({"kind": "tool_call", "agent": "a", "tool": tool, "input": input, "output": output})
}

fn edit(number: usize) -> Value {
    let name = NAMES[number % NAMES.len()];
    let input = json!({"path": format!("src/{name}.ts"), "text": format!("export const {name} = {number};")});
    event("edit_file", &input, "The file was changed.")
}

/// What is done for the run of this number, and what its log says.
type Attempt<'a> = &'a dyn Fn(usize, &str) -> Vec<Value>;

fn attempts(count: usize, attempt: Attempt<'_>, said: &dyn Fn(usize) -> String) -> Vec<Value> {
    let runs = 0..count;
    runs.flat_map(|number| attempt(number, &said(number)))
        .collect()
}

/// A pipeline that is triggered by a tool of its own, asked for, and of which a job's log is read.
fn by_tools(number: usize, said: &str) -> Vec<Value> {
    let (pipeline, job) = (880_000 + number * 131, 5_100_000 + number * 7_313);
    let status = |state: &str| {
        let told = json!({"id": pipeline, "status": state, "job": job});
        event(
            "get_pipeline",
            &json!({"pipeline": pipeline}),
            &told.to_string(),
        )
    };
    let begun = json!({"pipeline": pipeline, "status": "created"}).to_string();
    let log = format!(
        "Running on runner-{number} at 2026-11-20T10:0{number}:11Z\nFetching what was pushed with a depth of 20.\n$ npm ci\nadded \
         812 packages, and audited 813 packages in {number}s\n92 packages are looking for funding\n$ npm run deploy -- --to the-place\n{said}\nERROR: Job failed: exit code 1"
    );
    vec![
        event("trigger_pipeline", &json!({"project": "web"}), &begun),
        status("running"),
        status("failed"),
        event("get_job_log", &json!({"job": job}), &log),
    ]
}

/// One that an edit begins, with a shell for all that is asked.
fn by_shell(number: usize, said: &str) -> Vec<Value> {
    let run = 11_893_400_000 + number * 99_991;
    let log = format!(
        "2026-11-20T10:0{number}:11.01Z ##[group]Run ./deploy.sh\n2026-11-20T10:0{number}:13.12Z {said}\n\
         2026-11-20T10:0{number}:13.20Z ##[error]Process completed with exit code 1."
    );
    vec![
        edit(number),
        call("bash", "gh workflow run deploy.yml", "It was created."),
        call(
            "bash",
            "gh run list --limit 1",
            &format!("queued\tdeploy\tmain\t{run}\t3s"),
        ),
        call("bash", &format!("gh run view {run} --log-failed"), &log),
    ]
}

/// A build whose numbers count up, on one node or another.
fn by_number(number: usize, said: &str) -> Vec<Value> {
    let build = 412 + number;
    let log = format!(
        "Started by user agent\nObtained Jenkinsfile from git, and began to follow it step by step.\n[Pipeline] stage\nRunning on node-{} in /var/jenkins/workspace/web\n+ helm upgrade web --set tag=1a2b3c{number}\n{said}\n\
         [Pipeline] done\nFinished: FAILURE",
        number * 7 % 5
    );
    vec![
        event(
            "start_build",
            &json!({"job": "web"}),
            &json!({"build": build}).to_string(),
        ),
        event("get_console", &json!({"build": build}), &log),
    ]
}

/// Given a pipeline that is begun again and again, its logs with the same failure are no news, whatever their ids, times and nodes
/// are and whoever asks for them. Where the failure is another one each time, or the third one goes well, that is headway.
#[test]
fn pipelines_that_fail_as_before() {
    let same = |_| "Error: the variable DEPLOY_TOKEN is missing".to_owned();
    let other = |number: usize| format!("Error: the variable {} is missing", NAMES[number]);
    for attempt in [by_tools, by_shell, by_number] {
        assert!(
            is_warned_of(&attempts(6, &attempt, &same)),
            "{}",
            attempt(1, "")[0]
        );
        check(&attempts(6, &attempt, &other), &[]);
        let mut mended = attempts(2, &attempt, &same);
        mended.extend(attempt(2, "It is deployed."));
        check(&mended, &[]);
    }
}

/// Given a check that each push begins, and whose log has the same failure each time, that is found though each push is another.
#[test]
fn pushes_that_fail_as_before() {
    let push = |number: usize, said: &str| -> Vec<Value> {
        let (name, run) = (NAMES[number], 118_934_000 + number * 99_991);
        let log = format!(
            "test\t2026-11-20T10:0{number}:13.1Z {said}\ntest\t2026-11-20T10:0{number}:13.2Z ##[error]Process completed with exit code 1."
        );
        vec![
            edit(number),
            call(
                "bash",
                &format!("git commit -am 'Mend {name}' && git push"),
                &format!("[main] Mend {name}\n 1 file changed"),
            ),
            call(
                "bash",
                "gh run list --limit 1",
                &format!("completed\tfailure\tMend {name}\tmain\t{run}\t1m2s"),
            ),
            call("bash", &format!("gh run view {run} --log-failed"), &log),
        ]
    };
    let same = |_| "Error: Cannot find module './config'".to_owned();
    assert!(is_warned_of(&attempts(6, &push, &same)));
    let others = |number: usize| format!("Error: Cannot find module './{}'", NAMES[number]);
    check(&attempts(6, &push, &others), &[]);
}

/// Given several jobs of one list, of which each log is read once, that they failed in the same way is what was asked.
#[test]
fn jobs_of_a_list() {
    let jobs: Vec<_> = (0..8).map(|number| 5_100_000 + number * 7_313).collect();
    let list = call("bash", "list failed jobs", &json!(jobs).to_string());
    let read = |job: &usize| {
        let looked = [
            call(
                "bash",
                &format!("describe {job}"),
                &format!("It builds the {}.", NAMES[*job % NAMES.len()]),
            ),
            call(
                "bash",
                &format!("log {job}"),
                "begun\nERROR: Job failed: exit code 1",
            ),
        ];
        looked.to_vec()
    };
    let mut looks = vec![list];
    looks.extend(jobs.iter().flat_map(read));
    check(&looks, &[]);
}

/// Given a log in which a task tells another fault each time, with the words in which a database names a column, that is another
/// failure.
#[test]
fn columns_that_are_missing_one_after_the_other() {
    let read = |(number, name): (usize, &&str)| {
        let log = format!(
            "Dependencies are met, and the job is taken from the queue by a worker of the pool for loads.\nJob {number}: begun\nTraceback (most recent call last):\n  File \"a.py\", line 3\n\
             sql.errors.UndefinedColumn: column \"{name}\" does not exist\nINFO - Task exited with return code 1"
        );
        let input = json!({"run": format!("manual_2026112{number}T101112")});
        [edit(number), event("get_task_log", &input, &log)]
    };
    let named = NAMES.iter().enumerate();
    check(&named.flat_map(read).collect::<Vec<_>>(), &[]);
    let same = NAMES.iter().enumerate();
    let same: Vec<_> = same
        .flat_map(|(number, _)| read((number, &"size")))
        .collect();
    assert!(is_warned_of(&same));
}

/// What `kubectl` shows of a pod that was started so often.
fn pods(state: &str, starts: usize) -> String {
    format!(
        "NAME                  READY   STATUS             RESTARTS      AGE\nweb-6c8f9d7b5d-x{starts}k9z   0/1     {state}   \
         {starts} ({starts}s ago)   {starts}m12s"
    )
}

fn rolled_out(state: &str, number: usize) -> Vec<Value> {
    vec![
        edit(number),
        call(
            "bash",
            "kubectl apply -f web.yaml",
            "deployment.apps/web configured",
        ),
        call("bash", "kubectl get pods", &pods(state, number + 2)),
    ]
}

/// Given a pod that crashes again and again, whatever is edited and applied, that is found; one that is made and then runs is not.
#[test]
fn pods_that_crash_whatever_is_applied() {
    let crashes = (0..7).flat_map(|number| rolled_out("CrashLoopBackOff", number));
    check(
        &crashes.collect::<Vec<_>>(),
        &[
            "repeated_tool_call_exact_input",
            "repeated_tool_call_similar_input",
        ],
    );
    let states = [
        "CrashLoopBackOff",
        "CrashLoopBackOff",
        "ContainerCreating",
        "Running",
    ];
    let mended = (0..).zip(states);
    let mended: Vec<_> = mended
        .flat_map(|(number, state)| rolled_out(state, number))
        .collect();
    check(&mended, &[]);
}

/// Given builds that fail as before, how long they took and how many of their steps had been done makes them no other ones.
#[test]
fn builds_that_fail_in_other_times() {
    let built = |number: usize, error: &str| {
        let printed = format!(
            "> Task :app:compileJava FAILED\n/app/A.java:{}: error: {error}\n1 error\n\nFAILURE: Build failed with an exception.\n\n\
             * What went wrong:\nExecution failed for task ':app:compileJava'.\n\nBUILD FAILED in {}s\n{} actionable tasks: {} executed",
            number + 12,
            number + 3,
            5 - number % 3,
            number % 3
        );
        let change = json!({"path": "A.java", "text": format!("int size = {number};")});
        [
            event("edit_file", &change, "The file was changed."),
            failed("bash", "./gradlew build", &printed),
        ]
    };
    let same: Vec<_> = (0..6)
        .flat_map(|number| built(number, "no symbol `size`"))
        .collect();
    assert!(is_warned_of(&same));
    let moves: Vec<_> = (0..6)
        .flat_map(|number| built(number, &format!("no symbol `{}`", NAMES[number])))
        .collect();
    check(&moves, &[]);
}

/// Given a job that is started anew and whose state says each time that it failed in the same way, that is found by the state
/// alone; where its log says how each time, and says another thing, it is not, nor is the state of each of several jobs of a queue.
#[test]
fn states_of_jobs_that_fail_as_before() {
    let run = |number: usize| format!("jr_{}f2a91c077d14e0b", number + 1);
    let state = |number: usize| {
        let told = json!({"run": {"id": run(number), "state": "FAILED", "message": "No schema was given.", "ExecutionTime": 40 + number}});
        event(
            "get_job_run",
            &json!({"job": "load", "run": run(number)}),
            &told.to_string(),
        )
    };
    let begun = |number: usize| {
        event(
            "start_job_run",
            &json!({"job": "load"}),
            &json!({"run": run(number)}).to_string(),
        )
    };
    let each = |between: &dyn Fn(usize) -> Vec<Value>| -> Vec<Value> {
        (0..7).flat_map(between).collect()
    };
    assert!(is_warned_of(&each(&|number| vec![
        begun(number),
        state(number)
    ])));
    let told = |number: usize| {
        event(
            "get_job_log",
            &json!({"run": run(number)}),
            &format!("It lacks the {}.", NAMES[number]),
        )
    };
    check(
        &each(&|number| vec![begun(number), state(number), told(number)]),
        &[],
    );
    let next = |number: usize| {
        let job = json!({"run": run(number), "title": format!("Load the {}", NAMES[number])});
        event("get_next_job", &json!({}), &job.to_string())
    };
    check(&each(&|number| vec![next(number), state(number)]), &[]);
    let claim = |number: usize| {
        let claimed = json!({"task": run(number)}).to_string();
        event("claim_task", &json!({}), &claimed)
    };
    check(&each(&|number| vec![claim(number), state(number)]), &[]);
}

/// Given a table in which one pod has crashed for long, and others are rolled out one after the other, that is nobody's concern.
#[test]
fn pods_that_have_crashed_for_long() {
    let rolled_out = |number: usize| {
        let name = NAMES[number];
        let others = NAMES[..3]
            .iter()
            .map(|name| format!("\n{name}-0   1/1   Running   0   {number}m"));
        let others = others.collect::<Vec<_>>().concat();
        [
            call(
                "bash",
                &format!("helm upgrade {name} charts/{name}"),
                &format!("Release {name} has been upgraded."),
            ),
            call(
                "bash",
                "kubectl get pods",
                &format!("{}{others}", pods("CrashLoopBackOff", 2)),
            ),
        ]
    };
    check(&(0..6).flat_map(rolled_out).collect::<Vec<_>>(), &[]);
}
