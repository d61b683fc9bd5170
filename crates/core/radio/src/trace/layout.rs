//! Tables and logs that are read by a name, since what their columns hold is documented by those who made them.

use super::import::{Mapping, RateUnit, Separator, TimeUnit, ValueColumns, import};
use super::{Trace, TraceError, iperf};
use core::str::FromStr;

/// A table or log whose columns are documented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// What iperf3 prints; so the logs of *A First Large-Scale Study of Operational 5G Standalone Networks* (CoNEXT 2025)
    /// are kept, with an interval of 0.1 s.
    Iperf3,
    /// The first of two operators in the fused traces of *Exploring the 5G Digital Divide in the Non-Contiguous US*
    /// (SIGMETRICS 2026): `A_time` (ISO 8601), `A_throughput_mbps` (Mbit/s).
    FusedA,
    /// The second one: `B_time`, `B_throughput_mbps`.
    FusedB,
}

const LAYOUTS: [(&str, Layout); 3] = [
    ("iperf3", Layout::Iperf3),
    ("fused-trace-a", Layout::FusedA),
    ("fused-trace-b", Layout::FusedB),
];

/// A word that is no layout.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown layout {0:?}: known are iperf3, fused-trace-a, fused-trace-b")]
pub struct UnknownLayout(String);

impl FromStr for Layout {
    type Err = UnknownLayout;

    /// `iperf3`, `fused-trace-a` or `fused-trace-b`.
    fn from_str(text: &str) -> Result<Self, UnknownLayout> {
        let found = LAYOUTS.iter().find(|(name, _)| *name == text);
        found
            .map(|(_, layout)| *layout)
            .ok_or_else(|| UnknownLayout(text.to_owned()))
    }
}

/// Reads a table or log of a layout; of a table only rows with certain values ([`Mapping::only`]).
///
/// # Errors
/// See [`TraceError`].
pub fn import_as(
    name: &str,
    bytes: &[u8],
    layout: Layout,
    only: Vec<(String, String)>,
) -> Result<Trace, TraceError> {
    let prefix = match layout {
        Layout::Iperf3 => return iperf::import(name, bytes),
        Layout::FusedA => "A",
        Layout::FusedB => "B",
    };
    let mapping = Mapping {
        separator: Separator::Comma,
        time: Some((format!("{prefix}_time"), TimeUnit::Date)),
        value: ValueColumns::Rate {
            column: format!("{prefix}_throughput_mbps"),
            unit: RateUnit::MEGABIT,
        },
        only,
    };
    import(name, bytes, &mapping)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Content;

    #[test]
    fn each_operator_of_a_fused_trace_is_read_by_its_columns() {
        let table = "\
A,A_run,A_time,A_actual_tech,A_throughput_mbps,B,B_run,B_time,B_actual_tech,B_throughput_mbps
starlink,20240621_101010,2024-06-21 10:10:10.5-08:00,,120.5,att,20240621_101010,2024-06-21T10:10:10.6-08:00,LTE,20.25
starlink,20240621_101010,2024-06-21 10:10:11-08:00,,80,att,20240621_101010,2024-06-21T10:10:11.6-08:00,5G-low,0
";
        for (layout, first) in [
            ("fused-trace-a", 120_500_000),
            ("fused-trace-b", 20_250_000),
        ] {
            let layout = layout.parse().expect("a layout");
            let trace = import_as("t", table.as_bytes(), layout, Vec::new()).expect("a trace");
            let Content::Rate(rates) = &trace.content else {
                panic!("{trace:?}");
            };
            assert_eq!(rates.steps()[0].rate.as_bps(), first);
            assert_eq!(rates.steps().len(), 2);
        }
        let only = vec![("A_run".to_owned(), "other".to_owned())];
        assert!(import_as("t", table.as_bytes(), Layout::FusedA, only).is_err());
        let error = "lens".parse::<Layout>().expect_err("none").to_string();
        assert!(error.contains("iperf3, fused-trace-a"), "{error}");
    }
}
