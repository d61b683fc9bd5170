//! What is shown over time, each described once: its name, its unit, to what it belongs, how several values
//! become one, and how it is drawn.
//!
//! ```text
//!   simulator, lab: record --\                                  /--> report
//!                             >--> series of a name: Descriptor --> the dashboard's page
//!   daemons: publish --------/    (kind, unit, figure)           \--> brimful top
//! ```
//!
//! Simulator and lab record by these names, the daemons publish by them, and the report, the dashboard's page
//! (`web/src/base/metrics.ts`, printed by [`typescript()`]) and `brimful top` draw by them.
//!
//! What this crate is *not*: it has no values.
#![forbid(unsafe_code)]

mod descriptor;
mod typescript;

pub use descriptor::{Descriptor, Figure, Kind, Shown, Stroke, Unit};
pub use typescript::typescript;

use descriptor::{figure, last, lines, mean};

macro_rules! metrics {
    ($($(#[$doc:meta])* $metric:ident = $descriptor:expr,)*) => {
        /// What a series shows.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Metric {
            $($(#[$doc])* $metric,)*
        }

        impl Metric {
            /// All of them, in the order of the page.
            pub const ALL: &[Self] = &[$(Self::$metric,)*];

            /// What there is to state of it.
            pub const fn descriptor(self) -> &'static Descriptor {
                match self {
                    $(Self::$metric => const { &$descriptor },)*
                }
            }
        }
    };
}

metrics! {
    /// Payload delivered in each step, bit/s.
    Goodput = mean(
        "goodput_bps",
        Unit::BitRate,
        Kind::Flow,
        figure(
            "Goodput and capacity",
            "Goodput",
            Stroke::Rate,
            "Payload delivered to each flow's receiver; behind it, what the bottleneck could have carried.",
        ),
    ),
    /// Payload that came to the receiver in each step, the first time and in any order, bit/s.
    Received = mean(
        "received_bps",
        Unit::BitRate,
        Kind::Flow,
        figure(
            "Received and capacity",
            "Received",
            Stroke::Rate,
            "Payload that came to each flow's receiver, in any order; behind it, what the bottleneck could have carried. Goodput, as the tables have it, counts what came behind a gap once that is closed.",
        ),
    ),
    /// Mean round-trip time of each step, ms.
    Rtt = mean(
        "rtt_ms",
        Unit::Milliseconds,
        Kind::Flow,
        lines("Round-trip time", "RTT", "Mean of each step, end to end."),
    ),
    /// Mean one-way delay of each step, ms, of a flow of datagrams, which has no round trips: from the sending host to the
    /// receiving application.
    Owd = mean(
        "owd_ms",
        Unit::Milliseconds,
        Kind::Flow,
        lines(
            "One-way delay",
            "One-way delay",
            "Mean of each step of flows of datagrams, as calls are: from the sending host to the receiving application.",
        ),
    ),
    /// A path's share of what its tunnel delivers in each step, 0 to 1; for observers only.
    PathShare = last(
        "path_share",
        Unit::Share,
        Kind::Path,
        figure(
            "Shares of the paths",
            "Share",
            Stroke::Stack,
            "What part of the packets each path carries.",
        ),
    ),
    /// What a path of a tunnel delivers in each step, bit/s.
    PathRate = mean(
        "path_rate_bps",
        Unit::BitRate,
        Kind::Path,
        figure(
            "Rates of the paths",
            "Rate",
            Stroke::Stack,
            "What each path of the tunnel delivers to its end at the user, packets inside with their headers.",
        ),
    ),
    /// Congestion window of a path of a tunnel, bytes.
    PathCwnd = last(
        "path_cwnd_bytes",
        Unit::Bytes,
        Kind::Path,
        lines(
            "Windows of the paths",
            "cwnd",
            "Congestion window of each path of the tunnel, at the edge.",
        ),
    ),
    /// Payload in flight from the data's sender, bytes.
    BytesInFlight = last(
        "bytes_in_flight",
        Unit::Bytes,
        Kind::Flow,
        lines(
            "Bytes in flight",
            "In flight",
            "Payload that the data's sender has sent and that is not acknowledged yet.",
        ),
    ),
    /// Congestion window of the data's sender, bytes.
    Cwnd = last(
        "cwnd_bytes",
        Unit::Bytes,
        Kind::Flow,
        Shown::Window("congestion window"),
    ),
    /// Receive window that the data's sender sees, bytes.
    ReceiveWindow = last(
        "receive_window_bytes",
        Unit::Bytes,
        Kind::Flow,
        Shown::Window("receive window"),
    ),
    /// Window towards the UE that the allocator set, bytes.
    RanWindow = last(
        "ran_window_bytes",
        Unit::Bytes,
        Kind::Flow,
        Shown::Window("RAN window"),
    ),
    /// Bytes waiting in a queue.
    QueueBytes = last(
        "queue_bytes",
        Unit::Bytes,
        Kind::Queue,
        lines(
            "Queues",
            "Waiting",
            "Bytes waiting in each queue; queues that stayed empty are not drawn.",
        ),
    ),
    /// What the bottleneck could carry, bit/s.
    Capacity = mean("capacity_bps", Unit::BitRate, Kind::Cell, Shown::Behind),
    /// 1 while the allocator holds the flow for slow, else 0.
    IsSlow = last(
        "is_slow",
        Unit::Share,
        Kind::Flow,
        figure(
            "Flows held for slow",
            "Flow",
            Stroke::Lane,
            "A bar stands where the allocator held the flow for slow.",
        ),
    ),
    /// The share of the cell's capacity that carries data, 0 to 1; for observers only.
    Utilisation = mean(
        "utilisation",
        Unit::Share,
        Kind::Cell,
        figure(
            "Utilisation",
            "Utilisation",
            Stroke::Rate,
            "Share of the cell's resource blocks that carry data.",
        ),
    ),
    /// PRBs allocated, mean per slot.
    Prb = mean(
        "prb",
        Unit::Prb,
        Kind::Ue,
        figure(
            "Physical resource blocks",
            "PRBs per slot",
            Stroke::Rate,
            "Allocated to each UE, mean per slot.",
        ),
    ),
    /// The MCS of a UE; for observers only.
    Mcs = last(
        "mcs",
        Unit::Count,
        Kind::Ue,
        figure(
            "Modulation and coding scheme",
            "MCS",
            Stroke::Step,
            "Index of the scheme in use.",
        ),
    ),
    /// Channel quality indicator.
    Cqi = last(
        "cqi",
        Unit::Count,
        Kind::Ue,
        figure(
            "Channel quality indicator",
            "CQI",
            Stroke::Step,
            "As each UE reports it, 0 (out of range) to 15.",
        ),
    ),
    /// How long the next packet of a UE that is not split would wait in the base station, by the marker's virtual queue, ms;
    /// for observers only.
    UnsplitDelay = last(
        "unsplit_delay_ms",
        Unit::Milliseconds,
        Kind::Ue,
        lines(
            "Delay of what is not split",
            "Predicted delay",
            "What the next packet that the proxy does not split waits for in the base station, as the marker predicts it.",
        ),
    ),
    /// What the radio carries of a UE's packets that are not split, bit/s; for observers only.
    UnsplitRate = last(
        "unsplit_rate_bps",
        Unit::BitRate,
        Kind::Ue,
        figure(
            "Rate of what is not split",
            "Rate",
            Stroke::Rate,
            "What the radio carries of each UE's packets that the proxy does not split: its share beside the proxy's flows.",
        ),
    ),
    /// Packets that the queue above a modem has marked (ECN), a second; for observers only.
    Marks = mean(
        "marks_per_second",
        Unit::Count,
        Kind::Ue,
        figure(
            "Packets marked",
            "Marks per second",
            Stroke::Rate,
            "Packets that the queue above each modem has marked (ECN).",
        ),
    ),
    /// How old the last report of a modem is, ms; for observers only.
    ReportAge = last(
        "report_age_ms",
        Unit::Milliseconds,
        Kind::Ue,
        lines(
            "Age of the modem's report",
            "Age",
            "How long ago the last report of each modem that counted was made.",
        ),
    ),
    /// The bandwidth that the client measures, bit/s.
    Report = last(
        "report_bps",
        Unit::BitRate,
        Kind::Flow,
        figure(
            "Bandwidth that clients report",
            "Report",
            Stroke::Rate,
            "What each client measures and reports to its sender.",
        ),
    ),
    /// Pacing gain of a sender that the client helps.
    Gain = last(
        "pacing_gain",
        Unit::Count,
        Kind::Flow,
        figure(
            "Pacing gain",
            "Gain",
            Stroke::Step,
            "Of a sender that its client helps.",
        ),
    ),
    /// Downstream delay as that sender measures it, ms.
    SeenDelay = last(
        "seen_delay_ms",
        Unit::Milliseconds,
        Kind::Flow,
        lines(
            "Downstream delay as the sender sees it",
            "Delay",
            "What the sender makes of its client's reports.",
        ),
    ),
    /// The minimum of these that it uses, ms.
    MinDelay = last(
        "least_delay_ms",
        Unit::Milliseconds,
        Kind::Flow,
        Shown::Figure(Figure {
            title: "Least downstream delay",
            axis: "Delay",
            stroke: Stroke::Step,
            may_be_log: true,
            caption: "The least delay that the sender uses.",
        }),
    ),
    /// Losses so far that MELD classified as congestion by reports; for observers only.
    LossCongestion = last(
        "loss_congestion",
        Unit::Count,
        Kind::Flow,
        Shown::Decision("congestion"),
    ),
    /// Losses so far that it classified as the radio's; for observers only.
    LossRadio = last(
        "loss_radio",
        Unit::Count,
        Kind::Flow,
        Shown::Decision("radio"),
    ),
    /// Losses so far that it classified as congestion without a fresh report; for observers only.
    LossUnknown = last(
        "loss_unknown",
        Unit::Count,
        Kind::Flow,
        Shown::Decision("unknown"),
    ),
}

impl Metric {
    /// Name and unit, e.g. `"goodput_bps"`.
    pub const fn name(self) -> &'static str {
        self.descriptor().name
    }

    /// Its figure, if it has one of its own.
    pub const fn figure(self) -> Option<&'static Figure> {
        match &self.descriptor().shown {
            Shown::Figure(figure) => Some(figure),
            _ => None,
        }
    }
}

