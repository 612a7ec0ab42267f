//! From a view of a span or log record to the engine's vocabulary.
//!
//! The pass that checks a span's attributes sorts them into the facts that every dialect knows (`facts`). The scope name
//! and, where that says nothing, the keys say which framework made it; the file of that `dialect` reads the facts, undoes the
//! framework's wrappers, and writes events into the [`Report`], with what all dialects share (`reading`, `call`, `answer`
//! and so on). What stands in arguments, results and errors is read by `value`, which needs no dialect.
//! Normalizing never fails: what cannot be read is left out and counted, and a span that tells of nothing an agent did
//! gives no event, though it may still say which run its trace belongs to. Arguments and results leave this room only
//! as what `value` keeps of them.
//!
//! Last, every event is given what no dialect knows: the worker that the user's attributes name, and the cost of a model
//! call at list prices (`prices`) where the telemetry states none.
//!
//! Adding a dialect: a variant and a scope name in `dialect`, its keys in the table of `facts`, a file with its exceptions in
//! `dialect/`, a captured span and its expected event. `docs/dialects.md` walks through it.

mod answer;
mod call;
#[cfg(test)]
mod captured;
#[cfg(test)]
mod conventions;
mod dialect;
mod ended;
pub mod events_file;
mod events_json;
mod facts;
mod fingerprint;
mod given;
pub mod guarded;
mod hand_offs;
mod history;
mod injected;
mod names;
mod position;
mod prices;
mod reading;
mod records;
mod reply;
mod report;
mod scopes;
mod shell;
mod texts;
mod usage;
mod value;
mod workers;
mod wrappers;

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use crate::engine::event::{Body, Event, ID_BYTES_MAX, ModelCall, Text};
use crate::engine::policy::Policy;
use crate::engine::witness::Witness;
use crate::engine::worker::of_process;
use crate::otlp::{Attributes, LogView, Problem, SpanView, Spans};
use crate::telemetry::Counter;

use self::dialect::Retold;
use self::facts::Facts;
use self::names::Names;
use self::reading::Reading;
use self::scopes::Dialect;
use self::workers::Workers;

pub use self::prices::{Price, Prices};
pub use self::report::{Outcome, Report, RunRef};

/// How many kinds of [`Outcome`] there are.
const OUTCOMES: usize = 5;

/// How many spans and log records gave what, since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// [`Outcome::Told`].
    pub told: u64,
    /// [`Outcome::Placed`].
    pub placed: u64,
    /// [`Outcome::Noise`].
    pub noise: u64,
    /// [`Outcome::UnknownOperation`].
    pub unknown_operation: u64,
    /// [`Outcome::NoDialect`].
    pub no_dialect: u64,
    /// Spans, and log records that tell something, with an id of a run or session that is longer than ids may be: what else names
    /// the run took its place.
    pub ids_left_out: u64,
    /// Model calls with a count of tokens that no call has: it was taken for one that was not told.
    pub tokens_left_out: u64,
    /// Model calls with tokens but without a cost, since their model has no price: see [`Normalizer::unpriced_models`].
    pub unpriced: u64,
}

/// What a user may set about reading telemetry.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Attributes of a span or of its resource that name the worker of a swarm; the first that is there wins.
    pub worker_attributes: Vec<String>,
    /// What models cost where the telemetry does not say so.
    pub prices: Arc<Prices>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            worker_attributes: WORKER_ATTRIBUTES.map(str::to_owned).to_vec(),
            prices: Prices::built_in(),
        }
    }
}

/// Where workers are named, if nothing else is set: names that programs give on purpose.
const WORKER_ATTRIBUTES: [&str; 4] = ["eddy.worker", "worker.id", "worker.name", "swarm.worker.id"];

/// Names the process, which acts where neither a worker nor an agent is named.
const PROCESS: &str = "service.instance.id";

/// Most models without a price that are remembered by name; what more there are is counted alone.
const UNPRICED_MAX: usize = 64;

/// Turns views into reports, a request at a time. One serves all receivers: it holds nothing but its settings and
/// counters.
#[derive(Debug)]
pub struct Normalizer {
    settings: Settings,
    workers: Workers,
    outcomes: [Counter; OUTCOMES],
    ids_left_out: Counter,
    tokens_left_out: Counter,
    unpriced_calls: Counter,
    unpriced: Mutex<BTreeMap<Text, u64>>,
}

impl Default for Normalizer {
    fn default() -> Self {
        Self::new()
    }
}

