//! The token, as a browser from afar would show it.

use super::{about, request, serve};
use dash::{Access, Dash, Feed, Token};
use testing::wait_for;

const TOKEN: &str = "0123456789abcdef";
/// A server on this machine that hands requests on.
const AFAR: (&str, &str) = ("X-Forwarded-For", "192.0.2.1");

fn address() -> std::net::SocketAddr {
    let token = Token::new(TOKEN, "a test").expect("a token");
    let hosts = vec!["edge.example".to_owned()];
    serve(Dash::live(
        Feed::new(about()),
        Access::new(Some(token), hosts),
    ))
}

#[test]
fn the_right_token_gives_a_cookie_that_opens() {
    let address = address();
    let info = request(address, "GET", "/dash/api/info", &[AFAR], "").json();
    assert_eq!(info["needs_token"], true);
    assert_eq!(info["title"], "Brimful", "no names without a login");
    let closed = request(address, "GET", "/dash/api/results", &[AFAR], "");
    assert_eq!(closed.status, 401);
    assert!(
        closed.json()["error"]
            .as_str()
            .expect("a text")
            .contains("log in")
    );
    let body = format!("{{\"token\":\"{TOKEN}\"}}");
    let login = request(address, "POST", "/dash/api/login", &[AFAR], &body);
    assert_eq!((login.status, login.body.as_str()), (204, ""));
    let cookie = login
        .head
        .lines()
        .find_map(|line| line.strip_prefix("set-cookie: "))
        .expect("a cookie");
    for part in ["HttpOnly", "SameSite=Strict", "Path=/dash/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let value = cookie.split(';').next().expect("a value");
    let info = request(
        address,
        "GET",
        "/dash/api/info",
        &[AFAR, ("Cookie", value)],
        "",
    );
    assert_eq!(info.json()["needs_token"], false);
}

#[test]
fn wrong_tokens_are_rejected_and_soon_delayed() {
    let address = address();
    let login = |body: &str| request(address, "POST", "/dash/api/login", &[AFAR], body);
    assert_eq!(login("nonsense").status, 400);
    assert_eq!(login("{\"token\":7}").status, 400);
    for k in 0..5 {
        let wrong = login(&format!("{{\"token\":\"guess {k}\"}}"));
        assert_eq!(wrong.status, 401);
        assert_eq!(wrong.json()["error"], "the token is wrong");
    }
    // one more in ten seconds: a second one within that time is delayed
    let delayed = wait_for("a delayed login", || {
        let answer = login("{\"token\":\"guess\"}");
        (answer.status != 401).then_some(answer)
    });
    assert_eq!(delayed.status, 429);
    assert!(delayed.head.contains("retry-after: "), "{}", delayed.head);
    // neither another client of the reverse proxy is, nor one on this machine
    let other = ("Forwarded", "for=192.0.2.99");
    let wrong = request(
        address,
        "POST",
        "/dash/api/login",
        &[other],
        "{\"token\":\"x\"}",
    );
    assert_eq!(wrong.status, 401);
    assert_eq!(
        request(address, "GET", "/dash/api/info", &[], "").status,
        200
    );
}

#[test]
fn foreign_names_and_pages_are_refused_and_configured_names_are_not() {
    let address = address();
    let info =
        |headers: &[(&str, &str)]| request(address, "GET", "/dash/api/info", headers, "").status;
    assert_eq!(info(&[("Host", "edge.example:8080")]), 200);
    assert_eq!(info(&[("Host", "rebound.example:8080")]), 403);
    assert_eq!(info(&[("Origin", "http://evil.example")]), 403);
    assert_eq!(info(&[("Sec-Fetch-Site", "cross-site")]), 403);
}

#[test]
fn a_body_that_is_too_long_is_refused() {
    let long = "x".repeat(100_000);
    let answer = request(address(), "POST", "/dash/api/login", &[AFAR], &long);
    assert_eq!(answer.status, 413);
}
