//! Phasors of many waves at once: sine and cosine of turns, in single precision.
//!
//! Angles count in full turns, so that reducing them is exact: the whole turns of a double drop out
//! before it becomes a single. Then |error| < 1e-6 for any angle below 2^51 turns. Loops over
//! [`LANES`] are what a compiler turns into vector instructions.

/// Numbers side by side.
pub(super) const LANES: usize = 4;

/// Complex numbers side by side.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(16))]
pub(super) struct Lanes {
    pub re: [f32; LANES],
    pub im: [f32; LANES],
}

impl Lanes {
    pub const ZERO: Self = Self {
        re: [0.0; LANES],
        im: [0.0; LANES],
    };

    /// The products, lane by lane.
    pub fn times(&self, other: &Self) -> Self {
        let mut product = Self::ZERO;
        for lane in 0..LANES {
            product.re[lane] = self.re[lane] * other.re[lane] - self.im[lane] * other.im[lane];
            product.im[lane] = self.re[lane] * other.im[lane] + self.im[lane] * other.re[lane];
        }
        product
    }
}

/// Adding and subtracting this rounds a double below 2^51 to a whole number.
const TO_WHOLE: f64 = 6_755_399_441_055_744.0;

/// A double's distance from the nearest whole number, -1/2 to 1/2.
fn fraction(turns: f64) -> f32 {
    (turns - ((turns + TO_WHOLE) - TO_WHOLE)) as f32
}

/// sin(2 pi t) for |t| <= 1/4: the odd polynomial of degree 7 with the least greatest error, 6e-7.
fn sine_in_quarter(t: f32) -> f32 {
    let s = t * t;
    t * (6.283_164 + s * (-41.337_142 + s * (81.340_77 - s * 70.993_43)))
}

/// Cosine and sine of a fraction of a turn.
fn phasor(fraction: f32) -> (f32, f32) {
    let positive = fraction.abs();
    let other = 0.5 - positive;
    let in_quarter = if positive < other { positive } else { other };
    let sine = sine_in_quarter(in_quarter).copysign(fraction);
    (sine_in_quarter(0.25 - positive), sine)
}

/// exp(j 2 pi t) for each of four numbers of turns.
pub(super) fn turned(turns: [f64; LANES]) -> Lanes {
    let fractions = turns.map(fraction);
    let phasors = fractions.map(phasor);
    Lanes {
        re: phasors.map(|(cosine, _)| cosine),
        im: phasors.map(|(_, sine)| sine),
    }
}

/// exp(j 2 pi t), as (cosine, sine).
pub(super) fn turned_one(turns: f64) -> (f32, f32) {
    phasor(fraction(turns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::f64::consts::TAU;

    #[test]
    fn sine_and_cosine() {
        for i in -40_000..40_000 {
            let turns = f64::from(i) * 0.000_137;
            let (sine, cosine) = (TAU * turns).sin_cos();
            let (re, im) = turned_one(turns);
            assert!((f64::from(re) - cosine).abs() < 1e-6, "cos at {turns}");
            assert!((f64::from(im) - sine).abs() < 1e-6, "sin at {turns}");
            let lanes = turned([turns, 0.0, turns + 1.0, 0.25]);
            assert_eq!((lanes.re[0], lanes.im[0]), (re, im));
        }
        // a year at 100 kHz, 3e12 turns, and an eighth
        let (re, im) = turned_one(3e12 + 0.125);
        let half = 0.5f32.sqrt();
        assert!((re - half).abs() < 1e-6 && (im - half).abs() < 1e-6);
    }

    #[test]
    fn products() {
        let product = turned([0.1, 0.2, -0.3, 0.0]).times(&turned([0.3, 0.9, -0.4, 0.5]));
        let expected = turned([0.4, 0.1, 0.3, 0.5]);
        for lane in 0..LANES {
            assert!((product.re[lane] - expected.re[lane]).abs() < 2e-6);
            assert!((product.im[lane] - expected.im[lane]).abs() < 2e-6);
        }
    }
}
