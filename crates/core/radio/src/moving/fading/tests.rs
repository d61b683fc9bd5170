//! Fading of a whole carrier.

use super::*;
use units::Streams;

const LTE: Hertz = Hertz::new(2_000_000_000);
const MMWAVE: Hertz = Hertz::new(28_000_000_000);

fn process(fading: Fading, doppler: Doppler, carrier: Hertz, mhz: f64, seed: u64) -> FadingProcess {
    let bandwidth = Hertz::new((mhz * 1e6) as u64);
    let rng = Streams::new(seed).stream("fading");
    FadingProcess::new(fading, doppler, carrier, bandwidth, rng)
        .unwrap()
        .unwrap()
}

fn fixed(hz: u64) -> Doppler {
    Doppler::Fixed(Hertz::new(hz))
}

/// The powers of all frequencies at a value, in the order of [`frequencies`].
fn powers(process: &mut FadingProcess, number: u64, sight: Sight) -> Vec<f64> {
    process.compute(0, number, sight);
    let groups = process.values[0].powers.groups();
    let powers = groups.iter().flatten().flatten();
    powers.map(|&power| f64::from(power)).collect()
}

/// The frequencies, Hz from the carrier's middle.
fn frequencies(process: &FadingProcess, sight: Sight) -> Vec<f64> {
    let response = &process.responses[usize::from(sight == Sight::NoLine)];
    let groups = response.offsets.chunks(4);
    groups
        .flat_map(|group| [1.0, -1.0].map(|sign| group.iter().map(move |f| sign * f)))
        .flatten()
        .collect()
}

/// The mean power of each frequency is 1 for every profile and sight: fading neither adds power nor
/// takes it. 2000 seeds: standard error of a Rayleigh power 1 / sqrt(2000) = 0.022 at most.
#[test]
fn powers_are_normalised() {
    for (fading, carrier, mhz) in [
        (Fading::Epa, LTE, 4.5),
        (Fading::Eva, LTE, 4.5),
        (Fading::Etu, LTE, 4.5),
        (Fading::StreetCanyon, MMWAVE, 190.08),
    ] {
        for sight in [Sight::Line, Sight::NoLine] {
            let n = 2_000;
            let (mut first, mut sum, mut count) = (0.0, 0.0, 0);
            for seed in 0..n {
                let mut process = process(fading, fixed(5), carrier, mhz, seed);
                let powers = powers(&mut process, 0, sight);
                first += powers[0];
                sum += powers.iter().sum::<f64>();
                count += powers.len();
            }
            assert!(
                (first / n as f64 - 1.0).abs() < 0.09,
                "{fading} {sight:?}: {first}"
            );
            assert!(
                (sum / count as f64 - 1.0).abs() < 0.09,
                "{fading} {sight:?}: {sum}"
            );
        }
    }
}

/// Rice's fading: the variance of the power is (1 + 2 K) / (1 + K)^2 of its squared mean; K = 9 dB,
/// 7.943: 0.2112. Without line of sight, Rayleigh: 1.
#[test]
fn ricean_and_rayleigh_variance() {
    for (sight, expected, error) in [(Sight::Line, 0.2112, 0.03), (Sight::NoLine, 1.0, 0.12)] {
        let samples: Vec<f64> = (0..5_000)
            .map(|seed| {
                let mut process = process(Fading::StreetCanyon, fixed(5), MMWAVE, 190.08, seed);
                powers(&mut process, 0, sight)[7]
            })
            .collect();
        let n = samples.len() as f64;
        let mean = samples.iter().sum::<f64>() / n;
        let variance = samples.iter().map(|p| (p - mean).powi(2)).sum::<f64>() / n;
        assert!(
            (variance / mean.powi(2) - expected).abs() < error,
            "{sight:?}: {variance}"
        );
    }
}

/// |sum p exp(-j 2 pi lag tau)|^2.
fn correlation(profile: &Profile, lag_hz: f64) -> f64 {
    let (re, im) = profile
        .taps
        .iter()
        .fold((0.0, 0.0), |(re, im), (delay, power)| {
            let angle = core::f64::consts::TAU * lag_hz * delay;
            (re + power * angle.cos(), im + power * angle.sin())
        });
    re * re + im * im
}

