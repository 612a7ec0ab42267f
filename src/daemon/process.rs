//! What the system knows of this process, where it says so (Linux).

use std::fs;

/// Ticks of a second in which Linux counts processor time for programs, on every machine that Rust builds for.
const TICKS_PER_SECOND: f64 = 100.0;

/// Memory in use, in bytes.
pub(super) fn resident_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes << 10)
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Given this process, its numbers are there and plausible.
    #[test]
    fn numbers_are_plausible() {
        assert!(resident_bytes().unwrap() > 1 << 20);
        assert!(cpu_seconds().unwrap() < 1e6);
        assert!(open_files().unwrap() >= 3);
    }
}
