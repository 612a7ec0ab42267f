//! Shell commands, which are most of what coding agents do: their programs, and what they do.

use crate::engine::event::Command;

/// Programs that end with 1 to say that they found nothing, or a difference: an answer, not a failure.
const SEARCHES: [&str; 12] = [
    "grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "pgrep", "which", "diff", "cmp", "test",
];

/// Of these, those that print what they find, and others that do.
const FINDERS: [&str; 12] = [
    "grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "pgrep", "which", "find", "fd", "locate",
];

/// Whether a command line ends in a program that prints what it finds.
pub(super) fn looks_for(command: &str) -> bool {
    is_of(command, &FINDERS)
}

/// Whether a program takes a command of its own.
pub(super) fn has_commands(program: &str) -> bool {
    HAVE_COMMANDS.contains(&program)
}

/// Programs behind a pipe that pass on what they are given, or a part of it.
const PASSERS: [&str; 6] = ["head", "tail", "cat", "tee", "less", "more"];

/// Whether a command's exit code tells nothing: what it printed goes through a program that passes it on. What a command prints
/// that reads or searches files is no word of its own.
pub(super) fn hides_code(command: &str) -> bool {
    let Some((piped, last)) = command.rsplit_once('|') else {
        return false;
    };
    let first = piped
        .rsplit([';', '&', '\n'])
        .find(|part| !part.trim().is_empty());
    let first = words(first.unwrap_or_default()).next().map(file_name);
    let looks = |program| READERS.contains(&program) || SEARCHES.contains(&program);
    !piped.ends_with('|') && is_of(last, &PASSERS) && !first.is_some_and(looks)
}

/// Programs that do nothing but show a file.
const READERS: [&str; 7] = ["cat", "head", "tail", "less", "more", "nl", "bat"];

/// Other programs that do nothing but look, whatever their arguments.
const LOOKERS: [&str; 19] = [
    "ls", "tree", "wc", "pwd", "stat", "file", "du", "df", "ps", "cd", "echo", "sort", "uniq",
    "cut", "jq", "whoami", "date", "uname", "true",
];

/// Programs that take a command of their own, and what stands before that command where it is about a kind of things: `docker
/// compose logs`, `gh pr view`. Behind any other program, a word like these is what it is about: `rm logs`.
const HAVE_COMMANDS: [&str; 28] = [
    "git",
    "hg",
    "svn",
    "gh",
    "glab",
    "kubectl",
    "oc",
    "helm",
    "docker",
    "docker-compose",
    "podman",
    "terraform",
    "tofu",
    "aws",
    "gcloud",
    "az",
    "systemctl",
    "vault",
    "fly",
    "heroku",
    "vercel",
    "supabase",
    "pip",
    "pip3",
    "brew",
    "apt",
    "pm2",
    "argocd",
];
const GROUPS: [&str; 22] = [
    "app",
    "branch",
    "compose",
    "config",
    "container",
    "image",
    "issue",
    "network",
    "pr",
    "mr",
    "release",
    "remote",
    "repo",
    "run",
    "secret",
    "service",
    "stash",
    "state",
    "tag",
    "volume",
    "workflow",
    "worktree",
];

/// Words behind a program by which it looks: `git status`, `kubectl get pods`, `docker compose logs`.
const LOOKS: [&str; 18] = [
    "status",
    "log",
    "logs",
    "diff",
    "show",
    "get",
    "describe",
    "list",
    "ls",
    "ls-files",
    "ps",
    "inspect",
    "view",
    "blame",
    "rev-parse",
    "is-active",
    "is-enabled",
    "is-failed",
];

/// Whether a command line does nothing but look: nothing is written to a file, and each of its commands reads, searches or shows,
/// as far as is known of the program.
pub(super) fn only_looks(line: &str) -> bool {
    // What is left of an error's text writes nothing.
    let line = line.replace("2>&1", "").replace("2>/dev/null", "");
    let mut parts = line
        .split(['|', ';', '&', '\n'])
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .peekable();
    !line.contains(['>', '`', '(']) && parts.peek().is_some() && parts.all(looks)
}

/// Whether one command looks.
fn looks(command: &str) -> bool {
    let mut words = words(command);
    let program = file_name(words.next().unwrap_or_default());
    match program {
        "sed" => prints_alone(command),
        "find" | "fd" => !has_flag(command, "-exec") && !has_flag(command, "-delete"),
        _ if HAVE_COMMANDS.contains(&program) => {
            let mut words = words.filter(|word| !word.starts_with('-'));
            let about = words.next().unwrap_or_default();
            let asks = |word: &str| LOOKS.contains(&word);
            asks(about) || (GROUPS.contains(&about) && words.next().is_some_and(asks))
        }
        _ => {
            let all = [&READERS[..], &SEARCHES[..], &LOOKERS[..]];
            all.iter().any(|all| all.contains(&program))
        }
    }
}

/// Whether a `sed` prints what it reads and changes no file.
fn prints_alone(command: &str) -> bool {
    has_flag(command, "-n") && !has_flag(command, "-i")
}

