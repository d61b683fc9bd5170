//! The handshake: SYN, SYN-ACK and what they agree on.

use super::super::accecn::{Ace, Agreement, of_syn, of_syn_ack};
use super::super::config::EcnEcho;
use super::super::segment::{Flags, SackBlocks, Segment};
use super::{Connection, State};
use queue::Ecn;
use recovery::rto::INITIAL_RTO;
use units::Instant;

/// SYNs or SYN-ACKs sent again before the peer is given up (Linux `tcp_syn_retries`).
pub(super) const SYN_RETRIES: u32 = 6;

/// The SYN or SYN-ACK on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handshake {
    /// It must be sent now.
    pub(super) is_due: bool,
    /// When it is sent again.
    pub(super) deadline: Instant,
    /// When it was sent first.
    first_sent_at: Instant,
    /// How often it was sent.
    pub(super) sent: u32,
}

impl Default for Handshake {
    /// Nothing to send, nothing sent.
    fn default() -> Self {
        Self {
            is_due: false,
            deadline: Instant::MAX,
            first_sent_at: Instant::ZERO,
            sent: 0,
        }
    }
}

impl Connection {
    pub(super) fn on_first_syn(&mut self, now: Instant, segment: &Segment) {
        if segment.flags.contains(Flags::SYN) && !segment.flags.contains(Flags::ACK) {
            self.receiver.on_syn(segment);
            self.agree_on_ecn_of_syn(segment);
            self.sender.on_feedback(now, segment);
            self.sender.on_peer_window(1, segment.window);
            self.state = State::SynReceived;
            self.handshake.is_due = true;
        }
    }

    pub(super) fn on_syn_ack(&mut self, now: Instant, segment: &Segment) {
        let is_syn_ack = segment.flags.contains(Flags::SYN | Flags::ACK);
        if is_syn_ack && segment.ack == 1 {
            self.receiver.on_syn(segment);
            self.agree_on_ecn_of_syn_ack(segment);
            self.receiver.require_ack();
            self.establish(now, segment);
        }
    }

    /// RFC 3168 6.1.1, RFC 9768 3.1.2: what a server's configuration and the client's SYN have in common.
    fn agree_on_ecn_of_syn(&mut self, syn: &Segment) {
        let Some(ecn) = self.ecn else { return };
        let is_classic = syn.flags.contains(Flags::ECE | Flags::CWR);
        self.agreement = match (ecn.echo, of_syn(syn.flags)) {
            (EcnEcho::Accurate, Agreement::Accurate(_)) => Agreement::Accurate(Some(syn.ecn)),
            (EcnEcho::Accurate, agreement) => agreement,
            (_, _) if is_classic => Agreement::Classic,
            (_, _) => Agreement::None,
        };
        match self.agreement {
            Agreement::Accurate(_) => {
                self.sender.use_counters(ecn.codepoint(), true, None);
                self.receiver.use_counters(None);
            }
            Agreement::Classic => self.use_classic_ecn(),
            Agreement::None => {}
        }
    }

    /// The same of a client's configuration and the server's SYN-ACK.
    fn agree_on_ecn_of_syn_ack(&mut self, syn_ack: &Segment) {
        let Some(ecn) = self.ecn else { return };
        let flags = syn_ack.flags;
        let is_classic = flags.contains(Flags::ECE) && !flags.contains(Flags::CWR);
        self.agreement = match ecn.echo {
            EcnEcho::Accurate => of_syn_ack(flags),
            _ if is_classic => Agreement::Classic,
            _ => Agreement::None,
        };
        match self.agreement {
            Agreement::Accurate(syn) => {
                self.sender.use_counters(ecn.codepoint(), false, syn);
                self.receiver.use_counters(Some(syn_ack.ecn));
                if syn_ack.accecn.is_some() {
                    self.sender.on_option_seen();
                }
            }
            Agreement::Classic => self.use_classic_ecn(),
            Agreement::None => {}
        }
    }

