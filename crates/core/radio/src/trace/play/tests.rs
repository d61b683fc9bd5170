mod properties;

use super::*;
use crate::trace::{Format, ReadOptions, read};
use crate::{ChannelState, Link};
use units::{Instant, Mcs};

fn trace(text: &str) -> Trace {
    read("f", text.as_bytes(), &ReadOptions::default()).unwrap()
}

const fn cell(table: McsTable) -> CellParameters {
    CellParameters {
        table,
        n_prb: Prb::new(25),
        slot_duration: Duration::from_millis(1),
        layers: 1,
        data_re_per_prb: 132,
    }
}

const LTE: CellParameters = cell(McsTable::LteQam64);

fn play(trace: &Trace, playback: &Playback) -> Box<dyn Channel> {
    trace.channel(playback, &LTE).unwrap()
}

fn at_us(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}

fn at_ms(ms: u64) -> Instant {
    at_us(ms * 1000)
}

const MS: Duration = Duration::from_millis(1);

fn bytes_of(state: ChannelState) -> u64 {
    match state.link {
        Link::Opportunity { bytes, .. } => bytes.get(),
        Link::Mcs { .. } => panic!("an MCS in a trace of capacity"),
        Link::Outage => 0,
    }
}

/// The first slots of a millisecond each.
fn first_slots(channel: &mut dyn Channel, slots: u64) -> Vec<u64> {
    (0..slots)
        .map(|i| bytes_of(channel.state(at_ms(i), MS)))
        .collect()
}

/// The README of Mahimahi: the trace `1` lets one packet pass per millisecond.
#[test]
fn mahimahi_readme_fixed_rate() {
    let mut channel = play(&trace("1\n"), &Playback::default());
    assert_eq!(first_slots(&mut *channel, 5), [0, 1500, 1500, 1500, 1500]);
    let state = channel.state(at_ms(500), MS);
    let Link::Opportunity { mean_rate, .. } = state.link else {
        panic!("outage")
    };
    assert!(
        (11_800_000..=12_000_000).contains(&mean_rate.as_bps()),
        "{mean_rate}"
    );
}

#[test]
fn mahimahi_repeats_at_its_last_time() {
    // 3 ms long: the next lap's 0 ms falls on 3 ms
    let text = trace("0\n1\n1\n3\n");
    let mut channel = play(&text, &Playback::default());
    let lap = [1500, 3000, 0, 3000, 3000, 0, 3000];
    assert_eq!(first_slots(&mut *channel, 7), lap);
    let once = Playback {
        repeat: false,
        ..Playback::default()
    };
    let mut channel = play(&text, &once);
    assert_eq!(
        first_slots(&mut *channel, 7),
        [1500, 3000, 0, 1500, 0, 0, 0]
    );
    let end = channel.state(at_ms(7), MS);
    assert_eq!((end.link, end.holds_until), (Link::Outage, Instant::MAX));
}

#[test]
fn a_long_gap_is_an_outage_until_the_slot_of_the_next_packet() {
    let mut channel = play(&trace("0\n1\n1000\n"), &Playback::default());
    assert_eq!(first_slots(&mut *channel, 2), [1500, 1500]);
    // within 100 ms of the last packet the link is slow, not out
    assert!(matches!(
        channel.state(at_ms(90), MS).link,
        Link::Opportunity { .. }
    ));
    let state = channel.state(at_ms(200), MS);
    assert_eq!(state.link, Link::Outage);
    assert_eq!(state.holds_until, at_ms(999) + Duration::from_nanos(1));
    // the last packet and the next lap's first
    assert_eq!(bytes_of(channel.state(at_ms(1000), MS)), 3000);
}

#[test]
fn packets_come_at_the_beginning_of_each_tick() {
    let playback = Playback {
        hold_ticks: 2,
        ..Playback::default()
    };
    let mut channel = play(&trace("3\n2\n0\n1\n"), &playback);
    let busy: Vec<_> = (0..70u64)
        .map(|ms| (ms, bytes_of(channel.state(at_ms(ms), MS))))
        .filter(|&(_, bytes)| bytes > 0)
        .collect();
    // 2 packets in two ticks, none in two, 1 in two, and again
    assert_eq!(
        busy,
        [(0, 3000), (10, 3000), (40, 1500), (50, 1500), (60, 3000)]
    );

    let mut channel = play(&trace("3\n2\n0\n1\n"), &playback);
    let state = channel.state(at_ms(3), MS);
    let mean_rate = BitRate::from_bps(2_400_000);
    assert_eq!(
        state.link,
        Link::Opportunity {
            bytes: Bytes::ZERO,
            mean_rate
        }
    );
    let state = channel.state(at_ms(21), MS);
    assert_eq!(state.link, Link::Outage);
    assert!(
        state.holds_until > at_ms(29) && state.holds_until <= at_ms(40),
        "{state:?}"
    );
}

