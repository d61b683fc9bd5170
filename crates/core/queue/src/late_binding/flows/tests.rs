use super::*;
use crate::test_packet::TestPacket;
use std::collections::VecDeque;
use units::Instant;

/// One comes, for which there is room.
fn push(flows: &mut Flows<TestPacket>, flow: u64, qfi: u8) {
    let packet = TestPacket::new(1500).with_flow(flow).with_qfi(qfi);
    flows.push(Instant::ZERO, packet);
}

fn flows(quantum: u64, rule: SparseRule) -> Flows<TestPacket> {
    Flows::new(&[], Bytes::new(quantum), rule)
}

/// A slot passes; flows that have tokens are sparse.
fn next_slot(flows: &mut Flows<TestPacket>) {
    flows.next_slot(SLOT);
    flows.promote(|_| true);
}

fn order(flows: &mut Flows<TestPacket>) -> Vec<u64> {
    core::iter::from_fn(|| pop(flows)).collect()
}

/// The flow of the next packet.
fn pop(flows: &mut Flows<TestPacket>) -> Option<u64> {
    let taken = flows.pop(Bytes::MAX)?;
    flows.release(taken).map(|next| next.packet.flow)
}

#[test]
fn a_sparse_flow_goes_before_a_busy_one() {
    let mut flows = flows(1514, SparseRule::Tokens);
    (0..4).for_each(|_| push(&mut flows, 1, 0));
    assert_eq!(pop(&mut flows).unwrap(), 1);
    assert_eq!(flows.pop(Bytes::MAX).unwrap().behind, Bytes::new(3000));
    push(&mut flows, 2, 0);
    assert_eq!(order(&mut flows), [2, 1, 1]);
    assert_eq!(flows.occupancy(), Occupancy::default());
}

/// What a slot could carry in the tests below.
const SLOT: Bytes = Bytes::new(3000);

#[test]
fn a_flow_that_is_always_left_over_is_not_sparse_and_one_that_is_not_is() {
    let mut flows = flows(1514, SparseRule::Tokens);
    (0..3).for_each(|_| push(&mut flows, 1, 0));
    for slot in 0..40 {
        // the busy flow always has three packets, and one is served
        if slot % 3 == 2 {
            push(&mut flows, 2, 0);
            assert_eq!(pop(&mut flows).unwrap(), 2, "{slot}");
        } else {
            assert_eq!(pop(&mut flows).unwrap(), 1, "{slot}");
            push(&mut flows, 1, 0);
        }
        next_slot(&mut flows);
    }
}

#[test]
fn a_sparse_flow_takes_no_more_than_three_quarters() {
    let mut flows = flows(1500, SparseRule::Tokens);
    push(&mut flows, 1, 0);
    let (mut served, mut is_offered) = ([0; 3], false);
    for _ in 0..1000 {
        // one packet fits into a slot; flow 2 offers one, and flow 1 has always some left
        push(&mut flows, 1, 0);
        if !is_offered {
            push(&mut flows, 2, 0);
            is_offered = true;
        }
        let flow = pop(&mut flows).unwrap();
        served[flow as usize] += 1;
        is_offered &= flow != 2;
        next_slot(&mut flows);
    }
    assert!((245..=260).contains(&served[1]), "{served:?}");
}

#[test]
fn idle_flows_are_removed() {
    let mut flows = flows(1514, SparseRule::Tokens);
    for flow in 0..1000 {
        push(&mut flows, flow, 0);
        pop(&mut flows).unwrap();
        next_slot(&mut flows);
    }
    assert!(flows.classes[0].flows.len() <= 10, "{flows:?}");
    assert!(flows.classes[0].by_id.len() <= 9);
}

#[test]
fn classes_come_in_their_order_and_flows_by_what_waits_or_in_turn() {
    for (rule, expected) in [
        (SparseRule::Tokens, [3, 2, 2, 4, 4, 1, 1]),
        (SparseRule::Idle, [3, 2, 4, 2, 4, 1, 1]),
    ] {
        let mut flows = Flows::new(&[vec![5], vec![7, 8]], Bytes::new(1500), rule);
        for (flow, qfi) in [(1, 0), (2, 8), (3, 5), (1, 0), (2, 8), (4, 7), (4, 7)] {
            push(&mut flows, flow, qfi);
        }
        assert_eq!(order(&mut flows), expected);
    }
}

#[test]
fn busy_flows_come_in_turn() {
    let mut flows = flows(1500, SparseRule::Tokens);
    for flow in [1, 2] {
        (0..7).for_each(|_| push(&mut flows, flow, 0));
    }
    assert_eq!(order(&mut flows)[4..], [1, 2, 1, 2, 1, 2, 1, 2, 1, 2]);
}