    /// Feedback of RFC 3168, or RFC 8257's where both ends are configured so. What an L4S sender sends is then
    /// not ECN-capable.
    fn use_classic_ecn(&mut self) {
        let Some(ecn) = self.ecn else { return };
        match ecn.echo {
            EcnEcho::Accurate => {
                self.receiver.use_ecn(EcnEcho::UntilReduced);
                if !ecn.is_ect1 {
                    self.sender.use_ecn(ecn.codepoint());
                }
            }
            echo => {
                self.receiver.use_ecn(echo);
                self.sender.use_ecn(ecn.codepoint());
            }
        }
    }

    /// The flags of the SYN or SYN-ACK that leaves for the `sent`-th time.
    fn handshake_flags(&mut self, is_answer: bool, sent: u32) -> Flags {
        let is_accurate = self.ecn.is_some_and(|ecn| ecn.echo == EcnEcho::Accurate);
        match (is_answer, self.agreement) {
            (true, Agreement::Classic) => Flags::ECE,
            // RFC 9768 3.2.3.2.2: the third is without
            (true, Agreement::Accurate(syn)) if sent <= 2 => {
                Ace::of_handshake(syn.unwrap_or(Ecn::NotEct)).flags()
            }
            (true, _) => {
                self.sender.stop_ecn();
                Flags::NONE
            }
            // 3.1.4.1
            (false, _) if is_accurate && sent <= 2 => Flags::AE | Flags::CWR | Flags::ECE,
            // RFC 3168 6.1.1.1, and Linux: a repeated SYN requests nothing that a middlebox could drop it for
            (false, _) if self.ecn.is_some() && !is_accurate && sent == 1 => {
                Flags::ECE | Flags::CWR
            }
            (false, _) => Flags::NONE,
        }
    }

    pub(super) fn on_third_segment(&mut self, now: Instant, segment: &Segment) {
        if segment.flags.contains(Flags::SYN) {
            self.handshake.is_due = true; // the SYN-ACK was lost or is late
            if let Agreement::Accurate(syn) = &mut self.agreement {
                *syn = Some(segment.ecn);
                if Ace::of(segment.flags) == Ace::of(Flags::NONE) {
                    self.sender.stop_ecn(); // RFC 9768 3.1.5
                }
            }
        } else if segment.flags.contains(Flags::ACK) && segment.ack >= 1 {
            self.establish(now, segment);
            self.on_open_segment(now, segment);
        }
    }

    fn establish(&mut self, now: Instant, segment: &Segment) {
        self.state = State::Open;
        self.handshake.deadline = Instant::MAX;
        self.handshake.is_due = false;
        self.sender.on_peer_window(segment.ack, segment.window);
        // Karn: a SYN sent twice is distinguished by its echoed timestamp (RFC 7323 4.1)
        let sent_at = if self.handshake.sent == 1 {
            self.handshake.first_sent_at
        } else {
            segment.ts_ecr
        };
        self.sender
            .on_established(Some(now.saturating_since(sent_at)));
    }

    pub(super) fn handshake_segment(&mut self, now: Instant) -> Segment {
        let h = &mut self.handshake;
        h.is_due = false;
        if h.sent == 0 {
            h.first_sent_at = now;
        }
        // RFC 6298 5.5: doubled each time
        h.deadline = now + INITIAL_RTO * (1 << h.sent.min(SYN_RETRIES));
        h.sent += 1;
        let is_retransmission = h.sent > 1;
        let is_answer = self.state == State::SynReceived;
        let sent = h.sent;
        let ecn = self.handshake_flags(is_answer, sent);
        // RFC 9768 3.2.3.2.1 and 3.2.3.2.2
        let has_option = is_answer && sent == 1 && matches!(self.agreement, Agreement::Accurate(_));
        let fields = self.receiver.syn_fields();
        Segment {
            seq: 0,
            ack: fields.ack,
            window: fields.window,
            ts_val: now,
            ts_ecr: fields.ts_ecr,
            ts_ticks: self.ticks(now),
            report: fields.report,
            accecn: self.receiver.syn_ack_option().filter(|_| has_option),
            origin: now,
            len: 0,
            sack: SackBlocks::NONE,
            flags: if is_answer {
                Flags::SYN | Flags::ACK | ecn
            } else {
                Flags::SYN | ecn
            },
            ecn: Ecn::NotEct,
            is_retransmission,
        }
    }
}
