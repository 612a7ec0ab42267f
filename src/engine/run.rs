//! The state of one run, and the step that is the only way to change it.
//!
//! *How order stops mattering.* A run keeps its newest reports in a window sorted by event time. What has left the
//! window is folded into `base`; `tip` is `base` with the window folded on top. A report that comes in order is appended
//! and folded into `tip` at once; one that comes out of order, or belongs to a call already there, is put into its place
//! and `tip` is folded again from `base`. Either way the work is bounded by [`WINDOW_EVENTS_MAX`], however long the run
//! is, and any order of arrival within the window gives the same state. A report older than all of the window, when
//! something has already left it, is counted as late and changes nothing.

use serde::{Deserialize, Serialize};

use super::calls::{self, Step};
use super::event::{Body, Event, Text};
use super::fold::{Fold, push_bounded, text_hash};
use super::hash::stable;
use super::health;
use super::kept::Kept;
use super::policy::Policy;
use super::warning::{Change, ChangeKind, Severity, Warning, WarningState};
use super::wording;

/// Reports that a run keeps to put late ones into their place.
pub const WINDOW_EVENTS_MAX: usize = 64;

/// Steps that leave a full window together, so that the window is not looked through for each report.
const LEAVE_TOGETHER: usize = 16;

/// Reports whose identity is remembered to recognise repeats; beyond them the window's age does.
pub(crate) const RECENT_IDS_MAX: usize = 256;

/// Call ids remembered after their reports have left the window, so that a late second report is not a second call.
pub(crate) const FOLDED_CALLS_MAX: usize = 64;

/// Runs whose absorption is remembered, so that it happens once.
pub(crate) const ABSORBED_MAX: usize = 16;

/// Announcements that are remembered.
pub(crate) const PUBLISHED_MAX: usize = 48;
/// What a run is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// Reports of this run, as they arrived together.
    Reports {
        /// When they arrived, milliseconds since 1970. Decides idleness only.
        at_ms: u64,
        /// The session, where it is named apart from the run.
        session_id: Option<Text>,
        /// The service that sent them.
        service: Option<Text>,
        /// What happened.
        events: Vec<Event>,
    },
    /// The run has been quiet for the idle time.
    Idle {
        /// When that was found, milliseconds since 1970.
        at_ms: u64,
    },
    /// What was kept under another id turned out to belong to this run.
    Absorb(Box<RunState>),
}

/// How a run stands, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Score 80 to 100.
    Healthy,
    /// Score 50 to 79.
    Warning,
    /// Score 0 to 49.
    LikelyStuck,
    /// It ended in failure.
    Failed,
    /// Its telemetry shows no tool calls although models asked for them: nothing can be said.
    Blind,
}

impl Status {
    /// The public id.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Warning => "warning",
            Self::LikelyStuck => "likely_stuck",
            Self::Failed => "failed",
            Self::Blind => "blind",
        }
    }
}

/// Whether and how a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// More may come.
    Open,
    /// Its root ended well, and it has been quiet since.
    Ok,
    /// Its root ended in failure.
    Failed,
    /// It has been quiet for the idle time and no root ever came, as after a crash.
    Idle,
}

impl Ended {
    /// The public id.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Idle => "idle",
        }
    }
}

