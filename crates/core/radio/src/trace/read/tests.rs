use super::*;
use crate::trace::{DciDirection, Network, QualitySample};
use proptest::prelude::*;
use rnis::Rnti;
use units::{Cqi, Mcs, Prb};

fn read_as(format: Format, text: &str) -> Result<Trace, TraceError> {
    read(
        "f",
        text.as_bytes(),
        &ReadOptions {
            format: Some(format),
            series: None,
        },
    )
}

fn read_series(text: &str, series: &str) -> Result<Trace, TraceError> {
    read(
        "f",
        text.as_bytes(),
        &ReadOptions {
            format: None,
            series: Some(series.to_owned()),
        },
    )
}

fn read_any(text: &str) -> Result<Trace, TraceError> {
    read("f", text.as_bytes(), &ReadOptions::default())
}

/// The message of a file that must be refused, which names a place where it can.
fn refused(text: &str) -> (String, Option<usize>, Option<usize>) {
    let error = read_any(text).unwrap_err();
    (error.to_string(), error.line(), error.column())
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const UCC: &str = "Timestamp,Speed,NetworkMode,SNR,CQI,DL_bitrate\n\
    2019.12.14_23.59.58,0,5G,6.0,12,100\n\
    2019.12.14_23.59.59,0,5G,-,11,-\n\
    2019.12.14_23.59.59,0,LTE,4.5,-,300\n\
    2019.12.15_00.00.03,0,HSPA+,-,-,50\n";

#[test]
fn ucc_spreads_a_second_and_holds_over_gaps() {
    let trace = read_any(UCC).unwrap();
    assert_eq!(trace.format, Format::Ucc);
    let Content::Quality(quality) = &trace.content else {
        panic!("no CQI")
    };
    assert_eq!(trace.duration(), Duration::from_secs(6));
    let seen: Vec<_> = quality
        .samples()
        .iter()
        .map(
            |&QualitySample {
                 at,
                 cqi,
                 snr,
                 network,
             }| {
                (
                    at.as_millis(),
                    cqi.map(|c| c.get()),
                    snr.map(|s| s.get()),
                    network,
                )
            },
        )
        .collect();
    let expected = [
        (0, Some(12), Some(6.0), Network::Nr),
        (1000, Some(11), None, Network::Nr),
        (1500, None, Some(4.5), Network::Lte),
        (5000, None, None, Network::Older),
    ];
    assert_eq!(seen, expected);
    assert_eq!(trace.notes, ["2 of 4 rows have no CQI"]);
}

#[test]
fn ucc_plays_the_measured_rate_if_configured() {
    let trace = read_series(UCC, "dl_bitrate").unwrap();
    let Content::Rate(rates) = &trace.content else {
        panic!("no rate")
    };
    let kbps: Vec<_> = rates
        .steps()
        .iter()
        .map(|step| step.rate.as_bps() / 1000)
        .collect();
    assert_eq!(kbps, [100, 100, 300, 50]);
    let error = read_series(UCC, "RSRP").unwrap_err().to_string();
    assert!(error.contains("DL_bitrate or UL_bitrate"), "{error}");
}

#[test]
fn ucc_errors_name_line_column_and_field() {
    let bad_cqi = UCC.replace(",12,100", ",16,100");
    let (message, line, column) = refused(&bad_cqi);
    assert_eq!((line, column), (Some(2), Some(30)));
    assert_eq!(
        message,
        "f:2:30: CQI: found \"16\", expected a whole number from 0 to 15"
    );

    let (message, line, _) = refused(&UCC.replace("12.15_00.00.03", "12.14_23.00.00"));
    assert_eq!(line, Some(5));
    assert!(
        message.contains("after \"2019.12.14_23.59.59\""),
        "{message}"
    );

    let (message, line, _) = refused(&UCC.replace("2019.12.14_23.59.58", "14/12/2019"));
    assert!(
        line == Some(2) && message.contains("as 2019.12.14_10.16.30"),
        "{message}"
    );

    let (message, line, _) = refused(&UCC.replace(",0,5G,6.0,12,100", ",0,5G,6.0"));
    assert!(
        line == Some(2) && message.contains("found 4 fields, expected the 6"),
        "{message}"
    );

    let (message, ..) = refused(&UCC.replace(",12,100", ",-,100").replace(",11,-", ",-,-"));
    assert!(message.contains("no row of 4 has a CQI"), "{message}");
    assert!(message.contains("--series DL_bitrate"), "{message}");

    let (message, ..) = refused("Timestamp,NetworkMode,CQI\n");
    assert!(message.contains("the trace is empty"), "{message}");

    let (message, ..) = refused(&UCC.replace("2019.12.15", "2020.12.15"));
    assert!(message.contains("the duration is"), "{message}");
}

/// The trace `1` of Mahimahi's README: one packet per millisecond.
#[test]
fn mahimahi_of_a_single_line() {
    let Content::Opportunities(opportunities) = read_any("1\n").unwrap().content else {
        panic!("no opportunities")
    };
    assert_eq!(opportunities.duration, ms(1));
    assert_eq!(opportunities.packets(), Packets::new(1));
}

#[test]
fn mahimahi_counts_repeated_times() {
    let Content::Opportunities(opportunities) = read_any("0\r\n0\n\n 4\n4\n4\n9").unwrap().content
    else {
        panic!("no opportunities")
    };
    let seen: Vec<_> = opportunities
        .steps()
        .iter()
        .map(|s| (s.at.as_millis(), s.packets.get()))
        .collect();
    assert_eq!(seen, [(0, 2), (4, 3), (9, 1)]);
}

#[test]
fn a_trace_that_states_no_duration_lasts_no_longer_than_one_that_may() {
    // the last row holds for as long as the one before
    let rows = |last: u64| format!("# brimful-trace 1\ntime_s,cqi\n0,7\n{last},9\n");
    let error = read_as(Format::Brimful, &rows(2_020_183)).unwrap_err();
    assert!(error.to_string().contains("the duration is"), "{error}");
    let longest = read_as(Format::Brimful, &rows(1_339_200)).expect("31 days");
    assert_eq!(longest.duration(), MAX_DURATION);
}

#[test]
fn mahimahi_errors_name_the_line() {
    let error = read_as(Format::Mahimahi, "0\n 5\n4\n").unwrap_err();
    assert_eq!((error.line(), error.column()), (Some(3), Some(1)));
    assert!(
        error.to_string().contains("found \"4\" after \"5\""),
        "{error}"
    );
    let error = read_as(Format::Mahimahi, "0\n -5\n").unwrap_err();
    assert_eq!((error.line(), error.column()), (Some(2), Some(2)));
    let error = read_as(Format::Mahimahi, "0\n0\n").unwrap_err().to_string();
    assert!(error.contains("no duration"), "{error}");
    let error = read_as(Format::Mahimahi, "18446744073709551615\n")
        .unwrap_err()
        .to_string();
    assert!(error.contains("the duration is"), "{error}");
    let error = read_series("1\n", "x").unwrap_err().to_string();
    assert!(error.contains("a single series"), "{error}");
}

#[test]
fn packets_per_tick_are_counted() {
    let Content::PacketsPerTick(packets) = read_any("3\n6\n4\n0\n").unwrap().content else {
        panic!("no packets")
    };
    assert_eq!(
        packets.values().map(|n| n.get()).collect::<Vec<_>>(),
        [6, 4, 0]
    );
    let error = read_as(Format::PacketsPerTick, "4\n6\n4\n6\n").unwrap_err();
    assert_eq!(error.line(), Some(1));
    assert!(
        error
            .to_string()
            .contains("expected 3, the number of lines"),
        "{error}"
    );
    let error = read_as(Format::PacketsPerTick, "2\n6\n1000001\n").unwrap_err();
    assert_eq!(error.line(), Some(3));
    let error = read_as(Format::PacketsPerTick, "2\n0\n0\n")
        .unwrap_err()
        .to_string();
    assert!(error.contains("all values are 0"), "{error}");
}

#[test]
fn another_format_is_suggested() {
    let error = read_as(Format::Mahimahi, UCC).unwrap_err().to_string();
    assert!(
        error.ends_with("this looks like ucc: give --format ucc"),
        "{error}"
    );
    let error = read_as(Format::PacketsPerTick, "0\n1\n7\n")
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("this looks like mahimahi: give --format mahimahi"),
        "{error}"
    );
    let error = read_as(Format::Ucc, "seq_num,throughput_mbps\n0,1\n")
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("this looks like rate-csv: give --format rate-csv"),
        "{error}"
    );
}

