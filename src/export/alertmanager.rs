//! Alerts in the JSON that Alertmanager sends to webhooks, version 4, so that whatever listens to Alertmanager
//! understands Eddy; and in that which Alertmanager itself takes ([`posted`]).
//!
//! One request is one "group": alerts of one incident that wait together. The group's labels are [`GROUP_BY`]: the same ones
//! whichever rules saw it, when it fires and when it resolves, so that a receiver which opens a case for each `groupKey` opens one
//! and closes it. As with Alertmanager, the group is resolved when all of it is: with what is resolved comes what is still open.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::engine::event::Text;
use crate::engine::warning::Severity;
use crate::json::{dollars, hex_id, rfc3339};
use crate::render::text::put_url_part;
use crate::store::alert::Alert;

/// What Alertmanager writes as the end of an alert that has none: the zero of Go's clock. Also the start of one whose sender's
/// clock was never set, for which there is no other time that is the same in all revisions.
const NO_TIME: &str = "0001-01-01T00:00:00Z";

/// The labels by which alerts are one group, from the widest to the narrowest. The service is none of them: a run has that of the
/// report which began first, and such a one may come after the alert.
const GROUP_BY: [&str; 3] = ["tenant", "run_id", "incident"];

type Texts = BTreeMap<&'static str, String>;

/// A request's body.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Message {
    version: &'static str,
    group_key: String,
    /// Of what is still open, how much did not fit; all else that does not fit into one request follows in the next.
    truncated_alerts: u64,
    status: &'static str,
    receiver: String,
    group_labels: Texts,
    common_labels: Texts,
    common_annotations: Texts,
    #[serde(rename = "externalURL")]
    external_url: String,
    alerts: Vec<MessageAlert>,
}

/// One alert of a request.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct MessageAlert {
    status: &'static str,
    labels: Texts,
    annotations: Texts,
    starts_at: String,
    ends_at: String,
    #[serde(rename = "generatorURL")]
    generator_url: String,
    /// The warning's id: equal for all revisions.
    fingerprint: String,
}

impl Message {
    /// The body for these alerts, with as much of what is still open of their group as there is room for. `external_url` is
    /// where people reach the API; without it there are no links.
    pub(super) fn new(
        receiver: &str,
        tenant: &str,
        external_url: Option<&str>,
        (alerts, still_open): (&[Alert], &[Alert]),
        alerts_max: usize,
    ) -> Self {
        let external_url = external_url.unwrap_or_default().trim_end_matches('/');
        let room = alerts_max.saturating_sub(alerts.len());
        let (shown, left_out) = still_open.split_at(room.min(still_open.len()));
        let alerts: Vec<_> = alerts
            .iter()
            .chain(shown)
            .map(|alert| MessageAlert::new(tenant, alert, external_url))
            .collect();
        let common_labels = common(alerts.iter().map(|alert| &alert.labels));
        let mut group_labels = common_labels.clone();
        group_labels.retain(|name, _| GROUP_BY.contains(name));
        let firing = alerts.iter().any(|alert| alert.status == FIRING) || !left_out.is_empty();
        Self {
            version: "4",
            group_key: format!("{{}}:{}", label_set(&group_labels)),
            truncated_alerts: left_out.len() as u64,
            status: status(firing),
            receiver: receiver.to_owned(),
            group_labels,
            common_labels,
            common_annotations: common(alerts.iter().map(|alert| &alert.annotations)),
            external_url: external_url.to_owned(),
            alerts,
        }
    }
}

const FIRING: &str = "firing";

fn status(firing: bool) -> &'static str {
    if firing { FIRING } else { "resolved" }
}

impl MessageAlert {
    fn new(tenant: &str, alert: &Alert, external_url: &str) -> Self {
        let warning = &alert.warning;
        let ended_ns = alert.at_ms.saturating_mul(1_000_000);
        let resolved = alert.is_resolved();
        Self {
            status: status(!resolved),
            labels: labels(tenant, alert, &Varying::of(alert)),
            annotations: annotations(alert),
            starts_at: time(Some(warning.first_seen_ns)),
            // The sender's clock may be ahead of this one.
            ends_at: time(resolved.then(|| ended_ns.max(warning.first_seen_ns))),
            generator_url: run_url(external_url, &alert.run_id),
            fingerprint: fingerprint(tenant, warning.id),
        }
    }
}

/// One alert as Alertmanager takes it (`postableAlert` of its API, version 2).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PostedAlert {
    labels: Texts,
    annotations: Texts,
    #[serde(skip_serializing_if = "Option::is_none")]
    starts_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ends_at: Option<String>,
    #[serde(rename = "generatorURL", skip_serializing_if = "String::is_empty")]
    generator_url: String,
}

