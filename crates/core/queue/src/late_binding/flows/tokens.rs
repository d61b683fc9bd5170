//! How little a flow must send to pass for sparse: a token bucket.
//!
//! A token is a byte. A flow has at most two quanta of them; every slot brings three quarters of a
//! quantum, or of what the slot could carry if that is less. So no flow that passes for sparse takes more
//! than three quarters of the link in the long run; nor do all of them together while others wait, for which
//! there is a bucket of the class ([`Together`]).

use units::Bytes;

/// Tokens that every flow has been given since the beginning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mint {
    total: i64,
    quantum: i64,
}

impl Mint {
    pub(super) fn new(quantum: Bytes) -> Self {
        Self {
            total: 0,
            quantum: counted(quantum),
        }
    }
    /// A slot has been filled that could carry so much.
    pub(super) fn next_slot(&mut self, capacity: Bytes) {
        self.total += self.quantum.min(counted(capacity)) * 3 / 4;
    }
    /// One quantum.
    #[inline]
    pub(super) fn quantum(self) -> i64 {
        self.quantum
    }
    /// The limit of a flow's tokens.
    #[inline]
    pub(super) fn limit(self) -> i64 {
        2 * self.quantum
    }
}

/// The tokens of a flow: what the mint had given when the flow had none of it left, or will have given when
/// it has paid its debts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tokens {
    none_at: i64,
}

impl Tokens {
    /// All that a flow can have.
    pub(super) fn full(mint: Mint) -> Self {
        Self {
            none_at: mint.total - mint.limit(),
        }
    }
    /// How many there are now.
    #[inline]
    pub(super) fn count(self, mint: Mint) -> i64 {
        (mint.total - self.none_at).min(mint.limit())
    }
    /// So much is sent; debts are limited to what can be had.
    #[inline]
    pub(super) fn take(&mut self, mint: Mint, bytes: Bytes) {
        let left = (self.count(mint) - counted(bytes)).max(-mint.limit());
        self.none_at = mint.total - left;
    }
    /// Whether a flow that does not send any more is as one that never did.
    pub(super) fn is_full(self, mint: Mint) -> bool {
        self.count(mint) == mint.limit()
    }
}

/// What all sparse flows of a class may send together, while others wait: three quarters of what slots carry, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Together {
    left: i64,
}

impl Together {
    /// Without bound until the first slot has shown what slots carry.
    pub(super) fn unbounded() -> Self {
        Self { left: i64::MAX / 2 }
    }
    /// A slot has been filled that could carry so much. No more than two such slots, or two quanta, are saved, or owed.
    pub(super) fn next_slot(&mut self, mint: Mint, capacity: Bytes) {
        let given = counted(capacity) / 4 * 3;
        let most = mint.limit().max(2 * given);
        self.left = (self.left + given).clamp(-most, most);
    }
    #[inline]
    pub(super) fn take(&mut self, bytes: Bytes) {
        self.left -= counted(bytes);
    }
    #[inline]
    pub(super) fn is_spent(self) -> bool {
        self.left <= 0
    }
}

/// Bytes as tokens.
#[inline]
pub(super) fn counted(bytes: Bytes) -> i64 {
    i64::try_from(bytes.get()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_quarters_of_the_lesser_of_quantum_and_slot() {
        let mut mint = Mint::new(Bytes::new(1000));
        let mut tokens = Tokens::full(mint);
        tokens.take(mint, Bytes::new(2000));
        assert_eq!(tokens.count(mint), 0);
        mint.next_slot(Bytes::new(400));
        assert_eq!(tokens.count(mint), 300);
        mint.next_slot(Bytes::new(40_000));
        assert_eq!(tokens.count(mint), 1050);
        (0..9).for_each(|_| mint.next_slot(Bytes::new(1000)));
        assert!(tokens.is_full(mint));
        (0..9).for_each(|_| tokens.take(mint, Bytes::new(1500)));
        assert_eq!(tokens.count(mint), -2000);
    }
}
