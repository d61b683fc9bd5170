//! However a connection ends, nothing is cut without a reset; and no UE's memory is another's.

use crate::support::Hosts;
use crate::support::daemon::Daemon;
use crate::support::traffic::{accept, connect, connect_narrow, finish_unread, receive, send};
use crate::{Test, server_at, split};
use rustix::net::{SendFlags, sockopt};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use testing::pattern;

pub const TESTS: &[Test] = &[
    (
        "after_a_kill_the_other_end_s_reset_comes_through",
        after_a_kill_the_other_end_s_reset_comes_through,
    ),
    (
        "a_kill_resets_every_connection",
        a_kill_resets_every_connection,
    ),
    (
        "urgent_data_keeps_its_place_and_ends_nothing",
        urgent_data_keeps_its_place_and_ends_nothing,
    ),
    (
        "stalled_downloads_hold_no_more_than_their_ue_may",
        stalled_downloads_hold_no_more_than_their_ue_may,
    ),
    (
        "finished_and_unread_downloads_hold_no_more_than_their_ue_may",
        finished_and_unread_downloads_hold_no_more_than_their_ue_may,
    ),
    (
        "an_end_that_is_not_acknowledged_has_its_time",
        an_end_that_is_not_acknowledged_has_its_time,
    ),
];

fn a_kill_resets_every_connection() {
    let Some(hosts) = Hosts::try_new("a_kill_resets_every_connection") else {
        return;
    };
    let mut daemon = Daemon::start(&hosts.proxy, &split(""));
    let (address, listener) = server_at(&hosts, 5_601);
    let pairs: Vec<_> = (0..6)
        .map(|i| {
            let near = connect(&hosts.client, address).expect("connected");
            let (far, _) = accept(&listener);
            // some at rest, some half-closed, some with data on its way
            if i % 3 == 1 {
                near.shutdown(Shutdown::Write).expect("shut");
                assert_eq!(receive(&far).expect("the end"), 0);
            }
            if i % 3 == 2 {
                far.set_nonblocking(true).expect("set");
                while (&far).write(&[0; 65_536]).is_ok() {}
                (&near).read_exact(&mut [0; 10_000]).expect("under way");
            }
            (near, far)
        })
        .collect();
    daemon.wait_until("all are relayed", || daemon.count("established") == 6);
    daemon.child.kill().expect("killed");
    daemon.child.wait().expect("dead");
    for (i, (near, _far)) in pairs.iter().enumerate() {
        let end = end_of(near);
        assert_eq!(end, Err(ErrorKind::ConnectionReset), "connection {i}");
    }
    for (i, (_, far)) in pairs.iter().enumerate().filter(|(i, _)| i % 3 == 0) {
        let end = end_of(far);
        assert_eq!(end, Err(ErrorKind::ConnectionReset), "connection {i}");
    }
}

/// One side had ended in order when the proxy was killed, and data waited for the other. The reset to that
/// other is lost: its next acknowledgement is answered by the first one's host, where there is no such
/// connection, and that reset has to come through once the proxy runs again, although its predecessor has left a
/// TIME-WAIT.
fn after_a_kill_the_other_end_s_reset_comes_through() {
    // more than a small receive buffer and what the proxy hands to its socket
    const BYTES: usize = 300_000;
    let name = "after_a_kill_the_other_end_s_reset_comes_through";
    for is_down in [true, false] {
        let Some(hosts) = Hosts::try_new(name) else {
            return;
        };
        let mut daemon = Daemon::start(&hosts.proxy, &split(""));
        let (address, listener) = server_at(&hosts, 5_603);
        let near = connect(&hosts.client, address).expect("connected");
        let (far, _) = accept(&listener);
        let (from, to, host) = if is_down {
            (far, near, &hosts.client)
        } else {
            (near, far, &hosts.server)
        };
        sockopt::set_socket_recv_buffer_size(&to, 4_096).expect("set");
        sockopt::set_socket_keepalive(&to, true).expect("set");
        let second = std::time::Duration::from_secs(1);
        sockopt::set_tcp_keepidle(&to, second).expect("set");
        sockopt::set_tcp_keepintvl(&to, second).expect("set");
        to.shutdown(Shutdown::Write).expect("shut");
        assert_eq!(receive(&from).expect("the end"), 0);
        (&from).write_all(&pattern(0, BYTES)).expect("sent");
        drop(from);
        daemon.wait_until("one side has ended in order", || {
            let sockets = hosts.proxy.sh("ss -tnHO state time-wait");
            sockets.contains(":5603")
        });
        host.sh("nft add table inet loss\n\
             nft add chain inet loss in '{ type filter hook prerouting priority raw; }'\n\
             nft add rule inet loss in 'tcp flags & rst == rst drop'");
        daemon.child.kill().expect("killed");
        daemon.child.wait().expect("dead");
        host.sh("nft delete table inet loss");
        let _daemon = Daemon::start(&hosts.proxy, &split(""));
        assert_eq!(end_of(&to), Err(ErrorKind::ConnectionReset), "{is_down}");
    }
}

