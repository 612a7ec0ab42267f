//! Runs as a table. A run's id is always whole, because it is what the next command asks for; everything else gives way
//! where the page is narrow. One that is very long only shifts the rest of its own row.

use std::fmt::Write as _;
use std::time::SystemTime;

use super::text::{Look, Paint, clean, columns, fit, pad, short_number, short_time};
use super::{cost, incidents, rule_and_count, score, severity_paint, status_paint, words};
use crate::json::{RunJson, WarningJson};

/// Room left for the worst warning at the end of a table's row; with less it gets a line of its own.
const WORST_COLUMNS_MIN: usize = 43;

/// Longest run id that makes its column wider: UUIDs have 36 columns. On pages of which half is wider, it is that half.
const RUN_COLUMNS_MAX: usize = 36;

/// Widest that the agents of a run may be in a table. Where they are not cut, more of them shift the rest of their own row.
const AGENTS_COLUMNS_MAX: usize = 20;

/// Narrowest that they are cut to before columns are left out.
const AGENTS_COLUMNS_MIN: usize = 8;

/// Runs as a table, in the order given, with `now` as the end of all ages. Ends with a line break.
///
/// Where the page is narrow, the worst warning moves to a line of its own, agents are cut, and then columns are left out;
/// a run's id is always whole, because it is what the next command asks for. Where lines are not cut, everything is there.
#[must_use]
pub fn runs_table(look: Look, runs: &[RunJson], now: SystemTime) -> String {
    if runs.is_empty() {
        return "No runs.\n".to_owned();
    }
    let room = look.room();
    let agents_max = if look.cuts { AGENTS_COLUMNS_MAX } else { room };
    let row = |run: &RunJson| Row::of(run, agents_max, now);
    let rows: Vec<Row> = runs.iter().map(row).collect();
    let mut widths = [0; COLUMNS];
    for (column, width) in widths.iter_mut().enumerate() {
        let cells = rows.iter().map(|row| columns(&row.cells[column]));
        let counts = |width: &usize| match column {
            RUN => *width <= RUN_COLUMNS_MAX.max(look.width / 2),
            AGENTS => *width <= AGENTS_COLUMNS_MAX,
            _ => true,
        };
        *width = cells
            .filter(counts)
            .chain([columns(HEADS[column])])
            .max()
            .unwrap_or_default();
    }
    squeeze(&mut widths, room);
    let taken = total(&widths);
    let beside = (taken + WORST_COLUMNS_MIN <= room).then(|| room - taken);
    let mut head = table_line(look, &HEADS.map(str::to_owned), &widths);
    if beside.is_some() {
        head.push_str("WORST WARNING");
    }
    let mut table = look.paint(Paint::Faint, head.trim_end()) + "\n";
    for row in &rows {
        row.write(&mut table, look, &widths, beside);
    }
    table
}

/// Columns of the table before the worst warning.
const COLUMNS: usize = 8;

const HEADS: [&str; COLUMNS] = [
    "STATUS",
    "SCORE",
    "RUN",
    "AGENTS",
    "CALLS",
    "TOKENS",
    "COST",
    "LAST SEEN",
];

const RUN: usize = 2;

const AGENTS: usize = 3;

const LAST_SEEN: usize = 7;

const RIGHT_ALIGNED: [usize; 4] = [1, 4, 5, 6];

/// Columns that a narrow page goes without, the first to leave first: cost, tokens, calls, agents, last seen.
const DISPENSABLE: [usize; 5] = [6, 5, 4, AGENTS, LAST_SEEN];

/// Makes the table narrower until it fits or nothing more can leave. A column of width 0 is not shown. Agents get what is left.
fn squeeze(widths: &mut [usize; COLUMNS], room: usize) {
    let agents = widths[AGENTS];
    widths[AGENTS] = agents.min(AGENTS_COLUMNS_MIN);
    for column in DISPENSABLE {
        if total(widths) > room {
            widths[column] = 0;
        }
    }
    if widths[AGENTS] > 0 {
        let left = room.saturating_sub(total(widths));
        widths[AGENTS] = agents.min(widths[AGENTS] + left);
    }
}

fn total(widths: &[usize; COLUMNS]) -> usize {
    widths
        .iter()
        .filter(|width| **width > 0)
        .map(|width| width + 2)
        .sum()
}

/// A run in a table.
struct Row {
    cells: [String; COLUMNS],
    status: Paint,
    worst: Option<(Paint, String)>,
}

