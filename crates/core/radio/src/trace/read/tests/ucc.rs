//! Per-second logs of University College Cork.

use super::*;
use crate::trace::{Network, QualitySample};

pub(super) const UCC: &str = "Timestamp,Speed,NetworkMode,SNR,CQI,DL_bitrate\n\
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
                 rsrp: _,
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
    assert_eq!(
        trace.notes,
        [
            "2 of 4 rows have no CQI",
            "the phone received up to 0.3 Mbit/s; --series DL_bitrate plays what it received"
        ]
    );
}

/// 1.5 s on 5G, 3.5 s on LTE (over the gap), the last second on HSPA+; the same for CQI and rate.
#[test]
fn ucc_states_the_networks_by_time() {
    for trace in [read_any(UCC), read_series(UCC, "DL_bitrate")] {
        let networks = trace.unwrap().networks;
        assert_eq!(networks.nr, Duration::from_millis(1500));
        assert_eq!(networks.lte, Duration::from_millis(3500));
        assert_eq!(networks.older, Duration::from_secs(1));
        assert!(networks.unknown.is_zero() && networks.is_known());
        assert_eq!(networks.share(Network::Nr), 0.25);
        assert_eq!(networks.to_string(), "LTE 58.3 %, 5G 25.0 %, older 16.7 %");
    }
    let unknown = read_any("5\n9\n").unwrap().networks;
    assert!(!unknown.is_known());
    assert_eq!(unknown.to_string(), "not recorded");
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
