//! What is special about single tools and agents: one section, shared by profiles and the user's configuration.
//!
//! An entry is found by the name of the tool, or by `TOOL@AGENT`; `*` stands for any text, and case does not count. Where
//! several entries fit a call, each setting is taken from the closest one that has it: one that names an agent before one
//! that does not, and then the one with more letters of its own. So the order of the entries means nothing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The entries, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tools(pub BTreeMap<String, Tool>);

/// One entry. What is absent is left to entries that fit less closely, and in the end to what Eddy knows by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tool {
    /// Its calls are part of no loop and no sign against one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exempt: Option<bool>,
    /// Calls in one turn; one more raises `tool_limit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The tool waits: how long its answer may stay the same before its calls count, in seconds. 0: it does not wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub polling_seconds: Option<u64>,
    /// The arguments that say what a call is about; the others are options.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub primary_arguments: Option<Vec<String>>,
    /// Members of arguments and results, at any depth, that are another each time and mean nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volatile_fields: Option<Vec<String>>,
    /// It searches: queries that are alike are the same question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<bool>,
    /// It runs shell commands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shell: Option<bool>,
    /// Commands that run tests, by how they begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_commands: Option<Vec<String>>,
    /// Short results that say that nothing was found, wherever in them the words stand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub empty_phrases: Option<Vec<String>>,
    /// Members of a result that carry what was found: where they are empty, so is the result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload_fields: Option<Vec<String>>,
}

/// What holds for one call, from all entries that fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolSettings<'t> {
    /// The tool's name; empty where it is not known.
    pub tool: &'t str,
    /// As in [`Tool`].
    pub exempt: bool,
    /// As in [`Tool`].
    pub limit: Option<u32>,
    /// As in [`Tool`].
    pub polling_seconds: Option<u64>,
    /// As in [`Tool`].
    pub primary_arguments: Option<&'t [String]>,
    /// As in [`Tool`].
    pub volatile_fields: &'t [String],
    /// As in [`Tool`].
    pub search: bool,
    /// As in [`Tool`]; absent: its name decides.
    pub shell: Option<bool>,
    /// As in [`Tool`].
    pub test_commands: &'t [String],
    /// As in [`Tool`].
    pub empty_phrases: &'t [String],
    /// As in [`Tool`].
    pub payload_fields: &'t [String],
}

impl Tools {
    /// What holds for a call.
    #[must_use]
    pub fn of<'t>(&'t self, tool: &'t str, agent: Option<&str>) -> ToolSettings<'t> {
        let mut fitting: Vec<_> = self
            .0
            .iter()
            .filter_map(|(name, entry)| Some((closeness(name, tool, agent)?, entry)))
            .collect();
        fitting.sort_by_key(|(closeness, _)| *closeness);
        let mut settings = ToolSettings {
            tool,
            ..ToolSettings::PLAIN
        };
        for (_, entry) in fitting {
            settings.lay_over(entry);
        }
        settings
    }
}

impl<'t> ToolSettings<'t> {
    /// Of a tool about which nothing is said.
    pub const PLAIN: Self = Self {
        tool: "",
        exempt: false,
        limit: None,
        polling_seconds: None,
        primary_arguments: None,
        volatile_fields: &[],
        search: false,
        shell: None,
        test_commands: &[],
        empty_phrases: &[],
        payload_fields: &[],
    };

    fn lay_over(&mut self, entry: &'t Tool) {
        self.exempt = entry.exempt.unwrap_or(self.exempt);
        self.limit = entry.limit.or(self.limit);
        self.polling_seconds = entry.polling_seconds.or(self.polling_seconds);
        self.primary_arguments = entry
            .primary_arguments
            .as_deref()
            .or(self.primary_arguments);
        self.search = entry.search.unwrap_or(self.search);
        self.shell = entry.shell.or(self.shell);
        let lists = [
            (&mut self.volatile_fields, &entry.volatile_fields),
            (&mut self.test_commands, &entry.test_commands),
            (&mut self.empty_phrases, &entry.empty_phrases),
            (&mut self.payload_fields, &entry.payload_fields),
        ];
        for (list, closer) in lists {
            *list = closer.as_deref().unwrap_or(list);
        }
    }
}

/// How closely an entry's name fits a call: letters of the agent's name, then of the tool's; `None` where it does not fit.
pub(super) fn closeness(name: &str, tool: &str, agent: Option<&str>) -> Option<(usize, usize)> {
    let letters = |pattern: &str| 1 + pattern.bytes().filter(|byte| *byte != b'*').count();
    match name.split_once('@') {
        None => fits(name, tool).then(|| (0, letters(name))),
        Some((of_tool, of_agent)) => (fits(of_tool, tool) && fits(of_agent, agent?))
            .then(|| (letters(of_agent), letters(of_tool))),
    }
}

/// Whether a name is what one of some patterns says.
pub(crate) fn fits_any(patterns: &[String], name: &str) -> bool {
    patterns.iter().any(|pattern| fits(pattern, name))
}

/// Whether a name, whatever its case, is what a pattern says, in which `*` stands for any text. Linear but for the number of stars.
pub(crate) fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut at, mut in_name) = (0, 0);
    // Where to go on when what follows the newest star does not fit here.
    let mut star: Option<(usize, usize)> = None;
    while in_name < name.len() {
        let same = pattern
            .get(at)
            .is_some_and(|sign| sign.eq_ignore_ascii_case(&name[in_name]));
        if pattern.get(at) == Some(&b'*') {
            star = Some((at + 1, in_name));
            at += 1;
        } else if same {
            (at, in_name) = (at + 1, in_name + 1);
        } else if let Some((after, from)) = star {
            star = Some((after, from + 1));
            (at, in_name) = (after, from + 1);
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|sign| *sign == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(limit: u32) -> Tool {
        Tool {
            limit: Some(limit),
            ..Tool::default()
        }
    }

    /// Given patterns, they fit as a person reads them.
    #[test]
    fn stars_stand_for_any_text() {
        let check = |pattern: &str, name: &str, expected: bool| {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        };
        check("read_file", "read_file", true);
        check("Read_File", "read_file", true);
        check("read_file", "read_files", false);
        check("read_*", "read_", true);
        check("get_*_status", "get_job_status", true);
        check("get_*_status", "get_status", false);
        check("a*a", "a", false);
        check("*_file", "read_file", true);
        check("*a*b*", "xxaxxbxx", true);
        check("*a*b", "ab ab x", false);
        check("*", "", true);
        check("", "", true);
        check("", "a", false);
        check("a*", "b", false);
    }

    /// Given several entries that fit, each setting comes from the closest that has it, whatever their order.
    #[test]
    fn the_closest_entry_counts() {
        let mut wide = limit(1);
        wide.search = Some(true);
        let entries = [
            ("*", wide),
            ("web_*", limit(2)),
            ("web_search", limit(3)),
            ("*@lead", limit(4)),
            ("web_search@lead", limit(5)),
        ];
        let tools = Tools(entries.map(|(name, tool)| (name.to_owned(), tool)).into());
        let of = |tool, agent| tools.of(tool, agent).limit;
        assert_eq!(of("shell", None), Some(1));
        assert_eq!(of("web_open", None), Some(2));
        assert_eq!(of("web_search", Some("helper")), Some(3));
        assert_eq!(of("shell", Some("lead")), Some(4));
        assert_eq!(of("web_search", Some("Lead")), Some(5));
        assert!(tools.of("web_search", Some("lead")).search);
        let plain = ToolSettings {
            tool: "x",
            ..ToolSettings::PLAIN
        };
        assert_eq!(Tools::default().of("x", None), plain);
    }
}
