//! The way of one request, in whatever language it comes: admitted, received, understood, taken or refused.

use axum::extract::Request;
use bytes::Bytes;
use tokio::time::Instant;

use super::Settings;
use super::body::{self, Framing};
use super::budget::Share;
use super::intake::Intake;
use super::outcome::{Accepted, Refused, Written};
use crate::listener::{Peer, Soon, Tenant, discard};
use crate::otlp::Signal;

/// Counts a request as one whose sender has left, unless it has been counted otherwise: a sender that goes away takes everything
/// with it that is done for its request, wherever that is.
struct Uncounted {
    intake: Intake,
    is_counted: bool,
}

impl Drop for Uncounted {
    fn drop(&mut self) {
        if !self.is_counted {
            self.intake.counters().requests_left.add(1);
        }
    }
}

/// A request that has arrived whole.
pub(super) struct Arrival {
    /// What it may hold, until it is answered.
    pub(super) share: Share,
    uncounted: Uncounted,
    tenant: Tenant,
    peer: Peer,
    signal: Signal,
    /// Its answer comes soon.
    _soon: Soon,
}

impl Arrival {
    /// Receives a request, unless it is refused before or meanwhile: the body as it came over the wire, and the rest.
    pub(super) async fn of(
        mut request: Request,
        framing: &Framing,
        signal: Signal,
        intake: Intake,
        settings: &Settings,
    ) -> Result<(Bytes, Self), Refused> {
        let began = Instant::now();
        let mut uncounted = Uncounted {
            intake: intake.clone(),
            is_counted: false,
        };
        let (tenant, peer) = (Tenant::of(&request), Peer::of(&request));
        let received = match intake.admit(&tenant, signal) {
            Ok(share) => body::receive(request.body_mut(), framing, settings, &share)
                .await
                .map(|body| (body, share)),
            Err(refused) => Err(refused),
        };
        let soon = peer.answered_soon();
        match received {
            Ok((body, share)) => {
                let arrival = Self {
                    share,
                    uncounted,
                    tenant,
                    peer,
                    signal,
                    _soon: soon,
                };
                Ok((body, arrival))
            }
            Err(refused) => {
                intake.count_refused(&refused);
                uncounted.is_counted = true;
                // One time for the arrival, whether it is of use or not.
                let left = settings.arrival_max.saturating_sub(began.elapsed());
                discard(request, left).await;
                intake.pause(&tenant, &peer, &refused);
                Err(refused)
            }
        }
    }

    /// Has what was understood of it taken.
    pub(super) async fn take(
        mut self,
        understood: Result<(Bytes, Written), Refused>,
    ) -> Result<Accepted, Refused> {
        let Self {
            uncounted,
            tenant,
            peer,
            signal,
            share,
            ..
        } = &mut self;
        let intake = &uncounted.intake;
        let taken = match understood {
            Ok((message, written)) => {
                intake
                    .export(tenant, *signal, message, &written, share)
                    .await
            }
            Err(refused) => {
                intake.count_refused(&refused);
                Err(refused)
            }
        };
        uncounted.is_counted = true;
        if let Err(refused) = &taken {
            uncounted.intake.pause(tenant, peer, refused);
        }
        taken
    }
}
