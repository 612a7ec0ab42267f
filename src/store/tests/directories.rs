//! Whose a data directory is: ours, somebody else's, of a format that we know.

use std::path::PathBuf;

use super::*;

/// Given a directory that is open, a second opening says who holds it; once it is let go, it opens.
#[tokio::test]
async fn a_second_holder_is_told_who_holds_the_directory() {
    let dir = TempDir::new().unwrap();
    let store = open(dir.path());
    let Err(StoreError::Held { holder, .. }) = Store::open(dir.path(), &options()) else {
        panic!("the second opening is refused as held");
    };
    assert_eq!(holder, format!("pid {}", std::process::id()));
    // One that is about to be left is waited for.
    let leaving = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        drop(store);
    });
    open(dir.path());
    leaving.join().unwrap();
}

/// Given a lock file that a dead process left, the directory opens.
#[test]
fn a_stale_lock_file_does_not_block() {
    let dir = TempDir::new().unwrap();
    fs::write(
        dir.path().join("LOCK"),
        "pid 1, and some more text than we would write",
    )
    .unwrap();
    let _store = open(dir.path());
    let text = fs::read_to_string(dir.path().join("LOCK")).unwrap();
    assert_eq!(text, format!("pid {}\n", std::process::id()));
}

/// Given a link that leads nowhere, or to itself, in place of the directory or of one within, it is said to be one, and waited for:
/// nothing is changed, and what was committed is there when its disk is mounted.
#[cfg(unix)]
#[tokio::test]
async fn a_link_that_leads_nowhere_is_waited_for() {
    use std::os::unix::fs::symlink;
    for name in [
        "data",
        "data/store",
        "data/snapshots",
        "data/store/journal",
        "data/store/db",
    ] {
        let dir = TempDir::new().unwrap();
        let (data, link) = (dir.path().join("data"), dir.path().join(name));
        let store = open(&data);
        store.commit(idle("run", 1)).await.unwrap();
        store.close().await.unwrap();
        fs::create_dir_all(data.join("snapshots")).unwrap();
        let (disk, mounted) = (dir.path().join("disk"), dir.path().join("mounted"));
        fs::rename(&link, &disk).unwrap();
        for to in [&mounted, &link] {
            let _ = fs::remove_file(&link);
            symlink(to, &link).unwrap();
            let refused = Store::open(&data, &options()).err().unwrap();
            assert!(refused.is_disk_trouble(), "{name}: {refused}");
            assert!(
                refused.to_string().ends_with("is its disk mounted?"),
                "{refused}"
            );
        }
        fs::remove_file(&link).unwrap();
        symlink(&mounted, &link).unwrap();
        fs::rename(&disk, &mounted).unwrap();
        assert_eq!(replayed(&open(&data)).len(), 1, "{name}");
    }
}

/// Given a pipe, a socket, or a link that leads nowhere or to itself in place of a file, it is set aside, nobody waits for it, and
/// what was committed is there, but for what it held.
#[cfg(unix)]
#[tokio::test]
async fn what_is_no_file_is_set_aside() {
    use std::os::unix::{fs::symlink, net::UnixListener};
    let pipe = |path: &Path| {
        let made = std::process::Command::new("mkfifo").arg(path).status();
        assert!(made.unwrap().success());
    };
    let kinds: [&dyn Fn(&Path); 4] = [
        &pipe,
        &|path| drop(UnixListener::bind(path).unwrap()),
        &|path| symlink("/nowhere/eddy", path).unwrap(),
        &|path| symlink(path, path).unwrap(),
    ];
    for (name, kinds) in [
        ("LOCK", &kinds[..]),
        ("FORMAT", &kinds),
        ("RESERVE", &kinds),
        ("store/conf", &kinds),
        ("store/db", &kinds[..2]),
        ("store/OPENING", &kinds[..2]),
        ("snapshots/00000007.snapshot", &kinds[..2]),
        ("journal", &kinds[..2]),
    ] {
        for make in kinds {
            let dir = TempDir::new().unwrap();
            let store = open(dir.path());
            store.commit(idle("run", 1)).await.unwrap();
            store.close().await.unwrap();
            fs::create_dir_all(dir.path().join("snapshots")).unwrap();
            let path = match name {
                "journal" => journal_file(dir.path()),
                name => dir.path().join(name),
            };
            let _ = fs::remove_file(&path);
            make(&path);
            let store = open(dir.path());
            assert_eq!(
                replayed(&store).len(),
                usize::from(name != "journal"),
                "{name}"
            );
            store.commit(idle("run", 1)).await.unwrap();
            store.close().await.unwrap();
            let names = fs::read_dir(dir.path()).unwrap().flatten();
            let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
            assert!(
                names.into_iter().any(|name| name.starts_with("damaged-")),
                "{name}"
            );
        }
    }
}

