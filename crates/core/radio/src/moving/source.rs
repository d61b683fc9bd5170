//! The SINR of a moving radio, over time.
//!
//! Three clocks tick, each no faster than it must: place, path loss, line of sight, shadowing and
//! blockage every 5 cm of way, at most every 10 ms; fading by the coherence time (see `fading`); the
//! interferer when it comes and goes. In between the SINR holds. All follow from the time and the
//! seed alone, however often the SINR is requested.

use super::blockage::{self, Blocker, Building, BuildingEffect, End, Path};
use super::config::{BaseStation, MovingRadioConfig, MovingRadioError};
use super::fading::{FadingProcess, Movement};
use super::geometry::{LIGHT, Metres, Position};
use super::interferer::{Interferer, InterfererPower};
use super::line_of_sight::{SightField, SightRule};
use super::link_budget::{Dbm, LinkBudget};
use super::mobility::{Leg, Track};
use super::path_loss::{PathLossModel, RangeWarning, Sight};
use super::shadowing::LinkShadowing;
use crate::adaptation::{SinrSample, SinrSource};
use crate::groups::PrbGroups;
use units::{Decibel, Duration, Hertz, Instant, Rng, Streams};

/// Way after which place and all that follows from it are looked at again, m.
const STEP: f64 = 0.05;
/// They are looked at no more often than this.
const MIN_STEP: Duration = Duration::from_millis(10);
/// SINR below this is given as this, dB.
const MIN_SINR: f64 = -200.0;
/// The same, as a ratio.
const MIN_MEAN: f64 = 1e-20;

/// What follows from the place.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Reception {
    /// Mean received power, mW.
    power: f64,
    /// Power of the interferer while it is on, mW.
    interference: f64,
    sight: Sight,
}

/// A radio link whose UE moves.
#[derive(Clone, Debug)]
pub struct MovingRadio {
    budget: LinkBudget,
    /// mW.
    noise: f64,
    base: BaseStation,
    ue_height: f64,
    /// m.
    wavelength: f64,
    model: PathLossModel,
    rule: SightRule,
    field: SightField,
    shadowing: Option<LinkShadowing>,
    buildings: Vec<Building>,
    effect: BuildingEffect,
    blockers: Vec<Blocker>,
    fading: Option<FadingProcess>,
    interferer: Option<Interference>,
    neighbours: Vec<Neighbour>,
    /// The base station sends nothing between these.
    off: Option<(Instant, Instant)>,
    warnings: Vec<RangeWarning>,
    track: Track,
    leg: Leg,
    /// m/s, on this leg.
    speed: f64,
    /// Time from one look at the place to the next on this leg.
    step: Duration,
    /// When the place was last looked at, and when it will be next.
    seen: Instant,
    next: Instant,
    /// What was seen there, unless it is still to be worked out.
    reception: Option<Reception>,
    /// Groups of PRBs, where the carrier is divided.
    groups: Option<PrbGroups>,
    /// SINR of the groups, linear, of the last answer.
    group_sinr: Vec<f32>,
    /// The last answer.
    last: Option<SinrSample>,
}

/// Another base station on the same carrier.
#[derive(Clone, Debug)]
struct Neighbour {
    radio: Box<MovingRadio>,
    /// Of its power, the part that disturbs.
    share: f64,
}

#[derive(Clone, Debug)]
struct Interference {
    process: Interferer,
    power: InterfererPower,
    /// Path loss of a transmitter.
    model: Option<PathLossModel>,
}

impl MovingRadio {
    /// A radio for a run of this length: the UE's way is checked so far.
    ///
    /// # Errors
    /// As [`MovingRadioConfig::check`].
    pub fn new(
        config: &MovingRadioConfig,
        run: Duration,
        streams: &Streams,
    ) -> Result<Self, MovingRadioError> {
        Self::with_fading(config, run, streams, streams.stream("fading"))
    }

    /// The same, whose fading draws from another stream: a second carrier between the same antennas, whose places,
    /// line of sight and shadowing are those of the first.
    ///
    /// # Errors
    /// As [`MovingRadioConfig::check`].
    pub fn with_fading(
        config: &MovingRadioConfig,
        run: Duration,
        streams: &Streams,
        fading: Rng,
    ) -> Result<Self, MovingRadioError> {
        Self::on_way(config, run, streams, (fading, streams.stream("mobility")))
    }

