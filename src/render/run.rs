//! One run with its warnings, and one warning with everything that is known of it.

use std::fmt::Write as _;

use super::text::{Look, Paint, clean, counted, duration, money, short_number};
use super::{
    Piece, barred, clock, cost, hanging, heading, incidents, joined, place_of, rule_and_count,
    score, sentence, severity_paint, status_paint, words,
};
use crate::json::{RunJson, WarningJson};

/// Everything about a run. Ends with a line break.
#[must_use]
pub fn run_page(look: Look, run: &RunJson) -> String {
    let status = words(&run.status).to_uppercase();
    let mut page = heading(
        look,
        &[
            (Some(Paint::Strong), format!("run {}", clean(&run.run_id))),
            (Some(status_paint(&run.status)), status),
            (None, format!("score {}", score(run))),
        ],
    );
    page.extend(
        summary(run)
            .iter()
            .flat_map(|line| hanging("  ", line, look)),
    );
    page.push(String::new());
    page.push(look.paint(Paint::Strong, &warnings_heading(run)));
    for incident in incidents(&run.warnings) {
        page.push(String::new());
        page.push(incident_page(look, &incident).trim_end().to_owned());
    }
    if !run.notes.is_empty() {
        page.push(String::new());
        page.push(look.paint(Paint::Strong, "Notes"));
    }
    page.extend(
        run.notes
            .iter()
            .flat_map(|note| hanging("  · ", &clean(note), look)),
    );
    page.join("\n") + "\n"
}

fn warnings_heading(run: &RunJson) -> String {
    let open = run
        .warnings
        .iter()
        .filter(|warning| warning.state == "open")
        .count();
    let incidents = incidents(&run.warnings).len();
    let told = match incidents {
        _ if incidents == run.warnings.len() => String::new(),
        1 => ", all of one incident".to_owned(),
        _ => format!(", of {incidents} incidents"),
    };
    match (open, run.warnings.len() - open) {
        (0, 0) => "No warnings".to_owned(),
        (open, 0) => format!("Warnings: {open} open{told}"),
        (open, resolved) => format!("Warnings: {open} open, {resolved} resolved{told}"),
    }
}

/// An incident: its leading warning in full, and by what else it was seen. Ends with a line break.
fn incident_page(look: Look, incident: &[&WarningJson]) -> String {
    let Some((leading, others)) = incident.split_first() else {
        return String::new();
    };
    warning_page(look, leading, others)
}

/// Everything about a warning, and the names of others that describe the same calls. Ends with a line break.
fn warning_page(look: Look, warning: &WarningJson, others: &[&WarningJson]) -> String {
    let open = warning.state == "open";
    let (paint, word) = if open {
        (
            severity_paint(&warning.severity),
            clean(&warning.severity).to_uppercase(),
        )
    } else {
        (Paint::Good, "RESOLVED".to_owned())
    };
    let takes = open && warning.penalty > 0;
    let takes = takes.then(|| (None, format!("−{} points", warning.penalty)));
    let pieces = [
        Some((Some(paint), word)),
        Some((Some(Paint::Strong), rule_and_count(warning))),
        takes,
    ];
    let pieces: Vec<Piece> = pieces.into_iter().flatten().collect();
    let mut lines = heading(look, &pieces);
    lines.extend(place_of(look, warning));
    lines.push(period(
        warning.first_seen.as_deref(),
        warning.last_seen.as_deref(),
    ));
    lines.extend(sentence(look, "what", &warning.what_happened));
    lines.extend(sentence(look, "why", &warning.why_it_matters));
    lines.extend(sentence(look, "try", &warning.what_to_try));
    if !others.is_empty() {
        let also = others.iter().map(|other| also_seen(other, warning));
        let also: Vec<String> = also.collect();
        lines.extend(sentence(look, "also", &also.join(", ")));
    }
    if !warning.evidence.is_empty() {
        lines.extend(sentence(look, "spans", &warning.evidence.join(" ")));
    }
    if let Some(verdict) = &warning.verdict {
        let said = if warning.verdict_observed {
            format!("only observes; it would have answered {verdict}")
        } else {
            format!("answered {verdict}")
        };
        lines.extend(sentence(look, "guard", &said));
    }
    let ids = format!("id {} · revision {}", clean(&warning.id), warning.revision);
    lines.push(look.paint(Paint::Faint, &ids));
    barred(look, paint, &lines)
}

