//! Every key of a scenario file: its kind, unit, default, range and meaning, in one place.
//!
//! The reader takes defaults and ranges from here, unknown keys are distinguished from known ones by it, and
//! `docs/scenario-keys.md` is printed from it.

mod apps;
mod call;
mod cell;
mod flow;
mod handover;
mod moving;
mod pep;
mod queues;
mod top;
mod trace;
mod tunnel;
mod user;

pub(crate) use top::{FASTEST, MAX_TIME};

use core::fmt;
use core::fmt::Write as _;
use std::sync::LazyLock;

/// A table of a scenario file, e.g. `[path]`.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// Where it stands, e.g. `"flow.<name>.app"`; empty for the top level.
    pub path: &'static str,
    /// The value of its key `kind` that these keys belong to, if the table has several forms.
    pub kind: Option<&'static str>,
    /// What it describes.
    pub meaning: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
}

/// A key of a section.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What its value is.
    pub kind: Kind,
    /// What holds without it.
    pub fallback: Fallback,
    /// Which values are allowed.
    pub range: Range,
    /// What it means.
    pub meaning: &'static str,
}

/// What a value is.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Any text.
    Text,
    /// `true` or `false`.
    Flag,
    /// A whole number without unit.
    Count,
    /// A number without unit.
    Number,
    /// A time, e.g. `"10 ms"`.
    Duration,
    /// A time, or this word.
    DurationOr(&'static str),
    /// A number of bytes, e.g. `"200 MB"`.
    Bytes,
    /// A data rate, e.g. `"15 Mbit/s"`.
    BitRate,
    /// The room of a buffer: `"1 MB"`, `"250 packets"` or `"unlimited"`.
    Capacity,
    /// A frequency, e.g. `"28 GHz"`.
    Frequency,
    /// A ratio in decibel, e.g. `"17.5 dB"`.
    Decibel,
    /// A power in decibel over 1 mW, e.g. `"35 dBm"`.
    Power,
    /// A length, a height or a coordinate, e.g. `"10 m"`.
    Length,
    /// A speed, e.g. `"1 m/s"`.
    Speed,
    /// A place on the ground: two lengths.
    Place,
    /// A rectangle on the ground: two opposite corners.
    Corners,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A list of this.
    List(&'static str),
    /// A table of its own.
    Table,
}

/// What holds where a key is not given.
#[derive(Clone, Copy, Debug)]
pub enum Fallback {
    /// It must be given.
    Required,
    /// Nothing; this text describes what that means.
    Absent(&'static str),
    /// This value, as it would stand in the file.
    Value(&'static str),
    /// One value for LTE, another for NR.
    ByRat {
        /// With `rat = "lte"`.
        lte: &'static str,
        /// With `rat = "nr"`.
        nr: &'static str,
    },
    /// What crate `ran` presets for the technology; the texts report its values.
    Preset {
        /// With `rat = "lte"`.
        lte: &'static str,
        /// With `rat = "nr"`; may depend on the numerology.
        nr: &'static str,
    },
}

/// Which values are allowed, in the base unit (s, B, bit/s, Hz, dB, dBm, m, m/s, or none).
#[derive(Clone, Copy, Debug)]
pub enum Range {
    /// All that the kind can express.
    Any,
    /// Greater than zero.
    Positive,
    /// From the first to the second, both included.
    Within(f64, f64),
}

impl Range {
    /// True if `value` is inside.
    pub fn contains(self, value: f64) -> bool {
        match self {
            Self::Any => true,
            Self::Positive => value > 0.0,
            Self::Within(low, high) => (low..=high).contains(&value),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text => f.write_str("text"),
            Self::Flag => f.write_str("true or false"),
            Self::Count => f.write_str("whole number"),
            Self::Number => f.write_str("number"),
            Self::Duration => f.write_str("time (ns, us, ms, s, min, h)"),
            Self::DurationOr(word) => write!(f, "time (ns, us, ms, s, min, h), or `{word}`"),
            Self::Bytes => f.write_str("size (B, kB, MB, GB, TB)"),
            Self::BitRate => f.write_str("rate (bit/s, kbit/s, Mbit/s, Gbit/s)"),
            Self::Capacity => f.write_str("size (B, kB, MB ...), packets, or unlimited"),
            Self::Frequency => f.write_str("frequency (Hz, kHz, MHz, GHz)"),
            Self::Decibel => f.write_str("ratio (dB)"),
            Self::Power => f.write_str("power (dBm)"),
            Self::Length => f.write_str("length (cm, m, km)"),
            Self::Speed => f.write_str("speed (m/s, km/h)"),
            Self::Place => f.write_str("place: `[x, y]`, two lengths"),
            Self::Corners => f.write_str("corners: two places"),
            Self::Choice(words) => {
                let words: Vec<String> = words.iter().map(|w| format!("`{w}`")).collect();
                f.write_str(&words.join(", "))
            }
            Self::List(of) => write!(f, "list of {of}"),
            Self::Table => f.write_str("table"),
        }
    }
}

impl fmt::Display for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Required => f.write_str("**required**"),
            Self::Absent(meaning) => f.write_str(meaning),
            Self::Value("") => f.write_str("empty"),
            Self::Value(text) => write!(f, "`{text}`"),
            Self::ByRat { lte, nr } => write!(f, "LTE `{lte}`, NR `{nr}`"),
            Self::Preset { lte, nr } if lte == nr => write!(f, "{lte}"),
            Self::Preset { lte, nr } => write!(f, "LTE {lte}, NR {nr}"),
        }
    }
}

