//! A turn: everything that waits is done to the runs, committed at once, and only then told to anybody.
//!
//! A run is stepped once for all the reports that wait for it (`batch`). Stepping changes the states in memory before the commit.
//! The guard alone answers by them meanwhile; whoever else looks is told behind the commit, and if that fails the shard ends and
//! they are gone. Runs that move into others are the business of `moving`.

use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::engine::event::Text;
use crate::engine::guard::Warned;
use crate::engine::run::is_swarm;
use crate::engine::{Input, RunView, step};
use crate::store::{Entry, IndexKey, StoreError, Turn};
use crate::telemetry::spans::{self, Span};

use super::NamedPolicy;
use super::batch::Batch;
use super::counters;
use super::defect::contained;
use super::draft::{Arrived, Draft};
use super::inbox::{Cost, Message, Routed};
use super::residence::Slot;
use super::worker::Worker;

/// Runs that are brought near together, and whose reports are then written down while they still are: their hot parts fit the
/// processor's nearer caches beside what a step needs.
const NEAR_RUNS: usize = 16;

impl Worker {
    /// Takes a turn.
    pub(super) async fn turn(&mut self, batch: Batch) -> Result<(), StoreError> {
        self.turn_seen(batch, |_, _| ()).await
    }

    /// Takes a turn, under the policy by which its reports were read, or else that of the day. What `look` sees is what will
    /// be committed; what it finds is given back when it is.
    pub(super) async fn turn_seen<T>(
        &mut self,
        mut batch: Batch,
        look: impl FnOnce(&Self, &Draft) -> T,
    ) -> Result<T, StoreError> {
        let policy = batch.policy.clone();
        let policy = policy.unwrap_or_else(|| self.shared.policy());
        if policy.hash != self.policy.hash {
            // A run that was asked about since it was found idle, or old, is not.
            batch
                .retired
                .retain(|(key, _)| !self.is_asked_about(&key.run_id));
            batch.idle.retain(|run_id| !self.is_asked_about(run_id));
            // What the guard did under the other policy is committed under its name.
            self.take(Batch::default(), policy, |_, _| ()).await?;
        }
        let next = self.shared.policy();
        self.take(batch, next, look).await
    }

    /// Has questions that come from here on judged by the newest policy, unless something judged by another one is still
    /// to be put into a turn: the journal names one policy for all of it.
    pub(super) fn renew_policy(&mut self) {
        if self.pending.is_empty() {
            self.policy = self.shared.policy();
        }
    }

    /// Takes a turn under the present policy. The next one is judged by `next`, and so are questions that are answered
    /// while this one is committed. See [`Worker::turn_seen`].
    async fn take<T>(
        &mut self,
        batch: Batch,
        next: NamedPolicy,
        look: impl FnOnce(&Self, &Draft) -> T,
    ) -> Result<T, StoreError> {
        let mut span = spans::begin("turn");
        let cost = batch.cost;
        let mut draft = self.draft(batch).await?;
        self.policy = next;
        let seen = look(self, &draft);
        let watched = self.watched(&draft);
        let warned = self.warned(&draft);
        if let Some(span) = &mut span {
            span.number("eddy.shard", self.number.into());
            span.number("eddy.events", draft.events);
            span.number("eddy.runs", draft.touched.len() as u64);
        }
        if !draft.is_empty() {
            if !draft.removed.is_empty() {
                // What is being saved must not come back after the removal.
                self.finish_save().await?;
            }
            self.commit(&mut draft, span.as_ref()).await?;
            for (run_id, view) in watched {
                self.watchers.show(&run_id, view);
            }
            for (swarm, warned) in warned {
                self.shared.swarms.publish(&swarm, warned);
            }
            self.remove(&draft.removed);
        }
        self.follow_up(draft, cost).await?;
        Ok(seen)
    }

    /// What follows from a turn that is committed: its room is given back, whoever waits for it hears of it, and runs move on.
    async fn follow_up(&mut self, draft: Draft, cost: Cost) -> Result<(), StoreError> {
        self.shared.give_back(&self.inbox.held, cost);
        self.shared.counters.reports.add(cost.reports as u64);
        let waiting = self.inbox.messages.len();
        self.gathering.answered(draft.done.len(), waiting);
        for done in draft.done {
            // The sender may have gone; what it sent is committed all the same.
            let _ = done.send(());
        }
        for release in draft.releases {
            let inbox = self.shared.inbox_of(&release.from);
            inbox.send(Message::Release(release));
        }
        for Arrived { at, done } in draft.arrived {
            let shared = self.shared.clone();
            self.meanwhile(shared.move_on(at, done)).await??;
        }
        // First, while the other run remembers that it has absorbed them.
        for moved in draft.moves_again {
            self.moves.push_front(moved);
        }
        self.queue_moves(draft.moves).await?;
        self.move_some().await
    }

