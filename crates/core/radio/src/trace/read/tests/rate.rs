//! Rates in CSV.

use super::*;

pub(super) const RUNS: &str = "carrier,run_num,seq_num,throughput_mbps\n\
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
    for header in ["time,Mbit/s", "t (s),rate (Mbit/s)", "Time [s],DL Mbps"] {
        let trace = read_any(&format!("{header}\n2,8\n2.5,16\n")).unwrap();
        assert_eq!(steps_of(&trace), [(0, 8_000), (500, 16_000)], "{header}");
    }
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