/// A run as it is shown. Derived from the state at each call, never saved.
#[derive(Clone, Debug, PartialEq)]
pub struct RunView {
    /// The run's id.
    pub run_id: Text,
    /// The session, where it is named apart from the run.
    pub session_id: Option<Text>,
    /// The service that reports it.
    pub service: Option<Text>,
    /// Agents seen, by name, at most 16.
    pub agents: Vec<Text>,
    /// How it stands.
    pub status: Status,
    /// 0 to 100.
    pub score: u32,
    /// The lowest that the score has been.
    pub lowest_score: u32,
    /// Tool calls that were executed, each once.
    pub tool_calls: u64,
    /// Calls that the guard kept from being executed.
    pub skipped_calls: u64,
    /// Model calls.
    pub model_calls: u64,
    /// Tokens of model calls, read and written.
    pub tokens: u64,
    /// Cost in millionths of a US dollar, where the telemetry tells.
    pub cost_microusd: u64,
    /// Whether and how it ended.
    pub ended: Ended,
    /// Start of the earliest event, nanoseconds since 1970; 0 before the first.
    pub first_seen_ns: u64,
    /// End of the latest event, nanoseconds since 1970.
    pub last_seen_ns: u64,
    /// When it was last heard of, milliseconds since 1970.
    pub heard_ms: u64,
    /// Warnings, open ones first, then by rule.
    pub warnings: Vec<Warning>,
    /// What the telemetry did not show, and what that means.
    pub notes: Vec<&'static str>,
    /// Reports that came too late to be put into their place.
    pub late_events: u64,
}

/// The state of one run. Plain fields, so that the store can write them; nobody but [`step`] changes them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunState {
    pub(crate) id: Text,
    pub(crate) session_id: Option<Text>,
    pub(crate) service: Option<Text>,
    /// When it was last heard of, milliseconds since 1970.
    pub(crate) heard_ms: u64,
    /// The newest reports, in the order of [`Place`].
    pub(crate) window: Vec<Event>,
    /// What has left the window.
    pub(crate) base: Fold,
    /// Reports before this have left the window.
    pub(crate) base_until: Option<Place>,
    /// Identities of the newest reports, newest last.
    pub(crate) recent_ids: Vec<u64>,
    /// Call ids that have left the window, newest last.
    pub(crate) folded_calls: Vec<u64>,
    /// Hashes of the ids of runs that were absorbed.
    pub(crate) absorbed: Vec<u64>,
    pub(crate) published: Vec<Published>,
    pub(crate) closed: bool,
    pub(crate) end_announced: bool,
    pub(crate) late: u64,
    pub(crate) repeated: u64,
    /// `base` with the window on top: derived, never stored, absent until it is needed.
    pub(crate) tip: Option<Box<Fold>>,
}

/// Where a report stands in a run: by start; agents before what they do, outer ones before inner ones; a run's end by
/// when it ended. Ties are broken by identity (`conventions.md` §8.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) at_ns: u64,
    pub(crate) class: u8,
    pub(crate) then_ns: u64,
    pub(crate) id: u64,
}

/// What was last announced of a warning.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Published {
    pub(crate) id: u64,
    pub(crate) revision: u32,
    pub(crate) count: u64,
    pub(crate) severity: Severity,
    pub(crate) state: WarningState,
    /// The warning itself, kept to be able to resolve it if late reports take it back.
    pub(crate) kept: Kept,
}

/// Advances a run by one input, and says what that changed.
pub fn step(state: &mut RunState, input: &Input, policy: &Policy) -> Vec<Change> {
    match input {
        Input::Reports {
            at_ms,
            session_id,
            service,
            events,
        } => {
            state.heard_ms = state.heard_ms.max(*at_ms);
            state.label(session_id.as_ref(), service.as_ref());
            state.take(events, policy);
        }
        Input::Idle { at_ms } => {
            state.closed = true;
            state.heard_ms = state.heard_ms.max(*at_ms);
        }
        Input::Absorb(other) => state.absorb(other, policy),
    }
    state.ensure_tip(policy);
    state.announce()
}

impl RunState {
    /// The state of a run of which nothing is known yet. The id goes into the ids of its warnings.
    #[must_use]
    pub fn new(run_id: Text) -> Self {
        Self {
            id: run_id,
            ..Self::default()
        }
    }

    /// The run's id.
    #[must_use]
    pub fn id(&self) -> &Text {
        &self.id
    }

    /// When it was last heard of, milliseconds since 1970.
    #[must_use]
    pub fn heard_ms(&self) -> u64 {
        self.heard_ms
    }

