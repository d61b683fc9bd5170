//! A queue's management in Python.

use super::Failure;
use pyo3::prelude::*;
use queue::{Capacity, Case, Docket, Ecn, Judge, Slot, Verdict};
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
}

impl PyQueue {
    /// Of what a factory makes.
    pub(super) fn new(name: &str, factory: &Py<PyAny>, docket: Docket, failure: Failure) -> Self {
        let mut queue = Self {
            name: name.to_owned(),
            methods: None,
            failure,
        };
        let (bytes, packets) = match docket.capacity {
            Capacity::Bytes(bytes) => (Some(bytes.get()), None),
            Capacity::Packets(packets) => (None, Some(packets.get())),
            Capacity::Unlimited => (None, None),
        };
        Python::attach(|py| {
            let make = || -> PyResult<Methods> {
                let module = PyModule::import(py, "brimful._queue")?;
                let begin = module.getattr("begin")?;
                begin
                    .call1((factory, bytes, packets, docket.seed))?
                    .extract()
            };
            queue.methods = queue.taken(py, "its constructor", make());
        });
        queue
    }

    /// What a call gave, unless it raised: then it is not asked again.
    fn taken<T>(&mut self, py: Python<'_>, what: &str, given: PyResult<T>) -> Option<T> {
        let who = format!("the queue python:{} failed in {what}", self.name);
        let taken = self.failure.taken(py, &who, given);
        if taken.is_none() {
            self.methods = None;
        }
        taken
    }

    fn ask(&mut self, event: Event, case: &Case) -> Verdict {
        let methods = self.methods.as_ref();
        let Some(method) = methods.and_then(|methods| event.of(methods).as_ref()) else {
            return Verdict::Accept;
        };
        // in the order of `Packet` and `QueueState` in brimful/_queue.py
        let packet = (
            case.bytes.get(),
            case.flow,
            case.qfi,
            codepoint(case.ecn),
            case.sojourn.as_secs_f64(),
        );
        let state = (
            case.now.as_secs_f64(),
            case.others.packets,
            case.others.bytes.get(),
            case.has_room,
        );
        let asked = Python::attach(|py| {
            let answer = method.bind(py).call1((packet, state));
            let verdict = answer.as_ref().ok().and_then(verdict);
            match (verdict, answer) {
                (Some(verdict), _) => Ok(verdict),
                (None, Ok(answer)) => Err(Ok(shown(&answer))),
                (None, Err(error)) => Err(Err(error)),
            }
        });
        match asked {
            Ok(verdict) => return verdict,
            Err(Ok(answer)) => self.refuse(event.name(), &answer),
            Err(Err(error)) => {
                Python::attach(|py| self.taken::<()>(py, event.name(), Err(error)));
            }
        }
        Verdict::Accept
    }

    fn refuse(&mut self, event: &str, answer: &str) {
        self.failure.keep(format!(
            "the queue python:{} failed: {event} gave {answer}; expected \"accept\", \"mark\" or \"drop\"",
            self.name
        ));
        self.methods = None;
    }
}

/// What a queue is asked.
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

impl Judge for PyQueue {
    fn on_arrival(&mut self, case: &Case) -> Verdict {
        self.ask(Event::Arrival, case)
    }

    fn on_departure(&mut self, case: &Case) -> Verdict {
        self.ask(Event::Departure, case)
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
        let told = Python::attach(|py| method.bind(py).call1((slot,)).map(drop));
        if told.is_err() {
            Python::attach(|py| self.taken(py, "on_slot", told));
        }
    }
}
