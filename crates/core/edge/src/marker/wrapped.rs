//! Packets in tunnels between the marker and the UE: which of the two ECN fields is judged, and which are marked (RFC 6040).
//!
//! The marker stands between a tunnel's ends. What an end makes of the two fields (section 4.2, figure 4) depends on the end: one in
//! normal mode has a mark outside pass inside, one that ignores the outer field has not. So the inner field decides, is judged and
//! is marked:
//!
//! | inside \ outside | Not-ECT | ECT(0), ECT(1) | CE |
//! | --- | --- | --- | --- |
//! | Not-ECT, CE | - | - | - |
//! | ECT(0), ECT(1) | CE inside | CE on both sides | CE inside, beside the one outside |
//!
//! An inner CE is CE behind every end, whatever is outside. Outside it stands too where the field is ECN-capable, for what
//! looks at packets on the way. An outer field that is not stays so: it is that of an ingress in compatibility mode (section 4.3).

use super::Codepoint;

/// The ECN fields of a packet in a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wrapped {
    /// That of the packet around.
    pub outer: Codepoint,
    /// That of the packet inside.
    pub inner: Codepoint,
}

impl Wrapped {
    /// By which the packet is judged.
    pub const fn judged(self) -> Codepoint {
        self.inner
    }

    /// As it goes on with a mark; none if it cannot be marked, or is marked already.
    pub const fn marked(self) -> Option<Self> {
        let outer = match (self.inner, self.outer) {
            (Codepoint::NotEct | Codepoint::Ce, _) => return None,
            (_, Codepoint::NotEct) => Codepoint::NotEct,
            _ => Codepoint::Ce,
        };
        Some(Self {
            outer,
            inner: Codepoint::Ce,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Codepoint::{Ce, Ect0, Ect1, NotEct};

    const ALL: [Codepoint; 4] = [NotEct, Ect1, Ect0, Ce];

    #[test]
    fn what_cannot_be_marked_inside_is_not() {
        for inner in [NotEct, Ce] {
            for outer in ALL {
                assert_eq!(Wrapped { outer, inner }.marked(), None);
            }
        }
    }

    #[test]
    fn a_mark_is_inside_and_where_it_can_be_outside() {
        for inner in [Ect0, Ect1] {
            for outer in ALL {
                let wrapped = Wrapped { outer, inner };
                assert_eq!(wrapped.judged(), inner);
                let marked = wrapped.marked().expect("it can be");
                let outside = if outer == NotEct { NotEct } else { Ce };
                assert_eq!((marked.inner, marked.outer), (Ce, outside));
            }
        }
    }
}
