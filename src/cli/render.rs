//! Alerts, runs and warnings as people read them: the terminal exporter, `eddy tail`, `runs`, `run`, `explain` and `check`.
//!
//! Everything is made from the JSON shapes of [`crate::json`], so that a page looks the same whether its content came over
//! the network or from a file. A text goes through [`clean`] first, is laid out, and is painted last, because colours have
//! no columns. An alert is a block of its own only once: as its warning grows it becomes a line ([`Feed`]).

use std::collections::{BTreeMap, VecDeque};
use std::time::SystemTime;

use crate::cli::text::{
    Look, Paint, clean, columns, fit, money, pad, short_number, short_time, wrap,
};
use crate::json::{AlertJson, RunJson, WarningJson};

/// Widest that sentences are set; longer lines are hard to read.
const SENTENCE_COLUMNS_MAX: usize = 110;

/// Warnings that a feed remembers to have shown. A forgotten one is shown as a block again.
const SHOWN_MAX: usize = 1_000;

/// Room left for the worst warning at the end of a table's row; with less it gets a line of its own.
const WORST_COLUMNS_MIN: usize = 34;

/// Widest that the agents of a run may be in a table.
const AGENTS_COLUMNS_MAX: usize = 20;

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

/// A warning that has grown since the reader saw it. Ends with a line break.
#[must_use]
pub fn update_line(look: Look, alert: &AlertJson, severity_before: &str) -> String {
    let warning = &alert.warning;
    let severity = if warning.severity == severity_before {
        severity_word(look, &warning.severity)
    } else {
        let before = format!(" (was {})", clean(severity_before));
        severity_word(look, &warning.severity) + &look.paint(Paint::Faint, &before)
    };
    let sign = look.paint(severity_paint(&warning.severity), "▌↑");
    let rule = look.paint(Paint::Strong, &rule_and_count(warning));
    format!("{sign} {severity}  {rule}  {}\n", tail_of_line(look, alert))
}

/// A warning whose run recovered. Ends with a line break.
#[must_use]
pub fn resolved_line(look: Look, alert: &AlertJson) -> String {
    let sign = look.paint(Paint::Good, "▌✓ RESOLVED");
    let rule = rule_and_count(&alert.warning);
    format!("{sign}  {rule}  {}\n", tail_of_line(look, alert))
}

/// Runs as a table, in the order given, with `now` as the end of all ages. Ends with a line break.
#[must_use]
pub fn runs_table(look: Look, runs: &[RunJson], now: SystemTime) -> String {
    if runs.is_empty() {
        return "No runs.\n".to_owned();
    }
    let rows: Vec<Row> = runs.iter().map(|run| Row::of(run, now)).collect();
    let widths: Vec<usize> = (0..HEADS.len())
        .map(|column| {
            rows.iter()
                .map(|row| columns(&row.cells[column]))
                .chain([columns(HEADS[column])])
                .max()
        })
        .map(Option::unwrap_or_default)
        .collect();
    let taken: usize = widths.iter().map(|width| width + 2).sum();
    let beside = taken + WORST_COLUMNS_MIN <= look.width;
    let mut table = table_line(&HEADS.map(str::to_owned), &widths);
    if beside {
        table.push_str("WORST WARNING");
    }
    let mut table = look.paint(Paint::Faint, table.trim_end()) + "\n";
    for row in &rows {
        row.write(
            &mut table,
            look,
            &widths,
            beside.then(|| look.width - taken),
        );
    }
    table
}

/// The table's columns; the worst warning comes after them.
const HEADS: [&str; 8] = [
    "STATUS",
    "SCORE",
    "RUN",
    "AGENTS",
    "CALLS",
    "TOKENS",
    "COST",
    "LAST SEEN",
];

/// A run in a table.
struct Row {
    cells: [String; HEADS.len()],
    status: Paint,
    worst: Option<(Paint, String)>,
}

impl Row {
    fn of(run: &RunJson, now: SystemTime) -> Self {
        Self {
            cells: [
                words(&run.status),
                run.score.to_string(),
                clean(&run.run_id).into_owned(),
                fit(&clean(&run.agents.join(", ")), AGENTS_COLUMNS_MAX),
                short_number(run.tool_calls),
                short_number(run.tokens),
                money(run.cost_usd),
                age(run.last_seen.as_deref(), now),
            ],
            status: status_paint(&run.status),
            worst: worst_warning(run).map(|warning| {
                let mut text = rule_and_count(warning);
                if let Some(tool) = &warning.tool {
                    text.push_str(" · ");
                    text.push_str(&clean(tool));
                }
                (severity_paint(&warning.severity), text)
            }),
        }
    }