#[test]
fn a_tick_is_shared_out_between_its_parts() {
    let playback = Playback {
        hold_ticks: 2,
        opportunity_period: Some(Duration::from_micros(1250)),
        ..Playback::default()
    };
    // 1 packet a tick, in eight parts of 187.5 B; then 2 packets
    let mut channel = play(&trace("2\n1\n2\n"), &playback);
    let slot = Duration::from_micros(125);
    let at = |n: u64| Instant::ZERO + slot * n;
    let given: Vec<u64> = (0..320)
        .map(|n| bytes_of(channel.state(at(n), slot)))
        .collect();
    let parts: Vec<u64> = given.iter().copied().step_by(10).collect();
    assert_eq!(parts[..4], [187, 188, 187, 188]);
    assert_eq!(parts[16..20], [375; 4]);
    assert_eq!(given.iter().sum::<u64>(), 2 * 1500 + 2 * 3000);
    assert!(
        given
            .iter()
            .enumerate()
            .all(|(n, &bytes)| bytes == 0 || n % 10 == 0)
    );

    let error = |period| {
        let playback = Playback {
            opportunity_period: Some(period),
            ..Playback::default()
        };
        let refused = trace("2\n1\n2\n").channel(&playback, &LTE).err();
        refused.map(|error| error.to_string()).unwrap_or_default()
    };
    let message = error(Duration::from_millis(3));
    assert!(message.contains("opportunity_period is 3 ms"), "{message}");
    assert!(error(Duration::ZERO).contains("opportunity_period"));
}

#[test]
fn an_empty_slot_holds_until_the_next_tick() {
    let mut channel = play(&trace("2\n1\n2\n"), &Playback::default());
    assert_eq!(bytes_of(channel.state(at_ms(0), MS)), 1500);
    let state = channel.state(at_ms(1), MS);
    assert_eq!(bytes_of(state), 0);
    assert!(
        state.holds_until > at_ms(9) && state.holds_until <= at_ms(10),
        "{state:?}"
    );
    assert_eq!(bytes_of(channel.state(at_ms(10), MS)), 1500);
}

#[test]
fn rate_is_exact_over_odd_slots() {
    // 3 bit/s: a byte in 2.67 s
    let trace = trace("# brimful-trace 1 duration_s=8\ntime_s,rate_bps\n0,3\n");
    let mut channel = play(&trace, &Playback::default());
    let second = Duration::from_secs(1);
    let bytes: Vec<_> = (0..9)
        .map(|i| bytes_of(channel.state(Instant::ZERO + second * i, second)))
        .collect();
    assert_eq!(bytes, [0, 0, 1, 0, 0, 1, 0, 1, 0]);
}

#[test]
fn rate_zero_is_an_outage() {
    let trace = trace("seq_num,throughput_mbps\n0,8\n1,0\n2,16\n");
    let mut channel = play(&trace, &Playback::default());
    let state = channel.state(at_ms(0), MS);
    let mean_rate = BitRate::from_mbps(8);
    assert_eq!(
        state.link,
        Link::Opportunity {
            bytes: Bytes::new(1000),
            mean_rate
        }
    );
    assert_eq!(state.holds_until, at_ms(1));
    let state = channel.state(at_ms(1000), MS);
    assert_eq!((state.link, state.cqi), (Link::Outage, Cqi::new(0)));
    assert_eq!(state.holds_until, at_ms(1999) + Duration::from_nanos(1));
    // a slot that reaches into the next second
    assert_eq!(bytes_of(channel.state(at_us(1_999_500), MS)), 1000);
}

#[test]
fn the_same_slot_queried_twice_is_the_same() {
    let mut channel = play(&trace("0\n1\n1\n3\n"), &Playback::default());
    let first = channel.state(at_ms(1), MS);
    assert_eq!(channel.state(at_ms(1), MS), first);
    assert_eq!(bytes_of(first), 3000);
}

