//! Holds the rooms apart: who may use what, and how large things may be.
//!
//! A new dependency between rooms is a design change; it starts here, in the open.

use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// What a room may use of the crate's other rooms, and which outside crates are its own.
struct Room {
    name: &'static str,
    rooms: &'static [&'static str],
    crates: &'static [&'static str],
}

/// Every room of `src/`; the rooms that it may use are those in the right-hand column of its row in `ARCHITECTURE.md`.
const ROOMS: &[Room] = &[
    Room {
        name: "engine",
        rooms: &[],
        crates: &["postcard", "serde"],
    },
    Room {
        name: "otlp",
        rooms: &[],
        crates: &[
            "thiserror",
            "opentelemetry_proto",
            "prost",
            "serde",
            "serde_json",
            "simdutf8",
        ],
    },
    Room {
        name: "normalize",
        rooms: &["engine", "otlp", "telemetry"],
        crates: &[
            "aho_corasick",
            "memchr",
            "serde",
            "serde_json",
            "serde_saphyr",
            "xxhash_rust",
            "flate2",
            "thiserror",
        ],
    },
    Room {
        name: "listener",
        rooms: &["files", "secret", "telemetry"],
        crates: &[
            "axum",
            "futures_util",
            "http_body_util",
            "humantime",
            "rustls",
            "serde",
            "subtle",
            "tokio",
            "tokio_rustls",
            "tonic",
            "tracing",
        ],
    },
    Room {
        name: "receiver",
        rooms: &["listener", "otlp", "normalize", "shard", "telemetry"],
        crates: &[
            "axum",
            "bytes",
            "flate2",
            "futures_util",
            "http_body",
            "http_body_util",
            "opentelemetry_proto",
            "prost",
            "serde_json",
            "thiserror",
            "tokio",
            "tokio_util",
            "tonic",
            "tonic_types",
            "tracing",
            "zstd",
        ],
    },
    Room {
        name: "shard",
        rooms: &["engine", "normalize", "store", "telemetry"],
        crates: &[
            "futures_util",
            "serde_json",
            "tokio",
            "tokio_stream",
            "tokio_util",
            "tracing",
            "xxhash_rust",
        ],
    },
    Room {
        name: "store",
        rooms: &["engine", "telemetry"],
        crates: &[
            "humantime",
            "prost",
            "fs2",
            "sled",
            "thiserror",
            "tokio",
            "tracing",
            "xxhash_rust",
        ],
    },
    Room {
        name: "export",
        rooms: &[
            "engine",
            "files",
            "handshake",
            "json",
            "otlp",
            "render",
            "secret",
            "store",
            "telemetry",
        ],
        crates: &[
            "rustix",
            "bytes",
            "flate2",
            "futures_util",
            "prost",
            "tonic_types",
            "humantime",
            "xxhash_rust",
            "opentelemetry_proto",
            "reqwest",
            "rustls",
            "serde",
            "serde_json",
            "thiserror",
            "tokio",
            "tokio_util",
            "tonic",
            "tower",
            "tracing",
        ],
    },
    Room {
        name: "render",
        rooms: &["engine", "json"],
        crates: &["humantime", "terminal_size", "unicode_width"],
    },
    Room {
        name: "api",
        rooms: &["listener", "engine", "json", "shard", "store", "telemetry"],
        crates: &[
            "prost_types",
            "tonic_types",
            "axum",
            "bytes",
            "futures_util",
            "http_body",
            "http_body_util",
            "serde",
            "serde_json",
            "thiserror",
            "tokio",
            "tokio_util",
            "tonic",
            "tonic_health",
            "tonic_reflection",
            "tower",
            "tracing",
        ],
    },
    Room {
        name: "config",
        rooms: &[
            "listener",
            "engine",
            "export",
            "files",
            "normalize",
            "receiver",
            "secret",
            "shard",
            "telemetry",
        ],
        crates: &[
            "clap",
            "humantime",
            "serde",
            "serde_json",
            "serde_saphyr",
            "strsim",
            "thiserror",
        ],
    },
    Room {
        name: "telemetry",
        rooms: &[],
        crates: &[
            "serde",
            "thiserror",
            "tokio",
            "tracing",
            "tracing_subscriber",
        ],
    },
];

