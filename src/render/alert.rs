//! Alerts as they pass by. An alert is a block of its own only once; as its warning grows it becomes a line ([`Feed`]).

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::SystemTime;

use super::text::{Look, Paint, clean, columns, fit, shell_argument};
use super::{
    Piece, barred, gravity, hanging, heading, joined, moment, place_of, rule_and_count, sentence,
    severity_paint,
};
use crate::engine::health::{HEALTHY_FROM, WARNING_FROM};
use crate::engine::warning::{ChangeKind, Rule, Warning};
use crate::json::{AlertJson, hex_id};

/// Incidents that a feed remembers to have shown: those that are over are forgotten first. A forgotten one is shown as a block
/// again.
const SHOWN_MAX: usize = 1_000;

/// A stream of alerts on its way to a reader, who has seen some of its incidents already.
#[derive(Debug)]
pub struct Feed {
    look: Look,
    /// The flags with which commands find the daemon of these alerts, each behind a blank.
    connection: String,
    /// Says which day is today.
    clock: fn() -> SystemTime,
    /// The warning that leads each incident, by the incident.
    leading: BTreeMap<String, Leading>,
    /// The keys of `leading`, in the order in which they are forgotten.
    order: BTreeMap<Turn, String>,
    /// How many incidents were shown.
    shown: u64,
    /// Whether a block was shown last, from which what follows is set apart.
    after_block: bool,
}

/// When an incident is forgotten: those that are over first, the oldest of them first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    is_open: bool,
    number: u64,
}

/// The warning that a reader has seen of an incident.
#[derive(Debug)]
struct Leading {
    /// Which incident it was of those that were shown.
    number: u64,
    id: String,
    severity: String,
    vagueness: u8,
    /// Whether the reader was told that it is resolved. The others of its incident, which were not shown, may end after it.
    is_over: bool,
    /// What a line says of it, but for the time.
    said: String,
}

impl Leading {
    fn of(alert: &AlertJson, is_over: bool, number: u64) -> Self {
        let warning = &alert.warning;
        Self {
            number,
            id: warning.id.clone(),
            severity: warning.severity.clone(),
            vagueness: vagueness(&warning.rule),
            is_over,
            said: said_by_line(alert),
        }
    }

    fn turn(&self) -> Turn {
        Turn {
            is_open: !self.is_over,
            number: self.number,
        }
    }

    /// Whether a warning of the incident is to be shown that is not the same one, or begins again.
    fn yields_to(&self, other: &Told<'_>) -> bool {
        let own = (gravity(&self.severity), Reverse(self.vagueness));
        self.is_over || (gravity(other.severity), Reverse(vagueness(other.rule))) > own
    }
}

/// What a line says of an alert, but for the time.
fn said_by_line(alert: &AlertJson) -> String {
    let warning = &alert.warning;
    let place = warning.tool.as_deref().or(warning.agent.as_deref());
    let count = rule_and_count(warning);
    let (place, severity) = (place.unwrap_or_default(), &warning.severity);
    format!(
        "{severity} {count} {place} {} {}",
        alert.score, alert.run_id
    )
}

/// How little a warning says of the loop beside others of its incident, as for the order of a run's warnings; least of all, one of
/// a rule that is not known.
fn vagueness(rule: &str) -> u8 {
    Rule::named(rule).map_or(u8::MAX, Rule::vagueness)
}

/// What of an alert decides whether and how it is shown.
struct Told<'a> {
    id: &'a str,
    incident: &'a str,
    rule: &'a str,
    severity: &'a str,
    is_over: bool,
}

impl<'a> Told<'a> {
    fn of(alert: &'a AlertJson) -> Self {
        let warning = &alert.warning;
        Self {
            id: &warning.id,
            incident: &warning.incident,
            rule: &warning.rule,
            severity: &warning.severity,
            is_over: alert.change == "resolved",
        }
    }
}

/// How an alert is shown.
enum Shape<'f> {
    Nothing,
    Resolved,
    /// A line, with the severity that the reader has seen before.
    Update(&'f str),
    Block,
}

impl Feed {
    /// A feed whose reader has seen nothing.
    #[must_use]
    pub fn new(look: Look, connection: String, clock: fn() -> SystemTime) -> Self {
        Self {
            look,
            connection,
            clock,
            leading: BTreeMap::new(),
            order: BTreeMap::new(),
            shown: 0,
            after_block: false,
        }
    }

