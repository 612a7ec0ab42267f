//! The events format: recorded runs in a file, one JSON object a line, for `check`, `eval` and tests. `docs/events.md` is its
//! manual.
//!
//! Nothing of a framework is left in it, so that nothing needs undoing: each event of a line becomes one event of the
//! engine's vocabulary, with its values read like any dialect's. The number `i` gives an event its identity, and its
//! place among events of the same time; it is no clock. A line that cannot be read is an error that says where and why,
//! and the lines after it are read all the same.

use std::borrow::Cow;
use std::io::{BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::engine::event::{
    AgentSpan, Answer, Body, Event, Failure, Handoff, ModelCall, Recorded, RunEnd, SpanId, Text,
    ToolCall, TraceId,
};
use crate::engine::policy::{Policy, ToolSettings};

use super::events_json::{Object, described};
use super::value::{Arguments, Now};
use super::{ended, fingerprint, hand_offs, usage, value};

/// Longest line, in bytes: a thousand calls with results of a hundred kilobytes each still fit.
const LINE_BYTES_MAX: u64 = 128 * 1024 * 1024;

/// How the nanoseconds below a millisecond are used: `i` stands there, and keeps events of the same time in order.
const NS_PER_MS: u64 = 1_000_000;

/// Where nothing has a time, the number of a line's first event is its second, so that lines of one run follow each other; but not
/// so many seconds that it would be a date (2000 is nearly 950 million away).
const FIRST_SECONDS_MAX: u64 = 1 << 29;

/// A recorded run.
#[derive(Clone, Debug, PartialEq)]
pub struct EventsRun {
    /// The data set that the run belongs to, where the line names one.
    pub dataset: Option<String>,
    /// The run's id.
    pub run_id: Text,
    /// What people or scripts said about the run.
    pub label: Label,
    /// How the run ended by its source (`success`, `failure`), which need not be how it looks.
    pub outcome: Option<String>,
    /// What happened, in the order of `i`.
    pub events: Vec<Event>,
}

/// How a run ended that came to no good end.
const FAILED: [&str; 3] = ["failed", "failure", "error"];

impl EventsRun {
    /// Whether its source says that it did not come to a good end.
    #[must_use]
    pub fn failed(&self) -> bool {
        let outcome = self.outcome.as_deref().unwrap_or_default();
        FAILED.iter().any(|word| outcome.eq_ignore_ascii_case(word))
    }

    /// What each event of the file tells, at once, as a span does: a hand-off and the errand that is handed over, say.
    pub fn told(&self) -> impl Iterator<Item = &[Event]> {
        self.events.chunk_by(|one, next| one.span == next.span)
    }
}

/// What somebody said about a run. Other members of a label are for people.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Label {
    /// Whether it was in a loop; `None` where nobody said.
    pub looping: Option<bool>,
    /// The number `i` of the event with which the loop began.
    pub onset_event: Option<u64>,
    /// The same under another name: that of the first step of which somebody said so.
    pub first_true_event: Option<u64>,
    /// Whether the line has a label at all.
    #[serde(skip)]
    pub is_given: bool,
}

impl Label {
    /// The event with which the loop began, where that is known.
    #[must_use]
    pub fn onset(&self) -> Option<u64> {
        self.onset_event.or(self.first_true_event)
    }
}

/// What is wrong with a file of events.
#[derive(Debug, thiserror::Error)]
pub enum EventsError {
    /// The file cannot be read any further.
    #[error("line {line}: cannot be read: {source}")]
    Read {
        /// The line, from 1.
        line: u64,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// One line is not a run in this format; the next may be.
    #[error("line {line}: {reason}")]
    Line {
        /// The line, from 1.
        line: u64,
        /// What is wrong with it, and where.
        reason: String,
    },
}

/// The runs in a file of events, compressed with gzip or not, one after the other, read by the policy by which they are to be
/// judged. Blank lines are passed over.
pub fn runs<'r>(file: impl Read + 'r, policy: &'r Policy) -> std::io::Result<EventsRuns<'r>> {
    let mut file = BufReader::new(file);
    let is_compressed = file.fill_buf()?.starts_with(&[0x1f, 0x8b]);
    let lines: Box<dyn BufRead + 'r> = if is_compressed {
        Box::new(BufReader::new(MultiGzDecoder::new(file)))
    } else {
        Box::new(file)
    };
    Ok(EventsRuns {
        lines,
        line: 0,
        policy,
    })
}

