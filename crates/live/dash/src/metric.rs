//! The names of what is shown: units, to what they belong, and how several values become one.

/// To what a series belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A radio cell.
    Cell,
    /// A wired bottleneck.
    Link,
    /// A UE.
    Ue,
    /// A flow of packets.
    Flow,
    /// A queue.
    Queue,
    /// A path of a tunnel.
    Path,
}

impl Kind {
    /// As messages name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cell => "cell",
            Self::Link => "link",
            Self::Ue => "ue",
            Self::Flow => "flow",
            Self::Queue => "queue",
            Self::Path => "path",
        }
    }

    /// To what a series belongs that has only its entity's name, as those of runs do.
    pub fn of(entity: &str, metric: &str) -> Self {
        match metric {
            "capacity_bps" | "utilisation" if entity == "link" => Self::Link,
            "capacity_bps" | "utilisation" => Self::Cell,
            "queue_bytes" => Self::Queue,
            "prb" | "cqi" | "mcs" => Self::Ue,
            "path_rate_bps" | "path_cwnd_bytes" | "path_share" => Self::Path,
            _ => Self::Flow,
        }
    }
}

/// The unit of a metric, by the end of its name; empty if it has none.
pub(crate) fn unit(metric: &str) -> &'static str {
    match metric {
        _ if metric.ends_with("_bps") => "bit/s",
        _ if metric.ends_with("_ms") => "ms",
        _ if metric.ends_with("_bytes") || metric == "bytes_in_flight" => "bytes",
        "prb" => "PRB",
        _ => "",
    }
}

/// Whether several values within a frame are shown by their mean; otherwise by the last.
pub(crate) fn is_averaged(metric: &str) -> bool {
    matches!(
        metric,
        "goodput_bps" | "rtt_ms" | "path_rate_bps" | "prb" | "capacity_bps" | "utilisation"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_follow_the_names() {
        assert_eq!(unit("goodput_bps"), "bit/s");
        assert_eq!(unit("seen_delay_ms"), "ms");
        assert_eq!(unit("bytes_in_flight"), "bytes");
        assert_eq!(unit("is_slow"), "");
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
