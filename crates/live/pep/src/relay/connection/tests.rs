//! How a connection's window follows what is decided, on sockets of this kernel, and how it ends.

use super::*;
use crate::listener::USUAL_MSS;
use crate::registry::Registry;
use crate::relay::upstream::set_receive_buffer;
use edge::Change;
use rustix::io::{ioctl_fionbio, ioctl_fionread};
use std::io::Write as _;

/// Which the control thread is notified of.
#[test]
fn windows_matter_with_a_request_or_more_than_a_segment_of_the_server() {
    for (up, down, matters) in [
        (0, 0, false),
        (63, 1_448, false),
        (64, 0, true),
        (0, 1_449, true),
    ] {
        let (flow, _server) = crate::flow::connected();
        let mut connection = Connection::new(Arc::clone(&flow), Instant::ZERO);
        flow.meters.ran_read.store(up, Relaxed);
        flow.meters.wan_read.store(down, Relaxed);
        assert_eq!(connection.begins_to_matter(), matters, "{up} and {down}");
        assert_eq!(connection.is_announced(), matters);
        assert!(!connection.begins_to_matter(), "once");
    }
}

#[test]
fn a_connection_that_lasts_sends_keepalive_probes_to_its_server() {
    let text = "mode = \"explicit\"\ncontrol = \"split\"\n[explicit]\nlisten = \"127.0.0.1:7700\"\n\
                upstream = \"127.0.0.1:7701\"\n";
    let config = crate::config::Config::parse("f", text).expect("valid");
    let upstream = Upstream::new(&config, None);
    let (flow, _server) = crate::flow::connected();
    let mut connection = Connection::new(Arc::clone(&flow), Instant::ZERO);
    let sends = || sockopt::socket_keepalive(&flow.wan).expect("of a socket");
    connection.keep_alive(&upstream);
    assert!(!sends(), "its server has not answered");
    connection.is_established = true;
    connection.keep_alive(&upstream);
    assert!(sends());
}

const HOUR: Duration = Duration::from_secs(3_600);

fn limits(half_closed: Duration, idle: Duration) -> Limits {
    Limits {
        half_closed,
        idle,
        ..crate::relay::model::LIMITS
    }
}

/// Hours of virtual time, in steps of a minute: when a half-closed connection ends on which a byte comes
/// every `period` for `busy` and none after that.
fn ends_after(limits: &Limits, period: Duration, busy: Duration) -> Duration {
    let half_closed = State {
        is_established: true,
        is_half_closed: true,
    };
    let (mut now, mut active_at, step) = (Duration::ZERO, Duration::ZERO, HOUR / 60);
    loop {
        if half_closed.overdue(now - active_at, limits).is_some() {
            return now;
        }
        now += step;
        if now <= busy && now - active_at >= period {
            active_at = now;
        }
    }
}

#[test]
fn a_half_closed_connection_lasts_for_hours_where_it_may() {
    let limits = limits(HOUR * 2, HOUR * 3);
    // a byte an hour for two days, and then silence
    assert_eq!(ends_after(&limits, HOUR, HOUR * 48), HOUR * 50);
    assert_eq!(ends_after(&limits, HOUR * 3, HOUR * 48), HOUR * 2);
}

/// What comes between the look at what is unread and the read is not judged: were it read, the window would be
/// closed without a byte left, and the server would wait for its persist timer.
#[test]
fn a_read_while_the_window_is_closed_takes_no_more_than_what_was_judged() {
    let (flow, mut server) = crate::flow::connected();
    let mut connection = Connection::new(Arc::clone(&flow), Instant::ZERO);
    // nothing may come, and the server has ten segments left
    flow.window.decide(rapid::WanWindow::Budget(Bytes::ZERO));
    let left = Bytes::new(10 * u64::from(USUAL_MSS));
    flow.window
        .has_shown(Instant::ZERO, Change::Credit(left), 0);
    let mut sent = 0;
    for bytes in [1_000, 500] {
        server.write_all(&vec![7; bytes]).expect("sent");
        sent += bytes;
        testing::wait_until("it has come", || {
            ioctl_fionread(&flow.wan).is_ok_and(|n| n == sent as u64)
        });
        assert!(connection.prepare_window(Instant::ZERO).is_none());
        assert!(!connection.down.leaves_byte, "the server can send more");
        assert_eq!(connection.down.most, sent);
    }
}

