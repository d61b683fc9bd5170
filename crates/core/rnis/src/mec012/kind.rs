//! The nine subscriptions of MEC 012 (clause 6.3), and what the standard calls them.

/// What is subscribed to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Handovers.
    CellChange,
    /// Bearers that are set up.
    RabEst,
    /// Bearers that change.
    RabMod,
    /// Bearers that are released.
    RabRel,
    /// LTE measurements.
    MeasRepUe,
    /// NR measurements.
    NrMeasRepUe,
    /// Timing advance.
    MeasTa,
    /// Carrier aggregation.
    CaReconf,
    /// Tunnels.
    S1Bearer,
}

/// Of each kind: its data type, its value of `subscription_type`, and its filter's name.
const KINDS: [(Kind, &str, &str, &str); 9] = [
    (
        Kind::CellChange,
        "CellChangeSubscription",
        "cell_change",
        "filterCriteriaAssocHo",
    ),
    (
        Kind::RabEst,
        "RabEstSubscription",
        "rab_est",
        "filterCriteriaQci",
    ),
    (
        Kind::RabMod,
        "RabModSubscription",
        "rab_mod",
        "filterCriteriaQci",
    ),
    (
        Kind::RabRel,
        "RabRelSubscription",
        "rab_rel",
        "filterCriteriaQci",
    ),
    (
        Kind::MeasRepUe,
        "MeasRepUeSubscription",
        "meas_rep_ue",
        "filterCriteriaAssocTri",
    ),
    (
        Kind::NrMeasRepUe,
        "NrMeasRepUeSubscription",
        "nr_meas_rep_ue",
        "filterCriteriaNrMrs",
    ),
    (
        Kind::MeasTa,
        "MeasTaSubscription",
        "timing_advance_ue",
        "filterCriteriaAssoc",
    ),
    (
        Kind::CaReconf,
        "CaReconfSubscription",
        "ca_reconf",
        "filterCriteriaAssoc",
    ),
    (
        Kind::S1Bearer,
        "S1BearerSubscription",
        "s1_bearer",
        "S1BearerSubscriptionCriteria",
    ),
];

impl Kind {
    /// All kinds.
    pub fn all() -> impl Iterator<Item = Self> {
        KINDS.iter().map(|row| row.0)
    }

    fn row(self) -> &'static (Self, &'static str, &'static str, &'static str) {
        let found = KINDS.iter().find(|row| row.0 == self);
        found.unwrap_or(&KINDS[0])
    }

    /// Its data type, e.g. `RabEstSubscription`.
    pub fn type_name(self) -> &'static str {
        self.row().1
    }

    /// Its value of the query parameter `subscription_type`, e.g. `rab_est`.
    pub fn query_name(self) -> &'static str {
        self.row().2
    }

    /// Its notification's data type, e.g. `RabEstNotification`.
    pub fn notification_name(self) -> String {
        self.type_name().replace("Subscription", "Notification")
    }

    /// The name of its filter's field.
    pub fn filter_name(self) -> &'static str {
        self.row().3
    }

    /// By the data type's name.
    pub fn from_type_name(name: &str) -> Option<Self> {
        KINDS.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// By the value of `subscription_type`: as the document lists it, or the data type's name, which
    /// clients and ETSI's test suite send.
    pub fn from_query_name(name: &str) -> Option<Self> {
        let found = KINDS.iter().find(|row| row.2 == name || row.1 == name);
        found.map(|row| row.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_names() {
        assert_eq!(Kind::all().count(), 9);
        for kind in Kind::all() {
            assert_eq!(Kind::from_type_name(kind.type_name()), Some(kind));
            assert_eq!(Kind::from_query_name(kind.query_name()), Some(kind));
            assert_eq!(Kind::from_query_name(kind.type_name()), Some(kind));
            assert!(kind.notification_name().ends_with("Notification"));
        }
    }
}
