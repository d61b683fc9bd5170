//! Logs of G-NetTrack in the UCC data sets (Raca et al., MMSys 2018 for 4G, MMSys 2020 for 5G).
//!
//! A header, then about one row a second. Used: `Timestamp` (YYYY.MM.DD_hh.mm.ss, whole seconds),
//! `NetworkMode` (5G, LTE, HSPA+ ...), `CQI` (0 to 15), `SNR` (dB), `RSRP` (dBm) and, where they are
//! chosen as the series, `DL_bitrate` or `UL_bitrate` (kbit/s). `-` is a value that the phone did not give.
//!
//! Choices:
//! * Several rows of the same second are spread evenly over it: two rows are half a second apart.
//! * A row holds until the next, over gaps as well; the last one until its second ends.
//! * A row without CQI stays one: what it means is stated when the trace is played
//!   ([`Playback::without_cqi`](crate::trace::Playback::without_cqi)).
//! * A row without a rate keeps the rate before it (the first ones: the first rate that follows).

use super::{Found, Input, MAX_DURATION, MAX_RATE, bit_rate};
use crate::moving::Dbm;
use crate::trace::text::{Place, Row, Table, empty, lines};
use crate::trace::{
    Content, Network, NetworkTimes, Quality, QualitySample, RateStep, Rates, TraceError,
};
use units::{BitRate, Cqi, Decibel, Duration};

/// The columns that can be chosen.
const SERIES: &str = "CQI (the default), DL_bitrate or UL_bitrate";

pub(super) fn read(input: &Input<'_>) -> Result<Found, TraceError> {
    let series = input.series.unwrap_or("CQI");
    let named = |name: &str| series.eq_ignore_ascii_case(name);
    if named("CQI") {
        read_quality(input)
    } else if named("DL_bitrate") || named("UL_bitrate") {
        read_rate(input, series)
    } else {
        Err(input.no_series(series, SERIES))
    }
}

fn read_quality(input: &Input<'_>) -> Result<Found, TraceError> {
    let mut table = Table::new(input.file, lines(input.text))?;
    let (time, cqi) = (table.column("Timestamp")?, table.column("CQI")?);
    let (network, snr) = (table.column("NetworkMode")?, table.find("SNR"));
    let rsrp = table.find("RSRP");
    let received = table.find("DL_bitrate");
    let mut fastest: f64 = 0.0;
    let mut clock = Clock::default();
    let mut samples = Vec::new();
    while let Some(row) = table.next_row()? {
        clock.add(&row, time)?;
        // not played: what cannot be read of it spoils nothing
        let kbps = received.and_then(|column| row.text(column).parse::<f64>().ok());
        fastest = fastest.max(kbps.filter(|kbps| kbps.is_finite()).unwrap_or(0.0));
        samples.push(QualitySample {
            at: Duration::ZERO,
            cqi: given(&row, cqi, |place, text| place.whole(text, 15))?
                .map(|cqi| Cqi::new(cqi as u8)),
            snr: match snr {
                Some(column) => given(&row, column, |place, text| {
                    place.decimal(text, -200.0, 200.0)
                })?
                .map(Decibel::new),
                None => None,
            },
            // as the received rate above
            rsrp: rsrp.and_then(|column| received_power(row.text(column))),
            network: network_of(row.text(network)),
        });
    }
    let (starts, duration) = clock.spread(input.file)?;
    for (sample, at) in samples.iter_mut().zip(starts) {
        sample.at = at;
    }
    let missing = samples.iter().filter(|sample| sample.cqi.is_none()).count();
    if missing == samples.len() {
        return Err(TraceError::NothingUsable {
            file: input.file.into(),
            what: format!("no row of {missing} has a CQI").into(),
            expected: "at least one".into(),
            help: "; play the measured rate instead: give --series DL_bitrate".into(),
        });
    }
    let mut notes = Vec::new();
    if missing > 0 {
        notes.push(format!("{missing} of {} rows have no CQI", samples.len()));
    }
    if fastest > 0.0 {
        let fastest = bit_rate(fastest.min(MAX_RATE.as_bps() as f64 / 1e3), 1e3);
        notes.push(format!(
            "the phone received up to {:.1} Mbit/s; --series DL_bitrate plays what it received",
            fastest.as_mbps_f64()
        ));
    }
    let content = Content::Quality(Quality {
        samples: samples.into(),
        duration,
    });
    Ok(Found::new(content, notes))
}

/// A power that a phone may have received.
fn received_power(text: &str) -> Option<Dbm> {
    let dbm = text.parse::<f64>().ok()?;
    (-200.0..=0.0).contains(&dbm).then(|| Dbm::new(dbm))
}

