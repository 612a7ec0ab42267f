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

impl Fold {
    /// The newest call that pressed where this one does, or so near that it pressed the same, and did not fail.
    pub(crate) fn pressed_before(&self, call: &Call<'_>, tool: u64) -> Option<&CallMark> {
        let sample = call.input.sample();
        let name = call.tool.map_or("", |tool| &**tool);
        let presses =
            || tool_name::presses(name) || CLICKS.iter().any(|word| sample.contains(word));
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
        let [x, y] = by_names(sample).or_else(|| in_list(sample))?;
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
        check(r#"{"x":412}"#, r#"{"x":413}"#, false);
        check(r#"{"coordinate":[412"#, r#"{"coordinate":[413"#, false);
    }
}
