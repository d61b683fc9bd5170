//! The live protocol of the dashboard at both ends: what a server reads of its clients, what `brimful top` reads of
//! a server, and the address that it is given.
#![no_main]

use dash::{Event, Position, Target};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Some(position) = Position::parse(text) {
        assert!(text.contains("start") || text.contains("resume") || text.contains('\\'));
        assert!(!format!("{position:?}").is_empty());
    }
    match Event::parse(text) {
        // each value takes some bytes: memory stays in proportion
        Some(Event::Frame { values, .. }) => assert!(values.len() <= text.len()),
        Some(Event::Series(series)) => assert!(series.len() <= text.len()),
        Some(Event::Table(flows)) => assert!(flows.len() <= text.len()),
        Some(Event::Hello { session, .. }) => {
            let resumed = format!("{{\"type\":\"resume\",\"session\":{session:?},\"after\":7}}");
            if session.chars().all(|c| c.is_ascii_alphanumeric()) {
                assert_eq!(
                    Position::parse(&resumed),
                    Some(Position::resume(&session, 7))
                );
            }
        }
        _ => {}
    }
    match Target::parse(text) {
        // what was read is read again as the same
        Ok(target) => assert_eq!(Target::parse(&target.url()).ok(), Some(target)),
        Err(error) => assert!(error.to_string().len() <= text.len() + 200),
    }
});
