//! The messages, each a UDP datagram: two bytes of magic, version, kind, the code of 16 bytes, and the kind's fields, numbers
//! in network order. The code is of all but itself and the padding behind the fields of Hello, Data, Probe and Echo, and of
//! the datagram's length.

mod reader;

use crate::key::{Key, Tag};
use reader::Reader;
use units::{BitRate, Bytes, Duration, Instant};

/// Of the protocol. A server of another one does not answer.
pub const VERSION: u8 = 1;
/// Bytes of a code.
pub const TAG_LEN: usize = 16;
/// Bytes before the fields.
pub const HEADER_LEN: usize = 4 + TAG_LEN;
/// Bytes of a Hello, more than of any answer to it.
pub const HELLO_LEN: usize = 160;
/// Bytes of a Data and a Probe without padding.
pub const MIN_DATA_LEN: usize = HEADER_LEN + 30;
/// Arrivals in one Report at most.
pub const MAX_ARRIVALS: usize = 40;

const MAGIC: [u8; 2] = *b"bT";

/// A number that is used once.
pub type Nonce = [u8; 16];

/// Why bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// Too few bytes.
    #[error("the message ends too early")]
    Short,
    /// Bytes behind its end.
    #[error("bytes follow the message")]
    Long,
    /// Another program's, another version, or a kind or value that there is not.
    #[error("no message of this protocol and version")]
    Value,
}

/// What a UE asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Rate of the heavy workload towards the UE, and from it; zero for none.
    pub down: BitRate,
    /// See `down`.
    pub up: BitRate,
    /// Of all workloads together.
    pub duration: Duration,
    /// A heavy packet, with its IP and UDP headers.
    pub packet: Bytes,
}

/// Why a server refuses a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It has as many as it may have.
    Busy,
    /// The limit is a rate in bit/s.
    Rate,
    /// The limit is a time in nanoseconds.
    Duration,
    /// A size of packets that cannot be.
    Packet,
}

/// Of the UE, every few milliseconds of a heavy workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// The session.
    pub session: u64,
    /// Grows by one with each.
    pub counter: u64,
    /// When it was sent, by the UE's clock.
    pub at: Instant,
    /// Whether the server is to send.
    pub send: bool,
    /// Which round of workloads this is.
    pub round: u32,
    /// The number after the highest that has come.
    pub next: u64,
    /// How many of the server's arrivals the UE has.
    pub arrivals: u64,
}

/// What came within a millisecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The millisecond, of the receiver's clock.
    pub at_ms: u64,
    /// With IP and UDP headers.
    pub bytes: Bytes,
    /// The smallest time from sender to receiver, ns; of two clocks, so that only differences mean something.
    pub delay_ns: i64,
    /// The round that the packets were sent in.
    pub round: u32,
}

/// The server's answer to a Control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The session.
    pub session: u64,
    /// Of the Control that it answers, and that one's time.
    pub counter: u64,
    /// See `counter`.
    pub echo: Instant,
    /// When that came and when this was sent, by the server's clock.
    pub came: Instant,
    /// See `came`.
    pub sent: Instant,
    /// The number after the highest that has come, and how many have come.
    pub next: u64,
    /// See `next`.
    pub received: u64,
    /// How many arrivals were before the first of these.
    pub first: u64,
    /// At most [`MAX_ARRIVALS`].
    pub arrivals: Vec<Arrival>,
}

/// A packet of a heavy workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// The session.
    pub session: u64,
    /// Its number.
    pub number: u64,
    /// The round.
    pub round: u32,
    /// When it was sent, by its sender's clock.
    pub at: Instant,
}

/// A packet of a train, to the server or back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The session.
    pub session: u64,
    /// Which train.
    pub train: u32,
    /// Its place there.
    pub index: u16,
    /// When the UE sent it.
    pub at: Instant,
    /// When the server had it, by its clock; zero on the way there.
    pub turned: Instant,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Of a UE that is to begin.
    Hello {
        /// Its nonce.
        client: Nonce,
    },
    /// To be shown in Begin.
    Challenge {
        /// Of the Hello.
        client: Nonce,
        /// The server's nonce.
        server: Nonce,
        /// The cookie.
        cookie: Tag,
    },
    /// What the UE requests.
    Begin {
        /// Its nonce.
        client: Nonce,
        /// The server's.
        server: Nonce,
        /// The cookie.
        cookie: Tag,
        /// What it requests.
        request: Request,
    },
    /// There is a session.
    Accept {
        /// Of the Begin.
        client: Nonce,
        /// The session.
        session: u64,
    },
    /// There is none.
    Refuse {
        /// Of the Begin.
        client: Nonce,
        /// Why.
        reason: Reason,
        /// What is allowed.
        limit: u64,
    },
    /// See [`Control`].
    Control(Control),
    /// See [`Report`].
    Report(Report),
    /// See [`Data`].
    Data(Data),
    /// Towards the server.
    Probe(Probe),
    /// Back to the UE.
    Echo(Probe),
    /// The UE has what it wanted.
    End {
        /// The session.
        session: u64,
    },
    /// The server has forgotten it.
    Ended {
        /// The session.
        session: u64,
    },
}

