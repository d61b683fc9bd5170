//! What is served.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;

/// The media type of Prometheus' text format.
pub const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";
/// The media type of plain text.
pub const PLAIN_TEXT: &str = "text/plain; charset=utf-8";

/// Where health is queried.
pub(crate) const HEALTH: &str = "/healthz";
/// A page is made so many times concurrently; further requests for it wait.
const MAX_CONCURRENT: usize = 2;

/// Makes the text of a page, or states why there is none now.
type Make = Box<dyn Fn() -> Result<String, &'static str> + Send + Sync>;

pub(crate) struct Page {
    pub(crate) path: &'static str,
    pub(crate) media_type: &'static str,
    pub(crate) make: Make,
    pub(crate) permits: Arc<Semaphore>,
}

/// Another server at the same port: the dashboard. It takes the connections whose first request is for it.
pub trait ConnectionTaker: Send + Sync {
    /// Where its paths begin.
    fn path(&self) -> &'static str;
    /// Takes a connection that is for it; gives any other back, with nothing read from it. Waits so long at most
    /// for the request to begin.
    fn offer(
        &self,
        stream: TcpStream,
        timeout: Duration,
    ) -> Pin<Box<dyn Future<Output = Option<TcpStream>> + Send + '_>>;
}

/// The pages of a server. `/healthz` is always one of them: it answers `ok` and waits for nothing.
#[derive(Default)]
pub struct Site {
    pub(crate) pages: Vec<Arc<Page>>,
    pub(crate) dashboard: Option<Box<dyn ConnectionTaker>>,
}

impl Site {
    /// With nothing but `/healthz`.
    pub fn new() -> Self {
        Self::default()
    }

    /// With a page at this path, of this media type. It is made for each request, on a thread named
    /// [`super::THREAD`], twice at once at most. An error is the reason why there is no page now: it is
    /// answered with 503. A panic is answered with 500.
    #[must_use]
    pub fn with_page(
        mut self,
        path: &'static str,
        media_type: &'static str,
        make: impl Fn() -> Result<String, &'static str> + Send + Sync + 'static,
    ) -> Self {
        self.pages.push(Arc::new(Page {
            path,
            media_type,
            make: Box::new(make),
            permits: Arc::new(Semaphore::new(MAX_CONCURRENT)),
        }));
        self
    }

    /// With a dashboard, which takes the connections that are for it.
    #[must_use]
    pub fn with_dashboard(self, dashboard: Option<impl ConnectionTaker + 'static>) -> Self {
        Self {
            dashboard: dashboard.map(|taker| Box::new(taker) as Box<dyn ConnectionTaker>),
            ..self
        }
    }

    pub(crate) fn page(&self, path: &str) -> Option<&Arc<Page>> {
        self.pages.iter().find(|page| page.path == path)
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        path == HEALTH || self.page(path).is_some()
    }

    /// Threads that can be busy with pages at once.
    pub(crate) fn threads(&self) -> usize {
        (self.pages.len() * MAX_CONCURRENT).max(1)
    }

    /// What a request for anything else is answered.
    pub(crate) fn paths(&self) -> String {
        let mut paths: Vec<&str> = self.pages.iter().map(|page| page.path).collect();
        paths.push(HEALTH);
        paths.extend(self.dashboard.iter().map(|taker| taker.path()));
        format!("there is {}\n", paths.join(", "))
    }
}

impl std::fmt::Debug for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.paths().trim_end())
    }
}