impl Normalizer {
    /// A normalizer with default settings and its counters at zero.
    #[must_use]
    pub fn new() -> Self {
        Self::with(Settings::default())
    }

    /// A normalizer with its counters at zero.
    #[must_use]
    pub fn with(settings: Settings) -> Self {
        Self {
            workers: Workers::named(&settings.worker_attributes),
            settings,
            outcomes: Default::default(),
            ids_left_out: Counter::default(),
            tokens_left_out: Counter::default(),
            unpriced_calls: Counter::default(),
            unpriced: Mutex::default(),
        }
    }

    /// Begins a request, whose calls are read as the policy says: what is special about single tools, and whether a rule
    /// looks at the main arguments of calls, which cost more to read than the call. Reports must be judged by the policy by
    /// which they were read.
    #[must_use]
    pub fn batch<'n, 'a>(&'n self, policy: &'n Policy) -> Batch<'n, 'a> {
        Batch {
            normalizer: self,
            policy,
            reads_main: policy.all().any(|policy| policy.rules.read_main()),
            facts: None,
            spare: Vec::new(),
            names: Names::new(),
            retold: Retold::default(),
            origin: None,
            outcomes: [0; OUTCOMES],
            ids_left_out: 0,
            tokens_left_out: 0,
            unpriced_calls: 0,
            unpriced: Vec::new(),
        }
    }

    /// What has been read so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let of = |outcome: Outcome| self.outcomes[outcome as usize].value();
        Counts {
            told: of(Outcome::Told),
            placed: of(Outcome::Placed),
            noise: of(Outcome::Noise),
            unknown_operation: of(Outcome::UnknownOperation),
            no_dialect: of(Outcome::NoDialect),
            ids_left_out: self.ids_left_out.value(),
            tokens_left_out: self.tokens_left_out.value(),
            unpriced: self.unpriced_calls.value(),
        }
    }

    /// Models for which no price is known, each with how many of its calls have no cost; at most sixty-four of them.
    #[must_use]
    pub fn unpriced_models(&self) -> Vec<(Text, u64)> {
        let unpriced = self.unpriced.lock().unwrap_or_else(PoisonError::into_inner);
        let models = unpriced
            .iter()
            .map(|(model, calls)| (model.clone(), *calls));
        models.collect()
    }

    /// Remembers models without a price, each with how many calls a request had of it.
    fn note_unpriced(&self, calls_by_model: &[(Text, u64)]) {
        let mut unpriced = self.unpriced.lock().unwrap_or_else(PoisonError::into_inner);
        for (model, more) in calls_by_model {
            if let Some(calls) = unpriced.get_mut(model) {
                *calls += more;
            } else if unpriced.len() < UNPRICED_MAX {
                unpriced.insert(model.clone(), *more);
            }
        }
    }
}