/// The first file of the journal.
fn journal_file(dir: &Path) -> PathBuf {
    let mut files = fs::read_dir(dir.join("store/journal")).unwrap();
    files.next().unwrap().unwrap().path()
}

/// Given files that are far longer than what is in them, they are read no further than ours are long, and what was committed is
/// there; the database is set aside instead of being filled.
#[cfg(unix)]
#[tokio::test]
async fn files_of_absurd_lengths_are_not_read() {
    const LENGTH: u64 = 40 << 30;
    for name in ["FORMAT", "store/db", "journal"] {
        let dir = TempDir::new().unwrap();
        let store = open(dir.path());
        store.commit(idle("run", 1)).await.unwrap();
        store.close().await.unwrap();
        let path = match name {
            "journal" => journal_file(dir.path()),
            name => dir.path().join(name),
        };
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(LENGTH).unwrap();
        assert_eq!(replayed(&open(dir.path())).len(), 1, "{name}");
    }
}

/// Given a directory with other people's files, it is refused and left as it was.
#[test]
fn a_foreign_directory_is_left_alone() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("thesis.txt"), "precious").unwrap();
    let Err(StoreError::Foreign { found, .. }) = Store::open(dir.path(), &options()) else {
        panic!("the directory is refused as foreign");
    };
    assert_eq!(found, "thesis.txt");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

/// Given a database that another program wrote, it is refused and not changed.
#[test]
fn a_foreign_database_is_left_alone() {
    let dir = TempDir::new().unwrap();
    raw::put(dir.path(), b"theirs", b"data");
    assert!(matches!(
        Store::open(dir.path(), &options()),
        Err(StoreError::Foreign { .. })
    ));
    assert_eq!(raw::keys(dir.path()), ["theirs"]);
}

/// Given a store of an older or a newer format, whether its file or its database says so, it is refused with both numbers and not
/// changed.
#[test]
fn another_format_is_left_alone() {
    let check = |dir: &Path, format: u32| {
        let Err(StoreError::OtherFormat { found, known, .. }) = Store::open(dir, &options()) else {
            panic!("format {format} is refused");
        };
        assert_eq!((found, known), (format, open::SCHEMA_KNOWN));
    };
    for format in [1, open::SCHEMA_KNOWN - 1, open::SCHEMA_KNOWN + 1] {
        let dir = TempDir::new().unwrap();
        let said = format!("eddy store format {format}\n");
        fs::write(dir.path().join("FORMAT"), said).unwrap();
        check(dir.path(), format);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);

        let dir = TempDir::new().unwrap();
        drop(open(dir.path()));
        raw::put(dir.path(), keys::SCHEMA, &format.to_be_bytes());
        check(dir.path(), format);
        assert_eq!(
            raw::keys(dir.path()),
            ["!journal", "!position", "!runs", "!schema"]
        );
    }
}

/// Given a path that is a file, the refusal names it.
#[test]
fn a_path_that_is_no_directory_is_refused() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("file");
    fs::write(&path, "").unwrap();
    let Err(error) = Store::open(&path, &options()) else {
        panic!("a file is refused");
    };
    assert!(matches!(error, StoreError::Io { .. }), "{error}");
    let said = error.to_string();
    assert!(
        said.ends_with("file: it is there, and is no directory"),
        "{said}"
    );
}

/// Given a file of a store that is a directory, or the other way round, it is set aside, and what was committed is there, but for
/// what it held.
#[tokio::test]
async fn what_is_in_the_way_is_set_aside() {
    let files = ["LOCK", "FORMAT", "store/conf", "store/db"].map(|name| (name, true));
    let directories = [
        "store/blobs",
        "snapshots",
        "store/journal",
        "store",
        "store.new",
        "store.old",
    ]
    .map(|name| (name, false));
    for (name, is_file) in files.into_iter().chain(directories) {
        let dir = TempDir::new().unwrap();
        let store = open(dir.path());
        store.commit(idle("run", 1)).await.unwrap();
        store.close().await.unwrap();
        let path = dir.path().join(name);
        if is_file {
            fs::remove_file(&path).unwrap();
            fs::create_dir_all(path.join("theirs")).unwrap();
        } else {
            let _ = fs::remove_dir_all(&path);
            fs::write(&path, "theirs").unwrap();
        }
        let store = open(dir.path());
        let is_lost = matches!(name, "store/journal" | "store");
        assert_eq!(replayed(&store).len(), usize::from(!is_lost), "{name}");
        store.commit(idle("run", 1)).await.unwrap();
        store.close().await.unwrap();
        let aside = fs::read_dir(dir.path()).unwrap().flatten();
        let aside =
            aside.filter(|entry| entry.file_name().to_string_lossy().starts_with("damaged-"));
        assert_eq!(aside.count(), 1, "{name}");
    }
}