/// The correlation of two frequencies is the Fourier transform of the power delay profile:
/// |sum p exp(-j 2 pi df tau)|^2 for the powers of Rayleigh fading. EVA at the spacing of its
/// frequencies in 4.5 MHz; 4000 seeds.
#[test]
fn frequency_correlation_follows_from_the_profile() {
    let n = 4_000;
    let (mut a, mut b, mut ab, mut lag_hz) = (0.0, 0.0, 0.0, 0.0);
    for seed in 0..n {
        let mut process = process(Fading::Eva, fixed(5), LTE, 4.5, seed);
        let powers = powers(&mut process, 0, Sight::NoLine);
        let frequencies = frequencies(&process, Sight::NoLine);
        lag_hz = (frequencies[1] - frequencies[0]).abs();
        a += powers[0];
        b += powers[1];
        ab += powers[0] * powers[1];
    }
    let n = n as f64;
    let covariance = ab / n - a / n * b / n;
    let expected = correlation(&Profile::eva(), lag_hz);
    assert!(
        expected > 0.3 && expected < 0.9,
        "a lag that shows something: {expected}"
    );
    assert!(
        (covariance - expected).abs() < 0.12,
        "{covariance} not {expected}"
    );
}

/// The power of a whole carrier varies less, the wider it is: its variance is the mean of |R(f - g)|^2
/// over all pairs of its frequencies, R as above. Narrow: nearly 1, Rayleigh's; ETU over 18 MHz: 0.14,
/// as nine taps are nine paths. (12 waves a tap: up to 1/12 less.) At low SINR the effective SINR is
/// the mean.
#[test]
fn wide_carriers_fade_less() {
    for (fading, profile, mhz, range) in [
        (Fading::Epa, Profile::epa(), 1.08, 0.9..1.0),
        (Fading::Eva, Profile::eva(), 4.5, 0.2..0.6),
        (Fading::Etu, Profile::etu(), 18.0, 0.1..0.2),
    ] {
        let mean = 1e-6;
        let samples: Vec<f64> = (0..6_000)
            .map(|seed| {
                let mut process = process(fading, fixed(5), LTE, mhz, seed);
                linear(process.effective_sinr(Instant::ZERO, Sight::NoLine, mean).0) / mean
            })
            .collect();
        let n = samples.len() as f64;
        let average = samples.iter().sum::<f64>() / n;
        let variance = samples.iter().map(|s| (s - average).powi(2)).sum::<f64>() / n;
        let frequencies = frequencies(&process(fading, fixed(5), LTE, mhz, 1), Sight::NoLine);
        let pairs = frequencies.len().pow(2) as f64;
        let mut expected = 0.0;
        for f in &frequencies {
            for g in &frequencies {
                expected += correlation(&profile, f - g) / pairs;
            }
        }
        assert!(range.contains(&expected), "{fading}: {expected}");
        assert!(
            (0.8..1.1).contains(&(variance / expected)),
            "{fading}: {variance} not {expected}"
        );
    }
}

fn linear(db: f64) -> f64 {
    10f64.powf(db / 10.0)
}

/// 5 Hz: 1/40 of 200 ms is 5 ms, 4 ms is 62.5 us doubled six times; 25 and 70 Hz: 2 ms; 300 Hz: a sixth is
/// 0.556 ms; 1 and 10 m/s at 28 GHz (10.7069 mm): 1.785 and 0.178 ms; never below 62.5 us.
#[test]
fn how_long_values_hold() {
    let wave = 0.010_706_9;
    for (wavelength, us) in [
        (0.2, 4_000.0),
        (0.04, 2_000.0),
        (1.0 / 70.0, 2_000.0),
        (1.0 / 300.0, 500.0),
        (wave, 1_000.0),
        (wave / 10.0, 125.0),
        (wave / 30.0, 62.5),
        (1e-5, 62.5),
    ] {
        let hold = 62.5 * 2f64.powi(doublings(wavelength) as i32);
        assert_eq!(hold, us, "{wavelength} s");
    }
    let ms = |ms: f64| Instant::ZERO + Duration::from_secs_f64(ms / 1e3);
    let mut epa = process(Fading::Epa, fixed(5), LTE, 4.5, 1);
    let first = epa.effective_sinr(Instant::ZERO, Sight::Line, 10.0);
    assert_eq!(first.1, ms(4.0));
    assert_eq!(epa.effective_sinr(ms(3.999_999), Sight::Line, 10.0), first);
    assert_ne!(epa.effective_sinr(ms(4.0), Sight::Line, 10.0).0, first.0);

    // values are numbered from time zero, whenever the movement began
    let mut mmwave = process(Fading::StreetCanyon, Doppler::Movement, MMWAVE, 190.08, 1);
    mmwave.move_with(walk(ms(3.3), 20.0, 1.0));
    let (_, until) = mmwave.effective_sinr(ms(3.3), Sight::Line, 10.0);
    assert_eq!(until, ms(4.0));
}