const RUNS: &str = "carrier,run_num,seq_num,throughput_mbps\n\
    A,1,0,1.5\nA,1,1,0\nA,1,3,2\nA,2,0,10\nB,3,0,20\nB,3,1,30\n";

fn steps_of(trace: &Trace) -> Vec<(u64, u64)> {
    let Content::Rate(rates) = &trace.content else {
        panic!("no rate")
    };
    rates
        .steps()
        .iter()
        .map(|s| (s.at.as_millis(), s.rate.as_bps() / 1000))
        .collect()
}

#[test]
fn rate_csv_takes_the_first_series() {
    let trace = read_any(RUNS).unwrap();
    assert_eq!(steps_of(&trace), [(0, 1500), (1000, 0), (3000, 2000)]);
    assert_eq!(trace.duration(), Duration::from_secs(4));
    assert!(
        trace.notes[0].contains("carrier=A,run_num=1 is read, 3 rows"),
        "{:?}",
        trace.notes
    );
}

#[test]
fn rate_csv_selects_series() {
    let trace = read_series(RUNS, "carrier=B, run_num=3").unwrap();
    assert_eq!(steps_of(&trace), [(0, 20_000), (1000, 30_000)]);
    let error = read_series(RUNS, "carrier=C").unwrap_err().to_string();
    assert!(error.contains("expected carrier of A, B"), "{error}");
    let error = read_series(RUNS, "color=red").unwrap_err().to_string();
    assert!(error.contains("a column of carrier, run_num"), "{error}");

    let columns = "seq_num,A_throughput_mbps,B_throughput_kbps\n0,1,2\n1,3,4\n";
    assert_eq!(
        steps_of(&read_any(columns).unwrap()),
        [(0, 1000), (1000, 3000)]
    );
    assert_eq!(
        steps_of(&read_series(columns, "b_thr").unwrap()),
        [(0, 2), (1000, 4)]
    );
    let error = read_series(columns, "C").unwrap_err().to_string();
    assert!(
        error.contains("A_throughput_mbps, B_throughput_kbps"),
        "{error}"
    );
}

