//! Lines of a modem's reports, of any bytes: read, judged, and taken to a queue above the modem, which must stay whole.
#![no_main]

use edge::marker::{Left, MarkerConfig};
use edge::uplink::{ModemIntake, ModemReport, UplinkConfig, UplinkMode, UplinkQueue};
use libfuzzer_sys::fuzz_target;
use queue::{Ecn, Packet};
use units::{Bytes, Duration, Instant, Streams};

struct Sent;

impl Packet for Sent {
    fn bytes(&self) -> Bytes {
        Bytes::new(1_200)
    }
    fn flow(&self) -> u64 {
        1
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn mark(&mut self) {}
}

fuzz_target!(|bytes: &[u8]| {
    for mode in UplinkMode::ALL {
        run(bytes, mode);
    }
});

fn run(bytes: &[u8], mode: UplinkMode) {
    let config = UplinkConfig {
        mode,
        marker: MarkerConfig::default(),
        buffer: Bytes::new(10_000),
        ahead: Duration::from_millis(14),
    };
    let mut above = UplinkQueue::new(&config, Streams::new(1).stream("fuzz")).expect("valid");
    let (mut intake, mut left) = (ModemIntake::default(), Left::default());
    let (mut now, mut sent) = (Instant::ZERO, 0);
    for line in bytes.split(|byte| *byte == b'\n') {
        now += Duration::from_millis(5);
        if let Ok(report) = ModemReport::decode(line) {
            let written = ModemReport::decode(report.encode().as_bytes());
            assert_eq!(written, Ok(report));
            if let Ok(status) = intake.accept(now, &report) {
                assert!(status.at <= now);
                above.on_status(now, &status);
            }
        }
        above.send(now, Sent, &mut left);
        above.release(now, &mut left);
        sent += 1;
        assert_eq!(
            left.passed.len() + left.dropped.len() + above.waits().packets,
            sent
        );
    }
}