/// Reads to the end, which is an orderly one or an error.
fn end_of(mut stream: &TcpStream) -> Result<(), ErrorKind> {
    let mut buffer = vec![0; 1 << 20];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.kind()),
        }
    }
}

/// Parts of a stream, the byte after each but the last marked as urgent.
pub const PARTS: [&[usize]; 4] = [
    &[4, 8_000],
    &[0, 0, 1],
    &[200_000, 300_000, 3],
    &[15, 16, 17],
];

fn urgent_data_keeps_its_place_and_ends_nothing() {
    let Some(hosts) = Hosts::try_new("urgent_data_keeps_its_place_and_ends_nothing") else {
        return;
    };
    let daemon = Daemon::start(&hosts.proxy, &split(""));
    let (address, listener) = server_at(&hosts, 5_602);
    for is_down in [false, true] {
        for (parts, is_left_open) in PARTS.iter().flat_map(|p| [(p, false), (p, true)]) {
            let near = connect(&hosts.client, address).expect("connected");
            let (far, _) = accept(&listener);
            let (from, to) = if is_down { (far, near) } else { (near, far) };
            // the receiver finds the urgent bytes in their places
            sockopt::set_socket_oobinline(&to, true).expect("set");
            let all = parts.iter().sum::<usize>() + parts.len() - 1;
            let sender = std::thread::spawn(move || {
                send_parts(&from, parts);
                if !is_left_open {
                    from.shutdown(Shutdown::Write).expect("shut");
                }
                from
            });
            let mut bytes = vec![0; all];
            (&to).read_exact(&mut bytes).expect("all of it");
            assert_eq!(bytes, pattern(0, all), "{parts:?}");
            let from = sender.join().expect("sent");
            if !is_left_open {
                assert_eq!((&to).read(&mut [0]).expect("the end"), 0);
            }
            drop(from);
        }
    }
    daemon.wait_until("all have gone", || daemon.status()["connections"] == 0);
}

pub fn send_parts(mut to: &TcpStream, parts: &[usize]) {
    let mut at = 0;
    for (i, part) in parts.iter().enumerate() {
        to.write_all(&pattern(at, *part)).expect("sent");
        at += part;
        if i + 1 < parts.len() {
            let sent = rustix::net::send(to, &pattern(at, 1), SendFlags::OOB);
            assert_eq!(sent, Ok(1));
            at += 1;
        }
    }
}

/// Kernel memory of the proxy's connections, bytes: what was received and not read, and what was not
/// acknowledged.
fn socket_memory(hosts: &Hosts) -> u64 {
    let text = hosts.proxy.sh("ss -tmnHO state connected");
    let number = |word: &str, key: &str| word.strip_prefix(key)?.parse::<u64>().ok();
    text.split("skmem:(")
        .skip(1)
        .flat_map(|rest| rest.split(')').next().unwrap_or_default().split(','))
        .filter_map(|word| number(word, "r").or_else(|| number(word, "w")))
        .sum()
}

