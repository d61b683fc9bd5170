//! Plane waves: Rayleigh fading as a sum of sinusoids over space.
//!
//! Each tap is the sum of plane waves of equal power that come from all around (Clarke's model, the
//! reason for Jakes' spectrum: R. H. Clarke, A statistical theory of mobile-radio reception, 1968): the
//! first four taps of 12 waves, the others, which are to be the weaker ones, of 8. They come in pairs
//! from opposite directions: pair m of n from the angle pi (m + u) / n and from behind, u uniform in 0
//! to 1, one for each pair; every wave has a uniform phase. The sum depends on the place alone; a UE
//! that moves at speed v sees Doppler shifts v cos(angle) / wavelength, the Jakes spectrum up to
//! v / wavelength and the autocorrelation J0(2 pi distance / wavelength).
//!
//! Positions count in wavelengths. Two opposite waves of phases a + b and a - b add up to
//! 2 exp(j a) cos(k x + b): a pair costs one real cosine and one complex factor.
//!
//! Along a straight course in equal steps each pair turns by the same angle at each step. The phasor
//! at a step is that of its span of 128 steps, computed from the place, times the turn of its block
//! of 16 within the span, times the turn of the step within the block. So every value is a function
//! of its number on the course alone, steps may be left out at no cost, and rounding does not add up:
//! errors stay below 1e-5.
//!
//! *Deviations.* With 12 waves a tap the fourth moment of the envelope is 2 - 1/12 of the squared
//! second, with 8 it is 2 - 1/8, where Rayleigh has 2; fades of a single tap to a tenth of its power are
//! 4 and 8 % rarer. Opposite waves are as strong as each other, so
//! that the Doppler spectrum is symmetric for each link and not only on average.

use super::turns::{LANES, Lanes, turned};
use core::f64::consts::PI;
use units::Rng;

/// Pairs of opposite waves of the first four taps, and of the others; even numbers.
const STRONG: usize = 6;
const WEAK: usize = 4;
/// Most taps, a multiple of [`LANES`].
pub(super) const MAX_TAPS: usize = 12;
/// Steps of a block, and blocks of a span.
const STEPS: usize = 16;
const BLOCKS: usize = 8;

/// A straight course in equal steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Course {
    /// Where step 0 is, wavelengths.
    pub from: (f64, f64),
    /// From one to the next, wavelengths.
    pub step: (f64, f64),
}

/// The sums of the waves of each tap, of mean power 1; zero beyond the last tap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Gains {
    pub re: [f32; MAX_TAPS],
    pub im: [f32; MAX_TAPS],
}

/// The waves of all taps.
#[derive(Clone, Debug)]
pub(super) struct Waves {
    strong: Field<STRONG>,
    weak: Field<WEAK>,
    course: Course,
    /// Number of the block for which the fields have their phasors.
    block: Option<u64>,
}

impl Waves {
    /// Waves of so many taps, at most [`MAX_TAPS`].
    pub fn new(taps: usize, rng: &mut Rng) -> Self {
        let mut this = Self {
            strong: Field::new(taps.min(LANES), rng),
            weak: Field::new(taps.saturating_sub(LANES), rng),
            course: Course {
                from: (0.0, 0.0),
                step: (0.0, 0.0),
            },
            block: None,
        };
        this.set_course(this.course);
        this
    }

    /// Sets out on a course.
    pub fn set_course(&mut self, course: Course) {
        self.strong.set_step(course.step);
        self.weak.set_step(course.step);
        self.course = course;
        self.block = None;
    }

    /// The gains at a step of the course.
    pub fn gains(&mut self, step: u64) -> Gains {
        let (block, within) = (step / STEPS as u64, step as usize % STEPS);
        if self.block != Some(block) {
            self.go_to(block);
        }
        let mut gains = Gains {
            re: [0.0; MAX_TAPS],
            im: [0.0; MAX_TAPS],
        };
        let (re, im) = (gains.re.as_chunks_mut().0, gains.im.as_chunks_mut().0);
        self.strong.gains(within, &mut re[..1], &mut im[..1]);
        self.weak.gains(within, &mut re[1..], &mut im[1..]);
        gains
    }

