//! Why a warning was raised, as it is shown: `eddy explain --json` and `/v1/warnings/ID`.
//!
//! What is equal is shown by letters and numbers: events with the same letter have equal arguments, those with the same
//! number equal results. So nothing of a result leaves the daemon, and of arguments only where that is asked for: the redacted
//! sample of each letter.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{WarningJson, hex_span, rfc3339};
use crate::engine::event::SECOND_NS;
use crate::engine::explain::{Explanation, Shown};
use crate::engine::guard::message::is_invisible;
use crate::engine::policy::Policy;
use crate::engine::warning::{Rule, Warning};

/// A warning and what it stands on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExplanationJson {
    /// The run.
    pub run_id: String,
    /// The warning.
    pub warning: WarningJson,
    /// The events that show it and are still kept, oldest first.
    pub events: Vec<ShownJson>,
    /// Of the arguments of each letter a redacted sample of at most 256 bytes, the middle of longer ones left out. Absent where
    /// they are not to be shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<BTreeMap<String, String>>,
    /// Events of the warning that are no longer kept one by one, or that no span reports, as where only the guard was told.
    pub earlier: u64,
    /// Why these count as the same.
    pub sameness: String,
    /// The profile.
    pub profile: String,
    /// The settings that decided, by their paths in the configuration.
    pub settings: Map<String, Value>,
    /// What would silence it: pieces of configuration, each with what it does.
    pub silence: Vec<SilenceJson>,
}

/// One event of a warning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShownJson {
    /// When it began.
    pub at: Option<String>,
    /// The tool, or what else was done.
    pub what: String,
    /// Who did it.
    pub agent: Option<String>,
    /// A letter, the same for equal arguments; absent where they are not known.
    pub arguments: Option<String>,
    /// A number, the same for equal results; absent where they are not known.
    pub result: Option<u64>,
    /// It failed.
    pub failed: bool,
    /// The span that reported it.
    pub span: String,
}

/// A way to silence a warning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SilenceJson {
    /// What to write into the configuration, on one line of YAML.
    pub config: String,
    /// What that does.
    pub effect: String,
}

impl ExplanationJson {
    /// An explanation under the policy that raised the warning, without samples of arguments.
    #[must_use]
    pub fn new(run_id: &str, explanation: &Explanation, policy: &Policy) -> Self {
        let Explanation {
            warning,
            events,
            sameness,
            own_agent,
            ..
        } = explanation;
        let (tool, agent) = (warning.tool.as_ref(), own_agent.as_ref());
        let own = policy.of_warning(warning.rule, tool, agent);
        let section = Section::of(policy, own);
        let settings = settings_of(warning.rule, own, &section);
        Self {
            run_id: run_id.to_owned(),
            warning: WarningJson::from(warning),
            earlier: warning.count.saturating_sub(events.len() as u64),
            events: shown(events),
            samples: None,
            sameness: (*sameness).to_owned(),
            profile: own.profile.clone(),
            silence: silence(explanation, own, &settings, &section),
            settings,
        }
    }

    /// The same with samples of the arguments.
    #[must_use]
    pub fn with_samples(mut self, explanation: &Explanation) -> Self {
        let letters = self.events.iter().map(|event| event.arguments.clone());
        let samples = explanation.events.iter().map(|event| &event.sample);
        let known = letters
            .zip(samples)
            .filter(|(_, sample)| !sample.is_empty());
        let lettered = known.filter_map(|(letter, sample)| Some((letter?, sample.to_string())));
        self.samples = Some(lettered.collect());
        self
    }
}

/// Where the rules of a policy stand in the configuration.
struct Section<'p> {
    /// The name and the profile of the entry of `detectors.profiles` whose policy it is, if it is not the main one.
    entry: Option<(&'p str, &'p str)>,
}

impl<'p> Section<'p> {
    fn of(policy: &'p Policy, own: &Policy) -> Self {
        let mut entries = policy.others.iter();
        let entry = entries.find(|(_, other)| std::ptr::eq(*other, own));
        Self {
            entry: entry.map(|(name, other)| (name.as_str(), other.profile.as_str())),
        }
    }

