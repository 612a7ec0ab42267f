//! The page that explains a warning.

use std::fmt::Write as _;
use std::time::SystemTime;

use super::text::{Look, Paint, clean, columns, pad};
use super::{barred, hanging, joined, moment, rule_and_count, sentence, severity_paint};
use crate::json::{ExplanationJson, ShownJson};

/// Everything about why a warning was raised, with the dates of what was not today. Ends with a line break.
///
/// What would silence it is to be pasted, so that stands whole at the beginning of a line, behind no bar; where a line has no room
/// for it, as the same YAML over several.
#[must_use]
pub fn explanation_page(look: Look, explanation: &ExplanationJson, now: SystemTime) -> String {
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
    lines.extend(events(look, explanation, now));
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
    let mut page = barred(look, paint, &lines);
    let _ = write!(page, "\n{}\n", heading("What would silence it"));
    for way in &explanation.silence {
        // A comment, so that it may be pasted with the rest.
        let effect = hanging("  ", &clean(&way.effect), look);
        let effect: Vec<_> = effect
            .iter()
            .map(|line| format!("  # {}", line.trim_start()))
            .collect();
        let effect = look.paint(Paint::Faint, &effect.join("\n"));
        let config = laid_out(&clean(&way.config), look.room(), 0).join("\n");
        let _ = write!(page, "{config}\n{effect}\n");
    }
    page
}

/// YAML of one line, whose mappings stand in braces: as it is where it has room, else with the members of the outermost below it, a
/// line each, laid out likewise.
fn laid_out(yaml: &str, width: usize, depth: usize) -> Vec<String> {
    let line = format!("{:indent$}{yaml}", "", indent = 2 * depth);
    let opened = at_top(yaml, ": {").and_then(|at| {
        let members = yaml[at + 3..].strip_suffix('}')?;
        Some((&yaml[..at], members))
    });
    let Some((key, mut members)) = opened.filter(|_| columns(&line) > width) else {
        return vec![line];
    };
    let mut lines = vec![format!("{:indent$}{key}:", "", indent = 2 * depth)];
    while let Some(end) = at_top(members, ", ") {
        lines.extend(laid_out(&members[..end], width, depth + 1));
        members = &members[end + 2..];
    }
    lines.extend(laid_out(members, width, depth + 1));
    lines
}

