//! What iperf3 prints of its intervals, as a rate.
//!
//! Lines like `[  5]   0.10-0.20   sec   706 KBytes  57.8 Mbits/sec` are read: the interval, and the bit rate in `bits`,
//! `Kbits`, `Mbits`, `Gbits` or `Tbits/sec` (decimal multiples). Where there are lines of `[SUM]`, these alone. Passed over are
//! all other lines, intervals that are marked `(omitted)`, and the totals (`sender`, `receiver`). With three digits an
//! interval's rate is exact to 0.5 %. An interval without a line is a gap over which the rate before holds.

use super::read::{MAX_DURATION, MAX_RATE, bit_rate, text_of, too_long};
use super::text::{Line, Place, empty, lines};
use super::{Content, Format, RateStep, Rates, Trace, TraceError};
use units::{BitRate, Duration};

/// Of streams beside each other.
const SUM: &str = "SUM";

/// An interval.
struct Interval<'a> {
    stream: &'a str,
    begin: Duration,
    end: Duration,
    rate: BitRate,
}

/// Reads an iperf3 log; `name` stands for the file in messages.
///
/// # Errors
/// See [`TraceError`]: no interval, intervals that go back, a bit rate that is none, several streams without a sum.
pub(super) fn import(name: &str, bytes: &[u8]) -> Result<Trace, TraceError> {
    let text = text_of(name, bytes)?;
    let has_sum = lines(text).any(|line| stream(line.text).is_some_and(|(id, _)| id == SUM));
    let mut steps: Vec<RateStep> = Vec::new();
    let mut first: Option<(Duration, &str)> = None;
    let (mut end, mut omitted) = (Duration::ZERO, 0_u64);
    for line in lines(text) {
        if has_sum && stream(line.text).is_none_or(|(id, _)| id != SUM) {
            continue;
        }
        if line.text.contains("(omitted)") {
            omitted += 1;
            continue;
        }
        let Some(interval) = interval(name, line)? else {
            continue;
        };
        let place = Place {
            file: name,
            line: line.number,
            column: 1,
            field: "interval",
        };
        let (begin, id) = *first.get_or_insert((interval.begin, interval.stream));
        if id != interval.stream {
            let expected = format!("one of stream {id}, or lines of [SUM]: one stream at a time");
            return Err(place.not(line.text.trim(), expected));
        }
        if interval.begin < end {
            return Err(place.not(line.text.trim(), "one that follows the interval before it"));
        }
        end = interval.end;
        if end > MAX_DURATION {
            return Err(too_long(name, end));
        }
        steps.push(RateStep {
            at: interval.begin - begin,
            rate: interval.rate,
        });
    }
    let Some((begin, _)) = first else {
        return Err(empty(name, "lines of intervals as iperf3 prints them"));
    };
    let content = Content::Rate(Rates {
        steps: steps.into(),
        duration: end - begin,
    });
    Ok(Trace {
        source: name.to_owned(),
        format: Format::Brimful,
        networks: content.networks(),
        content,
        notes: (omitted > 0)
            .then(|| format!("{omitted} intervals that are marked as omitted are passed over"))
            .into_iter()
            .collect(),
    })
}

/// The name in brackets at a line's beginning, and what is behind it.
fn stream(line: &str) -> Option<(&str, &str)> {
    let (id, rest) = line.trim_start().strip_prefix('[')?.rsplit_once(']')?;
    Some((id.trim(), rest))
}