    /// Whether it was closed after the idle time and nothing has come since.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Reports that were delivered again and changed nothing.
    #[must_use]
    pub fn repeated(&self) -> u64 {
        self.repeated
    }

    /// The run as it is shown.
    #[must_use]
    pub fn view(&self, policy: &Policy) -> RunView {
        let folded;
        let tip = if let Some(tip) = &self.tip {
            tip
        } else {
            folded = Box::new(self.fold_window(policy));
            &folded
        };
        let totals = &tip.totals;
        let lost = health::lost(tip, policy);
        let mut warnings: Vec<Warning> =
            tip.warnings.iter().map(|kept| self.warning(kept)).collect();
        warnings.sort_by_key(|warning| {
            (
                warning.state == WarningState::Resolved,
                warning.rule,
                warning.id,
            )
        });
        RunView {
            run_id: self.id.clone(),
            session_id: self.session_id.clone(),
            service: self.service.clone(),
            agents: tip.agents.clone(),
            status: health::status(tip, policy),
            score: 100 - lost,
            lowest_score: 100 - lost.max(totals.worst),
            tool_calls: totals.tool_calls,
            skipped_calls: 0,
            model_calls: totals.model_calls,
            tokens: totals.tokens,
            cost_microusd: totals.cost_microusd,
            ended: self.ended(tip),
            first_seen_ns: totals.first_ns,
            last_seen_ns: totals.last_ns,
            heard_ms: self.heard_ms,
            warnings,
            notes: notes(tip),
            late_events: self.late,
        }
    }

    /// Resolves what was announced and is open, for a run that goes on under another id.
    #[must_use]
    pub fn retire(&mut self) -> Vec<Change> {
        let run_id = self.id.clone();
        let open = self
            .published
            .iter_mut()
            .filter(|known| known.state == WarningState::Open);
        open.map(|known| known.take_back(&run_id)).collect()
    }

    fn label(&mut self, session_id: Option<&Text>, service: Option<&Text>) {
        if self.session_id.is_none() {
            self.session_id = session_id.cloned();
        }
        if self.service.is_none() {
            self.service = service.cloned();
        }
    }

    fn take(&mut self, events: &[Event], policy: &Policy) {
        self.ensure_tip(policy);
        for event in events {
            if self.recent_ids.contains(&event.id) {
                self.tell_again(event);
                continue;
            }
            push_bounded(&mut self.recent_ids, event.id, RECENT_IDS_MAX);
            self.closed = false;
            self.place(event, policy);
        }
    }

    /// A report that is known already. A span and a log record may tell of one event under one identity but with times of
    /// their own: the earlier one stands, whichever came first.
    fn tell_again(&mut self, event: &Event) {
        let known = self.window.iter().position(|other| other.id == event.id);
        match known.filter(|index| Place::of(event) < Place::of(&self.window[*index])) {
            Some(index) => {
                self.window.remove(index);
                self.insert(event);
            }
            None => self.repeated += 1,
        }
    }

    /// Puts a report into its place among the others.
    fn insert(&mut self, event: &Event) {
        let place = Place::of(event);
        let index = self
            .window
            .partition_point(|other| Place::of(other) < place);
        self.window.insert(index, event.clone());
        self.tip = None;
    }

    fn place(&mut self, event: &Event, policy: &Policy) {
        let place = Place::of(event);
        let told = call_id(event).is_some_and(|id| self.folded_calls.contains(&id));
        if told || self.base_until.is_some_and(|until| place <= until) {
            // The outermost agent starts before everything and is reported last: that is no lateness.
            self.late += u64::from(!matches!(event.body, Body::AgentSpan(_)));
            return;
        }
        let newest = self
            .window
            .last()
            .is_none_or(|last| Place::of(last) < place);
        if newest && !calls::belongs_to_any(&self.window, event) {
            if let Some(tip) = &mut self.tip {
                tip.apply(&Step::first(0, event), policy);
            }
            self.window.push(event.clone());
        } else {
            self.insert(event);
        }
        if self.window.len() >= WINDOW_EVENTS_MAX {
            self.leave(policy);
        }
    }

