//! A run that moves into another one, whose name its trace learned late.
//!
//! Its owner, after the commit of everything that was routed to it, sends a copy of the state to the owner of the run that it
//! belongs to, which absorbs it in a turn of its own and sends a release back; with that the old run is removed. A crash in
//! between leaves both, and the next start moves the old one again: absorbing twice changes nothing.

use crate::engine::Input;
use crate::store::records::encode_run;
use crate::store::{Entry, StoreError};

use super::draft::Draft;
use super::inbox::{Absorb, Message, Move, Release};
use super::worker::Worker;

impl Worker {
    /// Hands a copy of a run to the owner of the run that it belongs to.
    pub(super) fn move_run(&mut self, moved: Move) -> Result<(), StoreError> {
        let Move { from, into, done } = moved;
        match self.residence.fetch(&from)? {
            Some(run) if from != into => {
                let desk = self.shared.desk_of(&into);
                desk.send(Message::Absorb(Box::new(Absorb {
                    state: run.state.clone(),
                    position: run.position,
                    from,
                    into,
                    done,
                })));
            }
            _ => drop(done.send(())),
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
        let own_slot = self.residence.slot(&from);
        let grows = own_slot.is_some_and(|slot| draft.touched.contains(&slot));
        match self.residence.fetch(&from)? {
            None => draft.done.push(done),
            Some(run) if run.position == position && !grows => {
                // The warnings go on under the other run's id.
                let changes = run.state.retire();
                draft.announce(changes, &run.state, &self.policy.policy);
                draft.remove(run.key.clone());
                // What belonged to it belongs to the other run from now on.
                let aliases = self.shared.store.aliases_of(&from)?.into_iter();
                let aliases = aliases.map(|trace| (trace, into.clone()));
                draft.turn.aliases.extend(aliases);
                draft.done.push(done);
                draft.moved += 1;
            }
            Some(_) => draft.moves.push(Move { from, into, done }),
        }
        Ok(())
    }
}
