//! The effective SINR: one number for all frequencies of a carrier.
//!
//! It is that SINR whose capacity is the mean capacity, SINR = 2^(mean of log2(1 + `SINR_f`)) - 1: the
//! rule of mean mutual information with Shannon's capacity as the information measure.
//!
//! One value takes one logarithm, that of the product of (1 + SINR P) / (1 + SINR) over the powers P of
//! all frequencies; and the last step, from capacity to dB, is a table too. Both tables have straight
//! pieces, as many in each octave; together they are exact to 6e-4 dB.

use super::response::Powers;
use super::turns::LANES;

/// Pieces of an octave, as a power of two, of the logarithm.
const LOG_BITS: u32 = 8;
const LOG: [Piece; 1 << LOG_BITS] = log_table();
/// Pieces of an octave of the capacity, as a power of two, its octaves and where the first begins,
/// bits per resource element (-35 dB); less is linear in the SINR to 0.001 dB.
const DB_BITS: u32 = 5;
const DB_OCTAVES: usize = 15;
const DB_FROM: f64 = 1.0 / 2048.0;
const DB: [Piece; DB_OCTAVES << DB_BITS] = db_table();
/// dB for each factor of 2.
const DB_OF_TWO: f64 = 3.010_299_956_639_812;
/// Bits of a double's fraction.
const FRACTION: u32 = 52;

/// A mean SINR, prepared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mean {
    /// Linear, >= 0.
    sinr: f64,
    /// 1 / (1 + SINR) and SINR / (1 + SINR).
    rest: f32,
    share: f32,
    /// log2(1 + SINR).
    capacity: f64,
}

impl Mean {
    pub fn new(sinr: f64) -> Self {
        Self {
            sinr,
            rest: (1.0 / (1.0 + sinr)) as f32,
            share: (sinr / (1.0 + sinr)) as f32,
            capacity: (1.0 + sinr).log2(),
        }
    }

    /// Linear.
    pub fn sinr(&self) -> f64 {
        self.sinr
    }

    /// The effective SINR for powers of the frequencies, in dB.
    pub fn effective(&self, powers: &Powers) -> f64 {
        let bits = self.capacity + log2(self.ratios(powers)) * powers.share();
        if bits < DB_FROM {
            // also where a product is too small for a number: all frequencies fade alike
            let sum: f32 = powers.groups().iter().flatten().flatten().sum();
            return 10.0 * (self.sinr * f64::from(sum) * powers.share()).log10();
        }
        decibels(bits)
    }

    /// The product of (1 + SINR P) / (1 + SINR).
    fn ratios(&self, powers: &Powers) -> f64 {
        let mut products = [1f32; LANES];
        let ratio = |power: f32| self.rest + self.share * power;
        for [above, below] in powers.groups() {
            for lane in 0..LANES {
                products[lane] *= ratio(above[lane]) * ratio(below[lane]);
            }
        }
        let [a, b, c, d] = products;
        f64::from(a * b) * f64::from(c * d)
    }
}

/// A straight piece of a function: its value at the beginning and how much it rises.
#[derive(Clone, Copy, Debug)]
struct Piece {
    value: f64,
    rise: f64,
}

impl Piece {
    const fn between(left: f64, right: f64) -> Self {
        Self {
            value: left,
            rise: right - left,
        }
    }

    /// The value at a part (0 to 1) of it.
    fn at(self, part: f64) -> f64 {
        self.value + self.rise * part
    }
}

/// 10 log10(2^bits - 1), bits from [`DB_FROM`] on.
fn decibels(bits: f64) -> f64 {
    let (piece, part) = place(bits, DB_BITS);
    match DB.get((piece - DB_FIRST) as usize) {
        Some(piece) => piece.at(part),
        None => DB_OF_TWO * bits,
    }
}

/// Number of the table's first piece.
const DB_FIRST: u64 = DB_FROM.to_bits() >> (FRACTION - DB_BITS);

/// log2 of a normal number > 0.
fn log2(x: f64) -> f64 {
    let (piece, part) = place(x, LOG_BITS);
    let octave = (piece >> LOG_BITS) as i64 - 1023;
    octave as f64 + LOG[piece as usize % LOG.len()].at(part)
}

/// Of the pieces that divide each octave evenly into 2^bits, that in which a number > 0 is, counted
/// from 0 on, and at which part of it, 0 to 1.
fn place(x: f64, bits: u32) -> (u64, f64) {
    let below = FRACTION - bits;
    let rest = x.to_bits() & ((1 << below) - 1);
    (
        x.to_bits() >> below,
        rest as i64 as f64 / (1u64 << below) as f64,
    )
}

const fn log_table() -> [Piece; 1 << LOG_BITS] {
    let mut table = [Piece::between(0.0, 0.0); 1 << LOG_BITS];
    let (mut i, mut left) = (0, 0.0);
    while i < table.len() {
        let x = 1.0 + (i + 1) as f64 / (1 << LOG_BITS) as f64;
        let right = ln(x) / core::f64::consts::LN_2;
        table[i] = Piece::between(left, right);
        left = right;
        i += 1;
    }
    table
}

