//! Datagrams of clients that report their bandwidth, or pretend to.
#![no_main]

use libfuzzer_sys::fuzz_target;
use quinn_cc::{REPORT_BYTES, Report, ReportFeed, ReportOutcome};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(report) = Report::parse(bytes) {
        assert_eq!(bytes.len(), REPORT_BYTES);
        assert_eq!(report.encode(), bytes);
        assert!(bytes[0] >= 0xd0, "an HTTP datagram (RFC 9297 2.1)");
    }
    // one connection's datagrams, cut anywhere
    let feed = ReportFeed::new();
    let mut taken = 0;
    for datagram in bytes.chunks(REPORT_BYTES) {
        taken += u64::from(feed.on_datagram(datagram) == ReportOutcome::Taken);
    }
    assert_eq!(feed.counts().taken, taken);
});
