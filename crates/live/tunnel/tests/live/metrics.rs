//! The metrics among clients that send nothing.

use crate::Test;
use crate::support::{Daemon, Hosts, server_config};
use std::io::{Read, Write};
use std::net::TcpStream;
use testing::HANG_LIMIT;

pub const TESTS: &[Test] = &[(
    "silent_connections_do_not_keep_a_scrape_out",
    silent_connections_do_not_keep_a_scrape_out,
)];

/// One after the other, each would be waited for, for longer than a test may take.
fn silent_connections_do_not_keep_a_scrape_out() {
    let Some(hosts) = Hosts::try_new("silent_connections_do_not_keep_a_scrape_out") else {
        return;
    };
    let config = format!(
        "{}[metrics]\nlisten = \"127.0.0.1:9466\"\n",
        server_config("")
    );
    let _server = Daemon::start(&hosts.server, "server", &config);
    let connect = || hosts.server.enter(|| TcpStream::connect("127.0.0.1:9466"));
    let silent: Vec<TcpStream> = (0..60).map(|_| connect().expect("connected")).collect();
    let get = |path: &str| {
        let mut stream = connect().expect("connected");
        stream.set_read_timeout(Some(HANG_LIMIT)).expect("set");
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    };
    let page = get("/metrics");
    assert!(page.contains("brimful_tunnel_mtu_bytes "), "{page}");
    assert!(get("/status").contains("application/json"));
    assert!(get("/healthz").ends_with("\r\n\r\nok\n"));
    drop(silent);
}
