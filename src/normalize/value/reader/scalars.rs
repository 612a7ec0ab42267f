//! What is kept of nothing, flags and numbers.

use std::io::Write;

use super::super::attempts;
use super::super::digest::{Digest, Shape, scalar};
use super::super::drawn::Drawn;
use super::super::hash::mix;
use super::super::mask;
use super::{Reader, VOLATILE};

// Each kind of value has a number of its own, here and in `reader`, that is part of its hash.
const NULL: u64 = 0x33;
const TRUE: u64 = 0x44;
const FALSE: u64 = 0x55;
const INTEGER: u64 = 0x66;
const FLOAT: u64 = 0x77;
const NUMBER: u64 = 0xaa;

/// Whether a value is the number one.
pub(in super::super) fn is_one(value: &Digest) -> bool {
    value.shape == Shape::Number && value.hash == mix(INTEGER, 1)
}

impl Reader<'_> {
    pub(in super::super) fn null(&mut self) {
        self.write(|sample| sample.sign("null"));
        self.told = Digest {
            empty: true,
            ..scalar(NULL, 4, Shape::Nothing)
        };
    }

    pub(in super::super) fn flag(&mut self, flag: bool) {
        self.write(|sample| sample.sign(if flag { "true" } else { "false" }));
        let tag = if flag { TRUE } else { FALSE };
        self.told = scalar(tag, if flag { 4 } else { 5 }, Shape::Flag);
    }

    pub(in super::super) fn integer(&mut self, number: i128) {
        self.write(|sample| sample.integer(number));
        // A double of 64 bits and the integers of 64 bits are all that comes here: the magnitude fits.
        let magnitude = number.unsigned_abs() as u64;
        let length = magnitude.checked_ilog10().unwrap_or(0) as usize + 1 + usize::from(number < 0);
        let shape = if number == 0 {
            Shape::Zero
        } else {
            Shape::Number
        };
        self.told = scalar(
            mix(INTEGER ^ u64::from(number < 0), magnitude),
            length,
            shape,
        );
        if let Some(drawn) = self.may_be_drawn.take() {
            self.is_drawn = number >= 0 && drawn.is_number(magnitude);
        }
        let tells_attempt = self.says_no && magnitude >= attempts::NUMBER_MIN;
        if number > 0 && (tells_attempt || mask::is_volatile_integer(magnitude)) {
            self.told.masked = VOLATILE;
            self.told.frame = VOLATILE;
        } else {
            let size = magnitude as f64;
            self.number(if number < 0 { -size } else { size });
        }
    }

    /// A float that is a whole number is that number, so that `1` and `1.0` are one value. `written` is the shortest text that
    /// reads back as the same number, where it is known.
    pub(in super::super) fn float(&mut self, number: f64, written: &str) {
        // Both ends are exact in a double; beyond them no double is a 64-bit number.
        if number.fract() == 0.0
            && (-9_223_372_036_854_775_808.0..18_446_744_073_709_551_616.0).contains(&number)
        {
            return self.integer(number as i128);
        }
        let mut buffer = [0; 32];
        let text = if written.is_empty() {
            // Debug's form is the shortest that reads back as the same number, with an exponent where that is shorter: at
            // most 24 bytes.
            let mut rest = &mut buffer[..];
            write!(rest, "{number:?}").expect("the longest number fits");
            let length = 32 - rest.len();
            std::str::from_utf8(&buffer[..length]).unwrap_or_default()
        } else {
            written
        };
        self.write(|sample| sample.sign(text));
        self.told = scalar(mix(FLOAT, number.to_bits()), text.len(), Shape::Number);
        if let Some(drawn) = self.may_be_drawn.take() {
            // A fraction of a second is none of a full minute.
            let is_time = matches!(drawn, Drawn::Time { .. }) && number >= 0.0;
            self.is_drawn = is_time && mask::is_epoch(number as u64);
        }
        if number >= 0.0 && mask::is_volatile_integer(number as u64) {
            self.told.masked = VOLATILE;
            self.told.frame = VOLATILE;
        } else {
            self.number(number);
        }
    }

    /// Notes a number of a result, which was read last.
    fn number(&mut self, number: f64) {
        if self.is_output {
            self.numbers.push(number);
            self.told.frame = NUMBER;
        }
    }
}
