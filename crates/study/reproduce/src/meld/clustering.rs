//! The same loss in fewer and longer fades: what decides how much there is to gain.

use super::{CONTROLS, VARIANTS, download, gain, named, ping, saturated, unless_quick};
use crate::claim::with_interval;
use crate::experiment::Experiment;
use crate::markdown;
use crate::measure::goodput;
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::Estimate;

pub(super) const SECTION: Section = Section {
    id: "clustering",
    title: "The same loss in longer fades",
    experiments: |extent| {
        unless_quick(extent, || {
            let of = |fade: &Fade| {
                let mut all = [ping::ping(), loaded(), saturated()]
                    .map(|at| fade.set(at))
                    .to_vec();
                for control in CONTROLS {
                    all.extend(VARIANTS.map(|variant| fade.download(control, variant)));
                }
                all
            };
            FADES.iter().flat_map(of).collect()
        })
    },
    report,
};

/// How long the interferer stays on average, and how long it is away.
#[derive(Debug)]
struct Fade {
    on: &'static str,
    /// By which the ping loses as much as in the paper, to a tenth of it.
    off: &'static str,
    /// Period of the CSI: until the base station has a report of a fade, blocks are too large.
    csi: &'static str,
}

const fn fade(on: &'static str, off: &'static str, csi: &'static str) -> Fade {
    Fade { on, off, csi }
}

const FADES: [Fade; 7] = [
    fade("4 ms", "9.6 ms", "8 ms"),
    fade("7 ms", "25.5 ms", "8 ms"),
    fade("15 ms", "155 ms", "8 ms"),
    fade("30 ms", "383 ms", "8 ms"),
    fade("100 ms", "710 ms", "8 ms"),
    fade("100 ms", "881 ms", "12 ms"),
    fade("100 ms", "1550 ms", "20 ms"),
];

impl Fade {
    fn set(&self, experiment: Experiment) -> Experiment {
        experiment
            .set("ue.phone.channel.interferer.mean-on", self.on)
            .set("ue.phone.channel.interferer.mean-off", self.off)
            .set("ue.phone.channel.cqi-period", self.csi)
    }

    fn download(&self, control: &str, variant: &str) -> Experiment {
        self.set(download("quic", control, variant))
    }
}

/// UDP at most of the link's rate, without a queue that could overflow.
fn loaded() -> Experiment {
    ping::ping().set("flow.ping.app.rate", "10 Mbit/s")
}

fn report(extent: &Extent, results: &Results) -> Part {
    if extent.quick {
        return Part::default();
    }
    let rows = FADES.iter().map(|fade| {
        let link = results.mean(&fade.set(saturated()), goodput("ping")).mean;
        let burst = results.mean(&fade.set(loaded()), ping::burst);
        let mut row = vec![
            format!("{}, {} apart", fade.on, fade.off),
            fade.csi.to_owned(),
            with_interval(results.mean(&fade.set(ping::ping()), ping::lost)),
            with_interval(burst),
            format!("{link:.1}"),
        ];
        for control in CONTROLS {
            let [off, de, me, default] = VARIANTS.map(|variant| fade.download(control, variant));
            let Estimate { mean, ci95 } = results.mean(&off, goodput("download"));
            row.push(with_interval(Estimate {
                mean: 100.0 * mean / link,
                ci95: 100.0 * ci95 / link,
            }));
            for with in [de, me, default] {
                row.push(with_interval(gain(
                    results,
                    [&with, &off],
                    goodput("download"),
                )));
            }
        }
        row
    });
    let of = |control: &str| {
        let name = named(control);
        let plain = format!("{name} alone, % of the link");
        [
            plain,
            format!("{name}, DE"),
            format!("{name}, ME"),
            format!("{name}, `default`"),
        ]
    };
    let mut heads = [
        "fades",
        "CSI every",
        "ping lost %",
        "packets of a burst",
        "link Mbit/s",
    ]
    .map(str::to_owned)
    .to_vec();
    heads.extend(CONTROLS.into_iter().flat_map(of));
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    Part {
        text: format!(
            "The interferer stays longer and comes less often, so that the ping loses as much; until the next CSI the \
             blocks sent in a fade are too large. A burst is of packets lost in a row of UDP of 10 Mbit/s. Over QUIC; of each controller what it takes alone, and by how \
             much its goodput grows with each variant.\n\n{}",
            markdown::table(&heads, rows)
        ),
        ..Part::default()
    }
}
