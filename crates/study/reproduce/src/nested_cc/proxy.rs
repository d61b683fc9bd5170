//! Figure 2: UDP and TCP, with the proxy near and far.

use super::combination::Combination;
use super::place::{JITTER, Place};
use super::{nested, relative};
use crate::claim::{Cell, Claim};
use crate::experiment::Experiment;
use crate::figure::{Axis, Figure, Panel, Shape};
use crate::measure::goodput;
use crate::ran::Results;
use crate::section::{Extent, Part, Section};
use scenario::Estimate;

/// Figure 2.
pub(super) const SECTION: Section = Section {
    id: "fig2",
    title: "The proxy near and far (figure 2)",
    experiments: |extent| {
        let mut all = Vec::new();
        for place in places(extent) {
            all.extend([
                udp(&place),
                udp_alone(&place),
                tcp(&place),
                place.alone("bbr"),
            ]);
        }
        all
    },
    report,
};

/// The flow of `scenarios/nested-cc/udp.toml`.
const STREAM: &str = "stream";
/// The paper states neither RTT nor controllers of the figure: assumed is SHORT, BBR over BBR.
const NESTED: Combination = Combination::new("bbr", "bbr");

fn places(extent: &Extent) -> [Place; 2] {
    [("NEAR", 0.2), ("DIST", 0.8)].map(|(name, share)| {
        let place = Place::at(name, 40.0);
        Place {
            share,
            file: if extent.quick { "100 MB" } else { place.file },
            ..place
        }
    })
}

fn tcp(place: &Place) -> Experiment {
    nested(NESTED, "cpf", place)
}

/// 90 Mbit/s of UDP, which neither answers losses nor ends: the same time carries the less, the longer a
/// download would take.
fn udp(place: &Place) -> Experiment {
    Experiment::of("nested-cc/udp")
        .set("rtt", format!("{:.3} ms", place.rtt))
        .set("tunnel-cc", NESTED.tunnel)
        .set("tunnel-share", format!("{:.4}", place.share))
        .set("jitter", JITTER)
        .set("sample-interval", "1 s")
}

fn udp_alone(place: &Place) -> Experiment {
    udp(place).set("tunnel", "off")
}

fn report(extent: &Extent, results: &Results) -> Part {
    let places = places(extent);
    let of_udp = |place: &Place| {
        let ratio = results.ratio(&udp_alone(place), &udp(place), goodput(STREAM));
        super::percent(ratio)
    };
    let of_tcp = |place: &Place| relative(results, &tcp(place), NESTED.server, place);
    let udp: Vec<Estimate> = places.iter().map(of_udp).collect();
    let tcp: Vec<Estimate> = places.iter().map(of_tcp).collect();
    let claim = |what: &str, paper, value: &Cell, verdict| {
        Claim::new("figure 2", format!("{what}: download time, %"), paper)
            .measured(std::slice::from_ref(value), verdict)
            .if_not("see below")
    };
    let [udp_near, udp_far, tcp_near, tcp_far] = [udp[0], udp[1], tcp[0], tcp[1]].map(Cell::One);
    let claims = vec![
        claim("UDP, NEAR", "about 50", &udp_near, udp_near.at_most(60.0))
            .note("taken as at most 60"),
        claim("UDP, DIST", "about 50", &udp_far, udp_far.at_most(60.0)).note("taken as at most 60"),
        claim("TCP, NEAR", "about 50", &tcp_near, tcp_near.at_most(70.0))
            .note("taken as at most 70"),
        claim("TCP, DIST", "about 100", &tcp_far, tcp_far.at_least(85.0))
            .note("taken as at least 85"),
    ];
    let figure = Figure {
        name: "fig2",
        title: "Download time with the proxy near and far, CPF".to_owned(),
        columns: 1,
        panels: vec![Panel {
            title: "UDP, and BBR over BBR".to_owned(),
            x: Axis::linear("proxy"),
            y: Axis::linear("download time (% of one path)"),
            shape: Shape::Groups {
                conditions: places.iter().map(|p| p.name.clone()).collect(),
                series: vec![("UDP".to_owned(), udp), ("TCP".to_owned(), tcp)],
            },
        }],
    };
    Part {
        claims,
        figures: vec![figure],
        ..Part::default()
    }
}
