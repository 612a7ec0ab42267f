//! What programs print of what runs, in tables and lines: which of it is being made or has not come up yet, and which fails and is
//! started again and again.

use crate::normalize::value::sample::cut;

use super::doing::is_doing_alone;
use super::{SENTENCE_BYTES_MAX, is_state};

/// How much of a table is looked at.
const SHOWN_BYTES_MAX: usize = 1_024;

/// States of Kubernetes' pods whose containers are being made, and an address that is being given.
const MAKING: [&str; 4] = [
    " ContainerCreating ",
    " PodInitializing ",
    " Init:",
    " <pending> ",
];

/// States of pods that will not come up: they have done what they were made for, or were driven out.
const OVER: [&str; 3] = ["Completed", "Succeeded", "Evicted"];

/// How the first line of a table of pods begins, and the columns that it has besides.
const HEADS: [&str; 2] = ["NAME ", "NAMESPACE "];
const STATUS: &str = " STATUS ";
const COUNTS: [&str; 2] = [" READY ", " COMPLETIONS "];

/// How Docker's table of containers begins, and what it shows of one that is started again and again, or has not come up yet.
const CONTAINERS: &str = "CONTAINER ID ";
const RESTARTING: &str = " Restarting (";
const COMING_UP: &str = "(health: starting)";

/// How Slurm's tables of jobs begin, in lower case, and what is in them of a job that waits or runs.
const JOBS: &str = "jobid";
const QUEUED: [&str; 8] = [
    "PD",
    "CF",
    "R",
    "CG",
    "PENDING",
    "CONFIGURING",
    "RUNNING",
    "COMPLETING",
];

/// How systemd shows a unit that is being started or stopped, behind a point.
const UNIT: &str = "\u{25cf} ";
const UNIT_CHANGES: [&str; 3] = [
    "Active: activating (start",
    "Active: deactivating",
    "Active: reloading",
];

/// How GitHub's program shows a run that goes on, `* main CI · 4711`.
const RUN_GOES_ON: &str = "* ";

/// Whether a table, as `kubectl`, Docker and Slurm print them, a row of one, or what systemd and GitHub's program show of one
/// thing, shows something that is being made or has not come up yet.
pub(super) fn shows_what_is_to_be(text: &str) -> bool {
    // Nearly every text is told by its first letter.
    let shows = match text.as_bytes().first() {
        Some(b'N') => shows_things_to_be(cut(text, SHOWN_BYTES_MAX)),
        Some(b'C') => text.starts_with(CONTAINERS) && comes_up(cut(text, SHOWN_BYTES_MAX)),
        Some(b'*') => {
            text.starts_with(RUN_GOES_ON) && cut(text, SENTENCE_BYTES_MAX).contains(super::RUN)
        }
        Some(b'J' | b' ') => shows_jobs_to_be(cut(text.trim_start(), SHOWN_BYTES_MAX)),
        Some(0xe2) => {
            text.starts_with(UNIT) && {
                let shown = cut(text, SHOWN_BYTES_MAX);
                UNIT_CHANGES.iter().any(|state| shown.contains(state))
            }
        }
        _ => false,
    };
    shows || is_row_to_be(text)
}

/// Whether a table of Kubernetes, or one of names and states, shows what is being made: a state that says so, fewer parts that are
/// ready than there should be, or a pod that has waited for a node for less than two minutes. What fails is not being made.
fn shows_things_to_be(shown: &str) -> bool {
    if !HEADS.iter().any(|head| shown.starts_with(head)) || shows_failing(shown) {
        return false;
    }
    if comes_up(shown) || MAKING.iter().any(|state| shown.contains(state)) {
        return true;
    }
    let mut lines = shown.lines();
    let head = lines.next().unwrap_or_default();
    let counts = COUNTS.iter().any(|column| head.contains(column));
    counts && lines.any(is_short_of_parts)
}

fn comes_up(shown: &str) -> bool {
    shown.contains(COMING_UP)
}

/// Whether a row, `web-0   0/1   Running   0   9s`, tells of fewer parts than there should be.
fn is_short_of_parts(row: &str) -> bool {
    let words = || row.split_ascii_whitespace();
    let is_short = words().skip(1).any(|word| {
        let (ready, all) = word.split_once('/').unwrap_or_default();
        let numbers = (ready.parse::<u32>(), all.parse::<u32>());
        matches!(numbers, (Ok(ready), Ok(all)) if ready < all)
    });
    // One that waits for longer may have no node to go to: seconds are told of the first two minutes.
    let waits_long = || {
        let age = words().next_back().unwrap_or_default();
        let is_young = age
            .strip_suffix('s')
            .is_some_and(|age| age.parse::<u32>().is_ok());
        words().any(|word| word == "Pending") && !is_young
    };
    is_short && !words().any(|word| OVER.contains(&word) || is_failing_state(word)) && !waits_long()
}

/// Whether a table of Slurm shows a job that waits or runs.
fn shows_jobs_to_be(shown: &str) -> bool {
    let is_of_jobs = shown
        .get(..JOBS.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(JOBS));
    let is_queued = |row: &str| {
        let mut words = row.split_ascii_whitespace();
        words.any(|word| QUEUED.contains(&word))
    };
    is_of_jobs && shown.lines().skip(1).any(is_queued)
}

