//! The model's values as the words in which the programs have them (`bpf/cdbe_model.h`).

#[cfg(test)]
use cc::cdbe::clock::PeerClock;
use cc::cdbe::competing::Competing;
use cc::cdbe::server::{self, Phase};
use cc::cdbe::steering::{Floor, Steering};
use cc::cdbe::{Mode, estimator};

/// Words of the program's `struct rules`.
pub(super) const RULES: usize = 6;
/// Words of its `struct estimate`.
pub(super) const ESTIMATE: usize = 25;
/// Words of its `struct decision`.
pub(super) const DECISION: usize = 28 + 28 + 27;
/// Words of its `struct peer_clock`.
pub(super) const CLOCK: usize = 10;

/// `struct rules`.
pub(super) fn rules(config: &server::Config) -> [u64; RULES] {
    [
        mode(config.mode),
        config.startup_rounds,
        config.ups,
        config.downs,
        config.inflight_share,
        config.mss,
    ]
}

fn mode(mode: Mode) -> u64 {
    match mode {
        Mode::Paper => 0,
        Mode::Default => 1,
    }
}

/// The state of that number.
pub(super) fn phase(number: u64) -> Phase {
    match number {
        0 => Phase::Startup,
        1 => Phase::Normal,
        2 => Phase::Grow,
        _ => Phase::Drain,
    }
}

/// `struct estimate` from its words.
pub(super) fn estimate(words: &[u64; ESTIMATE]) -> estimator::State {
    let w = words;
    estimator::State {
        is_running: w[0] != 0,
        window: w[1],
        long_at: w[2],
        samples: w[3],
        rates: w[4],
        past_bytes: [w[5], w[6], w[7], w[8], w[9]],
        past_time: [w[10], w[11], w[12], w[13], w[14]],
        head_at: w[15],
        head_stamp: w[16] as u32,
        bytes: w[17],
        since: w[18],
        last_at: w[19],
        last_stamp: w[20] as u32,
        spacing: w[21],
        before_at: w[22],
        has_before: w[23] != 0,
        rate: w[24],
    }
}

/// `struct peer_clock` from its words.
#[cfg(test)]
pub(super) fn clock(words: &[u64; CLOCK]) -> PeerClock {
    let w = words;
    let signed = |k: usize| w[k].cast_signed();
    PeerClock {
        is_running: w[0] != 0,
        first_val: w[1] as u32,
        first_ecr: w[2] as u32,
        first_at: w[3],
        tick: w[4],
        early: [signed(5), signed(6), signed(7), signed(8)],
        origin: signed(9),
    }
}

/// `struct decision` from its words.
pub(super) fn decision(words: &[u64; DECISION]) -> server::State {
    let w = words;
    let signed = |k: usize| w[k].cast_signed();
    server::State {
        phase: phase(w[0]),
        report: w[1],
        reported: w[2],
        bounded: w[3],
        min_rtt: w[4],
        is_running: w[5] != 0,
        window_at: w[6],
        windows: w[7],
        tally: server::Tally {
            count: signed(8),
            sum: signed(9),
            least: signed(10),
        },
        before: signed(11),
        has_before: w[12] != 0,
        least: signed(13),
        has_least: w[14] != 0,
        ups: w[15],
        downs: w[16],
        start: signed(17),
        is_watching: w[18] != 0,
        rounds: w[19],
        report_before: w[20],
        stalls: w[21],
        delivered: [w[22], w[23]],
        is_app_limited: w[24] != 0,
        gain: w[25],
        has_report: w[26] != 0,
        reported_at: w[27],
        steering: steering(&w[28..]),
    }
}

fn steering(w: &[u64]) -> Steering {
    let signed = |k: usize| w[k].cast_signed();
    let floor = |from: usize| Floor {
        has_now: w[from] != 0,
        now: signed(from + 1),
        has_before: w[from + 2] != 0,
        before: signed(from + 3),
        since: w[from + 4],
    };
    Steering {
        is_running: w[0] != 0,
        delay: floor(1),
        rtt: floor(6),
        queue: signed(11),
        samples: w[12],
        least_queue: signed(13),
        known_rtt: signed(14),
        acked: w[15],
        lost: w[16],
        backoff: w[17],
        empty_at: w[18],
        depth: w[19],
        is_draining: w[20] != 0,
        drain_until: w[21],
        hold_until: w[22],
        check_at: w[23],
        held: w[24],
        settled_at: w[25],
        is_filling: w[26] != 0,
        is_growing: w[27] != 0,
        competing: competing(&w[28..]),
    }
}

fn competing(w: &[u64]) -> Competing {
    Competing {
        is_on: w[0] != 0,
        long_since: w[1],
        long_queue: w[2].cast_signed(),
        long_report: w[3],
        empty_since: w[4],
        began: w[5],
        lasts: w[6],
        trial_at: w[7],
        trial_queue: w[8].cast_signed(),
        trial_report: w[9],
        base: w[10],
        share: w[11],
        phase: w[12],
        phase_at: w[13],
        cycles: w[14],
        rtt: w[15],
        rtt_sum: w[16],
        rtt_count: w[17],
        acked: w[18],
        acked_before: w[19],
        lost: w[20],
        high: w[21],
        high_rate: w[22],
        low: w[23],
        low_rate: w[24],
        fall: w[25],
        given: w[26],
    }
}

/// Words as the kernel has them in memory.
pub(super) fn to_bytes(words: impl IntoIterator<Item = u64>) -> Vec<u8> {
    words.into_iter().flat_map(u64::to_ne_bytes).collect()
}

/// `N` words from a place in a map's value; none if it is too short.
pub(super) fn from_bytes<const N: usize>(value: &[u8], from: usize) -> Option<[u64; N]> {
    let part = value.get(from..from + 8 * N)?;
    let mut words = [0; N];
    for (word, bytes) in words.iter_mut().zip(part.chunks_exact(8)) {
        *word = u64::from_ne_bytes(bytes.try_into().ok()?);
    }
    Some(words)
}