    fn go_to(&mut self, block: u64) {
        let (span, within) = (block / BLOCKS as u64, block as usize % BLOCKS);
        if self.block.map(|block| block / BLOCKS as u64) != Some(span) {
            let Course { from, step } = self.course;
            let steps = (span * (STEPS * BLOCKS) as u64) as f64;
            let place = (from.0 + steps * step.0, from.1 + steps * step.1);
            self.strong.go_to_span(place);
            self.weak.go_to_span(place);
        }
        self.strong.go_to_block(within);
        self.weak.go_to_block(within);
        self.block = Some(block);
    }
}

/// One pair of waves of each of four taps.
#[derive(Clone, Copy, Debug)]
struct Pair {
    /// Direction, a unit vector.
    x: [f64; LANES],
    y: [f64; LANES],
    /// Phase at the origin, turns.
    phase: [f64; LANES],
}

impl Pair {
    const NONE: Self = Self {
        x: [0.0; LANES],
        y: [0.0; LANES],
        phase: [0.0; LANES],
    };

    /// What a way turns it by.
    fn turned_over(&self, (x, y): (f64, f64)) -> Lanes {
        turned(core::array::from_fn(|lane| {
            self.x[lane] * x + self.y[lane] * y
        }))
    }

    /// Its phasor at a place.
    fn phasor(&self, (x, y): (f64, f64)) -> Lanes {
        turned(core::array::from_fn(|lane| {
            self.x[lane] * x + self.y[lane] * y + self.phase[lane]
        }))
    }
}

/// Waves of taps with so many pairs each: four taps after four, and pair by pair.
#[derive(Clone, Debug)]
struct Field<const PAIRS: usize> {
    pairs: Vec<[Pair; PAIRS]>,
    /// Factors 2 exp(j a) / sqrt(2 PAIRS), zero beyond the last tap.
    factors: Vec<[Lanes; PAIRS]>,
    /// Turns of 0 steps, 1 step ..., and of 0 blocks, 1 block ...
    within_block: [Vec<[Lanes; PAIRS]>; STEPS],
    within_span: [Vec<[Lanes; PAIRS]>; BLOCKS],
    /// Phasors at the first step of the current span and block.
    of_span: Vec<[Lanes; PAIRS]>,
    of_block: Vec<[Lanes; PAIRS]>,
}

impl<const PAIRS: usize> Field<PAIRS> {
    fn new(taps: usize, rng: &mut Rng) -> Self {
        let amplitude = 2.0 / (2.0 * PAIRS as f64).sqrt();
        let (mut pairs, mut factors) = (Vec::new(), Vec::new());
        for group in (0..taps).step_by(LANES) {
            let (mut of_pairs, mut of_factors) = ([Pair::NONE; PAIRS], [Lanes::ZERO; PAIRS]);
            for lane in 0..LANES.min(taps - group) {
                for m in 0..PAIRS {
                    let angle = PI * (m as f64 + rng.uniform()) / PAIRS as f64;
                    let (pair, factor) = (&mut of_pairs[m], &mut of_factors[m]);
                    (pair.x[lane], pair.y[lane]) = (angle.cos(), angle.sin());
                    pair.phase[lane] = rng.uniform();
                    let a = 2.0 * PI * rng.uniform();
                    factor.re[lane] = (amplitude * a.cos()) as f32;
                    factor.im[lane] = (amplitude * a.sin()) as f32;
                }
            }
            pairs.push(of_pairs);
            factors.push(of_factors);
        }
        let zeros = vec![[Lanes::ZERO; PAIRS]; pairs.len()];
        Self {
            pairs,
            factors,
            within_block: core::array::from_fn(|_| zeros.clone()),
            within_span: core::array::from_fn(|_| zeros.clone()),
            of_span: zeros.clone(),
            of_block: zeros,
        }
    }

    fn set_step(&mut self, (dx, dy): (f64, f64)) {
        let turned_over = |steps: usize, list: &mut Vec<[Lanes; PAIRS]>| {
            let way = (dx * steps as f64, dy * steps as f64);
            for (turns, pairs) in list.iter_mut().zip(&self.pairs) {
                *turns = pairs.each_ref().map(|pair| pair.turned_over(way));
            }
        };
        for (n, list) in self.within_block.iter_mut().enumerate() {
            turned_over(n, list);
        }
        for (n, list) in self.within_span.iter_mut().enumerate() {
            turned_over(n * STEPS, list);
        }
    }

