//! The server's rate, window and states.
//!
//! Source: CDBE section IV, equations 6 to 9, figure 4. Times in microseconds, amounts in bytes, rates
//! in bytes a second, gains in thousandths; divisions round down.
//!
//! | paper | here |
//! | --- | --- |
//! | equation 6, pacing interval | `pacing_rate`: the rate of which it is the inverse |
//! | equation 7, cwnd | `window` |
//! | equations 8 and 9, windows of RTT_min | `Tally` |
//! | queue up, queue down | `is_queue_up`, `is_queue_down` |
//! | firm growth, firm decline | `State::next_of_normal` |
//! | GROW's and DRAIN's ends | `State::next_of_grow`, `State::next_of_drain` |
//! | END, `BiF < gamma BDP` | `State::next_of_startup`, `State::restarts` |
//!
//! *Readings of mode `paper`*
//! - Firm decline leads, by the text, to DRAIN "to use more aggressive G_pacing": GROW is meant.
//! - Equation 9 has the mean of the window before; its sum is then positive whenever the mean has
//!   grown by a tenth, and decides nothing that equation 8 has not decided.
//! - The queue is up above (1 + beta) DSDL_min as the formula states, not (1 + alpha) as the text.
//! - m, gamma and the STARTUP count have no values in print: `Config` and `docs/results/cdbe.md`.
//! - After DRAIN one window of NORMAL follows in any case; if its mean is still above
//!   (1 + alpha) DSDL_min and has not fallen, it becomes DSDL_min.
//! - BiF is looked at as a window ends, outside STARTUP. What is left of STARTUP is the count less the
//!   rounds that were spent in it.
//!
//! *Mode `default`* keeps STARTUP, and steers the rest by a queue that it aims at: [`super::steering`].

use super::steering::Steering;
use super::{Constants, INITIAL_REPORT, Mode};
use crate::{RateReport, RateView};

/// One, in thousandths.
pub const ONE: u64 = 1_000;
/// 2 / ln 2, the gains of STARTUP (section IV-A).
pub const STARTUP_GAIN: u64 = 2_885;
/// Pacing gain of GROW.
pub const GROW_GAIN: u64 = 1_250;
/// Pacing gain of DRAIN.
pub const DRAIN_GAIN: u64 = 750;
/// Window gain of NORMAL, GROW and DRAIN.
pub const CWND_GAIN: u64 = 2_000;
/// alpha of section IV-B.
pub const ALPHA: u64 = 100;
/// beta of section IV-B.
pub const BETA: u64 = 250;
/// Least window, segments: keeps delayed acknowledgements coming.
pub const MIN_WINDOW: u64 = 4;
/// What is accepted of a report in mode `paper`: so many times what was delivered.
pub const PAPER_BOUND: u64 = 4;
/// The same in mode `default`.
pub const DEFAULT_BOUND: u64 = 2;
/// Time without a report after which none decides, us.
pub const SILENCE: u64 = 2_000_000;
/// On long paths it is so many RTT_min.
const SILENT_WINDOWS: u64 = 16;
/// Windows for which the largest delivery rate is kept.
pub const DELIVERY_WINDOWS: u64 = 10;

/// Longest RTT_min and longest queue that are reckoned with, us: a peer's timestamps may be absurd.
pub const MAX_TIME: u64 = 60_000_000;
/// Largest segment that is reckoned with, bytes.
pub const MAX_SEGMENT: u64 = 1 << 16;
/// Longest delay that is reckoned with, us: 2^32 ticks of 1 ms.
pub const MAX_DELAY: i64 = 1 << 42;

/// Largest amount that is reckoned with, bytes.
pub const MAX_AMOUNT: u64 = 1 << 40;

/// Mode `default`: gain of STARTUP.
pub const OUR_STARTUP_GAIN: u64 = 2_000;
/// Mode `default`: a window lasts so long at least, us: the client's sample windows do.
pub const MIN_WINDOW_TIME: u64 = 2_000;
/// Mode `default`: acknowledged segments before which losses do not end STARTUP.
const STARTUP_SEGMENTS: u64 = 20;

/// The states of figure 4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Fills the pipe.
    #[default]
    Startup,
    /// Keeps what it has.
    Normal,
    /// Sends faster to find more.
    Grow,
    /// Lets the queue run off.
    Drain,
}

