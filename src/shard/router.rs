//! From a report to the id of its run.
//!
//! A report that names its run goes there; one that names it by a trace's id goes where that trace does. Any other goes where its
//! trace is known to belong: to the run that an earlier report of the trace named (an *alias*), to the run of the trace that it
//! continues, or else to a run of its own, named after the trace. Names often come late, because the span that carries them ends
//! last; a [`TraceAlias`] then says that the trace is to be remembered, and that what was kept under the trace's own id has to
//! move.
//!
//! The router knows no disk, no shard and no clock: what it has forgotten it asks the caller for, so that a shard's
//! router stands on the store and the one of `eddy check` on nothing. Routing a report changes the router's memory; if
//! the report is then refused, `Router::unlearn` takes that back.

use xxhash_rust::xxh3::xxh3_64;

use crate::engine::event::{Text, TraceId};
use crate::engine::run::is_swarm;
use crate::normalize::RunRef;
use crate::store::hashing::FastMap;

/// Longest run id, in bytes; what is longer is cut and ends in a hash of the whole. Generous: the ids of known
/// frameworks have 36 bytes at most, with a user's prefix sometimes twice that.
pub const RUN_ID_BYTES_MAX: usize = 256;

/// Longest chain of traces that continue one another which is followed. A chain grows by one with each trace whose
/// predecessor was learned before *its* predecessor was, which takes reordering at every step.
pub(super) const CHAIN_MAX: usize = 16;

/// What is known about traces: bounded, in two generations. When the younger one is full it becomes the older one, and
/// what nobody asked for during a whole generation is forgotten. Aliases stay until they are committed: before that, nobody else
/// could say them.
#[derive(Debug)]
pub struct Router {
    young: FastMap<TraceId, Text>,
    old: FastMap<TraceId, Text>,
    /// Of a trace that was said to belong to several runs, the last one.
    uncommitted: FastMap<TraceId, Text>,
    generation_max: usize,
}

/// Where a report goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The run.
    pub run_id: Text,
    /// What the report taught, if anything.
    pub alias: Option<TraceAlias>,
}

/// A trace turned out to belong to a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceAlias {
    /// The trace.
    pub trace: TraceId,
    /// The run that its reports belong to from now on.
    pub run_id: Text,
    /// The trace's own id, if what may have been kept under it has to go over to the run.
    pub moves: Option<Text>,
    /// What was remembered before.
    before: Option<Text>,
}

impl Router {
    /// A router that remembers at least half of `traces_max` traces, and no more than that many beside those of the request at
    /// work and those that wait to be committed.
    #[must_use]
    pub fn new(traces_max: usize) -> Self {
        Self {
            young: FastMap::default(),
            old: FastMap::default(),
            uncommitted: FastMap::default(),
            generation_max: (traces_max / 2).max(1),
        }
    }

    /// Makes room for the traces of another request: while it is routed, none is forgotten.
    pub(super) fn make_room(&mut self) {
        if self.young.len() >= self.generation_max {
            self.old = std::mem::take(&mut self.young);
        }
    }

    /// Keeps what a report taught until it is [committed](Self::commit).
    pub(super) fn keep(&mut self, alias: &TraceAlias) {
        self.uncommitted.insert(alias.trace, alias.run_id.clone());
    }

    /// Drops aliases of traces that have been named for another run since, by a request whose alias may be committed before them.
    /// What is remembered as part of another trace may have gone on with that one.
    pub(super) fn keep_newest(&self, aliases: &mut Vec<(TraceId, Text)>) {
        aliases.retain(|(trace, run_id)| {
            let known = self.known(*trace);
            known.is_none_or(|known| known == *run_id || TraceId::of_run(&known).is_some())
        });
    }

    /// What was committed can be asked for from here on.
    pub(super) fn commit(&mut self, aliases: &[(TraceId, Text)]) {
        for (trace, run_id) in aliases {
            if self.uncommitted.get(trace) == Some(run_id) {
                self.uncommitted.remove(trace);
            }
        }
    }

