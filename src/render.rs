//! Alerts, runs and warnings as people read them: the terminal exporter, `eddy tail`, `runs`, `run` and `check`.
//!
//! Everything is made from the JSON shapes of [`crate::json`], so that a page looks the same whether its content came over
//! the network or from a file. A text goes through [`text::clean`] first, is laid out, and is painted last, because colours
//! have no columns. Here are the parts that several pages share.

pub mod alert;
pub mod explain;
pub mod run;
#[cfg(test)]
mod samples;
pub mod table;
pub mod text;

use std::time::SystemTime;

use crate::json::{RunJson, WarningJson};

use text::{Look, Paint, clean, columns, money, short_number, wrap};

/// Widest that sentences are set; longer lines are hard to read.
const SENTENCE_COLUMNS_MAX: usize = 110;

/// Who loops with what, and what it has cost; nothing where none of it is known.
fn place_of(look: Look, warning: &WarningJson) -> Vec<String> {
    let mut parts = Vec::new();
    let agent = warning.agent.as_ref();
    parts.extend(agent.map(|agent| format!("agent {}", clean(agent))));
    let tool = warning.tool.as_ref();
    parts.extend(tool.map(|tool| format!("tool {}", clean(tool))));
    if warning.tokens > 0 {
        parts.push(format!("{} tokens", short_number(warning.tokens)));
    }
    if warning.cost_usd > 0.0 {
        parts.push(money(warning.cost_usd));
    }
    if parts.is_empty() {
        return Vec::new();
    }
    hanging("", &joined(&parts), look)
}

/// What a run cost; nothing where no price is known of its models.
fn cost(run: &RunJson) -> Option<String> {
    let is_known = run.cost_usd > 0.0 || run.unpriced_models.is_empty();
    is_known.then(|| money(run.cost_usd))
}

/// The warnings of each incident. The engine puts the leading one first. Resolved ones do not hide behind an open one.
fn incidents(warnings: &[WarningJson]) -> Vec<Vec<&WarningJson>> {
    let mut incidents: Vec<Vec<&WarningJson>> = Vec::new();
    for warning in warnings {
        let same = |other: &WarningJson| {
            other.incident == warning.incident && other.state == warning.state
        };
        match incidents.iter_mut().find(|incident| same(incident[0])) {
            Some(incident) => incident.push(warning),
            None => incidents.push(vec![warning]),
        }
    }
    incidents
}

/// What a run scores; where too little was told of it, that says nothing.
fn score(run: &RunJson) -> String {
    match run.status.as_str() {
        "blind" => "–".to_owned(),
        _ => run.score.to_string(),
    }
}

/// Lines behind a coloured bar, which holds them together. Ends with a line break.
fn barred(look: Look, paint: Paint, lines: &[String]) -> String {
    let bar = look.paint(paint, "▌");
    let lines = lines.iter().map(|line| format!("{bar} {line}"));
    let lines: Vec<String> = lines.map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n") + "\n"
}

/// A sentence behind its heading, indented as a block.
fn sentence(look: Look, heading: &str, text: &str) -> Vec<String> {
    let indent = format!("{heading:<6}");
    let mut lines = hanging(&indent, &clean(text), look);
    if let Some(first) = lines.first_mut() {
        *first = look.paint(Paint::Note, &indent) + &first[indent.len()..];
    }
    lines
}

/// Text in lines that start below the end of `indent`.
fn hanging(indent: &str, text: &str, look: Look) -> Vec<String> {
    let inset = columns(indent);
    let lines = wrap(text, sentence_columns(look).saturating_sub(inset));
    let lead = |line: usize| {
        if line == 0 {
            indent.to_owned()
        } else {
            " ".repeat(inset)
        }
    };
    lines
        .iter()
        .enumerate()
        .map(|(line, text)| lead(line) + text)
        .collect()
}

/// Columns for running text: two are taken by the bar or the margin.
fn sentence_columns(look: Look) -> usize {
    look.width.min(SENTENCE_COLUMNS_MAX).saturating_sub(2)
}

/// A piece of a heading, and its colour.
type Piece = (Option<Paint>, String);

/// A heading of several pieces, in as many lines as they need.
fn heading(look: Look, pieces: &[Piece]) -> Vec<String> {
    const BETWEEN: &str = "  ";
    let mut lines: Vec<String> = Vec::new();
    let mut taken = 0;
    for (paint, piece) in pieces {
        let painted = paint.map_or_else(|| piece.clone(), |paint| look.paint(paint, piece));
        let wanted = columns(BETWEEN) + columns(piece);
        match lines.last_mut() {
            Some(line) if taken + wanted <= look.width.saturating_sub(2) => {
                *line += BETWEEN;
                *line += &painted;
                taken += wanted;
            }
            _ => {
                lines.push(painted);
                taken = columns(piece);
            }
        }
    }
    lines
}

fn rule_and_count(warning: &WarningJson) -> String {
    format!("{} ×{}", clean(&warning.rule), warning.count)
}

fn joined(parts: &[String]) -> String {
    parts.join(" · ")
}

/// A public id in words: `likely_stuck` is shown as `likely stuck`.
fn words(id: &str) -> String {
    clean(id).replace('_', " ")
}

fn severity_paint(severity: &str) -> Paint {
    match severity {
        "critical" => Paint::Bad,
        "warning" => Paint::Odd,
        _ => Paint::Note,
    }
}

/// How grave a severity is, to put the gravest first.
fn gravity(severity: &str) -> u8 {
    match severity {
        "critical" => 2,
        "warning" => 1,
        _ => 0,
    }
}

fn status_paint(status: &str) -> Paint {
    match status {
        "healthy" => Paint::Good,
        "warning" => Paint::Odd,
        "blind" => Paint::Note,
        _ => Paint::Bad,
    }
}

/// A moment, in UTC, of an RFC 3339 time: of a day that is not today's, with its date.
fn moment(time: Option<&str>, now: SystemTime) -> String {
    let today = humantime::format_rfc3339_seconds(now).to_string();
    match time.and_then(|time| time.get(..10)) {
        Some(day) if !today.starts_with(day) => format!("{} {}", clean(day), clock(time)),
        _ => clock(time),
    }
}

/// The time of day, in UTC, of an RFC 3339 time.
fn clock(time: Option<&str>) -> String {
    match time.and_then(|time| time.get(11..19)) {
        Some(seconds) => format!("{}Z", clean(seconds)),
        None => "–".to_owned(),
    }
}
