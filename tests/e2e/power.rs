//! Power cuts: what was acknowledged is there although everything that was never synced may be lost (P1).
//!
//! A small library (`power.c`) is loaded into the daemon and notes what each write replaces, which names come and go, and what
//! each sync brings to the disk. The daemon is killed; then, page by page, the dice say how many of the writes that no sync covers
//! have reached the disk, in whatever order, and whether a file has its new length. Names reach the disk with a sync of their
//! directory and of nothing else: of what was made, renamed and removed in it since, it has come to as many as the dice say, in
//! their order, since file systems keep that. What goes with a whole directory stays gone.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::kill::{Feeding, SENDERS, compare};
use super::load::set_by;
use super::support::{Daemon, Dice, Library, eddy, free_port};

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

/// What came of the names in a directory.
enum Naming {
    Made(String),
    /// Where the file lies since.
    Removed(String, PathBuf),
    Renamed(String, String),
}

impl Naming {
    /// Has the directory be as it was before. The daemon may have been killed before it came to it, and what has no name any
    /// more cannot be taken back either.
    fn take_back(&self, directory: &Path) {
        let path = |name: &String| directory.join(name);
        let _ = match self {
            Self::Made(name) if path(name).is_dir() => fs::remove_dir_all(path(name)),
            Self::Made(name) => fs::remove_file(path(name)),
            Self::Removed(name, kept) => fs::rename(kept, path(name)),
            Self::Renamed(old, new) => fs::rename(path(new), path(old)),
        };
    }
}

/// What no sync covers, by file or directory, each with its sequence number, oldest first.
#[derive(Default)]
struct Unsynced {
    writes: HashMap<u64, Vec<(u64, Write)>>,
    names: HashMap<u64, Vec<(u64, Naming)>>,
}

impl Unsynced {
    /// By the notes, beside which the removed files lie.
    fn noted(path: &Path) -> Self {
        let notes = fs::read(path).expect("there are notes");
        let mut unsynced = Self::default();
        let mut rest = &notes[..];
        while rest.len() >= 56 {
            let (head, behind) = rest.split_at(56);
            let number = |place: usize| {
                let bytes = head[8 * place..8 * place + 8].try_into();
                u64::from_ne_bytes(bytes.expect("eight bytes"))
            };
            let head = [0, 1, 2, 3, 4, 5, 6].map(number);
            // It was killed while it wrote this.
            let Some(kept) = behind.get(..head[6] as usize) else {
                break;
            };
            rest = &behind[kept.len()..];
            unsynced.note(head, kept, &removed(path));
        }
        unsynced
    }

    fn note(&mut self, head: [u64; 7], kept: &[u8], removed: &Path) {
        let [kind, file, sequence, offset, length, size, _] = head;
        if kind == 2 {
            let writes = self.writes.entry(file).or_default();
            writes.retain(|(written, _)| *written > sequence);
            let names = self.names.entry(file).or_default();
            names.retain(|(named, _)| *named > sequence);
        } else if kind == 1 {
            let kept = kept.to_vec();
            let write = Write {
                offset,
                length,
                size,
                kept,
            };
            let writes = self.writes.entry(file).or_default();
            writes.push((sequence, write));
        } else {
            let name = String::from_utf8_lossy(kept).into_owned();
            let naming = match name.split_once('/') {
                Some((old, new)) => Naming::Renamed(old.into(), new.into()),
                None if kind == 3 => Naming::Made(name),
                None => Naming::Removed(name, removed.join(sequence.to_string())),
            };
            let names = self.names.entry(file).or_default();
            names.push((sequence, naming));
        }
    }
}

/// What is in a snapshot may be gone from the journal: a directory of snapshots never lacks more than the name of the newest, and
/// has its own name.
fn check_snapshots(data: &Path, unsynced: &Unsynced) {
    let snapshots = data.join("snapshots");
    if !snapshots.exists() {
        return;
    }
    let names = |directory| unsynced.names.get(&inode(directory)).into_iter().flatten();
    let is_renamed = |naming: &&(u64, Naming)| matches!(naming.1, Naming::Renamed(..));
    let unnamed = names(&snapshots).filter(is_renamed).count();
    assert!(unnamed <= 1, "{unnamed} snapshots have no name");
    let files = entries(&snapshots);
    let is_whole = |path: &&PathBuf| path.extension().is_some_and(|kind| kind == "snapshot");
    if files.iter().filter(is_whole).count() > unnamed {
        let is_its = |(_, naming): &(u64, Naming)| matches!(naming, Naming::Made(name) if name == "snapshots");
        assert!(!names(data).any(is_its), "their directory has no name");
    }
}

/// Makes a copy of the data directory, and looks whether a power cut may take anything of it.
fn check_copy(library: &Library, data: &Path, to: &Path) {
    let mut backup = eddy();
    backup.arg("backup").arg(to).arg("--data-dir").arg(data);
    library.load_into(&mut backup);
    let output = backup.output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    let unsynced = Unsynced::noted(&library.file);
    let above = to.parent().map(Path::to_owned);
    let copied = entries(to);
    assert!(copied.len() > 5, "{copied:?}");
    for path in copied.into_iter().chain([to.to_owned()]).chain(above) {
        let (names, writes) = (&unsynced.names, &unsynced.writes);
        let lost = names.get(&inode(&path)).map_or(0, Vec::len)
            + writes.get(&inode(&path)).map_or(0, Vec::len);
        assert_eq!(lost, 0, "{}", path.display());
    }
}

