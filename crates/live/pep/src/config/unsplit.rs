//! `[split]` and `[unsplit]`: whether connections are split, and what is done to packets that are not.

use super::limits::size;
use super::read::interface;
use super::{ConfigError, Interception};
use daemon::config::Section;
use edge::ConfigError as OutOfRange;
use edge::marker::MarkerConfig;
use kernel_marker::Inside;
use units::{Bytes, Duration};

/// What the marker's keys begin with in scenario files, where they stand beside others.
const PREFIX: &str = "unsplit-";
/// Keys of connections, which are nothing without them.
const OF_CONNECTIONS: [&str; 11] = [
    "control",
    "ue-prefixes",
    "bypass",
    "wan-interface",
    "port",
    "onward-mark",
    "follow-forward-policy",
    "rapid",
    "record",
    "keepalive",
    "relay",
];

/// The tunnels, by name.
const INSIDE: [(&str, Inside); 4] = [
    ("nothing", Inside::NOTHING),
    ("gtp-u", Inside::GTP_U),
    ("vxlan", Inside::VXLAN),
    ("both", Inside::BOTH),
];

/// UEs at most where nothing else is configured.
const MAX_UES: u32 = 10_000;
/// What may wait of a UE and in all, bytes, where nothing else is configured.
const BUFFER: u64 = 4_000_000;
const MEMORY: u64 = 256_000_000;
const TERA: u64 = 1_000_000_000_000;
/// Why such a key is refused.
pub(super) const WITHOUT_CONNECTIONS: &str =
    "is of connections, and [split] enabled = false takes none";

/// What is done to packets towards the UEs that are not split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnsplitMode {
    /// They pass as they are.
    Off,
    /// They are marked, or dropped early.
    Mark,
    /// They wait here, each flow in its turn, if the radio is the bottleneck of their UE.
    Queue,
}

impl UnsplitMode {
    /// By name, as the configuration has it.
    pub(crate) const NAMES: [(&'static str, Self); 3] = [
        ("off", Self::Off),
        ("mark", Self::Mark),
        ("queue", Self::Queue),
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Mark => "mark",
            Self::Queue => "queue",
        }
    }
}

/// Packets towards the UEs that are not split.
#[derive(Clone, Debug, PartialEq)]
pub struct Unsplit {
    /// What is done to them.
    pub mode: UnsplitMode,
    /// How.
    pub marker: MarkerConfig,
    /// What may wait of a UE.
    pub buffer: Bytes,
    /// Memory that what waits may take in all.
    pub memory: Bytes,
    /// UEs at most whose packets are marked.
    pub max_ues: u32,
    /// Tunnels that packets towards the UEs are looked for in.
    pub inside: Inside,
    /// The interface towards the UEs; none in the explicit mode, where nothing is marked.
    pub interface: Option<String>,
}

/// Whether connections are split.
pub(super) fn splits(top: &mut Section<'_, '_>) -> Result<bool, ConfigError> {
    let mut table = top.table_or_empty("split", "[split]")?;
    let splits = table.truth("enabled")?.unwrap_or(true);
    table.finish()?;
    Ok(splits)
}

/// The explicit mode is a way to split.
pub(super) fn explicit_without_split(top: &Section<'_, '_>) -> ConfigError {
    top.fault(
        "mode = \"explicit\" relays connections, and [split] enabled = false takes none; leave one of them out",
    )
}

/// What there is where nothing is split: the interface, and none of what connections have.
pub(super) fn without_split(top: &mut Section<'_, '_>) -> Result<Interception, ConfigError> {
    for key in OF_CONNECTIONS.into_iter().chain(["explicit"]) {
        top.refuse(key, WITHOUT_CONNECTIONS)?;
    }
    let ran_interface = interface(top, "ran-interface", "\"ran0\", towards the UEs")?;
    Ok(Interception::Off { ran_interface })
}

