//! The page and what belongs to it, out of the program itself.

use super::not_found;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{Html, IntoResponse, Response};

/// All files of the page by their names, in order; none if the page was not built.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// What is shown in place of a page that was not built.
const MISSING: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
    <title>Brimful</title><h1>Built without web/</h1>\
    <p>This program was built without the dashboard's page: run <code>make web</code>, and build \
    again. What the page would show is at <a href=\"api/info\">api/info</a> and below.</p></html>\n";

/// A file of the page.
pub(super) fn page(name: &str) -> Response {
    if FILES.is_empty() && name == "index.html" {
        return Html(MISSING).into_response();
    }
    let Ok(at) = FILES.binary_search_by(|(known, _)| (*known).cmp(name)) else {
        return not_found();
    };
    // names below assets/ change with what is in the files
    let caching = match name.starts_with("assets/") {
        true => "public, max-age=31536000, immutable",
        false => "no-cache",
    };
    let headers = [(CONTENT_TYPE, kind(name)), (CACHE_CONTROL, caching)];
    (headers, FILES[at].1).into_response()
}

fn kind(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, end)| end) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("woff2") => "font/woff2",
        Some("json" | "map" | "webmanifest") => "application/json",
        _ => "application/octet-stream",
    }
}