fn has_flag(command: &str, flag: &str) -> bool {
    let mut words = command.split_whitespace();
    words.any(|word| word.starts_with(flag))
}

/// Programs that run tests, whatever their arguments.
const TEST_PROGRAMS: [&str; 12] = [
    "pytest", "py.test", "unittest", "jest", "vitest", "mocha", "ctest", "rspec", "phpunit", "tox",
    "nose2", "ava",
];

/// Programs that run tests when one of their arguments says so.
const BUILDERS: [&str; 21] = [
    "cargo",
    "go",
    "npm",
    "yarn",
    "pnpm",
    "bun",
    "deno",
    "make",
    "mvn",
    "mvnw",
    "gradle",
    "gradlew",
    "dotnet",
    "swift",
    "mix",
    "bazel",
    "sbt",
    "just",
    "rake",
    "flutter",
    "playwright",
];

/// Programs that check, compile or lay out what was written, and others that say at length how it went.
const CHECKERS: [&str; 29] = [
    "tsc",
    "eslint",
    "biome",
    "prettier",
    "mypy",
    "pyright",
    "ruff",
    "flake8",
    "pylint",
    "javac",
    "kotlinc",
    "gcc",
    "g++",
    "clang",
    "rustc",
    "vite",
    "next",
    "webpack",
    "rollup",
    "esbuild",
    "cypress",
    "terraform",
    "tofu",
    "dbt",
    "psql",
    "pdflatex",
    "xelatex",
    "lualatex",
    "latexmk",
];

/// Whether the last command of a line builds, checks or tests something, or sends commits. What is said behind it does not count.
pub(super) fn builds(line: &str) -> bool {
    if line.is_empty() {
        return false;
    }
    let line = line.replace("2>&1", "");
    let mut last = line.rsplit([';', '&', '\n']).map(|part| {
        let mut words = words(part.split('|').next().unwrap_or_default());
        (words.next().map(file_name), words.next())
    });
    last.find(|(program, _)| !matches!(program, None | Some("echo" | "true")))
        .is_some_and(|(program, word)| {
            let program = program.unwrap_or_default();
            let all = [&TEST_PROGRAMS[..], &BUILDERS[..], &CHECKERS[..]];
            all.iter().any(|all| all.contains(&program))
                || (program == "git" && word == Some("push"))
        })
}

/// Words before the program that a command is about.
const PREFIXES: [&str; 14] = [
    "sudo", "time", "env", "exec", "npx", "uv", "poetry", "run", "python", "python3", "-m",
    "bundle", "bash", "sh",
];

/// What a command line does. Of several commands the tests count first, then the last command. `tests` are commands of the
/// user's that run tests, by how they begin.
pub(super) fn kind(line: &str, tests: &[String]) -> Command {
    let mut parts = line.split(['|', ';', '&', '\n']).map(str::trim);
    let is_told = |part: &str| tests.iter().any(|start| part.starts_with(start.as_str()));
    if parts.any(|part| runs_tests(part) || is_told(part)) {
        return Command::RunsTests;
    }
    let last = line
        .rsplit([';', '&', '\n'])
        .find(|part| !part.trim().is_empty());
    let last = last.unwrap_or_default().trim();
    match words(last).next().map(file_name).unwrap_or_default() {
        "echo" | "printf" | "tee" | "touch" => Command::WritesFile,
        "cat" if last.contains('>') => Command::WritesFile,
        "sed" if prints_alone(last) => Command::ReadsFile,
        "sed" => Command::EditsFile,
        program if READERS.contains(&program) => Command::ReadsFile,
        _ => Command::Other,
    }
}

/// Whether a line is one command without pipes, redirects or anything else of the shell's.
pub(super) fn is_simple(line: &str) -> bool {
    !line.trim().contains(['|', '>', '<', ';', '&', '`', '\n']) && !line.contains("$(")
}

/// The file, where a simple command does nothing but read one.
pub(super) fn file_read(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace().skip_while(|word| *word == "sudo");
    let program = file_name(words.next()?);
    if !READERS.contains(&program) {
        return None;
    }
    let mut file = None;
    while let Some(word) = words.next() {
        if matches!(word, "-n" | "-c" | "--lines" | "--bytes") && program != "cat" {
            words.next();
        } else if !word.starts_with(['-', '+']) && file.replace(word).is_some() {
            return None;
        }
    }
    let file = file?.trim_matches(['"', '\'']);
    Some(file.strip_prefix("./").unwrap_or(file)).filter(|file| !file.is_empty())
}

fn runs_tests(command: &str) -> bool {
    let mut words = words(command);
    let program = file_name(words.next().unwrap_or_default());
    let script = [
        "run_tests",
        "run-tests",
        "runtests",
        "test_",
        "test.sh",
        "tests.sh",
    ];
    TEST_PROGRAMS.contains(&program)
        || script.iter().any(|start| program.starts_with(start))
        || (BUILDERS.contains(&program) && words.any(says_tests))
}

