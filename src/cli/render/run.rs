//! One run with its warnings, and one warning with everything that is known of it.

use super::text::{Look, Paint, clean, money, short_number, short_time, wrap};
use super::{
    clock, hanging, joined, place_of, rule_and_count, sentence, sentence_columns, severity_paint,
    severity_word, status_paint, words,
};
use crate::json::{RunJson, WarningJson};

/// Everything about a run. Ends with a line break.
#[must_use]
pub fn run_page(look: Look, run: &RunJson) -> String {
    let status = words(&run.status).to_uppercase();
    let mut page = format!(
        "{}  {}  score {}\n",
        look.paint(Paint::Strong, &format!("run {}", clean(&run.run_id))),
        look.paint(status_paint(&run.status), &status),
        look.paint(Paint::Strong, &run.score.to_string()),
    );
    for line in summary(run) {
        for line in wrap(&line, sentence_columns(look)) {
            page.push_str(&format!("  {line}\n"));
        }
    }
    let open = run
        .warnings
        .iter()
        .filter(|warning| warning.state == "open")
        .count();
    let heading = match (open, run.warnings.len() - open) {
        (0, 0) => "No warnings".to_owned(),
        (open, 0) => format!("Warnings: {open} open"),
        (open, resolved) => format!("Warnings: {open} open, {resolved} resolved"),
    };
    page.push_str(&format!("\n{}\n", look.paint(Paint::Strong, &heading)));
    for warning in &run.warnings {
        page.push_str(&format!("\n{}", warning_page(look, warning)));
    }
    if !run.notes.is_empty() {
        page.push_str(&format!("\n{}\n", look.paint(Paint::Strong, "Notes")));
    }
    for note in &run.notes {
        page.push_str(&hanging("  · ", &clean(note), look).join("\n"));
        page.push('\n');
    }
    page
}

/// Everything about a warning. Ends with a line break.
#[must_use]
pub fn warning_page(look: Look, warning: &WarningJson) -> String {
    let open = warning.state == "open";
    let mut head = if open {
        severity_word(look, &warning.severity)
    } else {
        look.paint(Paint::Good, "RESOLVED")
    };
    head.push_str("  ");
    head.push_str(&look.paint(Paint::Strong, &rule_and_count(warning)));
    if open && warning.penalty > 0 {
        head.push_str(&format!("  −{} points", warning.penalty));
    }
    let mut lines = vec![head];
    lines.extend(place_of(warning));
    lines.push(period(
        warning.first_seen.as_deref(),
        warning.last_seen.as_deref(),
    ));
    lines.extend(sentence(look, "what", &warning.what_happened));
    lines.extend(sentence(look, "why", &warning.why_it_matters));
    lines.extend(sentence(look, "try", &warning.what_to_try));
    if !warning.evidence.is_empty() {
        lines.extend(sentence(look, "spans", &warning.evidence.join(" ")));
    }
    let ids = format!("id {} · revision {}", clean(&warning.id), warning.revision);
    lines.push(look.paint(Paint::Faint, &ids));
    let paint = if open {
        severity_paint(&warning.severity)
    } else {
        Paint::Good
    };
    let bar = look.paint(paint, "▌");
    lines
        .iter()
        .filter(|line| !line.is_empty())
        .map(|line| format!("{bar} {line}\n"))
        .collect()
}

/// The lines of a run's page that say who did how much, and when.
fn summary(run: &RunJson) -> Vec<String> {
    let mut who = Vec::new();
    who.extend(
        run.service
            .as_ref()
            .map(|service| format!("service {service}")),
    );
    who.extend(
        run.session_id
            .as_ref()
            .map(|session| format!("session {session}")),
    );
    if !run.agents.is_empty() {
        who.push(format!("agents {}", run.agents.join(", ")));
    }
    let mut what = vec![format!("{} tool calls", short_number(run.tool_calls))];
    if run.skipped_calls > 0 {
        what.push(format!(
            "{} more kept back by the guard",
            short_number(run.skipped_calls)
        ));
    }
    what.push(format!("{} model calls", short_number(run.model_calls)));
    what.push(format!("{} tokens", short_number(run.tokens)));
    what.push(money(run.cost_usd));
    let mut when = vec![period(run.first_seen.as_deref(), run.last_seen.as_deref())];
    when.push(match run.ended.as_str() {
        "ok" => "ended well".to_owned(),
        "failed" => "ended in failure".to_owned(),
        "idle" => "went quiet without an end".to_owned(),
        _ => "still open".to_owned(),
    });
    when.push(format!("lowest score {}", run.lowest_score));
    if run.late_events > 0 {
        when.push(format!("{} reports too late to count", run.late_events));
    }
    [who, what, when]
        .into_iter()
        .map(|parts| clean(&joined(&parts)).into_owned())
        .filter(|line| !line.is_empty())
        .collect()
}

/// From when to when, the date only once where it is the same, and how long that was.
fn period(first: Option<&str>, last: Option<&str>) -> String {
    let (Some(first), Some(last)) = (first, last) else {
        return "time not known".to_owned();
    };
    let day = |time: &str| clean(time.get(..10).unwrap_or(time)).into_owned();
    let until = if day(first) == day(last) {
        String::new()
    } else {
        day(last) + " "
    };
    let start = format!("{} {}", day(first), clock(Some(first)));
    let (first_at, last_at) = (
        humantime::parse_rfc3339(first),
        humantime::parse_rfc3339(last),
    );
    let long = match (first_at, last_at) {
        (Ok(first_at), Ok(last_at)) => last_at.duration_since(first_at).unwrap_or_default(),
        _ => return start,
    };
    format!(
        "{start} – {until}{} ({})",
        clock(Some(last)),
        short_time(long.as_secs())
    )
}
