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

/// A request that has arrived whole.
pub(super) struct Arrival {
    /// What it may hold, until it is answered.
    pub(super) share: Share,
    intake: Intake,
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
                    intake,
                    tenant,
                    peer,
                    signal,
                    _soon: soon,
                };
                Ok((body, arrival))
            }
            Err(refused) => {
                // One time for the arrival, whether it is of use or not.
                let left = settings.arrival_max.saturating_sub(began.elapsed());
                discard(request, left).await;
                intake.count_refused(&refused);
                intake.pause(&tenant, &peer, &refused);
                Err(refused)
            }
        }
    }

    /// Has what was understood of it taken.
    pub(super) async fn take(
        self,
        understood: Result<(Bytes, Written), Refused>,
    ) -> Result<Accepted, Refused> {
        let Self {
            intake,
            tenant,
            signal,
            share,
            ..
        } = &self;
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
        if let Err(refused) = &taken {
            intake.pause(tenant, &self.peer, refused);
        }
        taken
    }
}