const fn db_table() -> [Piece; DB_OCTAVES << DB_BITS] {
    let mut table = [Piece::between(0.0, 0.0); DB_OCTAVES << DB_BITS];
    let (mut i, mut left) = (0, db_at(DB_FIRST));
    while i < table.len() {
        let right = db_at(DB_FIRST + i as u64 + 1);
        table[i] = Piece::between(left, right);
        left = right;
        i += 1;
    }
    table
}

/// 10 log10(2^bits - 1) where a piece begins.
const fn db_at(piece: u64) -> f64 {
    let bits = f64::from_bits(piece << (FRACTION - DB_BITS));
    let sinr = exp_m1(bits * core::f64::consts::LN_2);
    10.0 * ln(sinr) / core::f64::consts::LN_10
}

/// Natural logarithm of x > 0: ln(m) = 2 artanh((m - 1) / (m + 1)) for m in 1 to 2.
const fn ln(x: f64) -> f64 {
    let (mut m, mut octaves) = (x, 0.0);
    while m >= 2.0 {
        m /= 2.0;
        octaves += 1.0;
    }
    while m < 1.0 {
        m *= 2.0;
        octaves -= 1.0;
    }
    let t = (m - 1.0) / (m + 1.0);
    let (mut power, mut sum, mut k) = (t, 0.0, 1.0);
    while k < 40.0 {
        sum += power / k;
        power *= t * t;
        k += 2.0;
    }
    2.0 * sum + octaves * core::f64::consts::LN_2
}

/// exp(x) - 1 for 0 <= x <= 12 by its power series.
const fn exp_m1(x: f64) -> f64 {
    let (mut term, mut sum, mut k) = (1.0, 0.0, 1.0);
    while k < 70.0 {
        term *= x / k;
        sum += term;
        k += 1.0;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moving::fading::response::Mirrored;

    /// Against the formula, from -60 dB to 90 dB and with powers from 1e-6 to 20.
    #[test]
    fn effective_sinr_is_that_of_the_mean_capacity() {
        let mut worst = 0f64;
        for step in -240..=360 {
            let db = 0.25 * f64::from(step);
            let sinr = 10f64.powf(db / 10.0);
            let mean = Mean::new(sinr);
            for (scale, count) in [(1.0, 1), (1e-6, 1), (0.02, 2), (1.0, 2), (7.0, 2)] {
                let groups: Vec<Mirrored> = (0..count)
                    .map(|i| {
                        let scale = scale * (1.0 - 0.2 * i as f32);
                        let powers = [0.2, 1.7, 0.9, 3.0].map(|p| p * scale);
                        [powers, powers.map(|p| 0.7 * p)]
                    })
                    .collect();
                let powers = groups.iter().flatten().flatten();
                let capacities = powers.map(|&p| (sinr * f64::from(p)).ln_1p());
                let capacity = capacities.sum::<f64>() / (2 * LANES * count) as f64;
                let expected = 10.0 * capacity.exp_m1().log10();
                let seen = mean.effective(&Powers::of(&groups));
                // below -25 dB the last digits of a single decide
                let tolerance = if expected < -25.0 { 0.02 } else { 6e-4 };
                assert!(
                    (seen - expected).abs() < tolerance,
                    "{db} dB x {scale}: {seen}, {expected}"
                );
                worst = worst.max((seen - expected).abs());
            }
        }
        assert!(worst > 0.0);
    }

    /// Equal powers of 1: the mean itself. 2^((log2(1 + 1) + log2(1 + 3)) / 2) - 1 = 2^1.5 - 1.
    #[test]
    fn worked_by_hand() {
        let seven = Mean::new(7.0).effective(&Powers::of(&[[[1.0; 4]; 2]; 2]));
        assert!((seven - 10.0 * 7f64.log10()).abs() < 6e-4, "{seven}");
        let mixed = Mean::new(1.0).effective(&Powers::of(&[[[1.0, 3.0, 3.0, 1.0]; 2]]));
        assert!(
            (mixed - 10.0 * (2f64.powf(1.5) - 1.0).log10()).abs() < 6e-4,
            "{mixed}"
        );
    }

    #[test]
    fn extremes() {
        let powers = Powers::of(&[[[5.0; 4]; 2]; 2]);
        assert!(Mean::new(1e300).effective(&powers).is_finite());
        assert_eq!(Mean::new(0.0).effective(&powers), f64::NEG_INFINITY);
        // even where products of powers are too small for a single
        for db in [-30.0, -60.0, -90.0, -120.0f64] {
            let power = 10f32.powf(db as f32 / 10.0);
            let faded = Mean::new(1e9).effective(&Powers::of(&[[[power; 4]; 2]; 2]));
            assert!((faded - (90.0 + db)).abs() < 0.01, "{db} dB: {faded}");
        }
    }

    #[test]
    fn tables() {
        for i in 1..100_000 {
            let x = f64::from(i) * 0.001_7;
            assert!((log2(x) - x.log2()).abs() < 4e-6, "log2({x})");
        }
        for i in 1..2_400 {
            let bits = f64::from(i) * 0.01;
            let exact = 10.0 * (bits.exp2() - 1.0).log10();
            assert!((decibels(bits) - exact).abs() < 6e-4, "{bits} bits");
        }
        assert!((ln(10.0) - core::f64::consts::LN_10).abs() < 1e-14);
        assert!((exp_m1(11.0) / 11f64.exp_m1() - 1.0).abs() < 1e-14);
    }
}
