//! What flows do: their applications, and what those measure.

use super::World;
use super::calls::Call;
use crate::http::Arrived;
use crate::session::Session;
use network::app::{Begin, Datagrams, Objects, Page, Video};
use scenario::{AppSpec, ApplicationResult, FlowSpec, Transport};
use units::{Instant, Streams};

/// What a flow does.
#[derive(Debug)]
pub(crate) enum App {
    /// Objects over TCP or QUIC.
    Objects(Objects),
    /// Adaptive video over TCP or QUIC.
    Video(Box<Video>),
    /// Pages of many objects over TCP or QUIC.
    Page(Box<Page>),
    /// Datagrams over UDP.
    Datagrams {
        /// What leaves.
        source: Datagrams,
        /// Datagrams that arrived.
        arrived: u64,
        /// Datagrams that left.
        sent: u64,
    },
    /// A call over UDP.
    Call(Box<Call>),
}

impl App {
    /// The application of a flow, with its random streams; none without any, and of a call.
    pub(super) fn new(spec: &FlowSpec, streams: &Streams) -> Option<Self> {
        let start = Instant::ZERO + spec.start;
        let rng = || streams.stream("application");
        let over_tcp = spec.transport == Transport::Tcp;
        match &spec.app {
            AppSpec::Video(video) => {
                let video = Video::new(video, start, rng(), over_tcp);
                Some(Self::Video(Box::new(video)))
            }
            AppSpec::Page(page) => {
                let page = Page::new(page, start, rng(), over_tcp);
                Some(Self::Page(Box::new(page)))
            }
            app => match Objects::new(app, start) {
                Some(objects) => Some(Self::Objects(objects)),
                None => Datagrams::new(app, start, rng()).map(|source| Self::Datagrams {
                    source,
                    arrived: 0,
                    sent: 0,
                }),
            },
        }
    }

    /// True of what runs over UDP.
    pub(super) fn is_of_datagrams(&self) -> bool {
        matches!(self, Self::Datagrams { .. } | Self::Call(_))
    }

    /// When it is to be called.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        match self {
            Self::Objects(objects) => objects.next_deadline(),
            Self::Video(video) => video.next_deadline(),
            Self::Page(page) => page.next_deadline(),
            Self::Datagrams { source, .. } => source.next_deadline(),
            Self::Call(call) => Some(call.next_deadline()),
        }
    }

    /// Begins what is due on a connection.
    pub(super) fn begin(&mut self, now: Instant) -> Option<Begin> {
        match self {
            Self::Objects(objects) => objects.begin(now),
            Self::Video(video) => video.begin(now),
            Self::Page(page) => page.begin(now),
            Self::Datagrams { .. } | Self::Call(_) => None,
        }
    }

    /// What it measured until `end`, if it measures anything.
    pub(super) fn result(&mut self, end: Instant) -> Option<ApplicationResult> {
        match self {
            Self::Video(video) => Some(ApplicationResult::Video(video.result(end))),
            Self::Page(page) => Some(ApplicationResult::Page(Box::new(page.result()))),
            Self::Call(call) => Some(ApplicationResult::Call(call.result(end))),
            Self::Objects(_) | Self::Datagrams { .. } => None,
        }
    }
}

impl World {
    /// Has the client request what its page is ready to.
    pub(super) fn request_objects(&mut self, session: &mut Session) {
        let now = self.now;
        if let App::Page(page) = &mut self.flows[session.flow as usize].app {
            while let Some(request) = page.poll_request(now) {
                session.request(request);
            }
        }
    }

    /// What has come of a page's objects, and what follows from it.
    pub(super) fn read_page(&mut self, session: &mut Session) {
        let (now, flow) = (self.now, session.flow);
        let mut is_over = false;
        while let Some(arrived) = session.take_arrived() {
            let App::Page(page) = &mut self.flows[flow as usize].app else {
                return;
            };
            match arrived {
                Arrived::FirstByte(id) => page.on_first_byte(now, id),
                Arrived::Whole(id) => is_over |= page.on_object_done(now, id),
            }
        }
        self.request_objects(session);
        let App::Page(page) = &self.flows[flow as usize].app else {
            return;
        };
        if !is_over {
            return;
        }
        let is_complete = page.is_complete();
        if is_complete || page.closes_after_page() {
            session.close(now);
        }
        if is_complete {
            let is_whole = !self.flows[flow as usize].has_failed;
            self.end_flow(flow, is_whole);
        } else {
            self.arm_flow(flow);
        }
    }
}
