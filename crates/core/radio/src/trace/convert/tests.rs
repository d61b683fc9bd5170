use super::*;
use crate::trace::{ReadOptions, read, write};
use proptest::prelude::*;
use rnis::McsTable;
use units::Prb;

fn trace(text: &str) -> Trace {
    read("f", text.as_bytes(), &ReadOptions::default()).unwrap()
}

fn converted(text: &str, to: Format, options: &ConvertOptions) -> String {
    let converted = convert(&trace(text), to, options).unwrap();
    write(&converted, to).unwrap()
}

fn with_cell() -> ConvertOptions {
    let cell = CellParameters {
        table: McsTable::LteQam64,
        n_prb: Prb::new(25),
        slot_duration: Duration::from_millis(1),
        layers: 1,
        data_re_per_prb: 120,
    };
    let playback = Playback {
        bler: 0.0,
        ..Playback::default()
    };
    ConvertOptions {
        cell: Some(cell),
        playback,
        ..ConvertOptions::default()
    }
}

/// TS 36.213: 25 PRBs at MCS 27 (I_TBS 25) carry 15840 bit, at MCS 28 (I_TBS 26) 18336 bit; OAI
/// maps CQI 14 and 15 onto them.
#[test]
fn cqi_to_rate_in_a_cell() {
    let cqi = "# brimful-trace 1 duration_s=3\ntime_s,cqi\n0,14\n1,0\n1.5,15\n";
    let rows = "time_s,throughput_mbps\n0,15.840000\n";
    let text = converted(cqi, Format::RateCsv, &with_cell());
    assert!(text.starts_with(rows), "{text}");
    assert!(text.ends_with("2,18.336000\n"), "{text}");
    let error = convert(&trace(cqi), Format::RateCsv, &ConvertOptions::default()).unwrap_err();
    assert!(matches!(error, ConvertError::NeedsCell { .. }), "{error}");
}

/// 12 Mbit/s is a packet of 1500 bytes in each millisecond.
#[test]
fn rate_to_mahimahi() {
    let rate = "# brimful-trace 1 duration_s=0.004\ntime_s,rate_bps\n0,12000000\n0.002,6000000\n";
    assert_eq!(
        converted(rate, Format::Mahimahi, &ConvertOptions::default()),
        "1\n2\n4\n"
    );
    let slow = "# brimful-trace 1 duration_s=0.004\ntime_s,rate_bps\n0,1\n";
    let error = convert(&trace(slow), Format::Mahimahi, &ConvertOptions::default()).unwrap_err();
    assert!(error.to_string().contains("not one packet"), "{error}");
}

/// 4.8 Mbit/s is 4 packets of 1500 bytes in 10 ms.
#[test]
fn rate_to_packets_per_tick() {
    let rate = "seq_num,throughput_mbps\n0,4.8\n1,1.8\n2,1.8\n";
    // 1.5 packets per tick, and again: the half is carried on
    let text = converted(rate, Format::PacketsPerTick, &ConvertOptions::default());
    assert_eq!(text, "3\n4\n2\n1\n");
}

#[test]
fn packets_per_tick_to_rate() {
    let text = converted("2\n4\n0\n", Format::RateCsv, &ConvertOptions::default());
    assert_eq!(text, "time_s,throughput_mbps\n0,4.800000\n1,0.000000\n");
}

#[test]
fn impossible_conversions_have_a_reason() {
    let rate = trace("seq_num,throughput_mbps\n0,4.8\n");
    let reason = |to| {
        convert(&rate, to, &ConvertOptions::default())
            .unwrap_err()
            .to_string()
    };
    assert!(reason(Format::Ucc).contains("a rate states no CQI"));
    assert!(reason(Format::NrScope).contains("grants"));
    let fast = trace("seq_num,throughput_mbps\n0,1000000\n");
    let options = ConvertOptions {
        playback: Playback {
            packet: Bytes::new(1),
            ..Playback::default()
        },
        ..ConvertOptions::default()
    };
    let error = convert(&fast, Format::PacketsPerTick, &options)
        .unwrap_err()
        .to_string();
    assert!(error.contains("at most 1000000 packets"), "{error}");
    let narrow = ConvertOptions {
        window: Duration::ZERO,
        ..ConvertOptions::default()
    };
    let error = convert(&rate, Format::RateCsv, &narrow)
        .unwrap_err()
        .to_string();
    assert!(error.contains("at least 1 ms"), "{error}");
}

