//! Which connections have a turn between two looks for events and new connections.
//!
//! ```text
//!   event, command, newcomer --> woken --+--> turn --> nothing to do: it waits to be woken
//!                                        |     |
//!                              busy -----'     | more to do
//!                               ^--------------'
//! ```
//!
//! Those that were woken come first: most have little to do. Those that have used up a turn and have more to do are the
//! bulk; one of them at least has its turn in each round, so that none starves. A round ends once it has moved
//! [`ROUND`]: what is left goes first in the next one, after events and new connections have been looked at.

use std::collections::VecDeque;

/// Bytes that a round moves, and one turn's.
pub(super) const ROUND: usize = 4 << 20;
/// A turn that moves less counts as so many bytes: it takes system calls all the same.
pub(super) const MIN_TURN: usize = 64 << 10;

/// Connections that are to be given a turn, by their keys, each once.
#[derive(Debug)]
pub(super) struct Turns<K> {
    woken: VecDeque<K>,
    busy: VecDeque<K>,
}

/// What is left of a round.
#[derive(Debug)]
pub(super) struct Round {
    woken: usize,
    busy: usize,
    bytes: usize,
    has_served_busy: bool,
}

impl<K> Turns<K> {
    pub(super) fn new() -> Self {
        Self {
            woken: VecDeque::new(),
            busy: VecDeque::new(),
        }
    }

    /// There may be something to do for it.
    pub(super) fn wake(&mut self, key: K) {
        self.woken.push_back(key);
    }

    /// It has had its turn, and there is more to do.
    pub(super) fn goes_on(&mut self, key: K) {
        self.busy.push_back(key);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.woken.is_empty() && self.busy.is_empty()
    }

    /// A round of those that are there now.
    pub(super) fn begin(&self) -> Round {
        Round {
            woken: self.woken.len(),
            busy: self.busy.len(),
            bytes: 0,
            has_served_busy: false,
        }
    }

    /// Whose turn it is; none at the end of the round.
    pub(super) fn next(&mut self, round: &mut Round) -> Option<K> {
        let has_room = round.bytes < ROUND;
        if has_room && round.woken > 0 {
            round.woken -= 1;
            return self.woken.pop_front();
        }
        if round.busy > 0 && (has_room || !round.has_served_busy) {
            round.busy -= 1;
            round.has_served_busy = true;
            return self.busy.pop_front();
        }
        None
    }
}

impl Round {
    /// A turn has moved so many bytes.
    pub(super) fn has_moved(&mut self, bytes: usize) {
        self.bytes += bytes.max(MIN_TURN);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::direction::TURN;
    use super::*;

    /// Turns of a round, in their order; each moves as many bytes as `moves` has it, and those that move a whole turn
    /// have more to do.
    fn round(turns: &mut Turns<u32>, moves: impl Fn(u32) -> usize) -> Vec<u32> {
        let (mut round, mut order) = (turns.begin(), Vec::new());
        while let Some(key) = turns.next(&mut round) {
            order.push(key);
            round.has_moved(moves(key));
            if moves(key) >= TURN {
                turns.goes_on(key);
            }
        }
        order
    }

    /// Connections below 1,000 have no end of data, others a few bytes.
    fn moves(key: u32) -> usize {
        if key < 1_000 { TURN } else { 100 }
    }

    #[test]
    fn a_newcomer_among_bulk_has_its_turn_in_the_next_round() {
        let mut turns = Turns::new();
        (0..500).for_each(|key| turns.wake(key));
        // until all of them are known to be bulk
        for _ in 0..500 {
            round(&mut turns, moves);
        }
        for newcomer in 1_000..1_100 {
            turns.wake(newcomer);
            let order = round(&mut turns, moves);
            assert_eq!(order[0], newcomer);
            let bytes: usize = order.iter().map(|key| moves(*key)).sum();
            assert!(bytes <= ROUND + TURN, "{bytes}");
        }
    }

    #[test]
    fn bulk_has_turns_in_order_however_many_are_woken() {
        let (mut turns, mut had) = (Turns::new(), Vec::new());
        (0..3).for_each(|key| turns.wake(key));
        round(&mut turns, moves);
        for n in 0..300 {
            // more in each round than one has room for
            (0..200).for_each(|k| turns.wake(1_000 + 200 * n + k));
            had.extend(round(&mut turns, moves).into_iter().filter(|k| *k < 1_000));
        }
        assert!(had.len() >= 300);
        assert!(
            had.iter()
                .enumerate()
                .all(|(n, key)| *key as usize == n % 3)
        );
    }

    #[test]
    fn a_round_has_each_once_and_what_is_left_goes_first_in_the_next() {
        let mut turns = Turns::new();
        (1_000..1_200).for_each(|key| turns.wake(key));
        let in_a_round = (ROUND / MIN_TURN) as u32;
        assert_eq!(
            round(&mut turns, moves),
            Vec::from_iter(1_000..1_000 + in_a_round)
        );
        turns.wake(7_000);
        let second = 1_000 + in_a_round..1_000 + 2 * in_a_round;
        assert_eq!(round(&mut turns, moves), Vec::from_iter(second));
        // one that has more to do at once has no second turn in the same round
        turns.goes_on(5);
        let mut all = Vec::new();
        while !turns.is_empty() && all.len() < 1_000 {
            let order = round(&mut turns, |_| 0);
            assert!(order.len() <= in_a_round as usize + 1);
            all.extend(order);
        }
        assert_eq!(all.iter().filter(|key| **key == 5).count(), 1);
        assert_eq!(all.last(), Some(&7_000));
        assert_eq!(all.len(), 200 - 2 * in_a_round as usize + 2);
    }
}