/// Another rule that saw the same calls, its tool where that is another, and what it takes from the score.
fn also_seen(warning: &WarningJson, leading: &WarningJson) -> String {
    let mut text = rule_and_count(warning);
    if let Some(tool) = &warning.tool
        && warning.tool != leading.tool
    {
        let _ = write!(text, " · {}", clean(tool));
    }
    if warning.state == "open" && warning.penalty > 0 {
        let _ = write!(text, " (−{})", warning.penalty);
    }
    text
}

/// What the refused calls would have cost, where it can be estimated.
fn saved(run: &RunJson) -> Option<String> {
    let tokens = short_number(run.saved_tokens_estimate);
    let cost = money(run.saved_cost_usd_estimate);
    (run.saved_tokens_estimate > 0).then(|| format!("about {tokens} tokens and {cost} saved"))
}

/// The lines of a run's page that say who did how much, and when.
fn summary(run: &RunJson) -> Vec<String> {
    [who(run), what(run), when(run)]
        .into_iter()
        .map(|parts| clean(&joined(&parts)).into_owned())
        .filter(|line| !line.is_empty())
        .collect()
}

fn who(run: &RunJson) -> Vec<String> {
    let service = run.service.as_ref();
    let agents = match run.agents.len() {
        0 => None,
        1 => Some(format!("agent {}", run.agents[0])),
        _ => Some(format!("agents {}", run.agents.join(", "))),
    };
    let parts = [
        service.map(|service| format!("service {service}")),
        (run.session_id.as_ref()).map(|session| format!("session {session}")),
        agents,
    ];
    parts.into_iter().flatten().collect()
}

fn what(run: &RunJson) -> Vec<String> {
    let mut parts = vec![counted(run.tool_calls, "tool call")];
    if run.skipped_calls > 0 {
        parts.push(format!(
            "{} more refused by the guard",
            short_number(run.skipped_calls)
        ));
        parts.extend(saved(run));
    }
    parts.push(counted(run.model_calls, "model call"));
    parts.push(counted(run.tokens, "token"));
    parts.extend(cost(run));
    if !run.unpriced_models.is_empty() {
        let models = run.unpriced_models.iter();
        let names = models.map(|name| {
            if name.is_empty() {
                "a model without a name"
            } else {
                name
            }
        });
        parts.push(format!(
            "no price for {}",
            names.collect::<Vec<_>>().join(", ")
        ));
    }
    parts
}

fn when(run: &RunJson) -> Vec<String> {
    let ended = match run.ended.as_str() {
        "ok" => "ended well",
        "failed" => "ended in failure",
        "idle" => "went quiet without an end",
        _ => "still open",
    };
    let mut parts = vec![
        period(run.first_seen.as_deref(), run.last_seen.as_deref()),
        ended.to_owned(),
        format!("lowest score {}", run.lowest_score),
    ];
    if run.late_events > 0 {
        parts.push(counted(run.late_events, "report") + " too late to count");
    }
    parts
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
    if clock(Some(first)) == clock(Some(last)) && long.as_secs() == 0 {
        return start;
    }
    format!(
        "{start} – {until}{} ({})",
        clock(Some(last)),
        duration(long.as_secs().max(1))
    )
}

#[cfg(test)]
mod tests {
    use super::super::samples::{plain, run, warning};
    use super::*;

    // Given a run with an open and a resolved warning; the page has everything that is known.
    #[test]
    fn a_page_has_everything() {
        let mut run = run();
        run.warnings.push(WarningJson {
            state: "resolved".to_owned(),
            evidence: Vec::new(),
            ..warning()
        });
        let expected = "\
run 4bf92f3577b34da6a3ce929d0e0e4736  LIKELY STUCK  score 45
  service research-bot · session conv-8812 · agents researcher, writer
  34 tool calls · 2 more refused by the guard · 51 model calls · 120.4k tokens · $0.41
  2026-11-21 14:01:02Z – 14:03:22Z (2 min 20 s) · still open · lowest score 40

Warnings: 1 open, 1 resolved

▌ WARNING  repeated_tool_call_exact_input ×4  −25 points
▌ agent researcher · tool web_search · 12.4k tokens · $0.08
▌ 2026-11-21 14:01:02Z – 14:03:22Z (2 min 20 s)
▌ what  web_search was called 4 times with the same arguments and gave the same result.
▌ why   The same question gets the same answer.
▌ try   Give the agent the earlier result and say that it will not change.
▌ spans 00f067aa0ba902b7 00f067aa0ba902b8
▌ id 0f3a9c4be1d27786 · revision 1

▌ RESOLVED  repeated_tool_call_exact_input ×4
▌ agent researcher · tool web_search · 12.4k tokens · $0.08
▌ 2026-11-21 14:01:02Z – 14:03:22Z (2 min 20 s)
▌ what  web_search was called 4 times with the same arguments and gave the same result.
▌ why   The same question gets the same answer.
▌ try   Give the agent the earlier result and say that it will not change.
▌ id 0f3a9c4be1d27786 · revision 1

Notes
  · Results were not recorded.
";
        assert_eq!(run_page(plain(100), &run), expected);
    }