/// Outside crates that a line of code may name.
fn outside_crates() -> Vec<String> {
    let manifest =
        fs::read_to_string(Path::new(ROOT).join("Cargo.toml")).expect("the manifest is there");
    let start = manifest
        .find("[dependencies]")
        .expect("there are dependencies");
    let end = manifest
        .find("[dev-dependencies]")
        .expect("there are development dependencies");
    let lines = manifest[start..end]
        .lines()
        .filter(|line| !line.starts_with(['#', '[']) && line.contains('='));
    lines
        .map(|line| {
            line.split([' ', '='])
                .next()
                .unwrap_or("")
                .replace('-', "_")
        })
        .collect()
}

fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)
        .expect("a readable directory")
        .flatten()
    {
        let path = entry.path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// A file's code without what is compiled for tests alone, and without comments.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("a readable file");
    without_tests(&text)
}

/// All of a room's code but its tests, by files.
fn code_of(room: &Room) -> Vec<(PathBuf, String)> {
    let files = rust_files(&Path::new(ROOT).join("src").join(room.name));
    let files = files.into_iter().filter(|path| !is_test_file(path));
    let read = |path: PathBuf| {
        let code = code(&path);
        (path, code)
    };
    files.map(read).collect()
}

/// Lines of a file but for comments and for every item behind `#[cfg(test)]`, wherever it stands. As `rustfmt` writes it, an item
/// is one line, or ends with the first one no further in than itself that closes something.
fn without_tests(text: &str) -> String {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let mut lines = text.lines();
    let mut code = Vec::new();
    while let Some(line) = lines.next() {
        if line.trim_start().starts_with("#[cfg(test)]") {
            let is_attribute = |item: &&str| item.trim_start().starts_with('#');
            let first = lines.by_ref().find(|item| !is_attribute(item));
            if first.is_some_and(|item| !item.ends_with([';', ',', '}'])) {
                let closes = |item: &&str| item.trim_start().starts_with(['}', ')']);
                let _ = lines.find(|item| closes(item) && depth(item) == depth(line));
            }
        } else if !line.trim_start().starts_with("//") {
            code.push(line);
        }
    }
    code.join("\n")
}

/// Given tests in the middle of a file and single items for tests, what stands behind them is measured.
#[test]
fn what_stands_behind_tests_is_seen() {
    let text = "//! A room.\nuse a;\n#[cfg(test)]\nuse b;\nstruct Of {\n    one: u8,\n    #[cfg(test)]\n    two: u8,\n}\n\
                #[cfg(test)]\nmod tests {\n    fn of() {\n    }\n}\n\n// More.\nfn behind() {}";
    let seen = "use a;\nstruct Of {\n    one: u8,\n}\n\nfn behind() {}";
    assert_eq!(without_tests(text), seen);
}

/// Whether code names a crate.
fn names_crate(code: &str, name: &str) -> bool {
    let used = |at: usize| {
        !code[..at].ends_with(|before: char| before.is_alphanumeric() || "_:".contains(before))
    };
    let mut places = code.match_indices(name).map(|(at, _)| at);
    places.any(|at| used(at) && code[at + name.len()..].starts_with("::"))
}

/// Whether a file is compiled for tests alone: it, or a folder above it, is a module behind `#[cfg(test)]`.
fn is_test_file(path: &Path) -> bool {
    let mut module = path.to_path_buf();
    while let (Some(name), Some(folder)) = (module.file_stem(), module.parent()) {
        let name = name.to_string_lossy().into_owned();
        let parents = [
            folder.join("mod.rs"),
            folder.join("lib.rs"),
            folder.with_extension("rs"),
        ];
        for parent in parents {
            let text = fs::read_to_string(parent).unwrap_or_default();
            let visibilities = ["", "pub(crate) ", "pub(super) "];
            if visibilities
                .iter()
                .any(|seen| text.contains(&format!("#[cfg(test)]\n{seen}mod {name};")))
            {
                return true;
            }
        }
        if folder.ends_with("src") {
            return false;
        }
        module = folder.to_path_buf();
    }
    false
}

