//! What every check of a value needs: where the value stands, what may be wrong with it, and the list that mistakes go on.

use std::time::Duration;

use super::mistake::{Mistakes, shown};
use super::tree::Node;
use super::values::Period;
use crate::files::Fault;
use crate::secret::{MASKED, is_masked, masked};

/// Longest period anywhere: ten years stands in for "never" without overflowing a clock.
const PERIOD_MAX: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// Notes mistakes about values of a tree.
pub(super) struct Checker<'a> {
    /// Where everything stands.
    pub(super) tree: &'a Node,
    /// What has been found so far.
    pub(super) mistakes: &'a mut Mistakes,
}

impl Checker<'_> {
    pub(super) fn wrong(&mut self, path: &[&str], text: impl Into<String>) {
        self.mistakes.0.push(self.tree.mistake(path, text));
    }

    /// What is wrong within a section, where it is.
    pub(super) fn fault(&mut self, section: &[&str], fault: Fault) {
        let within = fault.key.split('.').filter(|key| !key.is_empty());
        let path: Vec<_> = section.iter().copied().chain(within).collect();
        self.wrong(&path, fault.text);
    }

    pub(super) fn range(&mut self, path: &[&str], value: u64, min: u64, max: u64) -> u64 {
        if !(min..=max).contains(&value) {
            self.wrong(path, format!("expected {min} to {max}, found {value}"));
        }
        value
    }

    pub(super) fn period(&mut self, path: &[&str], period: Period) -> Duration {
        if period.0.is_zero() {
            self.wrong(path, "must be longer than nothing");
        } else if period.0 > PERIOD_MAX {
            self.wrong(path, "must be shorter than ten years");
        }
        period.0
    }

    pub(super) fn url(&mut self, path: &[&str], text: &str) {
        if is_masked(text) {
            self.wrong(path, MASKED);
        }
        let rest = text
            .strip_prefix("http://")
            .or_else(|| text.strip_prefix("https://"));
        if rest.is_none_or(|rest| rest.is_empty() || rest.starts_with(['/', ':'])) {
            let text = format!(
                "expected an http:// or https:// address, found `{}`",
                shown(&masked(text))
            );
            self.wrong(path, text);
        }
    }
}

/// The path of a key in a section.
pub(super) fn key<'k>(section: &[&'k str], rest: &[&'k str]) -> Vec<&'k str> {
    [section, rest].concat()
}