fn says_tests(word: &str) -> bool {
    matches!(word, "test" | "tests" | "nextest" | "check-tests")
        || word.starts_with("test:")
        || word.ends_with(":test")
}

/// The programs of a command line.
pub(super) fn programs(line: &str) -> impl Iterator<Item = &str> {
    let parts = line.split(['|', ';', '&', '\n']);
    parts.filter_map(|part| words(part).next().map(file_name))
}

/// The words of a command from its program on, without settings of the environment and what only starts it.
fn words(command: &str) -> impl Iterator<Item = &str> {
    command
        .split_whitespace()
        .skip_while(|word| word.contains('=') || PREFIXES.contains(word))
}

/// The name of a program, without the directory in which it is.
pub(super) fn file_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Whether the last program of a command line, whose exit code it is, is a search.
pub(super) fn is_search(command: &str) -> bool {
    is_of(command, &SEARCHES)
}

/// Whether the last program of a command line is one of these, or `git` doing the same.
fn is_of(command: &str, programs: &[&str]) -> bool {
    let last = command
        .rsplit(['|', ';', '&', '\n'])
        .map(str::trim)
        .find(|part| !part.is_empty())
        .unwrap_or_default();
    let mut words = last.split_whitespace();
    let program = file_name(words.next().unwrap_or_default());
    let program = if program == "git" {
        words.next().unwrap_or_default()
    } else {
        program
    };
    programs.contains(&program)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Behind a pipe to a program that passes on what it is given, the exit code is that of this program; what reads or searches
    /// prints what others wrote.
    #[test]
    fn pipes_hide_the_code() {
        for command in ["make 2>&1 | tail -20", "cd app && npx tsc | head -3"] {
            assert!(hides_code(command), "{command}");
        }
        for command in [
            "make",
            "make | wc -l",
            "make || tail -3 build.log",
            "cat a.log | tail -3",
            "grep -rn error src | head",
        ] {
            assert!(!hides_code(command), "{command}");
        }
    }

    /// Commands that show something look; those that write, do something else, or are not known do not.
    #[test]
    fn looking_is_told_from_doing() {
        for command in [
            "cat a.log",
            "cd app && git status",
            "grep -rn error src | head -5",
            "ls -la; wc -l *.rs",
            "sed -n '1,20p' main.rs",
            "kubectl get pods -n web 2>&1",
            "docker compose logs web 2>/dev/null",
            "find . -name '*.rs'",
            "gh pr view 12",
            "git --no-pager log -3",
            "git stash list",
        ] {
            assert!(only_looks(command), "{command}");
        }
        for command in [
            "",
            "npm test",
            "cat > a.txt",
            "grep x a >> b",
            "sed -i s/a/b/ c",
            "find . -delete",
            "git commit -m log",
            "cat a && rm a",
            "ls $(make)",
            "cargo build",
            "curl -X POST http://localhost/list",
            "rm -rf logs",
            "mkdir -p status",
            "touch log",
            "mv list old",
            "kill ps",
            "git checkout show",
            "docker rm logs",
        ] {
            assert!(!only_looks(command), "{command}");
        }
    }

    /// What a command does is read from its program, not from words within it.
    #[test]
    fn commands_have_a_kind() {
        let check = |line: &str, expected: Command| assert_eq!(kind(line, &[]), expected, "{line}");
        for line in [
            "cargo test",
            "RUST_LOG=1 cargo nextest run",
            "cd app && npm run test:unit",
            "python -m pytest -q | tail -5",
            "./run_tests.sh",
            "go test ./...",
            "npx jest",
            "python tests/test_a.py",
        ] {
            check(line, Command::RunsTests);
        }
        check("cat latest.log", Command::ReadsFile);
        check("sed -n '1,200p' src/a.rs", Command::ReadsFile);
        check("cat src/test_a.py", Command::ReadsFile);
        check("cat > a.txt <<EOF", Command::WritesFile);
        check("echo hello > a.txt", Command::WritesFile);
        check("cd src && sed -i s/a/b/ x.rs", Command::EditsFile);
        check("git commit -m test", Command::Other);
        check("test -f a", Command::Other);
        check("", Command::Other);
    }

    /// One file and options alone are a read of that file.
    #[test]
    fn reads_of_a_file_are_known() {
        let check = |line: &str, expected| assert_eq!(file_read(line), expected, "{line}");
        check("cat foo.ts", Some("foo.ts"));
        check("head -n 20 './foo.ts'", Some("foo.ts"));
        check("head -20 \"foo.ts\"", Some("foo.ts"));
        check("tail -c 5 ./foo.ts", Some("foo.ts"));
        check("cat a b", None);
        check("cat", None);
        check("ls foo.ts", None);
        assert!(!is_simple("cat foo.ts | wc") && !is_simple("cat a > b") && !is_simple("cat a; b"));
        assert!(is_simple(" cat foo.ts\n"));
    }
}