impl Phase {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Normal => "normal",
            Self::Grow => "grow",
            Self::Drain => "drain",
        }
    }
}

/// How a server decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Whose equations.
    pub mode: Mode,
    /// Rounds of STARTUP at most (StartupCount).
    pub startup_rounds: u64,
    /// Queue-ups in a row that are firm (n).
    pub ups: u64,
    /// Queue-downs in a row that are firm (m).
    pub downs: u64,
    /// gamma, thousandths.
    pub inflight_share: u64,
    /// Largest segment, bytes; 1 to [`MAX_SEGMENT`].
    pub mss: u64,
    /// Mode `default`: what else can be set.
    pub constants: Constants,
}

impl Config {
    /// n as published; m = n; gamma one half; six rounds of STARTUP, enough for 1 MB/s to become
    /// 80 MB/s, at half a growth a round (the estimate takes a round trip, and so does the report).
    pub fn new(mode: Mode, mss: u64) -> Self {
        Self {
            mode,
            startup_rounds: 6,
            ups: 2,
            downs: 2,
            inflight_share: 500,
            mss: mss.clamp(1, MAX_SEGMENT),
            constants: Constants::DEFAULT,
        }
    }
}

/// An acknowledgement as the server counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// When it came, us.
    pub at: u64,
    /// Its report, bytes a second; if none, the last one holds.
    pub report: Option<u32>,
    /// Its downstream delay, us, but for a constant in mode `default`.
    pub delay: Option<i64>,
    /// The tick of that delay, us; 0 if it is not of timestamps, and in mode `paper`.
    pub tick: u64,
    /// Its round trip, us; 0 if it gave no sample.
    pub rtt: u64,
    /// RTT_min, us; > 0.
    pub min_rtt: u64,
    /// Payload that it acknowledged.
    pub acked: u64,
    /// Payload that it showed to be lost.
    pub lost: u64,
    /// Payload in flight after it.
    pub in_flight: u64,
    /// The rate at which data was delivered, bytes a second; 0 if it gave no sample.
    pub delivered: u64,
    /// The application had nothing to send.
    pub is_app_limited: bool,
}

/// What has been seen in a window of RTT_min.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Delay samples.
    pub count: i64,
    /// Their sum, us.
    pub sum: i64,
    /// The least of them, us.
    pub least: i64,
}

impl Tally {
    /// Adds a sample.
    pub fn add(&mut self, delay: i64) {
        self.least = if self.count == 0 {
            delay
        } else {
            self.least.min(delay)
        };
        self.count += 1;
        self.sum += delay;
    }

    /// Equation 8; only if there are samples.
    pub fn mean(&self) -> i64 {
        self.sum / self.count
    }

    /// Equation 9: the sum of the samples' distances from the mean of the window before.
    pub fn deviation(&self, before: i64) -> i64 {
        self.sum - self.count * before
    }
}

/// A sum of amounts, bytes, within [`MAX_AMOUNT`].
pub fn added(sum: u64, amount: u64) -> u64 {
    (sum + amount.min(MAX_AMOUNT)).min(MAX_AMOUNT)
}

/// `part` thousandths of a time.
pub fn of(part: u64, time: i64) -> i64 {
    time * part.cast_signed() / ONE.cast_signed()
}

/// Obvious queue growth (section IV-B).
pub fn is_queue_up(tally: &Tally, before: i64, least: i64) -> bool {
    let mean = tally.mean();
    (mean > of(ONE + ALPHA, before) && tally.deviation(before) > 0) || mean > of(ONE + BETA, least)
}

/// Obvious queue decrease (section IV-B).
pub fn is_queue_down(tally: &Tally, before: i64, least: i64) -> bool {
    let mean = tally.mean();
    (mean < of(ONE - ALPHA, before) && tally.deviation(before) < 0) || mean < of(ONE + ALPHA, least)
}

/// Equation 6, inverted: bytes a second.
pub fn pacing_rate(gain: u64, report: u64) -> u64 {
    gain * report / ONE
}

/// Equation 7: bytes.
pub fn window(gain: u64, report: u64, min_rtt: u64) -> u64 {
    gain * (report * min_rtt / 1_000_000) / ONE
}