/// A bound in the unit that a person would use.
fn bound(kind: Kind, value: f64) -> String {
    match kind {
        Kind::Duration | Kind::DurationOr(_) => units::Duration::from_secs_f64(value).to_string(),
        Kind::Bytes => units::Bytes::new(value as u64).to_string(),
        Kind::BitRate => units::BitRate::from_bps(value as u64).to_string(),
        Kind::Decibel => units::Decibel::new(value).to_string(),
        Kind::Frequency if value < 1e6 => format!("{value} Hz"),
        Kind::Frequency => format!("{} GHz", value / 1e9),
        Kind::Power => radio::moving::Dbm::new(value).to_string(),
        Kind::Length | Kind::Place | Kind::Corners | Kind::List(_) => {
            radio::moving::Metres::new(value).to_string()
        }
        Kind::Speed => radio::moving::Speed::new(value).to_string(),
        _ => value.to_string(),
    }
}

impl Key {
    /// The allowed range as text, empty if all is allowed.
    pub fn range_text(&self) -> String {
        match self.range {
            Range::Any => String::new(),
            Range::Positive => "more than 0".to_owned(),
            Range::Within(low, high) => {
                format!("{} to {}", bound(self.kind, low), bound(self.kind, high))
            }
        }
    }
}

impl Section {
    /// The key of this name.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|k| k.name == name)
    }
    /// The title as it stands in a file, with its form.
    pub fn title(&self) -> String {
        let table = match self.path {
            "" => "Top level".to_owned(),
            path if is_list(path) => format!("`[[{path}]]`"),
            path => format!("`[{path}]`"),
        };
        match self.kind {
            Some(kind) => format!("{table}, `kind = \"{kind}\"`"),
            None => table,
        }
    }
}

/// True if a file may have several tables of this section, as `[[...]]`.
fn is_list(path: &str) -> bool {
    let last = path.rsplit('.').next();
    matches!(last, Some("bearer" | "building" | "blocker"))
}

/// All sections with all keys, in the order of the documentation.
pub fn keys() -> impl Iterator<Item = &'static Section> {
    SECTIONS.iter()
}