/// Reads a file of events; see [`runs`].
pub struct EventsRuns<'r> {
    lines: Box<dyn BufRead + 'r>,
    line: u64,
    policy: &'r Policy,
}

impl Iterator for EventsRuns<'_> {
    type Item = Result<EventsRun, EventsError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            self.line += 1;
            let line = self.line;
            let mut bytes = Vec::new();
            let mut limited = (&mut self.lines).take(LINE_BYTES_MAX);
            match limited.read_until(b'\n', &mut bytes) {
                Ok(0) => return None,
                Ok(read) if read as u64 == LINE_BYTES_MAX && !bytes.ends_with(b"\n") => {
                    return Some(Err(self.too_long(line)));
                }
                Ok(_) if bytes.trim_ascii().is_empty() => {}
                Ok(_) => {
                    // Whatever ends too early ends in its line, not at the beginning of the next.
                    let run = Line::read(bytes.trim_ascii_end(), self.policy);
                    return Some(run.map_err(|reason| EventsError::Line { line, reason }));
                }
                Err(source) => {
                    // What follows a broken stream is nothing: the next call ends the walk.
                    self.lines = Box::new(std::io::empty());
                    return Some(Err(EventsError::Read { line, source }));
                }
            }
        }
    }
}

impl EventsRuns<'_> {
    /// Passes over the rest of a line that is longer than any may be.
    fn too_long(&mut self, line: u64) -> EventsError {
        if let Err(source) = self.lines.skip_until(b'\n') {
            self.lines = Box::new(std::io::empty());
            return EventsError::Read { line, source };
        }
        let reason = format!("longer than a line may be, {} MiB", LINE_BYTES_MAX >> 20);
        EventsError::Line { line, reason }
    }
}

/// A line as it stands.
#[derive(Deserialize)]
struct Line<'a> {
    dataset: Option<String>,
    run_id: String,
    label: Option<Object<Label>>,
    outcome: Option<String>,
    #[serde(borrow)]
    events: Vec<Object<FileEvent<'a>>>,
}

/// An event as it stands.
#[derive(Deserialize)]
struct FileEvent<'a> {
    i: u64,
    t_ms: Option<f64>,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    agent: Option<String>,
    worker: Option<String>,
    tool: Option<String>,
    call_id: Option<String>,
    #[serde(borrow, default, deserialize_with = "present")]
    input: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    output: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    duration_ms: Option<f64>,
    cost_usd: Option<f64>,
    tokens: Option<u64>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    from_agent: Option<String>,
    to_agent: Option<String>,
    status: Option<String>,
}

/// A member that is there, even if it is `null`: serde alone would take `null` for absence.
fn present<'de, D: Deserializer<'de>>(json: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(json).map(Some)
}

impl Line<'_> {
    fn read(bytes: &[u8], policy: &Policy) -> Result<EventsRun, String> {
        let line = serde_json::from_slice(bytes);
        let Object(line): Object<Line<'_>> = line.map_err(|error| described(&error, bytes))?;
        if line.run_id.trim().is_empty() {
            return Err("`run_id` is empty: it names the run".to_owned());
        }
        let all = line.events.into_iter();
        let mut all: Vec<FileEvent<'_>> = all.map(|Object(told)| told).collect();
        all.sort_by_key(|told| told.i);
        let first = all.first().map_or(0, |told| told.i);
        let mut twice = all.windows(2).filter(|two| two[0].i == two[1].i);
        if let Some(two) = twice.next() {
            return Err(format!("two events have the number `i` {}", two[0].i));
        }
        let mut events = Vec::with_capacity(all.len());
        let mut time_ms = None;
        for (place, told) in (0..).zip(&all) {
            let i = told.i;
            if i == u64::MAX {
                return Err(format!("`i` {i} is too large"));
            }
            time_ms = told.t_ms.map(|time| time as u64).or(time_ms);
            let seconds = first % FIRST_SECONDS_MAX + place;
            let after = |ms: u64| ms.saturating_mul(NS_PER_MS).saturating_add(i % NS_PER_MS);
            let start_ns = time_ms.map_or(seconds * 1_000 * NS_PER_MS, after);
            let bodies = told
                .bodies(policy, start_ns)
                .map_err(|reason| format!("event {i}: {reason}"))?;
            for (part, body) in bodies.into_iter().enumerate() {
                events.push(told.event(&line.run_id, part as u8, start_ns, body));
            }
        }
        Ok(EventsRun {
            dataset: line.dataset,
            run_id: line.run_id.into(),
            label: line
                .label
                .map_or_else(Label::default, |Object(label)| Label {
                    is_given: true,
                    ..label
                }),
            outcome: line.outcome,
            events,
        })
    }
}

