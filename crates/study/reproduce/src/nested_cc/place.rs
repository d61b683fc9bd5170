//! The fifteen scenarios of figure 10, and any other place of the proxy.
//!
//! Table 2 has the names; the figure's bars are an image. Its text states that there are fifteen, that
//! SHORT and LONG are the RTT of most, and that each stands beside its opposite. Assumed here: both
//! RTTs alone, with the proxy NEAR and DIST, with buffers of 250 and 1000 packets, and with CoDel; and
//! the three asymmetries at the default RTT.

use crate::experiment::Experiment;

/// Download of 300 MB (section 4.3).
pub(super) const FILE: &str = "300 MB";
/// What distinguishes repeats: up to so much more delay of each packet on a path, less than a full packet takes at
/// 50 Mbit/s (0.24 ms). Assumed: the paper's repeats differ by the scheduling of its hosts, of which it has no number.
pub(super) const JITTER: &str = "200 us";
/// Without it: one run, as of contours and of paths over time.
pub(super) const NO_JITTER: &str = "0 s";
/// The flow of `scenarios/nested-cc/default.toml`.
pub(super) const FLOW: &str = "download";
/// Round-trip times of SHORT and LONG, ms (table 2).
const RTTS: [(&str, f64); 2] = [("SHORT", 40.0), ("LONG", 80.0)];
/// Buffers of figure 10, packets.
pub(super) const BUFFERS: [u32; 3] = [250, 500, 1000];

/// Where the proxy stands, and what the paths are like.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Place {
    /// As the paper calls it.
    pub(super) name: String,
    /// End to end, ms.
    pub(super) rtt: f64,
    /// The first path's part of it, 0 to 1.
    pub(super) share: f64,
    /// What the second path has more, ms.
    pub(super) asymmetry: f64,
    /// Of each bottleneck, packets.
    pub(super) buffer: u32,
    pub(super) has_codel: bool,
    /// What is downloaded.
    pub(super) file: &'static str,
    /// By how much packets are delayed as the seed draws it.
    pub(super) jitter: &'static str,
    /// Step of time series: thousands of runs are kept until the end.
    pub(super) sample: &'static str,
}

impl Place {
    /// Table 1, with this RTT in ms.
    pub(super) fn at(name: &str, rtt: f64) -> Self {
        Self {
            name: name.to_owned(),
            rtt,
            share: 0.5,
            asymmetry: 20.0,
            buffer: 500,
            has_codel: false,
            file: FILE,
            jitter: JITTER,
            sample: "1 s",
        }
    }

    /// Without the tunnel: the first path alone, of which only this matters.
    pub(super) fn alone(&self, server: &'static str) -> Experiment {
        self.path().set("tunnel", "off").set("server-cc", server)
    }

    /// With the tunnel.
    pub(super) fn tunnel(&self) -> Experiment {
        self.path()
            .set("tunnel-share", format!("{:.4}", self.share))
            .set("asymmetry", format!("{:.3} ms", self.asymmetry))
    }

    fn path(&self) -> Experiment {
        Experiment::of("nested-cc/default")
            .set("rtt", format!("{:.3} ms", self.rtt))
            .set("buffer", format!("{} packets", self.buffer))
            .set("codel", if self.has_codel { "on" } else { "off" })
            .set("file", self.file)
            .set("jitter", self.jitter)
            .set("sample-interval", self.sample)
    }
}

/// The fifteen.
pub(super) fn all() -> Vec<Place> {
    let mut all = Vec::new();
    for (name, rtt) in RTTS {
        let of = |what: &str| Place::at(format!("{name} {what}").trim(), rtt);
        all.push(of(""));
        all.push(Place {
            share: 0.2,
            ..of("NEAR")
        });
        all.push(Place {
            share: 0.8,
            ..of("DIST")
        });
        for buffer in [250, 1000] {
            all.push(Place {
                buffer,
                ..of(&format!("BUF{buffer}"))
            });
        }
        all.push(Place {
            has_codel: true,
            ..of("CDL1")
        });
    }
    for asymmetry in [0.0, 40.0, 200.0] {
        all.push(Place {
            asymmetry,
            ..Place::at(&format!("ASYM{asymmetry:.0}"), 40.0)
        });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifteen_scenarios_with_names_of_their_own() {
        let all = all();
        assert_eq!(all.len(), 15);
        for (i, place) in all.iter().enumerate() {
            assert!(all[..i].iter().all(|other| other.name != place.name));
            assert!(
                all[..i]
                    .iter()
                    .all(|other| other.tunnel() != place.tunnel())
            );
        }
        assert_eq!(all[0].name, "SHORT");
        assert_eq!(all[14].name, "ASYM200");
    }

    #[test]
    fn table_2_near_and_dist() {
        let near = all().into_iter().find(|p| p.name == "LONG NEAR");
        let near = near.expect("there");
        // 80, 16, 36
        assert_eq!((near.rtt, near.rtt * near.share), (80.0, 16.0));
    }
}