/// With which labels Alertmanager was last told of open warnings, by their ids. It tells alerts apart by them: of a warning that
/// becomes more severe, or of which another agent turns out to be part, what was told before must end.
#[derive(Debug, Default)]
pub(super) struct Announced(BTreeMap<u64, Varying>);

/// The labels of an alert that its revisions may change.
#[derive(Clone, Debug, PartialEq)]
struct Varying {
    severity: Severity,
    service: Option<Text>,
    agent: Option<Text>,
    tool: Option<Text>,
}

impl Varying {
    fn of(alert: &Alert) -> Self {
        Self {
            severity: alert.warning.severity,
            service: alert.service.clone(),
            agent: alert.warning.agent.clone(),
            tool: alert.warning.tool.clone(),
        }
    }
}

/// Most warnings of which that is known; those of which it is not are told of as after a restart.
const TOLD_MAX: usize = 16_384;

impl Announced {
    /// The labels with which an alert may be open that it has no more. After a restart these are the lower severities: whom it was
    /// about before is not known then, and Alertmanager ends that by itself.
    fn before(&self, alert: &Alert) -> Vec<Varying> {
        let now = Varying::of(alert);
        let lower = [Severity::Info, Severity::Warning].into_iter();
        let lower = lower.filter(|other| *other < now.severity);
        match self.0.get(&alert.warning.id) {
            Some(known) if *known == now => Vec::new(),
            Some(known) => vec![known.clone()],
            None if alert.warning.revision == 1 => Vec::new(),
            None => lower
                .map(|severity| Varying {
                    severity,
                    ..now.clone()
                })
                .collect(),
        }
    }

    /// Notes what Alertmanager has taken.
    pub(super) fn note(&mut self, alerts: &[Alert]) {
        for alert in alerts {
            if alert.is_resolved() {
                self.0.remove(&alert.warning.id);
                continue;
            }
            if self.0.len() >= TOLD_MAX {
                self.0.clear();
            }
            self.0.insert(alert.warning.id, Varying::of(alert));
        }
    }
}

/// The body for Alertmanager, which closes an alert by itself when its end has come: that of an open one is `lasts` from now, so
/// that none stays for ever of which no more is heard.
pub(super) fn posted(
    tenant: &str,
    external_url: Option<&str>,
    alerts: &[Alert],
    told: &Announced,
    (now, lasts): (SystemTime, Duration),
) -> Vec<PostedAlert> {
    let external_url = external_url.unwrap_or_default().trim_end_matches('/');
    let now_ns = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let one = |alert: &Alert, varying: &Varying, ends_ns: u64| {
        let started_ns = alert.warning.first_seen_ns;
        PostedAlert {
            labels: labels(tenant, alert, varying),
            annotations: annotations(alert),
            starts_at: rfc3339(started_ns),
            // An end before the start is refused, and the sender's clock may be ahead of this one.
            ends_at: rfc3339(ends_ns.max(started_ns)),
            generator_url: run_url(external_url, &alert.run_id),
        }
    };
    let all = alerts.iter().flat_map(|alert| {
        let ended_ns = alert.at_ms.saturating_mul(1_000_000);
        let ends_ns = if alert.is_resolved() {
            ended_ns
        } else {
            ns(now_ns.saturating_add(lasts))
        };
        let before = told.before(alert).into_iter();
        let before = before.map(move |other| one(alert, &other, ended_ns));
        std::iter::once(one(alert, &Varying::of(alert), ends_ns)).chain(before)
    });
    all.collect()
}

fn time(ns: Option<u64>) -> String {
    ns.and_then(rfc3339).unwrap_or_else(|| NO_TIME.to_owned())
}

/// The warning's id. Runs of two tenants may have the same name, and with it warnings of the same id.
fn fingerprint(tenant: &str, id: u64) -> String {
    if tenant.is_empty() {
        return hex_id(id);
    }
    hex_id(xxh3_64(format!("{tenant}:{id}").as_bytes()))
}

/// What tells one alert from another. Alertmanager leaves empty labels out, and so does this.
fn labels(tenant: &str, alert: &Alert, varying: &Varying) -> Texts {
    let warning = &alert.warning;
    let incident = hex_id(warning.incident);
    let all = [
        ("alertname", Some(warning.rule.name())),
        ("severity", Some(varying.severity.name())),
        ("run_id", Some(&*alert.run_id)),
        ("service", varying.service.as_deref()),
        ("agent", varying.agent.as_deref()),
        ("tool", varying.tool.as_deref()),
        ("tenant", Some(tenant)),
        // Several rules may see the same calls.
        ("incident", Some(incident.as_str())),
    ];
    all.into_iter()
        .filter_map(|(name, text)| Some((name, text?.to_owned())))
        .filter(|(_, text)| !text.is_empty())
        .collect()
}

