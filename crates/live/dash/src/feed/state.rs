//! The state of a feed.

use super::encode::{number, significant, string};
use super::position::Position;
use super::ring::{Frame, Ring};
use super::{About, WINDOW};
use crate::FORMAT;
use axum::extract::ws::Utf8Bytes;
use metric::{Kind, is_averaged, unit};
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// The minimum time between frames, on average.
const SPACING: Duration = Duration::from_millis(20);
/// Of so many frames, one holds all series.
const WHOLE_EVERY: u64 = 50;
/// Between tables of flows.
const TABLE_EVERY: Duration = Duration::from_secs(1);
/// Maximum number of rows of a table.
const MAX_ROWS: usize = 500;
/// Maximum number of series at a time: further ones are left out.
const MAX_SERIES: usize = 20_000;
/// A reader that has been at the newest frame and then falls so far behind misses frames: 2 s.
const MAX_BEHIND: u64 = 100;
/// Frames that are handed to a reader at a time.
const AT_A_TIME: usize = 64;

/// A series.
#[derive(Debug)]
struct Series {
    entity: String,
    kind: Kind,
    parent: Option<String>,
    metric: &'static str,
    is_averaged: bool,
    /// As it was sent last; none before the first time.
    sent: Option<f64>,
    /// Values since then: their sum and number, and the last.
    sum: f64,
    count: u32,
    last: f64,
    /// Its entity is gone, and readers are still to be notified.
    ends: bool,
}

/// A flow, queue, UE ... with its series.
#[derive(Debug, Default)]
struct Entity {
    series: Vec<(&'static str, u32)>,
    cc: Option<String>,
    /// The round that named it last.
    round: u64,
    ended_at: Option<Instant>,
}

#[derive(Debug)]
pub(super) struct State {
    about: About,
    generation: u64,
    session: String,
    entities: BTreeMap<String, Entity>,
    series: BTreeMap<u32, Series>,
    next_series: u32,
    /// Series whose entity belongs to another parent now: over with the next frame.
    moved: Vec<u32>,
    round: u64,
    t: f64,
    /// A value was put since the last frame.
    has_news: bool,
    ring: Ring,
    /// The number of the last frame.
    seq: u64,
    /// When the next frame may be made.
    due: Option<Instant>,
    table: Option<(u64, Utf8Bytes)>,
    table_at: Option<Instant>,
    end: Option<Utf8Bytes>,
}

impl State {
    pub(super) fn new(about: About, generation: u64) -> Self {
        Self {
            about,
            generation,
            session: random_name(),
            entities: BTreeMap::new(),
            series: BTreeMap::new(),
            next_series: 0,
            moved: Vec::new(),
            round: 0,
            t: 0.0,
            has_news: false,
            ring: Ring::default(),
            seq: 0,
            due: None,
            table: None,
            table_at: None,
            end: None,
        }
    }

