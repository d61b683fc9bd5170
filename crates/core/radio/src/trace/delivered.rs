//! Bytes that a receiver counted under a workload above the capacity, as opportunities.

use super::{Content, Format, Opportunities, Opportunity, Trace};
use units::{Bytes, Duration, Packets};

/// Bytes of an opportunity.
pub const OPPORTUNITY: Bytes = Bytes::new(1_500);

/// Opportunities of [`OPPORTUNITY`] bytes each at the whole milliseconds at which they were complete: what is not a whole
/// one is carried on, and left out at the end. Times do not decrease, and lie before `duration`, which counts from zero;
/// what lies elsewhere is passed over. None if there is no whole one.
pub fn delivered(
    source: &str,
    deliveries: impl IntoIterator<Item = (Duration, Bytes)>,
    duration: Duration,
) -> Option<Trace> {
    let mut steps: Vec<Opportunity> = Vec::new();
    let mut carried = Bytes::ZERO;
    for (at, bytes) in deliveries {
        let at = Duration::from_millis(at.as_millis());
        if at >= duration || steps.last().is_some_and(|last| at < last.at) {
            continue;
        }
        carried += bytes;
        let packets = Packets::new(carried.get() / OPPORTUNITY.get());
        carried = Bytes::new(carried.get() % OPPORTUNITY.get());
        match steps.last_mut() {
            _ if packets.is_zero() => {}
            Some(last) if last.at == at => last.packets += packets,
            _ => steps.push(Opportunity { at, packets }),
        }
    }
    steps.first()?;
    let content = Content::Opportunities(Opportunities {
        steps: steps.into(),
        duration,
    });
    Some(Trace::made(source, Format::Brimful, content))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{ReadOptions, read, write};

    #[test]
    fn bytes_become_whole_opportunities_when_they_are_complete() {
        let ms = Duration::from_millis;
        let deliveries = [
            (ms(0), Bytes::new(1_400)),
            (ms(1), Bytes::new(2_800)),
            (ms(1), Bytes::new(400)),
            (ms(9), Bytes::new(100)),
            (ms(12), Bytes::new(9_000)),
        ];
        let trace = delivered("test", deliveries, ms(12)).expect("a trace");
        let text = write(&trace, Format::Brimful).expect("text");
        assert_eq!(
            text,
            "# brimful-trace 1 duration_s=0.012\n# source: test\ntime_s,packets\n0.001,3\n"
        );
        let again = read("again", text.as_bytes(), &ReadOptions::default()).expect("a trace");
        assert_eq!(again.content, trace.content);
        assert_eq!(delivered("none", [(ms(0), Bytes::new(1_499))], ms(5)), None);
        assert_eq!(delivered("none", [], ms(5)), None);
    }
}
