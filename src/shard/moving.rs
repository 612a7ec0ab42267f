//! A run that moves into another one, whose name its trace learned late.
//!
//! Its owner, after the commit of everything that was routed to it, sends a copy of the state to the owner of the run that it
//! belongs to, which absorbs it in a turn of its own and sends a release back; with that its traces go over, some in each turn, and
//! with the last of them the old run is removed. A crash in between leaves both, and the next start moves the old one again:
//! absorbing twice changes nothing. Where it went is in the journal, which is needed for as long as the old run is there.
//!
//! A run that moves itself takes along what it has absorbed, but not what it absorbs while it is on its way: so where a run goes is
//! decided when its state is handed over, and it goes to where the other one goes. Where it arrives in a run that has gone all the
//! same, it goes on from there, and whoever waits for the move waits for all of it.
//!
//! One request may name any number of earlier traces. States on their way wait in memory for a turn of their new owner, so a
//! shard has some under way at a time; further runs stay where they are until one of those is released.

use crate::engine::Input;
use crate::engine::event::Text;
use crate::engine::run::ABSORBED_MAX;
use crate::store::records::encode_run;
use crate::store::{Entry, StoreError};

use super::Shared;
use super::draft::Draft;
use super::inbox::{Absorb, Done, Message, Move, Release};
use super::looking_up::{Known, Unknown};
use super::router::Router;
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
                self.is_gone(&moved.from, moved.done);
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
            self.move_run(moved).await?;
            self.let_in().await?;
        }
        Ok(())
    }

    /// Hands a copy of a run to the owner of the run that it belongs to by now.
    async fn move_run(&mut self, moved: Move) -> Result<(), StoreError> {
        if !moved.again && self.absorbed.contains_key(&moved.from) {
            // It is on its way, or was when the process ended: in two runs it would count twice.
            let waiting = self.awaited.entry(moved.from).or_default();
            waiting.push(moved.done);
            return Ok(());
        }
        // Where it was absorbed before may have gone over to a further run, and then all of it is there.
        let is_fixed = moved.again && self.shared.store.has_run(&moved.into)?;
        let mut moved = moved;
        let mut known = Known::default();
        while let Err((back, unknown)) = self.try_to_move(moved, is_fixed, &known)? {
            moved = back;
            let shared = self.shared.clone();
            self.meanwhile(known.learn(&shared.store, unknown))
                .await??;
        }
        Ok(())
    }

    /// Hands it over, unless the database has to be asked first where it belongs. The router is held meanwhile: if that run is said
    /// to belong to a further one, it moves behind this, and takes along what it has absorbed.
    fn try_to_move(
        &mut self,
        moved: Move,
        is_fixed: bool,
        known: &Known,
    ) -> Result<Result<(), (Move, Unknown)>, StoreError> {
        if self.residence.fetch(&moved.from)?.is_none() {
            self.is_gone(&moved.from, moved.done);
            return Ok(Ok(()));
        }
        // It is in memory from here on: who holds the router waits for no disk.
        let shared = self.shared.clone();
        let mut router = shared.router();
        let into = if is_fixed {
            moved.into.clone()
        } else {
            match shared.goal(&mut router, &moved.into, known) {
                Ok(into) => into,
                Err(unknown) => return Ok(Err((moved, unknown))),
            }
        };
        let Move { from, done, .. } = moved;
        match self.residence.fetch(&from)? {
            Some(run) if from != into => {
                self.moving += 1;
                let newest = run.position.max(self.position);
                self.absorbed.entry(from.clone()).or_insert(newest + 1);
                let inbox = shared.inbox_of(&into);
                inbox.send(Message::Absorb(Box::new(Absorb {
                    state: run.state.clone(),
                    position: run.position,
                    from,
                    into,
                    done,
                })));
            }
            _ => self.is_gone(&from, done),
        }
        Ok(Ok(()))
    }

    /// A run that was to move is not there, or is where it belongs: whoever waits for it need not.
    fn is_gone(&mut self, from: &Text, done: Done) {
        for done in self.arrived(from).chain([done]) {
            let _ = done.send(());
        }
    }

    /// A run is on its way no more: who else waits for it.
    fn arrived(&mut self, from: &Text) -> impl Iterator<Item = Done> + use<> {
        self.absorbed.remove(from);
        self.awaited.remove(from).unwrap_or_default().into_iter()
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
            behind: None,
            done,
        });
        Ok(())
    }

    /// A run of this shard has been absorbed: its traces go over, so many in a turn, and it is removed, unless it has grown since,
    /// or grows in this turn. Then it moves again.
    pub(super) fn release(
        &mut self,
        draft: &mut Draft,
        release: Release,
    ) -> Result<(), StoreError> {
        let Release {
            from,
            into,
            position,
            behind,
            done,
        } = release;
        let grows = self.is_touched(draft, &from);
        match self.residence.fetch(&from)? {
            None => {
                self.moving = self.moving.saturating_sub(1);
                let done = self.arrived(&from).chain([done]);
                draft.arrived(&into, done);
            }
            Some(run) if run.position == position && !grows => {
                // What belonged to it belongs to the other run from now on.
                let (traces, behind) = self.shared.store.aliases_of(&from, behind.as_deref())?;
                let aliases = traces.into_iter().map(|trace| (trace, into.clone()));
                draft.turn.aliases.extend(aliases);
                if behind.is_some() {
                    draft.releases.push(Release {
                        from,
                        into,
                        position,
                        behind,
                        done,
                    });
                    return Ok(());
                }
                self.moving = self.moving.saturating_sub(1);
                // The warnings go on under the other run's id, unless something had left its window.
                let changes = run.state.retire();
                draft.announce(changes, &run.state, &self.policy.policy);
                draft.remove(run.key.clone());
                let done = self.arrived(&from).chain([done]);
                draft.arrived(&into, done);
                draft.moved += 1;
            }
            Some(_) => {
                self.moving = self.moving.saturating_sub(1);
                draft.moves_again.push(Move {
                    from,
                    into,
                    again: true,
                    done,
                });
            }
        }
        Ok(())
    }
}

impl Shared {
    /// Has a run move on, if it is named after a trace that belongs to another one. `done` is resolved when it is there, or at
    /// once.
    pub(super) async fn move_on(&self, run_id: Text, done: Done) -> Result<(), StoreError> {
        let mut known = Known::default();
        let into = loop {
            let goal = self.goal(&mut self.router(), &run_id, &known);
            match goal {
                Ok(into) => break into,
                Err(unknown) => known.learn(&self.store, unknown).await?,
            }
        };
        if into == run_id {
            let _ = done.send(());
        } else {
            let inbox = self.inbox_of(&run_id);
            inbox.send(Message::Move(Move {
                from: run_id,
                into,
                again: false,
                done,
            }));
        }
        Ok(())
    }

    /// The run to which belongs what is kept under an id, unless the database has to be asked first.
    fn goal(&self, router: &mut Router, run_id: &Text, known: &Known) -> Result<Text, Unknown> {
        let mut unknown = Unknown::default();
        let goal = router.goal(run_id, &mut self.stored(known, &mut unknown));
        if unknown.is_empty() {
            return Ok(goal);
        }
        for trace in &unknown.traces {
            router.forget(*trace);
        }
        Err(unknown)
    }
}