/// What `[unsplit]` states; none without it.
pub(super) fn unsplit(
    top: &mut Section<'_, '_>,
    interception: &Interception,
) -> Result<Option<Unsplit>, ConfigError> {
    let splits = !matches!(interception, Interception::Off { .. });
    let nothing_left = "[split] enabled = false and [unsplit] mode = \"off\" leave nothing to do; \
                        set [unsplit] mode = \"mark\" or \"queue\", or enabled = true";
    let Some(mut table) = top.table("unsplit", "[unsplit]")? else {
        return match splits {
            true => Ok(None),
            false => Err(top.fault(nothing_left)),
        };
    };
    let mode = table.word("mode", &UnsplitMode::NAMES)?;
    let mode = mode.unwrap_or(UnsplitMode::Off);
    let name = mode.name();
    let is_off = mode == UnsplitMode::Off;
    let interface = match interception {
        Interception::Transparent(transparent) => Some(transparent.ran_interface.clone()),
        Interception::Off { ran_interface } => Some(ran_interface.clone()),
        Interception::Explicit(_) => None,
    };
    if !is_off && interface.is_none() {
        return Err(table.fault(format!(
            "mode = \"{name}\" needs ran-interface, by which packets leave towards the UEs; this is mode = \"explicit\"",
        )));
    }
    if is_off && !splits {
        return Err(table.fault(nothing_left));
    }
    let marker = marker(&mut table)?;
    let max_ues = table.whole("max-ues", 1..=1_000_000)?;
    let inside = table.word("inside", &INSIDE)?.unwrap_or_default();
    if mode == UnsplitMode::Queue && inside != Inside::NOTHING {
        return Err(table.fault(
            "mode = \"queue\" does not look into tunnels: leave inside out, or set mode = \"mark\"",
        ));
    }
    let buffer = size(&mut table, "buffer", 65_536..=1 << 30, BUFFER)?;
    let memory = size(&mut table, "memory", 1_000_000..=TERA, MEMORY)?;
    table.finish()?;
    Ok(Some(Unsplit {
        mode,
        marker,
        buffer,
        memory,
        inside,
        max_ues: max_ues.unwrap_or(MAX_UES),
        interface,
    }))
}

/// The marker's numbers, by the keys of scenario files less what those begin with.
fn marker(table: &mut Section<'_, '_>) -> Result<MarkerConfig, ConfigError> {
    let mut config = MarkerConfig::default();
    // what is allowed is checked as a whole
    let any = f64::NEG_INFINITY..=f64::INFINITY;
    if let Some(fraction) = table.number("rate-fraction", any)? {
        config.rate_fraction = fraction;
    }
    for (key, time) in config.times() {
        if let Some(given) = table.parsed::<Duration>(own(key))? {
            *time = given;
        }
    }
    config.check().map_err(|error| match error {
        OutOfRange::Range {
            field,
            value,
            expected,
        } => table.fault(format!("{} is {value}, expected {expected}", own(field))),
        other => table.fault(other),
    })?;
    Ok(config)
}

