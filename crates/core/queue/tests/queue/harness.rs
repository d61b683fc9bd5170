//! Packets and every kind of queue.

use queue::{
    BackpressureConfig, Capacity, ClassConfig, ClassScheduler, ClassesConfig, CoDelConfig,
    DisciplineConfig, DrqlConfig, DualPi2Config, DualScheduler, DynRlcConfig, Ecn,
    EmulatorCoDelConfig, FiveGBdpConfig, FqCoDelConfig, L4SpanConfig, LateBindingConfig,
    PacedConfig, Packet, QueueConfig, Ratio, RedConfig, SfqConfig, Turn, Unit, UspAmount,
    UspConfig, UspPeriod,
};
use units::{Bytes, Duration, Packets, Rng, Streams};

/// A packet that carries its own number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbered {
    /// Of all packets.
    pub id: usize,
    pub bytes: u64,
    pub flow: u64,
    pub ecn: Ecn,
}

/// QoS flows that packets belong to, by flow.
pub const QFIS: u8 = 4;

impl Packet for Numbered {
    fn bytes(&self) -> Bytes {
        Bytes::new(self.bytes)
    }
    fn flow(&self) -> u64 {
        self.flow
    }
    fn qfi(&self) -> u8 {
        (self.flow % u64::from(QFIS)) as u8
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn mark(&mut self) {
        assert!(matches!(self.ecn, Ecn::Ect0 | Ecn::Ect1), "marked {self:?}");
        self.ecn = Ecn::Ce;
    }
}

pub fn rng(seed: u64) -> Rng {
    Streams::new(seed).stream("queue")
}

/// Classes of QFI 0, QFIs 1 and 2, and the rest.
pub fn classes(scheduler: ClassScheduler, disciplines: [DisciplineConfig; 3]) -> DisciplineConfig {
    let qfis = [vec![0], vec![1, 2], vec![]];
    let classes =
        qfis.into_iter()
            .zip(disciplines)
            .zip([1, 2, 5])
            .map(|((qfis, discipline), weight)| ClassConfig {
                qfis,
                weight,
                discipline: Box::new(discipline),
                capacity: Capacity::Unlimited,
            });
    DisciplineConfig::Classes(ClassesConfig {
        scheduler,
        classes: classes.collect(),
    })
}

/// Every discipline, in its variants.
pub fn disciplines() -> Vec<(&'static str, DisciplineConfig)> {
    use DisciplineConfig as D;
    let without_ecn = CoDelConfig {
        ecn: false,
        ..CoDelConfig::default()
    };
    let few_queues = FqCoDelConfig {
        queues: 3,
        quantum: Bytes::new(300),
        ..FqCoDelConfig::default()
    };
    let by_bytes = SfqConfig {
        queues: 5,
        turn: Turn::Bytes(Bytes::new(1500)),
        perturb: Some(Duration::from_millis(20)),
    };
    let gentle = RedConfig {
        unit: Unit::Bytes,
        is_gentle: true,
        weight: Ratio::from_ppm(100_000),
        ..RedConfig::default()
    };
    let shifted = DualPi2Config {
        scheduler: DualScheduler::TimeShifted {
            shift: Duration::from_millis(50),
        },
        ..DualPi2Config::default()
    };
    let l4span = L4SpanConfig {
        classic_threshold: Bytes::new(30_000),
        drops: true,
        ..L4SpanConfig::default()
    };
    let three = [
        D::CoDel(CoDelConfig::default()),
        D::DropTail,
        D::FqCoDel(FqCoDelConfig::default()),
    ];
    let others = [
        D::Sfq(SfqConfig::default()),
        D::Red(RedConfig::default()),
        D::DualPi2(DualPi2Config::default()),
    ];
    vec![
        ("drop-tail", D::DropTail),
        ("codel", D::CoDel(CoDelConfig::default())),
        ("codel without ecn", D::CoDel(without_ecn)),
        (
            "codel of the emulator",
            D::EmulatorCoDel(EmulatorCoDelConfig::default()),
        ),
        ("fq-codel", D::FqCoDel(FqCoDelConfig::default())),
        ("fq-codel of three queues", D::FqCoDel(few_queues)),
        ("sfq", D::Sfq(SfqConfig::default())),
        ("sfq by bytes, perturbed", D::Sfq(by_bytes)),
        ("red", D::Red(RedConfig::default())),
        ("red, gentle, by bytes", D::Red(gentle)),
        ("dualpi2", D::DualPi2(DualPi2Config::default())),
        ("dualpi2 of the rfc", D::DualPi2(DualPi2Config::rfc9332())),
        ("dualpi2, time-shifted", D::DualPi2(shifted)),
        ("l4span that drops", D::L4Span(l4span)),
        (
            "strict classes",
            classes(ClassScheduler::StrictPriority, three),
        ),
        (
            "weighted classes",
            classes(ClassScheduler::Weighted, others),
        ),
    ]
}

/// Every backpressure.
pub fn backpressures() -> Vec<(&'static str, BackpressureConfig)> {
    use BackpressureConfig as B;
    let in_bytes = FiveGBdpConfig {
        unit: Unit::Bytes,
        ..FiveGBdpConfig::default()
    };
    let of_the_emulator = UspConfig {
        amount: UspAmount::Emulator,
        period: UspPeriod::Emulator,
        ..UspConfig::default()
    };
    vec![
        ("none", B::None),
        ("dynrlc", B::DynRlc(DynRlcConfig::default())),
        ("drql", B::Drql(DrqlConfig::default())),
        ("5g-bdp", B::FiveGBdp(FiveGBdpConfig::default())),
        ("5g-bdp in bytes", B::FiveGBdp(in_bytes)),
        ("usp", B::Usp(UspConfig::default())),
        ("usp of the emulator", B::Usp(of_the_emulator)),
    ]
}

/// The two queues of late binding, which signal congestion and grant room each in its own way.
fn late_binding() -> [(&'static str, DisciplineConfig); 2] {
    [
        (
            "late binding",
            DisciplineConfig::LateBinding(LateBindingConfig::default()),
        ),
        ("paced", DisciplineConfig::Paced(PacedConfig::default())),
    ]
}

/// Every discipline at every kind of capacity, with one backpressure after the other.
pub fn all() -> Vec<(String, QueueConfig)> {
    let capacities = [
        Capacity::Unlimited,
        Capacity::Packets(Packets::new(30)),
        Capacity::Bytes(Bytes::new(20_000)),
    ];
    let mut backpressures = backpressures().into_iter().cycle();
    let mut all = Vec::new();
    for (name, discipline) in disciplines().into_iter().chain(late_binding()) {
        for capacity in capacities {
            let Some((limiter, backpressure)) = backpressures.next() else {
                continue;
            };
            let config = QueueConfig {
                discipline: discipline.clone(),
                capacity,
                backpressure,
            };
            all.push((format!("{name} / {limiter}, {capacity:?}"), config));
        }
    }
    all
}
