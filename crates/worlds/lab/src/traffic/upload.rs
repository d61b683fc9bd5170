//! Uploads: the UE sends, the server reads. The server sees when an object is whole.

use super::connection::{Ended, close_sender, discard, report_retransmits, write_object};
use super::{FlowContext, TICK, socket};
use crate::Error;
use crate::measure::Event;
use network::app::{Begin, Objects};
use rustix::net::{SocketAddrV4, getpeername, getsockname};
use scenario::AppSpec;
use std::collections::{BTreeMap, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use units::{Bytes, Instant};

/// What both ends write down of a flow's objects.
#[derive(Debug, Default)]
pub(crate) struct Book {
    page: Mutex<Page>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Page {
    /// When the objects under way began, by the UE's port.
    begun: BTreeMap<u16, VecDeque<Instant>>,
    /// Objects whole, and broken.
    done: u32,
    broken: u32,
}

impl Book {
    fn page(&self) -> MutexGuard<'_, Page> {
        self.page.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self, port: u16, now: Instant) {
        self.page().begun.entry(port).or_default().push_back(now);
    }

    fn end(&self, is_whole: bool) {
        let mut page = self.page();
        if is_whole {
            page.done += 1;
        } else {
            page.broken += 1;
        }
        self.changed.notify_all();
    }
}

/// Reads all that the UE sends, until the run is over.
pub(crate) fn receive_all(
    context: &FlowContext,
    listener: &OwnedFd,
    book: &Book,
) -> Result<(), Error> {
    std::thread::scope(|scope| {
        while let Some(socket) = socket::accept(context, listener)? {
            scope.spawn(move || receive(context, &socket, book));
        }
        Ok(())
    })
}

fn receive(context: &FlowContext, socket: &OwnedFd, book: &Book) {
    let peer = getpeername(socket).ok().flatten();
    let Some(peer) = peer.and_then(|address| SocketAddrV4::try_from(address).ok()) else {
        return;
    };
    let objects = Objects::new(&context.spec.app, Instant::ZERO);
    let size = objects.and_then(|objects| objects.size());
    loop {
        let ended = discard(context, socket, size.map_or(u64::MAX, Bytes::get));
        let began = book
            .page()
            .begun
            .get_mut(&peer.port())
            .and_then(VecDeque::pop_front);
        let (Some(began), true) = (began, ended != Ended::Stopped) else {
            return;
        };
        let is_whole = ended == Ended::Whole;
        let is_timed = matches!(
            context.spec.app,
            AppSpec::Web { .. } | AppSpec::Short { .. }
        );
        if is_whole && is_timed {
            context.report(Event::Loaded(context.clock.now().saturating_since(began)));
        }
        book.end(is_whole);
        if !is_whole {
            return;
        }
    }
}

/// What the UE's application does from beginning to end.
pub(crate) fn send_all(context: &FlowContext, book: &Book) -> Result<(), Error> {
    let start = Instant::ZERO + context.spec.start;
    let Some(mut objects) = Objects::new(&context.spec.app, start) else {
        return Ok(());
    };
    if !context.sleep_until(start) {
        return Ok(());
    }
    context.report(Event::Started);
    std::thread::scope(|scope| {
        let mut connection: Option<Arc<OwnedFd>> = None;
        let (mut counted, mut has_failed) = (0, false);
        while !context.has_stopped() {
            let page = book.page();
            has_failed |= page.broken > 0;
            let ended = page.done + page.broken;
            drop(page);
            (counted..ended).for_each(|_| objects.on_object_done());
            counted = ended;
            if objects.is_complete() || has_failed && objects.needs_broken_connection() {
                context.report(Event::Ended(!has_failed));
                break;
            }
            let now = context.clock.now();
            let Some(due) = objects.next_deadline() else {
                wait(book, counted);
                continue;
            };
            if due > now {
                context.clock.sleep_until(due.min(now + TICK));
                continue;
            }
            if objects.begin(now) == Some(Begin::OnNewConnection) {
                connection = socket::connect(context)?.map(Arc::new);
            }
            if let Some(socket) = &connection {
                let (socket, size) = (Arc::clone(socket), objects.size());
                let closes = objects.closes_after_object();
                scope.spawn(move || send(context, book, &socket, size, closes));
            }
        }
        if let Some(socket) = connection {
            report_retransmits(context, &socket);
        }
        Ok(())
    })
}

/// Waits until an object has ended, or a while.
fn wait(book: &Book, counted: u32) {
    let tick = core::time::Duration::from_nanos(TICK.as_nanos());
    let page = book.page();
    if page.done + page.broken == counted {
        drop(book.changed.wait_timeout(page, tick));
    }
}

fn send(
    context: &FlowContext,
    book: &Book,
    socket: &Arc<OwnedFd>,
    size: Option<Bytes>,
    closes_after: bool,
) {
    context.senders.register(context.index, socket);
    let own = getsockname(&**socket).ok();
    let Some(own) = own.and_then(|address| SocketAddrV4::try_from(address).ok()) else {
        return;
    };
    book.begin(own.port(), context.clock.now());
    let rate = Objects::new(&context.spec.app, Instant::ZERO).and_then(|objects| objects.rate());
    let ended = write_object(context, socket, size.map_or(u64::MAX, Bytes::get), rate);
    if ended == Ended::Whole && closes_after {
        close_sender(context, socket);
    }
}