/// Where a sign first stands that is in no quotes, and in no brackets of its own.
fn at_top(yaml: &str, sign: &str) -> Option<usize> {
    let (mut depth, mut is_quoted, mut is_escaped) = (0, false, false);
    for (at, char) in yaml.char_indices() {
        if !is_quoted && depth == 0 && yaml[at..].starts_with(sign) {
            return Some(at);
        }
        match char {
            _ if is_escaped => is_escaped = false,
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            '{' | '[' if !is_quoted => depth += 1,
            '}' | ']' if !is_quoted => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The events in columns: when, what, who, and what is equal. Where that has no room, what is equal gets a line of its own.
fn events(look: Look, explanation: &ExplanationJson, now: SystemTime) -> Vec<String> {
    let events = &explanation.events;
    let times = events.iter().map(|event| moment(event.at.as_deref(), now));
    let times: Vec<String> = times.collect();
    let longest = times.iter().map(|time| columns(time)).max();
    let longest = longest.unwrap_or_default();
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
    let rows = || {
        let events = events.iter().zip(&times);
        events.map(|(event, time)| Row::of(event, &pad(time, longest), what, who))
    };
    // Two are taken by the bar.
    let room = look.room().saturating_sub(2);
    let is_beside = rows().all(|row| row.columns() <= room);
    for row in rows() {
        lines.extend(row.lines(look, is_beside));
    }
    lines
}

/// An event as it is laid out.
struct Row {
    at: String,
    what: String,
    who: String,
    /// What is equal; empty where nothing is known of it.
    equal: String,
    span: String,
}

impl Row {
    fn of(event: &ShownJson, time: &str, what: usize, who: usize) -> Self {
        let agent = event.agent.as_deref().unwrap_or_default();
        Self {
            at: format!("  {time}"),
            what: format!("  {}", pad(&clean(&event.what), what)),
            who: match who {
                0 => String::new(),
                who => format!("  {}", pad(&clean(agent), who)),
            },
            equal: format!("  {}", joined(&equal_parts(event))),
            span: format!("  span {}", clean(&event.span)),
        }
    }

    fn columns(&self) -> usize {
        let parts = [&self.at, &self.what, &self.who, &self.equal, &self.span];
        parts.map(|part| columns(part)).iter().sum()
    }

    fn lines(&self, look: Look, is_beside: bool) -> Vec<String> {
        let what = look.paint(Paint::Strong, &self.what);
        let head = format!("{}{what}{}", self.at, self.who);
        let rest = format!("{}{}", self.equal, look.paint(Paint::Faint, &self.span));
        if is_beside {
            vec![head + &rest]
        } else {
            vec![head, format!("    {rest}")]
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::SilenceJson;
    use crate::render::samples::{plain, warning};

    fn explanation(event: ShownJson) -> ExplanationJson {
        ExplanationJson {
            run_id: "r".to_owned(),
            warning: warning(),
            events: vec![event],
            samples: None,
            earlier: 0,
            sameness: "They are equal.".to_owned(),
            profile: "standard".to_owned(),
            settings: serde_json::Map::new(),
            silence: Vec::new(),
        }
    }

    fn event() -> ShownJson {
        ShownJson {
            at: Some("2026-01-05T14:03:22.000Z".to_owned()),
            what: "check_status".to_owned(),
            agent: Some("demo_agent".to_owned()),
            arguments: Some("A".to_owned()),
            result: Some(1),
            failed: false,
            span: "04d0c88e97fa2e13".to_owned(),
        }
    }

    // Given a page on another day; what is to be pasted stands as it is, and the date of the call is told.
    #[test]
    fn configuration_can_be_pasted() {
        let config =
            "detectors: {rules: {repeated_tool_call_exact_input: {calls: 15, calls_moving: 15}}}";
        let mut explanation = explanation(event());
        explanation.silence.push(SilenceJson {
            config: config.to_owned(),
            effect: "the rule speaks later, for every tool and agent".to_owned(),
        });
        let page = explanation_page(plain(columns(config)), &explanation, SystemTime::UNIX_EPOCH);
        let told = format!("\n{config}\n  # the rule speaks later, for every tool and agent\n");
        assert!(page.ends_with(&told), "{page}");
        assert!(
            page.contains("▌   2026-01-05 14:03:22Z  check_status"),
            "{page}"
        );
    }

    // Given configuration that is longer than a line, it is the same mapping over several; what is in quotes stays as it is, and
    // so does what cannot be broken.
    #[test]
    fn long_configuration_has_lines_of_its_own() {
        for (config, expected) in [
            (
                "detectors: {rules: {repeated_tool_call: {calls: 15, calls_moving: 15}}}",
                "detectors:\n  rules:\n    repeated_tool_call:\n      calls: 15\n      calls_moving: 15",
            ),
            (
                "detectors: {rules: {no_progress: {calls: 15}}}",
                "detectors:\n  rules: {no_progress: {calls: 15}}",
            ),
            (
                "tools: {\"a: {b, \\\"c\": {polling: true, volatile: [x, y]}}",
                "tools:\n  \"a: {b, \\\"c\":\n    polling: true\n    volatile: [x, y]",
            ),
            (
                "a: {profile: looplens, rules: {spike: off}}",
                "a:\n  profile: looplens\n  rules: {spike: off}",
            ),
            (
                "tools: {\"a tool with a very long name indeed\": 1}",
                "tools:\n  \"a tool with a very long name indeed\": 1",
            ),
        ] {
            assert_eq!(laid_out(config, 36, 0).join("\n"), expected);
            assert_eq!(laid_out(config, 100, 0), [config]);
        }
    }

    // Given a call whose line is longer than a page is wide, what is equal stands below it; where nothing is cut, beside it.
    #[test]
    fn a_narrow_page_keeps_to_its_columns() {
        let explanation = explanation(event());
        let now = humantime::parse_rfc3339("2026-01-05T20:00:00Z").expect("a time");
        let page = |width, cuts| {
            let color = false;
            explanation_page(Look { color, width, cuts }, &explanation, now)
        };
        let head = "▌   14:03:22Z  check_status  demo_agent";
        let rest = "arguments A · result 1  span 04d0c88e97fa2e13";
        let narrow = page(60, true);
        assert!(
            narrow.contains(&format!("{head}\n▌       {rest}\n")),
            "{narrow}"
        );
        assert!(narrow.lines().all(|line| columns(line) <= 60), "{narrow}");
        for (width, cuts) in [(100, true), (60, false)] {
            let wide = page(width, cuts);
            assert!(wide.contains(&format!("{head}  {rest}\n")), "{wide}");
        }
    }
}
