//! Vectors, and a model of handovers: each SDU is delivered once and in order.

use super::*;
use crate::TargetBuffer;
use proptest::prelude::*;

#[test]
fn what_lies_behind_a_missing_sdu_waits_for_it() {
    let (mut it, mut out) = (Reordering::default(), Vec::new());
    it.add(0, |p| out.push(p));
    let missing = it.add_missing();
    it.add(2, |p| out.push(p));
    assert_eq!((out.as_slice(), it.waiting()), ([0].as_slice(), 1));
    assert!(it.fill(missing, 1, |p| out.push(p)));
    it.add(3, |p| out.push(p));
    assert_eq!(out, [0, 1, 2, 3]);
}

#[test]
fn a_duplicate_is_discarded_and_a_lost_sdu_is_passed_over() {
    let (mut it, mut out) = (Reordering::default(), Vec::new());
    let (first, second) = (it.add_missing(), it.add_missing());
    it.add(2, |p| out.push(p));
    assert!(it.fill(second, 1, |p| out.push(p)));
    assert!(!it.fill(second, 1, |p| out.push(p)), "a second one");
    it.skip(first, |p| out.push(p));
    assert_eq!(out, [1, 2]);
    assert!(!it.fill(first, 0, |p| out.push(p)), "too late");
    assert!(!it.is_missing(first));
}

/// A cell's side of a bearer: what it has sent and the receiver has or has not, and what waits.
#[derive(Debug, Default)]
struct Cell {
    /// With whether the receiver has it; those before the first that it has not are delivered.
    sent: VecDeque<(Sdu, bool)>,
    waiting: VecDeque<Sdu>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Sdu {
    number: u32,
    count: Option<Count>,
}

struct Model {
    cell: Cell,
    target: TargetBuffer<Sdu>,
    receiver: Reordering<u32>,
    out: Vec<u32>,
    lost: Vec<u32>,
    next: u32,
}

impl Model {
    fn new() -> Self {
        Self {
            cell: Cell::default(),
            target: TargetBuffer::default(),
            receiver: Reordering::default(),
            out: Vec::new(),
            lost: Vec::new(),
            next: 0,
        }
    }

    fn new_sdu(&mut self) -> Sdu {
        self.next += 1;
        Sdu {
            number: self.next - 1,
            count: None,
        }
    }

    /// The cell sends up to `n` SDUs, of which the receiver gets those in the mask; then RLC delivers what is in order.
    fn serve(&mut self, n: usize, mask: u16) {
        for bit in 0..n {
            let Some(sdu) = self.cell.waiting.pop_front() else {
                break;
            };
            self.cell.sent.push_back((sdu, mask >> bit & 1 == 1));
        }
        while let Some((sdu, _)) = self.cell.sent.pop_front_if(|(_, has)| *has) {
            let out = &mut self.out;
            match sdu.count {
                Some(count) => assert!(self.receiver.fill(count, sdu.number, |n| out.push(n))),
                None => self.receiver.add(sdu.number, |n| out.push(n)),
            }
        }
    }

    /// The UE leaves; what it has not got is forwarded or lost. `during` come while the source forwards, `after` by the new path.
    fn hand_over(&mut self, is_forwarding: bool, during: u32, after: u32) {
        let left = core::mem::take(&mut self.cell);
        let mut forwarded = Vec::new();
        for (sdu, has) in left.sent {
            let out = &mut self.out;
            let receiver = &mut self.receiver;
            match (has, sdu.count) {
                (true, Some(count)) => {
                    receiver.fill(count, sdu.number, |n| out.push(n));
                }
                (true, None) => receiver.add(sdu.number, |n| out.push(n)),
                (false, count) if is_forwarding => {
                    let count = Some(count.unwrap_or_else(|| receiver.add_missing()));
                    forwarded.push(Sdu { count, ..sdu });
                }
                (false, count) => {
                    self.lost.push(sdu.number);
                    if let Some(count) = count {
                        receiver.skip(count, |n| out.push(n));
                    }
                }
            }
        }
        let come: Vec<Sdu> = (0..during).map(|_| self.new_sdu()).collect();
        for sdu in left.waiting.into_iter().chain(come) {
            if is_forwarding {
                forwarded.push(sdu);
            } else {
                self.lost.push(sdu.number);
                if let Some(count) = sdu.count {
                    let out = &mut self.out;
                    self.receiver.skip(count, |n| out.push(n));
                }
            }
        }
        self.target = TargetBuffer::default();
        for _ in 0..after {
            let sdu = self.new_sdu();
            self.target.on_fresh(sdu);
        }
        self.target.on_access();
        for sdu in forwarded {
            self.target.on_forwarded(sdu);
        }
        self.target.on_end_marker();
        while let Some(sdu) = self.target.poll() {
            self.cell.waiting.push_back(sdu);
        }
    }

    fn finish(&mut self) {
        while !self.cell.waiting.is_empty() || !self.cell.sent.is_empty() {
            for (_, has) in &mut self.cell.sent {
                *has = true;
            }
            self.serve(16, u16::MAX);
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Arrive(u32),
    Serve(usize, u16),
    HandOver(u32, u32),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        (1u32..20).prop_map(Op::Arrive),
        (1usize..16, any::<u16>()).prop_map(|(n, mask)| Op::Serve(n, mask)),
        (0u32..5, 0u32..5).prop_map(|(during, after)| Op::HandOver(during, after)),
    ];
    prop::collection::vec(op, 1..40)
}

fn run(ops: &[Op], is_forwarding: bool) -> Model {
    let mut model = Model::new();
    for op in ops {
        match *op {
            Op::Arrive(n) => {
                for _ in 0..n {
                    let sdu = model.new_sdu();
                    model.cell.waiting.push_back(sdu);
                }
            }
            Op::Serve(n, mask) => model.serve(n, mask),
            Op::HandOver(during, after) => model.hand_over(is_forwarding, during, after),
        }
    }
    model.finish();
    model
}

proptest! {
    #[test]
    fn with_forwarding_each_sdu_is_delivered_once_and_in_order(ops in ops()) {
        let model = run(&ops, true);
        let all: Vec<u32> = (0..model.next).collect();
        prop_assert_eq!(&model.out, &all);
        prop_assert!(model.lost.is_empty());
        prop_assert_eq!(model.receiver.waiting(), 0);
    }

    #[test]
    fn without_forwarding_what_the_source_had_is_lost_and_nothing_else(ops in ops()) {
        let model = run(&ops, false);
        prop_assert!(model.out.is_sorted());
        let mut all = [model.out, model.lost].concat();
        all.sort_unstable();
        prop_assert_eq!(all, (0..model.next).collect::<Vec<u32>>());
    }
}
