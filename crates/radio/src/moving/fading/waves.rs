//! Plane waves: Rayleigh fading as a sum of sinusoids over space.
//!
//! Each tap is the sum of [`WAVES`] plane waves of equal power that come from all around (Clarke's
//! model, the reason for Jakes' spectrum: R. H. Clarke, A statistical theory of mobile-radio
//! reception, 1968). Wave m of a tap comes from the angle 2 pi (m + u) / WAVES, u uniform in 0 to 1,
//! one for each wave, and has a uniform phase. The sum depends on the place alone; a UE that moves
//! at speed v sees Doppler shifts v cos(angle) / wavelength, the Jakes spectrum up to v / wavelength
//! and the autocorrelation J0(2 pi distance / wavelength).
//!
//! Positions count in wavelengths. Along a straight course in equal steps each wave turns by the
//! same angle at each step, so that a step is one complex product for each wave; after
//! [`BLOCK`] steps all are computed anew, which keeps rounding from adding up, and makes every value
//! a function of its number on the course alone.
//!
//! *Deviation.* With 12 waves a tap the fourth moment of the envelope is 2 - 1/12 of the squared
//! second, where Rayleigh has 2.

use core::f64::consts::TAU;
use units::Rng;

/// Plane waves of a tap.
pub(super) const WAVES: usize = 12;
/// Steps from one exact computation to the next.
const BLOCK: u64 = 64;

/// A straight course in equal steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Course {
    /// Where step 0 is, wavelengths.
    pub from: (f64, f64),
    /// From one to the next, wavelengths.
    pub step: (f64, f64),
}

/// A complex number.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub(super) struct Complex {
    pub re: f32,
    pub im: f32,
}

impl Complex {
    /// Of magnitude 1, after so many full turns.
    pub fn turned(turns: f64) -> Self {
        let angle = TAU * (turns - turns.round());
        Self {
            re: angle.cos() as f32,
            im: angle.sin() as f32,
        }
    }
}

/// The waves of all taps.
#[derive(Clone, Debug)]
pub(super) struct Waves {
    /// Directions (unit vectors) and phases (turns).
    x: Vec<f64>,
    y: Vec<f64>,
    phase: Vec<f64>,
    /// Phasors at the step in `at`, of magnitude 1.
    re: Vec<f32>,
    im: Vec<f32>,
    /// What a step multiplies them by.
    turn_re: Vec<f32>,
    turn_im: Vec<f32>,
    course: Course,
    /// Step that the phasors are for.
    at: Option<u64>,
}

impl Waves {
    pub fn new(taps: usize, rng: &mut Rng) -> Self {
        let n = taps * WAVES;
        let (mut x, mut y, mut phase) = (Vec::new(), Vec::new(), Vec::new());
        for i in 0..n {
            let angle = TAU * ((i % WAVES) as f64 + rng.uniform()) / WAVES as f64;
            x.push(angle.cos());
            y.push(angle.sin());
            phase.push(rng.uniform());
        }
        let zeros = vec![0.0; n];
        let course = Course {
            from: (0.0, 0.0),
            step: (0.0, 0.0),
        };
        Self {
            x,
            y,
            phase,
            re: zeros.clone(),
            im: zeros.clone(),
            turn_re: zeros.clone(),
            turn_im: zeros,
            course,
            at: None,
        }
    }

    /// Sets out on a course.
    pub fn set_course(&mut self, course: Course) {
        self.course = course;
        self.at = None;
        let waves = self.x.iter().zip(&self.y);
        let turns = self.turn_re.iter_mut().zip(&mut self.turn_im);
        for ((x, y), (re, im)) in waves.zip(turns) {
            let turn = Complex::turned(x * course.step.0 + y * course.step.1);
            (*re, *im) = (turn.re, turn.im);
        }
    }

    /// Goes to a step of the course, not before the one where it is.
    pub fn advance_to(&mut self, step: u64) {
        let block = step - step % BLOCK;
        let from = match self.at {
            Some(at) if at >= block && at <= step => at,
            _ => {
                self.compute(block);
                block
            }
        };
        for _ in from..step {
            self.turn();
        }
        self.at = Some(step);
    }

    fn compute(&mut self, step: u64) {
        let Course {
            from,
            step: (dx, dy),
        } = self.course;
        let n = step as f64;
        let (px, py) = (from.0 + n * dx, from.1 + n * dy);
        let waves = self.x.iter().zip(&self.y).zip(&self.phase);
        let phasors = self.re.iter_mut().zip(&mut self.im);
        for (((x, y), phase), (re, im)) in waves.zip(phasors) {
            let now = Complex::turned(x * px + y * py + phase);
            (*re, *im) = (now.re, now.im);
        }
    }

    fn turn(&mut self) {
        let phasors = self.re.iter_mut().zip(&mut self.im);
        let turns = self.turn_re.iter().zip(&self.turn_im);
        for ((re, im), (turn_re, turn_im)) in phasors.zip(turns) {
            let turned = *re * turn_re - *im * turn_im;
            *im = *re * turn_im + *im * turn_re;
            *re = turned;
        }
    }

