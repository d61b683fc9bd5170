//! Clients that report their bandwidth, over QUIC as over TCP.

use crate::*;
use queue::Capacity;
use ran::{BearerConfig, CellConfig};
use scenario::{AccessSpec, CellSpec, ChannelSpec, Experiment, LoadSpec, UeSpec};
use units::{Bytes, Duration, Mcs, Prb};

/// One UE in an LTE cell of 50 PRBs at MCS 20, with a buffer of 1 Mb; 100 ms of round trip.
fn cell(duration: Duration) -> Experiment {
    let config = CellConfig::lte(Prb::new(50));
    let buffer = Capacity::Bytes(Bytes::new(125_000));
    let ue = UeSpec {
        name: "ue1".into(),
        channel: ChannelSpec::ConstantMcs {
            mcs: Mcs::new(20),
            bler: 0.1,
        },
        uplink: None,
        bearers: vec![BearerConfig::am(config.rat, buffer)],
        uplink_queue: None,
    };
    let mut experiment = dumbbell(mbps(100), ms(100), Bytes::new(1), duration);
    experiment.path.rate = mbps(1_000);
    experiment.access = AccessSpec::Cell(Box::new(CellSpec {
        config,
        background: LoadSpec::None,
        has_f1u: false,
        has_n3: false,
    }));
    experiment.ues = vec![ue];
    experiment
}

/// A download with the client that the controller needs.
fn reported(cc: &str, transport: Transport) -> FlowSpec {
    let mut flow = flow("download", cc, bulk(10_000_000));
    flow.transport = transport;
    if transport == Transport::Quic {
        flow.tcp.mss = Bytes::new(1_440);
    }
    flow.report = cc::find(cc).and_then(|of| of.reporter);
    flow
}

fn download(cc: &str, transport: Transport) -> RunResult {
    let mut experiment = cell(Duration::from_secs(60));
    experiment.flows.push(reported(cc, transport));
    run(&experiment)
}

#[test]
fn reports_over_quic_do_what_they_do_over_tcp() {
    let bbr = download("bbr", Transport::Quic);
    for cc in ["cdbe", "cqic", "cqic-s"] {
        let [tcp, quic] = [Transport::Tcp, Transport::Quic].map(|t| download(cc, t));
        for run in [&tcp, &quic] {
            assert_eq!(run.flows[0].delivered, Bytes::new(10_000_000), "{cc}");
            assert!(run.link.utilisation > 0.85, "{cc}: {:?}", run.link);
        }
        let ratio = quic.flows[0].goodput.ratio(tcp.flows[0].goodput);
        assert!((0.9..=1.1).contains(&ratio), "{cc}: {ratio}");
        // the buffer of 1 Mb is 50 ms long: BBR fills it, a controller that follows the client's rate does not
        let waiting = |run: &RunResult| run.flows[0].owd.mean - run.flows[0].owd.min;
        let (ours, its) = (waiting(&quic), waiting(&bbr));
        assert!(ours < its * 0.5, "{cc}: {ours} ms, BBR {its} ms");
    }
}

#[test]
fn two_runs_with_reports_over_quic_are_alike_to_the_bit() {
    for cc in ["cdbe", "cqic"] {
        let seen = || {
            let flow = download(cc, Transport::Quic).flows.remove(0);
            (flow.completion, flow.rtt, flow.owd, flow.retransmits)
        };
        assert_eq!(seen(), seen(), "{cc}");
    }
}

/// Without reports the fallback decides, which is BBR.
#[test]
fn without_reports_bbr_decides_over_quic() {
    let silent = |cc| {
        let mut experiment = cell(Duration::from_secs(60));
        let mut flow = reported(cc, Transport::Quic);
        flow.report = None;
        experiment.flows.push(flow);
        run(&experiment).flows.remove(0)
    };
    let bbr = silent("bbr");
    for cc in ["cdbe", "cqic", "cqic-s"] {
        let flow = silent(cc);
        let ratio = flow.goodput.ratio(bbr.goodput);
        assert!((0.95..=1.05).contains(&ratio), "{cc}: {ratio}");
        let ratio = flow.owd.mean / bbr.owd.mean;
        assert!((0.9..=1.1).contains(&ratio), "{cc}: {ratio}");
    }
}
