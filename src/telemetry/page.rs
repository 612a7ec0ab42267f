//! A page of metrics in Prometheus's text format, version 0.0.4.
//!
//! A family is begun ([`Page::counter`], [`Page::gauge`]) and then given its samples, one for each set of labels. Names
//! follow the Collector: what it is about, what happened, of what; a counter ends in `_total`, a unit stands before that.
//! Values of labels come from closed lists or from the configuration, never from telemetry.

use std::fmt::{Display, Write};

/// The media type of a page.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What every name begins with.
const PREFIX: &str = "eddy_";

/// A page in the making.
#[derive(Debug, Default)]
pub struct Page(String);

/// A family of a page, to be given its samples.
#[derive(Debug)]
pub struct Family<'page> {
    page: &'page mut Page,
    name: &'static str,
}

impl Page {
    /// Begins a family of numbers that only grow. `name` is without the prefix and ends in `_total`.
    pub fn counter(&mut self, name: &'static str, help: &str) -> Family<'_> {
        debug_assert!(name.ends_with("_total"), "{name} is no name of a counter");
        self.family("counter", name, help)
    }

    /// Begins a family of numbers that go up and down. `name` is without the prefix.
    pub fn gauge(&mut self, name: &'static str, help: &str) -> Family<'_> {
        self.family("gauge", name, help)
    }

    fn family(&mut self, kind: &str, name: &'static str, help: &str) -> Family<'_> {
        let text = &mut self.0;
        let _ = writeln!(text, "# HELP {PREFIX}{name} {help}");
        let _ = writeln!(text, "# TYPE {PREFIX}{name} {kind}");
        Family { page: self, name }
    }

    /// The text.
    #[must_use]
    pub fn into_text(self) -> String {
        self.0
    }
}

impl Family<'_> {
    /// Adds a sample. A label with an empty value is left out, which means the same.
    pub fn sample(&mut self, labels: &[(&str, &str)], value: impl Display) -> &mut Self {
        let text = &mut self.page.0;
        let _ = write!(text, "{PREFIX}{}", self.name);
        let mut before = '{';
        for (label, value) in labels.iter().filter(|(_, value)| !value.is_empty()) {
            let _ = write!(text, "{before}{label}=\"{}\"", escaped(value));
            before = ',';
        }
        if before == ',' {
            text.push('}');
        }
        let _ = writeln!(text, " {value}");
        self
    }

    /// Adds the only sample.
    pub fn value(&mut self, value: impl Display) {
        self.sample(&[], value);
    }
}

fn escaped(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    value.replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Given a few numbers, the page is what Prometheus's own parser reads: a help, a type, and a line for each sample.
    #[test]
    fn a_page_reads_as_prometheus_writes_it() {
        let mut page = Page::default();
        page.counter("receiver_accepted_spans_total", "Spans on disk.")
            .value(7);
        page.gauge("exporter_queue_size", "Alerts that wait.")
            .sample(&[("exporter", "webhook/\"on\\call\"\n"), ("tenant", "")], 1)
            .sample(&[("exporter", "file"), ("tenant", "blue")], 2.5);
        let expected = r#"# HELP eddy_receiver_accepted_spans_total Spans on disk.
# TYPE eddy_receiver_accepted_spans_total counter
eddy_receiver_accepted_spans_total 7
# HELP eddy_exporter_queue_size Alerts that wait.
# TYPE eddy_exporter_queue_size gauge
eddy_exporter_queue_size{exporter="webhook/\"on\\call\"\n"} 1
eddy_exporter_queue_size{exporter="file",tenant="blue"} 2.5
"#;
        assert_eq!(page.into_text(), expected);
    }
}
