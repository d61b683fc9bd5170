//! Whole connections to the dashboard, of any bytes: of a stranger, who is shown nothing without the token, and of
//! a program on this machine or behind a reverse proxy. The first byte selects.
#![no_main]

use axum::Extension;
use dash::{About, Access, Dash, Feed, Peer, Source, Token, World};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use libfuzzer_sys::fuzz_target;
use std::cell::Cell;
use std::net::{IpAddr, Ipv4Addr};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex, split};
use tokio::runtime::{Builder, Runtime};

/// What only those see who may.
const TITLE: &str = "a-name-of-a-scenario";
/// Nothing guesses it.
const TOKEN: &str = "5vZq0kXw7c2RtYbN9sLd";

struct Served {
    runtime: Runtime,
    router: axum::Router,
    /// Each stranger has an address of its own: the limit on wrong tokens is not what is tried here.
    strangers: Cell<u32>,
}

thread_local! {
    static SERVED: Served = {
        let about = About { title: TITLE.to_owned(), world: World::Sim, source: Source::Run };
        let token = Token::new(TOKEN, "the target").expect("long enough");
        let access = Access::new(Some(token), vec!["lab.example".to_owned()]);
        Served {
            runtime: Builder::new_current_thread().enable_all().build().expect("a runtime"),
            router: dash::router(&Dash::live(Feed::new(about), access)),
            strangers: Cell::new(0),
        }
    };
}

fuzz_target!(|bytes: &[u8]| {
    let Some((kind, bytes)) = bytes.split_first() else {
        return;
    };
    let is_stranger = kind % 2 == 0;
    SERVED.with(|served| {
        let peer = match is_stranger {
            true => {
                let number = served.strangers.get().wrapping_add(1);
                served.strangers.set(number);
                // 10.0.0.0/8
                Ipv4Addr::from(0x0a00_0000 | number & 0x00ff_ffff)
            }
            false => Ipv4Addr::LOCALHOST,
        };
        let answer = served
            .runtime
            .block_on(converse(served, IpAddr::V4(peer), bytes));
        if answer.is_empty() {
            return;
        }
        assert!(
            answer.starts_with(b"HTTP/1."),
            "{}",
            String::from_utf8_lossy(&answer)
        );
        let is_shown = answer
            .windows(TITLE.len())
            .any(|part| part == TITLE.as_bytes());
        assert!(!(is_shown && is_stranger), "a stranger is shown names");
    });
});

/// Sends all bytes, then an end; what comes back.
async fn converse(served: &Served, peer: IpAddr, bytes: &[u8]) -> Vec<u8> {
    let (near, far) = duplex(1 << 20);
    let router = served.router.clone().layer(Extension(Peer(peer)));
    let serve = http1::Builder::new()
        .max_buf_size(32 << 10)
        .serve_connection(TokioIo::new(far), TowerToHyperService::new(router))
        .with_upgrades();
    let (mut read, mut write) = split(near);
    let mut answer = Vec::new();
    let talk = async {
        // a server that has closed reads no more
        let _ = write.write_all(bytes).await;
        let _ = write.shutdown().await;
        let _ = read.read_to_end(&mut answer).await;
    };
    let _ = tokio::join!(serve, talk);
    answer
}