/// One packet fits into a slot. Flow 2 offers one every second slot on average, which is its share,
/// flow 1 always has three waiting. How many slots the packets of flow 2 waited on average.
fn wait_of_an_exact_share(rule: SparseRule, seed: u64) -> f64 {
    let mut flows = flows(1514, rule);
    let mut rng = units::Streams::new(seed).stream("arrivals");
    let (mut next, mut came, mut waits) = (0, VecDeque::new(), Vec::new());
    let (mut greedy, mut above) = (0, 0);
    for slot in 0..20_000u64 {
        while next <= slot {
            above += 1;
            came.push_back(slot);
            // now and then two in a slot
            next += if rng.chance(0.125) {
                0
            } else if rng.chance(1.0 / 7.0) {
                4
            } else {
                2
            };
        }
        // no more than two quanta come down, as `LateBinding::admits_urgent` has it
        while above > 0 && (rule == SparseRule::Idle || flows.waiting(0, 2) <= Bytes::new(1528)) {
            push(&mut flows, 2, 0);
            above -= 1;
        }
        while greedy < 3 {
            push(&mut flows, 1, 0);
            greedy += 1;
        }
        match pop(&mut flows).unwrap() {
            2 => waits.push(slot - came.pop_front().unwrap()),
            _ => greedy -= 1,
        }
        flows.next_slot(Bytes::new(1500));
        flows.promote(|_| true);
    }
    waits.iter().sum::<u64>() as f64 / waits.len() as f64
}

#[test]
fn a_flow_that_sends_its_share_does_not_wait_behind_a_greedy_one() {
    for seed in 1..=5 {
        let [by_tokens, by_idleness] =
            [SparseRule::Tokens, SparseRule::Idle].map(|rule| wait_of_an_exact_share(rule, seed));
        let waits = format!("{seed}: {by_tokens} {by_idleness}");
        assert!(by_tokens < 1.0, "{waits}");
        // left over once, it is left over from then on
        assert!(by_idleness > 5.0, "{waits}");
    }
}

#[test]
fn what_is_not_admitted_is_busy_until_the_next_slot() {
    let mut flows = flows(1514, SparseRule::Tokens);
    for flow in [1, 1, 2] {
        push(&mut flows, flow, 0);
    }
    let mut checked = 0;
    let mut is_urgent = |flows: &mut Flows<TestPacket>| {
        flows.is_urgent(&mut |packet| {
            checked += 1;
            packet.flow == 1
        })
    };
    assert!(is_urgent(&mut flows));
    let first = pop(&mut flows).unwrap();
    assert_eq!(first, 1);
    assert!(is_urgent(&mut flows));
    pop(&mut flows).unwrap();
    assert!(!is_urgent(&mut flows) && !is_urgent(&mut flows));
    assert_eq!(pop(&mut flows).unwrap(), 2);
    assert!(checked <= 4, "{checked}");
}

#[test]
fn what_came_beyond_the_room_leaves_first() {
    let mut flows = flows(1514, SparseRule::Tokens);
    push(&mut flows, 1, 0);
    let node = flows.hold(Instant::ZERO, TestPacket::new(500).with_flow(1));
    assert_eq!(flows.join(node, true), Bytes::new(500));
    assert_eq!(flows.beyond(), Bytes::new(500));
    pop(&mut flows).unwrap();
    assert_eq!(flows.beyond(), Bytes::ZERO);
}

/// Three flows offer a third of each slot, which is less than their tokens, another always has some left.
/// What each is served in a thousand slots, bytes.
fn served_beside_three() -> [u64; 5] {
    let mut flows = flows(1514, SparseRule::Tokens);
    let mut served = [0; 5];
    for _ in 0..1000 {
        for flow in 1..=3 {
            if flows.waiting(0, flow) <= Bytes::new(5000) {
                flows.push(Instant::ZERO, TestPacket::new(1000).with_flow(flow));
            }
        }
        while flows.waiting(0, 4) < Bytes::new(6000) {
            flows.push(Instant::ZERO, TestPacket::new(1000).with_flow(4));
        }
        let mut budget = SLOT;
        while let Some(taken) = flows.pop(budget) {
            budget -= taken.bytes;
            served[flows.release(taken).unwrap().packet.flow as usize] += taken.bytes.get();
        }
        next_slot(&mut flows);
    }
    served
}

#[test]
fn sparse_flows_together_take_no_more_than_three_quarters_of_what_others_wait_for() {
    let served = served_beside_three();
    assert_eq!(served.iter().sum::<u64>(), 3_000_000, "{served:?}");
    // a quarter is for the others, of which there are four at the most, in turn
    assert!(served[4] >= 3_000_000 / 4 / 4, "{served:?}");
    // those that come to be served as sparse flows have no more than three quarters, and two slots that were saved
    let sparse = served[1..=3].iter().filter(|&&of| of == 1_000_000).count();
    assert!(
        sparse as u64 * 1_000_000 <= 3_000_000 / 4 * 3 + 6_000,
        "{served:?}"
    );
}