/// A walk along x.
fn walk(start: Instant, from: f64, speed: f64) -> Movement {
    Movement {
        start,
        from: Position::at(from, 0.0),
        velocity: (speed, 0.0),
        base: Position::at(0.0, 0.0),
        height: 8.5,
    }
}

/// Fading follows from the place: on the way back, each place fades as on the way there.
#[test]
fn consistent_in_space() {
    let mut process = process(Fading::StreetCanyon, Doppler::Movement, MMWAVE, 190.08, 3);
    let steps = 50;
    process.move_with(walk(Instant::ZERO, 20.0, 1.0));
    let there: Vec<Vec<f64>> = (0..steps)
        .map(|i| powers(&mut process, i, Sight::Line))
        .collect();
    let end = 20.0 + process.seconds() * steps as f64;
    process.move_with(walk(Instant::ZERO, end, -1.0));
    for i in 0..steps {
        let back = powers(&mut process, i, Sight::Line);
        for (a, b) in there[(steps - 1 - i) as usize].iter().zip(&back) {
            assert!((a - b).abs() < 1e-3, "step {i}: {a} there, {b} back");
        }
    }
    // a walk that began at another time finds the same at the same places
    let late = Instant::ZERO + Duration::from_millis(1_000);
    process.move_with(walk(late, 20.0, 1.0));
    for i in 0..steps {
        let number = (1.0 / process.seconds()).round() as u64 + i;
        for (a, b) in there[i as usize]
            .iter()
            .zip(&powers(&mut process, number, Sight::Line))
        {
            assert!((a - b).abs() < 1e-3, "step {i}: {a}, later {b}");
        }
    }
}

/// The effective SINR in dB at a time as it is, not as it is held.
fn exact(process: &FadingProcess, seconds: f64, sight: Sight, mean: f64) -> f64 {
    let mut process = process.clone();
    let (vx, vy) = process.movement.velocity;
    let at = |from: f64, v: f64| (from + v * seconds) / process.wavelength;
    let from = (
        at(process.movement.from.x, vx),
        at(process.movement.from.y, vy),
    );
    let step = (0.0, 0.0);
    process.waves.set_course(Course { from, step });
    // half a step before the middle of the value of that number
    process.movement.from.x += vx * (seconds - 0.5 * process.seconds());
    process.movement.from.y += vy * (seconds - 0.5 * process.seconds());
    if process.doppler != Doppler::Movement {
        process.specular_phase -=
            SPECULAR_DOPPLER * vx * (seconds - 0.5 * process.seconds()) / process.wavelength;
    }
    process.compute(0, 0, sight);
    Mean::new(mean).effective(&process.values[0].powers)
}

