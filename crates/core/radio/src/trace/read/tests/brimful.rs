//! The form of this project.

use super::*;
use crate::trace::Network;
use units::Cqi;

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
fn a_trace_that_states_no_duration_lasts_no_longer_than_one_that_may() {
    // the last row holds for as long as the one before
    let rows = |last: u64| format!("# brimful-trace 1\ntime_s,cqi\n0,7\n{last},9\n");
    let error = read_as(Format::Brimful, &rows(2_020_183)).unwrap_err();
    assert!(error.to_string().contains("the duration is"), "{error}");
    let longest = read_as(Format::Brimful, &rows(1_339_200)).expect("31 days");
    assert_eq!(longest.duration(), MAX_DURATION);
}