/// A message and what shows who wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received<'a> {
    /// The message, which anyone may have written.
    pub message: Message,
    tag: Tag,
    head: &'a [u8],
    length: [u8; 2],
    fields: &'a [u8],
}

impl Received<'_> {
    /// True if it was written with that key.
    pub fn is_by(&self, key: &Key) -> bool {
        key.is_of(&self.tag, &[self.head, &self.length, self.fields])
    }
}

/// Reads a datagram.
///
/// # Errors
/// [`Malformed`] for any other bytes.
pub fn decode(datagram: &[u8]) -> Result<Received<'_>, Malformed> {
    let length = u16::try_from(datagram.len()).map_err(|_| Malformed::Long)?;
    let (head, rest) = datagram.split_at_checked(4).ok_or(Malformed::Short)?;
    let (tag, fields) = rest
        .split_first_chunk::<TAG_LEN>()
        .ok_or(Malformed::Short)?;
    if head[..2] != MAGIC || head[2] != VERSION {
        return Err(Malformed::Value);
    }
    let mut reader = Reader(fields);
    let message = reader.message(head[3])?;
    let is_padded = matches!(
        message,
        Message::Hello { .. } | Message::Data(_) | Message::Probe(_) | Message::Echo(_)
    );
    if !is_padded && !reader.0.is_empty() {
        return Err(Malformed::Long);
    }
    Ok(Received {
        message,
        tag: *tag,
        head,
        length: length.to_be_bytes(),
        fields: &fields[..fields.len() - reader.0.len()],
    })
}

/// Writes a message into `out`, in place of what it holds; padded with zeros to `length`, if that is more.
pub fn encode(message: &Message, key: &Key, length: usize, out: &mut Vec<u8>) {
    out.clear();
    out.extend(MAGIC);
    out.extend([VERSION, kind(message)]);
    out.extend([0; TAG_LEN]);
    put(message, out);
    let end = out.len();
    out.resize(end.max(length), 0);
    let total = u16::try_from(out.len()).unwrap_or(u16::MAX).to_be_bytes();
    let tag = key.tag(&[&out[..4], &total, &out[HEADER_LEN..end]]);
    out[4..HEADER_LEN].copy_from_slice(&tag);
}

const fn kind(message: &Message) -> u8 {
    match message {
        Message::Hello { .. } => 1,
        Message::Challenge { .. } => 2,
        Message::Begin { .. } => 3,
        Message::Accept { .. } => 4,
        Message::Refuse { .. } => 5,
        Message::Control(_) => 6,
        Message::Report(_) => 7,
        Message::Data(_) => 8,
        Message::Probe(_) => 9,
        Message::Echo(_) => 10,
        Message::End { .. } => 11,
        Message::Ended { .. } => 12,
    }
}

fn put(message: &Message, out: &mut Vec<u8>) {
    let mut number = |n: u64| out.extend(n.to_be_bytes());
    match message {
        Message::Hello { client } => out.extend(client),
        Message::Challenge {
            client,
            server,
            cookie,
        } => {
            for part in [client, server, cookie] {
                out.extend(part);
            }
        }
        Message::Begin {
            client,
            server,
            cookie,
            request,
        } => {
            for part in [client, server, cookie] {
                out.extend(part);
            }
            for n in [
                request.down.as_bps(),
                request.up.as_bps(),
                request.duration.as_nanos(),
                request.packet.get(),
            ] {
                out.extend(n.to_be_bytes());
            }
        }
        Message::Accept { client, session } => {
            out.extend(client);
            out.extend(session.to_be_bytes());
        }
        Message::Refuse {
            client,
            reason,
            limit,
        } => {
            out.extend(client);
            out.push(*reason as u8);
            out.extend(limit.to_be_bytes());
        }
        Message::Control(control) => {
            number(control.session);
            number(control.counter);
            number(control.at.as_nanos());
            number(control.next);
            number(control.arrivals);
            out.extend(control.round.to_be_bytes());
            out.push(u8::from(control.send));
        }
        Message::Report(report) => put_report(report, out),
        Message::Data(data) => {
            number(data.session);
            number(data.number);
            number(data.at.as_nanos());
            out.extend(data.round.to_be_bytes());
        }
        Message::Probe(probe) | Message::Echo(probe) => {
            number(probe.session);
            number(probe.at.as_nanos());
            number(probe.turned.as_nanos());
            out.extend(probe.train.to_be_bytes());
            out.extend(probe.index.to_be_bytes());
        }
        Message::End { session } | Message::Ended { session } => number(*session),
    }
}

fn put_report(report: &Report, out: &mut Vec<u8>) {
    for n in [
        report.session,
        report.counter,
        report.echo.as_nanos(),
        report.came.as_nanos(),
        report.sent.as_nanos(),
        report.next,
        report.received,
        report.first,
    ] {
        out.extend(n.to_be_bytes());
    }
    for arrival in &report.arrivals {
        let bytes = u32::try_from(arrival.bytes.get()).unwrap_or(u32::MAX);
        out.extend(arrival.at_ms.to_be_bytes());
        out.extend(arrival.delay_ns.to_be_bytes());
        out.extend(bytes.to_be_bytes());
        out.extend(arrival.round.to_be_bytes());
    }
}