/// Reads the items of one request, and remembers what they share.
pub struct Batch<'n, 'a> {
    normalizer: &'n Normalizer,
    policy: &'n Policy,
    reads_main: bool,
    /// Of the span read last, to be filled anew: there are many, and most spans have few of them.
    facts: Option<Box<Facts<'a>>>,
    /// Memory of events that went to the report before.
    spare: Vec<Event>,
    names: Names,
    retold: Retold,
    /// The resource of the item read last, and what it says of all its items.
    origin: Option<(Attributes<'a>, Origin)>,
    /// How many items of this request gave what: all receivers share the counters they go to at its end.
    outcomes: [u64; OUTCOMES],
    /// Spans and log records of this request whose ids were left out.
    ids_left_out: u64,
    /// Model calls of this request whose numbers of tokens were left out, and those without a price.
    tokens_left_out: u64,
    unpriced_calls: u64,
    /// Models without a price in this request, each with its calls; these go to a list that is shared.
    unpriced: Vec<(Text, u64)>,
}

impl Drop for Batch<'_, '_> {
    fn drop(&mut self) {
        for (all, more) in self.normalizer.outcomes.iter().zip(self.outcomes) {
            if more > 0 {
                all.add(more);
            }
        }
        let normalizer = self.normalizer;
        for (all, more) in [
            (&normalizer.ids_left_out, self.ids_left_out),
            (&normalizer.tokens_left_out, self.tokens_left_out),
            (&normalizer.unpriced_calls, self.unpriced_calls),
        ] {
            if more > 0 {
                all.add(more);
            }
        }
        if !self.unpriced.is_empty() {
            self.normalizer.note_unpriced(&self.unpriced);
        }
    }
}

/// What a resource says of all its items.
#[derive(Clone, Default)]
struct Origin {
    service: Option<Text>,
    worker: Option<Text>,
}

impl<'a> Batch<'_, 'a> {
    /// Reads the next span, if there is one, and adds what it reports: a report at most, or more events to the last one where
    /// that is of the same run; nothing for a span that says nothing.
    pub fn span(
        &mut self,
        spans: &mut Spans<'a>,
        out: &mut Vec<Report>,
    ) -> Option<Result<SpanView<'a>, Problem>> {
        let mut facts = self.facts.take().unwrap_or_else(|| Facts::none().into());
        let span = facts.read_next(spans, &self.normalizer.workers)?;
        if let Ok(span) = &span {
            self.tell(span, &facts, out);
        }
        self.facts = Some(facts);
        Some(span)
    }

    fn tell(&mut self, span: &SpanView<'a>, facts: &Facts<'a>, out: &mut Vec<Report>) {
        let workers = &self.normalizer.workers;
        let mut report = Report::about(span.trace_id);
        report.events = mem::take(&mut self.spare);
        let how = (self.policy, self.reads_main);
        let mut reading = Reading::new(span, facts, &mut report, &mut self.names, how);
        let outcome = Dialect::of_span(span, facts).read(&mut reading);
        self.ids_left_out += u64::from(reading.leaves_id_out);
        let worker = || {
            if workers.stand_apart() {
                facts.worker()
            } else {
                workers.among(&span.attributes)
            }
        };
        bear_witness(span.scope_name, &mut report);
        if let Some(report) = self.close(report, outcome, (worker, &span.resource)) {
            self.join(report, out);
        }
    }

    /// Adds a report to the last one where both are of one run, as those of spans that follow one another mostly are: it is
    /// then routed and looked for once.
    fn join(&mut self, mut report: Report, out: &mut Vec<Report>) {
        match out.last_mut().filter(|last| last.run == report.run) {
            Some(last) => {
                last.events.append(&mut report.events);
                self.spare = report.events;
            }
            None => out.push(report),
        }
    }

    /// Reads one log record and appends what it reports: at most one report, none for a record that says nothing. Each has its
    /// own, since it may be taken back when it turns out that it was told before.
    pub fn log(&mut self, log: &LogView<'a>, out: &mut Vec<Report>) {
        let mut report = Report::about(log.trace_id);
        let outcome = Dialect::read_log(log, &mut report, self.policy, &mut self.retold, out);
        // As of spans, and so that a record and a span of one conversation are of one run.
        if (report.run.run_id.as_ref()).is_some_and(|id| id.len() > ID_BYTES_MAX) {
            report.run.run_id = None;
            report.run.session_id = None;
            self.ids_left_out += 1;
        }
        let workers = &self.normalizer.workers;
        let worker = || workers.among(&log.attributes);
        out.extend(self.close(report, outcome, (worker, &log.resource)));
    }

    /// Counts what became of one item, and gives its report back if there is anything in it that the shard does not know
    /// from the trace id.
    fn close(
        &mut self,
        mut report: Report,
        outcome: Outcome,
        (worker, resource): (impl FnOnce() -> Option<&'a str>, &Attributes<'a>),
    ) -> Option<Report> {
        let outcome = if report.events.is_empty() {
            outcome
        } else {
            Outcome::Told
        };
        self.outcomes[outcome as usize] += 1;
        if !matches!(outcome, Outcome::Told | Outcome::Placed) {
            return None;
        }
        let origin = self.origin(resource);
        report.run.service = origin.service;
        if outcome == Outcome::Told {
            let worker = worker().map(value::name).or(origin.worker);
            for event in &mut report.events {
                event.worker.clone_from(&worker);
                if let Body::ModelCall(call) = &mut event.body {
                    if usage::doubt_tokens(call) {
                        self.tokens_left_out += 1;
                    }
                    self.price(call);
                }
            }
        }
        Some(report)
    }

    /// Gives a call the cost of its tokens, where the telemetry has none; counts it where its model has no price.
    fn price(&mut self, call: &mut ModelCall) {
        let (None, Some(model)) = (call.cost_microusd, &call.model) else {
            return;
        };
        if (call.input_tokens, call.output_tokens) == (0, 0) {
            return;
        }
        if let Some(cost) = self.normalizer.settings.prices.cost_microusd(call) {
            call.cost_microusd = Some(cost);
            call.cost_is_estimate = true;
            return;
        }
        self.unpriced_calls += 1;
        let known = self.unpriced.iter().position(|(known, _)| known == model);
        match known {
            Some(known) => self.unpriced[known].1 += 1,
            None if self.unpriced.len() == UNPRICED_MAX => {}
            None => self.unpriced.push((model.clone(), 1)),
        }
    }

    /// What a resource says of all its items; read once for those that follow one another.
    fn origin(&mut self, resource: &Attributes<'a>) -> Origin {
        if let Some((known, origin)) = &self.origin
            && known.is_same(resource)
        {
            return origin.clone();
        }
        let named = |key| {
            let name = resource.find(key).and_then(|name| name.as_str());
            name.filter(|name| !name.is_empty())
        };
        let worker = self.normalizer.workers.among(resource).map(value::name);
        let process = || named(PROCESS).map(|id| value::name(&of_process(id)));
        let origin = Origin {
            service: named("service.name").map(value::name),
            worker: worker.or_else(process),
        };
        self.origin = Some((*resource, origin.clone()));
        origin
    }
}