#[test]
fn rate_csv_counts_time_by_its_column() {
    let trace = read_any("time_ms,rate_bps\n500,8\n520,16000\n").unwrap();
    assert_eq!(steps_of(&trace), [(0, 0), (20, 16)]);
    assert_eq!(trace.duration(), ms(40));
    // without a column of time, a row is a second
    let trace = read_any("cell,rate_mbps\nx,1\ny,2\n").unwrap();
    assert_eq!(steps_of(&trace), [(0, 1000), (1000, 2000)]);
    assert_eq!(trace.duration(), Duration::from_secs(2));
}

#[test]
fn rate_csv_errors_name_line_column_and_field() {
    let (message, line, column) = refused("seq_num,throughput_mbps\n0,1\n1,-2\n");
    assert_eq!((line, column), (Some(3), Some(3)));
    assert!(
        message.starts_with("f:3:3: throughput_mbps: found \"-2\""),
        "{message}"
    );
    let (message, line, _) = refused("seq_num,throughput_mbps\n0,1\n5,2\n4,2\n");
    assert_eq!(line, Some(4));
    assert!(
        message.contains("found \"4\" after \"5\"") && message.contains("--series"),
        "{message}"
    );
    for nonsense in ["NaN", "inf", "1e30", "", "x"] {
        let (message, line, _) = refused(&format!("seq_num,throughput_mbps\n0,{nonsense}\n"));
        assert_eq!(line, Some(2), "{message}");
    }
    let error = read_as(Format::RateCsv, "rtt_ms,carrier\n1,x\n")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("no column of a rate") && error.contains("_mbps"),
        "{error}"
    );
}