    /// The alert as the reader should see it. What several rules see is one incident, and one warning speaks for it: the
    /// first that comes, until a graver one does, or one that says more of the loop, as the one does that leads the run's page.
    /// It is a block when the incident is new to the reader or has become graver, set apart by an empty line, then a line each
    /// time it changes, or another one speaks for it; the others of the incident are not shown (the run's page has them all) and
    /// the answer is empty, as it is where a line would say nothing new: what else is known by then, such as tokens, the run's
    /// page has. Ends with a line break.
    pub fn show(&mut self, alert: &AlertJson) -> String {
        let (is_block, text) = self.text(alert);
        if text.is_empty() {
            return text;
        }
        let is_apart = is_block || self.after_block;
        self.after_block = is_block;
        let before = if is_apart { "\n" } else { "" };
        format!("{before}{text}")
    }

    /// Whether [`Feed::show`] would show nothing of a change of this warning, told without the rest of the alert.
    pub(crate) fn passes_over(&self, warning: &Warning, change: ChangeKind) -> bool {
        let told = Told {
            id: &hex_id(warning.id),
            incident: &hex_id(warning.incident),
            rule: warning.rule.name(),
            severity: warning.severity.name(),
            is_over: change == ChangeKind::Resolved,
        };
        matches!(self.shape(&told), Shape::Nothing)
    }

    /// What is to be shown of the alert, and whether it is a block.
    fn text(&mut self, alert: &AlertJson) -> (bool, String) {
        let told = Told::of(alert);
        let now = (self.clock)();
        let shown = match self.shape(&told) {
            Shape::Nothing => return (false, String::new()),
            Shape::Update(_) if self.has_said(alert) => return (false, String::new()),
            Shape::Resolved => (false, resolved_line(self.look, alert, now)),
            Shape::Update(before) => (false, update_line(self.look, alert, now, before)),
            Shape::Block => (true, alert_block(self.look, alert, now, &self.connection)),
        };
        let is_over = told.is_over;
        self.remember(alert, is_over);
        shown
    }

    /// Whether the reader knows all that a line would say, but for the time.
    fn has_said(&self, alert: &AlertJson) -> bool {
        let leading = self.leading.get(&alert.warning.incident);
        leading.is_some_and(|leading| leading.said == said_by_line(alert))
    }

    fn shape(&self, told: &Told<'_>) -> Shape<'_> {
        let leading = self.leading.get(told.incident);
        let leads = leading.is_some_and(|leading| leading.id == told.id && !leading.is_over);
        match leading {
            // A reader who has not seen it begin is told all the same.
            _ if told.is_over && (leads || leading.is_none()) => Shape::Resolved,
            _ if told.is_over => Shape::Nothing,
            Some(before) if leads => Shape::Update(&before.severity),
            Some(before) if !before.yields_to(told) => Shape::Nothing,
            Some(before) if !before.is_over && before.severity == told.severity => {
                Shape::Update(&before.severity)
            }
            _ => Shape::Block,
        }
    }

    fn remember(&mut self, alert: &AlertJson, is_over: bool) {
        let incident = alert.warning.incident.clone();
        let before = self.leading.get(&incident).map(Leading::turn);
        if let Some(before) = before {
            self.order.remove(&before);
        }
        self.shown += u64::from(before.is_none());
        let number = before.map_or(self.shown, |before| before.number);
        let leading = Leading::of(alert, is_over, number);
        self.order.insert(leading.turn(), incident.clone());
        self.leading.insert(incident, leading);
        if self.order.len() > SHOWN_MAX
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.leading.remove(&oldest);
        }
    }
}

