//! What it costs to compare two calls' arguments: nanoseconds a comparison.
//!
//!     cargo bench --bench similar
//!
//! A comparison is of samples of at most 256 bytes, whatever the arguments are long, and beyond that of two sketches. Of many
//! short blocks the median and the slowest are printed; on a busy machine the slowest tells what interrupted it.

use std::hint::black_box;
use std::time::Instant;

use eddy::engine::similarity::{near, similar};

/// Comparisons of a block, and blocks.
const CALLS: usize = 500;
const BLOCKS: usize = 400;

/// The likeness from which profile `standard` calls arguments alike.
const RATIO: f64 = 0.85;

const WORDS: &str =
    "stream turns upon itself where the bank is steep and then runs on towards the sea ";

fn main() {
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let text = |bytes: usize| WORDS.repeat(13)[..bytes].to_owned();
    let (short, long) = (text(60), text(1_000));
    let other = format!("{}z", &short[1..]);
    // The same letters in another order: no bound decides, and the whole table is walked.
    let scattered: String = long
        .chars()
        .step_by(2)
        .chain(long.chars().skip(1).step_by(2))
        .collect();
    report("60 B, the same", || similar(&short, &short, RATIO));
    report("60 B, one letter at each end", || {
        similar(&short, &other, RATIO)
    });
    report("60 B against 1 kB", || similar(&short, &long, RATIO));
    let digits = "0".repeat(60);
    report("60 B, nothing in common", || {
        similar(&short, &digits, RATIO)
    });
    report("1 kB, the same letters scattered", || {
        similar(&long, &scattered, RATIO)
    });
    report("1 kB, scattered, at ratio 0.3", || {
        similar(&long, &scattered, 0.3)
    });
    report("sketches of 1 kB", || {
        near(black_box(0x1234_5678), black_box(0x1234_5f78), RATIO)
    });
}

/// Prints what one comparison costs.
fn report(name: &str, compare: impl Fn() -> bool) {
    let block = |_| {
        let start = Instant::now();
        for _ in 0..CALLS {
            black_box(compare());
        }
        start.elapsed().as_nanos() as f64 / CALLS as f64
    };
    let mut blocks: Vec<f64> = (0..BLOCKS).map(block).collect();
    blocks.sort_by(f64::total_cmp);
    let (median, worst) = (blocks[BLOCKS / 2], blocks[BLOCKS - 1]);
    println!("{name:34} median {median:6.0} ns, slowest {worst:6.0} ns");
}
