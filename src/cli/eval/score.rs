//! Verdicts against labels, per data set.

use std::fmt::Write as _;

use serde::Serialize;

use super::watch::Verdict;
use crate::render::text::{clean, columns, fit, pad, wrap};

/// How the verdicts on one data set compare with what is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Score {
    pub(super) dataset: String,
    pub(super) runs: u64,
    /// Labelled as loops and flagged.
    pub(super) true_positives: u64,
    /// Labelled as no loops and flagged.
    pub(super) false_positives: u64,
    /// Labelled as loops and not flagged.
    pub(super) false_negatives: u64,
    /// Labelled as no loops and not flagged.
    pub(super) true_negatives: u64,
    /// Of the flagged runs with a label, the part that are loops; `None` without any.
    pub(super) precision: Option<f64>,
    /// Of the loops, the part that were flagged.
    pub(super) recall: Option<f64>,
    /// The harmonic mean of precision and recall.
    pub(super) f1: Option<f64>,
    /// Of the runs that are no loops, the part that were flagged.
    pub(super) false_positive_rate: Option<f64>,
    /// Events from the onset of a loop to its flag, the median over flagged loops whose onset is known; negative where the
    /// flag came before what the label calls the onset.
    pub(super) median_lag_events: Option<i64>,
    /// Runs without a label whose task was done.
    pub(super) successful: u64,
    /// Those of them that were flagged.
    pub(super) successful_flagged: u64,
    /// Those of them with a critical warning.
    pub(super) successful_critical: u64,
}

/// The scores of all data sets, in the order in which they appear.
pub(super) fn of_datasets(verdicts: &[Verdict]) -> Vec<Score> {
    let mut names: Vec<&str> = Vec::new();
    for verdict in verdicts {
        if !names.contains(&verdict.dataset.as_str()) {
            names.push(&verdict.dataset);
        }
    }
    names
        .into_iter()
        .map(|name| {
            let own: Vec<&Verdict> = verdicts.iter().filter(|v| v.dataset == name).collect();
            Score::of(name, &own)
        })
        .collect()
}

impl Score {
    fn of(dataset: &str, verdicts: &[&Verdict]) -> Self {
        let mut score = Self {
            dataset: dataset.to_owned(),
            runs: verdicts.len() as u64,
            ..Self::default()
        };
        for verdict in verdicts {
            score.count(verdict);
        }
        let flagged = score.true_positives + score.false_positives;
        score.precision = share(score.true_positives, flagged);
        score.recall = share(
            score.true_positives,
            score.true_positives + score.false_negatives,
        );
        score.f1 = share(
            2 * score.true_positives,
            flagged + score.true_positives + score.false_negatives,
        );
        score.false_positive_rate = share(
            score.false_positives,
            score.false_positives + score.true_negatives,
        );
        score.median_lag_events = median_lag(verdicts);
        score
    }

