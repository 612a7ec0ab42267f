//! OTLP/JSON, turned into the protobuf bytes that the walk reads.
//!
//! Each member is written as a field as soon as it is read (`reading`), by tables of what the messages of OTLP hold
//! (`shapes`); no structs and no JSON values are built, of which a text of a few megabytes could make gigabytes. So
//! reading takes about as much memory as the text itself.
//!
//! The mapping of JSON is read as a whole: integers as text, number or `1.0`, numbers that are infinite or none as text, unknown
//! members ignored, base64 of either alphabet; and what OTLP does otherwise, ids as hexadecimal text. Senders do more than the
//! mapping allows, and that is read, too: enums by name, an array or map value without its `values`, bytes that are not UTF-8.
//! A span or log record that cannot be read is left out, and counted as a malformed one; anything else that cannot be read has
//! the request refused.

mod fault;
mod reading;
mod shapes;

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use super::Signal;
use fault::Written;
use reading::Members;
use shapes::{LOGS, METRICS, Shape, TRACES};

/// The text is not an OTLP/JSON request; sending it again will not help.
#[derive(Debug, thiserror::Error)]
#[error("not an OTLP/JSON request")]
pub struct NotOtlpJson(#[from] serde_json::Error);

/// A request, read from its text.
#[derive(Debug)]
pub struct FromJson {
    /// The bytes of its message.
    pub bytes: Vec<u8>,
    /// How many spans or log records cannot be read, and are not among them.
    pub unread: u64,
    /// What is wrong with the first of these, behind its path; in less than half a kibibyte.
    pub fault: Option<String>,
}

/// Reads a request of that kind.
pub fn read(signal: Signal, json: impl AsRef<[u8]>) -> Result<FromJson, NotOtlpJson> {
    let json = json.as_ref();
    let request = match signal {
        Signal::Traces => &TRACES,
        Signal::Logs => &LOGS,
        Signal::Metrics => &METRICS,
    };
    let Written {
        bytes,
        unread,
        fault,
    } = written(json, request)?;
    if bytes.is_empty()
        && let Some(instead) = instead_of_list(signal, json)
    {
        return Err(misplaced(&instead));
    }
    Ok(FromJson {
        bytes,
        unread,
        fault,
    })
}

/// What stands in place of the list that a request has, by the names of its members: the list of another signal, or the same in
/// another spelling. Other members that are not known are passed over.
fn instead_of_list(signal: Signal, json: &[u8]) -> Option<String> {
    let list = match signal {
        Signal::Traces => "resourceSpans",
        Signal::Logs => "resourceLogs",
        Signal::Metrics => "resourceMetrics",
    };
    let lists = Lists {
        list,
        ..Lists::default()
    };
    let lists = serde_json::Deserializer::from_slice(json).deserialize_map(lists);
    let lists = lists.ok().filter(|lists| !lists.is_there)?;
    match signal {
        Signal::Traces if lists.are_logs => {
            Some("these are log records; spans are expected here".to_owned())
        }
        Signal::Logs if lists.are_spans => {
            Some("these are spans; log records are expected here".to_owned())
        }
        _ => {
            let name = lists.alike?;
            Some(format!("there is no `{list}` in it; there is `{name}`"))
        }
    }
}

/// What the names of a request's members say of its list. Of the names, one is kept: there may be millions.
#[derive(Default)]
struct Lists {
    /// The name of the list that is expected.
    list: &'static str,
    is_there: bool,
    are_spans: bool,
    are_logs: bool,
    /// The first name that is that of the list in another spelling.
    alike: Option<String>,
}

impl<'de> Visitor<'de> for Lists {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<Self, A::Error> {
        while let Some((name, _)) = members.next_entry::<String, IgnoredAny>()? {
            self.is_there |= name == self.list;
            self.are_spans |= name == "resourceSpans";
            self.are_logs |= name == "resourceLogs";
            let is_alike = name.len() <= self.list.len() + 1
                && name.replace('_', "").eq_ignore_ascii_case(self.list);
            if is_alike && self.alike.is_none() {
                self.alike = Some(name);
            }
        }
        Ok(self)
    }
}

/// The bytes of the `ExportTraceServiceRequest` that the text writes out.
#[cfg(test)]
pub fn traces_to_bytes(json: impl AsRef<[u8]>) -> Result<Vec<u8>, NotOtlpJson> {
    Ok(read(Signal::Traces, json)?.bytes)
}

/// The bytes of the `ExportLogsServiceRequest` that the text writes out.
#[cfg(test)]
pub fn logs_to_bytes(json: impl AsRef<[u8]>) -> Result<Vec<u8>, NotOtlpJson> {
    Ok(read(Signal::Logs, json)?.bytes)
}

fn written(json: &[u8], request: &'static Shape) -> Result<Written, serde_json::Error> {
    if !json.trim_ascii_start().starts_with(b"{") {
        return Err(Error::custom(
            "one object is expected, which begins with `{`",
        ));
    }
    let text = mended(json);
    let mut written = Written {
        // Room for all that comes of it in nearly every case, so that it is not copied to grow; what is not written takes no
        // memory.
        bytes: Vec::with_capacity(text.len()),
        unread: 0,
        fault: None,
    };
    let members = Members {
        shape: request,
        within: None,
        out: &mut written,
    };
    let mut deserializer = serde_json::Deserializer::from_str(&text);
    members.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(written)
}

/// The text, with a question mark in place of what is not UTF-8: U+FFFD would make three bytes of one.
fn mended(json: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(json) {
        return Cow::Borrowed(text);
    }
    let mut text = String::with_capacity(json.len());
    for chunk in json.utf8_chunks() {
        text.push_str(chunk.valid());
        if !chunk.invalid().is_empty() {
            text.push('?');
        }
    }
    Cow::Owned(text)
}

fn misplaced(text: &str) -> NotOtlpJson {
    NotOtlpJson(Error::custom(text))
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
    use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
    use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
    use prost::Message;
    use serde::de::DeserializeOwned;

    use super::*;
    use crate::otlp::{Limits, Problem, Reason, logs, spans};

    /// Wraps attributes of a span into a request.
    fn request(attributes: &str) -> String {
        format!(
            r#"{{"resourceSpans":[{{"resource":null,"scopeSpans":[{{"scope":{{"name":"lib"}},"spans":[{{
                "traceId":"0102030405060708090A0b0c0d0e0f10","spanId":"0102030405060708","parentSpanId":null,
                "startTimeUnixNano":"5","endTimeUnixNano":6,"unknown":{{"a":1}},"kind":3,
                "attributes":{attributes}}}]}}]}}]}}"#
        )
    }

    fn check(attributes: &str, expected: &str) {
        let bytes = traces_to_bytes(request(attributes)).expect("OTLP/JSON");
        let limits = Limits::default();
        let view = spans(&bytes, &limits).next().expect("one").expect("good");
        assert_eq!((view.scope_name, view.kind), ("lib", 3));
        assert_eq!((view.start_ns, view.end_ns), (5, 6));
        assert_eq!(view.trace_id[9], 10);
        let mut json = String::new();
        view.attributes.write_json(&mut json);
        assert_eq!(json, expected);
    }

    /// Given what the JSON mapping allows, the views show it.
    #[test]
    fn the_mapping_of_json() {
        check("null", "{}");
        check("[]", "{}");
        check(
            r#"[{"key":"a","value":null},{"key":"b","value":{}}]"#,
            r#"{"a":null,"b":null}"#,
        );
        check(
            r#"[{"key":"a","value":{"intValue":"-3"}},{"key":"b","value":{"intValue":4}}]"#,
            r#"{"a":-3,"b":4}"#,
        );
        check(
            r#"[{"key":"a","value":{"arrayValue":{}}},{"key":"b","value":{"kvlistValue":{"values":null}}}]"#,
            r#"{"a":[],"b":{}}"#,
        );
        check(
            r#"[{"key":"a","value":{"bytesValue":"TQ=="}}]"#,
            r#"{"a":"TQ=="}"#,
        );
    }

    /// Given a log request, its records come out; given text that is no request, an error.
    #[test]
    fn logs_and_errors() {
        let json = r#"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"eventName":"e","body":{"stringValue":"b"}}]}]}]}"#;
        let bytes = logs_to_bytes(json).expect("OTLP/JSON");
        let record = logs(&bytes, &Limits::default()).next().expect("one");
        assert_eq!(record.expect("good").event_name, "e");
        assert!(traces_to_bytes("{").is_err());
        assert!(traces_to_bytes("[".repeat(100_000)).is_err());
        for other in ["", "null", "[]", "[[],{}]", "7"] {
            let error = traces_to_bytes(other).expect_err(other).0.to_string();
            assert_eq!(error, "one object is expected, which begins with `{`");
        }
        assert!(traces_to_bytes(b"\xff").is_err());
    }

    /// Given a span or record that cannot be read, it is refused, for what is wrong with it, and the others are there. Whoever the
    /// request is passed on to can read it, and finds nothing in it that nobody sent.
    #[test]
    fn an_unreadable_item_costs_itself_alone() {
        let good = r#"{"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"0102030405060708"}"#;
        let nested = r#"{"arrayValue":{"values":["#.repeat(50) + &"]}}".repeat(50);
        let deep = format!(r#"{{"attributes":[{{"value":{nested}}}]}}"#);
        for (bad, reason) in [
            (
                r#"{"traceId":"AQIDBAUGBwgJCgsMDQ4PEA==","spanId":"0102030405060708"}"#,
                Reason::TraceId,
            ),
            (r#"{"traceId":7}"#, Reason::Malformed),
            ("null", Reason::Malformed),
            ("7", Reason::Malformed),
            (r#""text""#, Reason::Malformed),
            ("[]", Reason::Malformed),
            (r#"{"attributes":"none"}"#, Reason::Malformed),
            (r#"{"attributes":[null]}"#, Reason::Malformed),
            (r#"{"attributes":[{"key":"\ud800"}]}"#, Reason::Malformed),
            (r#"{"flags":4294967296}"#, Reason::Malformed),
            (r#"{"flags":0.5}"#, Reason::Malformed),
            (&deep, Reason::Malformed),
        ] {
            let unread = u64::from(reason == Reason::Malformed);
            let refused = Some(Problem::Refused(reason)).filter(|_| unread == 0);
            let expected: Vec<_> = refused.into_iter().map(Some).chain([None]).collect();
            let json =
                format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{bad},{good}]}}]}}]}}"#);
            let FromJson {
                bytes,
                unread: told,
                ..
            } = super::read(Signal::Traces, json).expect("OTLP/JSON");
            let read: Vec<_> = spans(&bytes, &Limits::default()).map(Result::err).collect();
            assert_eq!((read, told), (expected.clone(), unread), "{bad}");
            assert!(ExportTraceServiceRequest::decode(&*bytes).is_ok());
            let json = format!(
                r#"{{"resourceLogs":[{{"scopeLogs":[{{"logRecords":[{bad},{good}]}}]}}]}}"#
            );
            let FromJson {
                bytes,
                unread: told,
                ..
            } = super::read(Signal::Logs, json).expect("OTLP/JSON");
            let read: Vec<_> = logs(&bytes, &Limits::default()).map(Result::err).collect();
            assert_eq!((read, told), (expected, unread), "{bad}");
            assert!(ExportLogsServiceRequest::decode(&*bytes).is_ok());
        }
    }

    /// Given items that cannot be read, where the first of them is wrong is told, and what, however much there is of either.
    #[test]
    fn what_is_wrong_is_told_with_its_path() {
        let fault = |spans: &str| {
            let json = format!(
                r#"{{"resourceSpans":[{{}},{{"scopeSpans":[{{"spans":[{{"name":"good"}},{spans}]}}]}}]}}"#
            );
            read(Signal::Traces, json).expect("OTLP/JSON").fault
        };
        assert_eq!(fault(r#"{"name":"good, too"}"#), None);
        for (spans, expected) in [
            (
                r#"{"startTimeUnixNano":"soon"},{"flags":-1}"#,
                "startTimeUnixNano`: invalid value: string \"soon\", expected a whole number within its range",
            ),
            (
                r#"{"attributes":[{"key":"a"},{"key":"b","value":{"arrayValue":{"values":[{"boolValue":1}]}}}]}"#,
                "attributes[1].value.arrayValue.values[0].boolValue`: invalid value: integer `1`, expected true or false",
            ),
            (
                r#"{"attributes":"none"}"#,
                "attributes`: invalid value: string \"none\", expected a list",
            ),
        ] {
            let expected = format!("`resourceSpans[1].scopeSpans[0].spans[1].{expected}");
            assert_eq!(fault(spans), Some(expected));
        }
        assert_eq!(
            fault("null").as_deref(),
            Some(
                "`resourceSpans[1].scopeSpans[0].spans[1]`: invalid type: null, expected an object"
            )
        );
        let nested = r#"{"arrayValue":{"values":["#.repeat(50) + &"]}}".repeat(50);
        let deep = format!(r#"{{"attributes":[{{"value":{nested}}}]}}"#);
        let long = format!(r#"{{"kind":"{}"}}"#, "é".repeat(1000));
        for large in [deep, long] {
            let told = fault(&large).expect("told");
            assert!((100..512).contains(&told.len()), "{told}");
        }
    }

    /// Given a megabyte of text where something else belongs, little of it is told.
    #[test]
    fn little_is_told_of_a_long_text() {
        let long = "\u{1b}".repeat(1 << 20).replace('\u{1b}', "\\u001b");
        for wrong in [
            format!(r#"{{"resourceSpans":"{long}"}}"#),
            format!(r#"{{"resourceSpans":["{long}"]}}"#),
            format!(
                r#"{{"resourceSpans":[{{"scopeSpans":[{{"scope":{{"attributes":"{long}"}}}}]}}]}}"#
            ),
        ] {
            let error = traces_to_bytes(wrong).expect_err("no list").0.to_string();
            assert!(error.len() < 1_024, "{} bytes", error.len());
        }
        let item = format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":["{long}"]}}]}}]}}"#);
        let told = super::read(Signal::Traces, item).expect("OTLP/JSON");
        assert_eq!(told.unread, 1);
        assert!(told.fault.is_some_and(|fault| fault.len() < 512));
    }

    /// Given a request that cannot be read, it is refused in words of JSON.
    #[test]
    fn errors_are_in_words_of_json() {
        let spans = |spans: &str| {
            format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":{spans}}}]}}]}}"#)
        };
        for (json, expected) in [
            (
                r#"{"resourceSpans":[null]}"#.to_owned(),
                "invalid type: null, expected an object at line 1 column 22",
            ),
            (
                spans("7"),
                "invalid value: integer `7`, expected a list at line 1 column 43",
            ),
        ] {
            let error = traces_to_bytes(&json).expect_err(&json).0.to_string();
            assert_eq!(error, expected);
        }
    }

    /// Given requests in which every member has a value, in each of its ways, what comes out is what `opentelemetry-proto`
    /// makes of their JSON.
    #[test]
    fn every_member_is_known() {
        let values = r#"[{"key":"a","value":{"stringValue":"t"}},{"key":"b","value":{"boolValue":false}},
            {"key":"c","value":{"intValue":"-9007199254740993"}},{"key":"d","value":{"doubleValue":-0.5}},
            {"key":"e","value":{"arrayValue":{"values":[{"intValue":0},{}]}}},{"key":"f","value":{"bytesValue":"+/8="}},
            {"key":"g","value":{"kvlistValue":{"values":[{"key":"h","value":{"stringValue":""}}]}}}]"#;
        let (trace, span) = ("000102030405060708090A0b0c0d0e0f", "0001020304050607");
        let resource = format!(
            r#""resource":{{"attributes":{values},"droppedAttributesCount":1,
                "entityRefs":[{{"schemaUrl":"u","type":"t","idKeys":["i",""],"descriptionKeys":["d"]}}]}},"schemaUrl":"r""#
        );
        let scope = format!(
            r#""scope":{{"name":"n","version":"v","attributes":{values},"droppedAttributesCount":2}},"schemaUrl":"s""#
        );
        let json = format!(
            r#"{{"resourceSpans":[{{{resource},"scopeSpans":[{{{scope},"spans":[{{"traceId":"{trace}","spanId":"{span}",
                "traceState":"a=b","parentSpanId":"{span}","name":"n","kind":5,"startTimeUnixNano":"18446744073709551615",
                "endTimeUnixNano":7,"attributes":{values},"droppedAttributesCount":3,"droppedEventsCount":4,
                "droppedLinksCount":5,"flags":4294967295,"status":{{"message":"m","code":2}},
                "events":[{{"timeUnixNano":"8","name":"e","attributes":{values},"droppedAttributesCount":6}}],
                "links":[{{"traceId":"{trace}","spanId":"{span}","traceState":"c=d","attributes":{values},
                    "droppedAttributesCount":7,"flags":257}},{{}}]}}]}}]}}]}}"#
        );
        same::<ExportTraceServiceRequest>(&json, traces_to_bytes(&json));
        let json = format!(
            r#"{{"resourceLogs":[{{{resource},"scopeLogs":[{{{scope},"logRecords":[{{"timeUnixNano":"1","severityNumber":24,
                "severityText":"t","body":{{"stringValue":"b"}},"attributes":{values},"droppedAttributesCount":2,"flags":3,
                "traceId":"{trace}","spanId":"{span}","observedTimeUnixNano":"4","eventName":"n"}}]}}]}}]}}"#
        );
        same::<ExportLogsServiceRequest>(&json, logs_to_bytes(&json));
        let exemplars = ["asDouble\":1.5", "asInt\":\"-3\""].map(|value| {
            format!(
                r#"{{"timeUnixNano":"1","{value},"spanId":"{span}","traceId":"{trace}","filteredAttributes":{values}}}"#
            )
        });
        let exemplars = exemplars.join(",");
        let point = format!(
            r#""startTimeUnixNano":"1","timeUnixNano":"2","attributes":{values},"flags":1"#
        );
        let counted = format!(r#"{point},"count":"3","sum":4.5"#);
        let bounded = format!(r#"{counted},"min":0.0,"max":9.0,"exemplars":[{exemplars}]"#);
        let metrics = [
            format!(
                r#""gauge":{{"dataPoints":[{{{point},"asDouble":0.0,"exemplars":[{exemplars}]}},{{{point},"asInt":"0"}}]}}"#
            ),
            format!(
                r#""sum":{{"dataPoints":[{{{point},"asInt":"-9"}}],"aggregationTemporality":2,"isMonotonic":true}}"#
            ),
            format!(
                r#""histogram":{{"dataPoints":[{{{bounded},"bucketCounts":["0","3"],"explicitBounds":[0,1.5]}}],
                    "aggregationTemporality":1}}"#
            ),
            format!(
                r#""exponentialHistogram":{{"dataPoints":[{{{bounded},"scale":-2,"zeroCount":"1","zeroThreshold":0.1,
                    "positive":{{"offset":-1,"bucketCounts":["1","300"]}},"negative":{{"offset":1,"bucketCounts":["2"]}}}}],
                    "aggregationTemporality":1}}"#
            ),
            format!(
                r#""summary":{{"dataPoints":[{{{counted},"quantileValues":[{{"quantile":0.5,"value":7.0}}]}}]}}"#
            ),
        ];
        let metrics = metrics.map(|data| {
            format!(r#"{{"name":"n","description":"d","unit":"u","metadata":{values},{data}}}"#)
        });
        let json = format!(
            r#"{{"resourceMetrics":[{{{resource},"scopeMetrics":[{{{scope},"metrics":[{}]}}]}}]}}"#,
            metrics.join(",")
        );
        same::<ExportMetricsServiceRequest>(
            &json,
            read(Signal::Metrics, &json).map(|read| read.bytes),
        );
    }

    fn same<T: Message + Default + PartialEq + Debug + DeserializeOwned>(
        json: &str,
        bytes: Result<Vec<u8>, NotOtlpJson>,
    ) {
        let expected: T = serde_json::from_str(json).expect("OTLP/JSON");
        assert_eq!(T::decode(&*bytes.expect("OTLP/JSON")).unwrap(), expected);
    }

    /// Given numbers and bytes in the ways that the mapping of JSON has for them, they are read, and so is the span's id in
    /// their company.
    #[test]
    fn numbers_and_bytes_in_every_writing() {
        for (value, expected) in [
            (r#"{"doubleValue":"1.5"}"#, "Double(1.5)"),
            (r#"{"doubleValue":"-2"}"#, "Double(-2.0)"),
            (r#"{"doubleValue":"1e-3"}"#, "Double(0.001)"),
            (r#"{"doubleValue":7}"#, "Double(7.0)"),
            (r#"{"doubleValue":"NaN"}"#, "Double(NaN)"),
            (r#"{"doubleValue":"Infinity"}"#, "Double(inf)"),
            (r#"{"doubleValue":"-Infinity"}"#, "Double(-inf)"),
            (r#"{"intValue":1.0}"#, "Int(1)"),
            (r#"{"intValue":"1e3"}"#, "Int(1000)"),
            (
                r#"{"intValue":"-9223372036854775808"}"#,
                "Int(-9223372036854775808)",
            ),
            (r#"{"bytesValue":"-_8"}"#, "Bytes([251, 255])"),
            (r#"{"bytesValue":"+/8="}"#, "Bytes([251, 255])"),
        ] {
            let json = request(&format!(r#"[{{"key":"a","value":{value}}}],"flags":"257""#));
            let bytes = traces_to_bytes(json).expect("OTLP/JSON");
            let view = spans(&bytes, &Limits::default()).next().expect("one");
            let found = view.expect(value).attributes.find("a").expect("it");
            assert_eq!(format!("{found:?}"), expected);
            let read = ExportTraceServiceRequest::decode(&*bytes).unwrap();
            assert_eq!(read.resource_spans[0].scope_spans[0].spans[0].flags, 257);
        }
    }

    /// Given the requests of a recording written as JSON, the messages that come out are the messages that they were.
    #[test]
    fn recordings_survive_the_way_through_json() {
        let recording =
            include_bytes!("../../tests/recorded/fastmcp-native-error-retry.otlp.binpb");
        for bytes in crate::otlp::delimited(recording) {
            let request = ExportTraceServiceRequest::decode(bytes.unwrap()).unwrap();
            let json = serde_json::to_vec(&request).unwrap();
            let bytes = traces_to_bytes(json).unwrap();
            assert_eq!(ExportTraceServiceRequest::decode(&*bytes).unwrap(), request);
        }
    }

    /// Given what is not allowed but sent, it is read all the same.
    #[test]
    fn mistakes_of_senders_are_mended() {
        let one = |json: &[u8]| {
            let bytes = traces_to_bytes(json).expect("OTLP/JSON");
            let request = ExportTraceServiceRequest::decode(&*bytes);
            request.unwrap().resource_spans[0].scope_spans[0].spans[0].clone()
        };
        let span = one(br#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"kind":"SPAN_KIND_CLIENT","status":{"code":"STATUS_CODE_ERROR"}}]}]}]}"#);
        assert_eq!((span.kind, span.status.unwrap().code), (3, 2));
        let span =
            one(b"{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":[{\"name\":\"a\xffb\"}]}]}]}");
        assert_eq!(span.name, "a?b");
        for empty in ["{}", r#"{"resourceSpans":null}"#, r#"{"resourceSpans":[]}"#] {
            assert_eq!(traces_to_bytes(empty).unwrap(), b"");
        }
        let json = r#"{"resourceSpans":[{"scopeSpans":null},{"scopeSpans":[{"spans":null}]}]}"#;
        assert!(traces_to_bytes(json).is_ok());
    }

    /// Given the request of another signal, it is refused rather than taken for an empty one.
    #[test]
    fn misplaced_requests_are_refused() {
        assert!(traces_to_bytes(r#"{"resourceLogs":[]}"#).is_err());
        assert!(logs_to_bytes(r#"{"resourceSpans":[]}"#).is_err());
        let snake = traces_to_bytes(r#"{"resource_spans":[{}]}"#).unwrap_err();
        let told = "there is no `resourceSpans` in it; there is `resource_spans`";
        assert!(traces_to_bytes(r#"{"alerts":[{}]}"#).is_ok());
        assert!(snake.0.to_string().contains(told), "{snake:?}");
        assert!(traces_to_bytes("[]").is_err());
    }
}