/// Where acknowledgements still show the least there is nothing to relieve, however long ago the window was decided
/// to be closed.
#[test]
fn a_window_is_relieved_as_the_rule_has_it_from_when_the_kernel_was_made_to_close_it() {
    let (flow, _server) = crate::flow::connected();
    let mut connection = Connection::new(Arc::clone(&flow), Instant::ZERO);
    let max_closed = edge::ShownWindow::default().max_closed;
    let closed = Instant::ZERO + max_closed * 5;
    let just_before = Instant::from_nanos((closed + max_closed).as_nanos() - 1);
    flow.window.decide(rapid::WanWindow::Budget(Bytes::ZERO));
    assert_eq!(flow.follow_window(Instant::ZERO), None);
    assert!(flow.window.is_closed() && !connection.relieve(closed));
    connection.is_shut = true;
    flow.window.is_shut(closed);
    assert!(!connection.relieve(just_before));
    assert_eq!(flow.window.take_due(), None);
    assert!(connection.relieve(closed + max_closed));
    let least = u64::from(USUAL_MSS) * edge::ShownWindow::default().min_window;
    let due = Some(Change::Credit(Bytes::new(least)));
    assert_eq!(flow.window.take_due(), due);
}

/// A UE that reads slowly is waited for; one that has stopped is not.
#[test]
fn an_end_lasts_while_some_of_it_is_acknowledged() {
    use super::super::direction::Socket as _;
    use std::io::Read as _;
    let (flow, mut ue, _server) = crate::flow::connected_to_both();
    // so that one read does not have it take all the rest
    sockopt::set_socket_recv_buffer_size(&ue, 65_536).expect("set");
    ioctl_fionbio(&flow.ran, true).expect("set");
    while rustix::io::write(&flow.ran, &[7; 65_536]).is_ok() {}
    for socket in [&flow.ran, &flow.wan] {
        socket.end().expect("ended");
    }
    let limits = limits(HOUR, HOUR * 2);
    let mut connection = Connection::new(Arc::clone(&flow), Instant::ZERO);
    connection.is_established = true;
    connection.down.is_finished = true;
    connection.up.is_finished = true;
    let after = |hours| Instant::ZERO + HOUR * hours;
    testing::wait_until("the server has acknowledged its end", || {
        flow.wan.unacknowledged() == 0
    });
    assert_eq!(connection.begin_to_close(after(1)), Next::Closing);
    let left = flow.ran.unacknowledged();
    assert!(left > 0);
    testing::wait_until("some more is acknowledged", || {
        let _ = ue.read(&mut [0; 65_536]).expect("read");
        flow.ran.unacknowledged() < left
    });
    assert_eq!(connection.look_at_end(after(2)), Next::Wait);
    assert_eq!(connection.overdue(after(2), &limits), None);
    // it may come in parts: until no more does
    testing::wait_until("no more is acknowledged", || {
        let before = flow.ran.unacknowledged();
        connection.look_at_end(after(3));
        std::thread::yield_now();
        flow.ran.unacknowledged() == before
    });
    let overdue = connection.overdue(after(5), &limits);
    assert_eq!(overdue, Some(ResetReason::Idle));
    testing::wait_until("all is acknowledged", || {
        let _ = ue.read(&mut [0; 65_536]).expect("read");
        connection.look_at_end(after(6)) == Next::Finished
    });
}

#[test]
fn half_closed_is_never_longer_than_idle() {
    let limits = limits(HOUR * 5, HOUR);
    assert_eq!(ends_after(&limits, HOUR * 2, HOUR * 48), HOUR);
}

