//! How a command fails: what is said, and the exit code that a script sees.

use std::fmt::Display;
use std::io;
use std::io::Write as _;

use crate::config::Mistakes;
use crate::telemetry::BadFilter;

/// Why a command did not succeed. Exit code 2, wrong usage, is clap's own.
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
            Self::Unhealthy(_) => 3,
            Self::Config(_) | Self::LogFilter(_) => 78,
        }
    }
}

/// Says something beside the answer, on standard error. Where that is closed or its disk is full nobody hears it, and the work
/// goes on: `eprintln!` would panic.
pub(crate) fn remark(text: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{text}");
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
