//! A queue's management in Python.

use super::Failure;
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use queue::{Capacity, Case, Docket, Ecn, Judge, Slot, Verdict};
use units::Instant;

/// Whether a packet that comes or may leave is accepted, in Python, for one queue.
pub(super) struct PyQueue {
    name: String,
    /// None once it has failed: then everything is accepted, and its run ends soon.
    object: Option<Py<PyAny>>,
    failure: Failure,
    /// What of it is written in Python: what is not is not called.
    wants: Wants,
}

/// The methods that a class has of its own.
#[derive(Clone, Copy, Default, FromPyObject)]
#[pyo3(from_item_all)]
struct Wants {
    on_arrival: bool,
    on_departure: bool,
    on_slot: bool,
}

impl PyQueue {
    /// Of what a factory makes.
    pub(super) fn new(name: &str, factory: &Py<PyAny>, docket: Docket, failure: Failure) -> Self {
        let mut queue = Self {
            name: name.to_owned(),
            object: None,
            failure,
            wants: Wants::default(),
        };
        let (bytes, packets) = match docket.capacity {
            Capacity::Bytes(bytes) => (Some(bytes.get()), None),
            Capacity::Packets(packets) => (None, Some(packets.get())),
            Capacity::Unlimited => (None, None),
        };
        Python::attach(|py| {
            let make = || -> PyResult<(Py<PyAny>, Wants)> {
                let module = PyModule::import(py, "brimful._queue")?;
                let begin = module.getattr("begin")?;
                begin
                    .call1((factory, bytes, packets, docket.seed))?
                    .extract()
            };
            if let Some((object, wants)) = queue.taken(py, "its constructor", make()) {
                queue.object = Some(object);
                queue.wants = wants;
            }
        });
        queue
    }

    /// What a call gave, unless it raised: then it is not asked again.
    fn taken<T>(&mut self, py: Python<'_>, what: &str, given: PyResult<T>) -> Option<T> {
        let who = format!("the queue python:{} failed in {what}", self.name);
        let taken = self.failure.taken(py, &who, given);
        if taken.is_none() {
            self.object = None;
        }
        taken
    }

    /// Calls a method; none if there is nobody to call any more.
    fn call<'py>(
        &mut self,
        py: Python<'py>,
        event: &'static str,
        arguments: impl PyCallArgs<'py>,
    ) -> Option<Bound<'py, PyAny>> {
        let given = self
            .object
            .as_ref()?
            .bind(py)
            .call_method1(event, arguments);
        self.taken(py, event.trim_start_matches('_'), given)
    }

    fn ask(&mut self, event: &'static str, case: &Case) -> Verdict {
        if self.object.is_none() {
            return Verdict::Accept;
        }
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
        Python::attach(|py| {
            let Some(answer) = self.call(py, event, (packet, state)) else {
                return Verdict::Accept;
            };
            match answer.extract::<&str>() {
                Ok("accept") => Verdict::Accept,
                Ok("mark") => Verdict::Mark,
                Ok("drop") => Verdict::Drop,
                _ => {
                    self.refuse(event.trim_start_matches('_'), &answer);
                    Verdict::Accept
                }
            }
        })
    }

    fn refuse(&mut self, event: &str, answer: &Bound<'_, PyAny>) {
        let said = answer.repr();
        let said = said.map_or_else(|_| "what cannot be shown".to_owned(), |s| s.to_string());
        self.failure.keep(format!(
            "the queue python:{} failed: {event} gave {said}; expected \"accept\", \"mark\" or \"drop\"",
            self.name
        ));
        self.object = None;
    }
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
        match self.wants.on_arrival {
            true => self.ask("_on_arrival", case),
            false => Verdict::Accept,
        }
    }

    fn on_departure(&mut self, case: &Case) -> Verdict {
        match self.wants.on_departure {
            true => self.ask("_on_departure", case),
            false => Verdict::Accept,
        }
    }

    fn on_slot(&mut self, now: Instant, slot: Slot) {
        if !self.wants.on_slot || self.object.is_none() {
            return;
        }
        // in the order of `Slot` in brimful/_queue.py
        let slot = (
            now.as_secs_f64(),
            slot.tti.as_secs_f64(),
            slot.capacity.get(),
            slot.remaining.packets,
            slot.remaining.bytes.get(),
        );
        Python::attach(|py| drop(self.call(py, "_on_slot", (slot,))));
    }
}