    /// Folds the oldest steps of the window into the base.
    fn leave(&mut self, policy: &Policy) {
        let mut gone = Vec::new();
        for step in calls::steps(&self.window).iter().take(LEAVE_TOGETHER) {
            self.base.apply(step, policy);
            let first = step
                .places()
                .next()
                .and_then(|place| self.window.get(place))
                .map(Place::of);
            self.base_until = self.base_until.max(first);
            gone.extend(step.places());
        }
        for place in &gone {
            if let Some(id) = self.window.get(*place).and_then(call_id) {
                push_bounded(&mut self.folded_calls, id, FOLDED_CALLS_MAX);
            }
        }
        let mut place = 0;
        self.window.retain(|_| {
            place += 1;
            !gone.contains(&(place - 1))
        });
    }

    fn ensure_tip(&mut self, policy: &Policy) {
        if self.tip.is_none() {
            self.tip = Some(Box::new(self.fold_window(policy)));
        }
    }

    fn fold_window(&self, policy: &Policy) -> Fold {
        let mut fold = self.base.clone();
        for step in calls::steps(&self.window) {
            fold.apply(&step, policy);
        }
        fold
    }

    fn absorb(&mut self, other: &Self, policy: &Policy) {
        self.heard_ms = self.heard_ms.max(other.heard_ms);
        self.label(other.session_id.as_ref(), other.service.as_ref());
        let name = text_hash(&other.id);
        if !self.absorbed.contains(&name) {
            push_bounded(&mut self.absorbed, name, ABSORBED_MAX);
            self.base.absorb(&other.base);
            self.late += other.late;
            self.tip = None;
        }
        self.take(&other.window, policy);
    }

    fn ended(&self, tip: &Fold) -> Ended {
        if tip.totals.failed {
            Ended::Failed
        } else if !self.closed {
            Ended::Open
        } else if tip.totals.root_seen {
            Ended::Ok
        } else {
            Ended::Idle
        }
    }

    fn warning(&self, kept: &Kept) -> Warning {
        let id = warning_id(&self.id, kept);
        let revision = self
            .published
            .iter()
            .find(|known| known.id == id)
            .map_or(1, |known| known.revision);
        shown(&self.id, kept, revision)
    }

    /// What differs between what is kept and what was announced.
    fn announce(&mut self) -> Vec<Change> {
        let Some(tip) = self.tip.take() else {
            return Vec::new();
        };
        let mut changes = Vec::new();
        for kept in &tip.warnings {
            self.announce_one(kept, &mut changes);
        }
        let run_id = self.id.clone();
        let ids: Vec<u64> = tip
            .warnings
            .iter()
            .map(|kept| warning_id(&run_id, kept))
            .collect();
        for known in &mut self.published {
            if known.state == WarningState::Open && !ids.contains(&known.id) {
                changes.push(known.take_back(&run_id));
            }
        }
        let ended = self.ended(&tip) != Ended::Open;
        if ended && !self.end_announced {
            changes.push(Change::RunEnded);
        }
        self.end_announced = ended;
        self.tip = Some(tip);
        changes
    }

    fn announce_one(&mut self, kept: &Kept, changes: &mut Vec<Change>) {
        let id = warning_id(&self.id, kept);
        let place = self.published.iter().position(|known| known.id == id);
        let Some(known) = place.and_then(|place| self.published.get_mut(place)) else {
            let mut known = Published::first(id, kept);
            changes.push(known.change(&self.id, ChangeKind::Raised));
            if !kept.open {
                known.revision += 1;
                changes.push(known.change(&self.id, ChangeKind::Resolved));
            }
            push_bounded(&mut self.published, known, PUBLISHED_MAX);
            return;
        };
        let kind = match (known.state, kept.state()) {
            (WarningState::Open, WarningState::Resolved) => ChangeKind::Resolved,
            (WarningState::Resolved, WarningState::Open) => ChangeKind::Reopened,
            _ if known.count == kept.count && known.severity == kept.severity => return,
            _ => ChangeKind::Updated,
        };
        let revision = known.revision + 1;
        *known = Published {
            revision,
            ..Published::first(id, kept)
        };
        changes.push(known.change(&self.id, kind));
    }
}

