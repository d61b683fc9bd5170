//! A queue's management in Python.

use super::Failure;
use pyo3::prelude::*;
use pyo3::types::PyBool;
use queue::{Band, Capacity, CustomDiscipline, Ecn, PacketView, QueueParameters, Slot, Verdict};
use units::Instant;

/// Whether a packet that comes or may leave is accepted, in Python, for one queue.
pub(super) struct PyQueue {
    name: String,
    /// None once it has failed: then everything is accepted, and its run ends soon.
    methods: Option<Methods>,
    failure: Failure,
}

/// What is called; none where the class has none of its own.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Methods {
    on_arrival: Option<Py<PyAny>>,
    on_departure: Option<Py<PyAny>>,
    on_slot: Option<Py<PyAny>>,
    band: Option<Py<PyAny>>,
    choose: Option<Py<PyAny>>,
}

impl PyQueue {
    /// Of what a factory makes.
    pub(super) fn new(
        name: &str,
        factory: &Py<PyAny>,
        parameters: QueueParameters,
        failure: Failure,
    ) -> Self {
        let mut queue = Self {
            name: name.to_owned(),
            methods: None,
            failure,
        };
        let (bytes, packets) = match parameters.capacity {
            Capacity::Bytes(bytes) => (Some(bytes.get()), None),
            Capacity::Packets(packets) => (None, Some(packets.get())),
            Capacity::Unlimited => (None, None),
        };
        Python::attach(|py| {
            let make = || -> PyResult<Methods> {
                let module = PyModule::import(py, "brimful._queue")?;
                let begin = module.getattr("begin")?;
                begin
                    .call1((factory, bytes, packets, parameters.seed))?
                    .extract()
            };
            queue.methods = queue.taken(py, "its constructor", make());
        });
        queue
    }

    /// What a call gave, unless it raised: then it is not called again.
    fn taken<T>(&mut self, py: Python<'_>, what: &str, given: PyResult<T>) -> Option<T> {
        let who = format!("the queue python:{} failed in {what}", self.name);
        let taken = self.failure.taken(py, &who, given);
        if taken.is_none() {
            self.methods = None;
        }
        taken
    }

    fn verdict(&mut self, event: Event, case: &PacketView) -> Verdict {
        let methods = self.methods.as_ref();
        let Some(method) = methods.and_then(|methods| event.of(methods).as_ref()) else {
            return Verdict::Accept;
        };
        // in the order of `QueueState` in brimful/_queue.py
        let state = (
            case.now.as_secs_f64(),
            case.others.packets,
            case.others.bytes.get(),
            case.has_room,
        );
        let answer =
            Python::attach(|py| Answer::of(&method.bind(py).call1((packet(case), state)), verdict));
        let expected = "\"accept\", \"mark\" or \"drop\"";
        self.answered(event.name(), answer, expected)
            .unwrap_or(Verdict::Accept)
    }

    /// What has been answered; a failure of the run if that is nothing of use.
    fn answered<T>(&mut self, event: &str, answer: Answer<T>, expected: &str) -> Option<T> {
        match answer {
            Answer::Value(answer) => return Some(answer),
            Answer::Other(answer) => {
                self.failure.keep(format!(
                    "the queue python:{} failed: {event} gave {answer}; expected {expected}",
                    self.name
                ));
                self.methods = None;
            }
            Answer::Raised(error) => {
                Python::attach(|py| self.taken::<()>(py, event, Err(error)));
            }
        }
        None
    }
}

/// What came of a call.
enum Answer<T> {
    Value(T),
    /// Something else, as Python shows it.
    Other(String),
    Raised(PyErr),
}