const DCI_HEADER: &str = "timestamp,system_frame_index,slot_index,rnti,dci_format,\
    frequency_length,nof_layers,mcs_index,transport_block_size,mcs_table\n";

fn dci_log(rows: &[&str]) -> String {
    format!("{DCI_HEADER}{}\n", rows.join("\n"))
}

#[test]
fn nrscope_times_are_those_of_frame_and_slot() {
    // the frame number wraps after 1023, two rows come in the wrong order, and then 2 x 10.24 s
    // and one slot pass
    let log = dci_log(&[
        "100.000,1023,9,7,1_1,10,2,5,1000,256qam",
        "100.004,0,2,8,1_1,4,2,3,500,256qam",
        "100.004,0,1,7,0_1,4,1,18,1544,256qam",
        "120.485,0,3,7,1_1,20,2,9,3000,256qam",
    ]);
    let trace = read_any(&log).unwrap();
    let Content::Dci(log) = &trace.content else {
        panic!("no DCI")
    };
    assert_eq!(log.slot_duration(), ms(1));
    let slots: Vec<_> = log.records().iter().map(|dci| dci.slot).collect();
    assert_eq!(slots, [0, 2, 3, 3 + 2 * 10_240 + 1]);
    assert_eq!(log.records()[1].direction, DciDirection::Uplink);
    assert_eq!(log.rnti(), Rnti(7));
    let of_ue: Vec<_> = log.of_ue().map(|dci| (dci.mcs, dci.prb)).collect();
    assert_eq!(
        of_ue,
        [(Mcs::new(5), Prb::new(10)), (Mcs::new(9), Prb::new(20))]
    );
}

#[test]
fn nrscope_counts_the_slots_of_a_frame() {
    let log = dci_log(&["1,0,12,7,1_1,10,2,5,1000,64qam"]);
    let Content::Dci(log) = read_any(&log).unwrap().content else {
        panic!("no DCI")
    };
    assert_eq!(log.slot_duration(), Duration::from_micros(500));
}

#[test]
fn nrscope_selects_a_ue_and_refuses_others() {
    let rows = [
        "1,0,1,7,1_1,10,2,5,1000,64qam",
        "2,0,2,8,1_1,10,2,5,1000,64qam",
        "3,1,3,9,1_1,1,2,5,0,64qam",
    ];
    let log = dci_log(&rows);
    let Content::Dci(chosen) = read_series(&log, "rnti=8").unwrap().content else {
        panic!()
    };
    assert_eq!(chosen.rnti(), Rnti(8));
    let error = read_series(&log, "9").unwrap_err().to_string();
    assert!(error.contains("7 (1), 8 (1)"), "{error}");
    let error = read_series(&log, "rnti=x").unwrap_err().to_string();
    assert!(error.contains("rnti=N"), "{error}");

    let (message, ..) = refused(&dci_log(&["3,1,3,9,1_1,1,2,5,0,64qam"]));
    assert!(
        message.contains("no downlink DCI has a transport block size"),
        "{message}"
    );
    let (message, line, column) = refused(&dci_log(&["3,1024,3,9,1_1,1,2,5,8,64qam"]));
    assert_eq!((line, column), (Some(2), Some(3)), "{message}");
    let (message, line, _) = refused(&dci_log(&[
        "3,1,3,9,1_1,1,2,5,8,64qam",
        "2,1,3,9,1_1,1,2,5,8,64qam",
    ]));
    assert!(
        line == Some(3) && message.contains("after \"3\""),
        "{message}"
    );
    let (message, ..) = refused(&dci_log(&["3,1,3,9,1_1,1,2,5,8,1024qam"]));
    assert!(message.contains("64qam, 256qam or 64qamLowSE"), "{message}");
}

