//! How a client's end is configured, and the times of its supervision.

use crate::auth::PreSharedKey;
use crate::tunnel::TunnelConfig;
use units::Duration;

/// Of a client.
#[derive(Clone, Debug)]
pub struct ClientConfig {
    /// Of every connection, but for the times that are in `supervision` too.
    pub tunnel: TunnelConfig,
    /// The pre-shared key; none: the client proves nothing (see [`crate::auth`]).
    pub shared: Option<PreSharedKey>,
    /// When paths are opened again, and connections begun anew.
    pub supervision: Supervision,
    /// DCCP's local port of the first path that is opened; each that is opened later has the next one,
    /// 0 left out. Ports distinguish paths behind one address.
    pub first_port: u16,
}

/// The times of a client's supervision. Each is a key by the same name, with `-` for `_`, of the daemon's
/// `[supervision]` and a scenario's `[tunnel.supervision]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Supervision {
    /// A path that could not be opened (no such interface, no route, no answer to its handshake) is opened
    /// again after so long. 2 s: an attempt costs a socket and a few packets.
    pub retry_interval: Duration,
    /// A path that had been up is opened again at once when it ends, but no two times within so long; nor
    /// is a socket renewed more often because of what the network reports. 250 ms bounds what a server that
    /// ends a path again and again costs.
    pub reopen_interval: Duration,
    /// A path over datagrams that does not answer gets a new socket after so long: its interface may have
    /// another address by now, or a NAT on the way another mapping. 500 ms: two probes of the path have
    /// remained unanswered then.
    pub renew_after: Duration,
    /// If a path does not answer then either, or has not answered since it was opened, another socket after
    /// so long. A path over TCP gets its new connection only then, as the kernel sends again what was lost.
    pub renew_interval: Duration,
    /// A connection none of whose paths has answered for so long is given up and a new one begun: the server
    /// may have dropped it. 12 s is more than a handshake takes that is repeated eight times, and than
    /// three sockets of a path.
    pub connection_timeout: Duration,
    /// A connection that the server does not have is replaced at once, but no two within so long.
    pub connection_interval: Duration,
    /// First wait for an answer of a path's handshake; doubles each time. RFC 4340 8.1.1 has 1 s, which is long
    /// where another path may do.
    pub handshake_retry: Duration,
    /// Longest wait between attempts of a handshake, where RFC 4340 8.1.1 has 64 s: a path that works again, or a
    /// server that is back, is found within that.
    pub handshake_max_retry: Duration,
    /// Longest wait between the probes of a path that does not answer.
    pub max_probe_interval: Duration,
}

impl Default for Supervision {
    fn default() -> Self {
        Self {
            retry_interval: Duration::from_secs(2),
            reopen_interval: Duration::from_millis(250),
            renew_after: Duration::from_millis(500),
            renew_interval: Duration::from_secs(3),
            connection_timeout: Duration::from_secs(12),
            connection_interval: Duration::from_secs(1),
            handshake_retry: Duration::from_millis(300),
            handshake_max_retry: Duration::from_millis(600),
            max_probe_interval: Duration::from_millis(500),
        }
    }
}

/// Why times of a supervision are rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{key} = {value}; allowed are {} to {}",
    Supervision::MIN,
    Supervision::MAX
)]
pub struct SupervisionError {
    /// The key.
    pub key: &'static str,
    /// Its value.
    pub value: Duration,
}

impl Supervision {
    /// The shortest of any of its times: shorter ones would be attempts without a pause.
    pub const MIN: Duration = Duration::from_millis(10);
    /// The longest.
    pub const MAX: Duration = Duration::from_secs(3_600);

    /// All times by their keys, in the order of the fields.
    pub fn keys(&mut self) -> [(&'static str, &mut Duration); 9] {
        [
            ("retry-interval", &mut self.retry_interval),
            ("reopen-interval", &mut self.reopen_interval),
            ("renew-after", &mut self.renew_after),
            ("renew-interval", &mut self.renew_interval),
            ("connection-timeout", &mut self.connection_timeout),
            ("connection-interval", &mut self.connection_interval),
            ("handshake-retry", &mut self.handshake_retry),
            ("handshake-max-retry", &mut self.handshake_max_retry),
            ("max-probe-interval", &mut self.max_probe_interval),
        ]
    }

    /// A connection's configuration with these times.
    pub(super) fn applied_to(&self, tunnel: &TunnelConfig) -> TunnelConfig {
        TunnelConfig {
            handshake_retry: self.handshake_retry,
            handshake_max_retry: self.handshake_max_retry,
            max_probe_interval: self.max_probe_interval,
            ..tunnel.clone()
        }
    }

    /// A time, if it is between [`Self::MIN`] and [`Self::MAX`].
    pub fn allowed(time: Duration) -> Option<Duration> {
        (Self::MIN..=Self::MAX).contains(&time).then_some(time)
    }

    /// That every time is between [`Self::MIN`] and [`Self::MAX`].
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(mut self) -> Result<Self, SupervisionError> {
        for (key, value) in self.keys() {
            let value = *value;
            Self::allowed(value).ok_or(SupervisionError { key, value })?;
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_out_of_range_are_rejected_by_their_key() {
        assert_eq!(Supervision::default().check(), Ok(Supervision::default()));
        let mut wrong = Supervision {
            renew_after: Duration::ZERO,
            ..Supervision::default()
        };
        let error = wrong.check().expect_err("rejected").to_string();
        assert_eq!(error, "renew-after = 0 s; allowed are 10 ms to 3600 s");
        for (_, value) in wrong.keys() {
            *value = Supervision::MAX + Duration::from_nanos(1);
        }
        assert_eq!(wrong.check().map_err(|e| e.key), Err("retry-interval"));
    }
}
