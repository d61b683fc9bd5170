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

/// The powers of all frequencies at a value.
fn powers(process: &mut FadingProcess, number: u64, sight: Sight) -> Vec<f64> {
    process.compute(number, sight);
    process.powers[..process.frequencies]
        .iter()
        .map(|&p| f64::from(p))
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
/// |sum p exp(-j 2 pi df tau)|^2 for the powers of Rayleigh fading. EVA at a spacing of a quarter of
/// 4.5 MHz; 4000 seeds.
#[test]
fn frequency_correlation_follows_from_the_profile() {
    let n = 4_000;
    let (mut a, mut b, mut ab, mut lag_hz) = (0.0, 0.0, 0.0, 0.0);
    for seed in 0..n {
        let mut process = process(Fading::Eva, fixed(5), LTE, 4.5, seed);
        let powers = powers(&mut process, 0, Sight::NoLine);
        lag_hz = 4.5e6 / powers.len() as f64;
        a += powers[3];
        b += powers[4];
        ab += powers[3] * powers[4];
    }
    let n = n as f64;
    let covariance = ab / n - a / n * b / n;
    let expected = correlation(&Profile::eva(), lag_hz);
    assert!(
        expected > 0.3 && expected < 0.9,
        "a lag that says something: {expected}"
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
        let mut frequencies = 0;
        let samples: Vec<f64> = (0..6_000)
            .map(|seed| {
                let mut process = process(fading, fixed(5), LTE, mhz, seed);
                frequencies = process.frequencies;
                process.effective_sinr(Instant::ZERO, Sight::NoLine, mean).0 / mean
            })
            .collect();
        let n = samples.len() as f64;
        let average = samples.iter().sum::<f64>() / n;
        let variance = samples.iter().map(|s| (s - average).powi(2)).sum::<f64>() / n;
        let spacing = mhz * 1e6 / frequencies as f64;
        let mut expected = 0.0;
        for i in 0..frequencies {
            for j in 0..frequencies {
                let lag = spacing * i.abs_diff(j) as f64;
                expected += correlation(&profile, lag) / (frequencies * frequencies) as f64;
            }
        }
        assert!(range.contains(&expected), "{fading}: {expected}");
        assert!(
            (0.8..1.1).contains(&(variance / expected)),
            "{fading}: {variance} not {expected}"
        );
    }
}

/// SINR of equal frequencies is their own; 2^((log2(1 + 1) + log2(1 + 3)) / 2) - 1 = 2^1.5 - 1.
#[test]
fn effective_sinr_is_that_of_the_mean_capacity() {
    assert!((effective_sinr(7.0, &[1.0; 12]) - 7.0).abs() < 1e-12);
    assert!((effective_sinr(1.0, &[1.0, 3.0, 3.0, 1.0]) - (2f64.powf(1.5) - 1.0)).abs() < 1e-12);
    // both branches agree where they meet
    let powers = [0.2, 1.7, 0.9, 3.0];
    let (below, above) = (LINEAR_BELOW * 0.999_999, LINEAR_BELOW);
    let ratio = effective_sinr(above, &powers) / effective_sinr(below, &powers);
    assert!((ratio - 1.0).abs() < 1e-3, "{ratio}");
    assert!(effective_sinr(1e300, &[5.0; 32]).is_finite());
    assert_eq!(effective_sinr(0.0, &powers), 0.0);
}

/// 5 Hz: 1/20 of 200 ms; 70 Hz: 2 ms; 1 m/s at 28 GHz: 10.7069 mm / 6 / 1 m/s = 1.7845 ms; never
/// below 50 us.
#[test]
fn how_long_values_hold() {
    for (doppler, us) in [
        (5.0, 10_000),
        (25.0, 2_000),
        (70.0, 2_000),
        (300.0, 555),
        (1e5, 50),
    ] {
        assert_eq!(hold(1.0 / doppler).as_micros(), us, "{doppler} Hz");
    }
    let mut epa = process(Fading::Epa, fixed(5), LTE, 4.5, 1);
    let (first, until) = epa.effective_sinr(Instant::ZERO, Sight::Line, 10.0);
    assert_eq!(until, Instant::from_nanos(10_000_000));
    let just_before = Instant::from_nanos(9_999_999);
    assert_eq!(
        epa.effective_sinr(just_before, Sight::Line, 10.0),
        (first, until)
    );
    assert_ne!(epa.effective_sinr(until, Sight::Line, 10.0).0, first);

    let mut mmwave = process(Fading::StreetCanyon, Doppler::Movement, MMWAVE, 190.08, 1);
    let start = Instant::from_nanos(3_000_000);
    mmwave.move_with(Movement {
        start,
        from: Position::at(20.0, 0.0),
        velocity: (1.0, 0.0),
        base: Position::at(0.0, 0.0),
        height: 8.5,
    });
    let (_, until) = mmwave.effective_sinr(start, Sight::Line, 10.0);
    assert_eq!((until - start).as_nanos(), 1_784_479);
}

/// Fading follows from the place: on the way back, each place fades as on the way there.
#[test]
fn consistent_in_space() {
    let mut process = process(Fading::StreetCanyon, Doppler::Movement, MMWAVE, 190.08, 3);
    let base = Position::at(0.0, 0.0);
    let movement = |from, vx| Movement {
        start: Instant::ZERO,
        from: Position::at(from, 0.0),
        velocity: (vx, 0.0),
        base,
        height: 8.5,
    };
    let steps = 50;
    process.move_with(movement(20.0, 1.0));
    let step = process.step.unwrap();
    let there: Vec<Vec<f64>> = (0..steps)
        .map(|i| powers(&mut process, i, Sight::Line))
        .collect();
    let end = 20.0 + (step * steps).as_secs_f64();
    process.move_with(movement(end, -1.0));
    for i in 0..steps {
        let back = powers(&mut process, i, Sight::Line);
        for (a, b) in there[(steps - 1 - i) as usize].iter().zip(&back) {
            assert!((a - b).abs() < 1e-3, "step {i}: {a} there, {b} back");
        }
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
