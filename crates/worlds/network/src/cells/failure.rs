//! A UE that has lost its cell: how it is noticed, and how it comes back.

use super::measured::{measure, sinr};
use super::mobile::Numbered;
use super::transfer::name;
use super::{Cells, UnitEvent};
use mobility::{FailureKind, Handover, Reestablishment, Rsrp, UeContext};
use queue::Packet;
use ran::UeIndex;
use scenario::HandoverResult;
use units::{Duration, Instant};

/// What a UE without a cell has in place of one.
const NO_CELL: &str = "none";

impl<P: Packet + Send> Cells<P> {
    /// The SINR of the cell that serves, if it is due, and whether it has been lost.
    pub(super) fn monitor(&mut self, now: Instant, ue: usize) {
        let mobile = &mut self.ues[ue];
        if !mobile.is_monitored() {
            return;
        }
        let sinr = sinr(
            &mut mobile.radios,
            &self.shares[mobile.serving],
            mobile.serving,
            now,
        );
        mobile.monitor.on_sinr(now, sinr);
    }

    /// Whether the source is heard as it sends the command: if not, the handover is abandoned.
    pub(super) fn hears_command(&mut self, now: Instant, ue: usize, from: usize) -> bool {
        let mobile = &mut self.ues[ue];
        let sinr = sinr(&mut mobile.radios, &self.shares[from], from, now);
        // a stated one has been heard, as is stated
        let is_heard = mobile.stated.is_some() || mobile.monitor.config().is_heard(sinr);
        if !is_heard {
            mobile.handover = None;
            mobile.measurements.serve(from);
        }
        is_heard
    }

    /// What is due of a failure of the radio link, from its beginning to its end.
    pub(super) fn return_from_failure(&mut self, now: Instant, ue: usize) {
        let mobile = &mut self.ues[ue];
        if mobile.is_monitored() && mobile.monitor.has_failed(now) {
            self.fail(now, ue);
        }
        let mobile = &mut self.ues[ue];
        let Some(mut it) = mobile.reestablishment else {
            return;
        };
        if it.is_selecting(now) {
            it.select(now, self.best_suitable(now, ue));
            self.ues[ue].reestablishment = Some(it);
        }
        if let Some((to, context)) = it.access(now) {
            self.ues[ue].reestablishment = None;
            self.come_back(now, ue, (&it, to, context));
        }
    }

    /// The radio link has failed: the UE leaves its cell, which keeps what it has.
    fn fail(&mut self, now: Instant, ue: usize) {
        self.totals(now);
        let from = self.ues[ue].serving;
        let source = &mut self.cells[from];
        source.served -= 1;
        let left = source.access.let_go(now, UeIndex(ue));
        self.note_next(from);
        self.on_unit_event(UnitEvent::Left { ue });
        let mobile = &mut self.ues[ue];
        mobile.left_at[from] = Some(now);
        mobile.monitor.reset();
        mobile.measurements.suspend();
        mobile.handover = None;
        mobile.reestablishment = Some(Reestablishment::new(now, from, self.reestablishment));
        mobile.result = self.results.len();
        self.results.push(HandoverResult {
            ue: self.ue_names[ue].clone(),
            at: now,
            from: name(&self.cells, from),
            to: NO_CELL.to_owned(),
            interruption: Duration::ZERO,
            failure: Some(FailureKind::SameCell),
            forwarded: 0,
            lost: 0,
            is_ping_pong: false,
        });
        let kept = self.sort_all(now, ue, left, true);
        self.ues[ue].kept.extend(kept);
    }

    /// Of the cells in sync the one that is received best.
    fn best_suitable(&mut self, now: Instant, ue: usize) -> Option<usize> {
        let mobile = &mut self.ues[ue];
        let measured: Vec<Rsrp> = measure(&mut mobile.radios, now);
        let mut best: Option<usize> = None;
        for cell in 0..measured.len() {
            let sinr = sinr(&mut mobile.radios, &self.shares[cell], cell, now);
            let is_better = best.is_none_or(|best| measured[cell] > measured[best]);
            if is_better && mobile.monitor.config().is_suitable(sinr) {
                best = Some(cell);
            }
        }
        best
    }

    /// The UE is served again.
    fn come_back(
        &mut self,
        now: Instant,
        ue: usize,
        (it, to, context): (&Reestablishment, usize, UeContext),
    ) {
        let (from, failed_at) = (it.source(), it.failed_at());
        let to_name = name(&self.cells, to);
        let mobile = &mut self.ues[ue];
        let kind = FailureKind::of((from, to), failed_at, mobile.handed_over);
        if let Some(result) = self.results.get_mut(mobile.result) {
            result.to = to_name;
            result.interruption = now.saturating_since(failed_at);
            result.failure = Some(kind);
        }
        let kept = core::mem::take(&mut mobile.kept);
        match context {
            UeContext::Kept => {
                self.serve_at_once(now, ue, to);
                for packet in kept {
                    self.enter_downlink(now, packet);
                }
            }
            UeContext::Fetched => {
                mobile.handover = Some(Handover::after_failure(now, from, to, self.timing));
                for packet in kept {
                    match self.is_forwarding {
                        true => self.forward(now, packet),
                        false => self.lose(now, packet),
                    }
                }
            }
            UeContext::Released => {
                // the UE has released its bearers too
                let uplink: Vec<Numbered<P>> = mobile.uplink.drain(..).collect();
                for packet in kept.into_iter().chain(uplink) {
                    self.lose(now, packet);
                }
                self.serve_at_once(now, ue, to);
            }
        }
    }

    /// A cell serves the UE to which packets come already.
    fn serve_at_once(&mut self, now: Instant, ue: usize, to: usize) {
        self.access(now, ue, to);
        let mobile = &mut self.ues[ue];
        mobile.path = to;
        mobile.target = mobility::TargetBuffer::default();
        mobile.measurements.serve(to);
    }
}
