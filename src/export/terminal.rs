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
        let alerts = alerts.iter();
        let alerts = alerts.map(|alert| AlertJson::of_tenant(&self.tenant, alert));
        let text: String = alerts.map(|alert| self.feed.show(&alert)).collect();
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
            Err(error) => Delivery::Refused {
                reason: format!("cannot write to standard output: {error}"),
            },
        }
    }
}