/// Given every file of every room, it names only the rooms and crates that its room may know.
#[test]
fn rooms_know_only_what_they_may() {
    let outside = outside_crates();
    let mut faults = Vec::new();
    for room in ROOMS {
        for (path, code) in code_of(room) {
            for named in code.match_indices("crate::").map(|(at, _)| &code[at + 7..]) {
                let own = named.starts_with(room.name);
                let allowed = room.rooms.iter().any(|known| named.starts_with(known));
                if !own && !allowed {
                    let line = named.lines().next().unwrap_or("");
                    faults.push(format!("{}: crate::{line}", path.display()));
                }
            }
            for name in &outside {
                if !room.crates.contains(&name.as_str()) && names_crate(&code, name) {
                    faults.push(format!("{}: {name}", path.display()));
                }
            }
        }
    }
    assert!(
        faults.is_empty(),
        "rooms that know too much:\n{}",
        faults.join("\n")
    );
}

/// Given what each room may know, it uses all of it.
#[test]
fn rooms_use_what_they_may() {
    let mut faults = Vec::new();
    for room in ROOMS {
        let code: String = code_of(room)
            .into_iter()
            .map(|(_, code)| code + "\n")
            .collect();
        let unused = room
            .rooms
            .iter()
            .filter(|known| !code.contains(&format!("crate::{known}")));
        let idle = room.crates.iter().filter(|name| !names_crate(&code, name));
        faults.extend(
            unused
                .chain(idle)
                .map(|known| format!("{}: {known}", room.name)),
        );
    }
    assert!(
        faults.is_empty(),
        "what no room uses:\n{}",
        faults.join("\n")
    );
}

/// Given every dependency, some file of the program or its build names it.
#[test]
fn dependencies_are_used() {
    let mut files = rust_files(&Path::new(ROOT).join("src"));
    files.push(Path::new(ROOT).join("build.rs"));
    let code: String = files.iter().map(|path| code(path) + "\n").collect();
    let mut idle = outside_crates();
    idle.retain(|name| !names_crate(&code, name));
    assert!(idle.is_empty(), "dependencies that nobody uses: {idle:?}");
}

/// Given the table of rooms in `ARCHITECTURE.md`, it has every room, and says of each which others it may know.
#[test]
fn the_table_of_rooms_is_true() {
    let page = fs::read_to_string(Path::new(ROOT).join("ARCHITECTURE.md"));
    let page = page.expect("the page is there");
    let names =
        ROOMS
            .iter()
            .map(|room| room.name)
            .chain(["files", "handshake", "json", "secret", "cli"]);
    let names: Vec<_> = names.collect();
    for room in ROOMS {
        let begin = format!("| `{}` |", room.name);
        let row = page.lines().find(|line| line.starts_with(&begin));
        let row = row.unwrap_or_else(|| panic!("{} has no row", room.name));
        let column = row.trim_end_matches(['|', ' ']).rsplit('|').next();
        let words = column
            .unwrap_or("")
            .split(|letter: char| !letter.is_alphanumeric());
        let mut told: Vec<_> = words.filter(|word| names.contains(word)).collect();
        told.sort_unstable();
        told.dedup();
        let mut known = room.rooms.to_vec();
        known.sort_unstable();
        assert_eq!(told, known, "{}", room.name);
    }
}

/// Given the engine, nothing in it can tell one run of the program from another: no clock, no random order, no task, no disk.
#[test]
fn the_engine_is_pure() {
    let impure = [
        "HashMap",
        "HashSet",
        "Instant",
        "SystemTime",
        "std::fs",
        "std::net",
        "std::thread",
        "std::env",
        "async ",
        "Mutex",
        "println!",
    ];
    for path in rust_files(&Path::new(ROOT).join("src/engine")) {
        let code = code(&path);
        for word in impure {
            assert!(!code.contains(word), "{} uses {word}", path.display());
        }
    }
}

/// Given every source file, it tells its flow first, and its code is no longer than a person reads in one sitting.
#[test]
fn files_are_explained_and_short() {
    for path in rust_files(&Path::new(ROOT).join("src")) {
        let text = fs::read_to_string(&path).expect("a readable file");
        assert!(
            text.starts_with("//!"),
            "{} does not say what flows through it",
            path.display()
        );
        if !is_test_file(&path) {
            let lines = code(&path).lines().count();
            assert!(lines <= 400, "{} has {lines} lines of code", path.display());
        }
    }
}

/// Longest line of a comment that is neither a table's nor all link: what a page shows beside another one.
const COMMENT_BYTES_MAX: usize = 132;

