//! A run that moves into another one, whose name its trace learned late.
//!
//! Its owner, after the commit of everything that was routed to it, sends a copy of the state to the owner of the run that it
//! belongs to, which absorbs it in a turn of its own and sends a release back; with that the old run is removed. A crash in
//! between leaves both, and the next start moves the old one again: absorbing twice changes nothing. Where it went is in the
//! journal, which is needed for as long as the old run is there. If the run that it belonged to has gone over to a further one
//! meanwhile, it goes on there, and whoever waits for the move waits for all of it.
//!
//! One request may name any number of earlier traces. States on their way wait in memory for a turn of their new owner, so a
//! shard has some under way at a time; further runs stay where they are until one of those is released.

use crate::engine::Input;
use crate::engine::event::{Text, TraceId};
use crate::engine::run::ABSORBED_MAX;
use crate::normalize::RunRef;
use crate::store::records::encode_run;
use crate::store::{Entry, StoreError};

use super::Shared;
use super::draft::{Arrived, Draft};
use super::inbox::{Absorb, Done, Message, Move, Release};
use super::looking_up::{Known, Unknown};
use super::router::Route;
use super::worker::Worker;

/// Most runs of a shard that are on their way at a time: a turn absorbs about as many, of up to 64 KiB each. Of all shards
/// together no more are than a run remembers to have absorbed, so that after a crash none of them is absorbed twice.
const MOVING_MAX: usize = 64;

impl Worker {
    /// Has runs move, each in its turn. Most are not there at all: a trace's first report names its run.
    pub(super) async fn queue_moves(&mut self, moves: Vec<Move>) -> Result<(), StoreError> {
        for moved in moves {
            let is_here = self.residence.slot(&moved.from).is_some();
            if is_here || self.shared.store.has_run(&moved.from)? {
                self.moves.push_back(moved);
            } else {
                self.absorbed.remove(&moved.from);
                let _ = moved.done.send(());
            }
            self.let_in().await?;
        }
        Ok(())
    }

    /// Hands over runs that are to move, as many as may be under way, and answers questions meanwhile.
    pub(super) async fn move_some(&mut self) -> Result<(), StoreError> {
        let shards = self.shared.inboxes.len().max(1);
        let most = (ABSORBED_MAX / shards).clamp(1, MOVING_MAX);
        while self.moving < most
            && let Some(moved) = self.moves.pop_front()
        {
            self.move_run(moved)?;
            self.let_in().await?;
        }
        Ok(())
    }

    /// Hands a copy of a run to the owner of the run that it belongs to.
    fn move_run(&mut self, moved: Move) -> Result<(), StoreError> {
        let Move { from, into, done } = moved;
        match self.residence.fetch(&from)? {
            Some(run) if from != into => {
                self.moving += 1;
                let newest = run.position.max(self.position);
                self.absorbed.entry(from.clone()).or_insert(newest + 1);
                let inbox = self.shared.inbox_of(&into);
                inbox.send(Message::Absorb(Box::new(Absorb {
                    state: run.state.clone(),
                    position: run.position,
                    from,
                    into,
                    done,
                })));
            }
            _ => {
                self.absorbed.remove(&from);
                let _ = done.send(());
            }
        }
        Ok(())
    }

    /// Puts a run into the one that it belongs to.
    pub(super) fn step_absorb(
        &mut self,
        draft: &mut Draft,
        absorb: Absorb,
    ) -> Result<(), StoreError> {
        let Absorb {
            from,
            into,
            state,
            position,
            done,
        } = absorb;
        let created_ms = state.heard_ms();
        draft.turn.entries.push(Entry::Absorb {
            into: into.clone(),
            from: from.clone(),
            state: encode_run(&state),
        });
        self.step(draft, &into, &Input::Absorb(Box::new(state)), created_ms)?;
        draft.releases.push(Release {
            from,
            into,
            position,
            done,
        });
        Ok(())
    }

    /// A run of this shard has been absorbed: it is removed, unless it has grown since, or grows in this turn. Then it
    /// moves again.
    pub(super) fn release(
        &mut self,
        draft: &mut Draft,
        release: Release,
    ) -> Result<(), StoreError> {
        let Release {
            from,
            into,
            position,
            done,
        } = release;
        self.moving = self.moving.saturating_sub(1);
        let grows = self.is_touched(draft, &from);
        match self.residence.fetch(&from)? {
            None => {
                self.absorbed.remove(&from);
                draft.arrived.push(Arrived { at: into, done });
            }
            Some(run) if run.position == position && !grows => {
                self.absorbed.remove(&from);
                // The warnings go on under the other run's id, unless something had left its window.
                let changes = run.state.retire();
                draft.announce(changes, &run.state, &self.policy.policy);
                draft.remove(run.key.clone());
                // What belonged to it belongs to the other run from now on.
                let aliases = self.shared.store.aliases_of(&from)?.into_iter();
                let aliases = aliases.map(|trace| (trace, into.clone()));
                draft.turn.aliases.extend(aliases);
                draft.arrived.push(Arrived { at: into, done });
                draft.moved += 1;
            }
            Some(_) => draft.moves.push(Move { from, into, done }),
        }
        Ok(())
    }
}

impl Shared {
    /// Has a run move on, if it is named after a trace that belongs to another one. `done` is resolved when it is there, or at
    /// once.
    pub(super) async fn move_on(&self, run_id: Text, done: Done) -> Result<(), StoreError> {
        let Some(trace) = TraceId::of_run(&run_id) else {
            let _ = done.send(());
            return Ok(());
        };
        let run = RunRef {
            trace,
            ..RunRef::default()
        };
        let mut moved = Move {
            from: run_id.clone(),
            into: run_id,
            done,
        };
        let mut known = Known::default();
        while let Err((back, unknown)) = self.try_to_move_on(&run, moved, &known) {
            moved = back;
            known.learn(&self.store, unknown).await?;
        }
        Ok(())
    }

    /// Sends a run where its trace belongs, unless the database has to be asked first.
    fn try_to_move_on(
        &self,
        run: &RunRef,
        moved: Move,
        known: &Known,
    ) -> Result<(), (Move, Unknown)> {
        let mut router = self.router();
        let mut unknown = Unknown::default();
        let route = self.route_one(&mut router, run, known, &mut unknown);
        if !unknown.is_empty() {
            if let Some(alias) = route.and_then(|route| route.alias) {
                router.unlearn(alias);
            }
            for trace in &unknown.traces {
                router.forget(*trace);
            }
            return Err((moved, unknown));
        }
        match route {
            Some(Route { run_id: into, .. }) if into != moved.from => {
                let inbox = self.inbox_of(&moved.from);
                inbox.send(Message::Move(Move { into, ..moved }));
            }
            _ => drop(moved.done.send(())),
        }
        Ok(())
    }
}
