//! With real sockets, of which the other end is read afterwards. That jobs keep their order is tested with the queue.

use super::*;
use crate::link::Way;
use crate::poller::{Poller, Token};
use crate::udp::{self, UdpSocket};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use testing::wait_until;

/// A connected socket, and who receives.
fn pair() -> (Arc<UdpSocket>, UdpSocket) {
    let any = "127.0.0.1:0".parse().expect("an address");
    let receiver = UdpSocket::listening(any).expect("bound");
    let to = rustix::net::getsockname(receiver.as_fd()).expect("bound");
    let to = SocketAddr::try_from(to).expect("an IP address");
    let sender = UdpSocket::connected(&udp::Way::default(), to).expect("connected");
    (Arc::new(sender), receiver)
}

fn sending(socket: &Arc<UdpSocket>) -> Sending {
    Sending {
        socket: Arc::clone(socket),
        to: None,
        from: None,
        outcome: Arc::default(),
    }
}

fn output(has_second: bool) -> (Output, Waker) {
    let waker = Waker::new().expect("an eventfd");
    (Output::new(has_second, waker.clone()), waker)
}

/// Datagrams of so many bytes, each of which begins with its number.
fn send(output: &Output, of: &Sending, numbers: std::ops::Range<u32>, length: usize) {
    let mut batch = Batch::default();
    for number in numbers {
        let mut datagram = vec![7; length];
        datagram[..4].copy_from_slice(&number.to_be_bytes());
        assert!(batch.push_bytes(&datagram), "{number}");
    }
    output.send(&mut batch, of.clone());
    assert!(batch.is_empty());
}

/// The numbers of so many datagrams. In which order they arrive is the kernel's choice: each processor has a queue of its
/// own.
fn received(socket: &UdpSocket, count: usize) -> Vec<u32> {
    let (mut numbers, mut buffer) = (Vec::new(), vec![0; udp::MAX_BYTES + 1]);
    wait_until("all has come", || {
        while let Ok(got) = socket.receive(&mut buffer) {
            for datagram in buffer[..got.length].chunks(got.segment) {
                let first = datagram.first_chunk().expect("a number");
                numbers.push(u32::from_be_bytes(*first));
            }
        }
        numbers.len() >= count
    });
    numbers.sort_unstable();
    numbers
}

/// Large and small jobs take turns, and when the second thread has stopped all have left. Before and after there is one thread.
#[test]
fn all_leaves_with_one_thread_and_with_two() {
    for has_second in [false, true] {
        let (output, _) = output(has_second);
        let (socket, receiver) = pair();
        let of = sending(&socket);
        send(&output, &of, 0..1, 100);
        output.start().expect("a thread");
        for turn in 0..6 {
            let first = 1 + turn * 21;
            send(&output, &of, first..first + 20, 1_200);
            send(&output, &of, first + 20..first + 21, 100);
        }
        output.stop();
        send(&output, &of, 127..128, 100);
        assert_eq!(received(&receiver, 128), Vec::from_iter(0..128));
        let status = output.status();
        assert_eq!(status.threads, 1 + usize::from(has_second));
        assert_eq!(status.handed_over >= 6, has_second, "{status:?}");
        assert_eq!(of.outcome.refused(), 0);
    }
}

/// What is small waits for no other thread, unless something is before it.
#[test]
fn what_is_small_is_sent_at_once() {
    let (output, _) = output(true);
    let (socket, receiver) = pair();
    output.start().expect("a thread");
    for number in 0..20 {
        send(&output, &sending(&socket), number..number + 1, 1_200);
    }
    assert_eq!(received(&receiver, 20), Vec::from_iter(0..20));
    assert_eq!(output.status().handed_over, 0);
    output.stop();
}

/// What the kernel refuses of what was handed over is the link's, and the first thread is woken.
#[test]
fn a_fault_in_the_second_thread_wakes_the_first() {
    let (output, waker) = output(true);
    let mut poller = Poller::new().expect("epoll");
    poller.add(&waker, Token(1), false).expect("added");
    output.start().expect("a thread");
    let (socket, _receiver) = pair();
    let of = sending(&socket);
    // larger than any datagram may be
    send(&output, &of, 0..1, udp::MAX_BYTES + 10);
    let mut ready = Vec::new();
    wait_until("the first thread wakes", || {
        poller
            .wait(Some(units::Duration::from_millis(100)), &mut ready)
            .expect("it waits");
        !ready.is_empty()
    });
    assert!(output.take_faults() && !output.take_faults());
    assert!(of.outcome.take_too_big() && !of.outcome.take_too_big());
    assert_eq!(of.outcome.refused(), 1);
    // a port that is no socket's
    let (socket, receiver) = pair();
    let of = sending(&socket);
    drop(receiver);
    wait_until("the refusal comes back", || {
        send(&output, &of, 0..20, 1_200);
        output.settle();
        of.outcome.take_fault().is_some()
    });
    assert!(of.outcome.take_fault().is_none());
    output.stop();
}

/// A socket that goes while its packets are in the queue is closed after them.
#[test]
fn what_is_handed_over_keeps_its_socket() {
    let (output, _) = output(true);
    let (socket, receiver) = pair();
    let mut link = crate::link::Link::new(
        Way::Udp {
            socket,
            to: None,
            from: None,
        },
        &output,
    );
    output.start().expect("a thread");
    for number in 0..20u32 {
        let mut datagram = vec![7; 1_200];
        datagram[..4].copy_from_slice(&number.to_be_bytes());
        link.push_bytes(&datagram);
    }
    link.flush();
    assert_eq!(link.counters().packets, 20);
    drop(link);
    output.settle();
    assert_eq!(received(&receiver, 20), Vec::from_iter(0..20));
    output.stop();
}
