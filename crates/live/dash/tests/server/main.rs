//! The dashboard's server over real connections.
#![allow(missing_docs, reason = "tests")]

mod crowd;
mod hosted;
mod live;
mod login;
mod request;
mod results;

use dash::{About, Access, Dash, Feed, Kind, Server, Source, World};
use request::request;
use std::net::SocketAddr;

fn about() -> About {
    About {
        title: "a test".into(),
        world: World::Live,
        source: Source::Pep,
    }
}

fn serve(dash: Dash) -> SocketAddr {
    let any = "127.0.0.1:0".parse().expect("an address");
    let server = Server::bind(any, dash).expect("a port");
    let address = server.address();
    server.spawn().expect("a thread");
    address
}

fn live() -> (Feed, SocketAddr) {
    let feed = Feed::new(about());
    let dash = Dash::live(feed.clone(), Access::new(None, Vec::new()));
    (feed, serve(dash))
}

/// A round with two values.
fn round(feed: &Feed, k: u32) {
    let mut round = feed.round(f64::from(k) * 0.02);
    round.put(Kind::Flow, "bulk", Some("phone"), "rtt_ms", f64::from(k));
    round.put(Kind::Ue, "phone", None, "cqi", 9.0);
    round.finish();
}

#[test]
fn the_page_names_what_it_may_load_and_the_rest_is_not_there() {
    let (_feed, address) = live();
    let page = request(address, "GET", "/dash/", &[], "");
    assert_eq!(page.status, 200);
    assert!(page.head.contains("text/html"), "{}", page.head);
    for header in [
        "content-security-policy: default-src 'none'",
        "x-content-type-options: nosniff",
        "x-frame-options: DENY",
    ] {
        assert!(page.head.contains(header), "{}", page.head);
    }
    assert_eq!(request(address, "GET", "/", &[], "").status, 307);
    for missing in [
        "/dash/assets/none.js",
        "/dash/../Cargo.toml",
        "/dash/%2e%2e/%2e%2e/etc/passwd",
        "/dash/api/none",
        "/dash/api/results",
        "/elsewhere",
    ] {
        assert_eq!(
            request(address, "GET", missing, &[], "").status,
            404,
            "{missing}"
        );
    }
    let rejected = request(address, "DELETE", "/dash/api/info", &[], "");
    assert_eq!(rejected.status, 405);
}

#[test]
fn info_describes_what_there_is_to_see() {
    let (_feed, address) = live();
    let info = request(address, "GET", "/dash/api/info", &[], "").json();
    assert_eq!(info["mode"], "live");
    assert_eq!(info["title"], "a test");
    assert_eq!(info["source"], "pep");
    assert_eq!(info["format"], 1);
    assert_eq!(info["needs_token"], false);
}

#[test]
fn an_address_for_others_needs_a_token_and_one_that_is_taken_is_named() {
    let dash = || Dash::live(Feed::new(about()), Access::new(None, Vec::new()));
    let everywhere = "0.0.0.0:0".parse().expect("an address");
    let error = Server::bind(everywhere, dash()).expect_err("refused");
    assert!(
        error.is_input() && error.to_string().contains("token-file"),
        "{error}"
    );
    let taken = serve(dash());
    let error = Server::bind(taken, dash()).expect_err("taken");
    assert!(!error.is_input() && error.to_string().contains(&taken.to_string()));
}
