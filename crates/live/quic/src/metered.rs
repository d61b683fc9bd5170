//! A client's socket that measures at what rate data arrives, and the reports of it.
//!
//! ```text
//!   UDP socket ──> [Metered] ──> quinn
//!                     │ arrivals: size and time of each datagram
//!                     v
//!                [quinn_cc::Reporting] ──> [Meter::run] ──> DATAGRAM frames
//! ```
//!
//! quinn hands data to its user in order and when the user is awake; bandwidth is measured where datagrams
//! come in.

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, Connection, UdpPoller};
use quinn_cc::{Epoch, Monitor, Report, Reporting};
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Instant;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use units::Bytes;

/// What a client has reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reported {
    /// Reports that left.
    pub count: u64,
    /// The last one; zero if none left.
    pub last: cc::RateReport,
}

/// The reports of a client's connection, if it is to send any.
#[derive(Debug)]
pub(crate) struct Reports {
    meter: Option<Meter>,
    reported: Arc<Mutex<Reported>>,
    task: Option<JoinHandle<()>>,
}

impl Reports {
    pub(crate) fn new(meter: Option<Meter>) -> Self {
        Self {
            meter,
            reported: Arc::default(),
            task: None,
        }
    }

    /// The server takes reports: from now on they leave.
    pub(crate) fn start(&mut self, connection: &Connection) {
        if let (Some(meter), None) = (&self.meter, &self.task) {
            let (meter, reported) = (meter.clone(), Arc::clone(&self.reported));
            let connection = connection.clone();
            self.task = Some(tokio::spawn(async move {
                meter.run(&connection, &reported).await;
            }));
        }
    }

    /// What has been reported, if anything was to be.
    pub(crate) fn reported(&self) -> Option<Reported> {
        let reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        self.meter.as_ref().map(|_| *reported)
    }
}

impl Drop for Reports {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

/// Measures one connection: a handle, cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Meter(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    epoch: Epoch,
    /// The server: what others send is not counted.
    server: SocketAddr,
    /// Of the connection: its round-trip times.
    monitor: Monitor,
    state: Mutex<State>,
    is_due: Notify,
}

#[derive(Debug)]
struct State {
    reporting: Reporting,
    due: Option<Report>,
}

impl Meter {
    pub(crate) fn new(reporting: Reporting, server: SocketAddr, monitor: Monitor) -> Self {
        Self(Arc::new(Shared {
            epoch: Epoch::new(Instant::now()),
            server,
            monitor,
            state: Mutex::new(State {
                reporting,
                due: None,
            }),
            is_due: Notify::new(),
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // every change is complete at once: a thread that panicked left it whole
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Datagrams of `stride` bytes arrived, `len` bytes in all.
    fn on_arrival(&self, now: Instant, meta: &RecvMeta) {
        let is_servers = meta.addr.port() == self.0.server.port()
            && meta.addr.ip().to_canonical() == self.0.server.ip().to_canonical();
        if !is_servers {
            return;
        }
        let at = self.0.epoch.at(now);
        let path = self.0.monitor.path();
        let rtt = (path.rtt_samples > 0).then_some(path.srtt);
        let mut state = self.state();
        let mut left = meta.len;
        while left > 0 {
            let size = left.min(meta.stride.max(1));
            left -= size;
            let report = state
                .reporting
                .on_datagram(at, Bytes::new(size as u64), rtt);
            if report.is_some() {
                state.due = report;
                self.0.is_due.notify_one();
            }
        }
    }

    /// Sends what is due, until the connection is over. To a server that takes no datagrams nothing is
    /// sent.
    async fn run(&self, connection: &Connection, reported: &Mutex<Reported>) {
        if connection.max_datagram_size().is_none() {
            return;
        }
        loop {
            self.0.is_due.notified().await;
            let Some(report) = self.state().due.take() else {
                continue;
            };
            let payload = bytes::Bytes::copy_from_slice(&report.encode());
            if connection.send_datagram(payload).is_err() {
                return;
            }
            let mut reported = reported.lock().unwrap_or_else(PoisonError::into_inner);
            reported.count += 1;
            reported.last = report.rate;
        }
    }
}

/// A socket that passes to a meter what it receives.
#[derive(Debug)]
pub(crate) struct Metered {
    inner: Arc<dyn AsyncUdpSocket>,
    meter: Meter,
}

impl Metered {
    pub(crate) fn new(inner: Arc<dyn AsyncUdpSocket>, meter: Meter) -> Self {
        Self { inner, meter }
    }
}

impl AsyncUdpSocket for Metered {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Arc::clone(&self.inner).create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.inner.try_send(transmit)
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        bufs: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let received = self.inner.poll_recv(cx, bufs, meta);
        if let Poll::Ready(Ok(count)) = received {
            let now = Instant::now();
            for meta in meta.iter().take(count) {
                self.meter.on_arrival(now, meta);
            }
        }
        received
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.inner.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.inner.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.inner.may_fragment()
    }
}