impl FileEvent<'_> {
    fn event(&self, run_id: &str, part: u8, start_ns: u64, body: Body) -> Event {
        let run = run_id.as_bytes();
        let [high, low] = [b"0", b"1"].map(|half| value::id_hash(&[run, half]));
        let duration_ns = (self.duration_ms.unwrap_or(0.0) * 1e6) as u64;
        Event {
            id: value::id_hash(&[run, &self.i.to_be_bytes(), &[part]]),
            trace: TraceId(((u128::from(high) << 64) | u128::from(low)).to_be_bytes()),
            // Zero would be no id.
            span: SpanId((self.i + 1).to_be_bytes()),
            parent: SpanId::default(),
            start_ns,
            end_ns: start_ns.saturating_add(duration_ns),
            agent: self.agent.as_deref().map(value::name),
            worker: self.worker.as_deref().map(value::name),
            body,
        }
    }

    fn bodies(&self, policy: &Policy, start_ns: u64) -> Result<Vec<Body>, String> {
        Ok(vec![match &*self.kind {
            "tool_call" => return self.tool_call(policy, start_ns),
            "llm_call" => Body::ModelCall(self.model_call(Answer::Unknown)),
            "llm_text" => self.model_text(),
            "handoff" => return self.handoff(),
            "state_update" => Body::StateUpdate,
            "memory_write" => Body::MemoryWrite,
            "retry" => Body::Retry {
                tool: self.tool.as_deref().map(value::name),
            },
            "user_message" => Body::UserMessage,
            "run_end" => Body::RunEnd(RunEnd {
                error: self.end_failure()?,
            }),
            other => {
                return Err(format!(
                    "unknown kind `{other}`; known are tool_call, llm_call, llm_text, handoff, state_update, \
                     memory_write, retry, user_message and run_end"
                ));
            }
        }])
    }

    /// A call; of a tool that passes control, that too.
    fn tool_call(&self, policy: &Policy, start_ns: u64) -> Result<Vec<Body>, String> {
        let tool = self.tool.as_deref().unwrap_or_default().trim();
        if tool.is_empty() {
            return Err("a tool_call needs `tool`".to_owned());
        }
        let call_id = self.call_id.as_deref().filter(|id| !id.is_empty());
        let how = policy.tool(tool, self.agent.as_deref());
        let recorded = self.input.map_or("", RawValue::get);
        let recorded = value::without_clock(recorded, tool, Now::began(start_ns));
        let asked = Arguments::of(&recorded);
        let arguments = asked.json();
        let receiver = hand_offs::receiver(tool, arguments);
        // What the failure says is no result.
        let is_failure = self.error.is_some_and(|error| error.get() == "true");
        let output = self.output.filter(|_| !is_failure);
        let (result, told) = match output {
            Some(json) => {
                let (result, told) = ended::told_in_blocks(&how, tool, &asked, json.get());
                (Some(result), told)
            }
            None => (None, None),
        };
        let brought = result.as_deref().unwrap_or_default();
        let error = if self.error.is_some() {
            let in_vain =
                |error: &Failure| ended::is_search_in_vain(error, arguments, result.as_deref());
            self.failure().filter(|error| !in_vain(error))
        } else {
            told
        };
        let receiver = receiver.filter(|_| error.is_none());
        let call = Body::ToolCall(ToolCall {
            call_id: call_id.map(|id| value::id_hash(&[id.as_bytes()])),
            input: Self::input(self.input.map(|_| arguments), &how),
            output: result.as_deref().map_or(Recorded::NotRecorded, |json| {
                value::answer_json(&how, value::ResultKind::of(tool), json, &asked)
            }),
            error,
            hands_off: receiver.is_some(),
            ..fingerprint::call(&how, value::name(tool), arguments, brought)
        });
        let handoff = receiver.map(|to| {
            Body::Handoff(Handoff {
                from: self.agent.as_deref().map(value::name),
                to: value::name(&to),
            })
        });
        Ok(std::iter::once(call).chain(handoff).collect())
    }

    /// Arguments that are `null` are not known to be none.
    fn input(json: Option<&str>, how: &ToolSettings<'_>) -> Recorded {
        let input = json.filter(|json| *json != "null");
        input.map_or(Recorded::NotRecorded, |json| value::input_json(how, json))
    }

    /// The error in words; of `true`, the output's words.
    fn failure(&self) -> Option<Failure> {
        let error = match self.error?.get() {
            "null" | "false" => return None,
            "true" => self.output.map_or(Cow::Borrowed(""), unquoted),
            error => value::unquote(error),
        };
        let arguments = self.input.map_or("", RawValue::get);
        Some(value::failure_of_call(&error, arguments))
    }

    fn model_call(&self, answer: Answer) -> ModelCall {
        let mut call = ModelCall {
            // The format does not tell tokens read from tokens written; their sum is what counts.
            input_tokens: self.tokens.unwrap_or(0),
            cost_microusd: self.cost_usd.and_then(usage::microusd),
            answer,
            error: self.failure(),
            ..ModelCall::default()
        };
        usage::doubt_tokens(&mut call);
        call
    }

    /// A turn of text alone. What an agent called `user` says is a message of the user's.
    fn model_text(&self) -> Body {
        if self.agent.as_deref() == Some("user") {
            return Body::UserMessage;
        }
        let said = self.text.or(self.input).map(unquoted);
        let hash = said.and_then(|said| value::spoken(&said));
        Body::ModelCall(self.model_call(Answer::Text(hash)))
    }

    /// Control passes on. Where no receiver is named apart, the event's own agent is the receiver; what it was asked is told
    /// as the agent's work.
    fn handoff(&self) -> Result<Vec<Body>, String> {
        let (from, to) = match (&self.to_agent, &self.agent) {
            (Some(to), agent) => (self.from_agent.as_ref().or(agent.as_ref()), to),
            (None, Some(agent)) => (self.from_agent.as_ref(), agent),
            (None, None) => return Err("a handoff needs `to_agent` or `agent`".to_owned()),
        };
        let to = value::name(to);
        let handoff = Body::Handoff(Handoff {
            from: from.map(|from| value::name(from)),
            to: to.clone(),
        });
        let asked = AgentSpan {
            name: to,
            input: Self::input(self.input.map(RawValue::get), &ToolSettings::PLAIN),
            output: Recorded::NotRecorded,
        };
        Ok(match asked.input {
            Recorded::NotRecorded => vec![handoff],
            _ => vec![handoff, Body::AgentSpan(asked)],
        })
    }

    fn end_failure(&self) -> Result<Option<Failure>, String> {
        let failed = match self.status.as_deref() {
            None | Some("ok" | "success" | "succeeded" | "completed") => false,
            Some(status) if FAILED.contains(&status) => true,
            Some(other) => {
                return Err(format!(
                    "unknown status `{other}`; known are ok, success, succeeded, completed, failed, failure and error"
                ));
            }
        };
        Ok(self
            .failure()
            .or_else(|| failed.then(|| value::failure(""))))
    }
}

