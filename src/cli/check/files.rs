//! Recorded telemetry out of files, as the reports that the daemon's receiver would have made of it.
//!
//! What a file is, its name says where it can (`.binpb`), else its content: gzip by its first bytes, OTLP/JSON and event
//! files by the keys of their objects, as they may come over standard input. A span that cannot be read costs that span and is
//! counted; a file that cannot be read, or of which nothing can be used, is an error that names it and the place in it.

use std::collections::{HashMap, HashSet};
use std::error::Error;
use std::fmt::{Display, Write as _};
use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;

use super::content::{
    BYTE_ORDER_MARK, Keys, content, is_events_file, is_json, is_otlp, not_read, unzipped, wrong,
};
use crate::cli::failure::Failure;
use crate::engine::event::{SpanId, Text};
use crate::engine::policy::Policy;
use crate::normalize::events_file::{self, EventsError};
use crate::normalize::{self, Normalizer, Report, RunRef};
use crate::otlp::json::NotOtlpJson;
use crate::otlp::{self, Limits, Problem, Reason, Signal};
use crate::render::text::{counted, short_number};
use crate::shard::router::bounded;
use crate::telemetry::causes;

/// What is said of JSON that is something else.
const NOT_KNOWN: &str =
    "neither OTLP/JSON (`resourceSpans` or `resourceLogs`) nor a run of events (`events`)";

/// What is said of a file that has OTLP/JSON and runs of events.
const TWO_FORMATS: &str = "a run of events (`events`) and OTLP/JSON (`resourceSpans` or `resourceLogs`) are two formats, and a file \
     has one of them: give each in a file of its own";

/// How protobuf is to be called, since nothing in it says what it is.
const NAMES: &str = "the name says how protobuf is read: `*.logs.otlp.binpb` as log records, any other `*.binpb` as spans";

/// How requests lie in a file of protobuf. The Collector's file exporter, for one, writes lengths of four bytes.
const DELIMITED: &str =
    "protobuf is read as requests one after another, each behind its length as a varint";

/// Where reports go, each with what one span or log record told.
pub(super) type Sink<'a> = &'a mut dyn FnMut(Report);

/// Reads files and counts what was in them.
pub(super) struct Reader {
    limits: Limits,
    normalizer: Normalizer,
    policy: Arc<Policy>,
    read: u64,
    refused: Refused,
    /// Requests of metrics, which say nothing of agents.
    metrics: u64,
    /// Files that end within a request.
    cut_off: u64,
    /// Events of runs in the events format, and how many came once more.
    events: HashSet<(Text, SpanId)>,
    again: u64,
    /// Runs in that format which their source calls failures or loops.
    bad: HashMap<Text, Bad>,
}

/// What the source of a run says against it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Bad {
    Looping,
    Failed,
}

/// How much could not be read, of which a score says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Unread {
    /// Spans and log records.
    refused: u64,
    /// Files that end within a request.
    files_cut_off: u64,
}

/// How many items were refused, by [`Reason::index`].
type Refused = [u64; Reason::ALL.len()];

impl Reader {
    /// A reader that has read nothing yet.
    pub(super) fn new(settings: normalize::Settings, policy: Arc<Policy>) -> Self {
        Self {
            policy,
            normalizer: Normalizer::with(settings),
            limits: Limits::default(),
            read: 0,
            refused: Refused::default(),
            metrics: 0,
            cut_off: 0,
            events: HashSet::new(),
            again: 0,
            bad: HashMap::new(),
        }
    }

    /// Reads one file.
    pub(super) fn read(&mut self, path: &Path, sink: Sink<'_>) -> Result<(), Failure> {
        let (read, refused) = (self.read, self.refused);
        let name = path.file_name().unwrap_or_default().to_ascii_lowercase();
        let name = name.to_string_lossy();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let is_protobuf = Path::new(name).extension() == Some("binpb".as_ref());
        let bytes =
            content(path).map_err(|error| wrong(path, format!("cannot be read: {error}")))?;
        let bytes = unzipped(&bytes).map_err(|error| wrong(path, error))?;
        if let Some(what) = not_read(&bytes) {
            return Err(wrong(path, what));
        }
        let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
        if is_protobuf {
            self.protobuf(path, name, &bytes, sink)?;
        } else if name.ends_with(".events.jsonl") || is_events_file(text) {
            self.events(path, text, sink)?;
        } else {
            self.json(path, text, sink)?;
        }
        let since = std::array::from_fn(|reason| self.refused[reason] - refused[reason]);
        match refusals(&since) {
            Some(refusals) if self.read == read => {
                let mut why = format!("nothing in it can be used: {refusals}");
                if is_protobuf {
                    let _ = write!(why, "; {NAMES}");
                }
                Err(wrong(path, why))
            }
            _ => Ok(()),
        }
    }