#[test]
fn offset_moves_the_beginning() {
    let offset = |ms, repeat| Playback {
        offset: MS * ms,
        repeat,
        ..Playback::default()
    };
    let text = trace("0\n1\n1\n3\n");
    assert_eq!(
        first_slots(&mut *play(&text, &offset(1, true)), 3),
        [3000, 0, 3000]
    );
    // 300 laps later it is the same
    assert_eq!(
        first_slots(&mut *play(&text, &offset(901, true)), 3),
        [3000, 0, 3000]
    );
    let error = text.channel(&offset(3, false), &LTE).err().unwrap();
    assert!(
        error
            .to_string()
            .contains("beyond the end of the trace (3 ms)"),
        "{error}"
    );
}

/// 25 PRBs, LTE, 120 RE each, 1 ms: CQI 7 (1.4766) is worth 4.43 Mbit/s, CQI 15 (5.5547) 16.66.
#[test]
fn equivalent_cqi() {
    let scale = CqiScale::new(&LTE);
    for (kbps, cqi) in [
        (0, 1),
        (4_400, 6),
        (4_450, 7),
        (16_600, 14),
        (16_700, 15),
        (9_999_999, 15),
    ] {
        assert_eq!(
            scale.cqi(BitRate::from_bps(kbps * 1000)),
            Cqi::new(cqi),
            "{kbps}"
        );
    }
}

const CQIS: &str = "Timestamp,NetworkMode,CQI\n\
    2020.01.01_00.00.00,LTE,-\n\
    2020.01.01_00.00.01,LTE,14\n\
    2020.01.01_00.00.02,LTE,-\n\
    2020.01.01_00.00.03,HSPA+,-\n\
    2020.01.01_00.00.04,LTE,0\n\
    2020.01.01_00.00.05,LTE,3\n";

/// The MCS of each second, `None` in an outage.
fn mcs_each_second(playback: &Playback, seconds: u64) -> Vec<Option<u8>> {
    let mut channel = play(&trace(CQIS), playback);
    let mcs = |i| match channel.state(at_ms(1000 * i + 500), MS).link {
        Link::Mcs { mcs, .. } => Some(mcs.get()),
        _ => None,
    };
    (0..seconds).map(mcs).collect()
}

/// OAI LTE: CQI 14 -> MCS 27, CQI 3 -> MCS 2, CQI 0 -> MCS 0 (`mac.h`).
#[test]
fn rows_without_cqi() {
    let with = |without_cqi| Playback {
        without_cqi,
        ..Playback::default()
    };
    let outage = with(WithoutCqi::OutageOnOlderNetwork);
    let expected = [
        Some(27),
        Some(27),
        Some(27),
        None,
        Some(0),
        Some(2),
        Some(27),
    ];
    assert_eq!(mcs_each_second(&outage, 7), expected);
    let hold = with(WithoutCqi::Hold);
    let expected = [
        Some(27),
        Some(27),
        Some(27),
        Some(27),
        Some(0),
        Some(2),
        Some(27),
    ];
    assert_eq!(mcs_each_second(&hold, 7), expected);
    // three of six seconds are left
    let skip = with(WithoutCqi::Skip);
    assert_eq!(
        mcs_each_second(&skip, 4),
        [Some(27), Some(0), Some(2), Some(27)]
    );
    let lap = |playback| trace(CQIS).lap(playback);
    let whole = Duration::from_secs(6);
    assert_eq!(
        [lap(&outage), lap(&hold), lap(&skip)],
        [whole, whole, whole / 2]
    );
}

#[test]
fn a_cqi_holds_until_the_next() {
    let mut channel = play(
        &trace(CQIS),
        &Playback {
            bler: 0.25,
            ..Playback::default()
        },
    );
    let state = channel.state(at_ms(0), MS);
    assert_eq!(
        state.link,
        Link::Mcs {
            mcs: Mcs::new(27),
            sinr: None,
            bler: 0.25
        }
    );
    assert_eq!((state.cqi, state.holds_until), (Cqi::new(14), at_ms(3000)));
    let state = channel.state(at_ms(3000), MS);
    assert_eq!((state.link, state.holds_until), (Link::Outage, at_ms(4000)));
    let state = channel.state(at_ms(5999), MS);
    assert_eq!((state.cqi, state.holds_until), (Cqi::new(3), at_ms(6000)));
}

#[test]
fn a_policy_without_the_cells_table_is_refused() {
    let playback = Playback {
        policy: Some(CqiToMcs::OaiNr),
        ..Playback::default()
    };
    let error = trace(CQIS).channel(&playback, &LTE).err().unwrap();
    assert!(matches!(error, PlaybackError::Policy { .. }), "{error}");
    // but a trace of capacity needs no policy
    assert!(trace("1\n").channel(&playback, &LTE).is_ok());
}