/// What people read of an alert, and its numbers.
fn annotations(alert: &Alert) -> Texts {
    let warning = &alert.warning;
    let of_tool = warning
        .tool
        .as_deref()
        .map(|tool| format!(" of {tool}"))
        .unwrap_or_default();
    let summary = format!(
        "{}{of_tool} ×{} in run {}",
        warning.rule.name(),
        warning.count,
        alert.run_id
    );
    let mut annotations = Texts::from([
        ("summary", summary),
        ("description", warning.what_happened.clone()),
        ("reason", warning.why_it_matters.clone()),
        ("advice", warning.what_to_try.clone()),
        ("change", alert.change.name().to_owned()),
        ("count", warning.count.to_string()),
        ("revision", warning.revision.to_string()),
        // By which it can be asked for; with a tenant, the fingerprint is another.
        ("warning_id", hex_id(warning.id)),
        ("score", alert.score.to_string()),
    ]);
    if warning.tokens > 0 {
        annotations.insert("tokens", warning.tokens.to_string());
    }
    if warning.cost_microusd > 0 {
        annotations.insert("cost_usd", dollars(warning.cost_microusd).to_string());
    }
    annotations
}

/// The texts that are the same in all of the maps.
fn common<'a>(mut maps: impl Iterator<Item = &'a Texts>) -> Texts {
    let mut common = maps.next().cloned().unwrap_or_default();
    for map in maps {
        common.retain(|name, text| map.get(name) == Some(text));
    }
    common
}

/// Labels as Prometheus writes them: `{alertname="…", run_id="…"}`.
fn label_set(labels: &Texts) -> String {
    let labels: Vec<_> = labels
        .iter()
        .map(|(name, text)| format!("{name}=\"{}\"", escaped(text)))
        .collect();
    format!("{{{}}}", labels.join(", "))
}

/// A text as Go writes it between quotes, as far as it can be seen: marks that belong to a letter stay with it.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '"' | '\\' => escaped.extend(['\\', char]),
            '\u{7}' => escaped.push_str("\\a"),
            '\u{8}' => escaped.push_str("\\b"),
            '\u{c}' => escaped.push_str("\\f"),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            '\u{b}' => escaped.push_str("\\v"),
            '\0'..='\u{7f}' if char.is_control() => {
                let _ = write!(escaped, "\\x{:02x}", u32::from(char));
            }
            char if char.is_control() => {
                let _ = write!(escaped, "\\u{:04x}", u32::from(char));
            }
            char => escaped.push(char),
        }
    }
    escaped
}

/// The run on the page at the API address, which asks people for a token where one is needed; empty where that address is not
/// known.
fn run_url(external_url: &str, run_id: &str) -> String {
    if external_url.is_empty() {
        return String::new();
    }
    let mut url = format!("{external_url}/#run=");
    put_url_part(run_id, &mut url);
    url
}

