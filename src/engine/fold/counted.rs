//! Numbers that count the agent's own calls, as that of the moves in a game does: they always grow, and say nothing.

use super::Fold;
use super::marks::CallMark;
use super::trend::Trend;

/// How many times in a row a number must have grown by just the calls that were made since: once it may by chance.
const COUNTED_MIN: usize = 2;

impl Fold {
    /// Whether all that is new in a result are numbers that have grown by the calls made since the same call before, and since the
    /// one before that, and each call in between told one lower than the next: of the tool, or of any. None of these was made once
    /// alone, and there are some: what is polled and nothing else may grow by one each time.
    pub(super) fn counts_calls(&self, key: Option<u64>, trend: Option<&Trend>) -> bool {
        let mut before = self.recent.of_key(key);
        let Some((trend, newest)) = trend.zip(before.next()) else {
            return false;
        };
        let count = || trend.first_new(newest.trend.as_deref()?);
        let Some(count) = before.next().and_then(|_| count()) else {
            return false;
        };
        let is_of_tool = |mark: &CallMark| mark.tool == newest.tool;
        let counts =
            |calls: &mut dyn Iterator<Item = &CallMark>| self.count_those(key, trend, count, calls);
        let mut of_tool = self.recent.iter().rev().filter(|mark| is_of_tool(mark));
        counts(&mut of_tool) || counts(&mut self.recent.iter().rev())
    }

    /// The same of some of the newest calls, the newest first, where a number says how many there were.
    fn count_those(
        &self,
        key: Option<u64>,
        trend: &Trend,
        count: f64,
        newest: &mut dyn Iterator<Item = &CallMark>,
    ) -> bool {
        let (mut others, mut counted) = (0, 0);
        for (calls, mark) in (1_u8..).map(f64::from).zip(newest) {
            let Some(before) = mark.trend.as_deref() else {
                return false;
            };
            if mark.key() != key {
                if self.recent.is_only(mark) || !before.tells(count - calls) {
                    return false;
                }
                others += 1;
                continue;
            }
            if std::mem::take(&mut others) == 0 || !trend.has_grown_by(calls, before) {
                return false;
            }
            counted += 1;
            if counted == COUNTED_MIN {
                return true;
            }
        }
        false
    }
}
