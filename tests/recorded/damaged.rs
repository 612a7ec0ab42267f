//! Recorded runs whose texts are of any script, or cut anywhere, and whose values are of any kind and times absurd.
//!
//! The recordings are of agents that speak English. Here some letters of their texts become others: signs of two to four bytes,
//! of which several begin alike, blanks of other kinds, quotation marks, ends of lines. Now and then a value is left out, becomes
//! one of another kind or stands twice, and a time is none. Whatever is read out of that, reading and judging end, and a run's
//! state can be kept and found again. `EDDY_FUZZ=N` reads each recording N times as often.

use std::fs;

use eddy::config::profile::Name;
use eddy::normalize::Normalizer;
use eddy::otlp;
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue};
use prost::Message;

use super::DIRECTORY;
use super::made::{Dice, judge, read, times};

/// What letters become. The bytes of several of them are blanks in other encodings.
const SIGNS: [&str; 22] = [
    "校", "样", "全", "公", "à", "é", "ß", "İ", "ſ", "K", "😀", "\u{a0}", "\u{2003}", "\u{85}",
    "\u{301}", "\u{200d}", "…", "\"", "\\", "\n", "'", "{",
];

/// Times that each recording is read, each time with other texts.
const TIMES: u64 = 2;

/// How what was recorded is changed.
impl Dice {
    /// Changes a text: one in `rare` of its letters, and one text in eight is cut.
    fn change(&mut self, text: &mut String, rare: usize) {
        // What a dialect is known by stays, mostly.
        if text.len() < 40 && !self.once_in(8) {
            return;
        }
        let mut changed: String = text
            .chars()
            .map(|letter| match self.below(rare) {
                0 if letter.is_alphanumeric() => SIGNS[self.below(SIGNS.len())].to_owned(),
                _ => letter.to_string(),
            })
            .collect();
        if self.once_in(8) {
            let kept = self.below(changed.chars().count().max(1));
            changed = changed.chars().take(kept).collect();
        }
        *text = changed;
    }

    /// A value of any kind.
    fn value(&mut self) -> Option<Any> {
        let numbers = [0, 1, -1, i64::MAX, i64::MIN];
        let floats = [0.5, f64::NAN, f64::INFINITY, -1e300];
        let list = |values| Any::ArrayValue(ArrayValue { values });
        Some(match self.below(7) {
            0 => return None,
            1 => Any::IntValue(numbers[self.below(numbers.len())]),
            2 => Any::DoubleValue(floats[self.below(floats.len())]),
            3 => Any::BoolValue(true),
            4 => Any::BytesValue(vec![0xe6, 0xa0]),
            5 => list(vec![AnyValue {
                value: self.value(),
            }]),
            _ => Any::StringValue(SIGNS[self.below(SIGNS.len())].repeat(self.below(200))),
        })
    }

    fn change_time(&mut self, time: &mut u64) {
        if self.once_in(60) {
            *time = [
                0,
                1,
                time.wrapping_sub(1 << 40),
                time.wrapping_add(1 << 40),
                u64::MAX,
            ][self.below(5)];
        }
    }

    fn change_value(&mut self, value: Option<&mut AnyValue>, rare: usize) {
        match value.and_then(|value| value.value.as_mut()) {
            Some(Any::StringValue(text)) => self.change(text, rare),
            Some(Any::ArrayValue(list)) => list
                .values
                .iter_mut()
                .for_each(|value| self.change_value(Some(value), rare)),
            Some(Any::KvlistValue(list)) => self.change_all(&mut list.values, rare),
            _ => {}
        }
    }

    fn change_all(&mut self, attributes: &mut Vec<KeyValue>, rare: usize) {
        for attribute in attributes.iter_mut() {
            self.change_value(attribute.value.as_mut(), rare);
            if self.once_in(100) {
                attribute.value = self.once_in(2).then(|| AnyValue {
                    value: self.value(),
                });
            }
        }
        if !attributes.is_empty() && self.once_in(20) {
            let place = self.below(attributes.len());
            let again = attributes.swap_remove(place);
            if self.once_in(2) {
                attributes.extend([again.clone(), again]);
            }
        }
    }
}

fn changed_traces(request: &[u8], dice: &mut Dice, rare: usize) -> Vec<u8> {
    let mut request = ExportTraceServiceRequest::decode(request).unwrap();
    let scopes = request
        .resource_spans
        .iter_mut()
        .flat_map(|of| &mut of.scope_spans);
    for span in scopes.flat_map(|scope| &mut scope.spans) {
        dice.change(&mut span.name, rare);
        dice.change_time(&mut span.start_time_unix_nano);
        dice.change_time(&mut span.end_time_unix_nano);
        dice.change_all(&mut span.attributes, rare);
        for event in &mut span.events {
            dice.change_all(&mut event.attributes, rare);
        }
        if let Some(status) = &mut span.status {
            dice.change(&mut status.message, rare);
        }
    }
    request.encode_to_vec()
}

fn changed_logs(request: &[u8], dice: &mut Dice, rare: usize) -> Vec<u8> {
    let mut request = ExportLogsServiceRequest::decode(request).unwrap();
    let scopes = request
        .resource_logs
        .iter_mut()
        .flat_map(|of| &mut of.scope_logs);
    for record in scopes.flat_map(|scope| &mut scope.log_records) {
        dice.change_value(record.body.as_mut(), rare);
        dice.change_time(&mut record.time_unix_nano);
        dice.change_all(&mut record.attributes, rare);
    }
    request.encode_to_vec()
}

#[test]
fn whatever_comes_is_read_and_judged() {
    let times = TIMES * times();
    let mut judged = 0;
    let files = fs::read_dir(DIRECTORY)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files
        .filter(|file| file.extension().is_some_and(|kind| kind == "binpb"))
        .collect();
    files.sort();
    for (number, file) in (1_u64..).zip(files) {
        let bytes = fs::read(&file).unwrap();
        for time in 0..times {
            // Of a failure, the last one says where.
            println!("{} {time}", file.display());
            let mut dice = Dice::of(number << 32 | time);
            let rare = [2, 6, 30][dice.below(3)];
            let is_logs = file.to_string_lossy().contains(".logs.");
            let normalizer = Normalizer::new();
            let mut reports = Vec::new();
            for request in otlp::delimited(&bytes) {
                let request = if is_logs {
                    changed_logs(request.unwrap(), &mut dice, rare)
                } else {
                    changed_traces(request.unwrap(), &mut dice, rare)
                };
                read(&normalizer, &request, is_logs, &mut reports);
            }
            judge(
                &reports,
                [Name::Standard, Name::Looplens, Name::Attocode][dice.below(3)],
            );
            judged += reports.len();
        }
    }
    assert!(judged > 3_000, "only {judged} reports were read");
}