/// Whether a text is one row, as programs print them for others, with a cell that says so.
fn is_row_to_be(text: &str) -> bool {
    let row = text.trim_end();
    if row.len() > SENTENCE_BYTES_MAX || !row.contains('\t') || row.contains('\n') {
        return false;
    }
    let mut cells = row.split('\t').map(str::trim);
    cells.any(|cell| is_state(cell.as_bytes()) || is_doing_alone(cell))
}

/// Whether a table shows a container that fails, or pods of which at least half do: what runs is not what should. One of several
/// may have failed for long, and be nobody's concern.
pub(super) fn shows_failing(table: &str) -> bool {
    if table.starts_with(CONTAINERS) {
        return cut(table, SHOWN_BYTES_MAX).contains(RESTARTING);
    }
    if !HEADS.iter().any(|head| table.starts_with(head)) {
        return false;
    }
    let mut lines = cut(table, SHOWN_BYTES_MAX).lines();
    let has_states = lines.next().is_some_and(|head| head.contains(STATUS));
    if !has_states {
        return false;
    }
    let fails = |row: &str| row.split_ascii_whitespace().skip(1).any(is_failing_state);
    let (mut rows, mut failing) = (0, 0);
    for row in lines {
        rows += 1;
        failing += usize::from(fails(row));
    }
    failing > 0 && failing * 2 >= rows
}

/// Whether a word is such a state of a pod's: `CrashLoopBackOff`, `ErrImagePull`, `CreateContainerConfigError`, `OOMKilled`.
/// Names of pods have no capitals.
pub(super) fn is_failing_state(word: &str) -> bool {
    word.ends_with("BackOff")
        || word.ends_with("Error")
        || word.starts_with("Err")
        || word == "OOMKilled"
}

#[cfg(test)]
mod tests {
    use super::{shows_failing, shows_what_is_to_be};

    /// Given what programs show of things that are being made, wait for their turn or have not come up yet, that is seen; what
    /// has come up, is over, fails, or has waited for long is not.
    #[test]
    fn what_is_being_made() {
        let pods = |row: &str| format!("NAME    READY   STATUS   RESTARTS   AGE\n{row}");
        for text in [
            &pods("web-0   0/1   Running   0   9m"),
            &pods("web-0   0/1   Pending   0   12s"),
            &pods("web-0   1/1   Running   0   9m\nweb-1   0/2   Init:0/1   0   3s"),
            "NAME   COMPLETIONS   DURATION   AGE\nload   0/1   5s   5s",
            "NAME   TYPE   CLUSTER-IP   EXTERNAL-IP   PORT(S)\nlb   LoadBalancer   10.0.0.9   <pending>   80:31412/TCP",
            "CONTAINER ID   STATUS\n0a1b2c3d4e5f   Up 3 seconds (health: starting)",
            "             JOBID PARTITION     NAME     USER ST       TIME  NODES\n                71     batch     load      ann PD       0:00      1",
            "JobID    JobName    State\n71       load       RUNNING",
            "\u{25cf} web.service - Web\n   Active: activating (start) since Mon",
            "* main CI \u{b7} 4711\nTriggered via push",
            "db-1\tmodifying\t20",
        ] {
            assert!(shows_what_is_to_be(text), "{text}");
        }
        for text in [
            "",
            "Name of the ship",
            &pods("web-0   1/1   Running   0   9m"),
            &pods("load-x   0/1   Completed   0   9m"),
            &pods("web-0   0/1   Pending   0   9m"),
            &pods("web-0   0/1   CrashLoopBackOff   4 (2m ago)   9m"),
            "NAME   SCORE\nann   3/6",
            "CONTAINER ID   STATUS\n0a1b2c3d4e5f   Up 3 minutes (healthy)",
            "JobID    JobName    State\n71       load       FAILED",
            "\u{25cf} web.service - Web\n   Active: active (running) since Mon",
            "* a point\n* another one",
            "db-1\tavailable\t20",
            "pending\nrunning\tfast",
        ] {
            assert!(!shows_what_is_to_be(text), "{text}");
        }
    }

    /// Given tables of what runs, those show something that fails in which a pod or a container does.
    #[test]
    fn what_is_started_again_and_again() {
        let pods = |state: &str| {
            format!(
                "NAME    READY   STATUS   RESTARTS   AGE\nweb-0   0/1   {state}   4 (2m ago)   9m"
            )
        };
        for state in [
            "CrashLoopBackOff",
            "Init:CrashLoopBackOff",
            "ErrImagePull",
            "Error",
            "CreateContainerConfigError",
            "OOMKilled",
        ] {
            assert!(shows_failing(&pods(state)), "{state}");
            assert!(shows_failing(&format!("NAMESPACE   {}", pods(state))));
        }
        let containers = |state: &str| {
            format!(
                "CONTAINER ID   IMAGE   COMMAND   CREATED   STATUS   PORTS   NAMES\n0a1b2c3d4e5f   web   \"web\"   2 days ago   {state}   web"
            )
        };
        assert!(shows_failing(&containers("Restarting (1) 5 seconds ago")));
        for other in [
            format!(
                "{}\nweb-1   1/1   Running   0   9m\nweb-2   1/1   Running   0   9m",
                pods("Error")
            ),
            pods("Running"),
            pods("Completed"),
            pods("ContainerCreating"),
            containers("Up 3 minutes"),
            "NAME   KIND\nCrashLoopBackOff   a state".to_owned(),
            "NAME is Error".to_owned(),
            String::new(),
        ] {
            assert!(!shows_failing(&other), "{other}");
        }
    }
}
