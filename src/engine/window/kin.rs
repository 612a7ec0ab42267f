//! Whether two reports tell of one call, as far as their cards show: by the call's id, by kinship of spans and by time.
//!
//! Spans are kin where one is the other's parent. What frameworks do with parents and clocks is not always what they mean; the
//! exceptions stand here, each beside its reason. What stands in the reports themselves is compared in [`calls`](super::calls).

use super::card::{Card, Kind};
use super::join;

/// What is a moment for clocks that tell microseconds.
pub(super) const MOMENT_NS: u64 = 1_000;

/// Whether two reports, taken alone, tell of one call.
pub(crate) fn tell_of_one_call(left: &Card, right: &Card) -> bool {
    match (left.kind, right.kind) {
        (Kind::Tool, Kind::Tool) => tell_of_one_tool_call(left, right),
        (Kind::Model, Kind::Model) => tell_of_one_model_call(left, right),
        _ => false,
    }
}

fn tell_of_one_tool_call(left: &Card, right: &Card) -> bool {
    if left.question().is_some() || right.question().is_some() {
        return join::tell_of_one_call(left, right);
    }
    let same_tool = left.tool == right.tool;
    if let (Some(id), Some(other)) = (left.call_id(), right.call_id()) {
        // A report that names no tool has a call id, and that is enough.
        let may_be = same_tool || left.tool == 0 || right.tool == 0;
        return id == other && may_be && !are_apart(left, right);
    }
    left.trace == right.trace
        && (are_answer_and_span(left, right)
            || are_client_and_server(left, right)
            || same_tool && are_kin(left, right) && !is_leaked(left, right)
            || same_tool && share_time(left, right))
}

fn tell_of_one_model_call(left: &Card, right: &Card) -> bool {
    if let (Some(one), Some(other)) = (left.call_id(), right.call_id()) {
        // Caches and some servers give the same answer, or the same id, again.
        return one == other && !are_apart(left, right);
    }
    left.trace == right.trace && (are_layers(left, right) || are_witnesses(left, right))
        || join::are_one_answer(left, right)
}

/// A library that wraps another's client: two spans of one request, one directly below the other. Or a log record, which is a
/// moment, below its span. A request that failed within one that went well is one that was made again.
fn are_layers(left: &Card, right: &Card) -> bool {
    let is_moment = |card: &Card| card.start_ns == card.end_ns;
    let is_retried = |outer: &Card, inner: &Card| {
        outer.span == inner.parent && inner.has_failed() && !outer.has_failed()
    };
    are_kin(left, right)
        && !(is_retried(left, right) || is_retried(right, left))
        && (overlap(left, right) || is_moment(left) || is_moment(right))
}

/// Two tracers of one program that tell the same of a model call at the same time, wherever their spans hang.
fn are_witnesses(left: &Card, right: &Card) -> bool {
    let (Some(one), Some(other)) = (left.witness(), right.witness()) else {
        return false;
    };
    one.bears_out(other) && overlap(left, right) && left.has_failed() == right.has_failed()
}

/// Whether one is the other's parent.
pub(crate) fn are_kin(left: &Card, right: &Card) -> bool {
    (right.parent.is_set() && left.span == right.parent)
        || (left.parent.is_set() && right.span == left.parent)
}

/// Whether one is below the other only because that failed: some tracers leave a span that raised open for what comes after
/// it, though it has ended.
fn is_leaked(left: &Card, right: &Card) -> bool {
    let leaks = |parent: &Card, child: &Card| {
        parent.span == child.parent
            && parent.has_failed()
            && parent.start_ns < parent.end_ns
            && parent.end_ns <= child.start_ns
    };
    leaks(left, right) || leaks(right, left)
}

/// Whether two reports of model calls are of two calls, whatever else they have in common: they stand beside each other below
/// one span and not by two tracers, or one tracer tells both and neither is the other's parent.
pub(crate) fn are_two_calls(left: &Card, right: &Card) -> bool {
    let same_tracer = match (left.witness(), right.witness()) {
        (Some(one), Some(other)) => Some(one.is_same_tracer(other)),
        _ => None,
    };
    let are_siblings = left.parent.is_set() && left.parent == right.parent;
    (are_siblings && same_tracer != Some(false))
        || (same_tracer == Some(true) && !are_kin(left, right))
}

/// Whether one may be the call of a tool of a server that a client has under a longer name, and the other the same call, under
/// the name that the server has for it: directly below it, without an id of its own, and with the same arguments, where both are
/// told. That one name is the end of the other is seen from the reports.
fn are_client_and_server(left: &Card, right: &Card) -> bool {
    let is_served = |outer: &Card, inner: &Card| {
        inner.parent.is_set()
            && outer.span == inner.parent
            && inner.call_id().is_none()
            && share_time(outer, inner)
    };
    left.may_end_alike(right)
        && !left.differs_from(right)
        && (is_served(left, right) || is_served(right, left))
}

/// Two spans, one after the other: some providers number the calls of each answer anew (`call_0`), and caches have the id of an
/// answer again, so that an id comes again with every call. Records of a call have no span, and may come after it.
pub(crate) fn are_apart(left: &Card, right: &Card) -> bool {
    let follows = |first: &Card, second: &Card| {
        first.end_ns <= second.start_ns && first.start_ns < second.start_ns
    };
    let are_spans = left.span.is_set() && right.span.is_set() && left.span != right.span;
    are_spans && !are_kin(left, right) && (follows(left, right) || follows(right, left))
}

/// Whether one is what a model was told that a tool answered, and the other a span that began at that very moment: with clocks
/// of whole milliseconds a short call and the model's next one begin together, and the answer comes first. Of several answers, each
/// but the last has its own nanosecond before.
fn are_answer_and_span(left: &Card, right: &Card) -> bool {
    let meet = |answer: &Card, span: &Card| {
        answer.tool == 0
            && answer.start_ns == answer.end_ns
            && span.tool != 0
            && span.span.is_set()
            && span.start_ns.wrapping_sub(answer.start_ns) < MOMENT_NS
    };
    meet(left, right) || meet(right, left)
}

/// Whether two spans, one below the other, have a moment in common: two tracers of one program may round differently.
fn overlap(left: &Card, right: &Card) -> bool {
    let lasts = |card: &Card| card.start_ns < card.end_ns;
    lasts(left) && lasts(right) && left.start_ns < right.end_ns && right.start_ns < left.end_ns
}

fn share_time(left: &Card, right: &Card) -> bool {
    let within = |outer: &Card, inner: &Card| {
        outer.start_ns <= inner.start_ns && inner.end_ns <= outer.end_ns
    };
    let lasts = |card: &Card| card.start_ns < card.end_ns;
    lasts(left) && lasts(right) && (within(left, right) || within(right, left))
}
