//! The ECN field of a packet that enters and leaves the tunnel (RFC 6040).
//!
//! | inside \ arriving outside | Not-ECT | ECT(0) | ECT(1) | CE |
//! | --- | --- | --- | --- | --- |
//! | Not-ECT | Not-ECT | Not-ECT (!) | Not-ECT (!) | drop (!) |
//! | ECT(0) | ECT(0) | ECT(0) | ECT(1) | CE |
//! | ECT(1) | ECT(1) | ECT(1) (!) | ECT(1) | CE |
//! | CE | CE | CE | CE (!) | CE |
//!
//! (!): a tunnel in normal mode never makes this; a node on the way has changed the field
//! (figure 4: "potentially dangerous", counted).

//! # Paths with a scalable controller (ours)
//!
//! RFC 6040 is for tunnels that only pass congestion on. A path whose controller is scalable answers the marks of an L4S
//! queue itself: all its data is ECT(1), whatever is inside, and its marks are for it alone. Inside they would have a classic
//! sender halve its window for each of the many marks that such a queue sets, and a packet that is not ECN-capable
//! would be dropped for each. What the path cannot carry waits at the tunnel's entrance, whose queue signals the
//! senders inside. Both ends agree on it for each direction by the CCID ([`SCALABLE_CCID`]); with a peer that
//! does not know that number RFC 6040 holds, and a path that is told of no marks is governed by losses.

use units::Ecn;

/// CCID of a sender whose outer field is its own (RFC 4340 10: 248 to 254 are for experiments).
pub const SCALABLE_CCID: u8 = 249;

/// The outer field of a packet that enters (4.1, normal mode): a copy. Marks set inside the tunnel
/// can then be distinguished from drops only where the packet inside is ECN-capable.
pub const fn encapsulated(inner: Ecn) -> Ecn {
    inner
}

/// What leaves the tunnel (4.2, figure 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decapsulated {
    /// The inner field as it shall be; none: the packet is dropped, for it signals congestion and
    /// the packet inside cannot.
    pub ecn: Option<Ecn>,
    /// No tunnel in normal mode makes this combination.
    pub is_suspicious: bool,
}

/// The inner field of a packet that leaves, from it and the outer field as it arrived.
pub const fn decapsulated(inner: Ecn, outer: Ecn) -> Decapsulated {
    let (ecn, is_suspicious) = match (inner, outer) {
        (Ecn::NotEct, Ecn::Ce) => (None, true),
        (Ecn::NotEct, Ecn::NotEct) => (Some(Ecn::NotEct), false),
        (Ecn::NotEct, Ecn::Ect0 | Ecn::Ect1) => (Some(Ecn::NotEct), true),
        (Ecn::Ect0 | Ecn::Ect1, Ecn::Ce) => (Some(Ecn::Ce), false),
        (Ecn::Ect0, Ecn::Ect1) => (Some(Ecn::Ect1), false),
        (Ecn::Ect0, Ecn::NotEct | Ecn::Ect0) => (Some(Ecn::Ect0), false),
        (Ecn::Ect1, Ecn::Ect0) => (Some(Ecn::Ect1), true),
        (Ecn::Ect1, Ecn::NotEct | Ecn::Ect1) => (Some(Ecn::Ect1), false),
        (Ecn::Ce, Ecn::Ect1) => (Some(Ecn::Ce), true),
        (Ecn::Ce, Ecn::NotEct | Ecn::Ect0 | Ecn::Ce) => (Some(Ecn::Ce), false),
    };
    Decapsulated { ecn, is_suspicious }
}

/// The outer field of a packet that enters a path with a scalable controller: its own.
pub const SCALABLE: Ecn = Ecn::Ect1;

/// True of an outer field that such a path did not send and no queue set.
pub const fn is_changed_scalable(outer: Ecn) -> bool {
    matches!(outer, Ecn::NotEct | Ecn::Ect0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Ecn::{Ce, Ect0, Ect1, NotEct};

    /// RFC 6040 figure 4, row by row; `!` for the combinations it marks.
    #[test]
    fn rfc_6040_figure_4() {
        let outer = [NotEct, Ect0, Ect1, Ce];
        let table = [
            (
                NotEct,
                [Some(NotEct), Some(NotEct), Some(NotEct), None],
                " !!!",
            ),
            (Ect0, [Some(Ect0), Some(Ect0), Some(Ect1), Some(Ce)], "    "),
            (Ect1, [Some(Ect1), Some(Ect1), Some(Ect1), Some(Ce)], " !  "),
            (Ce, [Some(Ce); 4], "  ! "),
        ];
        for (inner, row, marks) in table {
            for ((outer, ecn), mark) in outer.into_iter().zip(row).zip(marks.chars()) {
                let expected = Decapsulated {
                    ecn,
                    is_suspicious: mark == '!',
                };
                assert_eq!(decapsulated(inner, outer), expected, "{inner:?} {outer:?}");
            }
        }
    }

    /// RFC 6040 figure 3, normal mode; an unchanged outer field leaves the inner field as it was.
    #[test]
    fn rfc_6040_figure_3() {
        for inner in [NotEct, Ect0, Ect1, Ce] {
            assert_eq!(encapsulated(inner), inner);
            let out = decapsulated(inner, encapsulated(inner));
            assert_eq!((out.ecn, out.is_suspicious), (Some(inner), false));
        }
    }
}