    /// Steps every run of the batch.
    async fn draft(&mut self, batch: Batch) -> Result<Draft, StoreError> {
        let taught = batch.aliases.iter().map(|(trace, _)| *trace);
        let mut draft = Draft {
            taught: taught.collect(),
            turn: Turn {
                at_ms: self.shared.clock.now_ms(),
                policy: self.policy.hash,
                aliases: batch.aliases,
                unlisted: batch.stale,
                ..Turn::default()
            },
            moves: batch.moves,
            done: batch.done,
            ..Draft::default()
        };
        self.settle_pending(&mut draft);
        let mut reports = batch.reports;
        let mut groups = reports.groups.drain(..);
        while groups.len() > 0 {
            let near = groups.as_slice().iter().take(NEAR_RUNS);
            self.bring_near(near.map(|group| &group.run_id));
            for group in groups.by_ref().take(NEAR_RUNS) {
                self.step_reports(&mut draft, group)?;
                self.let_in_between(&mut draft).await?;
            }
            self.shared.store.write_down(&mut draft.turn);
        }
        drop(groups);
        self.spare = reports.emptied();
        self.begin_placed(&mut draft)?;
        for absorb in batch.absorbs {
            self.step_absorb(&mut draft, absorb)?;
            self.let_in_between(&mut draft).await?;
        }
        for run_id in batch.idle {
            // The guard may have been asked about it since it was found idle.
            if !self.is_touched(&draft, &run_id) {
                self.step_idle(&mut draft, run_id)?;
            }
            self.let_in_between(&mut draft).await?;
        }
        for release in batch.releases {
            self.release(&mut draft, release)?;
            self.let_in_between(&mut draft).await?;
        }
        self.tell_what_is_owed(&mut draft)?;
        for (key, warns) in batch.retired {
            self.let_in_between(&mut draft).await?;
            if !self.is_touched(&draft, &key.run_id) {
                self.retire(&mut draft, key, warns)?;
            }
        }
        Ok(draft)
    }

    /// Ends a run that is to be forgotten. Whoever was told of a warning would wait for its end for ever.
    fn retire(&mut self, draft: &mut Draft, key: IndexKey, warns: bool) -> Result<(), StoreError> {
        if warns && let Some(run) = self.residence.fetch(&key.run_id)? {
            let changes = run.state.retire();
            draft.announce(changes, &run.state, &self.policy.policy);
        }
        draft.remove(key);
        draft.retired += 1;
        Ok(())
    }

    /// Answers the questions that wait, between two runs of a turn: they do not wait for the whole of it. What they do is part of
    /// the turn.
    async fn let_in_between(&mut self, draft: &mut Draft) -> Result<(), StoreError> {
        if self.let_in().await? {
            self.settle_pending(draft);
        }
        Ok(())
    }

    /// Whether a run was told something in this turn.
    pub(super) fn is_touched(&self, draft: &Draft, run_id: &str) -> bool {
        let slot = self.residence.slot(run_id);
        slot.is_some_and(|slot| draft.touched.contains(&slot))
    }

