//! The example of docs/radio-state.md, with its numbers worked by hand.

#[path = "../../examples/radio_state.rs"]
mod example;

use example::{CLIENT, LINE, state};
use units::{Bytes, Duration, Instant};

/// Of 25 PRBs 10 are the UE's and 5 another's: it could be given 20. TS 36.213 Table 7.1.7.2.1-1: I_TBS 25 (MCS 27) and 26
/// (MCS 28) have 12,576 and 14,688 bits on 20 PRBs.
#[test]
fn a_report_becomes_what_the_page_states() {
    let at = Instant::from_nanos(7);
    let state = state(LINE, CLIENT, at).expect("a report");
    assert_eq!(
        (state.tbs, state.best_tbs),
        (Bytes::new(1_572), Bytes::new(1_836))
    );
    assert_eq!(state.harq_processes, 8);
    assert_eq!(
        (state.queue, state.served),
        (Bytes::new(42_000), Bytes::new(5_600))
    );
    assert_eq!((state.harq_retx, state.lost_packets), (1, Some(2)));
    assert_eq!((state.period, state.slots), (Duration::from_millis(8), 8));
    assert_eq!((state.seq, state.made_at), (41, at));
}

#[test]
fn the_example_runs_and_refuses_what_is_no_report_of_the_client() {
    example::main().expect("it runs");
    let other = "10.45.0.9".parse().expect("an address");
    let error = state(LINE, other, Instant::ZERO)
        .expect_err("another")
        .to_string();
    assert_eq!(error, "not in this cell");
    assert!(state("{}", CLIENT, Instant::ZERO).is_err());
}
