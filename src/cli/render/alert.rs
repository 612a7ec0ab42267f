//! Alerts as they pass by. An alert is a block of its own only once; as its warning grows it becomes a line ([`Feed`]).

use std::collections::{BTreeMap, VecDeque};

use super::text::{Look, Paint, clean, columns, fit};
use super::{clock, joined, place_of, rule_and_count, sentence, severity_paint, severity_word};
use crate::json::AlertJson;

/// Warnings that a feed remembers to have shown. A forgotten one is shown as a block again.
const SHOWN_MAX: usize = 1_000;

/// A stream of alerts on its way to a reader, who has seen some of its warnings already.
#[derive(Debug)]
pub struct Feed {
    look: Look,
    /// Severity with which each warning was last shown, by id.
    shown: BTreeMap<String, String>,
    /// The keys of `shown`, oldest first.
    order: VecDeque<String>,
}

impl Feed {
    /// A feed whose reader has seen nothing.
    #[must_use]
    pub fn new(look: Look) -> Self {
        Self {
            look,
            shown: BTreeMap::new(),
            order: VecDeque::new(),
        }
    }

    /// The alert as the reader should see it: a block where the warning is new to him, else a line. Ends with a line break.
    pub fn show(&mut self, alert: &AlertJson) -> String {
        let warning = &alert.warning;
        if alert.change == "resolved" {
            self.forget(&warning.id);
            return resolved_line(self.look, alert);
        }
        let severity = warning.severity.clone();
        match self.shown.insert(warning.id.clone(), severity) {
            Some(before) => update_line(self.look, alert, &before),
            None => {
                self.remember(warning.id.clone());
                format!("\n{}\n", alert_block(self.look, alert))
            }
        }
    }

    fn remember(&mut self, id: String) {
        self.order.push_back(id);
        if self.order.len() > SHOWN_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.shown.remove(&oldest);
        }
    }

    fn forget(&mut self, id: &str) {
        if self.shown.remove(id).is_some() {
            self.order.retain(|kept| kept != id);
        }
    }
}

/// A warning that the reader has not seen yet. Ends with a line break.
#[must_use]
pub fn alert_block(look: Look, alert: &AlertJson) -> String {
    let warning = &alert.warning;
    let paint = severity_paint(&warning.severity);
    let mut head = severity_word(look, &warning.severity);
    head.push_str("  ");
    head.push_str(&look.paint(Paint::Strong, &rule_and_count(warning)));
    if alert.change == "reopened" {
        head.push_str(&look.paint(paint, "  again"));
    }
    head.push_str(&look.paint(Paint::Faint, &format!("  {}", clock(alert.at.as_deref()))));
    let mut lines = vec![head, run_of_alert(look, alert)];
    lines.extend(place_of(warning));
    lines.push(String::new());
    lines.extend(sentence(look, "what", &warning.what_happened));
    lines.extend(sentence(look, "try", &warning.what_to_try));
    lines.push(String::new());
    let id = clean(&warning.id);
    lines.push(look.paint(Paint::Faint, &format!("id {id} · more: eddy explain {id}")));
    let bar = look.paint(paint, "▌");
    lines
        .iter()
        .map(|line| format!("{bar} {line}").trim_end().to_owned() + "\n")
        .collect()
}

/// A warning that has grown since the reader saw it, in one line. Ends with a line break.
#[must_use]
pub fn update_line(look: Look, alert: &AlertJson, severity_before: &str) -> String {
    let severity = clean(&alert.warning.severity).to_uppercase();
    let word = if alert.warning.severity == severity_before {
        severity
    } else {
        format!("{} → {severity}", clean(severity_before))
    };
    let paint = severity_paint(&alert.warning.severity);
    short_line(look, paint, &format!("▌↑ {word}"), alert)
}

/// A warning whose run recovered, in one line. Ends with a line break.
#[must_use]
pub fn resolved_line(look: Look, alert: &AlertJson) -> String {
    short_line(look, Paint::Good, "▌✓ RESOLVED", alert)
}

/// Sign, rule, and as much of where and when as the line has room for.
fn short_line(look: Look, paint: Paint, sign: &str, alert: &AlertJson) -> String {
    let rule = rule_and_count(&alert.warning);
    let mut rest = vec![clock(alert.at.as_deref())];
    rest.extend(
        alert
            .warning
            .tool
            .as_ref()
            .map(|tool| fit(&clean(tool), 24)),
    );
    rest.push(format!("score {}", alert.score));
    rest.push(format!("run {}", clean(&alert.run_id)));
    let room = look
        .width
        .saturating_sub(columns(sign) + columns(&rule) + 4);
    let (sign, rule) = (look.paint(paint, sign), look.paint(Paint::Strong, &rule));
    let rest = look.paint(Paint::Faint, &fit(&joined(&rest), room));
    format!("{sign}  {rule}  {rest}\n")
}

/// The line of an alert that names its run.
fn run_of_alert(look: Look, alert: &AlertJson) -> String {
    let service = alert
        .service
        .as_ref()
        .map(|service| format!(" · service {}", clean(service)));
    let run = format!(
        "run {}{}",
        clean(&alert.run_id),
        service.unwrap_or_default()
    );
    format!(
        "{run} · score {}",
        look.paint(score_paint(alert.score), &alert.score.to_string())
    )
}

/// The colour of the status that a score alone would have.
fn score_paint(score: u32) -> Paint {
    match score {
        80.. => Paint::Good,
        50..80 => Paint::Odd,
        _ => Paint::Bad,
    }
}