    /// Has the processor fetch what it needs for stepping these runs, all at the same time.
    fn bring_near<'a>(&self, run_ids: impl Iterator<Item = &'a Text>) {
        for run in run_ids.filter_map(|run_id| self.residence.resident(run_id)) {
            std::hint::black_box(run.state.bring_near());
        }
    }

    fn step_reports(&mut self, draft: &mut Draft, group: Routed) -> Result<(), StoreError> {
        let at_ms = draft.turn.at_ms;
        let run_id = group.run_id;
        draft.events += group.events.len() as u64;
        let input = Input::Reports {
            at_ms,
            session_id: group.session_id,
            service: group.service,
            events: group.events,
        };
        let is_untraced = self.step(draft, &run_id, &input, at_ms)?;
        if let Input::Reports {
            at_ms,
            session_id,
            service,
            events,
        } = input
        {
            if is_untraced {
                draft.keep_traces(&run_id, &events);
            }
            draft.turn.entries.push(Entry::Reports {
                run_id,
                at_ms,
                session_id,
                service,
                events,
            });
        }
        Ok(())
    }

    /// Begins runs of which nothing is known but that traces belong to them, as quiet ones: what is kept of these traces goes with
    /// them one day.
    fn begin_placed(&mut self, draft: &mut Draft) -> Result<(), StoreError> {
        let at_ms = draft.turn.at_ms;
        let runs = draft.turn.aliases.iter().map(|(_, run_id)| run_id);
        let runs = runs.filter(|run_id| self.residence.slot(run_id).is_none());
        for run_id in runs.cloned().collect::<Vec<_>>() {
            // It may have been begun for the trace before.
            let is_here = self.residence.slot(&run_id).is_some();
            if !is_here && !self.shared.store.has_run(&run_id)? {
                self.step(draft, &run_id, &Input::Idle { at_ms }, at_ms)?;
                draft.turn.entries.push(Entry::Idle { run_id, at_ms });
            }
        }
        Ok(())
    }

    fn step_idle(&mut self, draft: &mut Draft, run_id: Text) -> Result<(), StoreError> {
        let at_ms = draft.turn.at_ms;
        self.step(draft, &run_id, &Input::Idle { at_ms }, at_ms)?;
        draft.turn.entries.push(Entry::Idle { run_id, at_ms });
        draft.idle += 1;
        Ok(())
    }

    /// Steps one run, which began at `created_ms` if nothing is known of it. Says whether it had no trace, as one that has just
    /// begun, or that the guard alone was asked about.
    pub(super) fn step(
        &mut self,
        draft: &mut Draft,
        run_id: &Text,
        input: &Input,
        created_ms: u64,
    ) -> Result<bool, StoreError> {
        let policy = &self.policy.policy;
        let (slot, is_new) = self.residence.open(run_id, created_ms)?;
        let run = self.residence.at(slot);
        let late_before = run.state.late_events();
        let is_untraced = !run.state.has_traces();
        let stepped = contained(&mut run.state, |state| step(state, input, policy));
        let changes = stepped.unwrap_or_else(|taken_back| {
            self.shared.counters.runs_broken.add(1);
            taken_back
        });
        let late = run.state.late_events().saturating_sub(late_before);
        self.shared.counters.late_events.add(late);
        if is_new {
            draft.turn.new_runs.push(run.key.clone());
        }
        draft.announce(changes, &run.state, policy);
        draft.touched.push(slot);
        Ok(is_untraced)
    }

    async fn commit(&mut self, draft: &mut Draft, of: Option<&Span>) -> Result<(), StoreError> {
        let mut turn = std::mem::take(&mut draft.turn);
        let new_runs = turn.new_runs.len() as u64;
        let next_look_ms = turn.at_ms.saturating_add(self.shared.idle_ms());
        let alerts: Vec<_> = turn.alerts.iter().map(counters::kind).collect();
        let began = Instant::now();
        let store = self.shared.store.clone();
        let mut span = of.map(|turn| turn.child("commit"));
        let held_up = self.held_up(draft);
        store.write_down(&mut turn);
        let (aliases, committed) = {
            // Until the turn is on its way: whoever names one of its traces for another run then comes behind it.
            let mut router = (!turn.aliases.is_empty()).then(|| self.shared.router());
            if let Some(router) = &mut router {
                router.keep_newest(&mut turn.aliases);
            }
            (turn.aliases.clone(), store.commit(turn))
        };
        let committed = self.meanwhile(committed).await?;
        if let (Some(span), Err(error)) = (&mut span, &committed) {
            span.fail(&error.to_string());
        }
        drop(span);
        let committed = committed?;
        let counters = &self.shared.counters;
        let took = began.elapsed().as_micros() as u64;
        counters.commit_micros.add(took);
        counters.runs_created.add(new_runs);
        if !alerts.is_empty() {
            counters.alerts.add(&alerts);
        }
        self.count_committed(draft);
        if !aliases.is_empty() {
            self.shared.router().commit(&aliases);
        }
        self.position = committed.position;
        self.have_committed(&draft.touched, next_look_ms);
        self.save_held_up(held_up);
        Ok(())
    }

    /// Counts what a turn that is committed did.
    fn count_committed(&mut self, draft: &Draft) {
        let counters = &self.shared.counters;
        counters.turns.add(1);
        counters.events.add(draft.events);
        counters.runs_idle.add(draft.idle);
        counters.runs_moved.add(draft.moved);
        counters.runs_retired.add(draft.retired);
        counters
            .runs_unreadable
            .add(self.residence.take_unreadable());
        if self.residence.take_leaves_places() {
            self.shared.has_stale_places.store(true, Ordering::Release);
        }
    }

    /// Notes of runs that they are on disk up to here, and when each is to be looked at again.
    fn have_committed(&mut self, touched: &[Slot], next_look_ms: u64) {
        for slot in touched {
            self.residence.committed(*slot, self.position);
            let run = self.residence.at(*slot);
            if !run.is_queued && !run.state.is_closed() {
                run.is_queued = true;
                self.idle.add(&run.key.run_id, next_look_ms);
            }
        }
    }

    /// What those will see who watch runs of a turn, when it is committed.
    fn watched(&mut self, draft: &Draft) -> Vec<(Text, RunView)> {
        let mut views = Vec::new();
        if self.watchers.is_empty() {
            return views;
        }
        for slot in &draft.touched {
            let run = self.residence.at(*slot);
            let run_id = &run.key.run_id;
            if self.watchers.has(run_id) {
                views.push((run_id.clone(), run.state.view(&self.policy.policy)));
            }
        }
        views
    }

    /// What the workers of the swarms among the runs of a turn will be told, when it is committed.
    fn warned(&mut self, draft: &Draft) -> Vec<(Text, Vec<Warned>)> {
        let mut warned = Vec::new();
        if !self.policy.policy.watches_swarms() {
            return warned;
        }
        for slot in &draft.touched {
            let run = self.residence.at(*slot);
            if is_swarm(&run.key.run_id) {
                warned.push((run.key.run_id.clone(), run.state.told_to_workers()));
            }
        }
        warned
    }

    /// Forgets runs whose removal is committed.
    fn remove(&mut self, removed: &[Text]) {
        for run_id in removed {
            self.residence.remove(run_id);
            self.idle.remove(run_id);
            self.watchers.end(run_id);
            self.shared.swarms.forget(run_id);
        }
    }
}