    /// Computes the phasors where a span begins.
    fn go_to_span(&mut self, place: (f64, f64)) {
        for (phasors, pairs) in self.of_span.iter_mut().zip(&self.pairs) {
            *phasors = pairs.each_ref().map(|pair| pair.phasor(place));
        }
    }

    /// Those of a block of the span.
    fn go_to_block(&mut self, within: usize) {
        let turns = &self.within_span[within];
        for ((block, span), turns) in self.of_block.iter_mut().zip(&self.of_span).zip(turns) {
            for m in 0..PAIRS {
                block[m] = span[m].times(&turns[m]);
            }
        }
    }

    /// The gains at a step of the block.
    fn gains(&self, within: usize, re: &mut [[f32; LANES]], im: &mut [[f32; LANES]]) {
        let groups = self.of_block.iter().zip(&self.within_block[within]);
        let sums_of = re.iter_mut().zip(im);
        for (((block, turns), factors), (re, im)) in groups.zip(&self.factors).zip(sums_of) {
            sums(block, turns, factors, re, im);
        }
    }
}

/// Sums of the waves of four taps: phasors of the block, turned, their real parts times the factors.
#[inline(never)]
fn sums<const PAIRS: usize>(
    block: &[Lanes; PAIRS],
    turns: &[Lanes; PAIRS],
    factors: &[Lanes; PAIRS],
    re: &mut [f32; LANES],
    im: &mut [f32; LANES],
) {
    let (mut sum_re, mut sum_im) = ([0f32; LANES], [0f32; LANES]);
    let cosine = |m: usize, lane: usize| {
        block[m].re[lane] * turns[m].re[lane] - block[m].im[lane] * turns[m].im[lane]
    };
    // two pairs at a time, so that half as many sums wait for each other
    for m in (0..PAIRS).step_by(2) {
        let [one, other] = [&factors[m], &factors[m + 1]];
        for lane in 0..LANES {
            let (a, b) = (cosine(m, lane), cosine(m + 1, lane));
            sum_re[lane] += one.re[lane] * a + other.re[lane] * b;
            sum_im[lane] += one.im[lane] * a + other.im[lane] * b;
        }
    }
    (*re, *im) = (sum_re, sum_im);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moving::fading::tests::j0;
    use core::f64::consts::TAU;
    use units::Streams;

    const STEP: f64 = 0.1;
    /// A tap of 12 waves and one of 8.
    const TAPS: [usize; 2] = [0, LANES];

    fn gain(waves: &mut Waves, tap: usize, step: u64) -> (f64, f64) {
        let gains = waves.gains(step);
        (f64::from(gains.re[tap]), f64::from(gains.im[tap]))
    }

    /// Two kinds of taps at steps of 0.1 wavelength along a course.
    fn under_way(seed: u64) -> Waves {
        let mut waves = Waves::new(LANES + 1, &mut Streams::new(seed).stream("waves"));
        waves.set_course(Course {
            from: (3.0, -5.0),
            step: (0.6 * STEP, 0.8 * STEP),
        });
        waves
    }

    /// A tap's gain (mean power 1) at each of so many steps.
    fn gains(seed: u64, tap: usize, steps: u64) -> Vec<(f64, f64)> {
        let mut waves = under_way(seed);
        (0..steps).map(|step| gain(&mut waves, tap, step)).collect()
    }

    /// Moments of Rayleigh's envelope of mean power 1: mean sqrt(pi) / 2, second moment 1, fourth
    /// 2 - 1/12 with 12 waves and 2 - 1/8 with 8; P(power < 0.1) = 1 - exp(-0.1) = 0.0952,
    /// P(power < 0.01) = 0.00995, of which 12 and 8 waves have a little less.
    #[test]
    fn rayleigh_envelope_moments() {
        for (tap, waves, fades) in [(TAPS[0], 12.0, 0.06), (TAPS[1], 8.0, 0.1)] {
            let (mut first, mut second, mut fourth) = (0.0, 0.0, 0.0);
            let (mut deep, mut deeper) = (0.0, 0.0);
            let (seeds, steps) = (2_000, 50);
            for seed in 0..seeds {
                // steps far apart (10 x 0.1 wavelength)
                for (re, im) in gains(seed, tap, 10 * steps).into_iter().step_by(10) {
                    let power = re * re + im * im;
                    first += power.sqrt();
                    second += power;
                    fourth += power * power;
                    deep += f64::from(u8::from(power < 0.1));
                    deeper += f64::from(u8::from(power < 0.01));
                }
            }
            let n = (seeds * steps) as f64;
            let expected = (PI.sqrt() / 2.0, 1.0, 2.0 - 1.0 / waves);
            assert!((first / n - expected.0).abs() < 0.01, "mean {}", first / n);
            assert!((second / n - expected.1).abs() < 0.02, "{}", second / n);
            assert!((fourth / n - expected.2).abs() < 0.06, "{}", fourth / n);
            assert!((deep / n / 0.0952 - 1.0).abs() < fades, "{}", deep / n);
            assert!(
                (deeper / n / 0.00995 - 1.0).abs() < 0.05 + fades,
                "{}",
                deeper / n
            );
        }
    }

    /// Clarke: the autocorrelation over a distance d is J0(2 pi d / wavelength), the imaginary part
    /// is 0; its first zero is at 0.3827 wavelengths.
    #[test]
    fn autocorrelation_is_j0() {
        assert!(j0(2.404_825_557).abs() < 1e-8);
        let (seeds, steps) = (400, 400usize);
        let lags = [0, 1, 2, 3, 4, 6, 8, 10];
        for tap in TAPS {
            let mut sums = [(0.0, 0.0); 8];
            for seed in 0..seeds {
                let gains = gains(seed, tap, steps as u64);
                for (lag, sum) in lags.iter().zip(&mut sums) {
                    for (a, b) in gains.iter().zip(&gains[*lag..]) {
                        sum.0 += a.0 * b.0 + a.1 * b.1;
                        sum.1 += a.0 * b.1 - a.1 * b.0;
                    }
                }
            }
            for (lag, (re, im)) in lags.iter().zip(sums) {
                let n = (seeds as usize * (steps - lag)) as f64;
                let expected = j0(TAU * *lag as f64 * STEP);
                let (re, im) = (re / n, im / n);
                assert!(
                    (re - expected).abs() < 0.03,
                    "lag {lag}: {re} not {expected}"
                );
                assert!(im.abs() < 0.03, "lag {lag}: {im}");
            }
        }
    }

    /// Taps of one process are independent of each other: correlation 0 within 4 / sqrt(seeds).
    #[test]
    fn taps_are_independent() {
        let seeds = 4_000;
        let mut correlation = 0.0;
        for seed in 0..seeds {
            let mut waves = Waves::new(2, &mut Streams::new(seed).stream("waves"));
            let Gains { re, im } = waves.gains(0);
            correlation += f64::from(re[0] * re[1] + im[0] * im[1]);
        }
        let correlation = correlation / f64::from(seeds as u32);
        assert!(
            correlation.abs() < 4.0 / f64::from(seeds as u32).sqrt(),
            "{correlation}"
        );
    }

    #[test]
    fn leaving_steps_out_changes_nothing() {
        for tap in TAPS {
            let all = gains(9, tap, 400);
            let mut waves = under_way(9);
            for step in [0, 5, 15, 16, 127, 128, 140, 260, 399, 17] {
                assert_eq!(
                    gain(&mut waves, tap, step),
                    all[step as usize],
                    "step {step}"
                );
            }
        }
    }

    /// After a million steps the phasors are as exact as at the beginning.
    #[test]
    fn rounding_does_not_add_up() {
        let mut waves = under_way(4);
        let far = 1_000_003;
        let (re, im) = gain(&mut waves, 0, far);
        let Course { from, step } = waves.course;
        waves.set_course(Course {
            from: (from.0 + far as f64 * step.0, from.1 + far as f64 * step.1),
            step: (0.0, 0.0),
        });
        let exact = gain(&mut waves, 0, 0);
        assert!((re - exact.0).abs() < 1e-5 && (im - exact.1).abs() < 1e-5);
    }
}