/// A flow of which the server has sent all that there is room for, a budget for two segments more than what waits, and
/// what is prepared for it.
fn with_a_credit_due() -> (
    Connection,
    std::net::TcpStream,
    std::net::TcpStream,
    windows::Due,
) {
    let (flow, ue, mut server) = crate::flow::connected_to_both();
    set_receive_buffer(&flow.wan, 20_000).expect("set");
    ioctl_fionbio(&server, true).expect("set");
    while server.write(&[7; 65_536]).is_ok() {}
    let mut connection = Connection::new(Arc::clone(&flow), Instant::ZERO);
    connection.is_established = true;
    connection.wan.can_read = true;
    flow.window.decide(rapid::WanWindow::Budget(Bytes::new(1)));
    assert!(connection.prepare_window(Instant::ZERO).is_none());
    flow.meters.wan_unread.store(1, Relaxed);
    connection.follow_window(Instant::ZERO);
    assert!(connection.is_shut && flow.window.is_closed());
    let unread = ioctl_fionread(&flow.wan).expect("counted");
    let least = 2 * u64::from(USUAL_MSS);
    flow.window
        .decide(rapid::WanWindow::Budget(Bytes::new(unread + least)));
    let due = connection.prepare_window(Instant::ZERO).expect("due");
    (connection, ue, server, due)
}

/// The kernel then shows nothing, as when the server has enough: the server must not be taken to have that.
#[test]
fn a_credit_that_finds_no_room_has_a_byte_left_for_the_next() {
    if !testing::has_root("a_credit_that_finds_no_room_has_a_byte_left_for_the_next") {
        return;
    }
    let (mut connection, _ue, _server, due) = with_a_credit_due();
    let flow = Arc::clone(&connection.flow);
    assert!(!credit::has_room(&flow.wan));
    assert_eq!(rustix::io::read(&flow.wan, &mut [0]), Ok(1));
    connection.finish_window(Instant::ZERO, &due, true, &Counters::default());
    assert!(flow.window.may_block(flow.meters.received()));
}

/// Nothing is handed on before: acknowledgements of what comes while that takes time would show as much again each.
#[test]
fn a_credit_is_bounded_again_before_what_was_read_is_handed_on() {
    if !testing::has_root("a_credit_is_bounded_again_before_what_was_read_is_handed_on") {
        return;
    }
    let (mut connection, ue, mut server, due) = with_a_credit_due();
    let flow = Arc::clone(&connection.flow);
    let registry = Registry::default();
    let mut pipes = PipePool::new(1 << 20);
    let limits = Limits {
        memory: Bytes::new(1 << 20),
        memory_per_ue: Bytes::new(1 << 20),
        ..limits(HOUR, HOUR)
    };
    let mut means = Means {
        pipes: &mut pipes,
        registry: &registry,
        limits: &limits,
    };
    let counters = Counters::default();
    let unread = ioctl_fionread(&flow.wan).expect("counted");
    let read = connection.show_window(Instant::ZERO, &due, &mut means, &counters);
    assert_eq!(read, Ok(unread as usize));
    assert_eq!(ioctl_fionread(&ue), Ok(0));
    assert!(connection.is_shut && counters.windows_shown.get() == 1);
    while server.write(&[7; 65_536]).is_ok() {}
    let come = ioctl_fionread(&flow.wan).expect("counted");
    // in units of the window's scale
    let credit = 2 * u64::from(USUAL_MSS) + 256;
    assert!(come <= credit, "{come} bytes");
}

/// What each idle connection takes for itself: an allocation, and a place in the worker's list.
#[test]
fn a_connection_takes_little_memory() {
    let (flow, connection) = (size_of::<Flow>(), size_of::<Connection>());
    assert!(
        flow <= 360 && connection <= 168,
        "{flow} and {connection} bytes"
    );
}