impl Row {
    fn of(run: &RunJson, agents_max: usize, now: SystemTime) -> Self {
        Self {
            cells: [
                words(&run.status),
                score(run),
                clean(&run.run_id).into_owned(),
                agents(run, agents_max),
                short_number(run.tool_calls),
                short_number(run.tokens),
                cost(run).unwrap_or_else(|| "–".to_owned()),
                age(run.last_seen.as_deref(), now),
            ],
            status: status_paint(&run.status),
            worst: worst_warning(run).map(|warning| {
                let severity = severity_paint(&warning.severity);
                (severity, worst_text(run, warning))
            }),
        }
    }

    /// Adds the row, with the worst warning in `beside` columns at its end or else in a line below.
    fn write(
        &self,
        table: &mut String,
        look: Look,
        widths: &[usize; COLUMNS],
        beside: Option<usize>,
    ) {
        let line = table_line(look, &self.cells, widths);
        let (status, rest) = line.split_at(self.cells[0].len());
        table.push_str(&look.paint(self.status, status));
        match (&self.worst, beside) {
            (Some((paint, worst)), Some(room)) => {
                table.push_str(rest);
                table.push_str(&look.paint(*paint, &fit(worst, room)));
            }
            (Some((paint, worst)), None) => {
                let worst = fit(worst, look.width.saturating_sub(4));
                table.push_str(rest.trim_end());
                table.push_str("\n  ");
                table.push_str(&look.paint(*paint, &format!("└ {worst}")));
            }
            (None, _) => table.push_str(rest.trim_end()),
        }
        table.push('\n');
    }
}

/// Cells in their columns. A run's id is never cut, and where nobody looks, nothing is.
fn table_line(look: Look, cells: &[String; COLUMNS], widths: &[usize; COLUMNS]) -> String {
    let mut line = String::new();
    for column in (0..COLUMNS).filter(|column| widths[*column] > 0) {
        let cell = if column == RUN || !look.cuts {
            cells[column].clone()
        } else {
            fit(&cells[column], widths[column])
        };
        if RIGHT_ALIGNED.contains(&column) {
            line.push_str(&" ".repeat(widths[column] - columns(&cell)));
            line.push_str(&cell);
        } else {
            line.push_str(&pad(&cell, widths[column]));
        }
        line.push_str("  ");
    }
    line
}

/// The first open warning of a run: the engine puts the gravest first, and of these the most telling.
fn worst_warning(run: &RunJson) -> Option<&WarningJson> {
    run.warnings.iter().find(|warning| warning.state == "open")
}

/// How grave the warning is, what it is about, and how many more open incidents the run has.
fn worst_text(run: &RunJson, warning: &WarningJson) -> String {
    let severity = words(&warning.severity);
    let mut text = format!("{severity} {}", rule_and_count(warning));
    if let Some(tool) = &warning.tool {
        let _ = write!(text, " · {}", clean(tool));
    }
    let open = incidents(&run.warnings);
    let open = open.iter().filter(|incident| incident[0].state == "open");
    match open.count() {
        0 | 1 => {}
        all => {
            let _ = write!(text, " +{} more", all - 1);
        }
    }
    text
}

fn agents(run: &RunJson, columns_max: usize) -> String {
    if run.agents.is_empty() {
        return "–".to_owned();
    }
    fit(&clean(&run.agents.join(", ")), columns_max)
}

/// How long ago an RFC 3339 time was.
fn age(time: Option<&str>, now: SystemTime) -> String {
    time.and_then(|time| humantime::parse_rfc3339(time).ok())
        .map(|time| now.duration_since(time).unwrap_or_default().as_secs())
        .map_or_else(
            || "–".to_owned(),
            |seconds| format!("{} ago", short_time(seconds)),
        )
}

#[cfg(test)]
mod tests {
    use super::super::samples::{plain, run};
    use super::*;

    fn table(width: usize) -> String {
        let mut well = run();
        well.run_id = "thread_搜索".to_owned();
        well.agents = vec!["assistant".to_owned()];
        well.status = "healthy".to_owned();
        well.score = 100;
        well.warnings.clear();
        (well.cost_usd, well.unpriced_models) = (0.0, vec!["homemade".to_owned()]);
        let now = humantime::parse_rfc3339("2026-11-21T14:05:00Z").expect("a time");
        runs_table(plain(width), &[run(), well], now)
    }

    // Given a wide page; a run is a line with its worst warning, and a cost that nobody knows is not said to be nothing.
    #[test]
    fn a_wide_table_has_a_line_for_a_run() {
        let expected = "\
STATUS        SCORE  RUN                               AGENTS              CALLS  TOKENS   COST  LAST SEEN  WORST WARNING
likely stuck     45  4bf92f3577b34da6a3ce929d0e0e4736  researcher, writer     34  120.4k  $0.41  1 min ago  warning repeated_tool_call_exact_input ×4 · web_…
healthy         100  thread_搜索                       assistant              34  120.4k      –  1 min ago
";
        assert_eq!(table(157), expected);
    }