/// What the server has decided and measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The state of figure 4.
    pub phase: Phase,
    /// The report that is used, bytes a second: the client's, but never beyond its bound.
    pub report: u64,
    /// What the client last reported, bytes a second.
    pub reported: u64,
    /// Reports that were beyond the bound.
    pub bounded: u64,
    /// A report has come.
    pub has_report: bool,
    /// When the last one did, us.
    pub reported_at: u64,
    /// RTT_min, us.
    pub min_rtt: u64,
    /// False before the first window.
    pub is_running: bool,
    /// When the window began, us.
    pub window_at: u64,
    /// Windows so far.
    pub windows: u64,
    /// The window's delays.
    pub tally: Tally,
    /// Mean delay of the window before; only if `has_before`.
    pub before: i64,
    /// A window with samples has ended.
    pub has_before: bool,
    /// DSDL_min, us; only if `has_least`.
    pub least: i64,
    /// A delay has been seen.
    pub has_least: bool,
    /// Queue-ups in a row.
    pub ups: u64,
    /// Queue-downs in a row.
    pub downs: u64,
    /// Mean delay as GROW or DRAIN began.
    pub start: i64,
    /// The window after DRAIN: DSDL_min may be renewed.
    pub is_watching: bool,
    /// Rounds spent in STARTUP.
    pub rounds: u64,
    /// Report as the window before ended.
    pub report_before: u64,
    /// Windows of STARTUP in a row in which the report grew by less than a tenth.
    pub stalls: u64,
    /// Largest delivery rate of these [`DELIVERY_WINDOWS`] and of those before, bytes a second.
    pub delivered: [u64; 2],
    /// The application has had nothing to send since the window began.
    pub is_app_limited: bool,
    /// The pacing gain, thousandths.
    pub gain: u64,
    /// Mode `default`: the queue and what is done about it.
    pub steering: Steering,
}

impl State {
    /// The state at the start of a connection.
    pub fn new() -> Self {
        Self {
            report: u64::from(INITIAL_REPORT),
            report_before: u64::from(INITIAL_REPORT),
            gain: STARTUP_GAIN,
            ..Self::default()
        }
    }

    /// An acknowledgement came.
    pub fn on_ack(&mut self, config: &Config, event: &Event) {
        self.min_rtt = event.min_rtt.clamp(1, MAX_TIME);
        let delivered = event.delivered.min(u64::from(u32::MAX));
        self.delivered[0] = self.delivered[0].max(delivered);
        self.is_app_limited |= event.is_app_limited;
        self.take_report(config, event);
        if config.mode == Mode::Default {
            self.steering.take(event);
            self.leave_startup(config);
        }
        if let Some(delay) = event.delay {
            self.take_delay(delay.clamp(-MAX_DELAY, MAX_DELAY));
        }
        if !self.is_running {
            self.is_running = true;
            self.window_at = event.at;
        }
        if event.at >= self.window_at + self.window_time(config) {
            self.end_window(config, event);
            self.window_at = event.at;
        }
        if config.mode == Mode::Default && self.is_reported(event.at) {
            self.steer(config, event.at);
        }
    }

    /// How long a window is, us.
    fn window_time(&self, config: &Config) -> u64 {
        match config.mode {
            Mode::Paper => self.min_rtt,
            Mode::Default => self.min_rtt.max(MIN_WINDOW_TIME),
        }
    }

    /// Whether reports decide: one has come, and the last is not too old.
    pub fn is_reported(&self, at: u64) -> bool {
        let silence = SILENCE.max(SILENT_WINDOWS * self.min_rtt);
        self.has_report && at.saturating_sub(self.reported_at) <= silence
    }

    /// What is accepted of a report: a receiver must not make a server send to it, or to the owner of any
    /// address it uses, much faster than its data arrives. While the application limits, and while a drain
    /// does, a lower report states nothing of the path (mode `default`).
    fn take_report(&mut self, config: &Config, event: &Event) {
        if let Some(report) = event.report {
            self.reported = u64::from(report);
            if !self.is_reported(event.at) {
                self.steering.restart(event.at);
            }
            self.has_report = true;
            self.reported_at = event.at;
        }
        if self.reported == 0 {
            return;
        }
        let times = match config.mode {
            Mode::Paper => PAPER_BOUND,
            Mode::Default => DEFAULT_BOUND,
        };
        let proven = times * self.delivered[0].max(self.delivered[1]);
        let limit = proven.max(u64::from(INITIAL_REPORT));
        if event.report.is_some() && self.reported > limit {
            self.bounded += 1;
        }
        let accepted = self.reported.min(limit);
        let least = match config.mode {
            Mode::Paper => 0,
            Mode::Default if self.steering.is_holding(event.at) => self.steering.held,
            Mode::Default if self.is_app_limited => self.report,
            Mode::Default => 0,
        };
        self.report = accepted.max(least);
    }