/// What holding costs: the root mean square difference in dB, at 15 dB, between what is held and what
/// is in the middle of each slot (of the value that begins it, where that is shorter). Where a value
/// holds for a slot or less there is none.
#[test]
fn held_values_are_near_the_exact_ones() {
    let mean = linear(15.0);
    for (fading, doppler, carrier, mhz, speed, slot, bound) in [
        (Fading::Epa, fixed(5), LTE, 4.5, 0.0, 1e-3, 0.26),
        (Fading::Eva, fixed(70), LTE, 4.5, 0.0, 1e-3, 0.8),
        (Fading::Etu, fixed(300), LTE, 4.5, 0.0, 1e-3, 0.01),
        (
            Fading::StreetCanyon,
            Doppler::Movement,
            MMWAVE,
            190.08,
            1.0,
            125e-6,
            0.55,
        ),
        (
            Fading::StreetCanyon,
            Doppler::Movement,
            MMWAVE,
            190.08,
            10.0,
            125e-6,
            0.01,
        ),
    ] {
        let mut square = 0.0;
        let (seeds, slots) = (60, 60);
        for seed in 0..seeds {
            let mut process = process(fading, doppler, carrier, mhz, seed);
            process.move_with(walk(Instant::ZERO, 20.0, speed));
            for i in 0..slots {
                // slots far from each other
                let begin = slot * f64::from(37 * i);
                let at = Instant::ZERO + Duration::from_secs_f64(begin);
                let held = process.effective_sinr(at, Sight::NoLine, mean).0;
                let middle = begin + slot.min(process.seconds()) / 2.0;
                let is = exact(&process, middle, Sight::NoLine, mean);
                square += (held - is).powi(2);
            }
        }
        let rms = (square / (seeds as f64 * f64::from(slots))).sqrt();
        assert!(rms < bound, "{fading} {doppler:?} {speed} m/s: {rms} dB");
    }
}

/// Bessel function J0 by its power series: sum of (-x^2/4)^k / (k!)^2.
pub(super) fn j0(x: f64) -> f64 {
    let mut term = 1.0;
    (1..60).fold(1.0, |sum, k| {
        term *= -x * x / 4.0 / f64::from(k * k);
        sum + term
    })
}

/// What is held keeps the distribution and the autocorrelation of the power: slots of 1 ms of a flat
/// Rayleigh channel. The covariance over a time t is J0(2 pi f_D t)^2; where values hold for two slots
/// (70 Hz), it is that of 0 and of 2 ms in equal parts after one slot, and so on: at most 0.09 off. At
/// 300 Hz every slot has a value of its own. P(power < 0.1) = 0.0952, P(power < 1) = 0.6321.
#[test]
fn held_values_keep_distribution_and_autocorrelation() {
    for (hz, tolerance) in [(5, 0.02), (70, 0.11), (300, 0.05)] {
        let (seeds, slots, lags) = (3_000, 60usize, [0usize, 1, 2, 3, 5, 8]);
        let mut sums = [0.0; 6];
        let (mut mean, mut deep, mut below) = (0.0, 0.0, 0.0);
        for seed in 0..seeds {
            let mut process = process(Fading::Epa, fixed(hz), LTE, 0.015, seed);
            let powers: Vec<f64> = (0..slots as u64)
                .map(|i| {
                    let at = Instant::ZERO + Duration::from_millis(i);
                    linear(process.effective_sinr(at, Sight::NoLine, 1.0).0)
                })
                .collect();
            for (lag, sum) in lags.iter().zip(&mut sums) {
                let pairs = powers.iter().zip(&powers[*lag..]).take(slots - 8);
                *sum += pairs.map(|(a, b)| a * b).sum::<f64>() / (slots - 8) as f64;
            }
            // one of the slots of each link, as they are much alike
            mean += powers[0];
            deep += f64::from(u8::from(powers[0] < 0.1));
            below += f64::from(u8::from(powers[0] < 1.0));
        }
        let n = seeds as f64;
        assert!((mean / n - 1.0).abs() < 0.08, "{hz} Hz: mean {}", mean / n);
        assert!((deep / n - 0.0952).abs() < 0.022, "{hz} Hz: {}", deep / n);
        assert!((below / n - 0.6321).abs() < 0.036, "{hz} Hz: {}", below / n);
        for (lag, sum) in lags.iter().zip(sums) {
            let turns = core::f64::consts::TAU * hz as f64 * *lag as f64 * 1e-3;
            let (seen, expected) = ((sum / n - 1.0) / (sums[0] / n - 1.0), j0(turns).powi(2));
            assert!(
                (seen - expected).abs() < tolerance,
                "{hz} Hz, lag {lag}: {seen} not {expected}"
            );
        }
    }
}