#[test]
fn a_header_may_be_repeated() {
    let row = "1,0,1,7,1_1,10,2,5,1000,64qam\n";
    let trace = read_any(&format!("{DCI_HEADER}{row}{DCI_HEADER}{row}")).unwrap();
    let Content::Dci(log) = trace.content else {
        panic!("no DCI")
    };
    assert_eq!(log.records().len(), 2);
}

#[test]
fn brimful_forms() {
    let quality = "# brimful-trace 1 duration_s=2.5 kind=x\n# for people\ntime_s,cqi,snr_db,network\n\
        0,9,1.5,lte\n0.000000001,,,older\n1,0,,\n";
    let trace = read_any(quality).unwrap();
    let Content::Quality(content) = &trace.content else {
        panic!("no CQI")
    };
    assert_eq!(trace.duration(), ms(2500));
    assert_eq!(content.samples()[1].at, Duration::from_nanos(1));
    assert_eq!(content.samples()[1].network, Network::Older);
    assert_eq!(content.samples()[2].cqi, Some(Cqi::new(0)));

    let trace = read_any("# brimful-trace 1\ntime_s,rate_bps\n0,5\n0.5,0\n").unwrap();
    assert_eq!(trace.duration(), Duration::from_secs(1));
    let trace = read_any("# brimful-trace 1\ntime_s,packets\n0.5,3\n0.75,1\n").unwrap();
    assert_eq!(trace.duration(), Duration::from_secs(1));
    let trace = read_any("# brimful-trace 1\npackets_per_tick\n3\n0\n").unwrap();
    assert_eq!(trace.duration(), Duration::from_secs(2));
}

#[test]
fn brimful_errors() {
    let cases = [
        (
            "# brimful-trace 2\ntime_s,cqi\n0,1\n",
            "version: found \"2\", expected 1",
        ),
        (
            "# brimful-trace 1 duration_s=0\ntime_s,cqi\n0,1\n",
            "duration_s: found \"0\"",
        ),
        (
            "# brimful-trace 1\ntime_s,cqi\n1,1\n",
            "expected 0 in the first row",
        ),
        (
            "# brimful-trace 1\ntime_s,cqi\n0,1\n0,2\n",
            "after that of the row above",
        ),
        (
            "# brimful-trace 1\ntime_s,cqi\n0,1\n-1,2\n",
            "expected seconds from 0",
        ),
        (
            "# brimful-trace 1\ntime_s,cqi\n0,1\n0.0000000001,2\n",
            "expected seconds from 0",
        ),
        (
            "# brimful-trace 1 duration_s=1\ntime_s,cqi\n0,1\n1,2\n",
            "expected more than 1",
        ),
        ("# brimful-trace 1\ntime_s,cqi\n0,\n", "no row has a CQI"),
        (
            "# brimful-trace 1\ntime_s,cqi,network\n0,1,gsm\n",
            "lte, nr, older or nothing",
        ),
        (
            "# brimful-trace 1\ntime_s,rate_bps\n0,-1\n",
            "rate_bps: found \"-1\"",
        ),
        (
            "# brimful-trace 1\ntime_s,packets\n0,0\n",
            "no row lets a packet leave",
        ),
        (
            "# brimful-trace 1\ntime_s,color\n0,0\n",
            "cqi, rate_bps, packets or packets_per_tick",
        ),
        ("# brimful-trace 1\n", "the trace is empty"),
    ];
    for (text, expected) in cases {
        let (message, ..) = refused(text);
        assert!(message.contains(expected), "{text:?}: {message}");
    }
}

#[test]
fn bytes_that_are_no_text() {
    let error = read("f", b"1\n2\n3\xff4\n", &ReadOptions::default()).unwrap_err();
    assert_eq!((error.line(), error.column()), (Some(3), Some(2)));
    assert!(error.to_string().contains("0xff"), "{error}");
}

