//! Rules of `standard` that look at errands, hand-offs, reading and how much is done, against a plain look over the whole run.

use std::collections::BTreeSet;

use eddy::config::profile::Name;
use eddy::engine::policy::{Alarm, Exploration, NormalRun, Policy, UnusualRun};
use eddy::engine::warning::{Rule, Severity};
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use serde_json::{Value, json};

use super::support::{shown, user, watch};

const AGENTS: [&str; 6] = ["one", "two", "three", "four", "five", "six"];

/// Whose warnings of a rule a run ends with; `-` where they are nobody's.
fn found(policy: &Policy, events: &[Value], rule: &str) -> Vec<String> {
    let view = watch(policy, events);
    let of_rule = view
        .warnings
        .iter()
        .filter(|warning| warning.rule.name() == rule);
    let agent = |agent: Option<&str>| agent.unwrap_or("-").to_owned();
    let mut found: Vec<String> = of_rule
        .map(|warning| agent(warning.agent.as_deref()))
        .collect();
    found.sort();
    found.dedup();
    found
}

/// A call that brings something nobody has seen.
fn news(number: usize) -> Value {
    json!({"kind": "tool_call", "tool": "read_file", "input": {"path": format!("page-{number}")}, "output": format!("the text of page {number}")})
}

/// Two errands in two wordings each, which share more than three fifths of their words, and none with the other errand.
const ERRANDS: [[&str; 2]; 2] = [
    [
        "please find the archive page of August and read it",
        "please find the archive page of August, read it again",
    ],
    [
        "write an invoice for Anna over forty euros",
        "now write an invoice for Anna over forty euros",
    ],
];

fn errand((agent, which, wording): (usize, usize, usize)) -> Value {
    json!({"kind": "handoff", "from_agent": "lead", "to_agent": AGENTS[agent], "input": ERRANDS[which][wording]})
}

/// Agents that were given one errand four times, nearly word for word, among the newest twelve of all.
fn errands_again(errands: &[(usize, usize, usize)]) -> Vec<String> {
    let again = |at: usize| {
        let (agent, which, _) = errands[at];
        let newest = &errands[at.saturating_sub(12)..=at];
        let same = newest
            .iter()
            .filter(|other| (other.0, other.1) == (agent, which));
        (same.count() >= 4).then(|| AGENTS[agent].to_owned())
    };
    let mut agents: Vec<String> = (0..errands.len()).filter_map(again).collect();
    agents.sort();
    agents.dedup();
    agents
}

/// Control passes from one agent to another, or something new comes.
#[derive(Clone, Debug)]
enum Pass {
    To(usize, usize),
    News,
}

/// Stretches in which control goes round between some agents, cut off anywhere, with news between some of them.
fn passes() -> impl Strategy<Value = Vec<Pass>> {
    let stretch = (2_usize..7, 1_usize..22, any::<bool>()).prop_map(|(agents, steps, news)| {
        let step = |i: usize| Pass::To(i % agents, (i + 1) % agents);
        let mut stretch: Vec<Pass> = (0..steps).map(step).collect();
        stretch.extend(news.then_some(Pass::News));
        stretch
    });
    proptest::collection::vec(stretch, 1..4).prop_map(|stretches| stretches.concat())
}

/// Whether three to six agents received control in the same order three times, with nothing new in between. Who gives without
/// having received was given control in between.
fn goes_round(passes: &[Pass]) -> bool {
    let mut received: Vec<usize> = Vec::new();
    let mut holder = None;
    passes.iter().any(|pass| {
        match *pass {
            Pass::News => received.clear(),
            Pass::To(from, to) => {
                if holder.is_some_and(|holder| holder != from) {
                    received.push(from);
                }
                received.push(to);
                holder = Some(to);
            }
        }
        (3..=6).any(|agents| {
            let Some(start) = received.len().checked_sub(3 * agents) else {
                return false;
            };
            let rounds: Vec<&[usize]> = received[start..].chunks(agents).collect();
            let mut different = rounds[0].to_vec();
            different.sort_unstable();
            different.dedup();
            rounds.iter().all(|round| *round == rounds[0]) && different.len() >= 3
        })
    })
}

#[derive(Clone, Debug)]
enum Step {
    Fresh,
    Same,
    Write,
    User,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![6 => Just(Step::Fresh), 2 => Just(Step::Same), 1 => Just(Step::Write), 1 => Just(Step::User)];
    proptest::collection::vec(step, 1..40)
}

fn step((number, step): (usize, &Step)) -> Value {
    match step {
        Step::Fresh => news(number),
        Step::Same => news(1_000),
        Step::Write => {
            json!({"kind": "tool_call", "tool": "write_file", "input": {"path": number}, "output": format!("wrote {number}")})
        }
        Step::User => user(),
    }
}