/// The interval of a line; none of a line of another kind.
fn interval<'a>(file: &str, line: Line<'a>) -> Result<Option<Interval<'a>>, TraceError> {
    let Some((stream, rest)) = stream(line.text) else {
        return Ok(None);
    };
    let words: Vec<&str> = rest.split_whitespace().take(9).collect();
    let [span, "sec", _, _, rate, unit, more @ ..] = &words[..] else {
        return Ok(None);
    };
    if more
        .iter()
        .any(|word| ["sender", "receiver"].contains(word))
    {
        return Ok(None);
    }
    let Some((begin, end)) = span.split_once('-') else {
        return Ok(None);
    };
    let place = |field, text: &str| Place {
        file,
        line: line.number,
        column: line.text.find(text).unwrap_or(0) + 1,
        field,
    };
    let seconds = |text: &str| -> Result<Duration, TraceError> {
        let max = MAX_DURATION.as_secs_f64() + 1.0;
        let seconds = place("interval", span).decimal(text, 0.0, max)?;
        Ok(Duration::from_secs_f64(seconds))
    };
    let (begin, end) = (seconds(begin)?, seconds(end)?);
    if end <= begin {
        return Err(place("interval", span).not(span, "an end behind its beginning"));
    }
    let units = [
        ("bits/sec", 1.0),
        ("Kbits/sec", 1e3),
        ("Mbits/sec", 1e6),
        ("Gbits/sec", 1e9),
        ("Tbits/sec", 1e12),
    ];
    let Some((_, bps)) = units.into_iter().find(|(name, _)| name == unit) else {
        let expected = "bits/sec, Kbits/sec, Mbits/sec, Gbits/sec or Tbits/sec, which iperf3 prints without --format";
        return Err(place("bitrate", unit).not(unit, expected));
    };
    let max = MAX_RATE.as_bps() as f64 / bps;
    let rate = bit_rate(place("bitrate", rate).decimal(rate, 0.0, max)?, bps);
    Ok(Some(Interval {
        stream,
        begin,
        end,
        rate,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three intervals of a log, in the form that iperf 3.16 prints.
    const ONE: &str = "\
Connecting to host 192.0.2.1, port 5207
Reverse mode, remote host 192.0.2.1 is sending
[  5] local 198.51.100.2 port 40302 connected to 192.0.2.1 port 5207
[ ID] Interval           Transfer     Bitrate
[  5]   0.00-0.10   sec   125 KBytes  10.3 Mbits/sec                  (omitted)
[  5]   0.10-0.20   sec   500 KBytes  40.9 Mbits/sec                  
[  5]   0.20-0.30   sec  0.00 Bytes  0.00 bits/sec                  
[  5]   0.30-0.40   sec  1.13 MBytes  95.2 Mbits/sec    3    120 KBytes       
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate         Retr
[  5]   0.00-0.40   sec  1.74 MBytes  36.5 Mbits/sec   12             sender
[  5]   0.00-0.40   sec  1.63 MBytes  34.2 Mbits/sec                  receiver
";

    fn steps(trace: &Trace) -> Vec<(u64, u64)> {
        match &trace.content {
            Content::Rate(rates) => {
                let steps = rates.steps().iter();
                steps.map(|s| (s.at.as_millis(), s.rate.as_bps())).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn intervals_become_rates_and_totals_none() {
        let trace = import("a.out", ONE.as_bytes()).expect("a trace");
        let expected = [(0, 40_900_000), (100, 0), (200, 95_200_000)];
        assert_eq!(steps(&trace), expected);
        assert_eq!(trace.duration(), Duration::from_millis(300));
        assert_eq!(
            trace.notes,
            ["1 intervals that are marked as omitted are passed over"]
        );
    }

    #[test]
    fn of_several_streams_the_sum_is_read() {
        let rows = "\
[  5]   0.00-1.00   sec  1.13 MBytes  9.5 Mbits/sec
[  7]   0.00-1.00   sec  1.13 MBytes  9.5 Mbits/sec
";
        let sum = format!("{rows}[SUM]   0.00-1.00   sec  2.26 MBytes  19.0 Mbits/sec\n");
        let trace = import("b", sum.as_bytes()).expect("a trace");
        assert_eq!(steps(&trace), [(0, 19_000_000)]);
        let error = import("b", rows.as_bytes()).expect_err("two streams");
        let text = error.to_string();
        assert!(
            text.contains("b:2:1") && text.contains("stream 5"),
            "{text}"
        );
    }

    #[test]
    fn what_is_no_interval_is_refused_with_its_place() {
        for (text, part) in [
            ("nothing here\n", "lines of intervals"),
            ("[  5]   1.00-0.50   sec  1 Bytes  1.0 bits/sec\n", "c:1:9"),
            (
                "[  5]   0.00-1.00   sec  1 Bytes  1.0 MBytes/sec\n",
                "Mbits/sec",
            ),
            ("[  5]   0.00-1.00   sec  1 Bytes  x bits/sec\n", "bitrate"),
            (
                "[  5]   0.00-1.00   sec  1 Bytes  9e9 Tbits/sec\n",
                "bitrate",
            ),
            (
                "[  5]   1.00-2.00   sec  1 Bytes  1.0 bits/sec\n[  5]   0.00-1.00   sec  1 Bytes  1.0 bits/sec\n",
                "c:2:1",
            ),
        ] {
            let error = import("c", text.as_bytes()).expect_err(text).to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