impl Place {
    pub(crate) fn of(event: &Event) -> Self {
        let (at_ns, class, then_ns) = match &event.body {
            Body::AgentSpan(_) => (event.start_ns, 0, u64::MAX - event.end_ns),
            Body::Handoff(_) => (event.start_ns, 2, event.end_ns),
            Body::RunEnd(_) => (event.end_ns, 3, event.end_ns),
            _ => (event.start_ns, 1, event.end_ns),
        };
        Self {
            at_ns,
            class,
            then_ns,
            id: event.id,
        }
    }
}

impl Published {
    fn first(id: u64, kept: &Kept) -> Self {
        Self {
            id,
            revision: 1,
            count: kept.count,
            severity: kept.severity,
            state: kept.state(),
            kept: kept.clone(),
        }
    }

    fn change(&self, run_id: &Text, kind: ChangeKind) -> Change {
        Change::Warning {
            kind,
            warning: Box::new(shown(run_id, &self.kept, self.revision)),
        }
    }

    fn take_back(&mut self, run_id: &Text) -> Change {
        self.revision += 1;
        self.state = WarningState::Resolved;
        self.kept.open = false;
        self.change(run_id, ChangeKind::Resolved)
    }
}

fn call_id(event: &Event) -> Option<u64> {
    match &event.body {
        Body::ToolCall(call) => call.call_id,
        Body::ModelCall(model) => model.call_id,
        _ => None,
    }
}

fn warning_id(run_id: &Text, kept: &Kept) -> u64 {
    stable(&[
        run_id.as_bytes(),
        kept.rule.name().as_bytes(),
        &kept.group.to_be_bytes(),
    ])
}

fn shown(run_id: &Text, kept: &Kept, revision: u32) -> Warning {
    let concerned = kept.tool.as_deref().or(kept.agent.as_deref()).unwrap_or("");
    Warning {
        id: warning_id(run_id, kept),
        incident: stable(&[run_id.as_bytes(), b"incident", concerned.as_bytes()]),
        revision,
        rule: kept.rule,
        severity: kept.severity,
        penalty: kept.penalty,
        count: kept.count,
        tool: kept.tool.clone(),
        agent: kept.agent.clone(),
        state: kept.state(),
        first_seen_ns: kept.first_ns,
        last_seen_ns: kept.last_ns,
        evidence: kept.evidence.clone(),
        tokens: kept.spent.tokens,
        cost_microusd: kept.spent.cost_microusd,
        what_happened: wording::what_happened(kept),
        why_it_matters: wording::why_it_matters(kept).to_owned(),
        what_to_try: wording::what_to_try(kept).to_owned(),
    }
}

fn notes(tip: &Fold) -> Vec<&'static str> {
    let facts = &tip.notes;
    let mut notes = Vec::new();
    if health::is_blind(tip) {
        notes.push(
            "models asked for tools but the telemetry shows no tool call: loops cannot be seen",
        );
    }
    if facts.input_missing {
        notes.push("arguments of some calls were not recorded: rules that compare arguments leave them out");
    }
    if facts.input_redacted {
        notes.push(
            "arguments of some calls are redacted: rules that compare arguments leave them out",
        );
    }
    if facts.output_missing {
        notes.push("results of some calls were not recorded: repeats of them are judged with less confidence");
    }
    if facts.warnings_full {
        notes.push("the run has more warnings than are kept");
    }
    if facts.absorbed {
        notes.push(
            "the beginning of the run was kept under another id and is only part of the totals",
        );
    }
    notes
}
