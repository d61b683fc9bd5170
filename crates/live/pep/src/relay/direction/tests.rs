//! What one direction moves, by ends that are made up.

use super::super::model::LIMITS;
use super::super::pipe::PipePool;
use super::*;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

/// A stream that brings as much as is read and takes as much as is handed on.
struct Endless;

impl Socket for Endless {
    fn unread(&self) -> usize {
        usize::MAX
    }
    fn is_at_mark(&self) -> bool {
        false
    }
    fn read_byte(&self, _: &mut [u8; 1]) -> Result<usize> {
        Ok(1)
    }
    fn send_urgent(&self, _: u8) -> Result<()> {
        Ok(())
    }
    fn end(&self) -> Result<()> {
        Ok(())
    }
    fn unacknowledged(&self) -> usize {
        0
    }
}

/// Bytes, and whether any are taken out.
struct Held(usize, bool);

impl Holds for Held {
    fn held(&self) -> usize {
        self.0
    }
}

impl Buffer<Endless> for Held {
    fn fill(&mut self, _: &Endless, most: usize) -> Result<Filled> {
        self.0 += most;
        Ok(Filled::Bytes(most))
    }
    fn drain(&mut self, _: &Endless, most: usize) -> Result<usize> {
        let n = if self.1 { self.0.min(most) } else { 0 };
        self.0 -= n;
        Ok(n)
    }
    fn pass(&mut self, from: &Endless, to: &Endless, most: usize) -> Result<Passed> {
        let filled = self.fill(from, most.min(COPY))?;
        let written = self.drain(to, COPY)?;
        Ok(Passed { filled, written })
    }
}

impl Buffers for Held {
    type Buffer = Self;
    fn take(&mut self) -> Result<Self> {
        Ok(Self(0, self.1))
    }
    fn give_back(&mut self, _: Self) {}
    fn capacity(&self) -> usize {
        64 << 20
    }
}

/// However much waits, and however large the pipe is.
#[test]
fn a_turn_moves_a_bounded_number_of_bytes() {
    let memory = units::Bytes::new(1 << 40);
    let limits = Limits {
        memory,
        memory_per_ue: memory,
        ..LIMITS
    };
    let (registry, ue) = (Registry::default(), UeCounters::default());
    let mut ready = [Readiness {
        can_read: true,
        can_write: true,
        ..Readiness::default()
    }; 2];
    let mut direction = Direction::default();
    for (drains, expected) in [(true, TURN), (false, 0), (true, TURN), (true, TURN)] {
        if let Some(pipe) = &mut direction.pipe {
            let Held(_, is_drained) = pipe;
            *is_drained = drains;
        }
        let mut pipes = Held(0, drains);
        let mut means = Means {
            pipes: &mut pipes,
            registry: &registry,
            limits: &limits,
        };
        let [of_from, of_to] = &mut ready;
        of_to.can_write = true;
        let (mut from, mut to) = (
            End {
                socket: &Endless,
                ready: of_from,
            },
            End {
                socket: &Endless,
                ready: of_to,
            },
        );
        let moved = direction
            .advance(&mut means, &ue, &mut from, &mut to)
            .expect("moved");
        assert_eq!((moved.read, moved.written), (TURN, expected));
        assert!(
            moved.has_more && direction.is_backlogged,
            "what is left is counted"
        );
    }
}

/// A direction reads all but the last of the bytes that make a look at memory due; that byte's read is the one that
/// makes it due only if those before it were counted, of the UE and in all.
#[test]
fn what_a_direction_reads_counts_for_the_next_look_at_memory() {
    let look_at = crate::registry::look_at(LIMITS.memory_per_ue);
    let (registry, ue) = (Registry::default(), UeCounters::default());
    let mut pipes = PipePool::new(65_536);
    let mut means = Means {
        pipes: &mut pipes,
        registry: &registry,
        limits: &LIMITS,
    };
    let pair = || {
        let (far, near) = UnixStream::pair().expect("a pair");
        near.set_nonblocking(true).expect("nonblocking");
        (far, OwnedFd::from(near))
    };
    let ((mut server, wan), (_client, ran)) = (pair(), pair());
    let mut ready = [(); 2].map(|()| Readiness {
        can_read: true,
        can_write: true,
        ..Readiness::default()
    });
    let [of_wan, of_ran] = &mut ready;
    let (mut from, mut to) = (
        End {
            socket: &wan,
            ready: of_wan,
        },
        End {
            socket: &ran,
            ready: of_ran,
        },
    );
    let sent = vec![7; usize::try_from(look_at - 1).expect("little")];
    server.write_all(&sent).expect("sent");
    let moved = Direction::default()
        .advance(&mut means, &ue, &mut from, &mut to)
        .expect("moved");
    assert_eq!((moved.read, moved.written), (sent.len(), sent.len()));
    let of_other = UeCounters::default();
    assert!(!registry.on_read(&of_other, &LIMITS, 1), "of another UE");
    assert!(registry.on_read(&ue, &LIMITS, 1));
}
