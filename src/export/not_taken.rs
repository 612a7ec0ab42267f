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

/// Why a receiver did not take something: what went wrong, and the fault of the connection, where that is why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NotTaken {
    what: String,
    fault: Option<HandshakeFault>,
}

impl NotTaken {
    /// One whose remedy is known.
    pub(super) fn of_fault(what: String, fault: HandshakeFault) -> Self {
        let fault = Some(fault);
        Self { what, fault }
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

    /// What to do about it, where that is known.
    pub(crate) fn to_do(&self, names: &Names) -> Option<String> {
        self.fault.as_ref().map(|fault| fault.to_do(names))
    }

    /// What the log adds where the reason does not say what to do.
    pub(super) fn unless_to_do(&self, look: &'static str) -> &'static str {
        if self.fault.is_some() { "" } else { look }
    }
}

impl<T: Into<String>> From<T> for NotTaken {
    fn from(what: T) -> Self {
        let what = what.into();
        Self { what, fault: None }
    }
}

/// As an exporter's owner reads it.
impl fmt::Display for NotTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what())?;
        let to_do = self.to_do(&SETTINGS);
        to_do.map_or(Ok(()), |to_do| write!(f, "; to do: {to_do}"))
    }
}