    // Given narrower pages; the worst warning gets its own line, agents are cut, columns leave, and no line is too long.
    #[test]
    fn a_narrow_table_keeps_what_matters() {
        let expected = "\
STATUS        SCORE  RUN                               AGENTS      CALLS  TOKENS   COST  LAST SEEN
likely stuck     45  4bf92f3577b34da6a3ce929d0e0e4736  researche…     34  120.4k  $0.41  1 min ago
  └ warning repeated_tool_call_exact_input ×4 · web_search
healthy         100  thread_搜索                       assistant      34  120.4k      –  1 min ago
";
        assert_eq!(table(100), expected);
        let expected = "\
STATUS        SCORE  RUN                               AGENTS        LAST SEEN
likely stuck     45  4bf92f3577b34da6a3ce929d0e0e4736  researcher,…  1 min ago
  └ warning repeated_tool_call_exact_input ×4 · web_search
healthy         100  thread_搜索                       assistant     1 min ago
";
        assert_eq!(table(80), expected);
        let expected = "\
STATUS        SCORE  RUN
likely stuck     45  4bf92f3577b34da6a3ce929d0e0e4736
  └ warning repeated_tool_call_exact_input ×4 · web_search
healthy         100  thread_搜索
";
        assert_eq!(table(60), expected);
    }

    // Given nobody who looks; a row has everything, however long it is, and the rows of others are as they were.
    #[test]
    fn a_table_that_is_searched_is_not_cut() {
        let mut many = run();
        many.agents.push("a".repeat(200));
        let look = Look {
            cuts: false,
            ..plain(60)
        };
        let alone = runs_table(look, &[run()], SystemTime::UNIX_EPOCH);
        let both = runs_table(look, &[run(), many], SystemTime::UNIX_EPOCH);
        assert!(both.starts_with(&alone), "{both}");
        let row = both.lines().last().expect("it has rows");
        assert!(
            row.ends_with("  warning repeated_tool_call_exact_input ×4 · web_search"),
            "{row}"
        );
        assert!(
            row.contains(&format!("researcher, writer, {}  ", "a".repeat(200))),
            "{row}"
        );
    }

    // Given a run of which nothing can be said, and one with several open incidents; no score and no agent is made up for the one,
    // and the others are counted, but not what else saw the same.
    #[test]
    fn a_row_says_what_is_known() {
        let mut blind = run();
        (blind.status, blind.score) = ("blind".to_owned(), 100);
        blind.agents.clear();
        blind.warnings.clear();
        let mut several = run();
        for (incident, state) in [
            ("0f3a9c4be1d27786", "open"),
            ("b", "open"),
            ("c", "resolved"),
        ] {
            several.warnings.push(WarningJson {
                incident: incident.to_owned(),
                state: state.to_owned(),
                ..several.warnings[0].clone()
            });
        }
        let table = runs_table(plain(200), &[blind, several], SystemTime::UNIX_EPOCH);
        let rows: Vec<&str> = table.lines().skip(1).collect();
        let expected =
            "blind             –  4bf92f3577b34da6a3ce929d0e0e4736  –                      34";
        assert!(rows[0].starts_with(expected), "{table}");
        assert!(rows[1].ends_with(" · web_search +1 more"), "{table}");
    }

    // Given one run with a very long id; it is whole, and the rows of the others are as they were.
    #[test]
    fn a_long_id_shifts_its_own_row_alone() {
        let mut long = run();
        long.run_id = "x".repeat(900);
        long.warnings.clear();
        let now = SystemTime::UNIX_EPOCH;
        let alone = runs_table(plain(100), &[run()], now);
        let both = runs_table(plain(100), &[run(), long], now);
        assert!(both.starts_with(&alone), "{both}");
        let row = both.lines().last().expect("it has rows");
        let ids = format!("  {}  researche…", "x".repeat(900));
        assert!(row.contains(&ids) && row.ends_with("ago"), "{row}");
    }

    // Given colours; they take no columns.
    #[test]
    fn colours_take_no_columns() {
        let colored = runs_table(
            Look {
                color: true,
                width: 157,
                cuts: true,
            },
            &[run()],
            SystemTime::UNIX_EPOCH,
        );
        let plain = runs_table(plain(157), &[run()], SystemTime::UNIX_EPOCH);
        let codes = ["\x1b[0m", "\x1b[2m", "\x1b[1;31m", "\x1b[1;33m"];
        let stripped = codes
            .iter()
            .fold(colored, |text, code| text.replace(code, ""));
        assert_eq!(stripped, plain);
    }

    // Given no runs; the answer is a sentence.
    #[test]
    fn an_empty_table_says_so() {
        assert_eq!(
            runs_table(plain(100), &[], SystemTime::UNIX_EPOCH),
            "No runs.\n"
        );
    }
}
