//! What each of a request's items came to while it was read.

use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use super::budget::Share;
use super::counters::Counters;
use super::outcome::{Accepted, Refused, Written};
use crate::normalize::Report;
use crate::otlp::{Problem, Reason, Signal};

/// How long items are read without letting other tasks run: a guard call must not wait for ten thousand spans, nor for a dozen that
/// hold a megabyte each. Some 64 ordinary ones take less.
const AT_ONCE_MAX: Duration = Duration::from_millis(1);

/// Items of which what they came to is counted together.
const ITEMS_AT_ONCE: usize = 64;

/// Items of one request from which it is worth the time to have their reports take no more than they need.
const ITEMS_MANY: usize = 1_024;

/// What the items of one request came to.
#[derive(Debug, Default)]
pub(super) struct Tally {
    items: usize,
    /// When the first of the items was begun that are read without a pause.
    began: Option<Instant>,
    /// Reports that have been counted as the request's, and their bytes.
    charged: usize,
    charged_bytes: usize,
    /// What has been counted of the report behind them.
    charged_last: usize,
    /// Items that were read.
    pub(super) read: u64,
    refused: [u64; Reason::ALL.len()],
    contexts: [u64; Reason::ALL.len()],
    attributes_left_out: u64,
    undecodable: Option<Problem>,
}

impl Tally {
    /// Before the items are read that a request holds as bytes.
    pub(super) fn of(written: &Written) -> Self {
        let mut tally = Self::default();
        if let Written::Json { unread, .. } = written {
            tally.refused[Reason::Malformed.index()] = *unread;
        }
        tally
    }

    /// Has the next item read and told as reports, unless there is none; `tell` says how many attributes were left out. A
    /// defect of Eddy in that costs the item and not the request, which its sender would send again. The walk is past the item
    /// by then, or ends (`otlp::envelope`).
    pub(super) fn tell(
        &mut self,
        reports: &mut Vec<Report>,
        tell: impl FnOnce(&mut Vec<Report>) -> Option<Result<u32, Problem>>,
    ) -> bool {
        self.began.get_or_insert_with(Instant::now);
        let before = reports.len();
        match catch_unwind(AssertUnwindSafe(|| tell(reports))) {
            Ok(None) => return false,
            Ok(Some(Ok(attributes_left_out))) => {
                self.read += 1;
                self.attributes_left_out += u64::from(attributes_left_out);
            }
            Ok(Some(Err(problem))) => self.note(problem),
            Err(_) => {
                reports.truncate(before);
                self.note(Problem::Refused(Reason::Defect));
            }
        }
        true
    }

    fn note(&mut self, problem: Problem) {
        match problem {
            Problem::Refused(reason) => self.refused[reason.index()] += 1,
            Problem::Context(reason) => self.contexts[reason.index()] += 1,
            Problem::Undecodable(_) => self.undecodable = Some(problem),
        }
    }

    /// Now and then has what was read counted as the request's, and lets other tasks run.
    pub(super) async fn pause(
        &mut self,
        reports: &mut [Report],
        share: &Share,
    ) -> Result<(), Refused> {
        self.items += 1;
        let is_long = (self.began).is_some_and(|began| began.elapsed() >= AT_ONCE_MAX);
        if is_long || self.items.is_multiple_of(ITEMS_AT_ONCE) {
            self.charge(reports, share)?;
            tokio::task::yield_now().await;
            self.began = None;
        }
        Ok(())
    }

    /// Counts what the newest reports take as the request's.
    pub(super) fn charge(&mut self, reports: &mut [Report], share: &Share) -> Result<(), Refused> {
        let Some((last, others)) = reports.split_last_mut() else {
            return Ok(());
        };
        let bytes = |report: &Report| size_of::<Report>() + bytes_of(&report.events);
        let before = self.charged_bytes;
        for report in others.iter_mut().skip(self.charged) {
            if self.items >= ITEMS_MANY {
                // A list that grows has room for four at first, and most of these have one.
                report.events.shrink_to_fit();
            }
            self.charged_bytes += bytes(report);
        }
        self.charged = others.len();
        // More spans may come to the last one.
        let all = self.charged_bytes + bytes(last);
        share.read(all.saturating_sub(before + self.charged_last))?;
        self.charged_last = bytes(last);
        Ok(())
    }