    /// OTLP's protobuf: requests of one kind, each with its length before it.
    fn protobuf(
        &mut self,
        path: &Path,
        name: &str,
        bytes: &[u8],
        sink: Sink<'_>,
    ) -> Result<(), Failure> {
        let is_of_logs = name.ends_with(".logs.otlp.binpb") || name.ends_with(".logs.binpb");
        let read = if is_of_logs { Self::logs } else { Self::spans };
        for (index, request) in otlp::delimited(bytes).enumerate() {
            let place = |error: &dyn Display| {
                wrong(path, format!("request {}: {error}; {DELIMITED}", index + 1))
            };
            // What is shorter than its length says, behind whole ones, was cut off, or is being written.
            if index > 0 && request.is_err() {
                self.cut_off += 1;
                break;
            }
            let request = request.map_err(|error| place(&error))?;
            read(self, request, sink).map_err(|error| place(&error))?;
        }
        Ok(())
    }

    /// OTLP/JSON: objects one after another, usually one a line, or lists of them.
    fn json(&mut self, path: &Path, bytes: &[u8], sink: Sink<'_>) -> Result<(), Failure> {
        let mut objects = serde_json::Deserializer::from_slice(bytes).into_iter::<&RawValue>();
        let mut start = 0;
        while let Some(object) = objects.next() {
            let begins = start;
            start = objects.byte_offset() + 1;
            let place = |error: &dyn Display| {
                let breaks = bytes[..begins].iter().filter(|byte| **byte == b'\n');
                wrong(path, format!("line {}: {error}", 1 + breaks.count()))
            };
            // Its writer was ended, or is at it. What came before is whole.
            if begins > 0 && object.as_ref().is_err_and(serde_json::Error::is_eof) {
                self.cut_off += 1;
                break;
            }
            let object = object.map_err(|error| {
                let is_json = is_json(&bytes[begins.min(bytes.len())..]);
                match begins {
                    0 if !is_json => wrong(path, format!("{NOT_KNOWN}, nor other JSON; {NAMES}")),
                    0 if !error.is_eof() => wrong(path, format!("{NOT_KNOWN}: {error}; {NAMES}")),
                    _ if !is_json => place(&NOT_KNOWN),
                    _ => wrong(path, format!("not whole JSON: {error}")),
                }
            })?;
            let object = object.get();
            if Keys::of(object).is_some_and(|keys| keys.is_ok_and(|keys| keys.is_events())) {
                return Err(place(&TWO_FORMATS));
            }
            let list: Vec<&RawValue> = serde_json::from_str(object).unwrap_or_default();
            let of_list = list.iter().map(|object| object.get());
            let itself = Some(object).filter(|object| !object.starts_with('['));
            for object in itself.into_iter().chain(of_list) {
                let read = self.object(object, sink);
                read.map_err(|error| place(&causes(&*error)))?;
            }
        }
        Ok(())
    }

    /// One request as OTLP/JSON.
    fn object(&mut self, object: &str, sink: Sink<'_>) -> Result<(), Box<dyn Error>> {
        let keys = Keys::of(object).ok_or(NOT_KNOWN)??;
        if keys.spans.is_some() {
            let request = self.request(Signal::Traces, object)?;
            self.spans(&request, sink)?;
        } else if keys.logs.is_some() {
            let request = self.request(Signal::Logs, object)?;
            self.logs(&request, sink)?;
        } else if keys.metrics.is_some() {
            self.metrics += 1;
        } else if keys.events.is_some() {
            return Err("a run of events stands alone on its line, in no list".into());
        } else {
            return Err(NOT_KNOWN.into());
        }
        Ok(())
    }

    /// The bytes of a request; what of it cannot be read is counted.
    fn request(&mut self, signal: Signal, object: &str) -> Result<Vec<u8>, NotOtlpJson> {
        let read = otlp::json::read(signal, object)?;
        self.refused[Reason::Malformed.index()] += read.unread;
        Ok(read.bytes)
    }

    /// Eddy's own events: a run a line.
    fn events(&mut self, path: &Path, bytes: &[u8], sink: Sink<'_>) -> Result<(), Failure> {
        let policy = Arc::clone(&self.policy);
        for run in events_file::runs(bytes, &policy).map_err(|error| wrong(path, error))? {
            let run = run.map_err(|error| match error {
                EventsError::Line { line, .. } if is_otlp(bytes, line) => {
                    wrong(path, format!("line {line}: {TWO_FORMATS}"))
                }
                error => wrong(path, error),
            })?;
            if run.label.looping == Some(true) {
                self.bad.insert(bounded(&run.run_id), Bad::Looping);
            } else if run.failed() {
                self.bad.insert(bounded(&run.run_id), Bad::Failed);
            }
            for told in run.told() {
                self.read += 1;
                let is_new = self.events.insert((run.run_id.clone(), told[0].span));
                self.again += u64::from(!is_new);
                let of_run = RunRef {
                    run_id: Some(run.run_id.clone()),
                    ..RunRef::default()
                };
                sink(Report {
                    run: of_run,
                    events: told.to_vec(),
                });
            }
        }
        Ok(())
    }