    fn take_delay(&mut self, delay: i64) {
        self.tally.add(delay);
        if !self.has_least || delay < self.least {
            self.least = delay;
            self.has_least = true;
        }
    }

    fn end_window(&mut self, config: &Config, event: &Event) {
        self.windows += 1;
        if self.windows.is_multiple_of(DELIVERY_WINDOWS) {
            self.delivered = [0, self.delivered[0]];
        }
        if self.phase == Phase::Startup {
            self.rounds += 1;
            let has_grown = self.report * ONE >= self.report_before * (ONE + ALPHA);
            self.stalls = if has_grown { 0 } else { self.stalls + 1 };
        }
        self.report_before = self.report;
        match config.mode {
            Mode::Paper => self.judge(config, event),
            Mode::Default => self.look_back(config, event),
        }
        self.tally = Tally::default();
        self.is_app_limited = false;
    }

    /// STARTUP is over (END of section IV-B).
    fn has_started(&self, config: &Config) -> bool {
        self.rounds >= config.startup_rounds || self.stalls >= 2
    }

    /// BiF < gamma BDP, and something is left of STARTUP.
    fn restarts(&self, config: &Config, event: &Event) -> bool {
        let bdp = self.report * self.min_rtt / 1_000_000;
        event.in_flight.min(bdp) * ONE < config.inflight_share * bdp
            && self.rounds < config.startup_rounds
    }

    /// Mode `paper`, figure 4: what follows from the window.
    fn judge(&mut self, config: &Config, event: &Event) {
        if self.tally.count == 0 {
            return;
        }
        let mean = self.tally.mean();
        let before = if self.has_before { self.before } else { mean };
        let is_up = is_queue_up(&self.tally, before, self.least);
        let is_down = is_queue_down(&self.tally, before, self.least);
        self.ups = if is_up { self.ups + 1 } else { 0 };
        self.downs = if is_down { self.downs + 1 } else { 0 };
        if self.is_watching && mean >= before && mean > of(ONE + ALPHA, self.least) {
            self.least = mean;
        }
        self.is_watching = false;
        let phase = match self.phase {
            Phase::Startup => self.next_of_startup(config),
            _ if self.restarts(config, event) => Phase::Startup,
            Phase::Normal => self.next_of_normal(config, mean, before),
            Phase::Grow => self.next_of_grow(mean, is_up),
            Phase::Drain => self.next_of_drain(mean, is_down),
        };
        if phase != self.phase {
            self.enter(phase, mean);
        }
        self.before = mean;
        self.has_before = true;
    }

    fn enter(&mut self, phase: Phase, mean: i64) {
        if self.phase == Phase::Drain {
            self.is_watching = true;
        }
        if phase == Phase::Startup {
            self.stalls = 0;
        }
        if self.phase == Phase::Normal {
            self.ups = 0;
            self.downs = 0;
        }
        self.phase = phase;
        self.start = mean;
        self.gain = match phase {
            Phase::Startup => STARTUP_GAIN,
            Phase::Normal => ONE,
            Phase::Grow => GROW_GAIN,
            Phase::Drain => DRAIN_GAIN,
        };
    }

    fn next_of_startup(&self, config: &Config) -> Phase {
        if self.has_started(config) {
            Phase::Normal
        } else {
            Phase::Startup
        }
    }

    /// Firm growth leads to DRAIN, firm decline to GROW.
    fn next_of_normal(&self, config: &Config, mean: i64, before: i64) -> Phase {
        if mean >= of(ONE + BETA, before) || self.ups >= config.ups {
            Phase::Drain
        } else if mean < of(ONE - BETA, before) || self.downs >= config.downs {
            Phase::Grow
        } else {
            Phase::Normal
        }
    }