fn stalled_downloads_hold_no_more_than_their_ue_may() {
    let Some(hosts) = Hosts::try_new("stalled_downloads_hold_no_more_than_their_ue_may") else {
        return;
    };
    const CONNECTIONS: usize = 60;
    const LIMIT: u64 = 8_000_000;
    hosts.client.sh("ip addr add 10.45.0.3/24 dev c0");
    // a reader that comes back is sent to again soon; kernels before 6.15 double the time up to two minutes
    for host in [&hosts.proxy, &hosts.server] {
        host.sh("sysctl -qw net.ipv4.tcp_rto_max_ms=1000 || true");
    }
    let daemon = Daemon::start(&hosts.proxy, &split("[limits]\nmemory-per-ue = \"8 MB\"\n"));
    let (address, listener) = server_at(&hosts, 5_603);
    let pairs: Vec<_> = (0..CONNECTIONS)
        .map(|_| {
            let near = connect(&hosts.client, address).expect("connected");
            let (far, _) = accept(&listener);
            far.set_nonblocking(true).expect("set");
            // what servers hold counts against the memory that the kernel gives all TCP of this machine
            sockopt::set_socket_send_buffer_size(&far, 65_536).expect("set");
            (near, far)
        })
        .collect();
    // servers push what they can, until nothing moves and what is held is within the bound
    let (mut looks, mut sent) = (0, vec![0; CONNECTIONS]);
    testing::wait_until("what is held is bounded", || {
        let mut moved = 0;
        for ((_, far), sent) in pairs.iter().zip(&mut sent) {
            let mut far: &TcpStream = far;
            while let Ok(n) = far.write(&pattern(*sent, 65_536)) {
                *sent += n;
                moved += n;
            }
        }
        let is_bounded = socket_memory(&hosts) + waiting(&daemon) <= LIMIT;
        looks = if moved == 0 && is_bounded {
            looks + 1
        } else {
            0
        };
        looks >= 20
    });
    assert!(daemon.count("memory_resets") > 0);
    // another UE is served as ever
    let third = hosts.client.enter(|| {
        use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).expect("a socket");
        let other = SocketAddr::new([10, 45, 0, 3].into(), 0);
        bind(&socket, &other).expect("bound");
        connect(&socket, &address).map(|()| TcpStream::from(socket))
    });
    let (far, _) = accept(&listener);
    let sender = std::thread::spawn(move || send(&far, 5_000_000));
    assert_eq!(
        receive(&third.expect("connected")).expect("received"),
        5_000_000
    );
    sender.join().expect("an end").expect("sent");
    // what was taken of the others arrives whole, or ends in a reset
    let whole: u64 = std::thread::scope(|scope| {
        let readers: Vec<_> = pairs
            .iter()
            .zip(&sent)
            .map(|((near, far), sent)| {
                scope.spawn(move || {
                    let _ = far.shutdown(Shutdown::Write);
                    let received = receive(near);
                    if let Ok(received) = received {
                        assert_eq!(received, *sent);
                    }
                    u64::from(received.is_ok())
                })
            })
            .collect();
        let whole = readers
            .into_iter()
            .map(|reader| reader.join().expect("read"));
        whole.sum()
    });
    assert_eq!(daemon.count("memory_resets") + whole, CONNECTIONS as u64);
}

fn waiting(daemon: &Daemon) -> u64 {
    daemon.status()["waiting_bytes"].as_u64().expect("a number")
}

/// Sockets of no process that the proxy's host still sends from.
fn orphans(hosts: &Hosts) -> usize {
    let text = hosts
        .proxy
        .sh("ss -tenHO state fin-wait-1 state closing state last-ack");
    text.lines().filter(|line| line.contains("ino:0 ")).count()
}

