//! Experiments built in code, for tests and benches.

use queue::{Capacity, DisciplineConfig};
use ran::{BearerConfig, CellConfig};
use scenario::{
    AccessSpec, AppSpec, CcSpec, CdbeSpec, CellSpec, ChannelSpec, Direction, EcnSpec, Experiment,
    FlowSpec, LinkSpec, LoadSpec, MeldSpec, PathSpec, PepMode, PepSpec, ReportSpec, RunResult,
    TcpSpec, Transport, UeSpec,
};
use units::{BitRate, Bytes, Duration, Mcs, Prb};

/// Payload of a full segment.
pub(crate) const MSS: u64 = 1448;

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(crate) fn mbps(mbps: u64) -> BitRate {
    BitRate::from_mbps(mbps)
}

/// A dumbbell: one UE behind a wired bottleneck, a path of 100 times its rate, no flows yet.
pub(crate) fn dumbbell(
    rate: BitRate,
    rtt: Duration,
    buffer: Bytes,
    duration: Duration,
) -> Experiment {
    Experiment {
        cells: None,
        name: "dumbbell".into(),
        description: String::new(),
        seed: 1,
        repeats: 1,
        duration,
        sample_interval: ms(100),
        path: PathSpec {
            rtt,
            rate: BitRate::from_bps(rate.as_bps() * 100),
            buffer: Capacity::Unlimited,
            queue: DisciplineConfig::DropTail,
            loss: 0.0,
            jitter: Duration::ZERO,
        },
        access: AccessSpec::Link(LinkSpec {
            rate,
            rate_steps: vec![],
            uplink_rate: rate,
            delay: Duration::from_nanos(rtt.as_nanos() / 10),
            buffer: Capacity::Bytes(buffer),
            queue: DisciplineConfig::DropTail,
            loss: 0.0,
            jitter: Duration::ZERO,
            outage: None,
        }),
        ues: vec![UeSpec {
            name: "ue1".into(),
            channel: ChannelSpec::Wired,
            uplink: None,
            bearers: vec![],
            uplink_queue: None,
        }],
        flows: vec![],
        pep: no_pep(),
        meld: meld(),
        cdbe: cdbe(),
        tunnel: None,
    }
}

pub(crate) fn no_pep() -> PepSpec {
    PepSpec {
        mode: PepMode::None,
        actuator: edge::Actuator::Window,
        windows: scenario::WindowControl::Exact,
        reports: reports(ms(1)),
        buffer: Bytes::new(8_000_000),
        unsplit: None,
        held: None,
        marks_on_n3: false,
    }
}

/// Reports that all arrive, a millisecond old.
pub(crate) fn reports(period: Duration) -> ReportSpec {
    ReportSpec {
        period,
        delay: ms(1),
        loss: 0.0,
        gap: Duration::ZERO,
        gap_interval: Duration::from_secs(1),
    }
}

pub(crate) fn meld() -> MeldSpec {
    MeldSpec {
        reports: reports(ms(8)),
        max_age: ms(40),
    }
}

pub(crate) fn cdbe() -> CdbeSpec {
    CdbeSpec {
        mode: cc::cdbe::Mode::Default,
        startup_rounds: 6,
        queue_up_windows: 2,
        queue_down_windows: 2,
        inflight_share: 0.5,
        constants: cc::cdbe::Constants::DEFAULT,
        initial_report: cc::RateReport::new(1_000_000),
        timestamp_tick: ms(1),
        radio_period: ms(5),
        cqic_subtracts_errors: true,
        udp_rtt: ms(80),
        stripped: None,
    }
}

pub(crate) fn tcp() -> TcpSpec {
    TcpSpec {
        mss: Bytes::new(MSS),
        initial_window: 10,
        receive_buffer: Bytes::new(64_000_000),
        send_buffer: Bytes::new(64_000_000),
        delayed_ack: true,
        validation: recovery::Validation::Off,
    }
}

/// A TCP flow towards the UE.
pub(crate) fn flow(name: &str, cc: &str, app: AppSpec) -> FlowSpec {
    FlowSpec {
        name: name.into(),
        ue: 0,
        transport: Transport::Tcp,
        direction: Direction::Down,
        cc: CcSpec { name: cc.into() },
        meld: None,
        report: None,
        ecn: EcnSpec::Off,
        qfi: 9,
        start: Duration::ZERO,
        app,
        tcp: tcp(),
        intercepted: true,
        start_jitter: Duration::ZERO,
    }
}

pub(crate) fn bulk(bytes: u64) -> AppSpec {
    AppSpec::Bulk {
        size: Bytes::new(bytes),
    }
}

/// Bandwidth-delay product.
pub(crate) fn bdp(rate: BitRate, rtt: Duration) -> Bytes {
    rate.bytes_in(rtt)
}

pub(crate) fn run(experiment: &Experiment) -> RunResult {
    sim::run(experiment, experiment.seed).expect("the experiment is valid")
}

/// The cell of fast-embb: numerology 3, 132 PRBs of 200 MHz, about 840 Mbit/s, RLC AM with 10 MB.
pub(crate) fn fast_cell(rtt: Duration, duration: Duration) -> Experiment {
    let config = CellConfig::nr(3, Prb::new(132));
    let buffer = Capacity::Bytes(Bytes::new(10_000_000));
    let ue = UeSpec {
        name: "ue1".into(),
        channel: ChannelSpec::ConstantMcs {
            mcs: Mcs::new(28),
            bler: 0.0,
        },
        uplink: None,
        bearers: vec![BearerConfig::am(config.rat, buffer)],
        uplink_queue: None,
    };
    let mut experiment = dumbbell(mbps(100), rtt, Bytes::new(1), duration);
    experiment.path.rate = mbps(10_000);
    experiment.access = AccessSpec::Cell(Box::new(CellSpec {
        config,
        background: LoadSpec::None,
        has_f1u: false,
        has_n3: false,
    }));
    experiment.ues = vec![ue];
    experiment
}
