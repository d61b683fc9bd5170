//! Mahimahi's times of packets.

use super::*;

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
