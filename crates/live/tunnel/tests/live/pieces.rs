//! What the kernel hands over in one piece.

use crate::Test;
use crate::support::{
    Daemon, Hosts, SERVER, SERVER_V6, client_config, one_path, plain, server_config,
};
use std::collections::BTreeSet;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;
use testing::wait_until;

pub const TESTS: &[Test] = &[(
    "datagrams_sent_in_one_call_arrive_each_as_it_was",
    datagrams_sent_in_one_call_arrive_each_as_it_was,
)];

/// Bytes of each but the last, and their number: more than two packets of the path hold.
const SIZE: usize = 1_000;
const COUNT: usize = 30;

/// Encrypted they travel in parts that are no datagrams, without encryption each by itself.
fn datagrams_sent_in_one_call_arrive_each_as_it_was() {
    let Some(hosts) = Hosts::try_new("datagrams_sent_in_one_call_arrive_each_as_it_was") else {
        return;
    };
    let datagram = |index: usize| {
        let length = if index + 1 == COUNT { SIZE / 3 } else { SIZE };
        testing::pattern(index * 7_919, length)
    };
    let all: Vec<u8> = (0..COUNT).flat_map(datagram).collect();
    let configs = |change: fn(&str) -> String| {
        let client = client_config("", &one_path(""));
        (change(&server_config("")), change(&client))
    };
    for (server, client) in [configs(str::to_owned), configs(plain)] {
        let _server = Daemon::start(&hosts.server, "server", &server);
        let client = Daemon::start(&hosts.client, "client", &client);
        client.wait_for_paths(1);
        for (from, any) in [
            (format!("{SERVER}:5020"), "0.0.0.0:0"),
            (format!("[{SERVER_V6}]:5021"), "[::]:0"),
        ] {
            let from: SocketAddr = from.parse().expect("an address");
            let sender = hosts.server.enter(|| UdpSocket::bind(from)).expect("bound");
            let segment = SIZE as i32;
            socket_options::set_int(&sender, libc::SOL_UDP, libc::UDP_SEGMENT, segment)
                .expect("the kernel cuts datagrams");
            let receiver = hosts.client.enter(|| UdpSocket::bind(any)).expect("bound");
            receiver.connect(from).expect("connected");
            receiver.send(b"here").expect("sent");
            let (_, to) = sender.recv_from(&mut [0; 16]).expect("it arrives");
            receiver
                .set_read_timeout(Some(Duration::from_millis(100)))
                .expect("set");
            let mut got = BTreeSet::new();
            // of UDP any may be lost on a busy machine
            wait_until("each has come", || {
                sender.send_to(&all, to).expect("sent");
                let mut buffer = [0; 65_535];
                while let Ok(length) = receiver.recv(&mut buffer) {
                    let same = |index: &usize| buffer[..length] == datagram(*index);
                    let index = (0..COUNT).find(same);
                    got.insert(index.expect("one of those that were sent"));
                }
                got.len() == COUNT
            });
        }
        assert_eq!(client.status()["device"]["malformed_pieces"], 0);
    }
}
