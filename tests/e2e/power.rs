//! Power cuts: what was acknowledged is there although everything that was never synced may be lost (P1).
//!
//! A small library (`power.c`) is loaded into the daemon and notes what each write replaces and what each sync brings to the
//! disk. The daemon is killed; then, page by page, the dice say how many of the writes that no sync covers have reached the
//! disk, in whatever order, and whether a file has its new length. What has been renamed or removed stays so: journalling file
//! systems bring that to the disk in order.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::kill::{Feeding, SENDERS, compare};
use super::load::set_by;
use super::support::{Daemon, Dice, Library, free_port};

/// What the disk writes at once, at least.
const PAGE: u64 = 4096;

/// A write that was noted.
struct Write {
    offset: u64,
    length: u64,
    /// Size of the file before it.
    size: u64,
    /// What was there.
    kept: Vec<u8>,
}

impl Write {
    fn pages(&self) -> std::ops::RangeInclusive<u64> {
        self.offset / PAGE..=(self.offset + self.length - 1) / PAGE
    }
}

/// The writes that no sync covers, by file, oldest first.
fn unsynced(notes: &[u8]) -> HashMap<u64, Vec<Write>> {
    let mut writes: HashMap<u64, Vec<(u64, Write)>> = HashMap::new();
    let mut rest = notes;
    while rest.len() >= 56 {
        let (head, behind) = rest.split_at(56);
        let number = |place: usize| {
            let bytes = head[8 * place..8 * place + 8].try_into();
            u64::from_ne_bytes(bytes.expect("eight bytes"))
        };
        let [kind, file, sequence, offset, length, size, kept] = [0, 1, 2, 3, 4, 5, 6].map(number);
        // It was killed while it wrote this.
        let Some(bytes) = behind.get(..kept as usize) else {
            break;
        };
        rest = &behind[kept as usize..];
        let of_file = writes.entry(file).or_default();
        if kind == 2 {
            of_file.retain(|(written, _)| *written > sequence);
        } else {
            let kept = bytes.to_vec();
            let write = Write {
                offset,
                length,
                size,
                kept,
            };
            of_file.push((sequence, write));
        }
    }
    let files = writes.into_iter();
    files
        .map(|(file, writes)| (file, writes.into_iter().map(|(_, write)| write).collect()))
        .collect()
}

/// Takes back some of the writes, and perhaps the length that they gave the file. Answers how many pages have lost something.
fn lose(path: &Path, writes: &[Write], dice: &mut Dice) -> usize {
    let mut bytes = fs::read(path).expect("it can be read");
    let mut of_page: BTreeMap<u64, Vec<&Write>> = BTreeMap::new();
    for write in writes {
        for page in write.pages() {
            of_page.entry(page).or_default().push(write);
        }
    }
    let mut lost = 0;
    for (page, writes) in of_page {
        let reached = match dice.below(3) {
            0 => 0,
            1 => writes.len(),
            _ => dice.below(writes.len() + 1),
        };
        lost += usize::from(reached < writes.len());
        for write in writes[reached..].iter().rev() {
            let from = write.offset.max(page * PAGE);
            let to = (write.offset + write.length).min((page + 1) * PAGE);
            for place in from..to.min(bytes.len() as u64) {
                let kept = write.kept.get((place - write.offset) as usize);
                bytes[place as usize] = kept.copied().unwrap_or(0);
            }
        }
    }
    let size = writes.iter().map(|write| write.size).min();
    if let Some(size) = size.filter(|_| dice.below(2) == 0) {
        bytes.truncate(size as usize);
    }
    fs::write(path, bytes).expect("it can be written");
    lost
}

/// All files in a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            paths.append(&mut files(&path));
        } else {
            paths.push(path);
        }
    }
    paths.sort();
    paths
}

/// Cuts the power of a daemon that was killed. Answers how many pages have lost something.
fn cut_power(data: &Path, notes: &Path, dice: &mut Dice) -> usize {
    let unsynced = unsynced(&fs::read(notes).expect("there are notes"));
    fs::remove_file(notes).expect("they are ours");
    let mut lost = 0;
    for path in files(data) {
        let inode = fs::metadata(&path).expect("it is there").ino();
        if let Some(writes) = unsynced.get(&inode).filter(|writes| !writes.is_empty()) {
            lost += lose(&path, writes, dice);
        }
    }
    lost
}

/// Given a daemon under load whose power is cut at random moments (`EDDY_CUTS` times), no acknowledged span is without effect,
/// and none counts twice.
#[cfg(target_os = "linux")]
#[test]
fn acknowledged_is_there_after_power_cuts() {
    let cuts = set_by("EDDY_CUTS", 6);
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    let (data, config) = (path("data"), path("eddy.yaml"));
    let library = Library::compiled("power", "EDDY_UNDO", directory.path());
    fs::write(&config, "service: {snapshot_interval: 200ms}\n").expect("it can be written");
    let config = config.to_string_lossy().into_owned();
    let grpc = free_port();
    let start = || Daemon::start_with_library(&library, &data, grpc, &["--config", &config]);
    let mut dice = Dice(11);
    let mut daemon = start();
    let feeding = Feeding::start(grpc);
    let (mut lost, mut mended) = (0, 0);
    for cut in 1..=cuts {
        std::thread::sleep(Duration::from_millis(50 + dice.below(600) as u64));
        let acknowledged = feeding.acknowledged();
        daemon.kill_9();
        lost += cut_power(&data, &library.file, &mut dice);
        daemon = start();
        mended += usize::from(daemon.stderr.lock().expect("whole").contains("damaged"));
        compare(&daemon, &acknowledged, &[u64::MAX; SENDERS as usize], cut);
    }
    let all = feeding.stop();
    compare(&daemon, &all, &all, cuts + 1);
    let calls: u64 = all.iter().sum();
    println!(
        "{cuts} cuts lost {lost} pages; the database was made anew {mended} times; all of {calls} calls are there"
    );
    assert!(calls > cuts * 10 && lost > 0);
}