    fn next_of_grow(&self, mean: i64, is_up: bool) -> Phase {
        if is_up || mean >= of(ONE + BETA, self.start) {
            Phase::Normal
        } else {
            Phase::Grow
        }
    }

    fn next_of_drain(&self, mean: i64, is_down: bool) -> Phase {
        if is_down || mean <= of(ONE - BETA, self.start) {
            Phase::Normal
        } else {
            Phase::Drain
        }
    }

    /// Mode `default`, as a window ends: whether STARTUP is over.
    fn look_back(&mut self, config: &Config, event: &Event) {
        if self.phase == Phase::Startup {
            if self.has_started(config) {
                self.phase = Phase::Normal;
            }
        } else if !self.steering.is_holding(event.at) && self.restarts(config, event) {
            self.phase = Phase::Startup;
            self.stalls = 0;
        }
        let (constants, mss) = (&config.constants, config.mss);
        self.steering
            .end_window(constants, event.at, self.min_rtt, self.report, mss);
    }

    /// Mode `default`: STARTUP ends as soon as there is a queue, or a buffer overflows.
    fn leave_startup(&mut self, config: &Config) {
        let Steering { acked, lost, .. } = self.steering;
        let target = self.steering.target(&config.constants, self.report);
        let is_long = self.steering.queue > 2 * target;
        let overflows = lost * config.constants.losses > acked.max(STARTUP_SEGMENTS * config.mss);
        if self.phase == Phase::Startup && (is_long || overflows) {
            self.phase = Phase::Normal;
        }
    }

    /// Mode `default`, at each acknowledgement: after STARTUP the queue is steered.
    fn steer(&mut self, config: &Config, at: u64) {
        let constants = &config.constants;
        if self.phase == Phase::Startup {
            self.gain = OUR_STARTUP_GAIN;
            self.steering.start_up(at, self.min_rtt);
            return;
        }
        self.steering
            .steer(constants, at, self.min_rtt, self.report);
        self.gain = self.steering.gain(constants, self.report, self.min_rtt);
        self.phase = match self.gain {
            g if g > ONE + ALPHA => Phase::Grow,
            g if g < ONE - ALPHA => Phase::Drain,
            _ => Phase::Normal,
        };
    }

    /// What time series show of it.
    pub fn view(&self) -> RateView {
        let mean = if self.tally.count > 0 {
            self.tally.mean()
        } else {
            self.before
        };
        RateView {
            used: RateReport::saturating(self.report),
            bounded: self.bounded,
            gain: self.gain as f64 / ONE as f64,
            delay_ms: mean as f64 / 1e3,
            least_delay_ms: self.least as f64 / 1e3,
        }
    }

    /// The pacing rate, bytes a second: equation 6, but never so slow that the smallest window would take
    /// longer than RTT_min and 100 ms. Mode `default` spreads its window over the round trip, unless it
    /// drains.
    pub fn pacing_rate(&self, config: &Config) -> u64 {
        let least = MIN_WINDOW * config.mss * 1_000_000 / (self.min_rtt + 100_000);
        let rate = if self.is_steering(config) && !self.steering.is_draining {
            let window = self.window(config);
            self.steering
                .pacing_rate(&config.constants, window, self.min_rtt)
        } else {
            pacing_rate(self.gain, self.report).max(least)
        };
        rate.max(1)
    }

    /// The window, bytes: equation 7. Mode `default` makes room for the queue that it aims at.
    pub fn window(&self, config: &Config) -> u64 {
        let least = MIN_WINDOW * config.mss;
        match (config.mode, self.phase) {
            (Mode::Paper, Phase::Startup) => {
                window(STARTUP_GAIN, self.report, self.min_rtt).max(least)
            }
            (Mode::Paper, _) => window(CWND_GAIN, self.report, self.min_rtt).max(least),
            (Mode::Default, Phase::Startup) => {
                window(OUR_STARTUP_GAIN, self.report, self.min_rtt) + least
            }
            (Mode::Default, _) => {
                self.steering
                    .window(&config.constants, self.report, self.min_rtt, config.mss)
            }
        }
    }

    /// Mode `default` after STARTUP.
    fn is_steering(&self, config: &Config) -> bool {
        config.mode == Mode::Default && self.phase != Phase::Startup
    }
}

#[cfg(test)]
mod tests;