/// Where the library keeps the files that were removed.
fn removed(notes: &Path) -> PathBuf {
    notes.with_extension("removed")
}

/// How many of so many have reached the disk.
fn reached(all: usize, dice: &mut Dice) -> usize {
    match dice.below(3) {
        0 => 0,
        1 => all,
        _ => dice.below(all + 1),
    }
}

/// Takes back some of the writes, and perhaps the length that they gave the file. Answers how many pages have lost something.
fn lose(path: &Path, writes: &[(u64, Write)], dice: &mut Dice) -> usize {
    let mut bytes = fs::read(path).expect("it can be read");
    let mut of_page: BTreeMap<u64, Vec<&Write>> = BTreeMap::new();
    for (_, write) in writes {
        for page in write.pages() {
            of_page.entry(page).or_default().push(write);
        }
    }
    let mut lost = 0;
    for (page, writes) in of_page {
        let reached = reached(writes.len(), dice);
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
    let size = writes.iter().map(|(_, write)| write.size).min();
    if let Some(size) = size.filter(|_| dice.below(2) == 0) {
        bytes.truncate(size as usize);
    }
    fs::write(path, bytes).expect("it can be written");
    lost
}

/// All files and directories in a directory, each before what lies in it.
fn entries(directory: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            paths.append(&mut entries(&path));
        }
        paths.push(path);
    }
    paths.sort();
    paths
}

fn inode(path: &Path) -> u64 {
    fs::metadata(path).expect("it is there").ino()
}

/// What power cuts have taken back.
#[derive(Default)]
struct Lost {
    cuts: u64,
    pages: usize,
    names: usize,
}

impl Lost {
    /// Cuts the power of a daemon that was killed.
    fn cut_power(&mut self, data: &Path, notes: &Path, dice: &mut Dice) {
        self.cuts += 1;
        let unsynced = Unsynced::noted(notes);
        check_snapshots(data, &unsynced);
        self.cut_names(data, &unsynced, dice);
        let files = if data.exists() {
            entries(data)
        } else {
            Vec::new()
        };
        for path in files.into_iter().filter(|path| path.is_file()) {
            if let Some(writes) = unsynced.writes.get(&inode(&path))
                && !writes.is_empty()
            {
                self.pages += lose(&path, writes, dice);
            }
        }
        fs::remove_file(notes).expect("they are ours");
        fs::remove_dir_all(removed(notes)).expect("it is ours");
    }

    /// What lies in a directory first: its own name may be lost, too. The first cut takes all that it may: what a first start
    /// makes is made once.
    fn cut_names(&mut self, data: &Path, unsynced: &Unsynced, dice: &mut Dice) {
        let mut directories = entries(data);
        directories.retain(|path| path.is_dir());
        directories.reverse();
        directories.push(data.to_owned());
        directories.extend(data.parent().map(Path::to_owned));
        for directory in directories {
            let Some(names) = unsynced.names.get(&inode(&directory)) else {
                continue;
            };
            let reached = match self.cuts {
                1 => 0,
                _ => reached(names.len(), dice),
            };
            for (_, naming) in names[reached..].iter().rev() {
                naming.take_back(&directory);
                self.names += 1;
            }
        }
    }
}

/// Given a daemon under load whose power is cut at random moments (`EDDY_CUTS` times), no acknowledged span is without effect,
/// and none counts twice; nor may a power cut take what stands in for the database, which are snapshots and copies.
#[cfg(target_os = "linux")]
#[test]
fn acknowledged_is_there_after_power_cuts() {
    let cuts = set_by("EDDY_CUTS", 6);
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    let (data, config) = (path("data"), path("eddy.yaml"));
    let library = Library::compiled("power", "EDDY_UNDO", directory.path());
    fs::write(&config, "service: {snapshot_interval: 50ms}\n").expect("it can be written");
    let config = config.to_string_lossy().into_owned();
    let grpc = free_port();
    let start = || Daemon::start_with_library(&library, &data, grpc, &["--config", &config]);
    let mut dice = Dice(11);
    let mut daemon = start();
    let feeding = Feeding::start(grpc);
    let (mut lost, mut mended) = (Lost::default(), 0);
    for cut in 1..=cuts {
        std::thread::sleep(Duration::from_millis(50 + dice.below(600) as u64));
        let acknowledged = feeding.acknowledged();
        daemon.kill_9();
        lost.cut_power(&data, &library.file, &mut dice);
        daemon = start();
        mended += usize::from(daemon.stderr.lock().expect("whole").contains("damaged"));
        compare(&daemon, &acknowledged, &[u64::MAX; SENDERS as usize], cut);
    }
    let all = feeding.stop();
    compare(&daemon, &all, &all, cuts + 1);
    daemon.kill_9();
    lost.cut_power(&data, &library.file, &mut dice);
    check_copy(&library, &data, &path("copy"));
    let calls: u64 = all.iter().sum();
    let Lost { cuts, pages, names } = lost;
    println!(
        "{cuts} cuts lost {pages} pages and {names} names; the database was made anew {mended} times; all of {calls} calls are there"
    );
    assert!(calls > cuts * 10 && pages > 0 && names > 0);
}