/// All sections, with the keys that other crates describe in their places.
static SECTIONS: LazyLock<Vec<Section>> = LazyLock::new(|| {
    let mut all = [top::SECTIONS, pep::SECTIONS].concat();
    all.extend(tunnel::sections());
    all.extend([cell::SECTIONS, trace::SECTIONS, queues::SECTIONS].concat());
    all.extend(queues::of_layers());
    all.extend(handover::SECTIONS.iter().copied());
    let after = [
        flow::SECTIONS,
        apps::SECTIONS,
        call::SECTIONS,
        user::SECTIONS,
        moving::SECTIONS,
    ];
    all.extend(after.concat());
    for section in &mut all {
        let is_queue = |key: &Key| key.name == queues::QUEUE_OF_WIRE.name;
        if let Some(at) = section.keys.iter().position(is_queue) {
            let (before, after) = (&section.keys[..at], &section.keys[at + 1..]);
            section.keys = [before, &queues::of_wire(), after].concat().leak();
        }
    }
    all
});

/// The section of this path and kind.
pub(crate) fn section(path: &str, kind: Option<&str>) -> &'static Section {
    keys()
        .find(|s| s.path == path && s.kind == kind)
        .expect("only sections of the table are requested")
}

/// The reference of all keys as Markdown: what `docs/scenario-keys.md` holds.
pub fn markdown() -> String {
    let mut out = String::from(
        "# Keys of a scenario file\n\n\
         This page is printed from the table that the reader itself uses; a test keeps it in step.\n\
         Quantities are texts with their unit (`\"10 ms\"`), counts and ratios are plain numbers.\n\
         How the parts work together is described in [scenario-files.md](scenario-files.md).\n",
    );
    for section in keys() {
        let _ = write!(out, "\n## {}\n\n{}\n", section.title(), section.meaning);
        if section.keys.is_empty() {
            continue;
        }
        out.push_str(
            "\n| key | value | default | range | meaning |\n| --- | --- | --- | --- | --- |\n",
        );
        for key in section.keys {
            let _ = writeln!(
                out,
                "| `{}` | {} | {} | {} | {} |",
                key.name,
                key.kind,
                key.fallback,
                key.range_text(),
                key.meaning
            );
        }
    }
    out
}

/// These words and those of a registry, `N` in all.
const fn joined<const N: usize>(
    first: &[&'static str],
    then: &[&'static str],
) -> [&'static str; N] {
    let mut all = [""; N];
    let mut i = 0;
    while i < N {
        all[i] = if i < first.len() {
            first[i]
        } else {
            then[i - first.len()]
        };
        i += 1;
    }
    all
}

/// A key of the table.
const fn key(
    name: &'static str,
    kind: Kind,
    fallback: Fallback,
    range: Range,
    meaning: &'static str,
) -> Key {
    Key {
        name,
        kind,
        fallback,
        range,
        meaning,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_is_described_twice() {
        for section in keys() {
            for (i, key) in section.keys.iter().enumerate() {
                assert!(
                    section.keys[..i].iter().all(|k| k.name != key.name),
                    "{} in {}",
                    key.name,
                    section.path
                );
                assert!(!key.meaning.is_empty());
            }
        }
    }

    /// Texts that name what another crate has a list of.
    #[test]
    fn meanings_name_every_policy_of_the_radio() {
        for name in radio::CqiToMcs::NAMES {
            let is_named = cell::POLICY.meaning.contains(&format!("`{name}`"));
            assert!(is_named, "{name}");
        }
    }

    #[test]
    fn ranges_print_in_their_unit() {
        let k = key(
            "x",
            Kind::Duration,
            Fallback::Required,
            Range::Within(0.001, 60.0),
            "",
        );
        assert_eq!(k.range_text(), "1 ms to 60 s");
        let k = key(
            "x",
            Kind::Number,
            Fallback::Required,
            Range::Within(0.0, 1.0),
            "",
        );
        assert_eq!(k.range_text(), "0 to 1");
    }
}