/// Equal for two requests with the same alerts: `ID:REVISION:CURSOR` for one, with the tenant before it if there is one, a hash of
/// all for several. With the cursor, since a run that was forgotten and comes again begins with the first revision.
pub(super) fn idempotency_key(tenant: &str, alerts: &[Alert]) -> String {
    let owner = match tenant {
        "" => String::new(),
        tenant => format!("{tenant}:"),
    };
    let key = |alert: &Alert| {
        let warning = &alert.warning;
        let id = hex_id(warning.id);
        format!("{owner}{id}:{}:{}", warning.revision, alert.cursor)
    };
    match alerts {
        [alert] => key(alert),
        alerts => {
            let keys: Vec<_> = alerts.iter().map(key).collect();
            format!("{:032x}", xxh3_128(keys.join(",").as_bytes()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::samples::{alert, resolved};

    /// When an alert started and ended, as a request says it.
    fn times(alert: &Alert) -> (String, String) {
        let told = MessageAlert::new("", alert, "");
        (told.starts_at, told.ends_at)
    }

    // Given a label with all sorts of characters; the group's key has it as Prometheus writes it.
    #[test]
    fn a_group_key_is_written_as_prometheus_writes_it() {
        let mut alert = alert(1, 1);
        alert.run_id = "e\u{301}té \"q\" \\ \n\t\u{1b}\u{7}\u{85}'".into();
        let message = Message::new("pager", "", None, (&[alert], &[]), 1);
        let expected =
            r#"run_id="e\u{301}té \"q\" \\ \n\t\x1b\a\u0085'"}"#.replace("\\u{301}", "\u{301}");
        assert!(
            message.group_key.ends_with(&expected),
            "{}",
            message.group_key
        );
    }

    // Given a sender whose clock is ahead; the alert does not end before it starts.
    #[test]
    fn nothing_ends_before_it_starts() {
        let mut end = resolved(1, 2);
        end.warning.first_seen_ns = (end.at_ms + 300_000) * 1_000_000;
        let (starts_at, ends_at) = times(&end);
        assert_eq!(starts_at, "2026-11-21T14:08:22.600Z");
        assert_eq!(ends_at, starts_at);
    }

    // Given alerts for Alertmanager itself; an open one ends when nothing more is heard of it, one that is resolved has ended, and
    // nothing ends before it starts. What was told with another severity is over, once; after a restart that may be any lower one.
    #[test]
    fn alertmanager_is_told_when_alerts_end() {
        let graver = |revision: u32, severity: Severity| {
            let mut alert = alert(2, revision);
            alert.warning.severity = severity;
            alert
        };
        let mut ahead = resolved(4, 1);
        ahead.warning.first_seen_ns = (ahead.at_ms + 300_000) * 1_000_000;
        let now = UNIX_EPOCH + Duration::from_millis(ahead.at_ms + 10_000);
        let hour = Duration::from_secs(3_600);
        let mut known = Announced::default();
        let mut told = |alert: Alert| {
            let alerts = [alert];
            let posted = posted("", Some("http://eddy:1/"), &alerts, &known, (now, hour));
            known.note(&alerts);
            let lines = posted.iter().map(|posted| {
                let json = serde_json::to_value(posted).expect("JSON");
                let url = "http://eddy:1/#run=4bf92f3577b34da6a3ce929d0e0e4736";
                assert_eq!(json["generatorURL"], url);
                let [starts, ends] = [&json["startsAt"], &json["endsAt"]].map(|time| {
                    let time = time.as_str().expect("a time");
                    time["2026-11-21T".len()..time.len() - ".000Z".len()].to_owned()
                });
                format!("{} {starts} {ends}", json["labels"]["severity"]).replace('"', "")
            });
            lines.collect::<Vec<_>>().join(", ")
        };
        assert_eq!(told(alert(1, 1)), "warning 14:01:02 15:03:32");
        assert_eq!(told(alert(1, 2)), "warning 14:01:02 15:03:32");
        assert_eq!(told(resolved(1, 3)), "warning 14:01:02 14:03:22");
        let critical = "critical 14:01:02 15:03:32";
        let was_warning = "warning 14:01:02 14:03:22";
        assert_eq!(
            told(graver(1, Severity::Warning)),
            "warning 14:01:02 15:03:32"
        );
        assert_eq!(
            told(graver(2, Severity::Critical)),
            format!("{critical}, {was_warning}")
        );
        assert_eq!(told(graver(3, Severity::Critical)), critical);
        let was_critical = "critical 14:01:02 14:03:22";
        assert_eq!(
            told(graver(4, Severity::Warning)),
            format!("warning 14:01:02 15:03:32, {was_critical}")
        );
        assert_eq!(
            told(alert(3, 2)),
            "warning 14:01:02 15:03:32, info 14:01:02 14:03:22"
        );
        assert_eq!(told(ahead), "warning 14:08:22 14:08:22");
    }

    // Given a warning of which more is known later, what was told without that is over.
    #[test]
    fn what_was_told_with_other_labels_ends() {
        let mut known = Announced::default();
        let now = UNIX_EPOCH + Duration::from_millis(alert(1, 1).at_ms);
        let mut told = |mut alert: Alert, agent: &str| {
            alert.warning.agent = Some(agent.into()).filter(|_| !agent.is_empty());
            let alerts = [alert];
            let until = (now, Duration::from_secs(3_600));
            let posted = posted("", None, &alerts, &known, until);
            known.note(&alerts);
            let open_after = rfc3339(now.duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64);
            let lines = posted.iter().map(|posted| {
                let agent = posted.labels.get("agent").map_or("-", |agent| agent);
                let is_open = posted.ends_at > open_after;
                format!("{agent} {}", if is_open { "open" } else { "over" })
            });
            lines.collect::<Vec<_>>().join(", ")
        };
        assert_eq!(told(alert(1, 1), ""), "- open");
        assert_eq!(told(alert(1, 2), "ann"), "ann open, - over");
        assert_eq!(told(alert(1, 3), "ann"), "ann open");
        assert_eq!(told(resolved(1, 4), "bob"), "bob over, ann over");
    }

    // Given a sender whose clock is not set; all revisions of a warning start at the same time.
    #[test]
    fn the_start_does_not_move() {
        for first_seen_ns in [0, 1_000_000_000, 915_148_800_000_000_000] {
            let (mut first, mut end) = (alert(1, 1), resolved(1, 2));
            end.at_ms += 60_000;
            for alert in [&mut first, &mut end] {
                alert.warning.first_seen_ns = first_seen_ns;
            }
            assert_eq!(times(&first).0, times(&end).0, "{first_seen_ns}");
        }
    }
}
