//! Tables of other programs, by their columns.

use super::*;
use proptest::prelude::*;

fn mapping(value: ValueColumns) -> Mapping {
    Mapping {
        separator: Separator::Comma,
        time: Some(("when".to_owned(), TimeUnit::Seconds)),
        value,
        only: Vec::new(),
    }
}

fn rate(column: &str, unit: &str) -> ValueColumns {
    ValueColumns::Rate {
        column: column.to_owned(),
        unit: unit.parse().expect("a unit"),
    }
}

fn read(text: &str, mapping: &Mapping) -> Result<Trace, TraceError> {
    import("log.csv", text.as_bytes(), mapping)
}

/// Times in ms and rates in kbit/s.
fn steps(trace: &Trace) -> Vec<(u64, u64)> {
    let Content::Rate(rates) = &trace.content else {
        panic!("{trace:?}");
    };
    let steps = rates.steps().iter();
    steps
        .map(|step| (step.at.as_nanos() / 1_000_000, step.rate.as_bps() / 1_000))
        .collect()
}

#[test]
fn a_table_of_any_columns_is_a_trace() {
    let text =
        "when,op,speed\n1700000000.5,A,1.5\n1700000000.75,B,9\n1700000001.5,A,\n1700000002.5,A,3\n";
    let mut mapping = mapping(rate("speed", "MB/s"));
    mapping.only = vec![("op".to_owned(), "A".to_owned())];
    let trace = read(text, &mapping).expect("a trace");
    assert_eq!(steps(&trace), [(0, 12_000), (2_000, 24_000)]);
    assert_eq!(trace.duration(), Duration::from_secs(4));
    assert_eq!(
        trace.notes,
        [
            "1 of 4 rows without a value are passed over",
            "1 of 4 rows of others are passed over"
        ]
    );
    // what is written is read again as what it was
    let text = crate::trace::write(&trace, Format::Brimful).expect("a file");
    let again = crate::trace::read("again", text.as_bytes(), &Default::default());
    assert_eq!(again.expect("a trace").content, trace.content);
}

#[test]
fn a_cqi_has_the_signal_beside_it() {
    let text = "t\tcqi\tsinr\trsrp\n0\t7\t3.5\t-95\n100\t9\t-\tnan\n250\t9\t1\t-90\n";
    let mapping = Mapping {
        separator: Separator::Tab,
        time: Some(("t".to_owned(), TimeUnit::Milliseconds)),
        value: ValueColumns::Cqi {
            column: "CQI".to_owned(),
            snr: Some("sinr".to_owned()),
            rsrp: Some("rsrp".to_owned()),
        },
        only: Vec::new(),
    };
    let trace = read(text, &mapping).expect("a trace");
    let Content::Quality(quality) = &trace.content else {
        panic!("{trace:?}");
    };
    let samples = quality.samples();
    assert_eq!(samples[0].cqi.map(|cqi| cqi.get()), Some(7));
    assert_eq!(samples[0].rsrp, Some(Dbm::new(-95.0)));
    assert_eq!((samples[1].snr, samples[1].rsrp), (None, None));
    assert_eq!(trace.duration(), Duration::from_millis(400));
}

#[test]
fn times_are_exact_in_every_unit() {
    let units = [
        ("1700000000.123456789", TimeUnit::Seconds),
        ("1700000000123.456789", TimeUnit::Milliseconds),
        ("1700000000123456.789", TimeUnit::Microseconds),
        ("1700000000123456789", TimeUnit::Nanoseconds),
        ("2023-11-14T22:13:20.123456789Z", TimeUnit::Date),
        ("2023-11-15 00:13:20.123456789+02:00", TimeUnit::Date),
        ("2023-11-14T20:43:20.123456789-0130", TimeUnit::Date),
        ("2023-11-14 22:13:20.123456789", TimeUnit::Date),
    ];
    let place = Place {
        file: "f",
        line: 1,
        column: 1,
        field: "t",
    };
    for (text, unit) in units {
        assert_eq!(
            nanos(&place, text, unit),
            Ok(1_700_000_000_123_456_789),
            "{text}"
        );
    }
    assert_eq!(
        decimal("1.7e9", 1_000_000_000),
        Some(1_700_000_000_000_000_000)
    );
    for wrong in ["-1", "", "now", "1e400", "nan", "1_0"] {
        assert_eq!(decimal(wrong, 1), None, "{wrong}");
    }
    for wrong in [
        "2023-11-14",
        "2023-13-14T00:00:00",
        "2023-11-14T24:00:00",
        "2023-11-14T00:00",
        "2023-11-14T00:00:00+x",
        "2023-11-14T00:00:00.5e9",
        "14.11.2023 00:00:00",
    ] {
        assert_eq!(date(wrong), None, "{wrong}");
    }
}

#[test]
fn without_times_each_row_is_a_second() {
    let mut mapping = mapping(rate("mbps", "Mbit/s"));
    (mapping.time, mapping.separator) = (None, Separator::Semicolon);
    let trace = read("mbps;x\n1;\n2;\n-;\n4;\n", &mapping).expect("a trace");
    assert_eq!(steps(&trace), [(0, 1_000), (1_000, 2_000), (3_000, 4_000)]);
}

#[test]
fn defects_are_named_with_their_place() {
    let of = |text: &str| {
        let error = read(text, &mapping(rate("speed", "kbit/s")));
        error.expect_err("a defect").to_string()
    };
    for (text, expected) in [
        ("", "is empty"),
        ("when,speed\n", "rows under the header"),
        ("when,rate\n1,2\n", "no column speed: found \"when,rate\""),
        ("when,speed\n1,fast\n", "log.csv:2:3: speed: found \"fast\""),
        ("when,speed\n1,-5\n", "log.csv:2:3: speed: found \"-5\""),
        (
            "when,speed\nnoon,5\n",
            "log.csv:2:1: when: found \"noon\", expected seconds",
        ),
        ("when,speed\n2,5\n1,5\n", "log.csv:3:1"),
        ("when,speed\n1,5,6\n", "found 3 fields, expected the 2"),
        ("when,speed\n1,-\n2,\n", "of 2 rows 2 have no value"),
        ("when,speed\n1,5\n9000000,5\n", "the duration"),
    ] {
        let found = of(text);
        assert!(found.contains(expected), "{text:?}: {found}");
    }
    let unknown = "furlong"
        .parse::<RateUnit>()
        .expect_err("no unit")
        .to_string();
    assert!(
        unknown.contains("\"furlong\"") && unknown.contains("Mbit/s"),
        "{unknown}"
    );
    assert!("min".parse::<TimeUnit>().is_err());
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = import("f", &bytes, &mapping(rate("speed", "Mbit/s")));
    }

    #[test]
    fn rows_that_make_sense_are_all_taken(
        gaps in prop::collection::vec(1..100_000_u64, 1..50), kbps in 0..1_000_000_u64
    ) {
        let mut text = "when,speed\n".to_owned();
        let mut at = 1_700_000_000_000_u64;
        for gap in &gaps {
            at += gap;
            text += &format!("{at},{kbps}\n");
        }
        let mut mapping = mapping(rate("speed", "kbit/s"));
        mapping.time = Some(("when".to_owned(), TimeUnit::Milliseconds));
        let steps = steps(&read(&text, &mapping).expect("a trace"));
        prop_assert_eq!(steps.len(), gaps.len());
        prop_assert_eq!(steps[0].0, 0);
        prop_assert_eq!(steps[gaps.len() - 1].0, gaps[1..].iter().sum::<u64>());
        prop_assert!(steps.iter().all(|step| step.1 == kbps));
    }
}
