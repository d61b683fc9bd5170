//! Where the names of a legend stand.

use super::draw::TEXT;

/// Margin at the left.
const LEFT: u32 = 14;

/// Place of a name, in pixels from the left, and its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) x: u32,
    pub(super) row: u32,
}

/// Places of the names in rows of this width, in pixels.
pub(super) fn places(names: &[&str], width: u32) -> Vec<Place> {
    let (mut x, mut row) = (LEFT, 0);
    let place = |name: &&str| {
        // no font is at hand to measure with: letters are about 0.6 of their height
        let takes = 48 + (name.chars().count() as f64 * 0.6 * f64::from(TEXT)) as u32;
        if x > LEFT && x + takes > width {
            (x, row) = (LEFT, row + 1);
        }
        let at = Place { x, row };
        x += takes;
        at
    };
    names.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_do_not_fit_begin_another_row() {
        // ten letters take 48 + 84 = 132 pixels
        let names = ["abcdefghij"; 4];
        let found: Vec<(u32, u32)> = places(&names, 300).iter().map(|p| (p.x, p.row)).collect();
        assert_eq!(found, [(14, 0), (146, 0), (14, 1), (146, 1)]);
        assert!(places(&names, 5).iter().all(|p| p.x == 14), "each alone");
        assert!(places(&[], 5).is_empty());
    }
}