    /// The same, whose fading and whose way draw from other streams: a UE that several base stations hear goes one way.
    ///
    /// # Errors
    /// As [`MovingRadioConfig::check`].
    pub fn on_way(
        config: &MovingRadioConfig,
        run: Duration,
        streams: &Streams,
        (fading, way): (Rng, Rng),
    ) -> Result<Self, MovingRadioError> {
        let warnings = config.check(run)?;
        let budget = LinkBudget::new(config.budget)?;
        let model = config.model()?;
        let rngs = ["shadowing/los", "shadowing/nlos"].map(|name| streams.stream(name));
        let fading = FadingProcess::new(
            config.fading,
            config.doppler,
            config.carrier,
            config.budget.bandwidth,
            fading,
        )?;
        let interferer = match config.interferer {
            Some(interferer) => Some(Interference {
                process: Interferer::new(interferer, streams.stream("interferer"))?,
                power: interferer.power,
                model: config.interferer_model()?,
            }),
            None => None,
        };
        let walls = config.buildings.clone();
        let mut track = Track::new(config.mobility.clone(), walls, way)?;
        let leg = track.next_leg(Instant::ZERO);
        let mut this = Self {
            noise: budget.noise().to_milliwatts(),
            budget,
            base: config.base,
            ue_height: config.ue_height.get(),
            wavelength: LIGHT / config.carrier.get() as f64,
            shadowing: LinkShadowing::new(config.shadowing, &model, rngs)?,
            model,
            rule: config.sight,
            field: SightField::new(streams.child("line-of-sight")),
            buildings: config.buildings.clone(),
            effect: config.building_effect,
            blockers: config.blockers.clone(),
            fading,
            interferer,
            neighbours: Vec::new(),
            off: None,
            warnings,
            track,
            leg,
            speed: 0.0,
            step: MIN_STEP,
            seen: Instant::ZERO,
            next: Instant::ZERO,
            reception: None,
            groups: None,
            group_sinr: Vec::new(),
            last: None,
        };
        this.set_out();
        Ok(this)
    }

    /// Divides the carrier into groups of PRBs, each with an SINR of its own.
    pub fn divide(&mut self, groups: PrbGroups, sub_carrier_spacing: Hertz) {
        self.groups = Some(groups);
        if let Some(fading) = &mut self.fading {
            fading.divide(&groups.offsets(sub_carrier_spacing));
        }
    }

    /// The radio of another base station to the same UE disturbs this one: with this share of its power, 0 to 1, on average over
    /// its fading.
    pub fn disturbed_by(&mut self, neighbour: Self, share: f64) {
        self.neighbours.push(Neighbour {
            radio: Box::new(neighbour),
            share,
        });
    }

    /// The base station is off from the first to the second of these times: it is not received, and disturbs nobody.
    pub fn switch_off(&mut self, from: Instant, until: Instant) {
        self.off = Some((from, until));
    }

    /// Mean received power at a time, without fading; minus infinity while the base station is off. Times never go back.
    pub fn received(&mut self, at: Instant) -> Dbm {
        Dbm::new(10.0 * self.power(at).0.log10())
    }

    /// Noise at the receiver.
    pub fn noise(&self) -> Dbm {
        Dbm::new(10.0 * self.noise.log10())
    }

    /// Mean received power at a time, mW, and until when it holds.
    fn power(&mut self, at: Instant) -> (f64, Instant) {
        self.advance_to(at);
        let power = self.reception().power;
        match self.off {
            Some((from, _)) if at < from => (power, self.next.min(from)),
            Some((_, until)) if at < until => (0.0, self.next.min(until)),
            Some(_) | None => (power, self.next),
        }
    }

    /// In what its path loss model is extrapolated, each once.
    pub fn warnings(&self) -> &[RangeWarning] {
        &self.warnings
    }

    /// Where the UE was when its place was last looked at.
    pub fn place(&self) -> Position {
        self.leg.place(self.seen)
    }

    /// Whether it saw the base station there, as far as the path loss is concerned.
    pub fn sight(&mut self) -> Sight {
        self.reception().sight
    }

    /// Mean SNR there: without fading and interferer.
    pub fn mean_snr(&mut self) -> Decibel {
        Decibel::from_linear(self.reception().power / self.noise)
    }

    /// Begins the leg in `leg`.
    fn set_out(&mut self) {
        self.speed = self.leg.speed();
        self.step = if self.speed == 0.0 {
            self.leg.end - self.leg.start
        } else {
            Duration::from_secs_f64(STEP / self.speed).max(MIN_STEP)
        };
        self.next = self.after(self.leg.start);
        let height = self.base.height.get() - self.ue_height;
        if let Some(fading) = &mut self.fading {
            let Leg {
                start,
                from,
                velocity,
                ..
            } = self.leg;
            fading.move_with(Movement {
                start,
                from,
                velocity,
                base: self.base.place,
                height,
            });
        }
    }

    /// When the place is looked at after a time of this leg.
    fn after(&self, seen: Instant) -> Instant {
        (seen + self.step).min(self.leg.end)
    }

    /// Goes to a time.
    fn advance_to(&mut self, at: Instant) {
        while self.next <= at {
            if let Some(shadowing) = &mut self.shadowing {
                let way = self.speed * (self.next - self.seen).as_secs_f64();
                shadowing.advance(way);
            }
            self.seen = self.next;
            if self.seen >= self.leg.end {
                self.leg = self.track.next_leg(self.seen);
                self.set_out();
            } else {
                self.next = self.after(self.seen);
            }
            self.reception = None;
        }
    }

    fn reception(&mut self) -> Reception {
        if let Some(known) = self.reception {
            return known;
        }
        let place = self.place();
        let (loss, sight) = self.loss(place);
        let interference = self
            .interferer
            .as_ref()
            .map_or(0.0, |it| it.milliwatts(place));
        let power = self.budget.received(Decibel::new(loss)).to_milliwatts();
        let reception = Reception {
            power,
            interference,
            sight,
        };
        self.reception = Some(reception);
        reception
    }

