//! Why a receiver did not take something.

use std::fmt;

use crate::handshake::{HandshakeFault, Names};

/// Most characters of what went wrong that are kept and logged: it may quote a receiver's reply.
pub(super) const WHAT_CHARS_MAX: usize = 300;

/// How the settings of exporters call what they name.
const SETTINGS: Names = Names {
    authorities: "`tls.ca_file`",
    own: "`tls.cert_file` and `tls.key_file`",
};

/// Why a receiver did not take something: what went wrong, in words, and what kind of thing that is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NotTaken {
    what: String,
    cause: Cause,
}

/// What kind of thing went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// No more is known than the words say.
    Unknown,
    /// The setting of this key cannot be used.
    Setting(&'static str),
    /// The connection has a fault whose remedy is known.
    Connection(HandshakeFault),
    /// The receiver does not know who sends.
    Unauthenticated,
    /// It answers, and takes nothing for now.
    Busy,
}

impl NotTaken {
    pub(super) fn of(what: impl Into<String>, cause: Cause) -> Self {
        let what = what.into();
        Self { what, cause }
    }

    /// The same, said after something else.
    pub(super) fn after(self, before: impl fmt::Display) -> Self {
        let what = format!("{before}{}", self.what);
        Self { what, ..self }
    }

    /// What went wrong.
    pub(crate) fn what(&self) -> &str {
        let end = self.what.char_indices().nth(WHAT_CHARS_MAX);
        end.map_or(&*self.what, |(end, _)| &self.what[..end])
    }

    /// What kind of thing.
    pub(crate) fn cause(&self) -> &Cause {
        &self.cause
    }

    /// What the log adds where the reason does not say what to do.
    pub(super) fn unless_to_do(&self, look: &'static str) -> &'static str {
        let is_said = matches!(self.cause, Cause::Connection(_));
        if is_said { "" } else { look }
    }
}

impl<T: Into<String>> From<T> for NotTaken {
    fn from(what: T) -> Self {
        Self::of(what, Cause::Unknown)
    }
}

/// As an exporter's owner reads it.
impl fmt::Display for NotTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what())?;
        match &self.cause {
            Cause::Connection(fault) => write!(f, "; to do: {}", fault.to_do(&SETTINGS)),
            _ => Ok(()),
        }
    }
}