/// A key as it is called here.
fn own(key: &'static str) -> &'static str {
    key.strip_prefix(PREFIX).unwrap_or(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use crate::config::Control;

    const SPLIT: &str = "ue-prefixes = [\"10.45.0.0/24\"]\nran-interface = \"ran0\"\nwan-interface = \"wan0\"\n\
                         [reports]\nsource = \"unix:/radio\"\n";
    const ALONE: &str =
        "ran-interface = \"ran0\"\n[split]\nenabled = false\n[reports]\nsource = \"unix:/radio\"\n";
    const MARK: &str = "[unsplit]\nmode = \"mark\"\n";

    fn good(text: &str) -> Config {
        Config::parse("pep.toml", text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    fn message(text: &str) -> String {
        let refused = Config::parse("pep.toml", text).expect_err(text);
        refused.to_string()
    }

    #[test]
    fn nothing_is_marked_unless_it_is_requested() {
        let config = good(SPLIT);
        assert!(config.splits() && config.unsplit.is_none());
        let written = good(&format!("{SPLIT}[unsplit]\n")).unsplit.expect("there");
        assert_eq!(written.mode, UnsplitMode::Off);
        assert_eq!(written.marker, MarkerConfig::default());
        let unsplit = good(&format!("{SPLIT}{MARK}")).unsplit.expect("there");
        assert_eq!(unsplit.mode, UnsplitMode::Mark);
        assert_eq!(unsplit.interface.as_deref(), Some("ran0"));
    }

    #[test]
    fn every_number_of_the_marker_is_a_key_with_its_default() {
        let keys = MarkerConfig::default().times().map(|(key, _)| key);
        for changed in keys {
            let mut config = MarkerConfig::default();
            for (key, time) in config.times() {
                // a ramp ends behind its beginning
                if key == changed {
                    *time += Duration::from_micros(500);
                }
            }
            let mut copy = config;
            let times = copy.times();
            let (_, time) = times
                .into_iter()
                .find(|(key, _)| *key == changed)
                .expect("it");
            let line = format!("{} = \"{} ns\"", own(changed), time.as_nanos());
            let read = good(&format!("{SPLIT}{MARK}{line}\n"))
                .unsplit
                .expect("there");
            assert_eq!(read.marker, config, "{line}");
        }
        let read = good(&format!("{SPLIT}{MARK}rate-fraction = 0.9\n"));
        assert_eq!(read.unsplit.expect("there").marker.rate_fraction, 0.9);
    }

    #[test]
    fn what_waits_is_bounded_by_keys_and_not_looked_for_in_tunnels() {
        let queue = MARK.replace("mark", "queue");
        let unsplit = |more: &str| {
            good(&format!("{ALONE}{queue}{more}"))
                .unsplit
                .expect("there")
        };
        let default = unsplit("");
        assert_eq!(
            (default.mode, default.mode.name()),
            (UnsplitMode::Queue, "queue")
        );
        assert_eq!(default.buffer, Bytes::new(4_000_000));
        assert_eq!(default.memory, Bytes::new(256_000_000));
        let given = unsplit("buffer = \"100 kB\"\nmemory = \"1 GB\"\n");
        assert_eq!(given.buffer, Bytes::new(100_000));
        assert_eq!(given.memory, Bytes::new(1_000_000_000));
        let refused = |more: &str| message(&format!("{ALONE}{queue}{more}"));
        for (more, stated) in [
            ("inside = \"gtp-u\"\n", "does not look into tunnels"),
            ("buffer = \"1 kB\"\n", "buffer is 1 kB; allowed is"),
            ("memory = \"10 kB\"\n", "memory is 10 kB; allowed is"),
        ] {
            let printed = refused(more);
            assert!(printed.contains(stated), "{printed}");
        }
        let reload = good(&format!("{ALONE}{MARK}"));
        assert_eq!(
            reload.needs_restart(&good(&format!("{ALONE}{queue}"))),
            None
        );
    }

    #[test]
    fn marks_alone_need_an_interface_and_reports() {
        let config = good(&format!("{ALONE}{MARK}"));
        assert!(!config.splits() && !config.is_transparent());
        assert_eq!(config.control, Control::Split);
        assert!(config.edge.is_none() && config.reading().is_some());
        assert_eq!(config.needs_restart(&config), None);
        let file = format!("{ALONE}{MARK}");
        let without = file.replace("ran-interface = \"ran0\"\n", "");
        assert!(message(&without).contains("no key \"ran-interface\""));
        let without = file.replace("source = \"unix:/radio\"\n", "");
        assert!(message(&without).contains("goes by radio reports"));
    }

    #[test]
    fn connections_that_are_split_and_nothing_more_are_marked_beside() {
        let file = format!("control = \"split\"\n{SPLIT}{MARK}");
        let config = good(&file);
        assert!(config.edge.is_none());
        let reading = config.reading().expect("reports are read");
        assert_eq!(
            reading.allocator.report_max_age,
            Duration::from_millis(100),
            "that of [reports]"
        );
        let without = file.replace("source = \"unix:/radio\"\n", "");
        assert!(message(&without).contains("goes by radio reports"));
        // off at the start, to be switched on by a reload
        let later = good(&file.replace("\"mark\"", "\"off\""));
        assert!(later.reading().is_some());
        assert_eq!(later.needs_restart(&config), None);
    }

    #[test]
    fn contradictions_name_their_keys() {
        let explicit = "mode = \"explicit\"\ncontrol = \"split\"\n[explicit]\nlisten = \"127.0.0.1:1\"\n\
                        upstream = \"192.0.2.1:80\"\n[reports]\nsource = \"unix:/radio\"\n";
        good(explicit);
        let alone = format!("{ALONE}{MARK}");
        for (file, stated) in [
            (ALONE.to_owned(), "leave nothing to do"),
            (
                format!("{ALONE}[unsplit]\nmode = \"off\"\n"),
                "[unsplit]: [split] enabled = false and",
            ),
            (
                format!("{explicit}{MARK}"),
                "needs ran-interface, by which packets leave",
            ),
            (
                format!("mode = \"explicit\"\n{alone}"),
                "[split] enabled = false takes none",
            ),
            (
                format!("control = \"default\"\n{alone}"),
                "control is of connections",
            ),
            (
                format!("ue-prefixes = [\"10.0.0.0/8\"]\n{alone}"),
                "ue-prefixes is of connections",
            ),
            (
                format!("{alone}[rapid]\nbearer = 1\n"),
                "rapid is of connections",
            ),
            (
                format!("{alone}[limits]\nconnections = 5\n"),
                "connections is of connections",
            ),
            (
                format!("{SPLIT}[split]\nenabled = \"no\"\n"),
                "expected true or false",
            ),
            (
                format!("{SPLIT}[split]\nenabeld = true\n"),
                "did you mean \"enabled\"?",
            ),
            (
                format!("{SPLIT}[unsplit]\nmode = \"marks\"\n"),
                "did you mean \"mark\"?",
            ),
            (
                format!("{SPLIT}{MARK}rate-fraction = 0.5\n"),
                "[unsplit]: rate-fraction is 0.5, expected above 0.5, at most 1",
            ),
            (
                format!("{SPLIT}{MARK}rate-fraction = \"1\"\n"),
                "rate-fraction",
            ),
            (
                format!("{SPLIT}{MARK}max-age = \"10 us\"\n"),
                "[unsplit]: max-age is 10 us, expected 100 us to",
            ),
            (
                format!("{SPLIT}{MARK}ramp-from = \"20 ms\"\n"),
                "[unsplit]: ramp-from is 20 ms, expected less than its ramp's end",
            ),
            (format!("{SPLIT}{MARK}transit = \"1\"\n"), "no unit"),
            (
                format!("{SPLIT}{MARK}max-ues = 0\n"),
                "max-ues is 0; allowed is a whole number 1 to 1000000",
            ),
            (
                format!("{SPLIT}{MARK}inside = \"gre\"\n"),
                "nothing, gtp-u, vxlan, both",
            ),
            (
                format!("{SPLIT}{MARK}unsplit-target = \"18 ms\"\n"),
                "unknown key \"unsplit-target\"",
            ),
        ] {
            let printed = message(&file);
            assert!(printed.starts_with("pep.toml"), "{printed}");
            assert!(printed.contains(stated), "{printed}\n{file}");
        }
    }

    #[test]
    fn mode_and_numbers_can_be_reloaded_and_the_rest_not() {
        let of = |text: &str| good(text);
        let now = of(&format!("{SPLIT}{MARK}"));
        for file in [
            format!("{SPLIT}[unsplit]\nmode = \"off\"\n"),
            format!("{SPLIT}{MARK}target = \"30 ms\"\nrate-fraction = 0.8\n"),
        ] {
            assert_eq!(now.needs_restart(&of(&file)), None, "{file}");
        }
        let alone = of(&format!("{ALONE}{MARK}"));
        assert_eq!(now.needs_restart(&alone), Some("[split]"));
        let absent = now.needs_restart(&of(SPLIT)).expect("a key");
        assert!(absent.starts_with("[unsplit]"), "{absent}");
        let more = now.needs_restart(&of(&format!("{SPLIT}{MARK}max-ues = 7\n")));
        assert_eq!(more, Some("max-ues"));
        let inside = now.needs_restart(&of(&format!("{SPLIT}{MARK}inside = \"gtp-u\"\n")));
        assert_eq!(inside, Some("inside"));
        let other = of(&format!("{ALONE}{MARK}").replace("ran0", "ran1"));
        assert!(alone.needs_restart(&other).is_some());
    }
}
