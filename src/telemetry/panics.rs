//! What is logged of a panic: where it was, and nothing of what it was about.
//!
//! The text of a panic may hold anything that was read from a sender: a slice of a text that fails shows the text. So the
//! runtime's own report is replaced by a line of ours, with the functions of ours that led there.

use std::backtrace::Backtrace;
use std::panic;

use super::events::Panicked;

/// Most functions that are named.
const FUNCTIONS_MAX: usize = 8;

/// Has panics logged without their text, from now on, in the whole process.
pub(super) fn log_places_only() {
    panic::set_hook(Box::new(|panic| {
        let place = panic
            .location()
            .map_or_else(String::new, ToString::to_string);
        let way = way(&Backtrace::force_capture().to_string());
        Panicked {
            place: &place,
            way: &way,
        }
        .emit();
    }));
}

/// The functions of ours in a backtrace, innermost first.
fn way(backtrace: &str) -> String {
    let functions = backtrace.lines().filter_map(|line| {
        let (number, function) = line.trim().split_once(": ")?;
        number.parse::<u32>().ok()?;
        let is_ours = function.trim_start_matches('<').starts_with("eddy::")
            && !function.contains("eddy::telemetry::panics");
        is_ours.then_some(function)
    });
    let functions: Vec<_> = functions.take(FUNCTIONS_MAX).collect();
    functions.join(" < ")
}

#[cfg(test)]
mod tests {
    use std::backtrace::Backtrace;

    use super::way;

    /// Given a backtrace of this program, its functions are named, and no file.
    #[test]
    fn the_way_is_told() {
        struct Deep;
        impl Deep {
            #[inline(never)]
            fn told() -> String {
                Backtrace::force_capture()
                    .to_string()
                    .replace("telemetry::panics", "a_room")
            }
        }
        let way = way(&Deep::told());
        assert!(
            way.starts_with("eddy::a_room::tests::the_way_is_told"),
            "{way}"
        );
        assert!(!way.contains(".rs"), "{way}");
    }
}
