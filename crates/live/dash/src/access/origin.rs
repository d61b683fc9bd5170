//! The origin of a page that makes a request, and the name by which it reached us.

use super::Refusal;
use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName};
use std::net::IpAddr;

/// That a request names one of our names or an address, and comes from no other site's page.
///
/// A foreign name can lead to this machine (DNS rebinding); an address cannot.
pub(super) fn check(headers: &HeaderMap, hosts: &[String]) -> Result<(), Refusal> {
    let host = text(headers, HOST).ok_or(Refusal::Host)?;
    if !is_ours(name(host), hosts) {
        return Err(Refusal::Host);
    }
    const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
    // "none" is the user's own doing: an address that was typed in, a bookmark
    if headers.contains_key(FETCH_SITE)
        && !matches!(text(headers, FETCH_SITE), Some("same-origin" | "none"))
        && !is_navigation(headers)
    {
        return Err(Refusal::CrossSite);
    }
    if !headers.contains_key(ORIGIN) {
        return Ok(());
    }
    let origin = text(headers, ORIGIN).and_then(|origin| origin.split_once("://"));
    match origin {
        Some(("http" | "https", from)) if from.eq_ignore_ascii_case(host) => Ok(()),
        _ => Err(Refusal::CrossSite),
    }
}

/// A link that was followed: it shows the page to the user, and nothing to the other site.
fn is_navigation(headers: &HeaderMap) -> bool {
    text(headers, HeaderName::from_static("sec-fetch-mode")) == Some("navigate")
}

/// A header that is there once, as text.
fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

/// A host without its port.
fn name(host: &str) -> &str {
    match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(rest),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    }
}

fn is_ours(name: &str, hosts: &[String]) -> bool {
    let is_local = name.eq_ignore_ascii_case("localhost");
    is_local
        || name.parse::<IpAddr>().is_ok()
        || hosts.iter().any(|host| host.eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn checked(headers: &[(&'static str, &'static str)]) -> Result<(), Refusal> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            );
        }
        check(&map, &["edge.example".to_owned()])
    }

    #[test]
    fn a_foreign_name_does_not_lead_here() {
        for ours in [
            "127.0.0.1:8080",
            "[::1]:8080",
            "localhost:8080",
            "LOCALHOST",
            "192.0.2.7",
            "edge.example:80",
        ] {
            assert_eq!(checked(&[("host", ours)]), Ok(()), "{ours}");
        }
        for theirs in [
            "evil.example:8080",
            "localhost.evil.example",
            "",
            "127.0.0.1.nip.io",
        ] {
            assert_eq!(checked(&[("host", theirs)]), Err(Refusal::Host), "{theirs}");
        }
        assert_eq!(checked(&[]), Err(Refusal::Host));
        let twice = [("host", "localhost"), ("host", "evil.example")];
        assert_eq!(checked(&twice), Err(Refusal::Host));
    }

    #[test]
    fn another_sites_page_gets_nothing() {
        let host = ("host", "127.0.0.1:8080");
        assert_eq!(
            checked(&[host, ("origin", "http://127.0.0.1:8080")]),
            Ok(())
        );
        for origin in [
            "http://evil.example",
            "http://127.0.0.1:8081",
            "null",
            "file://",
            "http://127.0.0.1:8080.evil.example",
        ] {
            let refused = checked(&[host, ("origin", origin)]);
            assert_eq!(refused, Err(Refusal::CrossSite), "{origin}");
        }
        let cross = ("sec-fetch-site", "cross-site");
        assert_eq!(checked(&[host, cross]), Err(Refusal::CrossSite));
        assert_eq!(checked(&[host, ("sec-fetch-site", "none")]), Ok(()));
        let link = ("sec-fetch-mode", "navigate");
        assert_eq!(checked(&[host, cross, link]), Ok(()));
    }
}