#[test]
fn a_mahimahi_file_stays_as_it_is() {
    let text = "0\n0\n3\n9\n";
    assert_eq!(
        converted(text, Format::Mahimahi, &ConvertOptions::default()),
        text
    );
    // packets of 3000 bytes are two each, at the end of their millisecond
    let playback = Playback {
        packet: Bytes::new(3000),
        ..Playback::default()
    };
    let options = ConvertOptions {
        playback,
        ..ConvertOptions::default()
    };
    assert_eq!(
        converted("0\n3\n9\n", Format::Mahimahi, &options),
        "1\n1\n4\n4\n9\n9\n"
    );
}

#[test]
fn writing_needs_the_same_content() {
    let error = write(&trace("3\n6\n4\n7\n"), Format::Mahimahi)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("packets per tick cannot become mahimahi"),
        "{error}"
    );
    let silence = "# brimful-trace 1 duration_s=2\ntime_s,packets\n0.5,3\n";
    let error = write(&trace(silence), Format::Mahimahi)
        .unwrap_err()
        .to_string();
    assert!(error.contains("silence"), "{error}");
    let fine = "# brimful-trace 1\ntime_s,packets\n0.0005,3\n";
    let error = write(&trace(fine), Format::Mahimahi)
        .unwrap_err()
        .to_string();
    assert!(error.contains("whole milliseconds"), "{error}");
}

fn total(trace: &Trace) -> u64 {
    let (mut take_to, _) = trace
        .capacity_bytes(&Playback {
            repeat: false,
            ..Playback::default()
        })
        .unwrap();
    take_to(u64::MAX)
}

fn contents() -> impl Strategy<Value = String> {
    let cqi = proptest::collection::vec(0u8..16, 1..20).prop_map(|cqis| {
        let rows = cqis
            .iter()
            .enumerate()
            .map(|(i, cqi)| format!("{},{cqi}\n", i as f64 / 4.0));
        format!(
            "# brimful-trace 1\ntime_s,cqi\n{}",
            rows.collect::<String>()
        )
    });
    let rates = proptest::collection::vec(0u64..3_000_000_000, 1..20).prop_map(|rates| {
        let rows = rates
            .iter()
            .enumerate()
            .map(|(i, rate)| format!("{i}.5,{rate}\n"));
        let rows = rows.collect::<String>().replacen("0.5", "0", 1);
        format!("# brimful-trace 1\ntime_s,rate_bps\n{rows}")
    });
    let packets = proptest::collection::vec(1u64..5, 1..20).prop_map(|packets| {
        let rows = packets
            .iter()
            .enumerate()
            .map(|(i, n)| format!("{i}.007,{n}\n"));
        format!(
            "# brimful-trace 1\ntime_s,packets\n{}",
            rows.collect::<String>()
        )
    });
    let ticks = proptest::collection::vec(1u64..9, 1..20).prop_map(|values| {
        let rows = values.iter().map(|n| format!("{n}\n"));
        format!(
            "# brimful-trace 1\npackets_per_tick\n{}",
            rows.collect::<String>()
        )
    });
    prop_oneof![cqi, rates, packets, ticks]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Writing in Brimful's form and reading again gives the same content.
    #[test]
    fn brimful_form_is_lossless(text in contents()) {
        let before = trace(&text);
        let written = write(&before, Format::Brimful).unwrap();
        let after = read("f", written.as_bytes(), &ReadOptions::default()).unwrap();
        prop_assert_eq!(before.content, after.content);
    }

    /// A rate in windows has the bytes of the trace, but for the rounding of each window's rate;
    /// a Mahimahi file has them but for less than one packet.
    #[test]
    fn conversions_conserve_bytes(
        before in contents().prop_map(|text| trace(&text)).prop_filter("gives rates", |t| !t.gives_mcs())
    ) {
        let options = ConvertOptions { window: Duration::from_millis(100), ..ConvertOptions::default() };
        let bytes = total(&before);
        let rate = convert(&before, Format::RateCsv, &options).unwrap();
        let windows = rate.duration() / options.window;
        prop_assert!(bytes - total(&rate) <= windows);
        if let Ok(mahimahi) = convert(&before, Format::Mahimahi, &options) {
            prop_assert!(bytes - total(&mahimahi) < 1500);
        }
    }
}