    /// Adds it all to the counters.
    pub(super) fn count(&self, counters: &Counters, signal: Signal) {
        counters.attributes_left_out.add(self.attributes_left_out);
        for reason in Reason::ALL {
            let index = reason.index();
            if let Some(items) = counters.items(signal) {
                items.refused.add(reason, self.refused[index]);
            }
            counters.contexts_left_out.add(reason, self.contexts[index]);
        }
    }

    /// What the sender is told, unless the shards refuse what was read.
    pub(super) fn verdict(&self, written: &Written) -> Result<Accepted, Refused> {
        if let Some(problem) = self.undecodable {
            return Err(Refused::Invalid(problem.to_string()));
        }
        let rejected = self.refused.iter().sum();
        if rejected == 0 {
            return Ok(Accepted::default());
        }
        let mut message = self.message(rejected);
        if let Written::Json {
            fault: Some(fault), ..
        } = written
        {
            write!(message, "; the first malformed one at {fault}")
                .expect("a String takes everything");
        }
        // What is too large or too deep for Eddy is an item all the same, of which those that a request is passed on to may make
        // more.
        let of_another = [Reason::TraceId, Reason::SpanId, Reason::Malformed];
        let of_another = of_another.map(|reason| self.refused[reason.index()]);
        if self.read > 0 || of_another.iter().sum::<u64>() < rejected {
            return Ok(Accepted { rejected, message });
        }
        // Most likely another kind of request altogether: where a log record has its time, a span has an id. Of spans that lack no
        // more than their ids that says nothing. JSON names its lists.
        if *written == Written::Protobuf && self.refused[Reason::Malformed.index()] > 0 {
            message.push_str("; spans and log records each have a path or service of their own");
        }
        Err(Refused::Invalid(message))
    }

    fn message(&self, rejected: u64) -> String {
        let all = rejected + self.read;
        let items = if all == 1 { "item" } else { "items" };
        let reasons = Reason::ALL.into_iter().filter_map(|reason| {
            let count = self.refused[reason.index()];
            (count > 0).then(|| reason.counted(count))
        });
        let reasons: Vec<_> = reasons.collect();
        format!(
            "{rejected} of {all} {items} rejected: {}",
            reasons.join(", ")
        )
    }
}

/// What a list takes.
fn bytes_of<T>(list: &Vec<T>) -> usize {
    list.capacity() * size_of::<T>()
}

#[cfg(test)]
mod tests {
    use super::{Tally, Written};
    use crate::normalize::{Report, RunRef};

    /// Given an item that cannot be told for a defect of ours, it is refused and leaves no report; the others are taken.
    #[test]
    fn a_defect_costs_one_item() {
        let report = || Report {
            run: RunRef::default(),
            events: Vec::new(),
        };
        let (mut tally, mut reports) = (Tally::default(), Vec::new());
        let told = tally.tell(&mut reports, |reports| {
            reports.push(report());
            Some(Ok(1))
        });
        let told_of_defect = tally.tell(&mut reports, |reports| {
            reports.push(report());
            panic!("a defect");
        });
        assert!(told && told_of_defect && !tally.tell(&mut reports, |_| None));
        assert_eq!(
            (reports.len(), tally.read, tally.attributes_left_out),
            (1, 1, 1)
        );
        let accepted = tally.verdict(&Written::Protobuf).expect("one was taken");
        assert_eq!(accepted.rejected, 1);
        assert_eq!(
            accepted.message,
            "1 of 2 items rejected: 1 reading failed by a defect of Eddy"
        );
    }
}