impl<T> Answer<T> {
    fn of(
        given: &PyResult<Bound<'_, PyAny>>,
        read: impl Fn(&Bound<'_, PyAny>) -> Option<T>,
    ) -> Self {
        match given {
            Ok(answer) => read(answer).map_or_else(|| Self::Other(shown(answer)), Self::Value),
            Err(error) => Self::Raised(Python::attach(|py| error.clone_ref(py))),
        }
    }
}

/// In the order of `Packet` in brimful/_queue.py.
fn packet(case: &PacketView) -> (u64, u64, u8, &'static str, f64) {
    (
        case.bytes.get(),
        case.flow,
        case.qfi,
        codepoint(case.ecn),
        case.sojourn.as_secs_f64(),
    )
}

/// The number of a band; truth values are none.
fn number(answer: &Bound<'_, PyAny>) -> Option<u64> {
    match answer.is_instance_of::<PyBool>() {
        true => None,
        false => answer.extract().ok(),
    }
}

/// What a queue is called for.
#[derive(Clone, Copy)]
enum Event {
    Arrival,
    Departure,
}

impl Event {
    fn of(self, methods: &Methods) -> &Option<Py<PyAny>> {
        match self {
            Self::Arrival => &methods.on_arrival,
            Self::Departure => &methods.on_departure,
        }
    }
    fn name(self) -> &'static str {
        match self {
            Self::Arrival => "on_arrival",
            Self::Departure => "on_departure",
        }
    }
}

fn verdict(answer: &Bound<'_, PyAny>) -> Option<Verdict> {
    match answer.extract().ok()? {
        "accept" => Some(Verdict::Accept),
        "mark" => Some(Verdict::Mark),
        "drop" => Some(Verdict::Drop),
        _ => None,
    }
}

fn shown(answer: &Bound<'_, PyAny>) -> String {
    let shown = answer.repr();
    shown.map_or_else(|_| "what cannot be shown".to_owned(), |s| s.to_string())
}

fn codepoint(ecn: Ecn) -> &'static str {
    match ecn {
        Ecn::NotEct => "not-ect",
        Ecn::Ect0 => "ect0",
        Ecn::Ect1 => "ect1",
        Ecn::Ce => "ce",
    }
}

impl CustomDiscipline for PyQueue {
    fn on_arrival(&mut self, case: &PacketView) -> Verdict {
        self.verdict(Event::Arrival, case)
    }

    fn on_departure(&mut self, case: &PacketView) -> Verdict {
        self.verdict(Event::Departure, case)
    }

    fn band(&mut self, case: &PacketView) -> u64 {
        let methods = self.methods.as_ref();
        let Some(method) = methods.and_then(|methods| methods.band.as_ref()) else {
            return 0;
        };
        let answer =
            Python::attach(|py| Answer::of(&method.bind(py).call1((packet(case),)), number));
        let expected = "a whole number from 0 to 2**64 - 1";
        self.answered("band", answer, expected).unwrap_or(0)
    }

    fn choose(&mut self, now: Instant, bands: &[Band]) -> u64 {
        let first = bands.first().map_or(0, |band| band.number);
        let methods = self.methods.as_ref();
        let Some(method) = methods.and_then(|methods| methods.choose.as_ref()) else {
            return first;
        };
        // in the order of `Band` in brimful/_queue.py
        let views: Vec<_> = bands
            .iter()
            .map(|Band { number, head }| {
                let held = (
                    head.others.packets + 1,
                    (head.others.bytes + head.bytes).get(),
                );
                (*number, held.0, held.1, packet(head))
            })
            .collect();
        let is_there = |number: &u64| bands.iter().any(|band| band.number == *number);
        let answer = Python::attach(|py| {
            let given = method.bind(py).call1((now.as_secs_f64(), views));
            Answer::of(&given, |answer| number(answer).filter(is_there))
        });
        let expected = "the number of a band that it was shown";
        self.answered("choose", answer, expected).unwrap_or(first)
    }

    fn on_slot(&mut self, now: Instant, slot: Slot) {
        let methods = self.methods.as_ref();
        let Some(method) = methods.and_then(|methods| methods.on_slot.as_ref()) else {
            return;
        };
        // in the order of `Slot` in brimful/_queue.py
        let slot = (
            now.as_secs_f64(),
            slot.tti.as_secs_f64(),
            slot.capacity.get(),
            slot.remaining.packets,
            slot.remaining.bytes.get(),
        );
        let called = Python::attach(|py| method.bind(py).call1((slot,)).map(drop));
        if called.is_err() {
            Python::attach(|py| self.taken(py, "on_slot", called));
        }
    }
}