    /// Where a report goes; `None` if it has neither a run id nor a trace, so that nobody can know whose it is.
    ///
    /// `stored` is asked for the alias of a trace that is not remembered.
    pub fn route(
        &mut self,
        run: &RunRef,
        stored: &mut dyn FnMut(TraceId) -> Option<Text>,
    ) -> Option<Route> {
        let named = run.run_id.as_ref().filter(|id| !id.is_empty());
        if !run.trace.is_set() {
            return named.map(|id| Route {
                run_id: self.named(id, stored),
                alias: None,
            });
        }
        // What nearly every report comes to: its trace is known to belong to the run that it names; or it names none, and the
        // trace's run is not a trace that might have become part of another.
        let stays = |known: &Text| {
            TraceId::of_run(known)
                .is_none_or(|of| of == run.trace || self.young.get(&of) == Some(known))
        };
        let goes_to = |known: &Text| match named {
            Some(id) => id == known && stays(known),
            None => run.continues.is_none() && stays(known),
        };
        if let Some(known) = self.young.get(&run.trace)
            && goes_to(known)
        {
            return Some(Route {
                run_id: known.clone(),
                alias: None,
            });
        }
        let own = run.trace.run_id();
        let (before, known) = self.recall(run.trace, stored);
        let target = match (named, run.continues) {
            (Some(id), _) => self.named(id, stored),
            (None, Some(other)) if known == own && other.is_set() => self.follow(other, stored),
            // Its run may have become part of another: remembering that keeps chains short, and is all that is left
            // once the run in between is forgotten.
            (None, _) => self.follow(run.trace, stored),
        };
        let alias = (target != known).then(|| {
            self.young.insert(run.trace, target.clone());
            TraceAlias {
                trace: run.trace,
                run_id: target.clone(),
                moves: (known == own).then_some(own),
                before,
            }
        });
        Some(Route {
            run_id: target,
            alias,
        })
    }

    /// The run to which belongs what is kept under an id: another one where that is a trace's. Teaches nothing.
    pub(super) fn goal(
        &mut self,
        run_id: &Text,
        stored: &mut dyn FnMut(TraceId) -> Option<Text>,
    ) -> Text {
        let mut goal = run_id.clone();
        // A chain is followed piece by piece.
        for _ in 0..CHAIN_MAX {
            let further = TraceId::of_run(&goal).map(|trace| self.follow(trace, stored));
            match further {
                Some(further) if further != goal => goal = further,
                _ => break,
            }
        }
        goal
    }

    /// The run to which a trace is remembered to belong.
    #[must_use]
    pub fn known(&self, trace: TraceId) -> Option<Text> {
        self.young
            .get(&trace)
            .or_else(|| self.old.get(&trace))
            .or_else(|| self.uncommitted.get(&trace))
            .cloned()
    }

    /// Takes an alias back. Of several, the newest must be taken back first.
    pub(super) fn unlearn(&mut self, alias: TraceAlias) {
        self.young.remove(&alias.trace);
        self.old.remove(&alias.trace);
        if let Some(before) = alias.before {
            self.young.insert(alias.trace, before);
        }
    }

    /// Forgets a trace of which it could not be read what is stored: it is asked for again.
    pub fn forget(&mut self, trace: TraceId) {
        self.young.remove(&trace);
        self.old.remove(&trace);
    }

    /// The run that a report names. A name that is a trace's own id means the run to which that trace belongs.
    fn named(&mut self, id: &Text, stored: &mut dyn FnMut(TraceId) -> Option<Text>) -> Text {
        let run_id = reported_id(id);
        match TraceId::of_run(&run_id) {
            Some(trace) => self.follow(trace, stored),
            None => run_id,
        }
    }

    /// The run of a trace, through all the traces that it continues. Traces that continue one another in a circle
    /// belong to the run with the least id.
    fn follow(&mut self, trace: TraceId, stored: &mut dyn FnMut(TraceId) -> Option<Text>) -> Text {
        let mut chain = vec![trace.run_id()];
        let mut next = Some(trace);
        while let Some(trace) = next.filter(|_| chain.len() <= CHAIN_MAX) {
            let run_id = self.recall(trace, stored).1;
            if let Some(start) = chain.iter().position(|seen| *seen == run_id) {
                chain.drain(..start);
                return chain.into_iter().min().unwrap_or(run_id);
            }
            next = TraceId::of_run(&run_id);
            chain.push(run_id);
        }
        chain.pop().unwrap_or_else(|| trace.run_id())
    }

    /// What is remembered of a trace, and what is known of it: where nothing is remembered, what is stored; where
    /// nothing is stored either, that the trace is a run of its own.
    fn recall(
        &mut self,
        trace: TraceId,
        stored: &mut dyn FnMut(TraceId) -> Option<Text>,
    ) -> (Option<Text>, Text) {
        if let Some(run_id) = self.young.get(&trace) {
            return (Some(run_id.clone()), run_id.clone());
        }
        let remembered = self.old.remove(&trace);
        let remembered = remembered.or_else(|| self.uncommitted.get(&trace).cloned());
        let known = remembered
            .clone()
            .or_else(|| stored(trace))
            .unwrap_or_else(|| trace.run_id());
        self.young.insert(trace, known.clone());
        (remembered, known)
    }

    /// How many traces are kept because their aliases are not committed.
    #[cfg(test)]
    pub(super) fn uncommitted(&self) -> usize {
        self.uncommitted.len()
    }
}