/// Given a link to nowhere where a database is put that is being made, it is set aside: nobody but the store puts one there.
#[tokio::test]
async fn a_link_where_a_database_is_made_is_set_aside() {
    let dir = TempDir::new().unwrap();
    let store = open(dir.path());
    store.commit(idle("run", 1)).await.unwrap();
    store.close().await.unwrap();
    let path = dir.path().join("store.new");
    std::os::unix::fs::symlink(dir.path().join("nowhere"), &path).unwrap();
    assert_eq!(replayed(&open(dir.path())).len(), 1);
    assert!(path.symlink_metadata().is_err());
}

/// Given a store whose journal is not there, as while its database is being set aside, no copy is made of it: it would lack what
/// was acknowledged last.
#[tokio::test]
async fn no_copy_lacks_the_journal() {
    let (dir, copies) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let store = open(dir.path());
    store.commit(idle("run", 1)).await.unwrap();
    store.close().await.unwrap();
    let to = copies.path().join("copy");
    let whole = [PathBuf::new()];
    assert_eq!(backup::copy(dir.path(), &to, &whole).unwrap()[0].records, 1);
    fs::remove_dir_all(dir.path().join("store")).unwrap();
    let to = copies.path().join("other");
    let refused = backup::copy(dir.path(), &to, &whole)
        .unwrap_err()
        .to_string();
    assert!(refused.contains("journal"), "{refused}");
    assert_eq!(fs::read_dir(&to).unwrap().count(), 0);
}

/// Given a snapshot that is damaged and nothing else, a copy has all that the journal has, and says so.
#[tokio::test]
async fn a_copy_tells_of_damaged_snapshots() {
    let (dir, copies) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let store = open(dir.path());
    store.commit(idle("run", 1)).await.unwrap();
    store.close().await.unwrap();
    let snapshots = dir.path().join("snapshots");
    fs::create_dir_all(&snapshots).unwrap();
    fs::write(snapshots.join("99999999.snapshot"), "torn").unwrap();
    let to = copies.path().join("copy");
    let whole = &backup::copy(dir.path(), &to, &[PathBuf::new()]).unwrap()[0];
    assert_eq!((whole.snapshots_damaged, whole.records), (1, 1));
    assert_eq!(whole.lacks, None);
    for file in fs::read_dir(dir.path().join("store/journal")).unwrap() {
        fs::remove_file(file.unwrap().path()).unwrap();
    }
    let to = copies.path().join("another");
    let gutted = &backup::copy(dir.path(), &to, &[PathBuf::new()]).unwrap()[0];
    assert!(
        gutted
            .lacks
            .is_some_and(|lacks| lacks.starts_with("neither")),
        "{gutted:?}"
    );
}

/// Given a first start that was cut short while sled wrote what says how it is configured, however often and with however much of
/// it written, the next one begins again.
#[test]
fn a_first_start_may_be_cut_short() {
    let made = TempDir::new().unwrap();
    drop(open(made.path()));
    let configuration = fs::read(made.path().join("store/conf")).unwrap();
    for written in 0..=configuration.len() {
        let dir = TempDir::new().unwrap();
        let database = dir.path().join("store");
        fs::create_dir_all(database.join("blobs")).unwrap();
        fs::write(database.join("conf"), &configuration[..written]).unwrap();
        fs::write(database.join("OPENING"), "xxx").unwrap();
        assert_eq!(open(dir.path()).last_cursor(), 0);
        assert!(dir.path().join("FORMAT").exists());
    }
}

/// Given a copy that was cut short, it is neither opened nor copied; the same command makes it anew.
#[tokio::test]
async fn a_copy_that_was_cut_short_is_made_again() {
    let (dir, copies) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let store = open(dir.path());
    store.commit(idle("run", 1)).await.unwrap();
    store.close().await.unwrap();
    let (to, other) = (copies.path().join("copy"), copies.path().join("other"));
    let whole = [PathBuf::new()];
    backup::copy(dir.path(), &to, &whole).unwrap();
    assert!(
        backup::copy(dir.path(), &to, &whole).is_err(),
        "it is not empty"
    );
    fs::write(to.join("UNFINISHED"), "").unwrap();
    fs::write(to.join("store/journal/00000009.log"), "another one's").unwrap();
    let refused = Store::open(&to, &options()).err();
    assert!(
        matches!(refused, Some(StoreError::Unfinished { .. })),
        "{refused:?}"
    );
    let refused = backup::copy(&to, &other, &whole);
    assert!(
        matches!(refused, Err(StoreError::Unfinished { .. })),
        "{refused:?}"
    );
    assert!(!other.exists());
    assert_eq!(backup::copy(dir.path(), &to, &whole).unwrap()[0].records, 1);
    assert_eq!(fs::read_dir(to.join("store/journal")).unwrap().count(), 1);
    assert_eq!(replayed(&open(&to)).len(), 1);
}