fn finished_and_unread_downloads_hold_no_more_than_their_ue_may() {
    // of so many bytes that a socket takes them whatever its share of the memory; together twice what is allowed
    const CONNECTIONS: usize = 250;
    const BYTES: usize = 30_000;
    const LIMIT: u64 = 4_000_000;
    let name = "finished_and_unread_downloads_hold_no_more_than_their_ue_may";
    let Some(hosts) = Hosts::try_new(name) else {
        return;
    };
    hosts.client.sh("ip addr add 10.45.0.3/24 dev c0");
    // a reader that comes back is sent to again soon; kernels before 6.15 double the time up to two minutes
    for host in [&hosts.proxy, &hosts.server] {
        host.sh("sysctl -qw net.ipv4.tcp_rto_max_ms=1000 || true");
    }
    let limits = "[limits]\nmemory-per-ue = \"4 MB\"\nsyn-rate-per-ue = 0\n";
    let mut daemon = Daemon::start(&hosts.proxy, &split(limits));
    let (address, listener) = server_at(&hosts, 5_604);
    let nears: Vec<TcpStream> = (0..CONNECTIONS)
        .map(|_| {
            let near = connect_narrow(&hosts.client, [10, 45, 0, 2], address);
            let (far, _) = accept(&listener);
            finish_unread(&near, far, BYTES);
            near
        })
        .collect();
    let connections = |state: &str| daemon.status()[state].as_u64().unwrap_or(0);
    daemon.wait_until("all ends are passed on", || {
        connections("connections") == connections("closing")
    });
    assert_eq!(orphans(&hosts), 0, "they belong to no connection");
    // all has been taken that there is: it grows no more
    daemon.wait_until("what is held is bounded", || socket_memory(&hosts) <= LIMIT);
    let resets = daemon.count("memory_resets");
    assert!(resets > 0);
    assert_eq!(daemon.status()["connections"], CONNECTIONS as u64 - resets);
    // another UE's end is whole, which it reads once it has been passed on
    let closing = connections("closing");
    let other = connect_narrow(&hosts.client, [10, 45, 0, 3], address);
    let (far, _) = accept(&listener);
    finish_unread(&other, far, BYTES);
    daemon.wait_until("its end is passed on", || {
        connections("closing") == closing + 1
    });
    assert_eq!(receive(&other).expect("received"), BYTES);
    daemon.wait_until("it is acknowledged", || daemon.count("finished") == 1);
    // and so are those that were kept; what is left of the last would not be acknowledged without rules
    let mut kept = nears.into_iter().filter(|near| !is_reset(near));
    let last = kept.next().expect("some are kept");
    for near in kept {
        assert_eq!(receive(&near).expect("received"), BYTES);
    }
    daemon.wait_until("all but one have gone", || connections("connections") == 1);
    assert_eq!(
        (daemon.count("finished"), daemon.count("memory_resets")),
        (CONNECTIONS as u64 - resets, resets)
    );
    assert!(daemon.stop().success());
    assert_eq!(end_of(&last), Err(ErrorKind::ConnectionReset));
}

/// The kernel has an error for it.
fn is_reset(stream: &TcpStream) -> bool {
    let error = sockopt::socket_error(stream).expect("its error");
    error.is_err()
}

fn an_end_that_is_not_acknowledged_has_its_time() {
    let Some(hosts) = Hosts::try_new("an_end_that_is_not_acknowledged_has_its_time") else {
        return;
    };
    let limits = "[limits]\nhalf-closed = \"700 ms\"\n";
    let daemon = Daemon::start(&hosts.proxy, &split(limits));
    let (address, listener) = server_at(&hosts, 5_605);
    let near = connect_narrow(&hosts.client, [10, 45, 0, 2], address);
    let (far, _) = accept(&listener);
    finish_unread(&near, far, 30_000);
    daemon.wait_until("it is reset", || daemon.count("idle_timeouts") == 1);
    assert_eq!(daemon.status()["connections"], 0);
    assert_eq!(end_of(&near), Err(ErrorKind::ConnectionReset));
}
