//! The page that explains a warning.

use super::text::{Look, Paint, clean, columns, pad};
use super::{barred, clock, hanging, joined, rule_and_count, sentence, severity_paint};
use crate::json::{ExplanationJson, ShownJson};

/// Everything about why a warning was raised. Ends with a line break.
#[must_use]
pub fn explanation_page(look: Look, explanation: &ExplanationJson) -> String {
    let warning = &explanation.warning;
    let paint = severity_paint(&warning.severity);
    let heading = |text: &str| look.paint(Paint::Strong, text);
    let word = clean(&warning.severity).to_uppercase();
    let mut lines = vec![format!(
        "{}  {}",
        look.paint(paint, &word),
        heading(&rule_and_count(warning))
    )];
    lines.push(format!("run {}", clean(&explanation.run_id)));
    lines.extend(sentence(look, "what", &warning.what_happened));
    lines.push(String::new());
    lines.push(heading("Events that show it"));
    lines.extend(events(look, explanation));
    lines.extend(arguments(look, explanation));
    lines.push(String::new());
    lines.push(heading("Why they count as the same"));
    lines.extend(hanging("  ", &clean(&explanation.sameness), look));
    lines.push(String::new());
    let profile = clean(&explanation.profile);
    lines.push(heading(&format!(
        "Settings that decided (profile {profile})"
    )));
    for (path, value) in &explanation.settings {
        let line = format!("{}: {}", clean(path), clean(&value.to_string()));
        lines.extend(hanging("  ", &line, look));
    }
    lines.push(String::new());
    lines.push(heading("What would silence it"));
    for way in &explanation.silence {
        lines.extend(hanging("  ", &clean(&way.config), look));
        let effect = hanging("      ", &clean(&way.effect), look);
        lines.extend(effect.iter().map(|line| look.paint(Paint::Faint, line)));
    }
    barred(look, paint, &lines)
}

/// The events in columns: when, what, who, and what is equal.
fn events(look: Look, explanation: &ExplanationJson) -> Vec<String> {
    let events = &explanation.events;
    let width = |text: fn(&ShownJson) -> &str| {
        let widths = events.iter().map(|event| columns(&clean(text(event))));
        widths.max().unwrap_or(0).min(32)
    };
    let what = width(|event| &event.what);
    let who = width(|event| event.agent.as_deref().unwrap_or_default());
    let mut lines = Vec::new();
    if explanation.earlier > 0 {
        // Events are shown by their spans.
        let is_told_otherwise = explanation.warning.evidence.is_empty();
        let more = match explanation.earlier {
            1 if is_told_otherwise => {
                "  1 without a span: only the guard, or a log record, tells of it".to_owned()
            }
            all if is_told_otherwise => {
                format!("  {all} without a span: only the guard, or log records, tell of them")
            }
            1 => "  1 earlier one is not kept by itself".to_owned(),
            earlier => format!("  {earlier} earlier ones are not kept one by one"),
        };
        lines.push(look.paint(Paint::Faint, &more));
    }
    for event in events {
        let agent = event.agent.as_deref().unwrap_or_default();
        let mut line = format!(
            "  {}  {}  ",
            clock(event.at.as_deref()),
            look.paint(Paint::Strong, &pad(&clean(&event.what), what)),
        );
        if who > 0 {
            line.push_str(&pad(&clean(agent), who));
            line.push_str("  ");
        }
        line.push_str(&joined(&equal_parts(event)));
        line.push_str(&look.paint(Paint::Faint, &format!("  span {}", clean(&event.span))));
        lines.push(line);
    }
    lines
}

/// What each letter stands for; where that is not shown, the setting that shows it.
fn arguments(look: Look, explanation: &ExplanationJson) -> Vec<String> {
    let mut events = explanation.events.iter();
    if !events.any(|event| event.arguments.is_some()) {
        return Vec::new();
    }
    let Some(samples) = &explanation.samples else {
        let hint = "which arguments these are is shown with `service.api.show_arguments: true`";
        let hint = hanging("  ", hint, look);
        return hint
            .iter()
            .map(|line| look.paint(Paint::Faint, line))
            .collect();
    };
    let heading = look.paint(Paint::Strong, "Their arguments, redacted");
    let sample = |(letter, sample): (&String, &String)| {
        let letter = format!("  {}  ", clean(letter));
        hanging(&letter, &clean(sample), look)
    };
    // Z comes before AA.
    let mut samples: Vec<_> = samples.iter().collect();
    samples.sort_by_key(|(letter, _)| letter.len());
    let samples = samples.into_iter().flat_map(sample);
    [String::new(), heading]
        .into_iter()
        .chain(samples)
        .collect()
}

/// Which arguments and which result an event has: the same letter and number for the same.
fn equal_parts(event: &ShownJson) -> Vec<String> {
    let mut parts = Vec::new();
    let arguments = event.arguments.as_deref();
    parts.extend(arguments.map(|letter| format!("arguments {}", clean(letter))));
    parts.extend(event.result.map(|number| {
        let kind = if event.failed { "error" } else { "result" };
        format!("{kind} {number}")
    }));
    if parts.is_empty() && event.failed {
        parts.push("failed".to_owned());
    }
    parts
}
