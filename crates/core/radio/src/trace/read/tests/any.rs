//! What holds whatever the format.

use super::nrscope::dci_log;
use super::rate::RUNS;
use super::ucc::UCC;
use super::*;
use proptest::prelude::*;
use units::Cqi;

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
