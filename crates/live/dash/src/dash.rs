//! What is shown, and the rules of access to it.

use crate::access::Access;
use crate::feed::Feed;
use crate::results::Library;
use std::sync::Arc;

/// What there is to see.
#[derive(Debug)]
pub(crate) enum Content {
    /// What is measured now.
    Live(Feed),
    /// What was measured.
    Results(Arc<Library>),
}

/// A dashboard. Clones are the same one.
#[derive(Clone, Debug)]
pub struct Dash {
    pub(crate) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) content: Content,
    pub(crate) access: Access,
}

impl Dash {
    /// Of live values.
    pub fn live(feed: Feed, access: Access) -> Self {
        Self::of(Content::Live(feed), access)
    }

    /// Of result folders.
    pub fn results(library: Library, access: Access) -> Self {
        Self::of(Content::Results(Arc::new(library)), access)
    }

    fn of(content: Content, access: Access) -> Self {
        Self {
            shared: Arc::new(Shared { content, access }),
        }
    }

    /// The rules of access to it.
    pub fn access(&self) -> &Access {
        &self.shared.access
    }
}
