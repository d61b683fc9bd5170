//! What the kernel reports of the senders' connections, for the time series.

use super::TICK;
use crate::Error;
use crate::clock::Clock;
use cc::{RateReport, RateView};
use kernel_cc::cdbe::Attached;
use network::measure::{FlowStep, SenderStep, SeriesSet};
use scenario::Metric;
use socket_options::TcpInfo;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use units::{Bytes, Duration, Instant};

/// What is known of a flow's latest connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EndStates {
    /// What the sender's kernel reports of it.
    pub(crate) sender: Option<TcpInfo>,
    /// What the client measures of its bandwidth.
    pub(crate) report: Option<RateReport>,
    /// What the sender makes of reports and delays.
    pub(crate) view: Option<RateView>,
    /// What MELD has decided of the flow's losses, if it has it.
    pub(crate) losses: Option<Losses>,
}

/// Losses so far, by what MELD took them for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Losses {
    pub(crate) congestion: u64,
    pub(crate) radio: u64,
    /// Congestion, for there was no fresh report.
    pub(crate) unknown: u64,
}

impl Losses {
    /// Passes them to a step of the time series of a flow.
    pub(crate) fn record(&self, now: Instant, flow: &str, series: &mut SeriesSet) {
        for (metric, count) in [
            (Metric::LossCongestion, self.congestion),
            (Metric::LossRadio, self.radio),
            (Metric::LossUnknown, self.unknown),
        ] {
            series.record(flow, metric, now, count as f64);
        }
    }
}

impl core::ops::Add for Losses {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            congestion: self.congestion + other.congestion,
            radio: self.radio + other.radio,
            unknown: self.unknown + other.unknown,
        }
    }
}

impl EndStates {
    /// Its part of a step of the time series.
    pub(crate) fn step(&self) -> FlowStep {
        let sender = |info: &TcpInfo| {
            let segments = (info.unacked + info.retrans).saturating_sub(info.sacked + info.lost);
            let mss = Bytes::new(info.snd_mss.into());
            SenderStep {
                bytes_in_flight: mss * u64::from(segments),
                cwnd: mss * u64::from(info.snd_cwnd),
                peer_window: Some(Bytes::new(info.snd_wnd.into())),
            }
        };
        FlowStep {
            sender: self.sender.as_ref().map(sender),
            report: self.report,
            view: self.view,
        }
    }
}

/// What a server over QUIC has been reported, and makes of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reported {
    pub(crate) report: RateReport,
    pub(crate) view: RateView,
}

/// The state of the latest connection of each flow. Asking the kernel may take the lock of a socket, so
/// that it is done by a thread of its own, and not by the radio.
#[derive(Debug)]
pub(crate) struct SenderStates {
    sockets: Mutex<Vec<Weak<OwnedFd>>>,
    clients: Mutex<Vec<Weak<OwnedFd>>>,
    states: Mutex<Vec<EndStates>>,
    /// What servers over QUIC set, of flows that have any.
    reported: Mutex<Vec<Option<Reported>>>,
    /// What MELD decided, of flows that have it.
    losses: Mutex<Vec<Option<Losses>>>,
    cdbe: Option<Arc<Attached>>,
}

impl SenderStates {
    /// For so many flows, some of which may be CDBE's.
    pub(crate) fn new(flows: usize, cdbe: Option<Arc<Attached>>) -> Self {
        let none = || Mutex::new((0..flows).map(|_| Weak::new()).collect());
        Self {
            sockets: none(),
            clients: none(),
            states: Mutex::new(vec![EndStates::default(); flows]),
            reported: Mutex::new(vec![None; flows]),
            losses: Mutex::new(vec![None; flows]),
            cdbe,
        }
    }

    /// From now on, this is the flow's sender, as long as its thread holds it.
    pub(crate) fn register(&self, flow: usize, socket: &Arc<OwnedFd>) {
        lock(&self.sockets)[flow] = Arc::downgrade(socket);
    }

    /// From now on, this is the flow's client, as long as its thread holds it.
    pub(crate) fn register_client(&self, flow: usize, socket: &Arc<OwnedFd>) {
        lock(&self.clients)[flow] = Arc::downgrade(socket);
    }

    /// Sets the latest report to the server over QUIC; `None` clears it.
    pub(crate) fn set(&self, flow: usize, reported: Option<Reported>) {
        lock(&self.reported)[flow] = reported;
    }

    /// Sets what MELD has decided of a flow's losses so far.
    pub(crate) fn set_losses(&self, flow: usize, losses: Losses) {
        lock(&self.losses)[flow] = Some(losses);
    }

    /// The states, as of the last step.
    pub(crate) fn get(&self) -> Vec<EndStates> {
        lock(&self.states).clone()
    }

    /// Keeps the states fresh until `stop`.
    pub(crate) fn watch(
        self: &Arc<Self>,
        clock: Clock,
        step: Duration,
        stop: Arc<AtomicBool>,
    ) -> Result<JoinHandle<()>, Error> {
        let this = Arc::clone(self);
        std::thread::Builder::new()
            .name("senders".to_owned())
            .spawn(move || {
                let mut next = Instant::ZERO;
                while !stop.load(Ordering::Relaxed) {
                    let now = clock.now();
                    if step.is_zero() || now < next {
                        let until = if step.is_zero() { now + TICK } else { next };
                        clock.sleep_until(until.min(now + TICK));
                        continue;
                    }
                    this.refresh();
                    next = now + step;
                }
            })
            .map_err(Error::system("start a thread"))
    }

    fn refresh(&self) {
        let held = |of: &Mutex<Vec<Weak<OwnedFd>>>| -> Vec<_> {
            lock(of).iter().map(Weak::upgrade).collect()
        };
        let (servers, clients) = (held(&self.sockets), held(&self.clients));
        let ends = servers.into_iter().zip(clients);
        let states = ends.map(|(server, client)| self.state_of(server, client));
        let mut states: Vec<_> = states.collect();
        for (state, reported) in states.iter_mut().zip(lock(&self.reported).iter()) {
            if let Some(reported) = reported {
                state.report = Some(reported.report);
                state.view = Some(reported.view);
            }
        }
        for (state, losses) in states.iter_mut().zip(lock(&self.losses).iter()) {
            state.losses = *losses;
        }
        *lock(&self.states) = states;
    }

    fn state_of(&self, server: Option<Arc<OwnedFd>>, client: Option<Arc<OwnedFd>>) -> EndStates {
        let mut state = EndStates {
            sender: server
                .as_ref()
                .and_then(|end| socket_options::tcp_info(&**end).ok()),
            ..EndStates::default()
        };
        let Some(cdbe) = &self.cdbe else {
            return state;
        };
        // a connection that is not served, or has just ended, shows nothing
        let estimate = client.and_then(|end| cdbe.estimate(end.as_fd()).ok().flatten());
        state.report = estimate.map(|estimate| RateReport::saturating(estimate.rate));
        let decision = server.and_then(|end| cdbe.decision(end.as_fd()).ok().flatten());
        let decision = decision.filter(|decision| decision.is_deciding);
        state.view = decision.map(|decision| decision.state.view());
        state
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
