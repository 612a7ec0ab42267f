//! Tables that programs print of what runs: which of it is being made, and which fails and is started again and again.

use crate::normalize::value::sample::cut;

/// How much of a table is looked at.
const SHOWN_BYTES_MAX: usize = 1_024;

/// States of Kubernetes' pods whose containers are being made. One that is `Pending` may have no node to go to.
const MAKING: [&str; 3] = [" ContainerCreating ", " PodInitializing ", " Init:"];

/// How the first line of a table of pods begins, and the column that it has besides.
const HEADS: [&str; 2] = ["NAME ", "NAMESPACE "];
const STATUS: &str = " STATUS ";

/// How Docker's table of containers begins, and what it shows of one that is started again and again.
const CONTAINERS: &str = "CONTAINER ID ";
const RESTARTING: &str = " Restarting (";

/// Whether a table, as `kubectl` prints it, shows a pod that is being made.
pub(super) fn shows_pods_to_be(table: &str) -> bool {
    if !table.starts_with(HEADS[0]) {
        return false;
    }
    let shown = cut(table, SHOWN_BYTES_MAX);
    MAKING.iter().any(|state| shown.contains(state))
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
    use super::shows_failing;

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