    /// Runs of the events format that their source calls failures or loops.
    pub(super) fn into_bad(self) -> HashMap<Text, Bad> {
        self.bad
    }

    /// What was read, in a line.
    pub(super) fn summary(&self, runs: usize) -> String {
        let events = self.events.len() as u64 + self.again;
        let spans = match self.read - events {
            0 if events > 0 => None,
            1 => Some("1 span or record".to_owned()),
            spans => Some(format!("{} spans and records", short_number(spans))),
        };
        let events = (events > 0).then(|| counted(events, "event"));
        let read: Vec<String> = spans.into_iter().chain(events).collect();
        let read = read.join(" and ") + " read";
        let left_out = self.left_out();
        let parts = [Some(counted(runs as u64, "run")), Some(read), left_out];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
    }

    /// What could not be read.
    pub(super) fn unread(&self) -> Unread {
        Unread {
            refused: self.refused.iter().sum(),
            files_cut_off: self.cut_off,
        }
    }

    /// The same in a line; nothing where all was read.
    pub(super) fn told_unread(&self) -> Option<String> {
        let cut_off = || counted(self.cut_off, "file") + " cut off at the end";
        let parts = [refusals(&self.refused), (self.cut_off > 0).then(cut_off)];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join(" · "))
    }

    /// What was not used of it, and what is not known of it, in a line; nothing where all was well.
    pub(super) fn left_out(&self) -> Option<String> {
        let counts = self.normalizer.counts();
        let mut parts = Vec::from_iter(self.told_unread());
        if self.again > 0 {
            let events = counted(self.again, "event");
            parts.push(format!(
                "{events} left out, whose `i` came before in their run"
            ));
        }
        if self.metrics > 0 {
            parts.push(counted(self.metrics, "request") + " of metrics passed over");
        }
        let odd = [
            (counts.unknown_operation, "of operations not known"),
            (counts.no_dialect, "not from an agent"),
        ];
        for (number, what) in odd {
            if number > 0 {
                parts.push(format!("{} {what}", short_number(number)));
            }
        }
        let unpriced = self.normalizer.unpriced_models();
        if !unpriced.is_empty() {
            let models: Vec<&str> = unpriced.iter().map(|(model, _)| &**model).collect();
            parts.push(format!("no price known of {}", models.join(", ")));
        }
        (!parts.is_empty()).then(|| parts.join(" · "))
    }

    /// One request of spans.
    fn spans(&mut self, request: &[u8], sink: Sink<'_>) -> Result<(), Problem> {
        let mut reports = Vec::new();
        let mut spans = otlp::spans(request, &self.limits);
        loop {
            let policy = &self.policy;
            let span = self.normalizer.batch(policy).span(&mut spans, &mut reports);
            let Some(span) = span else {
                break;
            };
            self.sound(span)?;
        }
        reports.into_iter().for_each(sink);
        Ok(())
    }

    /// One request of log records.
    fn logs(&mut self, request: &[u8], sink: Sink<'_>) -> Result<(), Problem> {
        let mut logs = Vec::new();
        for log in otlp::logs(request, &self.limits) {
            logs.extend(self.sound(log)?);
        }
        // One record may tell what another one of the request means.
        let mut reports = Vec::new();
        let mut batch = self.normalizer.batch(&self.policy);
        for log in &logs {
            batch.log(log, &mut reports);
        }
        reports.into_iter().for_each(sink);
        Ok(())
    }

    /// Counts an item, and lets one that is refused pass by.
    fn sound<T>(&mut self, item: Result<T, Problem>) -> Result<Option<T>, Problem> {
        match item {
            Ok(item) => {
                self.read += 1;
                Ok(Some(item))
            }
            Err(Problem::Refused(reason)) => {
                self.refused[reason.index()] += 1;
                Ok(None)
            }
            Err(Problem::Context(_)) => Ok(None),
            Err(problem @ Problem::Undecodable(_)) => Err(problem),
        }
    }
}

/// How many were refused, and why; nothing where none was.
fn refusals(refused: &Refused) -> Option<String> {
    let reasons = Reason::ALL.map(|reason| (refused[reason.index()], reason));
    let told = reasons.iter().filter(|(number, _)| *number > 0);
    let told: Vec<String> = told
        .map(|(number, reason)| reason.counted(*number))
        .collect();
    let all = short_number(refused.iter().sum());
    (!told.is_empty()).then(|| format!("{all} refused ({})", told.join(", ")))
}