/// The shard that owns a run. The same in every process and on every machine.
pub(super) fn shard_of(run_id: &str, shards: u16) -> u16 {
    (xxh3_64(run_id.as_bytes()) % u64::from(shards.max(1))) as u16
}

/// The id of a run that a report names so. A swarm is named by Eddy alone.
pub(super) fn reported_id(run_id: &Text) -> Text {
    if is_swarm(run_id) {
        return bounded(&format!("run:{run_id}").into());
    }
    bounded(run_id)
}

/// A run id of at most [`RUN_ID_BYTES_MAX`] bytes. Digits of a trace may be written in capitals: they are the same trace.
pub(crate) fn bounded(run_id: &Text) -> Text {
    if run_id.len() <= RUN_ID_BYTES_MAX {
        return in_lower_hex(run_id).unwrap_or_else(|| run_id.clone());
    }
    let end = run_id.floor_char_boundary(RUN_ID_BYTES_MAX - 17);
    format!("{}~{:016x}", &run_id[..end], xxh3_64(run_id.as_bytes())).into()
}

/// What looks like the id of a trace but for its capitals, without them.
fn in_lower_hex(run_id: &str) -> Option<Text> {
    if run_id.len() != 32 || !run_id.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return None;
    }
    let run_id = run_id.to_ascii_lowercase();
    TraceId::of_run(&run_id).map(|_| run_id.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: TraceId = TraceId([1; 16]);
    const B: TraceId = TraceId([2; 16]);
    const C: TraceId = TraceId([3; 16]);

    fn report(trace: TraceId) -> RunRef {
        RunRef {
            trace,
            ..RunRef::default()
        }
    }

    fn named(trace: TraceId, run_id: &str) -> RunRef {
        RunRef {
            run_id: Some(run_id.into()),
            ..report(trace)
        }
    }

    fn continuing(trace: TraceId, other: TraceId) -> RunRef {
        RunRef {
            continues: Some(other),
            ..report(trace)
        }
    }

    fn route(router: &mut Router, run: &RunRef) -> Route {
        router
            .route(run, &mut |_| None)
            .expect("the report has a trace")
    }

    /// Reports one after the other, each with the run that it must go to.
    fn check(steps: &[(RunRef, &str)]) {
        let mut router = Router::new(100);
        for (number, (run, expected)) in steps.iter().enumerate() {
            let found = route(&mut router, run).run_id;
            assert_eq!(&*found, *expected, "report {number}");
        }
    }

    #[test]
    fn an_unnamed_trace_is_a_run_of_its_own() {
        check(&[(report(A), &A.run_id()), (report(B), &B.run_id())]);
    }

    #[test]
    fn a_name_holds_for_the_whole_trace() {
        check(&[
            (named(A, "r"), "r"),
            (report(A), "r"),
            (report(B), &B.run_id()),
        ]);
    }

    /// A name wins over what was learned before, each time.
    #[test]
    fn the_report_s_own_name_wins() {
        check(&[
            (report(A), &A.run_id()),
            (named(A, "r"), "r"),
            (named(A, "s"), "s"),
            (report(A), "s"),
            (continuing(A, B), "s"),
        ]);
    }

    #[test]
    fn a_trace_goes_where_the_one_it_continues_goes_now_and_later() {
        check(&[
            (continuing(A, B), &B.run_id()),
            (report(A), &B.run_id()),
            (continuing(B, C), &C.run_id()),
            (report(A), &C.run_id()),
            (named(C, "r"), "r"),
            (report(A), "r"),
            (report(B), "r"),
        ]);
    }

    /// Given traces that name each other's ids in a circle; they are one run, whichever report comes.
    #[test]
    fn a_circle_is_one_run() {
        let last = C.run_id();
        check(&[
            (named(A, &B.run_id()), &B.run_id()),
            (named(B, &C.run_id()), &last),
            (named(C, &A.run_id()), &last),
            (report(A), &last),
            (report(B), &last),
            (report(C), &last),
        ]);
        check(&[
            (continuing(A, A), &A.run_id()),
            (continuing(A, B), &B.run_id()),
            (continuing(B, A), &B.run_id()),
        ]);
    }

    /// Given a circle in what is stored, the run with the least id is all of it, whichever trace is asked for first.
    #[test]
    fn a_stored_circle_is_one_run() {
        let mut stored = |trace| Some(if trace == A { B.run_id() } else { A.run_id() });
        for traces in [[A, B], [B, A]] {
            let mut router = Router::new(100);
            for trace in traces {
                let found = router.route(&report(trace), &mut stored).unwrap();
                assert_eq!(found.run_id, A.run_id());
            }
        }
    }

    /// Given a trace that is named by another's id, it goes where that one goes, also once that has a name, with a trace of its
    /// own or without.
    #[test]
    fn a_name_that_is_a_trace_leads_to_its_run() {
        let nowhere = || named(TraceId::default(), &A.run_id());
        check(&[
            (named(B, &A.run_id()), &A.run_id()),
            (nowhere(), &A.run_id()),
            (named(A, "r"), "r"),
            (named(B, &A.run_id()), "r"),
            (report(B), "r"),
            (nowhere(), "r"),
            (named(A, &A.run_id()), "r"),
        ]);
    }

    /// Given a chain of a hundred traces, a report of the first goes as far as chains are followed. The next one goes on from
    /// there, and so to another run, until the end is reached.
    #[test]
    fn a_long_chain_is_followed_piece_by_piece() {
        let trace = |number: u8| TraceId([number; 16]);
        let mut router = Router::new(1_000);
        for number in 1..100 {
            let next = trace(number + 1).run_id();
            let _ = route(&mut router, &named(trace(number), &next));
        }
        for number in [17, 32, 47, 62, 77, 92, 100, 100] {
            let found = route(&mut router, &report(trace(1))).run_id;
            assert_eq!(found, trace(number).run_id());
        }
        assert_eq!(CHAIN_MAX, 16);
    }

    /// What was kept under the trace's own id moves when the first name comes, and only then.
    #[test]
    fn a_lesson_says_what_moves() {
        let mut router = Router::new(100);
        let _ = route(&mut router, &report(A));
        let alias = route(&mut router, &named(A, "r")).alias.unwrap();
        assert_eq!((&*alias.run_id, alias.moves), ("r", Some(A.run_id())));
        assert_eq!(route(&mut router, &named(A, "r")).alias, None);
        let alias = route(&mut router, &named(A, "s")).alias.unwrap();
        assert_eq!((&*alias.run_id, alias.moves), ("s", None));
        assert_eq!(route(&mut router, &named(B, &B.run_id())).alias, None);
    }

    /// An alias that was taken back has left no trace, so that the same report teaches it again.
    #[test]
    fn a_refused_report_teaches_nothing() {
        let mut router = Router::new(100);
        let first = route(&mut router, &named(A, "r")).alias.unwrap();
        let second = route(&mut router, &named(A, "s")).alias.unwrap();
        router.unlearn(second);
        assert_eq!(&*route(&mut router, &report(A)).run_id, "r");
        router.unlearn(first.clone());
        assert_eq!(route(&mut router, &report(A)).run_id, A.run_id());
        router = Router::new(100);
        assert_eq!(route(&mut router, &named(A, "r")).alias, Some(first));
    }

    #[test]
    fn what_is_forgotten_is_asked_for() {
        let mut router = Router::new(2);
        let _ = route(&mut router, &named(A, "r"));
        for number in 10..20 {
            router.make_room();
            let _ = route(&mut router, &report(TraceId([number; 16])));
        }
        assert!(router.young.len() + router.old.len() <= 2);
        let found = router.route(&report(A), &mut |_| Some("r".into()));
        assert_eq!(&*found.unwrap().run_id, "r");
    }

    /// Without a trace nothing is learned: two strangers' log records must not meet.
    #[test]
    fn no_trace_teaches_nothing() {
        let mut router = Router::new(100);
        let nobody = TraceId::default();
        let found = route(&mut router, &named(nobody, "r"));
        assert_eq!((&*found.run_id, found.alias), ("r", None));
        assert_eq!(router.route(&report(nobody), &mut |_| None), None);
        assert_eq!(router.route(&named(nobody, ""), &mut |_| None), None);
    }

    #[test]
    fn a_long_id_is_cut_and_stays_itself() {
        let long = |last: char| named(A, &format!("{}{last}", "ü".repeat(200)));
        let mut router = Router::new(100);
        let one = route(&mut router, &long('1')).run_id;
        assert!(one.len() <= RUN_ID_BYTES_MAX);
        assert_eq!(one, route(&mut router, &long('1')).run_id);
        assert_ne!(one, route(&mut router, &long('2')).run_id);
    }

    /// The assignment is stored in nobody's mind but must not depend on the process.
    #[test]
    fn shards_are_stable() {
        assert_eq!(shard_of("r", 1), 0);
        let shards = ["a", "b", "c", "d"].map(|id| shard_of(id, 1_000));
        assert_eq!(shards, [719, 615, 11, 194]);
    }

    #[test]
    fn only_a_trace_in_lower_hex_names_a_trace() {
        assert_eq!(TraceId::of_run(&A.run_id()), Some(A));
        for other in ["", "r", &"0".repeat(32), &"A".repeat(32), &"1".repeat(33)] {
            assert_eq!(TraceId::of_run(other), None, "{other}");
        }
    }
}
