//! The congestion control that follows a window (`bpf/follow.bpf.c`): its program, and how it is given an allocation.

use cc::Allocation;
use units::BitRate;

/// The compiled program.
pub const PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/follow.bpf.o"));

/// What the program's `struct control` has of an allocation: bytes, and byte/s or 0 without pacing. A window of nothing
/// is one byte, which the program makes the least window of, for 0 is none that was decided.
pub fn words(allocation: &Allocation) -> [u64; 2] {
    let pacing = |rate: BitRate| (rate.as_bps() / 8).max(1);
    let pacing_rate = allocation.pacing_rate.map_or(0, pacing);
    [allocation.window.get().max(1), pacing_rate]
}

/// The text of `bpf/follow_constants.h`, which a test compares. It is made by
/// `cargo run -p kernel-cc --example follow_constants`.
pub fn constants_header() -> String {
    format!(
        "/* Made from rapid by `cargo run -p kernel-cc --example follow_constants`; a test compares. */\n\
         #pragma once\n\n/* rapid::MIN_SEGMENTS */\n#define MIN_CWND {}ULL\n",
        rapid::MIN_SEGMENTS
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::in_kernel;
    use crate::load::map_of;
    use libbpf_rs::{MapCore, MapFlags, MapHandle, Object, ProgramInput};
    use rapid::FollowAllocation;
    use testing::Native;
    use units::{Bytes, Packets, Rng, Streams};

    const CHECK: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/follow_check.bpf.o"));

    /// Words of the program's `struct event`: control, mss, cwnd, max.
    const EVENT: usize = 4 + 3;
    /// Words of its `struct result`: cwnd, pacing rate.
    const RESULT: usize = 2;

    fn to_bytes(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    fn result_of(bytes: &[u8]) -> [u64; RESULT] {
        let (words, rest) = bytes.as_chunks();
        assert!(words.len() == RESULT && rest.is_empty());
        [words[0], words[1]].map(u64::from_ne_bytes)
    }

    /// A connection of the kernel's.
    #[derive(Debug)]
    struct Socket {
        mss: u32,
        cwnd: u32,
        max: u32,
        allocation: Option<Allocation>,
    }

    impl Socket {
        fn words(&self) -> [u64; EVENT] {
            let [window, pacing_rate] = self.allocation.as_ref().map_or([0; 2], words);
            let [mss, cwnd, max] = [self.mss, self.cwnd, self.max].map(u64::from);
            [window, pacing_rate, 7, 0, mss, cwnd, max]
        }

        /// What the core makes of it; without a decision all stays as it is.
        fn expected(&self) -> [u64; RESULT] {
            let Some(allocation) = self.allocation else {
                return [self.cwnd.into(), u64::MAX];
            };
            let mss = Bytes::new(self.mss.into());
            let follow = FollowAllocation::new(mss, allocation.window);
            let rate = allocation.pacing_rate;
            let segments = match self.mss {
                0 => self.cwnd.into(),
                _ => follow.segments(Packets::new(self.max.into())).get(),
            };
            [
                segments,
                rate.map_or(u64::MAX, |rate| (rate.as_bps() / 8).max(1)),
            ]
        }
    }

    /// As networks have them, and any.
    fn number(rng: &mut Rng, from: u64, until: u64) -> u64 {
        match rng.below(12) {
            0 => 0,
            1 => 1,
            2 => u64::MAX,
            3 => rng.next_u64() >> rng.below(64),
            _ => from + rng.below(until - from),
        }
    }

    /// Decisions, acknowledgements, and segments that change their size, of so many connections.
    fn compare(sequences: u64, mut run: impl FnMut(&[u64; EVENT]) -> [u64; RESULT]) {
        let (mut rounded, mut least, mut bounded) = (0, 0, 0);
        for seed in 0..sequences {
            let rng = &mut Streams::new(seed).stream("follow-differential");
            let whole = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
            let mut socket = Socket {
                mss: 1448,
                cwnd: 10,
                max: whole(number(rng, 1_000, 1 << 20)),
                allocation: None,
            };
            for _ in 0..40 {
                match rng.below(6) {
                    0 => socket.mss = whole(number(rng, 500, 9_000)),
                    1..=3 => {
                        let rate = rng.chance(0.5);
                        let rate = rate.then(|| BitRate::from_bps(number(rng, 1, 1 << 33)));
                        socket.allocation = Some(Allocation {
                            window: Bytes::new(number(rng, 100, 60_000)),
                            pacing_rate: rate,
                        });
                    }
                    _ => {}
                }
                let (event, expected) = (socket.words(), socket.expected());
                let found = run(&event);
                assert_eq!(found, expected, "sequence {seed}: {socket:?}");
                let window = event[0];
                let mss = u64::from(socket.mss);
                if mss > 0 && window > 0 {
                    rounded += u64::from(found[0] * mss < window);
                    least += u64::from(window < mss);
                    bounded += u64::from(window / mss > socket.max.into());
                }
                socket.cwnd = whole(found[0]);
            }
        }
        // every rule decided something
        let counts = [rounded, least, bounded];
        assert!(counts.iter().all(|&count| count > 0), "{counts:?}");
    }

    #[test]
    fn windows_are_followed_as_the_core_does() {
        let mut native = Native::compile(env!("CARGO_MANIFEST_DIR"), "follow_check", &[], "random");
        compare(3_000, |event| {
            result_of(&native.run(&to_bytes(event), 1, RESULT * 8))
        });
    }

    struct Kernel {
        object: Object,
        events: MapHandle,
        results: MapHandle,
    }

    impl Kernel {
        fn load() -> Option<Self> {
            let object = in_kernel::load(CHECK)?;
            let map = |name| map_of(&object, name).expect("a map");
            Some(Self {
                events: map("events"),
                results: map("results"),
                object,
            })
        }

        fn run(&mut self, event: &[u64; EVENT]) -> [u64; RESULT] {
            let key = 0u32.to_ne_bytes();
            let written = self.events.update(&key, &to_bytes(event), MapFlags::ANY);
            written.expect("written");
            let program = self.object.progs_mut().next().expect("a program");
            let output = program.test_run(ProgramInput::default()).expect("run");
            assert_eq!(output.return_value, 0);
            let value = self.results.lookup(&key, MapFlags::ANY).expect("read");
            result_of(&value.expect("a value"))
        }
    }

    #[test]
    fn the_kernel_follows_windows_as_the_core_does() {
        let Some(mut kernel) = Kernel::load() else {
            return;
        };
        compare(200, |event| kernel.run(event));
    }

    #[test]
    fn the_header_has_the_constants_of_the_core() {
        let found = include_str!("../bpf/follow_constants.h");
        assert_eq!(
            found,
            constants_header(),
            "bpf/follow_constants.h is not of this rapid: \
             cargo run -p kernel-cc --example follow_constants > crates/live/kernel-cc/bpf/follow_constants.h"
        );
    }
}
