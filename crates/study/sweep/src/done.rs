//! Which points are done: a bit each.

/// A set of points.
#[derive(Clone, Debug)]
pub(crate) struct Done {
    bits: Vec<u64>,
    /// How many points there are in all.
    points: u64,
    count: u64,
}

impl Done {
    /// None of so many.
    pub(crate) fn none(points: u64) -> Self {
        Self {
            bits: vec![0; points.div_ceil(64) as usize],
            points,
            count: 0,
        }
    }

    /// How many.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    pub(crate) fn has(&self, point: u64) -> bool {
        let word = self.bits.get((point / 64) as usize);
        word.is_some_and(|word| word >> (point % 64) & 1 == 1)
    }

    /// Adds a point; false if it was there, or does not exist.
    pub(crate) fn add(&mut self, point: u64) -> bool {
        if point >= self.points || self.has(point) {
            return false;
        }
        self.bits[(point / 64) as usize] |= 1 << (point % 64);
        self.count += 1;
        true
    }

    /// Takes a point out.
    pub(crate) fn remove(&mut self, point: u64) {
        if self.has(point) {
            self.bits[(point / 64) as usize] &= !(1 << (point % 64));
            self.count -= 1;
        }
    }

    /// The first point from `from` on that is not in it.
    pub(crate) fn next_missing(&self, from: u64) -> Option<u64> {
        let mut point = from;
        while point < self.points {
            let rest = !self.bits[(point / 64) as usize] >> (point % 64);
            if rest != 0 {
                let found = point + u64::from(rest.trailing_zeros());
                return (found < self.points).then_some(found);
            }
            point = (point / 64 + 1) * 64;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_found_across_words() {
        let mut done = Done::none(200);
        for point in (0..200).filter(|p| ![3, 64, 130, 199].contains(p)) {
            assert!(done.add(point) && !done.add(point));
        }
        let missing = |from| done.next_missing(from);
        assert_eq!(
            (missing(0), missing(4), missing(65)),
            (Some(3), Some(64), Some(130))
        );
        assert_eq!(
            (missing(131), missing(200), done.count()),
            (Some(199), None, 196)
        );
        done.remove(10);
        assert_eq!((done.next_missing(4), done.count()), (Some(10), 195));
        assert!(!done.add(200) && !done.has(200));
    }
}
