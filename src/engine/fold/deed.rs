//! What something that was done has changed: nothing, where the same is seen behind it as before it, or the same once more, where
//! it was done before.
//!
//! What is written changes something, whatever is answered, and most answers say no more than that it was done. Two do say more. A
//! page that is shown behind a click as it was shown before it tells that the click did nothing. And an order, an issue, or a row
//! that is made with the very same words is made twice, though its number is a new one each time.

use crate::engine::event::{Manner, SAID_BYTES_MIN, Value};
use crate::engine::tool_name;
use crate::engine::window::calls::Call;

use super::judge::Judged;
use super::outcome::{ACKNOWLEDGEMENT_BYTES_MAX, Outcome};
use super::trend::Trend;
use super::{Fold, batch};

/// Shortest result that is a page rather than a word that it was done, where the same tool showed it: clicks and edits are
/// acknowledged in up to so many bytes.
const PAGE_BYTES_MIN: u32 = 256;

/// How a command for a database begins that does so.
const INSERTS: &str = "\"insert into ";

impl Fold {
    /// Whether the same page is shown behind a call as before it, and it did not merely look. What is filled in may not be shown.
    pub(crate) fn leaves_page(&self, judged: &Judged<'_>) -> bool {
        let sample = judged.call.input.sample();
        let fills_in = || FILLED_IN.iter().any(|name| sample.contains(name));
        let shows_the_same = |shown| self.shows_the_same(judged.tool_hash, judged.call, shown);
        judged.outcome == Outcome::Stale
            && judged.call.manner != Manner::Looks
            && judged.call.output.value().is_some_and(shows_the_same)
            && !fills_in()
    }

    /// Whether what a call shows is what the newest call showed: the same page, behind what was done as before it.
    pub(super) fn shows_the_same(&self, tool: u64, call: &Call<'_>, shown: &Value) -> bool {
        let sent = call.input.bytes();
        let speaks = shown.bytes > ACKNOWLEDGEMENT_BYTES_MAX.max(sent);
        let newest = self.recent.back().filter(|_| speaks);
        newest.is_some_and(|mark| {
            mark.result() == Some(shown.masked)
                && (mark.tool != tool || shown.bytes >= PAGE_BYTES_MIN)
        })
    }
}

/// Names of arguments that hold what is filled in.
const FILLED_IN: [&str; 2] = ["\"text\":", "\"value\":"];

/// Whether a call makes again what the same call before has made: of what came back nothing but the numbers is new.
pub(super) fn makes_again(call: &Call<'_>, trend: Option<&Trend>, before: Option<&Trend>) -> bool {
    let (Some(trend), Some(before)) = (trend, before) else {
        return false;
    };
    let again = trend.frame() == before.frame() && trend.numbers != before.numbers;
    let said = call.input.value();
    again
        && said.is_some_and(|value| {
            let tool = call.tool.map_or("", |tool| &**tool);
            value.bytes as usize >= SAID_BYTES_MIN
                && ((call.manner.writes() && tool_name::makes(tool))
                    || batch::says(&value.sample, INSERTS))
        })
}
