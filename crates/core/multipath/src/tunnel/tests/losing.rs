//! What is lost on the way, or with a path.

use super::*;
use crate::packet::{DccpOption, Feature, FeatureOptionKind};

/// The first path dies: the other carries on, and it is used again once it answers.
#[test]
fn a_path_that_dies_is_left_and_used_again_when_it_answers() {
    let mut pair = Pair::opened("cpf", TunnelConfig::default(), controller("bbr"));
    pair.run(Duration::from_secs(2), 100);
    pair.up[0].is_cut = true;
    pair.down[0].is_cut = true;
    pair.run(Duration::from_millis(600), 100);
    let since = pair.delivered.len();
    pair.run(Duration::from_secs(1), 100);
    let mbps = pair.delivered_mbps(since, Duration::from_secs(1));
    assert!((40.0..=47.5).contains(&mbps), "{mbps}");
    assert!(pair.events.contains(&Event::PathDown(PathId(0))));
    pair.up[0].is_cut = false;
    pair.down[0].is_cut = false;
    pair.run(Duration::from_secs(4), 100);
    let since = pair.delivered.len();
    pair.run(Duration::from_secs(1), 100);
    let mbps = pair.delivered_mbps(since, Duration::from_secs(1));
    assert!((80.0..=94.0).contains(&mbps), "{mbps}");
}

/// Where the Confirm of the Sequence Window never arrives, acknowledgements of what was sent more than the first window of 100
/// packets ago count all the same.
#[test]
fn acknowledgements_count_before_the_sequence_window_is_confirmed() {
    let confirms_window = |option: &DccpOption| match option {
        DccpOption::Feature(option) => {
            option.kind == FeatureOptionKind::ConfirmR && option.feature == Feature::SEQUENCE_WINDOW
        }
        _ => false,
    };
    let mut pair = Pair::new("cpf", TunnelConfig::default(), controller("bbr"));
    pair.down[0].delay = Duration::from_millis(60);
    pair.open(0);
    let mut confirms = 0;
    for _ in 0..40_000 {
        for (_, transmit) in &mut pair.up[0].in_transit {
            let options = &mut transmit.packet.options.list;
            let before = options.len();
            options.retain(|option| !confirms_window(option));
            confirms += before - options.len();
        }
        pair.now += Duration::from_micros(50);
        pair.step(200);
    }
    assert!(confirms > 1, "the Change is repeated");
    let path = &pair.server.as_ref().expect("accepted").paths[0];
    assert_eq!(path.counters.invalid, Packets::ZERO);
    assert!(pair.delivered.len() > 4_000, "{}", pair.delivered.len());
}

/// The deadline covers detection and another crossing: with it nothing is missing, without it what
/// was lost is.
#[test]
fn what_is_lost_is_sent_again_with_partial_reliability() {
    for (reliability, is_whole) in [(Some(Duration::from_millis(200)), true), (None, false)] {
        let mut config = TunnelConfig {
            reliability,
            ..TunnelConfig::default()
        };
        config.reorder.rule = crate::reorder::WaitRule::Static;
        config.reorder.margin = crate::reorder::STATIC_MARGIN;
        let mut pair = Pair::opened("srtt", config, controller("bbr"));
        pair.down[0].loses = 50;
        pair.down[1].loses = 70;
        pair.run(Duration::from_secs(2), 100);
        pair.down[0].loses = 0;
        pair.down[1].loses = 0;
        pair.run(Duration::from_millis(500), 0);
        let mut numbers: Vec<_> = pair.delivered.iter().map(|data| data.number).collect();
        let in_order = numbers.is_sorted();
        numbers.sort_unstable();
        numbers.dedup();
        let count = numbers.len() as u64;
        assert_eq!(numbers.len(), pair.delivered.len(), "nothing comes twice");
        assert!(count > 10_000, "{count}");
        let server = pair.server.as_ref().expect("accepted");
        let counters = server.stats().reliability;
        if is_whole {
            assert_eq!(count, pair.next, "{counters:?}");
            assert!(in_order);
            assert!(counters.repeated >= Packets::new(150), "{counters:?}");
            assert_eq!(counters.too_late, Packets::ZERO);
        } else {
            assert!(count + 100 < pair.next);
        }
    }
}

/// What was in flight on a path that dies takes the other.
#[test]
fn a_dead_path_costs_nothing_with_partial_reliability() {
    let mut config = TunnelConfig {
        reliability: Some(Duration::from_secs(1)),
        ..TunnelConfig::default()
    };
    config.reorder.rule = crate::reorder::WaitRule::Static;
    config.reorder.margin = Duration::from_millis(800);
    let mut pair = Pair::opened("cpf", config, controller("bbr"));
    pair.run(Duration::from_secs(1), 100);
    pair.up[0].is_cut = true;
    pair.down[0].is_cut = true;
    pair.run(Duration::from_secs(2), 100);
    pair.run(Duration::from_secs(1), 0);
    let mut numbers: Vec<_> = pair.delivered.iter().map(|data| data.number).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let stats = pair.server.as_ref().expect("accepted").stats();
    assert_eq!(numbers.len() as u64, pair.next, "{stats:?}");
    assert!(stats.reliability.repeated > Packets::new(50), "{stats:?}");
}