    /// The SINR at a time, worked out.
    fn sample(&mut self, at: Instant) -> SinrSample {
        let (power, mut holds_until) = self.power(at);
        let Reception {
            interference,
            sight,
            ..
        } = self.reception();
        let mut disturbance = self.noise;
        if let Some(interferer) = &mut self.interferer {
            let (on, until) = interferer.process.on(at);
            holds_until = holds_until.min(until);
            if on {
                disturbance += interference;
            }
        }
        for neighbour in &mut self.neighbours {
            let (power, until) = neighbour.radio.power(at);
            disturbance += neighbour.share * power;
            holds_until = holds_until.min(until);
        }
        let mean = (power / disturbance).max(MIN_MEAN);
        let sinr = match &mut self.fading {
            Some(fading) if power > 0.0 => {
                let (effective, until) = fading.effective_sinr(at, sight, mean);
                holds_until = holds_until.min(until);
                effective
            }
            Some(_) | None => 10.0 * mean.log10(),
        };
        if let Some(groups) = self.groups {
            self.group_sinr.clear();
            match &self.fading {
                Some(fading) if power > 0.0 => {
                    let powers = fading.group_powers().iter();
                    self.group_sinr
                        .extend(powers.map(|power| mean as f32 * power));
                }
                Some(_) | None => self.group_sinr.resize(groups.count(), mean as f32),
            }
        }
        SinrSample {
            sinr: Decibel::new(sinr.max(MIN_SINR)),
            holds_until,
        }
    }

    /// Everything between the antennas but fading, dB.
    fn loss(&mut self, place: Position) -> (f64, Sight) {
        let distance = self.base.place.distance(place);
        let sight = match self.rule {
            SightRule::Line => Sight::Line,
            SightRule::NoLine => Sight::NoLine,
            SightRule::Probability => {
                let probability = self.model.line_of_sight_probability(distance);
                self.field.sight(place, probability.unwrap_or(1.0))
            }
        };
        let from = End {
            place: self.base.place,
            height: self.base.height.get(),
        };
        let path = Path::new(
            from,
            End {
                place,
                height: self.ue_height,
            },
            self.wavelength,
        );
        let (loss, sight) = self.past_buildings(&path, distance, sight);
        let blockers = self.blockers.iter().map(|it| it.field_left(&path));
        (loss + blockage::loss(blockers), sight)
    }

    /// Path loss and shadowing at a distance with and without line of sight, dB.
    fn median_and_shadowing(&self, distance: Metres) -> [f64; 2] {
        let [line, no_line] = self.model.losses(distance.get());
        match &self.shadowing {
            Some(shadowing) => [
                line + shadowing.loss(Sight::Line),
                no_line + shadowing.loss(Sight::NoLine),
            ],
            None => [line, no_line],
        }
    }

    /// Path loss, shadowing and the effect of the buildings, dB.
    fn past_buildings(&self, path: &Path, distance: Metres, sight: Sight) -> (f64, Sight) {
        let [line, no_line] = self.median_and_shadowing(distance);
        let open = match sight {
            Sight::Line => line,
            Sight::NoLine => no_line,
        };
        if self.buildings.is_empty() || sight == Sight::NoLine {
            // NLOS is what is left behind buildings
            return (open, sight);
        }
        let diffraction = || blockage::loss(self.buildings.iter().map(|it| it.field_left(path)));
        match self.effect {
            BuildingEffect::Diffraction => (open + diffraction(), sight),
            BuildingEffect::NoLineOfSight => {
                if self.buildings.iter().any(|it| it.blocks(path)) {
                    (no_line, Sight::NoLine)
                } else {
                    (open, sight)
                }
            }
            BuildingEffect::Strongest => {
                let diffracted = open + diffraction();
                let scattered = no_line.max(open);
                if scattered < diffracted {
                    (scattered, Sight::NoLine)
                } else {
                    (diffracted, sight)
                }
            }
        }
    }
}

impl Interference {
    /// Power at a place while it is on, mW.
    fn milliwatts(&self, place: Position) -> f64 {
        let received = match (self.power, &self.model) {
            (
                InterfererPower::Transmitted {
                    place: from, power, ..
                },
                Some(model),
            ) => power - model.loss(from.distance(place), Sight::Line),
            (InterfererPower::Received(power), _)
            | (InterfererPower::Transmitted { power, .. }, None) => power,
        };
        Dbm::to_milliwatts(received)
    }
}

impl SinrSource for MovingRadio {
    fn sinr(&mut self, at: Instant) -> SinrSample {
        match self.last {
            Some(last) if at < last.holds_until => last,
            _ => {
                let sample = self.sample(at);
                self.last = Some(sample);
                sample
            }
        }
    }

    fn groups(&mut self, at: Instant) -> &[f32] {
        if self.groups.is_some() {
            self.sinr(at);
        }
        &self.group_sinr
    }

    fn mean_received(&mut self, at: Instant) -> Option<Dbm> {
        Some(self.received(at))
    }
}

#[cfg(test)]
mod tests;