/// Writes down which tracer told of the calls of models in a span's report.
fn bear_witness(tracer: &str, report: &mut Report) {
    for event in &mut report.events {
        if let Body::ModelCall(call) = &mut event.body {
            let model = call.model.as_deref();
            let witness = Witness::of(tracer, model, call.input_tokens, call.output_tokens);
            call.witness = Some(witness);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::profile::Name;
    use crate::normalize::captured::Captured;

    /// Given spans of runs in a row, those that follow one another and are of one run are one report, which tells of all that
    /// they say; what an earlier span said does not show in a later one that leaves it out.
    #[test]
    fn spans_of_a_run_in_a_row_are_one_report() {
        let spans = [("a", "one"), ("a", "two"), ("b", "three"), ("a", "")];
        let requests = spans.map(|(conversation, tool)| {
            let mut attributes = json!({
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.conversation.id": conversation,
            });
            if !tool.is_empty() {
                attributes["gen_ai.tool.name"] = tool.into();
                attributes["gen_ai.tool.call.arguments"] = "{\"q\":1}".into();
            }
            Captured::new("agent_framework", "execute_tool", &attributes).request()
        });
        let request = requests.concat();
        let (normalizer, policy) = (Normalizer::new(), Name::Standard.policy());
        let (mut batch, mut reports) = (normalizer.batch(&policy), Vec::new());
        let mut spans = crate::otlp::spans(&request, &crate::otlp::Limits::default());
        while let Some(span) = batch.span(&mut spans, &mut reports) {
            span.expect("the span is whole");
        }
        let told = reports.iter().map(|report| {
            let calls = report.events.iter().map(|event| match &event.body {
                Body::ToolCall(call) => (&*call.tool, call.input.value().is_some()),
                other => panic!("{other:?}"),
            });
            (report.run.run_id.as_deref(), calls.collect::<Vec<_>>())
        });
        let told: Vec<_> = told.collect();
        assert_eq!(told[0], (Some("a"), vec![("one", true), ("two", true)]));
        assert_eq!(told[1], (Some("b"), vec![("three", true)]));
        assert_eq!(told[2].0, Some("a"));
        assert!(told[2].1.iter().all(|(_, recorded)| !recorded));
    }

    /// Given a conversation's id that is longer than ids may be, the trace names the run, and it is counted.
    #[test]
    fn overlong_ids_are_counted() {
        for (length, counted) in [(1_024, 0), (5_000, 1)] {
            let normalizer = Normalizer::new();
            let span = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t",
                "gen_ai.conversation.id": "c".repeat(length)});
            let reports =
                Captured::new("agent_framework", "execute_tool", &span).reports(&normalizer);
            assert_eq!(reports[0].run.run_id.is_none(), counted == 1);
            assert_eq!(normalizer.counts().ids_left_out, counted);
        }
    }

    /// Given what programs write where they have no id, it names neither a run nor a session nor a call, and what else names the
    /// run does.
    #[test]
    fn words_for_no_id_name_nothing() {
        for none in [
            "",
            " \t",
            "None",
            "null",
            "undefined",
            "UNKNOWN",
            "00000000-0000-0000-0000-000000000000",
        ] {
            let mut span = json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t",
                "gen_ai.conversation.id": none, "gen_ai.tool.call.id": none});
            let normalizer = Normalizer::new();
            let report = |span: &serde_json::Value| {
                let span = Captured::new("agent_framework", "execute_tool", span);
                span.reports(&normalizer).remove(0)
            };
            let told = report(&span);
            let run = &told.run;
            assert_eq!((&run.run_id, &run.session_id), (&None, &None), "{none:?}");
            let Body::ToolCall(call) = &told.events[0].body else {
                panic!("no call: {told:?}");
            };
            assert_eq!(call.call_id, None, "{none:?}");
            span["session.id"] = json!("s");
            assert_eq!(
                report(&span).run.session_id.as_deref(),
                Some("s"),
                "{none:?}"
            );
            let record = json!({"event.name": "gemini_cli.tool_call", "session.id": none, "function_name": "t"});
            let told = records::tests::reports_by(&normalizer, "gemini-cli", true, &record);
            assert_eq!(told[0].run.run_id, None, "{none:?}");
        }
    }

    /// Given the same of log records, whoever writes them, the same holds; one that tells nothing is not counted.
    #[test]
    fn overlong_ids_of_records_are_counted() {
        for (length, counted) in [(1_024, 0), (5_000, 1)] {
            let id = "c".repeat(length);
            let claude = json!({"event.name": "tool_result", "session.id": id, "tool_name": "t", "success": "true"});
            let codex = json!({"event.name": "codex.user_prompt", "conversation.id": id});
            let gemini = json!({"event.name": "gemini_cli.tool_call", "session.id": id, "function_name": "t"});
            let nothing = json!({"event.name": "codex.sse_event", "conversation.id": id});
            let normalizer = Normalizer::new();
            for (scope, attributes) in [
                ("com.anthropic.claude_code.events", claude),
                ("codex_otel.log_only", codex),
                ("gemini-cli", gemini),
            ] {
                let told = records::tests::reports_by(&normalizer, scope, true, &attributes);
                let run = &told[0].run;
                assert_eq!(run.run_id.is_none(), counted == 1, "{scope}");
                assert_eq!(run.session_id, run.run_id, "{scope}");
            }
            records::tests::reports_by(&normalizer, "codex_otel.log_only", true, &nothing);
            assert_eq!(normalizer.counts().ids_left_out, 3 * counted);
        }
    }

    fn model_call(normalizer: &Normalizer, attributes: &serde_json::Value) -> Event {
        let mut reports = Captured::new("agent_framework", "chat", attributes).reports(normalizer);
        reports.remove(0).events.remove(0)
    }

    fn cost(event: &Event) -> (Option<u64>, bool) {
        match &event.body {
            Body::ModelCall(call) => (call.cost_microusd, call.cost_is_estimate),
            other => panic!("no model call: {other:?}"),
        }
    }

    /// Given a stated cost, it stands; given tokens alone, list prices apply; given a model without a price, there is no
    /// cost, and the model is named and counted.
    #[test]
    fn costs_are_stated_or_reckoned_or_missing() {
        let normalizer = Normalizer::new();
        let chat = |model: &str, cost: Option<f64>| {
            json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": model, "operation.cost": cost,
                "gen_ai.usage.input_tokens": 1_000, "gen_ai.usage.output_tokens": 100})
        };
        let told = |model, stated| cost(&model_call(&normalizer, &chat(model, stated)));
        assert_eq!(told("gpt-4o", Some(0.5)), (Some(500_000), false));
        assert_eq!(told("gpt-4o", None), (Some(2_500 + 1_000), true));
        assert_eq!(told("homemade", None), (None, false));
        assert_eq!(told("homemade", None), (None, false));
        assert_eq!(normalizer.counts().unpriced, 2);
        assert_eq!(normalizer.unpriced_models(), [("homemade".into(), 2)]);
    }

    /// Given attributes that name a worker, the first of the settings wins, whatever the order on the span.
    #[test]
    fn workers_are_named_by_attributes() {
        let span = json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "worker.name": "b",
            "team.member": "c", "worker.id": "a"});
        let worker = |normalizer: &Normalizer| model_call(normalizer, &span).worker;
        assert_eq!(worker(&Normalizer::new()).as_deref(), Some("a"));
        let named = |names: &[&str]| {
            Normalizer::with(Settings {
                worker_attributes: names.iter().map(|name| (*name).to_owned()).collect(),
                ..Settings::default()
            })
        };
        assert_eq!(
            worker(&named(&["team.member", "worker.id"])).as_deref(),
            Some("c")
        );
        assert_eq!(worker(&named(&[])), None);
        // An attribute that says something else as well.
        assert_eq!(
            worker(&named(&["gen_ai.request.model", "worker.id"])).as_deref(),
            Some("m")
        );
    }
}
