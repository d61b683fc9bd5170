//! What the receiving end of SRT has counted, as `srt-live-transmit` writes it: one object of JSON after another.

use crate::judge::{Measure, Problem, better};
use serde_json::Value;

/// The counts of the last report, which are those of the connection since it began.
///
/// # Errors
/// A text without a report that can be read.
pub(super) fn read(text: &str) -> Result<Vec<Measure>, Problem> {
    let missing = |what: &str| Problem::missing("srt-live-transmit", what);
    // the last one may not have been written to its end
    let reports = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let last = reports.map_while(Result::ok).last();
    let last = last.ok_or_else(|| missing("statistics"))?;
    let number = |part: &str, key: &str| {
        let number = last[part][key].as_f64();
        number.ok_or_else(|| missing(&format!("{part}.{key}")))
    };
    let packets = number("recv", "packets")?;
    let share = |count: f64| 100.0 * count / packets.max(1.0);
    Ok(vec![
        better::lower("dropped", "%", share(number("recv", "packetsDropped")?)),
        better::lower(
            "retransmitted",
            "%",
            share(number("recv", "packetsRetransmitted")?),
        ),
        better::lower("belated", "", number("recv", "packetsBelated")?),
        better::lower("rtt", "ms", number("link", "rtt")?),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORDED: &str = include_str!("../recorded/srt.json");

    #[test]
    fn a_recording_gives_what_was_dropped_and_sent_again() {
        let measures = read(RECORDED).expect("readable");
        let names: Vec<&str> = measures.iter().map(|measure| measure.name).collect();
        assert_eq!(names, ["dropped", "retransmitted", "belated", "rtt"]);
        assert!(measures.iter().all(|measure| measure.value >= 0.0));
        assert!(measures[3].value > 0.0);
    }

    #[test]
    fn a_report_that_is_not_whole_is_left_out_and_without_any_it_is_an_error() {
        let whole = "{\"link\": {\"rtt\": 2.5}, \"recv\": {\"packets\": 200, \"packetsDropped\": 1, \
                     \"packetsRetransmitted\": 4, \"packetsBelated\": 0}}";
        let of = |text: &str| read(text).map(|measures| measures[0].value);
        assert_eq!(of(whole).expect("readable"), 0.5);
        assert_eq!(
            of(&format!("{whole}\n{{\"link\": {{")).expect("readable"),
            0.5
        );
        for text in ["", "{\"link\": {", "{}"] {
            let error = of(text).expect_err(text).to_string();
            assert!(
                error.starts_with("the output of srt-live-transmit has no"),
                "{error}"
            );
        }
    }
}
