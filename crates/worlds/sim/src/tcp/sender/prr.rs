//! Proportional rate reduction: how much to send in fast recovery.
//!
//! Source: RFC 6937 section 3 as revised by RFC 9937 section 6, amounts in bytes.
//!
//! *Deviations*
//! - RFC 6937 leaves the choice between the conservative (CRB) and the slow-start (SSRB) reduction
//!   bound; as in Linux and RFC 9937 it is CRB, and SSRB for an acknowledgement that advances without
//!   showing another loss ("safeACK").
//! - What nothing was delivered by (losses found by a timer) is computed too, so that the pipe that
//!   they leave is not refilled at once.

/// State of one recovery episode.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prr {
    /// RecoverFS: flight size as the episode began, > 0.
    recover_fs: u64,
    /// Where the window shall arrive.
    ssthresh: u64,
    /// Delivered in the episode.
    delivered: u64,
    /// Sent in the episode.
    out: u64,
    /// What may be in flight.
    cwnd: u64,
    mss: u64,
}

/// What an acknowledgement in recovery showed.
#[derive(Clone, Copy, Debug)]
pub(super) struct PrrAck {
    /// DeliveredData: newly acknowledged, cumulatively or selectively.
    pub(super) delivered: u64,
    /// In flight after the acknowledgement.
    pub(super) in_flight: u64,
    /// It advanced, and no further loss was found by it.
    pub(super) is_safe: bool,
}

/// RFC 6937 3.1: CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out, while too much is in flight.
fn proportional(delivered: u64, ssthresh: u64, recover_fs: u64, out: u64) -> u64 {
    let allowed = (u128::from(delivered) * u128::from(ssthresh)).div_ceil(u128::from(recover_fs));
    u64::try_from(allowed)
        .unwrap_or(u64::MAX)
        .saturating_sub(out)
}

/// RFC 9937 6.2: the reduction bound, once no more than ssthresh is in flight.
fn bounded(ack: &PrrAck, delivered: u64, out: u64, ssthresh: u64, mss: u64) -> u64 {
    let conservative = delivered.saturating_sub(out).max(ack.delivered);
    let limit = if ack.is_safe {
        conservative + mss
    } else {
        conservative
    };
    limit.min(ssthresh - ack.in_flight)
}

impl Prr {
    /// An episode begins with `recover_fs` in flight.
    pub(super) fn begin(recover_fs: u64, ssthresh: u64, mss: u64) -> Self {
        let recover_fs = recover_fs.max(mss);
        Self {
            recover_fs,
            ssthresh,
            delivered: 0,
            out: 0,
            cwnd: 0,
            mss,
        }
    }

    /// An acknowledgement arrived, also that which began the episode, or a timer found losses.
    pub(super) fn on_ack(&mut self, ack: &PrrAck) {
        self.delivered += ack.delivered;
        let mut send = if ack.in_flight > self.ssthresh {
            proportional(self.delivered, self.ssthresh, self.recover_fs, self.out)
        } else {
            bounded(ack, self.delivered, self.out, self.ssthresh, self.mss)
        };
        if self.out == 0 {
            send = send.max(self.mss); // the fast retransmit itself
        }
        self.cwnd = ack.in_flight + send;
    }

    /// Payload was sent, new or again.
    pub(super) fn on_sent(&mut self, bytes: u64) {
        self.out += bytes;
    }

