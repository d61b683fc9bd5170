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
const BLOCK: u64 = 128;

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

/// Direction (unit vector) and phase (turns) of a wave.
#[derive(Clone, Copy, Debug)]
struct Wave {
    x: f64,
    y: f64,
    phase: f64,
}

/// The waves of a tap side by side, as vector units want them.
#[derive(Clone, Debug)]
struct Tap {
    /// Phasors at the current step, of magnitude 1.
    re: [f32; WAVES],
    im: [f32; WAVES],
    /// What a step multiplies them by.
    turn_re: [f32; WAVES],
    turn_im: [f32; WAVES],
    waves: [Wave; WAVES],
}

impl Tap {
    fn new(rng: &mut Rng) -> Self {
        let waves = core::array::from_fn(|m| {
            let angle = TAU * (m as f64 + rng.uniform()) / WAVES as f64;
            Wave {
                x: angle.cos(),
                y: angle.sin(),
                phase: rng.uniform(),
            }
        });
        let zeros = [0.0; WAVES];
        Self {
            re: zeros,
            im: zeros,
            turn_re: zeros,
            turn_im: zeros,
            waves,
        }
    }

    fn set_step(&mut self, (dx, dy): (f64, f64)) {
        for (m, wave) in self.waves.iter().enumerate() {
            let turn = Complex::turned(wave.x * dx + wave.y * dy);
            (self.turn_re[m], self.turn_im[m]) = (turn.re, turn.im);
        }
    }

    fn compute(&mut self, (px, py): (f64, f64)) {
        for (m, wave) in self.waves.iter().enumerate() {
            let now = Complex::turned(wave.x * px + wave.y * py + wave.phase);
            (self.re[m], self.im[m]) = (now.re, now.im);
        }
    }

    fn turn(&mut self) {
        for m in 0..WAVES {
            let turned = self.re[m] * self.turn_re[m] - self.im[m] * self.turn_im[m];
            self.im[m] = self.re[m] * self.turn_im[m] + self.im[m] * self.turn_re[m];
            self.re[m] = turned;
        }
    }

    fn sum(&self) -> Complex {
        Complex {
            re: sum(&self.re),
            im: sum(&self.im),
        }
    }
}

/// Four sums side by side, then their sum.
fn sum(parts: &[f32; WAVES]) -> f32 {
    let mut lanes = [0f32; 4];
    for (m, part) in parts.iter().enumerate() {
        lanes[m % 4] += part;
    }
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
}

/// The waves of all taps.
#[derive(Clone, Debug)]
pub(super) struct Waves {
    taps: Vec<Tap>,
    course: Course,
    /// Step that the phasors are for.
    at: Option<u64>,
}

impl Waves {
    pub fn new(taps: usize, rng: &mut Rng) -> Self {
        let course = Course {
            from: (0.0, 0.0),
            step: (0.0, 0.0),
        };
        Self {
            taps: (0..taps).map(|_| Tap::new(rng)).collect(),
            course,
            at: None,
        }
    }

    /// Sets out on a course.
    pub fn set_course(&mut self, course: Course) {
        self.course = course;
        self.at = None;
        self.taps
            .iter_mut()
            .for_each(|tap| tap.set_step(course.step));
    }

    /// Goes to a step of the course, not before the one where it is.
    pub fn advance_to(&mut self, step: u64) {
        let block = step - step % BLOCK;
        let from = match self.at {
            Some(at) if at >= block && at <= step => at,
            _ => {
                let Course {
                    from,
                    step: (dx, dy),
                } = self.course;
                let n = block as f64;
                let place = (from.0 + n * dx, from.1 + n * dy);
                self.taps.iter_mut().for_each(|tap| tap.compute(place));
                block
            }
        };
        for tap in &mut self.taps {
            for _ in from..step {
                tap.turn();
            }
        }
        self.at = Some(step);
    }

    /// The sums of the taps' waves; of mean power [`WAVES`].
    pub fn taps(&self) -> impl Iterator<Item = Complex> {
        self.taps.iter().map(Tap::sum)
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
        for step in [0, 5, 127, 128, 140, 260, 399] {
            waves.advance_to(step);
            let tap = waves.taps().next().unwrap();
            let (re, im) = (f64::from(tap.re) / norm, f64::from(tap.im) / norm);
            assert_eq!((re, im), all[step as usize], "step {step}");
        }
    }
}