/// The frequencies stand for the whole carrier: root mean square difference in dB of the effective
/// SINR to that of 256 frequencies, at 5 and 20 dB.
#[test]
fn few_frequencies_are_enough() {
    for (fading, carrier, mhz, bounds) in [
        (Fading::Epa, LTE, 4.5, (0.015, 0.025)),
        (Fading::Eva, LTE, 4.5, (0.06, 0.2)),
        (Fading::Etu, LTE, 4.5, (0.25, 0.5)),
        (Fading::Etu, LTE, 18.0, (0.42, 0.75)),
        (Fading::StreetCanyon, MMWAVE, 190.08, (0.33, 0.48)),
    ] {
        let [_, profile] = fading
            .profiles(carrier)
            .unwrap()
            .map(Profile::strongest_first);
        let seeds = 400;
        let mut squares = [0.0; 2];
        for seed in 0..seeds {
            let mut process = process(fading, fixed(5), carrier, mhz, seed);
            process.compute(0, 0, Sight::NoLine);
            let gains = process.waves.gains(0);
            let powers: Vec<f64> = (0..256)
                .map(|k| {
                    let offset = ((f64::from(k) + 0.5) / 256.0 - 0.5) * mhz * 1e6;
                    let (mut re, mut im) = (0.0, 0.0);
                    for (tap, (delay, power)) in profile.taps.iter().enumerate() {
                        let (sin, cos) = (-core::f64::consts::TAU * offset * delay).sin_cos();
                        let (a, b) = (f64::from(gains.re[tap]), f64::from(gains.im[tap]));
                        re += power.sqrt() * (a * cos - b * sin);
                        im += power.sqrt() * (a * sin + b * cos);
                    }
                    re * re + im * im
                })
                .collect();
            for (db, square) in [5.0, 20.0].into_iter().zip(&mut squares) {
                let mean = linear(db);
                let capacity = powers.iter().map(|p| (mean * p).ln_1p()).sum::<f64>() / 256.0;
                let whole = 10.0 * capacity.exp_m1().log10();
                *square += (Mean::new(mean).effective(&process.values[0].powers) - whole).powi(2);
            }
        }
        let [low, high] = squares.map(|square| (square / seeds as f64).sqrt());
        assert!(
            low < bounds.0 && high < bounds.1,
            "{fading} {mhz} MHz: {low} dB, {high} dB"
        );
    }
}

#[test]
fn names_and_refusals() {
    for (fading, name) in Fading::ALL.into_iter().zip(Fading::NAMES) {
        assert_eq!(fading.to_string(), *name);
        assert_eq!(name.parse(), Ok(fading));
    }
    assert_eq!(
        "epb".parse::<Fading>().unwrap_err().to_string(),
        "unknown fading profile \"epb\"; known: none, epa, eva, etu, street-canyon"
    );
    for hz in [0, MAX_DOPPLER + 1] {
        assert!(matches!(
            fixed(hz).check(),
            Err(FadingError::Doppler { .. })
        ));
    }
    assert!(fixed(300).check().is_ok());
}

/// At the frequencies of the effective SINR groups have the same powers, with and without a constant ray, and the
/// groups of a carrier their own.
#[test]
fn groups_have_the_response_of_their_frequencies() {
    for (fading, carrier, mhz, sight) in [
        (Fading::Epa, LTE, 18.0, Sight::Line),
        (Fading::StreetCanyon, MMWAVE, 190.08, Sight::Line),
        (Fading::StreetCanyon, MMWAVE, 190.08, Sight::NoLine),
    ] {
        let mut process = process(fading, fixed(5), carrier, mhz, 11);
        let offsets = frequencies(&process, sight);
        process.divide(&offsets);
        for number in [0, 5, 1_000] {
            let expected = powers(&mut process, number, sight);
            let groups = &process.values[0].groups;
            assert_eq!(groups.len(), expected.len());
            for (group, expected) in groups.iter().zip(expected) {
                let error = (f64::from(*group) - expected).abs();
                assert!(error < 1e-4, "{fading}: {group}, {expected}");
            }
        }
    }
}

/// Groups change nothing of the effective SINR.
#[test]
fn a_divided_carrier_fades_alike() {
    let mut whole = process(Fading::Epa, fixed(5), LTE, 18.0, 3);
    let mut divided = whole.clone();
    divided.divide(&[-8e6, 0.0, 8e6]);
    for ms in 0..200 {
        let at = Instant::ZERO + Duration::from_millis(ms);
        let seen = divided.effective_sinr(at, Sight::Line, 10.0);
        assert_eq!(whole.effective_sinr(at, Sight::Line, 10.0), seen);
        assert!(whole.group_powers().is_empty() && divided.group_powers().len() == 3);
    }
}
