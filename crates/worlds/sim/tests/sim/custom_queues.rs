//! Queue management that the caller brings along, at every place that may have one.

use queue::{CustomDiscipline, PacketView, QueueParameters, Slot, Verdict};
use scenario::{Experiment, Overrides, load_str};
use sim::{Mechanisms, Simulation};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use units::{Duration, Instant};

/// What all disciplines of a run have seen.
#[derive(Clone, Debug, Default, PartialEq)]
struct Seen {
    made: Vec<(String, QueueParameters)>,
    arrivals: u64,
    departures: u64,
    slots: u64,
}

/// Has queues of the name "python:short": what has waited for longer than 10 ms is dropped.
#[derive(Clone, Default)]
struct Custom(Arc<Mutex<Seen>>);

impl Mechanisms for Custom {
    fn queue(&self, name: &str, queue: QueueParameters) -> Option<Box<dyn CustomDiscipline>> {
        self.0.lock().unwrap().made.push((name.to_owned(), queue));
        (name == "python:short").then(|| Box::new(self.clone()) as Box<dyn CustomDiscipline>)
    }
}

impl CustomDiscipline for Custom {
    fn on_arrival(&mut self, packet: &PacketView) -> Verdict {
        assert!(packet.sojourn.is_zero());
        self.0.lock().unwrap().arrivals += 1;
        Verdict::Accept
    }
    fn on_departure(&mut self, packet: &PacketView) -> Verdict {
        assert!(packet.has_room);
        self.0.lock().unwrap().departures += 1;
        let is_old = packet.sojourn > Duration::from_millis(10);
        match is_old && packet.others.packets > 0 {
            true => Verdict::Drop,
            false => Verdict::Accept,
        }
    }
    fn on_slot(&mut self, _: Instant, _: Slot) {
        self.0.lock().unwrap().slots += 1;
    }
}

fn experiment(text: &str) -> Experiment {
    let points = load_str(text, &Overrides::default()).expect("valid");
    points[0].experiment.clone()
}

/// A run, and what its disciplines saw.
fn simulated(experiment: &Experiment) -> (scenario::RunResult, Seen) {
    let custom = Custom::default();
    let mechanisms: Arc<dyn Mechanisms> = Arc::new(custom.clone());
    let mut simulation = Simulation::with_mechanisms(experiment, 1, mechanisms).expect("valid");
    simulation.run();
    let result = simulation.finish();
    let seen = custom.0.lock().unwrap().clone();
    (result, seen)
}

const WIRE: &str = r#"
duration = "4 s"
[path]
rtt = "30 ms"
[link]
rate = "20 Mbit/s"
buffer = "500 kB"
queue = "QUEUE"
[flow.bulk]
app = { kind = "continuous" }
"#;

#[test]
fn a_wire_has_a_discipline_in_each_direction() {
    let tail = super::run(&experiment(&WIRE.replace("QUEUE", "drop-tail")));
    let own = experiment(&WIRE.replace("QUEUE", "python:short"));
    let (short, seen) = simulated(&own);
    assert_eq!(seen.made.len(), 2);
    let seeds: BTreeSet<u64> = seen.made.iter().map(|(_, queue)| queue.seed).collect();
    assert_eq!(seeds.len(), 2, "each draws from a stream of its own");
    assert!(seen.arrivals > 5_000 && seen.departures > 5_000 && seen.slots == 0);
    assert!(short.flows[0].rtt.max < 0.6 * tail.flows[0].rtt.max);
    assert_eq!(simulated(&own).1, seen);
}

#[test]
fn every_bearer_and_class_of_a_cell_has_a_discipline_of_its_own() {
    let text = r#"
duration = "2 s"
[path]
rtt = "30 ms"
[cell]
rat = "nr"
bandwidth = "20 MHz"
[cell.queues]
classes = [[1], [5, 6]]
[cell.queues.rlc]
algorithm = "dynrlc"
[cell.queues.sdap]
algorithm = "python:short"
capacity = "77 packets"
[ue.phone]
count = 2
channel = { kind = "constant-cqi", cqi = 5 }
[flow.bulk]
count = 2
app = { kind = "continuous" }
"#;
    let (_, seen) = simulated(&experiment(text));
    assert_eq!(seen.made.len(), 6, "three classes of two bearers");
    let capacity = queue::Capacity::Packets(units::Packets::new(77));
    assert!(
        seen.made
            .iter()
            .all(|(_, queue)| queue.capacity == capacity)
    );
    let seeds: BTreeSet<u64> = seen.made.iter().map(|(_, queue)| queue.seed).collect();
    assert_eq!(seeds.len(), 6);
    assert!(
        seen.arrivals > 500 && seen.departures > 500 && seen.slots > 500,
        "{seen:?}"
    );
}

#[test]
fn the_paths_of_a_tunnel_have_judges_too() {
    let text = r#"
duration = "3 s"
[path]
rtt = "30 ms"
[tunnel]
[tunnel.path.near]
rate = "20 Mbit/s"
queue = "python:short"
[tunnel.path.far]
rate = "10 Mbit/s"
[flow.bulk]
start = "1 s"
app = { kind = "continuous" }
"#;
    let (_, seen) = simulated(&experiment(text));
    assert_eq!(seen.made.len(), 2);
    assert!(seen.arrivals > 500, "{seen:?}");
}

#[test]
fn an_unknown_queue_is_refused_before_anything_runs() {
    let unknown = experiment(&WIRE.replace("QUEUE", "python:long"));
    let error_of = |simulation: Result<Simulation, sim::Error>| match simulation {
        Ok(_) => panic!("built"),
        Err(error) => error.to_string(),
    };
    let rejected = error_of(Simulation::with_mechanisms(
        &unknown,
        1,
        Arc::new(Custom::default()),
    ));
    let alone = error_of(Simulation::new(&unknown, 1));
    for message in [rejected, alone] {
        assert!(
            message.contains("link/down: queue management \"python:long\""),
            "{message}"
        );
    }
}