    /// The path of a rule's key.
    fn path(&self, rule: &str, key: &str) -> String {
        match self.entry {
            Some((name, _)) => format!("detectors.profiles.{name}.rules.{rule}.{key}"),
            None => format!("detectors.rules.{rule}.{key}"),
        }
    }

    /// What to write for one rule, on one line of YAML.
    fn with(&self, rule: &str) -> String {
        match self.entry {
            Some((name, profile)) => {
                let name = yaml_key(name);
                format!(
                    "detectors: {{profiles: {{{name}: {{profile: {profile}, rules: {{{rule}}}}}}}}}"
                )
            }
            None => format!("detectors: {{rules: {{{rule}}}}}"),
        }
    }

    /// For whom that holds.
    fn whom(&self) -> String {
        match self.entry {
            Some((name, _)) => format!("what `{name}` fits"),
            None => "every tool and agent".to_owned(),
        }
    }
}

/// Every setting of a rule, without those that only say what a warning weighs, and from which count on it is critical.
fn settings_of(rule: Rule, policy: &Policy, section: &Section<'_>) -> Map<String, Value> {
    let rules = serde_json::to_value(&policy.rules).unwrap_or_default();
    let own = &rules[rule.name()];
    let critical = ("alarm.critical_count", &own["alarm"]["critical_count"]);
    let all = own.as_object().into_iter().flatten();
    all.map(|(key, value)| (key.as_str(), value))
        .filter(|(key, _)| *key != "alarm")
        .chain([critical])
        .filter(|(_, value)| !value.is_null())
        .map(|(key, value)| (section.path(rule.name(), key), value.clone()))
        .collect()
}

fn shown(events: &[Shown]) -> Vec<ShownJson> {
    let (mut arguments, mut results) = (Vec::new(), Vec::new());
    let place = |seen: &mut Vec<u64>, hash: u64| {
        let known = seen.iter().position(|other| *other == hash);
        known.unwrap_or_else(|| {
            seen.push(hash);
            seen.len() - 1
        })
    };
    let event = |event: &Shown| ShownJson {
        at: rfc3339(event.start_ns),
        what: event.what.to_string(),
        agent: event.agent.as_deref().map(str::to_owned),
        arguments: event
            .arguments
            .map(|hash| letter(place(&mut arguments, hash))),
        result: event
            .result
            .map(|hash| place(&mut results, hash) as u64 + 1),
        failed: event.failed,
        span: hex_span(event.span),
    };
    events.iter().map(event).collect()
}

/// A to Z, then AA to ZZ. Evidence is of few spans, but log records of a whole turn may bear one of them: as many events are
/// shown as a window has ([`WINDOW_EVENTS_MAX`](crate::engine::run::WINDOW_EVENTS_MAX)).
fn letter(place: usize) -> String {
    let sign = |number: usize| char::from(b'A' + (number % 26) as u8);
    let first = (place / 26).checked_sub(1).map(sign);
    first.into_iter().chain([sign(place)]).collect()
}

/// What would silence a warning, the narrowest first.
fn silence(
    explanation: &Explanation,
    policy: &Policy,
    settings: &Map<String, Value>,
    section: &Section<'_>,
) -> Vec<SilenceJson> {
    let warning = &explanation.warning;
    let (rule, whom) = (warning.rule.name(), section.whom());
    let tool = warning.tool.as_ref();
    let mut ways = tool.map_or(Vec::new(), |tool| silence_of_tool(explanation, tool));
    ways.extend(limits(warning, explanation.longest_ns, section));
    let most = |setting: &str| policy.rules.most(warning.rule, setting);
    if let Some(counts) = counts(settings, warning.count + 1, most) {
        ways.push(SilenceJson {
            config: section.with(&format!("{rule}: {{{counts}}}")),
            effect: format!("the rule speaks later, for {whom}"),
        });
    }
    ways.push(SilenceJson {
        config: section.with(&format!("{rule}: off")),
        effect: format!("the rule is off, for {whom}"),
    });
    ways
}