    /// The sums of the taps' waves; of mean power [`WAVES`].
    pub fn taps(&self) -> impl Iterator<Item = Complex> {
        let sum = |part: &[f32]| {
            // four sums side by side, as vector units do it
            let mut lanes = [0f32; 4];
            for chunk in part.chunks_exact(4) {
                for (lane, value) in lanes.iter_mut().zip(chunk) {
                    *lane += value;
                }
            }
            lanes.iter().sum::<f32>()
        };
        let parts = self.re.chunks_exact(WAVES).zip(self.im.chunks_exact(WAVES));
        parts.map(move |(re, im)| Complex {
            re: sum(re),
            im: sum(im),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Streams;

    const STEP: f64 = 0.1;

    /// One tap's gain (mean power 1) at steps of 0.1 wavelength along a course, for many seeds.
    fn gains(seed: u64, steps: u64) -> Vec<(f64, f64)> {
        let mut waves = Waves::new(1, &mut Streams::new(seed).stream("waves"));
        waves.set_course(Course {
            from: (3.0, -5.0),
            step: (0.6 * STEP, 0.8 * STEP),
        });
        let norm = (WAVES as f64).sqrt();
        let at = |step| {
            waves.advance_to(step);
            let tap = waves.taps().next().unwrap();
            (f64::from(tap.re) / norm, f64::from(tap.im) / norm)
        };
        (0..steps).map(at).collect()
    }

    /// Moments of Rayleigh's envelope of mean power 1: mean sqrt(pi) / 2, second moment 1, fourth
    /// 2 - 1/12 with 12 waves; P(power < 0.1) = 1 - exp(-0.1) = 0.0952, P(power < 0.01) = 0.00995.
    #[test]
    fn rayleigh_envelope_moments() {
        let (mut first, mut second, mut fourth, mut deep, mut deeper) = (0.0, 0.0, 0.0, 0.0, 0.0);
        let (seeds, steps) = (2_000, 50);
        for seed in 0..seeds {
            // steps far apart (10 x 0.1 wavelength)
            for (re, im) in gains(seed, 10 * steps).into_iter().step_by(10) {
                let power = re * re + im * im;
                first += power.sqrt();
                second += power;
                fourth += power * power;
                deep += f64::from(u8::from(power < 0.1));
                deeper += f64::from(u8::from(power < 0.01));
            }
        }
        let n = (seeds * steps) as f64;
        let expected = core::f64::consts::PI.sqrt() / 2.0;
        assert!((first / n - expected).abs() < 0.01, "mean {}", first / n);
        assert!((second / n - 1.0).abs() < 0.02, "power {}", second / n);
        assert!(
            (fourth / n - (2.0 - 1.0 / 12.0)).abs() < 0.06,
            "fourth {}",
            fourth / n
        );
        assert!((deep / n - 0.0952).abs() < 0.006, "{}", deep / n);
        assert!((deeper / n - 0.00995).abs() < 0.0015, "{}", deeper / n);
    }

    /// Bessel function J0 by its power series: sum of (-x^2/4)^k / (k!)^2.
    fn j0(x: f64) -> f64 {
        let mut term = 1.0;
        (1..60).fold(1.0, |sum, k| {
            term *= -x * x / 4.0 / f64::from(k * k);
            sum + term
        })
    }

    /// Clarke: the autocorrelation over a distance d is J0(2 pi d / wavelength), the imaginary part
    /// is 0; its first zero is at 0.3827 wavelengths.
    #[test]
    fn autocorrelation_is_j0() {
        assert!(j0(2.404_825_557).abs() < 1e-8);
        let (seeds, steps) = (400, 400usize);
        let lags = [0, 1, 2, 3, 4, 6, 8, 10];
        let mut sums = [(0.0, 0.0); 8];
        for seed in 0..seeds {
            let gains = gains(seed, steps as u64);
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
            assert!(
                (re / n - expected).abs() < 0.03,
                "lag {lag}: {} not {expected}",
                re / n
            );
            assert!((im / n).abs() < 0.03, "lag {lag}: {}", im / n);
        }
    }

    /// Taps of one process are independent of each other: correlation 0 within 4 / sqrt(seeds).
    #[test]
    fn taps_are_independent() {
        let seeds = 4_000;
        let mut correlation = 0.0;
        for seed in 0..seeds {
            let mut waves = Waves::new(2, &mut Streams::new(seed).stream("waves"));
            waves.advance_to(0);
            let taps: Vec<Complex> = waves.taps().collect();
            correlation += f64::from(taps[0].re * taps[1].re + taps[0].im * taps[1].im);
        }
        let correlation = correlation / WAVES as f64 / f64::from(seeds as u32);
        assert!(
            correlation.abs() < 4.0 / f64::from(seeds as u32).sqrt(),
            "{correlation}"
        );
    }

    #[test]
    fn leaving_steps_out_changes_nothing() {
        let all = gains(9, 400);
        let mut waves = Waves::new(1, &mut Streams::new(9).stream("waves"));
        waves.set_course(Course {
            from: (3.0, -5.0),
            step: (0.6 * STEP, 0.8 * STEP),
        });
        let norm = (WAVES as f64).sqrt();
        for step in [0, 5, 63, 64, 70, 200, 399] {
            waves.advance_to(step);
            let tap = waves.taps().next().unwrap();
            let (re, im) = (f64::from(tap.re) / norm, f64::from(tap.im) / norm);
            assert_eq!((re, im), all[step as usize], "step {step}");
        }
    }
}