    // Given warnings of one incident; the first leads, the others are named with their points, and all are counted.
    #[test]
    fn an_incident_is_one_block() {
        let mut run = run();
        let other = |rule: &str, severity: &str, penalty: u32| WarningJson {
            rule: rule.to_owned(),
            severity: severity.to_owned(),
            penalty,
            ..warning()
        };
        run.warnings.insert(0, other("no_progress", "critical", 30));
        run.warnings.push(other("repeated_tool_call", "info", 15));
        run.warnings[2].tool = Some("fetch".to_owned());
        let page = run_page(plain(100), &run);
        assert!(
            page.contains("Warnings: 3 open, all of one incident"),
            "{page}"
        );
        assert_eq!(
            page.matches("▌ CRITICAL  no_progress ×4  −30 points\n")
                .count(),
            1
        );
        assert!(
            page.contains(
                "▌ also  repeated_tool_call_exact_input ×4 (−25), repeated_tool_call ×4 · fetch (−15)\n"
            ),
            "{page}"
        );
        assert_eq!(page.matches("▌ what").count(), 1);
    }

    // Given a run of which little is known; what is missing leaves no hole.
    #[test]
    fn unknown_things_leave_no_hole() {
        let mut run = run();
        (run.service, run.session_id, run.first_seen, run.last_seen) = (None, None, None, None);
        run.agents.clear();
        run.warnings.clear();
        run.notes.clear();
        run.skipped_calls = 0;
        (run.tool_calls, run.cost_usd) = (1, 0.0);
        run.unpriced_models = vec!["homemade".to_owned()];
        let expected = "\
run 4bf92f3577b34da6a3ce929d0e0e4736  LIKELY STUCK  score 45
  1 tool call · 51 model calls · 120.4k tokens · no price for homemade
  time not known · still open · lowest score 40

No warnings
";
        assert_eq!(run_page(plain(100), &run), expected);
    }

    // Given tokens that cost nothing, as of a model at home, that is told; of a model without a name no price is known.
    #[test]
    fn what_costs_nothing_is_known() {
        let cost_of = |unpriced: &[&str]| {
            let mut run = run();
            run.cost_usd = 0.0;
            run.unpriced_models = unpriced.iter().map(ToString::to_string).collect();
            let told = what(&run);
            told.last().cloned().unwrap_or_default()
        };
        assert_eq!(cost_of(&[]), "$0.00");
        assert_eq!(
            cost_of(&["", "homemade"]),
            "no price for a model without a name, homemade"
        );
    }

    // Given moments on both sides of a second's end; no time shown beside them denies that.
    #[test]
    fn a_period_says_how_long() {
        for (first, last, expected) in [
            ("09:00:01.9", "09:00:02.1", "09:00:01Z – 09:00:02Z (1 s)"),
            ("09:00:01.1", "09:00:01.9", "09:00:01Z"),
            (
                "09:00:01.1",
                "09:01:41.9",
                "09:00:01Z – 09:01:41Z (1 min 40 s)",
            ),
        ] {
            let at = |time: &str| Some(format!("2026-03-01T{time}Z"));
            let shown = period(at(first).as_deref(), at(last).as_deref());
            assert_eq!(shown, format!("2026-03-01 {expected}"));
        }
    }

    // Given names that would steer the terminal; they are shown.
    #[test]
    fn nothing_steers_the_terminal() {
        let mut run = run();
        for text in [
            &mut run.run_id,
            &mut run.status,
            &mut run.agents[0],
            &mut run.notes[0],
        ] {
            *text = "\x1b[2J\n".to_owned();
        }
        run.service = Some("\x1b[2J\n".to_owned());
        run.warnings[0].evidence[0] = "\x1b[2J\n".to_owned();
        run.warnings[0].what_to_try = "\x1b[2J\n".to_owned();
        run.first_seen = Some("\x1b[2J\n".to_owned());
        let page = run_page(plain(100), &run);
        assert!(
            !page.contains(|char: char| char != '\n' && char.is_control()),
            "{page:?}"
        );
    }
}
