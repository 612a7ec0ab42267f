//! What runtimes print of a program that ended by an error which nobody caught, where no exit code is told: Node.js, and the cells
//! of a notebook.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::super::sample::cut;
use super::super::{Object, items, member};
use super::closing::last_lines;
use super::traceback::names_exception;

/// What an error says by which a program of Node.js ended: the line above the way to it, where nothing but the version of Node.js
/// closes what was printed.
pub(in crate::normalize::value) fn thrown_in_node(text: &str) -> Option<&str> {
    let mut lines = last_lines(text).map(str::trim);
    lines
        .find(|line| !line.is_empty())?
        .strip_prefix("Node.js v")?;
    let mut below = "";
    lines.find(|line| {
        let below = std::mem::replace(&mut below, line);
        below.starts_with("at ") && names_exception(line)
    })
}

/// What the cell of a notebook says of the error that it met, `KeyError: 'size'` (nbformat 4: an output of the type `error`).
pub(super) fn met_in_notebook(result: &str) -> Option<String> {
    static NAME: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"ename\""));
    if !result.starts_with(['[', '{']) {
        return None;
    }
    NAME.find(result.as_bytes())?;
    let outputs = if result.starts_with('[') {
        result
    } else {
        member(result, &["outputs"])?
    };
    let mut outputs = items(outputs).map(Object::of);
    let error = outputs.find(|output| output.member("output_type") == Some("\"error\""))?;
    let (name, value) = (error.text("ename")?, error.text("evalue")?);
    Some(format!("{name}: {value}"))
}

/// How much of what TeX says is looked at.
const TEX_BYTES_MAX: usize = 512;

/// How TeX begins to say what stopped it, and how, on a line below, in which line of the source that was.
const TEX_STOPPED: &str = "! ";
const TEX_LINES: [&str; 2] = ["\nl.", "\\nl."];

/// Whether a text begins as TeX does that was stopped, `! Undefined control sequence.`, `l.82 …`.
pub(super) fn stops_tex(text: &str) -> bool {
    text.starts_with(TEX_STOPPED) && {
        let start = cut(text, TEX_BYTES_MAX);
        TEX_LINES.iter().any(|line| start.contains(line))
    }
}

#[cfg(test)]
mod tests {
    use super::{met_in_notebook, thrown_in_node};

    /// Given what Node.js prints of an error that nobody caught, that is the error; a log that goes on, or a text without the way
    /// to it, is none.
    #[test]
    fn errors_of_node_are_known() {
        let crash = "> web@0.3.1 dev\n> node server.js\n\nnode:events:497\n      throw er;\nError: listen EADDRINUSE: :::5173\n    \
                     at Server.listen (node:net:1817:16)\n  code: 'EADDRINUSE'\n\nNode.js v20.11.1\n";
        let said = "Error: listen EADDRINUSE: :::5173";
        assert_eq!(thrown_in_node(crash), Some(said));
        let within_json = crash.replace('\n', "\\n");
        assert_eq!(thrown_in_node(&within_json), Some(said));
        assert_eq!(thrown_in_node(&format!("{crash}restarted\n")), None);
        assert_eq!(thrown_in_node("node --version\nNode.js v20.11.1"), None);
    }

    /// Given the outputs of a cell, an error among them is known, alone or within an object.
    #[test]
    fn errors_of_cells_are_known() {
        let error =
            r#"{"output_type":"error","ename":"KeyError","evalue":"'size'","traceback":["..."]}"#;
        let printed = r#"{"output_type":"stream","name":"stdout","text":"ename"}"#;
        let list = format!("[{printed},{error}]");
        let object = format!(r#"{{"execution_count":3,"outputs":{list}}}"#);
        for result in [list, object] {
            assert_eq!(
                met_in_notebook(&result).as_deref(),
                Some("KeyError: 'size'")
            );
        }
        assert_eq!(met_in_notebook(&format!("[{printed}]")), None);
    }
}