fn unquoted(json: &RawValue) -> Cow<'_, str> {
    value::unquote(json.get())
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::LazyLock;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;
    use crate::config::profile::Name;

    static POLICY: LazyLock<Policy> = LazyLock::new(|| Name::Standard.policy());

    const SAMPLES: &[u8] = include_bytes!("../../tests/events/samples.events.jsonl");

    /// One run whose events are these.
    fn run_of(events: &str) -> EventsRun {
        let line = format!(r#"{{"run_id":"r","events":[{events}]}}"#);
        runs(line.as_bytes(), &POLICY)
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
    }

    /// The one event of a run that has this one.
    fn event_of(event: &str) -> Event {
        run_of(event).events.remove(0)
    }

    #[track_caller]
    fn call_of(event: &str) -> ToolCall {
        match event_of(event).body {
            Body::ToolCall(call) => call,
            other => panic!("no tool call: {other:?}"),
        }
    }

    #[track_caller]
    fn check_error(line: &str, expected: &str) {
        let error = runs(line.as_bytes(), &POLICY).unwrap().next().unwrap();
        assert_eq!(error.unwrap_err().to_string(), expected);
    }

    /// Given public runs as they were converted, every event of every line becomes an event, in order, and the same
    /// from a compressed file.
    #[test]
    fn recorded_runs_are_read() {
        let read: Vec<EventsRun> = runs(SAMPLES, &POLICY)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let datasets: Vec<_> = read
            .iter()
            .map(|run| run.dataset.as_deref().unwrap())
            .collect();
        assert_eq!(
            datasets,
            [
                "grafted_tune",
                "magentic_agentrx",
                "tau_airline_gpt4o",
                "tau_retail_agentrx",
                "whowhen_algorithm"
            ]
        );
        for run in &read {
            assert_eq!(
                run.label.looping,
                (run.run_id.starts_with("P_")).then_some(true)
            );
            assert!(
                run.events.is_sorted_by_key(|event| event.start_ns),
                "{}",
                run.run_id
            );
            assert!(matches!(run.events.last().unwrap().body, Body::RunEnd(_)));
        }
        let mut compressed = GzEncoder::new(Vec::new(), Compression::fast());
        compressed.write_all(SAMPLES).unwrap();
        let compressed = compressed.finish().unwrap();
        let again: Vec<EventsRun> = runs(&compressed[..], &POLICY)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(again, read);
    }

    /// Given a value that is missing, `null`, text, JSON in text or JSON, it is what the format says it is.
    #[test]
    fn values_are_what_they_are() {
        let call = call_of(r#"{"i":1,"kind":"tool_call","tool":"t"}"#);
        assert_eq!(
            (call.input, call.output, call.error),
            (Recorded::NotRecorded, Recorded::NotRecorded, None)
        );
        let call = call_of(
            r#"{"i":1,"kind":"tool_call","tool":"t","input":null,"output":null,"error":null}"#,
        );
        assert_eq!(call.input, Recorded::NotRecorded);
        assert!(call.output.value().unwrap().empty);
        assert_eq!(call.error, None);
        let text = call_of(r#"{"i":1,"kind":"tool_call","tool":"t","input":"{\"b\":1,\"a\":2}"}"#);
        let json = call_of(r#"{"i":1,"kind":"tool_call","tool":"t","input":{"a":2,"b":1}}"#);
        assert_eq!(
            text.input.value().unwrap().fingerprint,
            json.input.value().unwrap().fingerprint
        );
        // Content blocks around one text come off, whether they stand there as JSON or as a text.
        let plain = call_of(r#"{"i":1,"kind":"tool_call","tool":"t","output":"saved"}"#).output;
        for blocks in [
            r#"{"content":[{"type":"text","text":"saved"}]}"#,
            r#""[{\"type\":\"text\",\"text\":\"saved\"}]""#,
        ] {
            let line = format!(r#"{{"i":1,"kind":"tool_call","tool":"t","output":{blocks}}}"#);
            assert_eq!(call_of(&line).output, plain, "{blocks}");
        }
        let failed = call_of(
            r#"{"i":1,"kind":"tool_call","tool":"t","output":"no such table","error":true}"#,
        );
        assert_eq!(&*failed.error.unwrap().text, "no such table");
        let failed = call_of(r#"{"i":1,"kind":"tool_call","tool":"t","error":"timeout"}"#);
        assert_eq!(&*failed.error.unwrap().text, "timeout");
        let call = call_of(
            r#"{"i":1,"kind":"tool_call","tool":"transfer_to_b","call_id":"c","error":false}"#,
        );
        assert!(call.hands_off && call.call_id.is_some() && call.error.is_none());
    }

    /// Given times, `i` decides among equal ones, and stands in for them where there are none.
    #[test]
    fn time_comes_from_the_clock_or_the_number() {
        let run = run_of(
            r#"{"i":3,"t_ms":10,"kind":"retry"},{"i":2,"t_ms":10,"kind":"state_update","duration_ms":2.5},{"i":4,"kind":"memory_write"}"#,
        );
        let times: Vec<_> = run
            .events
            .iter()
            .map(|event| (event.start_ns, event.end_ns))
            .collect();
        assert_eq!(
            times,
            [
                (10_000_002, 12_500_002),
                (10_000_003, 10_000_003),
                (10_000_004, 10_000_004)
            ]
        );
        let seconds = |events: &str| -> Vec<u64> {
            let events = run_of(events).events.into_iter();
            events.map(|event| event.start_ns / 1_000_000_000).collect()
        };
        let check =
            |events: &str, expected: &[u64]| assert_eq!(seconds(events), expected, "{events}");
        check(r#"{"i":3,"kind":"user_message"}"#, &[3]);
        // A number is an order, however large, and no date.
        check(
            r#"{"i":401,"kind":"retry"},{"i":1,"kind":"retry"},{"i":101,"kind":"retry"}"#,
            &[1, 2, 3],
        );
        let large =
            seconds(r#"{"i":1763734882,"kind":"retry"},{"i":18446744073709551614,"kind":"retry"}"#);
        assert_eq!(large[1] - large[0], 1);
        assert!(large[1] < 900_000_000, "{large:?}");
    }

    /// Given an error that is told as the output, it is the same call as one with that error.
    #[test]
    fn an_error_in_the_output_is_an_error() {
        let in_output =
            call_of(r#"{"i":1,"kind":"tool_call","tool":"t","error":true,"output":"boom"}"#);
        let in_error = call_of(r#"{"i":1,"kind":"tool_call","tool":"t","error":"boom"}"#);
        assert_eq!(in_output, in_error);
    }

    /// Given a line that ends too early, it is said where.
    #[test]
    fn early_ends_have_a_column() {
        check_error(
            "{\"run_id\":\n",
            "line 1: not whole JSON: EOF while parsing a value (column 10)",
        );
    }

    /// Given the other kinds, each becomes the event that it names.
    #[test]
    fn every_kind_is_read() {
        let check =
            |event: &str, expected: Body| assert_eq!(event_of(event).body, expected, "{event}");
        check(
            r#"{"i":1,"kind":"llm_text","agent":"user","input":"hi"}"#,
            Body::UserMessage,
        );
        check(
            r#"{"i":1,"kind":"llm_call","tokens":12,"cost_usd":0.0015}"#,
            Body::ModelCall(ModelCall {
                input_tokens: 12,
                cost_microusd: Some(1_500),
                ..ModelCall::default()
            }),
        );
        check(
            r#"{"i":1,"kind":"handoff","from_agent":"a","to_agent":"b"}"#,
            Body::Handoff(Handoff {
                from: Some("a".into()),
                to: "b".into(),
            }),
        );
        check(
            r#"{"i":1,"kind":"retry","tool":"t"}"#,
            Body::Retry {
                tool: Some("t".into()),
            },
        );
        check(
            r#"{"i":1,"kind":"run_end","status":"ok"}"#,
            Body::RunEnd(RunEnd { error: None }),
        );
        check(
            r#"{"i":1,"kind":"run_end","status":"failed"}"#,
            Body::RunEnd(RunEnd {
                error: Some(value::failure("")),
            }),
        );
        let text = event_of(
            r#"{"i":1,"kind":"llm_text","agent":"a","text":"In summary, all is as it was"}"#,
        )
        .body;
        assert!(
            matches!(text, Body::ModelCall(model) if matches!(model.answer, Answer::Text(Some(_))))
        );
        let asked = run_of(r#"{"i":1,"kind":"handoff","agent":"b","input":"look again"}"#).events;
        assert!(matches!(&asked[0].body, Body::Handoff(handoff) if &*handoff.to == "b"));
        assert!(matches!(&asked[1].body, Body::AgentSpan(agent) if agent.input.value().is_some()));
        assert_ne!(asked[0].id, asked[1].id);
    }

    /// Given lines that are no runs, the error says where and why, and the next line is read.
    #[test]
    fn bad_lines_are_explained() {
        check_error(
            "{",
            "line 1: not whole JSON: EOF while parsing an object (column 1)",
        );
        check_error("hello", "line 1: no JSON: expected value (column 1)");
        check_error("nothing", "line 1: no JSON: expected value (column 2)");
        check_error(
            "\n\n[1]",
            "line 3: invalid type: a list, expected an object (column 0)",
        );
        check_error(
            "7",
            "line 1: invalid type: integer `7`, expected an object (column 1)",
        );
        check_error(
            r#"["set","r",null,null,[]]"#,
            "line 1: invalid type: a list, expected an object (column 0)",
        );
        check_error(
            r#"{"run_id":"r","events":[[7]]}"#,
            "line 1: `events`: invalid type: a list, expected an object (column 24)",
        );
        check_error(
            r#"{"run_id":"r","events":[],"label":[true]}"#,
            "line 1: `label`: invalid type: a list, expected an object (column 34)",
        );
        check_error(
            r#"{"events":[]}"#,
            "line 1: missing field `run_id` (column 13)",
        );
        check_error(
            r#"{"run_id":"r","events":[{"kind":"retry"}]}"#,
            "line 1: missing field `i` (column 40)",
        );
        check_error(
            r#"{"run_id":"r","events":[{"i":7,"kind":"tool_call"}]}"#,
            "line 1: event 7: a tool_call needs `tool`",
        );
        check_error(
            r#"{"run_id":"r","events":[{"i":7,"kind":"retry"},{"i":7,"kind":"retry"}]}"#,
            "line 1: two events have the number `i` 7",
        );
        check_error(
            r#"{"run_id":"r","events":[{"i":7,"kind":"handoff"}]}"#,
            "line 1: event 7: a handoff needs `to_agent` or `agent`",
        );
        check_error(
            r#"{"run_id":"r","events":[{"i":7,"kind":"run_end","status":"x"}]}"#,
            "line 1: event 7: unknown status `x`; known are ok, success, succeeded, completed, failed, failure and error",
        );
        check_error(
            r#"{"run_id":"r","events":[],"label":{"looping":"yes"}}"#,
            r#"line 1: `looping`: invalid type: string "yes", expected true or false (column 50)"#,
        );
        check_error(
            r#"{"run_id":"r","events":[{"i":7,"t_ms":"5","kind":"retry"}]}"#,
            r#"line 1: `t_ms`: invalid type: string "5", expected a number (column 41)"#,
        );
        check_error(
            r#"{"run_id":" ","events":[]}"#,
            "line 1: `run_id` is empty: it names the run",
        );
        let two = "nonsense\n{\"run_id\":\"r\",\"events\":[]}\n";
        let read: Vec<_> = runs(two.as_bytes(), &POLICY).unwrap().collect();
        assert!(read[0].is_err() && read[1].is_ok() && read.len() == 2);
    }

    /// Given a line that is longer than any may be, the limit is named, and the next line is read.
    #[test]
    fn a_line_has_a_limit() {
        let long = std::io::repeat(b' ').take(LINE_BYTES_MAX + 1);
        let next = "\n{\"run_id\":\"r\",\"events\":[]}\n";
        let read: Vec<_> = runs(long.chain(next.as_bytes()), &POLICY)
            .unwrap()
            .collect();
        assert!(read[1].is_ok() && read.len() == 2);
        let refused = read[0].as_ref().unwrap_err().to_string();
        assert_eq!(refused, "line 1: longer than a line may be, 128 MiB");
    }

    /// Given a compressed file that is cut off, reading ends with an error and does not go on for ever.
    #[test]
    fn a_broken_file_ends() {
        let mut compressed = GzEncoder::new(Vec::new(), Compression::fast());
        compressed.write_all(SAMPLES).unwrap();
        let compressed = compressed.finish().unwrap();
        let half = &compressed[..compressed.len() / 2];
        let read: Vec<_> = runs(half, &POLICY).unwrap().collect();
        assert!(matches!(read.last(), Some(Err(EventsError::Read { .. }))));
    }
}
