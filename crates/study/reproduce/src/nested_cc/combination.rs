//! Congestion control nested in congestion control: what is compared.

use crate::experiment::Experiment;

/// A controller end to end over one in the tunnel, with how packets are put back in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Combination {
    /// The server's.
    pub(super) server: &'static str,
    /// The tunnel's paths'.
    pub(super) tunnel: &'static str,
    /// How packets are put back in order.
    pub(super) reorder: &'static str,
}

impl Combination {
    pub(super) const fn new(server: &'static str, tunnel: &'static str) -> Self {
        Self {
            server,
            tunnel,
            reorder: "adaptive",
        }
    }

    /// With 150 ms to wait for what is sent again (section 5.2).
    pub(super) const fn waiting(self) -> Self {
        Self {
            reorder: "static",
            ..self
        }
    }

    /// As the paper states it.
    pub(super) fn name(self) -> String {
        let name = format!("{} over {}", named(self.server), named(self.tunnel));
        match self.reorder {
            "static" => format!("{name} (static)"),
            _ => name,
        }
    }

    /// An experiment with it.
    pub(super) fn apply(self, experiment: Experiment) -> Experiment {
        experiment
            .set("server-cc", self.server)
            .set("tunnel-cc", self.tunnel)
            .set("reorder", self.reorder)
    }
}

/// A controller's name in text.
pub(super) fn named(control: &str) -> &'static str {
    let ours = match control {
        // the paper's names
        "ccid2" => return "CCID2",
        "ccid5" => return "CCID5",
        "bbrv2" => "bbr2",
        "bbrv3" => "bbr3",
        ours => ours,
    };
    cc::find(ours).map_or("", |of| of.title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinations_are_named_as_in_table_3() {
        let plain = Combination::new("cubic", "bbrv2");
        assert_eq!(plain.name(), "Cubic over BBRv2");
        assert_eq!(plain.waiting().name(), "Cubic over BBRv2 (static)");
    }
}
