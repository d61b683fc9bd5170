//! What becomes of packets, and why.

/// What is done to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It goes on as it is.
    Forward,
    /// It goes on with CE.
    Mark,
    /// It is dropped.
    Drop,
}

/// Why something is done to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum Verdict {
    /// Forwarded: no report has named its UE.
    NoReport,
    /// Forwarded: the last report is too old.
    Stale,
    /// Forwarded: the last report has no rate.
    NoRate,
    /// Forwarded: less than two full packets are ahead of it.
    Short,
    /// Forwarded: one of the first of its flow.
    Young,
    /// Forwarded: its flow has less than its fair share.
    Sparse,
    /// Forwarded: the law has nothing for it.
    Undue,
    /// Forwarded: a quarter of its flow's ECT(0) packets has been marked.
    Capped,
    /// Forwarded: it is marked already.
    Marked,
    /// Marked: ECT(1).
    MarkL4s,
    /// Marked: ECT(0).
    MarkClassic,
    /// Dropped: not ECN-capable.
    DropNotEct,
    /// Dropped although ECN-capable: overload.
    DropOverload,
}

impl Verdict {
    /// All, by their place in [`Counts`].
    pub const ALL: [Self; 13] = [
        Self::NoReport,
        Self::Stale,
        Self::NoRate,
        Self::Short,
        Self::Young,
        Self::Sparse,
        Self::Undue,
        Self::Capped,
        Self::Marked,
        Self::MarkL4s,
        Self::MarkClassic,
        Self::DropNotEct,
        Self::DropOverload,
    ];

    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoReport => "no_report",
            Self::Stale => "stale",
            Self::NoRate => "no_rate",
            Self::Short => "short",
            Self::Young => "young",
            Self::Sparse => "sparse",
            Self::Undue => "undue",
            Self::Capped => "capped",
            Self::Marked => "already_marked",
            Self::MarkL4s => "marked_l4s",
            Self::MarkClassic => "marked_classic",
            Self::DropNotEct => "dropped_not_ect",
            Self::DropOverload => "dropped_overload",
        }
    }

    /// What is done.
    pub const fn fate(self) -> Fate {
        match self {
            Self::MarkL4s | Self::MarkClassic => Fate::Mark,
            Self::DropNotEct | Self::DropOverload => Fate::Drop,
            _ => Fate::Forward,
        }
    }
}

/// Packets by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts([u64; Verdict::ALL.len()]);

impl Counts {
    /// So many more packets.
    pub fn add(&mut self, verdict: Verdict, packets: u64) {
        self.0[verdict as usize] += packets;
    }

    /// Of a verdict.
    pub fn of(&self, verdict: Verdict) -> u64 {
        self.0[verdict as usize]
    }

    /// Of all verdicts of a fate.
    pub fn with(&self, fate: Fate) -> u64 {
        let of_fate = Verdict::ALL.into_iter().filter(|v| v.fate() == fate);
        of_fate.map(|verdict| self.of(verdict)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_verdict_has_its_place_and_its_name() {
        let mut counts = Counts::default();
        for (place, verdict) in Verdict::ALL.into_iter().enumerate() {
            assert_eq!(verdict as usize, place);
            counts.add(verdict, 1);
        }
        let mut names = Verdict::ALL.map(Verdict::name);
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
        let [forwarded, marked, dropped] =
            [Fate::Forward, Fate::Mark, Fate::Drop].map(|fate| counts.with(fate));
        assert_eq!((forwarded, marked, dropped), (9, 2, 2));
    }
}
