//! How a command fails: what is said, and the exit code that a script sees.

use std::fmt::Display;
use std::io;
use std::io::Write as _;

use crate::config::Mistakes;
use crate::render::text::clean;
use crate::telemetry::BadFilter;

/// Why a command did not succeed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The configuration is wrong: 78, `EX_CONFIG` of sysexits.
    #[error("{0}")]
    Config(#[from] Mistakes),
    /// So is the log's filter.
    #[error(transparent)]
    LogFilter(#[from] BadFilter),
    /// `check --fail-below` found what it was to find: 3.
    #[error("{0}")]
    Unhealthy(String),
    /// The command line is wrong in a way that only we can see: 2, as where clap sees it.
    #[error("{0}")]
    Usage(String),
    /// Nobody reads our output any more, as with `eddy runs | head`; that is no failure.
    #[error("the reader of the output has gone")]
    ReaderGone,
    /// The server behind `mcp-proxy` failed: its own code.
    #[error("the server ended with exit code {0}")]
    Server(u8),
    /// Anything else: 1.
    #[error("{0}")]
    Other(String),
}

impl Failure {
    /// The exit code.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::ReaderGone => 0,
            Self::Server(code) => *code,
            Self::Other(_) => 1,
            Self::Usage(_) => 2,
            Self::Unhealthy(_) => 3,
            Self::Config(_) | Self::LogFilter(_) => 78,
        }
    }
}

/// Says something beside the answer, on standard error. It may have words of a file, or of whatever answers at an address, so
/// nothing in it steers a terminal.
pub(crate) fn remark(text: impl Display) {
    say(&harmless(&text.to_string()));
}

/// Writes to standard error as it is. Where that is closed or its disk is full nobody hears it, and the work goes on: `eprintln!`
/// would panic.
pub(crate) fn say(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

fn harmless(text: &str) -> String {
    let lines: Vec<_> = text.split('\n').map(clean).collect();
    lines.join("\n")
}

/// Writes an answer to standard output.
pub(crate) fn answer(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::ReaderGone,
        _ => Failure::Other(format!("writing the answer: {error}")),
    })
}

/// The outcome of showing what was found, of a command whose exit code says it as well: that holds also where nobody reads to the
/// end, as with `eddy check … | head`.
pub(crate) fn read_or_not(shown: Result<(), Failure>) -> Result<(), Failure> {
    match shown {
        Err(Failure::ReaderGone) => Ok(()),
        shown => shown,
    }
}

/// Writes an answer as JSON, laid out for reading, with a line break.
pub(crate) fn answer_json<T: serde::Serialize>(value: &T) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value);
    answer(&(text.expect("answers have only text keys and numbers that JSON can show") + "\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given words from elsewhere, a terminal obeys nothing in them; lines stay lines.
    #[test]
    fn remarks_are_harmless() {
        let text = "a.jsonl: unknown kind `\u{1b}]0;title\u{7}\u{1b}[31m`\r\nb: ü\u{202e}";
        let expected = "a.jsonl: unknown kind `\\x1b]0;title\\x07\\x1b[31m`\\r\nb: ü\\u{202e}";
        assert_eq!(harmless(text), expected);
    }
}