#[test]
fn settings_out_of_range_are_refused() {
    let usual = Playback::default;
    let cases = [
        (
            Playback {
                bler: 1.0,
                ..usual()
            },
            "bler is 1",
        ),
        (
            Playback {
                bler: f64::NAN,
                ..usual()
            },
            "bler is NaN",
        ),
        (
            Playback {
                packet: Bytes::ZERO,
                ..usual()
            },
            "packet is 0 B",
        ),
        (
            Playback {
                tick: Duration::ZERO,
                ..usual()
            },
            "tick is 0 s",
        ),
        (
            Playback {
                offset: Duration::MAX,
                ..usual()
            },
            "offset is",
        ),
        (
            Playback {
                hold_ticks: 0,
                ..usual()
            },
            "hold_ticks is 0",
        ),
    ];
    for (playback, expected) in cases {
        let error = trace("3\n2\n0\n1\n")
            .channel(&playback, &LTE)
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains(expected), "{error}");
    }
    let no_prb = CellParameters {
        n_prb: Prb::new(0),
        ..LTE
    };
    assert!(trace("1\n").channel(&usual(), &no_prb).is_err());
}

const DCIS: &str = "timestamp,system_frame_index,slot_index,rnti,dci_format,frequency_length,\
    nof_layers,mcs_index,transport_block_size,mcs_table\n\
    1.000,0,0,7,1_1,10,1,5,1000,64qam\n\
    1.001,0,1,8,1_1,20,1,9,3000,64qam\n\
    1.001,0,1,9,1_1,30,1,9,3000,64qam\n\
    1.002,0,2,8,1_1,6,1,9,3000,64qam\n\
    1.003,0,3,7,1_1,10,1,28,1000,64qam\n\
    1.004,0,4,7,1_1,10,1,29,0,64qam\n\
    1.005,0,5,8,0_1,4,1,9,300,64qam\n\
    1.005,0,5,7,1_1,10,1,11,300,64qam\n";

#[test]
fn a_dci_log_gives_the_ues_mcs() {
    let nr = cell(McsTable::NrQam64);
    let mut channel = trace(DCIS).channel(&Playback::default(), &nr).unwrap();
    let mcs: Vec<_> = (0..7)
        .map(|i| match channel.state(at_ms(i), MS).link {
            Link::Mcs { mcs, .. } => mcs.get(),
            _ => panic!("no MCS"),
        })
        .collect();
    // 28 is MCS 28 of the 64QAM table; 29 is a retransmission; the log repeats after 6 ms
    assert_eq!(mcs, [5, 5, 5, 28, 28, 11, 5]);
}

/// TS 38.214: MCS 28 of Table 5.1.3.1-1 (5.5547 bit/s/Hz) is MCS 20 of Table 5.1.3.1-2 (5.3320,
/// the next is 5.5547 = MCS 21).
#[test]
fn a_dci_logs_mcs_is_translated_to_the_cells_table() {
    let nr256 = cell(McsTable::NrQam256);
    let mut channel = trace(DCIS).channel(&Playback::default(), &nr256).unwrap();
    let Link::Mcs { mcs, .. } = channel.state(at_ms(3), MS).link else {
        panic!("no MCS")
    };
    assert_eq!(mcs, Mcs::new(21));
}

#[test]
fn a_dci_log_gives_the_others_prbs() {
    let log = trace(DCIS);
    let wide = CellParameters {
        n_prb: Prb::new(100),
        ..cell(McsTable::NrQam64)
    };
    let mut load = log.load(&Playback::default(), &wide).unwrap();
    let prb: Vec<_> = (0..8).map(|i| load.prb(at_ms(i), MS).get()).collect();
    assert_eq!(prb, [0, 50, 6, 0, 0, 0, 0, 50]);
    // cut at the carrier, and averaged over a longer slot: (25 + 6) / 2, rounded
    let mut load = log
        .load(&Playback::default(), &cell(McsTable::NrQam64))
        .unwrap();
    assert_eq!(load.prb(at_ms(1), MS * 2), Prb::new(16));
    // a shorter slot has the PRBs of the slot that it lies in
    let mut load = log.load(&Playback::default(), &wide).unwrap();
    assert_eq!(
        load.prb(at_us(1250), Duration::from_micros(125)),
        Prb::new(50)
    );
    assert!(trace("1\n").load(&Playback::default(), &LTE).is_none());
}
