//! Judges that are browsers: Chromium without a window, driven by Playwright.
//!
//! ```text
//!   [Server: quic serve, nginx] ... cell ... [Ue: page.py, Chromium]        page-h3, page-h2
//!   [Server: call.py, Chromium] ... cell ... [Ue: call.py, Chromium]        call, call-scream
//!           \______ a socket of Unix: offers and answers ______/
//! ```

pub(super) mod call;
pub(super) mod download;
pub(super) mod page;
mod scripts;
