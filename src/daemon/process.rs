//! What the system knows of this process, where it says so (Linux), and what it is asked for.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Ticks of a second in which Linux counts processor time for programs, on every machine that Rust builds for.
const TICKS_PER_SECOND: f64 = 100.0;

/// Has a write that would make a file longer than a limit allows fail, as on a full disk; else the system ends the process. And
/// asks for as many open files as the process may have: the usual limit is one for programs that cannot have more.
///
/// # Errors
/// When the system does not let the process listen for the signal.
#[cfg(unix)]
pub(crate) fn live_with_limits() -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let maximum = getrlimit(Resource::Nofile).maximum;
    let current = maximum;
    // Where it is refused, what there is has to do.
    let _ = setrlimit(Resource::Nofile, Rlimit { current, maximum });
    let signal = rustix::process::Signal::XFSZ.as_raw();
    // What is set for it stays when nobody listens any more.
    tokio::signal::unix::signal(tokio::signal::unix::SignalKind::from_raw(signal)).map(drop)
}

/// There are no such limits.
#[cfg(not(unix))]
pub(crate) fn live_with_limits() -> io::Result<()> {
    Ok(())
}

/// Memory in use, in bytes.
pub(super) fn resident_bytes() -> Option<u64> {
    status_bytes("VmRSS:")
}

/// Memory in use that is no file's, so that the system cannot take it away, in bytes.
pub(super) fn anonymous_bytes() -> Option<u64> {
    status_bytes("RssAnon:")
}

fn status_bytes(name: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes << 10)
}

/// What the container of this process may take of memory, in bytes, and the file that says so.
pub(super) fn container_bytes() -> Option<(u64, PathBuf)> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    least_limit(&groups, Path::new("/sys/fs/cgroup"))
}

/// The least limit of memory among the control groups of a process, as `/proc/PID/cgroup` names them, and those above, of both
/// versions. In a container the path may be the host's, of which only the end of the way up is there.
fn least_limit(groups: &str, root: &Path) -> Option<(u64, PathBuf)> {
    let limits = groups.lines().filter_map(|line| {
        let (_number, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let (root, file) = match controllers {
            "" => (root.to_owned(), "memory.max"),
            _ if controllers.split(',').any(|one| one == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes")
            }
            _ => return None,
        };
        let path = Path::new(path.trim_start_matches('/'));
        let groups = path
            .ancestors()
            .map(move |group| root.join(group).join(file));
        groups.filter_map(limit_in).min()
    });
    limits.min()
}

/// The limit that a file of a control group says, if it is one: where there is none, some say a number beyond all memory.
fn limit_in(file: PathBuf) -> Option<(u64, PathBuf)> {
    const BEYOND_ALL: u64 = 1 << 50;
    let bytes = fs::read_to_string(&file).ok()?.trim().parse().ok()?;
    (bytes < BEYOND_ALL).then_some((bytes, file))
}

/// Processor time used by all threads, in seconds.
pub(super) fn cpu_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program, in parentheses, may hold anything; what counts comes behind it.
    let fields = stat.rsplit_once(')')?.1;
    let mut times = fields.split_whitespace().skip(11);
    let user: u64 = times.next()?.parse().ok()?;
    let system: u64 = times.next()?.parse().ok()?;
    Some((user + system) as f64 / TICKS_PER_SECOND)
}

/// Number of open file descriptors.
pub(super) fn open_files() -> Option<usize> {
    fs::read_dir("/proc/self/fd").ok().map(Iterator::count)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given these control groups and limits, the expected one of the files counts.
    fn check(groups: &str, limits: &[(&str, &str)], expected: Option<(u64, &str)>) {
        let root = tempfile::tempdir().unwrap();
        for (file, text) in limits {
            let file = root.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let expected = expected.map(|(bytes, file)| (bytes, root.path().join(file)));
        let found = least_limit(groups, root.path());
        assert_eq!(found, expected, "{groups} {limits:?}");
    }

    /// Given control groups of either version, the least limit on the way up counts, and none where none is one.
    #[test]
    fn the_least_limit_of_all_groups_counts() {
        const TWO: &str = "0::/pods/one\n";
        const ONE: &str = "5:cpu,cpuacct:/pods\n4:memory:/docker/abc\n0::/\n";
        const NONE: &str = "9223372036854771712\n";
        const OWN: &str = "memory/docker/abc/memory.limit_in_bytes";
        const TOP: &str = "memory/memory.limit_in_bytes";
        check(TWO, &[], None);
        check(TWO, &[("memory.max", "max\n")], None);
        let own = ("pods/one/memory.max", "1000\n");
        check(TWO, &[own], Some((1000, own.0)));
        let above = ("pods/memory.max", "900\n");
        check(TWO, &[above, own], Some((900, above.0)));
        let top = ("memory.max", "70\n");
        check("0::/\n", &[top], Some((70, top.0)));
        check(ONE, &[(OWN, NONE)], None);
        check(ONE, &[(TOP, "80\n")], Some((80, TOP)));
        check(ONE, &[(OWN, "60\n"), (TOP, NONE)], Some((60, OWN)));
    }

    /// Given this process, its numbers are there and plausible.
    #[cfg(target_os = "linux")]
    #[test]
    fn numbers_are_plausible() {
        assert!(anonymous_bytes().unwrap() > 1 << 16);
        assert!(resident_bytes().unwrap() > anonymous_bytes().unwrap());
        assert!(cpu_seconds().unwrap() < 1e6);
        assert!(open_files().unwrap() >= 3);
    }
}
