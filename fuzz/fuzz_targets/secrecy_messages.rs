//! Messages of the tunnel's handshake and sealed packets at both ends: any bytes, and real messages of each kind that are
//! changed, cut, repeated, or come at the wrong end. Nothing panics, no answer is longer than its question, no changed packet
//! is opened, and afterwards both ends agree on keys.
#![no_main]

use libfuzzer_sys::fuzz_target;
use secrecy::{
    Algorithms, Channel, Entropy, Initiator, Input, Limits, LinkId, Local, PrivateKey, Responder,
    ResponderConfig, SharedSecret, responder,
};
use std::sync::Arc;
use units::{Duration, Instant};

/// Commands of one run.
const MAX_COMMANDS: usize = 100;
/// Messages that are kept.
const MAX_KEPT: usize = 32;

struct Counted(u64);

impl Entropy for Counted {
    fn draw(&mut self) -> Option<[u8; 32]> {
        self.0 += 1;
        let mut bytes = [7; 32];
        bytes[..4].copy_from_slice(&(self.0 as u32).to_be_bytes());
        Some(bytes)
    }
}

struct Ends {
    now: Instant,
    client: Initiator,
    server: Responder,
    entropy: Counted,
    /// Whether to the server, and the bytes.
    kept: Vec<(bool, Vec<u8>)>,
    /// What the server has answered last.
    answer: Option<Vec<u8>>,
}

impl Ends {
    fn new(has_aes: bool) -> Self {
        let (client, server) = (PrivateKey::from_bytes([1; 32]), PrivateKey::from_bytes([2; 32]));
        let limits = Limits::rekey_after(Duration::from_secs(5));
        let shared = SharedSecret::default();
        let config = ResponderConfig {
            key: server.clone(),
            clients: vec![responder::Client {
                key: client.public(),
                shared: shared.clone(),
            }],
            algorithms: Algorithms::new(true),
            limits,
        };
        let local = Local {
            key: client,
            server: server.public(),
            shared,
            algorithms: Algorithms::new(has_aes),
            limits,
        };
        Self {
            now: Instant::ZERO,
            client: Initiator::new(Arc::new(local)),
            server: Responder::new(config, &[3; 32], LinkId(1 << 31)),
            entropy: Counted(0),
            kept: Vec::new(),
            answer: None,
        }
    }

    fn keep(&mut self, to_server: bool, bytes: &[u8]) {
        if self.kept.len() == MAX_KEPT {
            self.kept.remove(0);
        }
        self.kept.push((to_server, bytes.to_vec()));
    }

    /// What arrives; the packet in it.
    fn arrive(&mut self, to_server: bool, channel: Channel, mut bytes: Vec<u8>) -> Option<Vec<u8>> {
        if !to_server {
            return match self.client.receive(self.now, &mut bytes) {
                Ok(Input::Data(range)) => Some(bytes[range].to_vec()),
                _ => None,
            };
        }
        let length = bytes.len();
        let from = ([192, 0, 2, 1], 5).into();
        let got = self
            .server
            .receive(self.now, channel, from, &mut bytes, &mut self.entropy)
            .ok()?;
        if let Some(answer) = got.answer {
            assert!(answer.len() <= length);
            self.keep(false, &answer);
            self.answer = Some(answer);
        }
        assert!(self.server.half_open() <= responder::MAX_HALF_OPEN);
        assert!(self.server.links().count() <= responder::MAX_LINKS);
        Some(bytes[got.data?.1].to_vec())
    }

    /// Everything that is sent arrives.
    fn exchange(&mut self) {
        while let Some(bytes) = self.client.poll_transmit(self.now, &mut self.entropy) {
            self.keep(true, &bytes);
            self.answer = None;
            self.arrive(true, Channel::Datagrams, bytes);
            if let Some(answer) = self.answer.take() {
                self.arrive(false, Channel::Datagrams, answer);
            }
        }
    }

    fn send(&mut self, to_server: bool, content: u8) {
        let mut buffer = vec![content; 40];
        let session = if to_server {
            self.client.session()
        } else {
            let link = self.server.links().last();
            link.and_then(|link| self.server.session(link))
        };
        if let Some(session) = session
            && session.seal(self.now, &mut buffer, 0).is_ok()
        {
            self.keep(to_server, &buffer);
        }
    }
}

fn take(bytes: &mut &[u8]) -> u8 {
    bytes.split_off_first().copied().unwrap_or(0)
}

fuzz_target!(|bytes: &[u8]| {
    let mut bytes = bytes;
    let mut ends = Ends::new(take(&mut bytes) & 1 == 0);
    for _ in 0..MAX_COMMANDS {
        if bytes.is_empty() {
            break;
        }
        let command = take(&mut bytes);
        let argument = take(&mut bytes);
        match command % 6 {
            0 => ends.now += Duration::from_millis(u64::from(argument) * 20),
            1 => ends.exchange(),
            2 => ends.send(argument & 1 == 0, argument),
            3 => {
                // one that was sent: as it is, changed, cut, or by another channel
                let Some((to_server, message)) = ends.kept.get(usize::from(argument) % MAX_KEPT) else {
                    continue;
                };
                let (mut to_server, original) = (*to_server, message.clone());
                let mut message = original.clone();
                let how = take(&mut bytes);
                let mut channel = Channel::Datagrams;
                match how % 5 {
                    0 => {}
                    1 => {
                        let at = usize::from(take(&mut bytes)) % message.len();
                        message[at] ^= take(&mut bytes).max(1);
                    }
                    2 => message.truncate(usize::from(take(&mut bytes))),
                    3 => to_server = !to_server,
                    _ => channel = Channel::Stream(4),
                }
                let is_changed = message != original;
                let packet = ends.arrive(to_server, channel, message);
                assert!(!is_changed || packet.is_none(), "a changed packet was opened");
            }
            4 => {
                let length = usize::from(take(&mut bytes)).min(bytes.len());
                let raw = bytes.split_off(..length).unwrap_or_default();
                let packet = ends.arrive(argument & 1 == 0, Channel::Datagrams, raw.to_vec());
                assert!(packet.is_none());
            }
            _ => ends.server.expire(ends.now),
        }
    }
    // however it stands, keys are agreed on
    for _ in 0..40 {
        ends.now += Duration::from_secs(1);
        ends.server.expire(ends.now);
        ends.exchange();
    }
    assert!(ends.client.is_ready(ends.now));
});