/// Whether four calls that only read brought something new, with nothing written and nobody speaking in between.
fn only_reads(steps: &[Step]) -> bool {
    let (mut reads, mut known) = (0, false);
    steps.iter().any(|step| {
        match step {
            Step::Fresh => reads += 1,
            Step::Same => reads += usize::from(!std::mem::replace(&mut known, true)),
            Step::Write | Step::User => reads = 0,
        }
        reads >= 4
    })
}

/// The most that the first agent usually does; of the others nothing is known.
const USUAL: NormalRun = NormalRun {
    calls: 8,
    repeats: 3,
};

const ANSWERS: [&str; 2] = ["it rains", "the sun shines"];

/// Which agent asks which question, and which answer it gets.
type Asked = (usize, usize, usize);

/// How many of its calls an agent has made, and how many of them were among the twelve before already.
fn work_of(agent: usize, asked: &[Asked]) -> NormalRun {
    let is_repeat = |place: usize| {
        let before = &asked[place.saturating_sub(12)..place];
        let (_, question, answer) = asked[place];
        before
            .iter()
            .any(|known| (known.1, known.2) == (question, answer))
    };
    let own: Vec<usize> = (0..asked.len())
        .filter(|place| asked[*place].0 == agent)
        .collect();
    NormalRun {
        calls: own.len() as u64,
        repeats: own.iter().filter(|place| is_repeat(**place)).count() as u64,
    }
}

proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 200, failure_persistence: None, ..Default::default() })]

    /// Given any errands, those who are sent on one again and again are found.
    #[test]
    fn errands(errands in proptest::collection::vec((0_usize..2, 0_usize..2, 0_usize..2), 1..30)) {
        let events: Vec<Value> = errands.iter().copied().map(errand).collect();
        let found = found(&Name::Standard.policy(), &events, "goal_loop");
        assert_eq!(found, errands_again(&errands));
    }

    /// Given any passing of control, rings are found, and only rings.
    #[test]
    fn rings(passes in passes()) {
        let event = |(number, pass): (usize, &Pass)| match pass {
            Pass::News => news(number),
            Pass::To(from, to) => json!({"kind": "handoff", "from_agent": AGENTS[*from], "to_agent": AGENTS[*to]}),
        };
        let events: Vec<Value> = passes.iter().enumerate().map(event).collect();
        let found = found(&Name::Standard.policy(), &events, "handoff_cycle");
        assert_eq!(!found.is_empty(), goes_round(&passes), "{passes:?}");
    }

    /// Given any reading and writing, reading without an end is found where the rule is on, and nowhere else.
    #[test]
    fn reading(steps in steps()) {
        let events: Vec<Value> = steps.iter().enumerate().map(step).collect();
        let mut policy = Name::Standard.policy();
        assert_eq!(found(&policy, &events, "exploration_saturation"), Vec::<String>::new());
        let alarm = Alarm { severity: Severity::Warning, critical_count: None, penalty: 15 };
        policy.rules.exploration_saturation = Some(Exploration { alarm, calls: 4 });
        let found = found(&policy, &events, "exploration_saturation");
        assert_eq!(!found.is_empty(), only_reads(&steps), "{:?}", shown(&watch(&policy, &events)));
    }

    /// Given any calls of two agents, more work than is usual is found, and that of the agent of whom it is known alone.
    #[test]
    fn work(asked in proptest::collection::vec((0_usize..2, 0_usize..16, 0_usize..2), 1..40)) {
        let call = |(agent, question, answer): &Asked| {
            json!({"kind": "tool_call", "tool": "search", "agent": AGENTS[*agent], "input": {"question": question}, "output": ANSWERS[*answer]})
        };
        let events: Vec<Value> = asked.iter().map(call).collect();
        let mut policy = Name::Standard.policy();
        let alarm = Alarm { severity: Severity::Warning, critical_count: None, penalty: 15 };
        let agents = [(AGENTS[0].to_owned(), USUAL)].into();
        policy.rules.unusual_run = Some(UnusualRun { alarm, agents });
        let view = watch(&policy, &events);
        let found = view.warnings.iter().filter(|warning| warning.rule == Rule::UnusualRun);
        let found: BTreeSet<u64> = found.map(|warning| warning.count).collect();
        let work = work_of(0, &asked);
        let pairs = [(work.calls, USUAL.calls), (work.repeats, USUAL.repeats)];
        let unusual = pairs.into_iter().filter(|(count, usual)| count > usual);
        assert_eq!(found, unusual.map(|(count, _)| count).collect(), "{:?} after {asked:?}", shown(&view));
    }
}