/// A warning that the reader has not seen yet, of a daemon that commands find with these flags. Ends with a line break.
fn alert_block(look: Look, alert: &AlertJson, now: SystemTime, connection: &str) -> String {
    let warning = &alert.warning;
    let paint = severity_paint(&warning.severity);
    let again = (alert.change == "reopened").then(|| (Some(paint), "again".to_owned()));
    let pieces = [
        Some((Some(paint), clean(&warning.severity).to_uppercase())),
        Some((Some(Paint::Strong), rule_and_count(warning))),
        again,
        Some((Some(Paint::Faint), moment(alert.at.as_deref(), now))),
    ];
    let pieces: Vec<Piece> = pieces.into_iter().flatten().collect();
    let mut lines = heading(look, &pieces);
    lines.extend(run_of_alert(look, alert));
    lines.extend(place_of(look, warning));
    lines.push(String::new());
    lines.extend(sentence(look, "what", &warning.what_happened));
    lines.extend(sentence(look, "try", &warning.what_to_try));
    lines.push(String::new());
    let id = clean(&warning.id);
    let run_id = shell_argument(&alert.run_id);
    let more = format!("id {id} · more: eddy run{connection} {run_id}");
    lines.push(look.paint(Paint::Faint, &more));
    barred(look, paint, &lines)
}

/// A warning that has grown since the reader saw it. Ends with a line break.
fn update_line(look: Look, alert: &AlertJson, now: SystemTime, severity_before: &str) -> String {
    let severity = clean(&alert.warning.severity).to_uppercase();
    let word = if alert.warning.severity == severity_before {
        severity
    } else {
        format!("{} → {severity}", clean(severity_before))
    };
    let paint = severity_paint(&alert.warning.severity);
    short_line(look, paint, &format!("▌↑ {word}"), alert, now)
}

/// A warning whose run recovered. Ends with a line break.
fn resolved_line(look: Look, alert: &AlertJson, now: SystemTime) -> String {
    short_line(look, Paint::Good, "▌✓ RESOLVED", alert, now)
}

/// Sign and rule, and behind them when and where. Where the line has no room for that, the tool leaves, which the block has told;
/// where there is still none, it gets a line of its own, in which the tool leaves first and the run is cut last.
fn short_line(look: Look, paint: Paint, sign: &str, alert: &AlertJson, now: SystemTime) -> String {
    let rule = rule_and_count(&alert.warning);
    let warning = &alert.warning;
    // Of hand-offs, the agents.
    let tool = warning.tool.as_deref().or(warning.agent.as_deref());
    let time = moment(alert.at.as_deref(), now);
    let score = format!("score {}", alert.score);
    let run = format!("run {}", clean(&alert.run_id));
    let short = joined(&[time.clone(), score.clone(), run.clone()]);
    let whole = tool.map_or_else(
        || short.clone(),
        |tool| joined(&[time, clean(tool).into_owned(), score, run]),
    );
    let room = look
        .room()
        .saturating_sub(columns(sign) + columns(&rule) + 4);
    let below = look.room().saturating_sub(columns(BELOW));
    let fits = |room: usize| {
        [&whole, &short]
            .into_iter()
            .find(|rest| columns(rest) <= room)
    };
    let (sign, rule) = (look.paint(paint, sign), look.paint(Paint::Strong, &rule));
    if let Some(rest) = fits(room) {
        let rest = look.paint(Paint::Faint, rest);
        return format!("{sign}  {rule}  {rest}\n");
    }
    let rest = fits(below).cloned().unwrap_or_else(|| fit(&short, below));
    let (bar, rest) = (look.paint(paint, BELOW), look.paint(Paint::Faint, &rest));
    format!("{sign}  {rule}\n{bar}{rest}\n")
}

/// Before what stands below the first line.
const BELOW: &str = "▌  ";

/// What names the run of an alert, and how it stands.
fn run_of_alert(look: Look, alert: &AlertJson) -> Vec<String> {
    let mut parts = vec![format!("run {}", clean(&alert.run_id))];
    let tenant = alert.tenant.as_ref();
    parts.extend(tenant.map(|tenant| format!("tenant {}", clean(tenant))));
    let service = alert.service.as_ref();
    parts.extend(service.map(|service| format!("service {}", clean(service))));
    let score = alert.score.to_string();
    parts.push(format!("score {score}"));
    let mut lines = hanging("", &joined(&parts), look);
    if let Some(last) = lines.last_mut() {
        // A number is never broken over two lines, so it stands at the end.
        let before = last.len() - score.len();
        last.replace_range(before.., &look.paint(score_paint(alert.score), &score));
    }
    lines
}