/// Given every comment, its lines fit the page; `rustfmt` does not see to that.
#[test]
fn comments_fit_the_page() {
    for folder in ["src", "tests", "benches", "examples"] {
        for path in rust_files(&Path::new(ROOT).join(folder)) {
            let text = fs::read_to_string(&path).expect("a readable file");
            for (line, number) in text.lines().zip(1..) {
                let Some((indent, comment)) = line.split_once("//") else {
                    continue;
                };
                let words = comment.trim_start_matches(['/', '!', ' ']);
                let is_table = words.starts_with('|') || !words.contains(' ');
                let fits = is_table || !indent.trim().is_empty() || line.len() <= COMMENT_BYTES_MAX;
                assert!(fits, "{}:{number} is too long", path.display());
            }
        }
    }
}

/// Given `src/`, each of its folders is a room that the list above knows.
#[test]
fn every_room_is_known() {
    for entry in fs::read_dir(Path::new(ROOT).join("src"))
        .expect("a readable directory")
        .flatten()
    {
        let name = entry.file_name().to_string_lossy().into_owned();
        let known = ROOMS.iter().any(|room| room.name == name)
            || ["cli", "daemon", "json", "simulation"].contains(&&*name);
        assert!(!entry.path().is_dir() || known, "{name} is no known room");
    }
}

/// Given every counter of `src/`, its number is shown: one that nobody can read is no reason to count.
#[test]
fn what_is_counted_is_shown() {
    let files = rust_files(&Path::new(ROOT).join("src"));
    let code: String = files.iter().map(|path| code(path)).collect();
    let named = code.split("static ").skip(1);
    let counters = named.filter_map(|rest| Some(rest.split_once(": Counter")?.0));
    let counters: Vec<_> = counters.filter(|name| !name.contains(' ')).collect();
    assert!(counters.len() > 3, "{counters:?}");
    for counter in counters {
        assert!(
            code.contains(&format!("{counter}.value()")),
            "{counter} is shown nowhere"
        );
    }
}

/// Given the documents, each file that they name is there, by its name or the end of its path; so is each module that
/// `ARCHITECTURE.md` names (`store/journal`, `store::journal`), or a function in it (`engine::step`).
#[test]
fn what_documents_name_is_there() {
    let root = Path::new(ROOT);
    let folders =
        ["src", "tests", "benches", "examples"].map(|folder| rust_files(&root.join(folder)));
    let files = folders.concat();
    let within = |module: &Path| {
        let is_within = |file: &&PathBuf| {
            let file = file.with_extension("");
            file.ancestors().any(|folder| folder.ends_with(module))
        };
        files.iter().filter(is_within).collect::<Vec<_>>()
    };
    let is_there = |name: &str| {
        let path = PathBuf::from(name.replace("::", "/"));
        let function = path.file_name().unwrap_or_default().to_string_lossy();
        let function = format!("fn {function}(");
        let mut around = within(path.parent().unwrap_or(&path)).into_iter();
        !within(&path).is_empty() || around.any(|file| code(file).contains(&function))
    };
    let is_module = |name: &str| {
        let is_part = |letter: char| letter.is_ascii_lowercase() || "_:/".contains(letter);
        let is_path = name.contains("::") || name.contains('/');
        is_path && !name.starts_with('/') && name.chars().all(is_part)
    };
    let mut documents = vec![root.join("ARCHITECTURE.md"), root.join("README.md")];
    let docs = fs::read_dir(root.join("docs")).expect("a readable directory");
    documents.extend(docs.flatten().map(|entry| entry.path()));
    let mut missing = Vec::new();
    for document in documents {
        let text = fs::read_to_string(&document).expect("a readable file");
        let is_map = document.ends_with("ARCHITECTURE.md");
        for name in text
            .lines()
            .flat_map(|line| line.split('`').skip(1).step_by(2))
        {
            let is_file = Path::new(name)
                .extension()
                .is_some_and(|found| found == "rs");
            let is_missing = if is_file {
                !files.iter().any(|file| file.ends_with(name))
            } else {
                is_map && is_module(name) && !is_there(name)
            };
            if is_missing {
                missing.push(format!("{}: {name}", document.display()));
            }
        }
    }
    assert!(
        missing.is_empty(),
        "what is not there:\n{}",
        missing.join("\n")
    );
}