/// The description of the metric of this name.
pub fn find(name: &str) -> Option<&'static Descriptor> {
    let mut all = Metric::ALL.iter().map(|metric| metric.descriptor());
    all.find(|of| of.name == name)
}

/// The unit of a metric; of one without description, by the end of its name.
pub fn unit(name: &str) -> Unit {
    find(name).map_or_else(|| Unit::by_name(name), |of| of.unit)
}

/// Whether several values of a metric within a step are shown by their mean; otherwise by the last.
pub fn is_averaged(name: &str) -> bool {
    find(name).is_some_and(|of| of.is_averaged)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_there_once_and_give_their_units() {
        for (i, metric) in Metric::ALL.iter().enumerate() {
            let of = metric.descriptor();
            let others = Metric::ALL[..i].iter();
            assert!(others.map(|m| m.name()).all(|name| name != of.name));
            assert_eq!(find(of.name).map(|found| found.name), Some(of.name));
            let by_name = Unit::by_name(of.name);
            assert!(by_name == Unit::Count || by_name == of.unit, "{}", of.name);
        }
    }

    #[test]
    fn a_name_without_description_has_the_unit_that_it_ends_with() {
        assert_eq!(unit("new_bps"), Unit::BitRate);
        assert_eq!(unit("new_ms").label(), "ms");
        assert_eq!(unit("new_bytes"), Unit::Bytes);
        assert_eq!(unit("new").label(), "");
        assert!(!is_averaged("new"));
        assert_eq!(Kind::of("bulk", "new"), Kind::Flow);
    }

    #[test]
    fn what_a_series_belongs_to_is_found_by_its_metric() {
        assert_eq!(Kind::of("link", "capacity_bps"), Kind::Link);
        assert_eq!(Kind::of("cell", "capacity_bps"), Kind::Cell);
        assert_eq!(Kind::of("link", "utilisation"), Kind::Link);
        assert_eq!(Kind::of("ue1", "prb"), Kind::Ue);
        assert_eq!(Kind::of("bulk", "rtt_ms"), Kind::Flow);
    }
}
