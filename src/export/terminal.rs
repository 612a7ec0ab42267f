//! Alerts on standard output, as people read them.
//!
//! Written from a thread that may wait: a terminal that is held, or a pager that does not read, stops this exporter and
//! nothing else.

use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use tokio::task::spawn_blocking;

use super::{Delivery, ExporterSettings};
use crate::json::AlertJson;
use crate::render::alert::Feed;
use crate::render::text::{Look, api_flag};
use crate::store::alert::Alert;

/// How long a person sees nothing of what happens after the last alerts. Nobody reads faster, and a run that goes round at full
/// speed has many revisions in that time, of which the newest is enough.
pub(super) const PACE: Duration = Duration::from_millis(50);

/// Standard output and what it has shown.
pub(super) struct Terminal {
    tenant: String,
    feed: Feed,
}

impl Terminal {
    pub(super) fn stdout(settings: &ExporterSettings) -> Self {
        Self {
            tenant: settings.tenant.clone(),
            feed: Feed::new(
                Look::of(&io::stdout()),
                api_flag(&settings.api),
                SystemTime::now,
            ),
        }
    }

    pub(super) async fn send(&mut self, alerts: &[Alert]) -> Delivery {
        let mut text = String::new();
        for alert in alerts {
            // Of most changes nothing is shown.
            if !self.feed.passes_over(&alert.warning, alert.change) {
                text += &self.feed.show(&AlertJson::of_tenant(&self.tenant, alert));
            }
        }
        let written = spawn_blocking(move || {
            let mut stdout = io::stdout().lock();
            stdout.write_all(text.as_bytes())?;
            stdout.flush()
        });
        match written
            .await
            .unwrap_or_else(|error| Err(io::Error::other(error)))
        {
            Ok(()) => Delivery::Taken,
            // A closed pipe never opens again, and what was shown in part must not be shown twice.
            Err(error) => Delivery::refused(format!("cannot write to standard output: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::warning::{Rule, Severity};
    use crate::export::samples::{alert, resolved};

    /// Given alerts of the warnings of one incident in any order, those that are passed over are those of which nothing is shown.
    #[test]
    fn what_is_passed_over_would_not_be_shown() {
        let of_incident = |id: u64, revision: u32, severity: Severity| {
            let mut alert = alert(id, revision);
            (alert.warning.incident, alert.warning.severity) = (1, severity);
            alert
        };
        let mut vague = of_incident(2, 2, Severity::Warning);
        vague.warning.rule = Rule::RepeatedToolCall;
        let mut over = resolved(2, 3);
        over.warning.incident = 1;
        let alerts = [
            of_incident(1, 1, Severity::Warning),
            vague,
            of_incident(3, 1, Severity::Info),
            over,
            of_incident(1, 2, Severity::Warning),
            of_incident(3, 2, Severity::Critical),
            resolved(1, 3),
            of_incident(1, 4, Severity::Warning),
            resolved(9, 2),
        ];
        let look = Look {
            color: false,
            width: 80,
            cuts: false,
        };
        for first in 0..alerts.len() {
            let mut feed = Feed::new(look, String::new(), SystemTime::now);
            let (mut shown, mut hidden) = (0, 0);
            for alert in alerts[first..].iter().chain(&alerts[..first]) {
                let is_passed_over = feed.passes_over(&alert.warning, alert.change);
                let text = feed.show(&AlertJson::from(alert));
                assert!(text.is_empty() || !is_passed_over, "{text}");
                shown += u32::from(!text.is_empty());
                hidden += u32::from(is_passed_over);
            }
            assert!(shown > 0 && hidden > 0);
        }
    }
}
