//! Takes the fields of a message off its bytes.

use super::{
    Arrival, Control, Data, MAX_ARRIVALS, Malformed, Message, Probe, Reason, Report, Request,
};
use units::{BitRate, Bytes, Duration, Instant};

/// What is left of a message.
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl Reader<'_> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.0.split_first_chunk::<N>().ok_or(Malformed::Short)?;
        self.0 = rest;
        Ok(*taken)
    }

    fn number(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_be_bytes)
    }

    fn word(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_be_bytes)
    }

    fn instant(&mut self) -> Result<Instant, Malformed> {
        self.number().map(Instant::from_nanos)
    }

    /// The message of a kind.
    pub(super) fn message(&mut self, kind: u8) -> Result<Message, Malformed> {
        Ok(match kind {
            1 => Message::Hello {
                client: self.array()?,
            },
            2 => Message::Challenge {
                client: self.array()?,
                server: self.array()?,
                cookie: self.array()?,
            },
            3 => Message::Begin {
                client: self.array()?,
                server: self.array()?,
                cookie: self.array()?,
                request: self.request()?,
            },
            4 => Message::Accept {
                client: self.array()?,
                session: self.number()?,
            },
            5 => Message::Refuse {
                client: self.array()?,
                reason: self.reason()?,
                limit: self.number()?,
            },
            6 => Message::Control(self.control()?),
            7 => Message::Report(self.report()?),
            8 => Message::Data(self.data()?),
            9 => Message::Probe(self.probe()?),
            10 => Message::Echo(self.probe()?),
            11 => Message::End {
                session: self.number()?,
            },
            12 => Message::Ended {
                session: self.number()?,
            },
            _ => return Err(Malformed::Value),
        })
    }

    fn request(&mut self) -> Result<Request, Malformed> {
        Ok(Request {
            down: BitRate::from_bps(self.number()?),
            up: BitRate::from_bps(self.number()?),
            duration: Duration::from_nanos(self.number()?),
            packet: Bytes::new(self.number()?),
        })
    }

    fn reason(&mut self) -> Result<Reason, Malformed> {
        let [byte] = self.array()?;
        let reasons = [Reason::Busy, Reason::Rate, Reason::Duration, Reason::Packet];
        let found = reasons.into_iter().find(|reason| *reason as u8 == byte);
        found.ok_or(Malformed::Value)
    }

    fn control(&mut self) -> Result<Control, Malformed> {
        let (session, counter, at) = (self.number()?, self.number()?, self.instant()?);
        let (next, arrivals, round) = (self.number()?, self.number()?, self.word()?);
        let send = match self.array()? {
            [0] => false,
            [1] => true,
            _ => return Err(Malformed::Value),
        };
        Ok(Control {
            session,
            counter,
            at,
            send,
            round,
            next,
            arrivals,
        })
    }

    fn report(&mut self) -> Result<Report, Malformed> {
        let mut report = Report {
            session: self.number()?,
            counter: self.number()?,
            echo: self.instant()?,
            came: self.instant()?,
            sent: self.instant()?,
            next: self.number()?,
            received: self.number()?,
            first: self.number()?,
            arrivals: Vec::new(),
        };
        while !self.0.is_empty() {
            if report.arrivals.len() == MAX_ARRIVALS {
                return Err(Malformed::Long);
            }
            report.arrivals.push(Arrival {
                at_ms: self.number()?,
                delay_ns: self.array().map(i64::from_be_bytes)?,
                bytes: Bytes::new(self.word()?.into()),
                round: self.word()?,
            });
        }
        Ok(report)
    }

    fn data(&mut self) -> Result<Data, Malformed> {
        Ok(Data {
            session: self.number()?,
            number: self.number()?,
            at: self.instant()?,
            round: self.word()?,
        })
    }

    fn probe(&mut self) -> Result<Probe, Malformed> {
        Ok(Probe {
            session: self.number()?,
            at: self.instant()?,
            turned: self.instant()?,
            train: self.word()?,
            index: self.array().map(u16::from_be_bytes)?,
        })
    }
}