    fn count(&mut self, verdict: &Verdict) {
        let place = match (verdict.label.looping, verdict.flagged) {
            (Some(true), true) => &mut self.true_positives,
            (Some(false), true) => &mut self.false_positives,
            (Some(true), false) => &mut self.false_negatives,
            (Some(false), false) => &mut self.true_negatives,
            (None, _) => {
                self.successful += u64::from(verdict.succeeded);
                self.successful_flagged += u64::from(verdict.succeeded && verdict.flagged);
                self.successful_critical += u64::from(verdict.succeeded && verdict.critical);
                return;
            }
        };
        *place += 1;
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

fn median_lag(verdicts: &[&Verdict]) -> Option<i64> {
    let mut lags: Vec<i64> = verdicts
        .iter()
        .filter(|verdict| verdict.label.looping == Some(true))
        .filter_map(|verdict| {
            let onset = verdict.label.onset()?;
            Some(verdict.first_flag_event? as i64 - onset as i64)
        })
        .collect();
    lags.sort_unstable();
    lags.get(lags.len() / 2).copied()
}

const HEAD: &str = "DATA SET";

/// Columns of the wider table beside the name of a data set.
const NUMBERS_COLUMNS: usize = 62;

/// Narrowest that names are cut to: what a page of 80 columns has room for.
const NAME_COLUMNS_MIN: usize = 18;

/// The scores as a person reads them, on a page of so many columns: how the flags compare with the labels, and below it how many
/// runs were flagged that nobody labelled and whose task was done, where there are some.
pub(super) fn table(width: usize, profile: &str, scores: &[Score]) -> String {
    if scores.is_empty() {
        return "No runs.\n".to_owned();
    }
    let names = scores.iter().map(|score| columns(&clean(&score.dataset)));
    let longest = names.max().unwrap_or_default();
    let room = width.saturating_sub(NUMBERS_COLUMNS).max(NAME_COLUMNS_MIN);
    let name_columns = longest.clamp(HEAD.len(), room);
    let name = |name: &str| match name {
        "" => pad("–", name_columns),
        name => pad(&fit(&clean(name), name_columns), name_columns),
    };
    let mut table = format!(
        "Profile {profile}\n\n{}  RUNS   TP   FP   FN   TN  PRECISION  RECALL    F1   FPR  LAG\n",
        name(HEAD)
    );
    for score in scores {
        let _ = writeln!(
            table,
            "{}  {:>4} {:>4} {:>4} {:>4} {:>4}  {:>9}  {:>6}  {:>4}  {:>4}  {:>3}",
            name(&score.dataset),
            score.runs,
            score.true_positives,
            score.false_positives,
            score.false_negatives,
            score.true_negatives,
            two_digits(score.precision),
            two_digits(score.recall),
            two_digits(score.f1),
            two_digits(score.false_positive_rate),
            score
                .median_lag_events
                .map_or_else(|| "–".to_owned(), |lag| lag.to_string()),
        );
    }
    explain(
        &mut table,
        width,
        "TP, FP, FN, TN count labelled runs. LAG is the median number of events from a loop's onset to its flag.",
    );
    let mut done = scores
        .iter()
        .filter(|score| score.successful > 0)
        .peekable();
    if done.peek().is_none() {
        return table;
    }
    let _ = writeln!(table, "\n{}  SUCCESSFUL  FLAGGED  CRITICAL", name(HEAD));
    for score in done {
        let _ = writeln!(
            table,
            "{}  {:>10}  {:>7}  {:>8}",
            name(&score.dataset),
            score.successful,
            score.successful_flagged,
            score.successful_critical,
        );
    }
    explain(
        &mut table,
        width,
        "These are runs without a label whose task was done: a flag there is most likely a false alarm.",
    );
    table
}

fn explain(table: &mut String, width: usize, text: &str) {
    let _ = writeln!(table, "\n{}", wrap(text, width).join("\n"));
}

fn two_digits(share: Option<f64>) -> String {
    share.map_or_else(|| "–".to_owned(), |share| format!("{share:.2}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::normalize::events_file::Label;

    fn verdict(looping: Option<bool>, flagged: Option<u64>) -> Verdict {
        Verdict {
            dataset: "set".to_owned(),
            run_id: "run".to_owned(),
            flagged: flagged.is_some(),
            critical: false,
            first_flag_event: flagged,
            rules: Vec::new(),
            label: Label {
                looping,
                onset_event: Some(4),
                ..Label::default()
            },
            succeeded: true,
            last_event: 9,
        }
    }

    /// Given no runs, it is said that there are none; a set without a name has a sign in its place.
    #[test]
    fn nothing_is_left_blank() {
        assert_eq!(table(80, "standard", &[]), "No runs.\n");
        let nameless = table(80, "standard", &[Score::default()]);
        assert!(nameless.contains("\n–  "), "{nameless}");
    }

    /// Given verdicts of every kind, each is counted where it belongs and the shares follow from the counts.
    #[test]
    fn verdicts_are_counted() {
        let verdicts = [
            verdict(Some(true), Some(6)),
            verdict(Some(true), Some(7)),
            verdict(Some(true), None),
            verdict(Some(false), Some(2)),
            verdict(Some(false), None),
            verdict(None, Some(1)),
            verdict(None, None),
        ];
        let [score] = &of_datasets(&verdicts)[..] else {
            panic!("one data set");
        };
        assert_eq!(
            (
                score.true_positives,
                score.false_positives,
                score.false_negatives,
                score.true_negatives
            ),
            (2, 1, 1, 1)
        );
        assert_eq!(score.precision, Some(2.0 / 3.0));
        assert_eq!(score.recall, Some(2.0 / 3.0));
        assert_eq!(score.f1, Some(4.0 / 6.0));
        assert_eq!(score.false_positive_rate, Some(0.5));
        assert_eq!(score.median_lag_events, Some(3));
        assert_eq!((score.successful, score.successful_flagged), (2, 1));
    }

    /// Given nothing to divide by, a share is absent and shown as a dash.
    #[test]
    fn nothing_is_no_share() {
        let [score] = &of_datasets(&[verdict(None, None)])[..] else {
            panic!("one data set");
        };
        assert_eq!((score.precision, score.median_lag_events), (None, None));
        assert!(table(80, "standard", std::slice::from_ref(score)).contains('–'));
    }
}
