//! What is done with bytes that claim to be a trace: read, measure, play, convert, write and read
//! again. Nothing may panic, and what was written must be read as what it was.

pub mod radio_reports;

use radio::McsTable;
use radio::trace::{
    CellParameters, ConvertOptions, Format, Layout, Mapping, Playback, ReadOptions, Separator,
    TimeUnit, Trace, ValueColumns, convert, import, import_as, read, write,
};
use units::{Duration, Instant, Prb};

/// Slots that are played of each trace.
const SLOTS: u64 = 200;

const CELL: CellParameters = CellParameters {
    table: McsTable::NrQam64,
    n_prb: Prb::new(51),
    slot_duration: Duration::from_micros(500),
    layers: 2,
    data_re_per_prb: 132,
};

/// Reads and uses a trace. What comes before a zero byte is the series that is requested.
pub fn trace(bytes: &[u8], format: Option<Format>) {
    let zero = bytes.iter().position(|&b| b == 0);
    let (series, bytes) = match zero {
        Some(end) => (std::str::from_utf8(&bytes[..end]).ok(), &bytes[end + 1..]),
        None => (None, bytes),
    };
    let options = ReadOptions {
        format,
        series: series.map(str::to_owned),
    };
    match read("fuzz", bytes, &options) {
        Ok(trace) => {
            assert!(!trace.info().to_string().is_empty());
            play(&trace);
            rewrite(&trace);
        }
        Err(error) => assert!(error.to_string().len() < 4096, "{error}"),
    }
}

/// Imports and uses a table, whose columns are mapped as the first byte states.
pub fn imported(bytes: &[u8]) {
    let Some((&choice, bytes)) = bytes.split_first() else {
        return;
    };
    for layout in [Layout::Iperf3, Layout::FusedA, Layout::FusedB] {
        match import_as("fuzz", bytes, layout, Vec::new()) {
            Ok(trace) => assert!(!trace.info().to_string().is_empty()),
            Err(error) => assert!(error.to_string().len() < 4096, "{error}"),
        }
    }
    let separators = [Separator::Comma, Separator::Semicolon, Separator::Tab];
    let units = [
        TimeUnit::Seconds,
        TimeUnit::Milliseconds,
        TimeUnit::Microseconds,
        TimeUnit::Nanoseconds,
        TimeUnit::Date,
    ];
    let choice = usize::from(choice);
    let time = units.get(choice / 3 % 6);
    let column = || "v".to_owned();
    let mapping = Mapping {
        separator: separators[choice % 3],
        time: time.map(|unit| ("t".to_owned(), *unit)),
        value: match choice / 18 % 2 {
            0 => ValueColumns::Rate {
                column: column(),
                unit: "Mbit/s".parse().expect("a unit"),
            },
            _ => ValueColumns::Cqi {
                column: column(),
                snr: Some("s".to_owned()),
                rsrp: Some("r".to_owned()),
            },
        },
        only: Vec::new(),
    };
    match import("fuzz", bytes, &mapping) {
        Ok(trace) => {
            assert!(!trace.info().to_string().is_empty());
            assert_eq!(trace.profile(20).parts.len(), 20);
            play(&trace);
            rewrite(&trace);
        }
        Err(error) => assert!(error.to_string().len() < 4096, "{error}"),
    }
}

fn play(trace: &Trace) {
    for (repeat, offset) in [(true, Duration::ZERO), (false, trace.duration() / 2)] {
        let playback = Playback {
            repeat,
            offset,
            ..Playback::default()
        };
        let Ok(mut channel) = trace.channel(&playback, &CELL) else {
            continue;
        };
        let mut load = trace.load(&playback, &CELL);
        let mut at = Instant::ZERO;
        for i in 0..SLOTS {
            let state = channel.state(at, CELL.slot_duration);
            assert!(state.holds_until > at);
            if let Some(load) = &mut load {
                assert!(load.prb(at, CELL.slot_duration) <= CELL.n_prb);
            }
            // ever longer steps, over laps as well
            at += CELL.slot_duration * (1 + i * i);
        }
    }
}

/// Conversions of a short trace, and Brimful's own form of any.
fn rewrite(trace: &Trace) {
    if let Ok(text) = write(trace, Format::Brimful) {
        let again = read("again", text.as_bytes(), &ReadOptions::default());
        let same = again
            .as_ref()
            .is_ok_and(|again| again.content == trace.content);
        assert!(same, "{text:?}: {again:?}");
    }
    if trace.duration() > Duration::from_secs(2) {
        return;
    }
    for format in Format::ALL {
        let options = ConvertOptions {
            cell: Some(CELL),
            ..ConvertOptions::default()
        };
        let Ok(converted) = convert(trace, format, &options) else {
            continue;
        };
        assert!(!converted.info().to_string().is_empty());
    }
}