/// The limit of a rule that measures, raised to what was measured.
fn limits(warning: &Warning, longest_ns: u64, section: &Section<'_>) -> Option<SilenceJson> {
    let (config, effect) = match warning.rule {
        Rule::LongRunningStep if longest_ns > 0 => {
            let seconds = longest_ns.div_ceil(SECOND_NS);
            let rule = format!("{}: {{seconds: {seconds}}}", warning.rule.name());
            (section.with(&rule), "steps may take so long")
        }
        Rule::CostBudgetExceeded => {
            let cents = warning.cost_microusd.div_ceil(10_000);
            let usd = format!("{}.{:02}", cents / 100, cents % 100);
            (
                format!("detectors: {{cost_budget_usd: {usd}}}"),
                "a run may cost so much",
            )
        }
        _ => return None,
    };
    Some(SilenceJson {
        config,
        effect: effect.to_owned(),
    })
}

/// What may be said of the tool that is warned of.
fn silence_of_tool(explanation: &Explanation, tool: &str) -> Vec<SilenceJson> {
    let warning = &explanation.warning;
    let (name, whose) = match &explanation.own_agent {
        Some(agent) if !agent.is_empty() => (entry_name(tool, Some(agent)), " by this agent"),
        _ if warning.agent.is_some() => (
            entry_name(tool, None),
            " by any agent (they name none themselves, so that no entry `TOOL@AGENT` fits them)",
        ),
        _ => (entry_name(tool, None), ""),
    };
    let others = if name.contains('*') {
        "; `*` stands for any text, so that others may fit, too"
    } else {
        ""
    };
    let name = yaml_key(&name);
    let way = |setting: &str, effect: &str| SilenceJson {
        config: format!("tools: {{{name}: {{{setting}}}}}"),
        effect: format!("{effect}{others}"),
    };
    let mut ways = Vec::new();
    if waits(warning.rule) {
        let waited = warning.last_seen_ns.saturating_sub(warning.first_seen_ns) / SECOND_NS;
        let seconds = (waited + 1).next_multiple_of(300);
        ways.push(way(
            &format!("polling_seconds: {seconds}"),
            "the tool waits, and may give the same answer for so long",
        ));
    }
    match warning.rule {
        // A long step is no loop.
        Rule::LongRunningStep => {}
        Rule::ToolLimit => ways.push(way(
            &format!("limit: {}", warning.count),
            "the tool may be called so often in one turn",
        )),
        _ => ways.push(way(
            "exempt: true",
            &format!("calls of this tool{whose} are part of no loop"),
        )),
    }
    ways
}

/// What an entry of the configuration is called. An `@` of a name itself would part the two.
fn entry_name(tool: &str, agent: Option<&str>) -> String {
    let names = [Some(tool), agent].into_iter().flatten();
    let names: Vec<_> = names.map(|name| name.replace('@', "*")).collect();
    names.join("@")
}

/// A name as a key of YAML, in quotes, with what cannot be seen in digits: what is shown is what is to be written.
fn yaml_key(name: &str) -> String {
    let quoted = json!(name).to_string();
    let mut key = String::with_capacity(quoted.len());
    for sign in quoted.chars() {
        let code = u32::from(sign);
        if !sign.is_control() && !is_invisible(sign) {
            key.push(sign);
        } else if code < 0x1_0000 {
            let _ = write!(key, "\\u{code:04x}");
        } else {
            let _ = write!(key, "\\U{code:08x}");
        }
    }
    key
}

/// Rules that take a tool which waits for a loop.
fn waits(rule: Rule) -> bool {
    matches!(
        rule,
        Rule::RepeatedToolCallExactInput
            | Rule::NoProgress
            | Rule::DuplicateCall
            | Rule::DoomLoop
            | Rule::EmptyResultLoop
            | Rule::RepeatedToolCall
    )
}

