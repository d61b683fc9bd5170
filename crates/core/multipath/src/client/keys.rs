//! Another pre-shared key while the client runs.

use super::Client;
use crate::Payload;
use crate::auth::PreSharedKey;
use units::Instant;

impl<P: Payload> Client<P> {
    /// The connection ends at once, and a new one begins with this key; nothing if it is the key that there is.
    pub fn set_shared(&mut self, now: Instant, shared: Option<PreSharedKey>) {
        if shared == self.config.shared {
            return;
        }
        self.config.shared = shared;
        self.tunnel.fast_close(now);
        self.flush(now);
        self.begin_again(now);
        self.supervise(now);
    }
}