#[test]
fn long_lines_are_quoted_in_short() {
    let (message, ..) = refused(&"\u{e9}".repeat(100_000));
    assert!(message.len() < 400, "{}", message.len());
}

/// A file of each format, to be damaged.
fn specimens() -> Vec<String> {
    vec![
        UCC.to_owned(),
        "0\n0\n3\n3\n11\n".to_owned(),
        "3\n6\n4\n7\n".to_owned(),
        RUNS.to_owned(),
        dci_log(&[
            "1,0,1,7,1_1,10,2,5,1000,64qam",
            "1.5,50,2,8,1_1,10,2,5,1000,64qam",
        ]),
        "# brimful-trace 1 duration_s=2\ntime_s,cqi\n0,9\n1.25,3\n".to_owned(),
        "# brimful-trace 1\ntime_s,rate_bps\n0,9000\n1.25,3\n".to_owned(),
    ]
}

/// What holds of every trace that a reader returns.
fn check_invariants(trace: &Trace) -> Result<(), TestCaseError> {
    let duration = trace.duration();
    prop_assert!(!duration.is_zero());
    match &trace.content {
        Content::Quality(quality) => {
            let samples = quality.samples();
            prop_assert!(samples[0].at.is_zero());
            prop_assert!(samples.windows(2).all(|w| w[0].at < w[1].at));
            prop_assert!(samples[samples.len() - 1].at < duration);
            prop_assert!(
                samples
                    .iter()
                    .flat_map(|s| s.cqi)
                    .all(|cqi| cqi <= Cqi::new(15))
            );
        }
        Content::Opportunities(opportunities) => {
            let steps = opportunities.steps();
            prop_assert!(steps.windows(2).all(|w| w[0].at < w[1].at));
            prop_assert!(steps[steps.len() - 1].at <= duration);
        }
        Content::PacketsPerTick(packets) => prop_assert!(packets.values().len() > 0),
        Content::Rate(rates) => {
            let steps = rates.steps();
            prop_assert!(steps[0].at.is_zero());
            prop_assert!(steps.windows(2).all(|w| w[0].at < w[1].at));
            prop_assert!(steps[steps.len() - 1].at < duration);
            prop_assert!(steps.iter().all(|step| step.rate <= MAX_RATE));
        }
        Content::Dci(log) => {
            let records = log.records();
            prop_assert!(records.windows(2).all(|w| w[0].slot <= w[1].slot));
            prop_assert!(log.of_ue().any(|dci| dci.carries_new_downlink_data()));
        }
    }
    Ok(())
}

fn formats() -> impl Strategy<Value = Option<Format>> {
    proptest::option::of(proptest::sample::select(Format::ALL.to_vec()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>, format in formats(), series: Option<String>) {
        if let Ok(trace) = read("f", &bytes, &ReadOptions { format, series }) {
            check_invariants(&trace)?;
        }
    }

    #[test]
    fn damaged_files_are_read_or_refused(
        specimen in proptest::sample::select(specimens()),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), 0usize..3, "[-0-9,.e\n\"# _a]{0,4}"), 1..6),
        format in formats(),
    ) {
        let mut bytes = specimen.into_bytes();
        for (place, remove, insert) in damage {
            let at = place.index(bytes.len() + 1);
            let end = (at + remove).min(bytes.len());
            bytes.splice(at..end, insert.into_bytes());
        }
        if let Ok(trace) = read("f", &bytes, &ReadOptions { format, series: None }) {
            check_invariants(&trace)?;
        }
    }

    #[test]
    fn mahimahi_reads_what_is_written(mut times in proptest::collection::vec(0u64..5000, 1..200)) {
        times.sort_unstable();
        prop_assume!(times[times.len() - 1] > 0);
        let text: String = times.iter().map(|t| format!("{t}\n")).collect();
        let trace = read_as(Format::Mahimahi, &text).unwrap();
        check_invariants(&trace)?;
        prop_assert_eq!(crate::trace::write(&trace, Format::Mahimahi).unwrap(), text);
    }
}
