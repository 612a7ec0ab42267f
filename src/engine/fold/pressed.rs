//! What is pressed once more a few pixels further: whoever reads a place off a picture hits another pixel of one button each time.

use std::ops::Range;

use crate::engine::tool_name;
use crate::engine::window::calls::Call;

use super::Fold;
use super::fruitless::is_at_place;
use super::marks::CallMark;
use super::outcome::Outcome;
use super::sample::members;

/// Farthest in each direction that a press is from another one of the same thing: lines of a list are further apart.
const NEAR_PIXELS: f64 = 12.0;

/// Lowest of the higher coordinates of a place on a screen: those of a board or a map are lower.
const PIXELS_MIN: f64 = 100.0;

/// How the arguments of a tool that works all of a screen say that something is pressed.
const CLICKS: [&str; 2] = ["click\"", "\"tap\""];

/// What stands before the place in a shell's command that presses there.
const COMMANDS: [&str; 2] = [" input tap ", "xdotool mousemove "];

/// What the shell of a telephone does with its screen, behind ` input `.
const INPUTS: [&str; 4] = ["tap ", "text ", "keyevent ", "swipe "];

/// Whether a shell's command works a screen.
pub(super) fn works_screen(sample: &str) -> bool {
    let mut inputs = sample.split(" input ").skip(1);
    inputs.any(|input| INPUTS.iter().any(|begin| input.starts_with(begin)))
        || sample.contains("xdotool ")
}

/// Whether such a command presses at a place.
pub(super) fn is_command(sample: &str) -> bool {
    COMMANDS.iter().any(|command| sample.contains(command))
}

impl Fold {
    /// The newest call that pressed where this one does, or so near that it pressed the same, and did not fail.
    pub(crate) fn pressed_before(&self, call: &Call<'_>, tool: u64) -> Option<&CallMark> {
        let sample = call.input.sample();
        let name = call.tool.map_or("", |tool| &**tool);
        let says_so = || CLICKS.iter().any(|word| sample.contains(word)) || is_command(sample);
        let presses = || tool_name::presses(name) || says_so();
        if !is_at_place(sample) || !presses() {
            return None;
        }
        let place = Place::of(sample)?;
        let is_near = |mark: &&CallMark| {
            let other = Place::of(&mark.sample);
            mark.outcome != Outcome::Failed && other.is_some_and(|other| place.is_near(&other))
        };
        self.recent.of_tool(tool).find(is_near)
    }
}

/// A place on a screen, and what arguments say before, between and behind its two numbers.
struct Place<'s> {
    at: [f64; 2],
    rest: [&'s str; 3],
}

impl<'s> Place<'s> {
    fn of(sample: &'s str) -> Option<Self> {
        let [x, y] = by_names(sample)
            .or_else(|| in_list(sample))
            .or_else(|| in_command(sample))?;
        let number = |place: &Range<usize>| sample[place.clone()].trim().parse::<f64>().ok();
        let at = [number(&x)?, number(&y)?];
        let is_of_screen = at[0].max(at[1]) >= PIXELS_MIN;
        let rest = [
            &sample[..x.start],
            &sample[x.end..y.start],
            &sample[y.end..],
        ];
        is_of_screen.then_some(Self { at, rest })
    }

    fn is_near(&self, other: &Self) -> bool {
        let pairs = self.at.iter().zip(other.at);
        let mut apart = pairs.map(|(own, other)| (own - other).abs());
        self.rest == other.rest && apart.all(|pixels| pixels <= NEAR_PIXELS)
    }
}

/// Where the numbers stand of which the names say what they are: `"x":412,"y":733`.
fn by_names(sample: &str) -> Option<[Range<usize>; 2]> {
    let named = |name: &str| members(sample).find(|member| member.name == name);
    let (x, y) = (named("x")?.place, named("y")?.place);
    (x.end < y.start).then_some([x, y])
}

/// The same of a list: `"coordinate":[412,733]`.
fn in_list(sample: &str) -> Option<[Range<usize>; 2]> {
    const NAME: &str = "\"coordinate\":[";
    let start = sample.find(NAME)? + NAME.len();
    let comma = start + sample[start..].find(',')?;
    let end = comma + sample[comma..].find(']')?;
    Some([start..comma, comma + 1..end])
}

/// The same of a command: `adb shell input tap 412 733`.
fn in_command(sample: &str) -> Option<[Range<usize>; 2]> {
    let mut ends = COMMANDS
        .iter()
        .filter_map(|command| Some(sample.find(command)? + command.len()));
    let start = ends.next()?;
    let digits = |from: usize| {
        let is_other = |sign: char| !sign.is_ascii_digit();
        let length = sample[from..].find(is_other)?;
        (length > 0).then_some(from..from + length)
    };
    let x = digits(start)?;
    let is_parted = sample[x.end..].starts_with(' ');
    let y = is_parted.then(|| digits(x.end + 1)).flatten()?;
    Some([x, y])
}

#[cfg(test)]
mod tests {
    use super::Place;

    /// Given two places on a screen, they are near where both numbers are, and nothing else differs; on a board they are not.
    #[test]
    fn places_that_are_near() {
        let check = |left: &str, right: &str, expected: bool| {
            let near = Place::of(left)
                .zip(Place::of(right))
                .is_some_and(|(left, right)| left.is_near(&right));
            assert_eq!(near, expected, "{left} {right}");
        };
        check(r#"{"x":412,"y":73}"#, r#"{"x":418,"y":69}"#, true);
        check(r#"{"x":412,"y":73}"#, r#"{"x":412,"y":97}"#, false);
        check(
            r#"{"button":"left","x":412,"y":73}"#,
            r#"{"button":"right","x":412,"y":73}"#,
            false,
        );
        let list = |at: &str| format!(r#"{{"action":"left_click","coordinate":[{at}]}}"#);
        check(&list("412,73"), &list("409.5,70"), true);
        check(&list("412,73"), &list("309,70"), false);
        check(r#"{"x":4,"y":7}"#, r#"{"x":5,"y":7}"#, false);
        check(
            r#"{"x":412,"y":73,"z":5}"#,
            r#"{"x":412,"y":73,"z":6}"#,
            false,
        );
        let taps = |at: &str| format!(r#"{{"command":"adb shell input tap {at}"}}"#);
        check(&taps("412 733"), &taps("418 730"), true);
        check(&taps("412 733"), &taps("412 790"), false);
        check(&taps("412"), &taps("413"), false);
        check(&taps("412é 733"), &taps("412é 733"), false);
        check(
            r#"{"command":"xdotool mousemove 412 73 click 1"}"#,
            r#"{"command":"xdotool mousemove 409 70 click 1"}"#,
            true,
        );
        check(
            r#"{"command":"xdotool mousemove 412 73 click 1"}"#,
            r#"{"command":"xdotool mousemove 412 73 click 3"}"#,
            false,
        );
        check(r#"{"x":412}"#, r#"{"x":413}"#, false);
        check(r#"{"coordinate":[412"#, r#"{"coordinate":[413"#, false);
    }
}
