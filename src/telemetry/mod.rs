//! The daemon's own log: lines on the standard error stream, as text or JSON.
//!
//! Rooms write lines through `tracing` with fields, not formatted texts. Where such a line has a number on the metrics page,
//! both are a struct in [`events`]. Every room counts with [`Counter`]; the daemon writes the numbers of all
//! of them on one [`page`]. What takes time is measured in [`spans`], where somebody asks for them. Standard output is left to
//! what commands answer.

use std::io::IsTerminal;

use serde::{Deserialize, Serialize};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::{LevelFilter, ParseError};

mod causes;
mod counter;
pub mod events;
pub mod page;
mod panics;
pub mod spans;
mod throttle;

pub(crate) use causes::{causes, innermost};
pub use counter::Counter;
pub(crate) use throttle::{TELL_EVERY, Throttle};

/// The variable that overrides the configured level, and may name parts: `info,eddy::store=debug`.
pub const FILTER_VARIABLE: &str = "EDDY_LOG";

/// What lines of the log about the daemon as a whole are said to be about: no room of it.
pub const DAEMON: &str = "eddy";

/// What is logged, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Logs {
    /// The least grave line that is written.
    pub level: LogLevel,
    /// How a line looks.
    pub format: LogFormat,
}

/// How much is logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    /// Data lost, or a person is needed.
    Error,
    /// Odd, but nothing is lost.
    Warn,
    /// What an operator did succeeded.
    #[default]
    Info,
    /// For finding a fault.
    Debug,
    /// Everything.
    Trace,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// The log could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum BadFilter {
    /// The filter is none.
    #[error(
        "EDDY_LOG is `{filter}`, which is not a level such as `info` or a filter such as `info,eddy::store=debug`"
    )]
    Unreadable {
        /// The filter.
        filter: String,
        /// Why.
        source: ParseError,
    },
    /// A word of it would stand for a part that is none of ours, and nothing else would be logged.
    #[error(
        "EDDY_LOG is `{filter}`, where `{word}` is neither a level (`error`, `warn`, `info`, `debug`, `trace` or `off`) nor a part \
         of Eddy such as `eddy::store`; those of libraries are written with a level, as in `info,hyper=debug`"
    )]
    UnknownWord {
        /// The filter.
        filter: String,
        /// The word.
        word: String,
    },
}

/// Begins to log. `filter` is what stands in [`FILTER_VARIABLE`]. A second call in one process changes nothing, so that
/// tests may start several daemons. From then on panics are logged too, without their text, which may tell what was sent.
///
/// # Errors
/// When the filter cannot be read.
pub fn start(logs: Logs, filter: Option<&str>) -> Result<(), BadFilter> {
    let filter = match filter.filter(|filter| !filter.trim().is_empty()) {
        Some(filter) => checked(filter)?,
        None => EnvFilter::new(default_filter(logs.level)),
    };
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        // A line that cannot be written is lost. To say so, it would be said on standard error, in which a full disk ends the
        // process.
        .log_internal_errors(false);
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb");
    let is_colored = std::io::stderr().is_terminal() && !no_color && !is_dumb;
    let started = match logs.format {
        LogFormat::Text => lines.with_ansi(is_colored).try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
    // The only failure is that another subscriber is there already.
    if started.is_ok() {
        panics::log_places_only();
    }
    Ok(())
}

/// A filter as somebody wrote it. A blank behind a comma would be taken for a part of a name.
fn checked(filter: &str) -> Result<EnvFilter, BadFilter> {
    let words: Vec<&str> = filter.split(',').map(str::trim).collect();
    let parsed = EnvFilter::try_new(words.join(","));
    let parsed = parsed.map_err(|source| BadFilter::Unreadable {
        filter: filter.to_owned(),
        source,
    })?;
    let is_ours = |word: &str| word == "eddy" || word.starts_with("eddy::");
    let is_known = |word: &str| {
        word.is_empty()
            || word.contains(['=', '['])
            || is_ours(word)
            || word.parse::<LevelFilter>().is_ok()
    };
    match words.into_iter().find(|word| !is_known(word)) {
        Some(word) => Err(BadFilter::UnknownWord {
            filter: filter.to_owned(),
            word: word.to_owned(),
        }),
        None => Ok(parsed),
    }
}

/// The level for our own lines; of the libraries below only what is odd, unless somebody looks for a fault.
fn default_filter(level: LogLevel) -> String {
    let (ours, others) = match level {
        LogLevel::Error => ("error", "error"),
        LogLevel::Warn => ("warn", "warn"),
        LogLevel::Info => ("info", "warn"),
        LogLevel::Debug => ("debug", "info"),
        LogLevel::Trace => ("trace", "trace"),
    };
    // A certificate that is not taken is told of by whoever needs the connection, with its name, once a minute.
    let verifier = match level {
        LogLevel::Debug | LogLevel::Trace => others,
        _ => "off",
    };
    format!("{others},eddy={ours},rustls_platform_verifier={verifier}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given a filter that is none, or a word that is neither a level nor a part of Eddy, the refusal quotes it; given each level,
    /// the filter made of it is one.
    #[test]
    fn filters_are_checked() {
        let refused = start(Logs::default(), Some("eddy=loud")).unwrap_err();
        assert!(refused.to_string().contains("`eddy=loud`"));
        for (filter, word) in [
            ("inof", "inof"),
            ("info,eddi::store", "eddi::store"),
            ("eddystone", "eddystone"),
            ("hyper", "hyper"),
        ] {
            let refused = checked(filter).unwrap_err().to_string();
            assert!(
                refused.contains(&format!("where `{word}` is neither")),
                "{refused}"
            );
        }
        for filter in [
            "INFO",
            "off",
            "eddy",
            "warn, eddy::store",
            "info,hyper=debug,",
            "[turn]=trace",
        ] {
            checked(filter).unwrap();
        }
        let spaced = checked("warn, eddy::store=debug").unwrap().to_string();
        assert!(spaced.contains("eddy::store=debug"), "{spaced}");
        for level in [
            LogLevel::Error,
            LogLevel::Warn,
            LogLevel::Info,
            LogLevel::Debug,
            LogLevel::Trace,
        ] {
            EnvFilter::try_new(default_filter(level)).unwrap();
        }
    }
}
