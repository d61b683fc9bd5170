//! The window that segments show to servers (`bpf/wire.bpf.c`): its program. The model of it (`bpf/wire_model.h`) is
//! `edge::wire::field`, to the bit: the same segments, the same windows.

/// The compiled program, for [`crate::Loaded`].
pub const PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/wire.bpf.o"));

/// Its section: it runs for what leaves an interface (tcx).
pub const SECTION: &str = "tcx/egress";

#[cfg(test)]
mod model;
#[cfg(test)]
mod packets;

#[cfg(test)]
mod tests {
    use edge::wire::{Order, field};
    use testing::Native;
    use units::{Rng, Streams};

    /// Words of the program's cases and results.
    const ASKED: usize = 6;
    const RESULT: usize = 2;

    /// A segment that leaves.
    #[derive(Clone, Copy, Debug)]
    struct Case {
        acked: u32,
        order: Order,
        kernel: u16,
        scale: u8,
        shown: u32,
    }

    impl Case {
        fn words(&self) -> [u32; ASKED] {
            let order = self.order.word();
            [
                self.acked,
                order as u32,
                (order >> 32) as u32,
                u32::from(self.kernel),
                u32::from(self.scale),
                self.shown,
            ]
        }
    }

    /// What the program makes of them.
    fn answers(cases: &[Case]) -> Vec<(u16, u32)> {
        let mut native = Native::compile(env!("CARGO_MANIFEST_DIR"), "wire_check", &[], "random");
        let word = |part: &[u8]| u32::from_ne_bytes(part.try_into().expect("four bytes"));
        let mut all = Vec::with_capacity(cases.len());
        // as much as a pipe holds, both ways
        for part in cases.chunks(128) {
            let words = part.iter().flat_map(Case::words);
            let sent: Vec<u8> = words.flat_map(u32::to_ne_bytes).collect();
            let bytes = native.run(&sent, part.len(), RESULT * 4);
            let results = bytes.chunks_exact(RESULT * 4);
            all.extend(results.map(|part| (word(&part[..4]) as u16, word(&part[4..]))));
        }
        all
    }

    /// A connection's segments: numbers near each other, which wrap, and now and then anything.
    fn segments(rng: &mut Rng, cases: &mut Vec<Case>) {
        let scale = rng.below(15) as u8;
        let mut acked = match rng.below(3) {
            0 => 0,
            1 => u32::MAX - rng.below(100_000) as u32,
            _ => rng.below(1 << 32) as u32,
        };
        let mut edge = acked.wrapping_add(rng.below(200_000) as u32);
        let mut shown = acked.wrapping_add(rng.below(65_536) as u32);
        for _ in 0..50 {
            acked = acked.wrapping_add(rng.below(30_000) as u32);
            edge = edge
                .wrapping_add(rng.below(40_000) as u32)
                .wrapping_sub(5_000);
            let order = match rng.below(8) {
                0 => Order::Kernel,
                1 => Order::Window(rng.below(1 << 31) as u32),
                2 => Order::Window(rng.below(100_000) as u32),
                _ => Order::Edge(edge),
            };
            let kernel = match rng.below(4) {
                0 => rng.below(200) as u16,
                _ => rng.below(65_536) as u16,
            };
            let case = Case {
                acked,
                order,
                kernel,
                scale,
                shown,
            };
            cases.push(case);
            shown = match rng.below(50) {
                0 => rng.below(1 << 32) as u32,
                _ => field(acked, order, kernel, scale, shown).1,
            };
        }
    }

    #[test]
    fn windows_are_those_of_the_core_to_the_bit() {
        let mut rng = Streams::new(51).stream("wire");
        let mut cases = Vec::new();
        for _ in 0..400 {
            segments(&mut rng, &mut cases);
        }
        let wraps = cases.windows(2).filter(|two| two[1].acked < two[0].acked);
        assert!(wraps.count() > 100, "numbers wrap");
        for (case, answer) in cases.iter().zip(answers(&cases)) {
            let of_core = field(case.acked, case.order, case.kernel, case.scale, case.shown);
            assert_eq!(answer, of_core, "{case:?}");
        }
    }

    /// Of one connection the edge never moves left but where the kernel has less room, and is never right of what is decided
    /// by more than the rounding, or right of the kernel's.
    #[test]
    fn edges_stay_between_what_was_shown_and_what_is_decided() {
        let mut rng = Streams::new(52).stream("wire");
        let mut cases = Vec::new();
        for _ in 0..200 {
            segments(&mut rng, &mut cases);
        }
        for case in cases {
            let (shown_field, shown) =
                field(case.acked, case.order, case.kernel, case.scale, case.shown);
            assert!(shown_field <= case.kernel, "{case:?}");
            let ahead = |of: u32, from: u32| of.wrapping_sub(from).cast_signed();
            assert!(ahead(shown, case.shown) >= 0, "{case:?}");
            let edge = case
                .acked
                .wrapping_add(u32::from(shown_field) << case.scale);
            let granule = 1 << case.scale;
            if shown_field < case.kernel {
                assert!(ahead(edge, case.shown) >= 0 || ahead(case.shown, case.acked) < 0);
                if let Order::Edge(decided) = case.order {
                    let bound = [decided, case.shown, case.acked];
                    assert!(
                        bound.iter().any(|b| ahead(edge, *b) < granule),
                        "{case:?} {edge}"
                    );
                }
            }
        }
    }
}