    /// What may be in flight.
    pub(super) fn cwnd(&self) -> u64 {
        self.cwnd
    }
    /// Sent and delivered in the episode.
    #[cfg(test)]
    pub(super) fn progress(&self) -> (u64, u64) {
        (self.out, self.delivered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MSS: u64 = 1_000;

    /// Sends what PRR allows, in whole segments; returns how many.
    fn send(prr: &mut Prr, in_flight: &mut u64) -> u64 {
        let mut sent = 0;
        while *in_flight + MSS <= prr.cwnd() {
            *in_flight += MSS;
            prr.on_sent(MSS);
            sent += 1;
        }
        sent
    }

    /// RFC 6937 section 4, first figure: 20 segments in flight, the first lost, ssthresh 10; each
    /// acknowledgement acknowledges one. "PRR ... R N N N ...": about one for every two, evenly, and
    /// all ends with ssthresh in flight. (The RFC's figure begins at the third duplicate; SACKs before
    /// recovery are not counted as delivered in it.)
    #[test]
    fn rfc_6937_4_one_loss_of_20_sends_on_every_second_ack() {
        let (mut in_flight, ssthresh) = (20 * MSS, 10 * MSS);
        // three duplicates before: pipe is 20 - 3 - 1 lost
        in_flight -= 4 * MSS;
        let mut prr = Prr::begin(18 * MSS, ssthresh, MSS);
        let mut sent = Vec::new();
        prr.on_ack(&PrrAck {
            delivered: MSS,
            in_flight,
            is_safe: false,
        });
        sent.push(send(&mut prr, &mut in_flight));
        for _ in 4..20 {
            in_flight -= MSS;
            prr.on_ack(&PrrAck {
                delivered: MSS,
                in_flight,
                is_safe: false,
            });
            sent.push(send(&mut prr, &mut in_flight));
        }
        assert_eq!(sent[0], 1, "the fast retransmit leaves on the first");
        assert!(sent.iter().all(|&n| n <= 1), "no burst: {sent:?}");
        assert!(
            sent[1..].windows(3).all(|w| w.iter().sum::<u64>() >= 1),
            "no pause: {sent:?}"
        );
        assert_eq!(in_flight, ssthresh, "{sent:?}");
    }

    /// RFC 6937 section 4, second figure: 15 of 20 lost, ssthresh 10: pipe is below ssthresh at once,
    /// and the conservative bound sends exactly what is delivered.
    #[test]
    fn rfc_6937_4_a_burst_loss_sends_what_is_delivered() {
        let mut in_flight = 4 * MSS;
        let mut prr = Prr::begin(20 * MSS, 10 * MSS, MSS);
        prr.on_ack(&PrrAck {
            delivered: MSS,
            in_flight,
            is_safe: false,
        });
        assert_eq!(send(&mut prr, &mut in_flight), 1);
        for _ in 0..4 {
            in_flight -= MSS;
            prr.on_ack(&PrrAck {
                delivered: MSS,
                in_flight,
                is_safe: false,
            });
            assert_eq!(send(&mut prr, &mut in_flight), 1);
        }
        // acknowledgements of retransmissions advance: one more each, until ssthresh is reached
        in_flight -= MSS;
        prr.on_ack(&PrrAck {
            delivered: MSS,
            in_flight,
            is_safe: true,
        });
        assert_eq!(send(&mut prr, &mut in_flight), 2);
    }

    proptest! {
        /// RFC 6937 3: in flight falls to ssthresh and does not rise above, and while above no more
        /// is sent than the proportion, whatever the pattern of acknowledgements.
        #[test]
        fn in_flight_never_grows_beyond_ssthresh(
            start in 10u64..200,
            reduction in 0.3f64..0.9,
            acks in prop::collection::vec((1u64..4, any::<bool>()), 1..200),
        ) {
            let ssthresh = ((start as f64 * reduction) as u64).max(2) * MSS;
            let mut in_flight = start * MSS;
            let mut prr = Prr::begin(start * MSS, ssthresh, MSS);
            for (segments, is_safe) in acks {
                let delivered = (segments * MSS).min(in_flight);
                let before = in_flight;
                in_flight -= delivered;
                let is_above = in_flight > ssthresh;
                prr.on_ack(&PrrAck { delivered, in_flight, is_safe });
                let first = prr.progress().0 == 0;
                send(&mut prr, &mut in_flight);
                let forced = if first { MSS } else { 0 };
                prop_assert!(in_flight <= before.max(ssthresh) + forced);
                let (out, delivered_all) = prr.progress();
                if is_above && !first {
                    let allowed = (delivered_all * ssthresh).div_ceil(start * MSS);
                    prop_assert!(out <= allowed.max(MSS));
                }
            }
        }
    }
}