fn read_rate(input: &Input<'_>, series: &str) -> Result<Found, TraceError> {
    let mut table = Table::new(input.file, lines(input.text))?;
    let (time, rate) = (table.column("Timestamp")?, table.column(series)?);
    let mode = table.find("NetworkMode");
    let most_kbps = MAX_RATE.as_bps() as f64 / 1e3;
    let mut clock = Clock::default();
    let (mut rates, mut networks) = (Vec::new(), Vec::new());
    while let Some(row) = table.next_row()? {
        clock.add(&row, time)?;
        let kbps = given(&row, rate, |place, text| {
            place.decimal(text, 0.0, most_kbps)
        })?;
        rates.push(kbps.map(|kbps| bit_rate(kbps, 1e3)));
        networks.push(mode.map_or(Network::Unknown, |mode| network_of(row.text(mode))));
    }
    let (starts, duration) = clock.spread(input.file)?;
    let Some(first) = rates.iter().flatten().next() else {
        return Err(TraceError::NothingUsable {
            file: input.file.into(),
            what: format!("no row has a {series}").into(),
            expected: "at least one".into(),
            help: "".into(),
        });
    };
    let mut held: BitRate = *first;
    let mut steps = Vec::with_capacity(rates.len());
    let networks = NetworkTimes::of(starts.iter().copied().zip(networks), duration);
    for (rate, at) in rates.iter().zip(starts) {
        held = rate.unwrap_or(held);
        steps.push(RateStep { at, rate: held });
    }
    let notes = vec![format!(
        "{series} is what the phone received, which is less than what it could have received \
         where it requested less"
    )];
    Ok(Found {
        content: Content::Rate(Rates {
            steps: steps.into(),
            duration,
        }),
        networks,
        notes,
    })
}

/// A value, or `None` for `-` and an empty field.
fn given<T>(
    row: &Row<'_, '_>,
    column: usize,
    parse: impl FnOnce(Place<'_>, &str) -> Result<T, TraceError>,
) -> Result<Option<T>, TraceError> {
    match row.text(column) {
        "-" | "" => Ok(None),
        text => parse(row.place(column), text).map(Some),
    }
}

fn network_of(mode: &str) -> Network {
    match mode.to_ascii_uppercase().as_str() {
        "5G" | "NR" | "5G NSA" | "5G SA" => Network::Nr,
        "LTE" | "4G" | "LTE-A" | "LTE+" => Network::Lte,
        "" | "-" => Network::Unknown,
        _ => Network::Older,
    }
}

/// The seconds of the rows.
#[derive(Default)]
struct Clock {
    /// Seconds since the first row.
    seconds: Vec<u64>,
    /// The first row's second.
    first: i64,
    /// The last time, as written.
    previous: String,
}

impl Clock {
    fn add(&mut self, row: &Row<'_, '_>, column: usize) -> Result<(), TraceError> {
        let text = row.text(column);
        let place = row.place(column);
        let Some(second) = seconds_of(text) else {
            return Err(place.not(text, "a time as 2019.12.14_10.16.30"));
        };
        if self.seconds.is_empty() {
            self.first = second;
        }
        let last = self.seconds.last().copied().unwrap_or(0);
        match u64::try_from(second - self.first) {
            Ok(since) if since >= last => {
                if Duration::from_secs(since + 1) > MAX_DURATION {
                    return Err(super::too_long(row.file, Duration::from_secs(since + 1)));
                }
                self.seconds.push(since);
            }
            _ => return Err(place.decreases(text, &self.previous)),
        }
        self.previous.clear();
        self.previous.push_str(text);
        Ok(())
    }

    /// When each row begins, and when the last one ends.
    fn spread(self, file: &str) -> Result<(Vec<Duration>, Duration), TraceError> {
        let Some(&last) = self.seconds.last() else {
            return Err(empty(file, "rows under the header"));
        };
        let mut starts = Vec::with_capacity(self.seconds.len());
        for same in self.seconds.chunk_by(|a, b| a == b) {
            let second = Duration::from_secs(same[0]);
            let part = Duration::from_secs(1).as_nanos() / same.len() as u64;
            starts.extend((0..same.len() as u64).map(|i| second + Duration::from_nanos(part * i)));
        }
        Ok((starts, Duration::from_secs(last + 1)))
    }
}

/// The seconds since 1970 of `YYYY.MM.DD_hh.mm.ss`, taken as UTC.
fn seconds_of(text: &str) -> Option<i64> {
    let (date, time) = text.split_once('_')?;
    let [year, month, day] = three(date)?;
    let [hour, minute, second] = three(time)?;
    let valid = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..=60).contains(&second);
    valid.then(|| days_since_1970(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second)
}

fn three(text: &str) -> Option<[i64; 3]> {
    let mut parts = text.split('.');
    let mut next = || {
        let part = parts.next()?;
        let digits =
            !part.is_empty() && part.len() <= 4 && part.bytes().all(|b| b.is_ascii_digit());
        if digits { part.parse().ok() } else { None }
    };
    let numbers = [next()?, next()?, next()?];
    parts.next().is_none().then_some(numbers)
}

/// Days from 1970-01-01 to a date of the Gregorian calendar: years counted from March, so that
/// the leap day is the last of its year.
pub(in crate::trace) fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let leap_days = year / 4 - year / 100 + year / 400;
    let days_before_month = (153 * month + 2) / 5;
    365 * year + leap_days + days_before_month + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calendar() {
        assert_eq!(days_since_1970(1970, 1, 1), 0);
        assert_eq!(days_since_1970(1970, 3, 1), 59);
        assert_eq!(days_since_1970(2000, 3, 1), 11_017);
        assert_eq!(days_since_1970(2020, 2, 29), 18_321);
        assert_eq!(seconds_of("2001.09.09_01.46.40"), Some(1_000_000_000));
        for wrong in [
            "2001.09.09",
            "2001.13.09_01.46.40",
            "2001.09.09_24.46.40",
            "a_b",
            "_",
            "1.2.3.4_1.1.1",
        ] {
            assert_eq!(seconds_of(wrong), None, "{wrong}");
        }
    }
}