/// The settings that say from how many on a rule speaks, each with this number, or with its own where that is more; `None` where
/// there are none, or one cannot be so high: the rule would go on by it.
fn counts(
    settings: &Map<String, Value>,
    number: u64,
    most: impl Fn(&str) -> Option<u64>,
) -> Option<String> {
    const COUNTS: [&str; 7] = [
        "calls",
        "retries",
        "handoffs",
        "failures",
        "answers",
        "instructions",
        "turns",
    ];
    let named = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
    let settings = settings.iter().map(|(path, value)| (named(path), value));
    let is_count = |key: &str| COUNTS.contains(&key.split('_').next().unwrap_or_default());
    let raised = |key: String, value: u64| {
        let number = number.max(value);
        let is_possible = most(&key).is_none_or(|most| number <= most);
        is_possible.then(|| format!("{key}: {number}"))
    };
    let pairs = settings
        .filter_map(|(key, value)| Some((key, value.as_u64()?)))
        .filter(|(key, _)| is_count(key))
        .map(|(key, value)| raised(key, value));
    let pairs: Vec<String> = pairs.collect::<Option<_>>()?;
    (!pairs.is_empty()).then(|| pairs.join(", "))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::engine::event::{SpanId, Text};
    use crate::engine::run::WINDOW_EVENTS_MAX;

    /// Given what a rule counts from, it is told to count to more, never to less than it does; where one of the counts cannot be so
    /// high, none is told.
    #[test]
    fn counts_only_rise() {
        let check = |settings: &Value, number: u64, most: (&str, u64), expected: Option<&str>| {
            let settings = settings.as_object().expect("an object");
            let most = |setting: &str| (setting == most.0).then_some(most.1);
            assert_eq!(counts(settings, number, most).as_deref(), expected);
        };
        let settings = json!({"rules.no_progress.calls": 3, "rules.no_progress.calls_moving": 6});
        let expected = Some("calls: 5, calls_moving: 6");
        check(&settings, 5, ("turns", 1), expected);
        let settings = json!({"rules.repeated_tool_call.calls": 3, "rules.repeated_tool_call.window_calls": 8});
        check(&settings, 8, ("calls", 8), Some("calls: 8"));
        check(&settings, 9, ("calls", 8), None);
        let settings = json!({"rules.goal_loop.calls": 4, "rules.goal_loop.instructions": 5});
        check(&settings, 15, ("instructions", 14), None);
        check(
            &json!({"rules.goal_loop.similarity": 0.5}),
            5,
            ("calls", 8),
            None,
        );
    }

    /// Given a name with signs that cannot be seen, what is to be written is YAML, and is that name.
    #[test]
    fn names_are_written_as_yaml_reads_them() {
        for (name, expected) in [
            ("web_search", r#""web_search""#),
            ("pay\u{202e}\"daol", r#""pay\u202e\"daol""#),
            ("a\u{1b}\u{85}\u{e0041}ü", r#""a\u001b\u0085\U000e0041ü""#),
        ] {
            assert_eq!(yaml_key(name), expected);
        }
    }

    /// Given more calls than there are letters, as log records of one turn may bear the same span, no two with other arguments
    /// have the same letter.
    #[test]
    fn other_arguments_have_other_letters() {
        let event = |arguments| Shown {
            span: SpanId::default(),
            start_ns: 0,
            what: "read".into(),
            agent: None,
            arguments: Some(arguments),
            sample: Text::default(),
            result: None,
            failed: false,
        };
        let calls = WINDOW_EVENTS_MAX as u64;
        let events: Vec<_> = (0..calls).map(event).collect();
        let letters = shown(&events)
            .into_iter()
            .map(|event| event.arguments.expect("a letter"));
        let letters: Vec<_> = letters.collect();
        assert_eq!(letters[25..28], ["Z", "AA", "AB"]);
        let different: BTreeSet<_> = letters.iter().collect();
        assert_eq!(different.len(), letters.len(), "{letters:?}");
    }
}