/// The colour of the status that a score alone would have.
fn score_paint(score: u32) -> Paint {
    match score {
        HEALTHY_FROM.. => Paint::Good,
        WARNING_FROM.. => Paint::Odd,
        _ => Paint::Bad,
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{alert, plain};
    use super::*;

    /// The day of the samples.
    fn now() -> SystemTime {
        humantime::parse_rfc3339("2026-11-21T20:00:00Z").expect("a time")
    }

    fn feed(width: usize) -> Feed {
        Feed::new(plain(width), String::new(), now)
    }

    // Given a new warning; it is a block with everything a person needs first.
    #[test]
    fn a_new_warning_is_a_block() {
        let expected = "\
▌ WARNING  repeated_tool_call_exact_input ×4  14:03:22Z
▌ run 4bf92f3577b34da6a3ce929d0e0e4736 · service research-bot · score 75
▌ agent researcher · tool web_search · 12.4k tokens · $0.08
▌
▌ what  web_search was called 4 times with the same arguments and gave the
▌       same result.
▌ try   Give the agent the earlier result and say that it will not change.
▌
▌ id 0f3a9c4be1d27786 · more: eddy run 4bf92f3577b34da6a3ce929d0e0e4736
";
        assert_eq!(alert_block(plain(76), &alert(), now(), ""), expected);
    }

    // Given ids of runs with what a shell obeys, or that look like an option; the command is the same run's to a shell.
    #[test]
    fn a_command_can_be_pasted() {
        for (run_id, expected) in [
            (
                "run with space & 'quote' $(id)",
                r"eddy run 'run with space & '\''quote'\'' $(id)'",
            ),
            ("-v", "eddy run -- -v"),
            ("--a b", "eddy run -- '--a b'"),
            ("`id`", "eddy run '`id`'"),
            ("crew/7_a.b:c@d", "eddy run crew/7_a.b:c@d"),
            (
                "it's\x1b]0;a\\b\u{202e}\n",
                r"eddy run $'it\'s\x1b]0;a\\b\xe2\x80\xae\x0a'",
            ),
        ] {
            let mut alert = alert();
            alert.run_id = run_id.to_owned();
            let check = |connection: &str, expected: &str| {
                let block = alert_block(plain(140), &alert, now(), connection);
                let line = block.lines().last().expect("it has lines");
                assert_eq!(line.split(": ").last(), Some(expected), "{run_id}");
            };
            check("", expected);
            let elsewhere = " --api 127.0.0.1:1";
            let found = expected.replacen("eddy run", &format!("eddy run{elsewhere}"), 1);
            check(elsewhere, &found);
        }
    }

    // Given another warning of the same incident that says more of the loop; it speaks for the incident from then on, in a line,
    // since the reader knows the incident. One that says less does not, whatever it costs.
    #[test]
    fn what_says_more_takes_the_lead() {
        let mut feed = feed(140);
        let mut first = alert();
        first.warning.rule = "no_progress".to_owned();
        first.warning.penalty = 30;
        assert!(feed.show(&first).starts_with("\n▌ WARNING"));
        let mut other = alert();
        other.warning.id = "1111111111111111".to_owned();
        for (rule, expected) in [
            ("tool_limit", ""),
            ("of_another_release", ""),
            ("repeated_tool_call_exact_input", "\n▌↑ WARNING"),
        ] {
            other.warning.rule = rule.to_owned();
            let shown = feed.show(&other);
            assert_eq!(shown.is_empty(), expected.is_empty(), "{shown}");
            assert!(shown.starts_with(expected), "{shown}");
        }
        assert_eq!(feed.show(&first), "");
        other.warning.count += 1;
        assert!(feed.show(&other).starts_with("▌↑ WARNING"));
    }

    // Given a warning that grows, gets worse, ends and holds again; it is a block once, then lines, and a block again.
    #[test]
    fn a_known_warning_is_a_line() {
        let mut feed = feed(140);
        let mut alert = alert();
        assert!(feed.show(&alert).starts_with("\n▌ WARNING"));
        alert.change = "updated".to_owned();
        alert.warning.count = 5;
        let rest = "14:03:22Z · web_search · score 75 · run 4bf92f3577b34da6a3ce929d0e0e4736\n";
        let line = feed.show(&alert);
        assert_eq!(
            line,
            format!("\n▌↑ WARNING  repeated_tool_call_exact_input ×5  {rest}")
        );
        // Of tokens, the line says nothing.
        alert.warning.tokens += 1;
        alert.at = Some("2026-11-21T14:03:23Z".to_owned());
        assert_eq!(feed.show(&alert), "");
        alert.at = Some("2026-11-21T14:03:22Z".to_owned());
        alert.warning.count = 10;
        alert.warning.severity = "critical".to_owned();
        let line = feed.show(&alert);
        assert_eq!(
            line,
            format!("▌↑ warning → CRITICAL  repeated_tool_call_exact_input ×10  {rest}")
        );
        alert.change = "resolved".to_owned();
        let line = feed.show(&alert);
        assert_eq!(
            line,
            format!("▌✓ RESOLVED  repeated_tool_call_exact_input ×10  {rest}")
        );
        alert.change = "reopened".to_owned();
        let block = feed.show(&alert);
        assert!(
            block.starts_with("\n▌ CRITICAL  repeated_tool_call_exact_input ×10  again"),
            "{block}"
        );
    }

    // Given other warnings of an incident; one speaks for it, until a graver one comes, and its end is said once.
    #[test]
    fn an_incident_is_shown_once() {
        let mut feed = feed(140);
        let first = alert();
        feed.show(&first);
        let mut second = alert();
        second.warning.id = "1".to_owned();
        second.warning.rule = "no_progress".to_owned();
        assert_eq!(feed.show(&second), "");
        second.change = "updated".to_owned();
        assert_eq!(feed.show(&second), "");
        second.warning.severity = "critical".to_owned();
        assert!(feed.show(&second).starts_with("\n▌ CRITICAL  no_progress"));
        let mut ended = first.clone();
        ended.change = "resolved".to_owned();
        assert_eq!(feed.show(&ended), "");
        assert_eq!(feed.show(&first), "");
        second.change = "resolved".to_owned();
        assert!(feed.show(&second).starts_with("\n▌✓ RESOLVED  no_progress"));
        assert!(feed.show(&first).starts_with("\n▌ WARNING"));
        let mut other = alert();
        other.warning.incident = "another".to_owned();
        assert!(feed.show(&other).starts_with("\n▌ WARNING"));
    }

    // Given an incident whose leading warning ends before the others, which the reader has not seen; its end is said once, also
    // where the reader has not seen it begin, and one that grows after that is a block.
    #[test]
    fn the_end_of_an_incident_is_said_once() {
        for seen in [true, false] {
            let mut feed = feed(140);
            let (mut first, mut second) = (alert(), alert());
            second.warning.id = "1".to_owned();
            if seen {
                feed.show(&first);
                assert_eq!(feed.show(&second), "");
            }
            for alert in [&mut first, &mut second] {
                alert.change = "resolved".to_owned();
            }
            assert!(feed.show(&first).contains("RESOLVED"));
            assert_eq!(feed.show(&second), "");
            assert_eq!(feed.show(&first), "");
            second.change = "updated".to_owned();
            assert!(feed.show(&second).contains("▌ WARNING"));
            second.change = "resolved".to_owned();
            assert!(feed.show(&second).contains("RESOLVED"));
        }
    }

    // Given blocks and lines in any order; one empty line is before each block and behind it.
    #[test]
    fn blocks_are_set_apart_once() {
        let mut feed = feed(140);
        let mut first = alert();
        let mut other = alert();
        other.warning.incident = "another".to_owned();
        let mut shown = [feed.show(&first), feed.show(&other)].concat();
        first.change = "updated".to_owned();
        let mut lines = String::new();
        for count in [5, 6] {
            first.warning.count = count;
            shown.push_str(&feed.show(&first));
            lines.push_str(&update_line(plain(140), &first, now(), "warning"));
        }
        other.warning.incident = "a third".to_owned();
        shown.push_str(&feed.show(&other));
        let block = alert_block(plain(140), &other, now(), "");
        let expected = format!("\n{block}\n{block}\n{lines}\n{block}");
        assert_eq!(shown, expected);
    }

    // Given a page of forty columns; the heading takes two lines. What is to be pasted stays in one.
    #[test]
    fn a_narrow_block_keeps_to_its_columns() {
        let block = alert_block(plain(40), &alert(), now(), "");
        let mut lines = block.lines().filter(|line| !line.contains("more: "));
        assert!(lines.all(|line| columns(line) <= 40), "{block}");
    }

    // Given pages of several widths; what does not fit behind the rule stands below it, and the run is cut last. Where nobody
    // looks, nothing is cut.
    #[test]
    fn a_narrow_line_keeps_what_matters() {
        let head = "▌↑ WARNING  repeated_tool_call_exact_input ×4";
        let wide = "14:03:22Z · web_search · score 75 · run 4bf92f3577b34da6a3ce929d0e0e4736";
        for (width, expected) in [
            (140, format!("  {wide}")),
            (110, "  ".to_owned() + &wide.replace("web_search · ", "")),
            (80, format!("\n▌  {wide}")),
            (66, "\n▌  ".to_owned() + &wide.replace("web_search · ", "")),
            (
                50,
                "\n▌  14:03:22Z · score 75 · run 4bf92f3577b34da6a3c…".to_owned(),
            ),
        ] {
            let line = update_line(plain(width), &alert(), now(), "warning");
            assert_eq!(line, format!("{head}{expected}\n"), "{width}");
        }
        let look = Look {
            cuts: false,
            ..plain(80)
        };
        let line = update_line(look, &alert(), now(), "warning");
        assert_eq!(line, format!("{head}  {wide}\n"));
    }

    // Given an alert of another day, as one that was kept; blocks and lines say of which.
    #[test]
    fn another_day_is_told() {
        let tomorrow = || now() + std::time::Duration::from_secs(86_400);
        let mut feed = Feed::new(plain(140), String::new(), tomorrow);
        let mut alert = alert();
        assert!(feed.show(&alert).contains("×4  2026-11-21 14:03:22Z\n"));
        alert.change = "updated".to_owned();
        alert.warning.count = 5;
        assert!(feed.show(&alert).contains("×5  2026-11-21 14:03:22Z · "));
    }

    // Given an update of a warning that the reader has not seen, as after a start; it is a block.
    #[test]
    fn an_unseen_warning_is_a_block() {
        let mut alert = alert();
        alert.change = "updated".to_owned();
        assert!(feed(100).show(&alert).contains("what  web_search"));
    }

    // Given more warnings than a feed remembers; the oldest is a block again, and the memory is bounded.
    #[test]
    fn a_feed_forgets_the_oldest() {
        let mut feed = feed(100);
        let mut alert = alert();
        for id in 0..=SHOWN_MAX {
            alert.warning.id = id.to_string();
            alert.warning.incident = id.to_string();
            feed.show(&alert);
        }
        let kept = (feed.leading.len(), feed.order.len());
        assert_eq!(kept, (SHOWN_MAX, SHOWN_MAX));
        assert!(!feed.leading.contains_key("0"));
        // One that is over leaves before older ones.
        for (id, change) in [("7", "resolved"), ("new", "raised")] {
            alert.change = change.to_owned();
            alert.warning.id = id.to_owned();
            alert.warning.incident = id.to_owned();
            feed.show(&alert);
        }
        assert!(feed.leading.contains_key("1"));
        assert!(!feed.leading.contains_key("7"));
    }

    // Given names and sentences that would steer the terminal; in blocks and lines they are shown, not obeyed.
    #[test]
    fn nothing_steers_the_terminal() {
        let hostile = "\x1b]0;pwned\x07\r\n\u{9b}2J\u{202e}";
        let mut alert = alert();
        for text in [
            &mut alert.run_id,
            &mut alert.warning.id,
            &mut alert.warning.rule,
        ] {
            *text = hostile.to_owned();
        }
        for text in [
            &mut alert.warning.severity,
            &mut alert.warning.what_happened,
            &mut alert.warning.what_to_try,
        ] {
            *text = hostile.to_owned();
        }
        alert.at = Some(hostile.to_owned());
        alert.service = Some(hostile.to_owned());
        alert.warning.tool = Some(hostile.to_owned());
        alert.warning.agent = Some(hostile.to_owned());
        let mut feed = feed(400);
        let mut shown = feed.show(&alert);
        shown.push_str(&feed.show(&alert));
        alert.change = "resolved".to_owned();
        shown.push_str(&feed.show(&alert));
        let obeyed = |char: char| char != '\n' && (char.is_control() || char == '\u{202e}');
        assert!(!shown.contains(obeyed), "{shown:?}");
        assert!(shown.contains("\\x1b]0;pwned\\x07\\r\\n\\x9b2J\\u{202e}"));
    }
}