    pub(super) fn about(&self) -> &About {
        &self.about
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    pub(super) fn begin_round(&mut self, t: f64) {
        self.round += 1;
        self.t = t;
    }

    pub(super) fn put(
        &mut self,
        kind: Kind,
        name: &str,
        parent: Option<&str>,
        metric: &'static str,
        value: f64,
    ) {
        if self.end.is_some() {
            return;
        }
        let entity = match self.entities.get_mut(name) {
            Some(entity) => entity,
            None => self.entities.entry(name.to_owned()).or_default(),
        };
        entity.round = self.round;
        entity.ended_at = None;
        let known = entity.series.iter().position(|(known, _)| *known == metric);
        let has_moved = |(_, id): &(_, u32)| {
            let series = self.series.get(id);
            parent.is_some() && series.is_some_and(|series| series.parent.as_deref() != parent)
        };
        let known = known.map(|at| (at, entity.series[at]));
        let known = match known {
            Some((at, one)) if has_moved(&one) => {
                // its series goes on as another one
                entity.series.remove(at);
                self.moved.push(one.1);
                if let Some(series) = self.series.get_mut(&one.1) {
                    series.ends = series.sent.is_some();
                    (series.sum, series.count) = (0.0, 0);
                }
                None
            }
            known => known.map(|(_, (_, id))| id),
        };
        let id = match known {
            Some(id) => id,
            None if self.series.len() >= MAX_SERIES => return,
            None => {
                let id = self.next_series;
                self.next_series += 1;
                entity.series.push((metric, id));
                let series = Series {
                    entity: name.to_owned(),
                    kind,
                    parent: parent.map(str::to_owned),
                    metric,
                    is_averaged: is_averaged(metric),
                    sent: None,
                    sum: 0.0,
                    count: 0,
                    last: value,
                    ends: false,
                };
                self.series.insert(id, series);
                id
            }
        };
        if let Some(series) = self.series.get_mut(&id) {
            series.sum += value;
            series.count += 1;
            series.last = value;
            series.ends = false;
            self.has_news = true;
        }
    }

    pub(super) fn describe(&mut self, flow: &str, cc: &str) {
        let entity = match self.entities.get_mut(flow) {
            Some(entity) => entity,
            None => self.entities.entry(flow.to_owned()).or_default(),
        };
        entity.round = self.round;
        if entity.cc.as_deref() != Some(cc) {
            entity.cc = Some(cc.to_owned());
        }
    }

    /// What this round did not name has ended.
    pub(super) fn end_unnamed(&mut self, now: Instant) {
        for entity in self.entities.values_mut() {
            if entity.round == self.round || entity.ended_at.is_some() {
                continue;
            }
            entity.ended_at = Some(now);
            for (_, id) in &entity.series {
                if let Some(series) = self.series.get_mut(id) {
                    series.ends = series.sent.is_some();
                    (series.sum, series.count) = (0.0, 0);
                    self.has_news |= series.ends;
                }
            }
        }
    }

    /// Makes a frame if it is time; whether there is something new for readers.
    pub(super) fn finish_round(&mut self, now: Instant) -> bool {
        let due = self.due.unwrap_or(now);
        if now < due || !self.has_news {
            return false;
        }
        // a frame that is late lets the next come sooner, by one step at most
        let earliest = now.checked_sub(SPACING).unwrap_or(now);
        self.due = Some(due.max(earliest) + SPACING);
        self.make_frame(now);
        if self
            .table_at
            .is_none_or(|at| now.duration_since(at) >= TABLE_EVERY)
        {
            self.table_at = Some(now);
            self.make_table();
            self.discard_ended(now);
        }
        true
    }

    fn make_frame(&mut self, now: Instant) {
        self.has_news = false;
        self.seq += 1;
        let is_whole = self.seq % WHOLE_EVERY == 1;
        let mut text = String::with_capacity(128 + 16 * self.series.len());
        // writing to a text cannot fail
        let _ = write!(
            text,
            "{{\"type\":\"frame\",\"seq\":{},\"t\":{:.4},\"v\":[",
            self.seq, self.t
        );
        let begin = text.len();
        for (id, series) in &mut self.series {
            if !series.take(is_whole) {
                continue;
            }
            if text.len() > begin {
                text.push(',');
            }
            let _ = write!(text, "[{id},");
            number(&mut text, series.sent.unwrap_or(f64::NAN));
            text.push(']');
        }
        text.push_str("]}");
        for id in self.moved.drain(..) {
            self.series.remove(&id);
        }
        self.ring.push(Frame {
            seq: self.seq,
            at: now,
            is_whole,
            text: text.into(),
        });
    }

    /// The flows that are there, each with the last value of all its series.
    fn make_table(&mut self) {
        let mut rows = Vec::new();
        for (name, entity) in &self.entities {
            let series = entity
                .series
                .iter()
                .filter_map(|(_, id)| self.series.get(id));
            let mut series = series.filter(|s| s.kind == Kind::Flow).peekable();
            let Some(first) = series.peek() else { continue };
            if entity.ended_at.is_some() || rows.len() >= MAX_ROWS {
                continue;
            }
            let mut row = Map::new();
            row.insert("name".into(), name.as_str().into());
            row.insert("cc".into(), entity.cc.clone().unwrap_or_default().into());
            row.insert("ue".into(), first.parent.clone().into());
            for series in series {
                row.insert(series.metric.into(), series.sent.into());
            }
            rows.push(Value::Object(row));
        }
        let number = self.table.as_ref().map_or(1, |(number, _)| number + 1);
        let text = json!({"type": "table", "flows": rows}).to_string();
        self.table = Some((number, text.into()));
    }

    /// Of what ended a window ago, no reader is to be notified any more.
    fn discard_ended(&mut self, now: Instant) {
        let series = &mut self.series;
        self.entities.retain(|_, entity| {
            let is_over = entity
                .ended_at
                .is_some_and(|at| now.duration_since(at) > WINDOW);
            if is_over {
                entity.series.iter().for_each(|(_, id)| {
                    series.remove(id);
                });
            }
            !is_over
        });
    }

    pub(super) fn end(&mut self, reason: &str, now: Instant) {
        if self.end.is_some() {
            return;
        }
        if self.has_news {
            self.make_frame(now);
        }
        self.make_table();
        let text = json!({"type": "end", "reason": reason}).to_string();
        self.end = Some(text.into());
    }

    pub(super) fn next(&self, position: &mut Position) -> Vec<Utf8Bytes> {
        let mut texts = Vec::new();
        if position.generation != self.generation {
            self.greet(position, &mut texts);
        }
        if position.series < self.next_series {
            texts.extend(self.series_after(position.series));
            position.series = self.next_series;
        }
        self.keep_up(position);
        let frames = self.ring.after(position.after).take(AT_A_TIME);
        for frame in frames {
            texts.push(frame.text.clone());
            position.after = frame.seq;
        }
        if position.after < self.seq {
            return texts;
        }
        position.is_current = true;
        if let Some((number, text)) = &self.table
            && *number != position.table
        {
            position.table = *number;
            texts.push(text.clone());
        }
        if let Some(text) = &self.end
            && !position.has_end
        {
            position.has_end = true;
            texts.push(text.clone());
        }
        texts
    }

    /// The first words to a reader of this session.
    fn greet(&self, position: &mut Position, texts: &mut Vec<Utf8Bytes>) {
        let resumed = position.resumed.take();
        let after = resumed
            .filter(|(session, _)| *session == self.session)
            .map(|(_, after)| after.min(self.seq))
            .filter(|after| *after == self.seq || self.ring.follows(*after));
        let first = || self.ring.before_first_whole().unwrap_or(self.seq);
        *position = Position {
            generation: self.generation,
            after: after.unwrap_or_else(first),
            ..Position::default()
        };
        let hello = json!({
            "type": "hello",
            "format": FORMAT,
            "session": self.session,
            "title": self.about.title,
            "world": self.about.world.name(),
            "source": self.about.source.name(),
            "window_s": WINDOW.as_secs(),
        });
        texts.push(hello.to_string().into());
    }

    /// Leads a reader that has fallen behind to a whole frame.
    fn keep_up(&self, position: &mut Position) {
        let Some(newest) = self.ring.newest() else {
            return;
        };
        let behind = newest.saturating_sub(position.after);
        if position.is_current && behind > MAX_BEHIND {
            let to = self.ring.before_last_whole();
            position.after = to.unwrap_or(newest).max(position.after);
        } else if behind > 0 && !self.ring.follows(position.after) {
            position.after = self.ring.before_first_whole().unwrap_or(newest);
        }
    }

    fn series_after(&self, first: u32) -> Option<Utf8Bytes> {
        let mut text = String::from("{\"type\":\"series\",\"series\":[");
        let begin = text.len();
        for (id, series) in self.series.range(first..) {
            if text.len() > begin {
                text.push(',');
            }
            series.describe(*id, &mut text);
        }
        let any = text.len() > begin;
        text.push_str("]}");
        any.then(|| text.into())
    }
}

impl Series {
    /// Takes what was put since the last frame; whether it is to be sent.
    fn take(&mut self, always: bool) -> bool {
        if self.ends {
            self.ends = false;
            self.sent = None;
            return true;
        }
        if self.count == 0 {
            return always && self.sent.is_some();
        }
        let mean = self.sum / f64::from(self.count);
        let value = significant(if self.is_averaged { mean } else { self.last });
        (self.sum, self.count) = (0.0, 0);
        let is_new = self.sent != Some(value);
        self.sent = Some(value);
        is_new || always
    }

    fn describe(&self, id: u32, text: &mut String) {
        // writing to a text cannot fail
        let _ = write!(text, "{{\"id\":{id},\"entity\":");
        string(text, &self.entity);
        let _ = write!(text, ",\"kind\":\"{}\",\"parent\":", self.kind.name());
        match &self.parent {
            Some(parent) => string(text, parent),
            None => text.push_str("null"),
        }
        let (metric, unit) = (self.metric, unit(self.metric).label());
        let _ = write!(text, ",\"metric\":\"{metric}\",\"unit\":\"{unit}\"}}");
    }
}

/// A random name; where the system has no randomness, one by the time.
fn random_name() -> String {
    let mut bytes = [0_u8; 8];
    if SystemRandom::new().fill(&mut bytes).is_err() {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let nanos = now.map_or(0, |since| since.as_nanos() as u64);
        bytes = nanos.to_be_bytes();
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