    /// Adds the row, with the worst warning in `room` columns at its end or, without room, in a line below.
    fn write(&self, table: &mut String, look: Look, widths: &[usize], room: Option<usize>) {
        let line = table_line(&self.cells, widths);
        let status = look.paint(self.status, &line[..self.cells[0].len()]);
        let mut line = status + &line[self.cells[0].len()..];
        if let Some((paint, worst)) = &self.worst {
            match room {
                Some(room) => line.push_str(&look.paint(*paint, &fit(worst, room))),
                None => {
                    let worst = fit(worst, look.width.saturating_sub(4));
                    line = format!(
                        "{}\n  {}",
                        line.trim_end(),
                        look.paint(*paint, &format!("└ {worst}"))
                    );
                }
            }
        }
        table.push_str(line.trim_end());
        table.push('\n');
    }
}

/// Cells in their columns; numbers lean to the right.
fn table_line(cells: &[String; HEADS.len()], widths: &[usize]) -> String {
    let mut line = String::new();
    for (column, (cell, width)) in cells.iter().zip(widths).enumerate() {
        let filled = match column {
            1 | 4 | 5 | 6 => " ".repeat(width.saturating_sub(columns(cell))) + cell,
            _ => pad(cell, *width),
        };
        line.push_str(&filled);
        line.push_str("  ");
    }
    line
}

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

/// The line that says who loops with what, and what it has cost; nothing where none of it is known.
fn place_of(warning: &WarningJson) -> Option<String> {
    let mut parts = Vec::new();
    parts.extend(
        warning
            .agent
            .as_ref()
            .map(|agent| format!("agent {}", clean(agent))),
    );
    parts.extend(
        warning
            .tool
            .as_ref()
            .map(|tool| format!("tool {}", clean(tool))),
    );
    if warning.tokens > 0 {
        parts.push(format!("{} tokens", short_number(warning.tokens)));
    }
    if warning.cost_usd > 0.0 {
        parts.push(money(warning.cost_usd));
    }
    (!parts.is_empty()).then(|| joined(&parts))
}

/// The end of an update's line: what it is about, so short that the line rarely breaks.
fn tail_of_line(look: Look, alert: &AlertJson) -> String {
    let mut parts = Vec::new();
    parts.extend(
        alert
            .warning
            .tool
            .as_ref()
            .map(|tool| fit(&clean(tool), 24)),
    );
    parts.push(format!("run {}", fit(&clean(&alert.run_id), 12)));
    parts.push(format!("score {}", alert.score));
    let time = clock(alert.at.as_deref());
    look.paint(Paint::Faint, &format!("{} · {time}", joined(&parts)))
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

/// The gravest open warning of a run; among equals the one that takes most from the score.
fn worst_warning(run: &RunJson) -> Option<&WarningJson> {
    let rank = |warning: &&WarningJson| {
        let severity = ["info", "warning", "critical"]
            .iter()
            .position(|name| *name == warning.severity);
        (severity, warning.penalty, warning.count)
    };
    run.warnings
        .iter()
        .filter(|warning| warning.state == "open")
        .max_by_key(rank)
}

fn severity_word(look: Look, severity: &str) -> String {
    look.paint(severity_paint(severity), &clean(severity).to_uppercase())
}

fn severity_paint(severity: &str) -> Paint {
    match severity {
        "critical" => Paint::Bad,
        "warning" => Paint::Odd,
        _ => Paint::Note,
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

/// The colour of the status that a score alone would have.
fn score_paint(score: u32) -> Paint {
    match score {
        80.. => Paint::Good,
        50..80 => Paint::Odd,
        _ => Paint::Bad,
    }
}

/// The time of day, in UTC, of an RFC 3339 time.
fn clock(time: Option<&str>) -> String {
    let seconds = time.and_then(|time| time.get(11..19)).unwrap_or("--:--:--");
    format!("{}Z", clean(seconds))
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

/// How long ago an RFC 3339 time was.
fn age(time: Option<&str>, now: SystemTime) -> String {
    time.and_then(|time| humantime::parse_rfc3339(time).ok())
        .map(|time| now.duration_since(time).unwrap_or_default().as_secs())
        .map_or_else(
            || "–".to_owned(),
            |seconds| format!("{} ago", short_time(seconds)),
        )
}
