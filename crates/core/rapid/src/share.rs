//! Max-min fair sharing of a rate between flows of known demand.

/// Shares `capacity` between flows: no flow gets more than it requests, and what it leaves is divided
/// equally among those that request more (max-min fairness; Bertsekas and Gallager, Data Networks,
/// 6.5.2). `f64::INFINITY` requests all. Units are the caller's. The shares are written to `shares`.
pub(crate) fn max_min(capacity: f64, demands: &[f64], shares: &mut Vec<f64>) {
    /// Of a flow that requests more than is known to be left for it.
    const OPEN: f64 = f64::NAN;
    shares.clear();
    shares.resize(demands.len(), OPEN);
    let mut open = demands.len();
    let mut left = capacity.max(0.0);
    while open > 0 {
        let level = left / open as f64;
        let before = open;
        for (share, demand) in shares.iter_mut().zip(demands) {
            if share.is_nan() && *demand <= level {
                *share = demand.max(0.0);
                left -= *share;
                open -= 1;
            }
        }
        if open == before {
            let rest = shares.iter_mut().filter(|share| share.is_nan());
            rest.for_each(|share| *share = level);
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shared(capacity: f64, demands: &[f64]) -> Vec<f64> {
        let mut shares = Vec::new();
        max_min(capacity, demands, &mut shares);
        shares
    }

    #[test]
    fn what_small_demands_leave_goes_to_the_large() {
        assert_eq!(shared(15.0, &[f64::INFINITY, 1.0]), [14.0, 1.0]);
        assert_eq!(shared(16.0, &[f64::INFINITY, f64::INFINITY]), [8.0, 8.0]);
        assert_eq!(shared(12.0, &[2.0, 5.0, f64::INFINITY]), [2.0, 5.0, 5.0]);
        assert_eq!(shared(10.0, &[1.0, 2.0]), [1.0, 2.0]);
        assert!(shared(10.0, &[]).is_empty());
    }

    proptest! {
        #[test]
        fn never_above_capacity_or_demand_and_max_min_fair(
            capacity in 0.0f64..1e9, demands in prop::collection::vec(0.0f64..1e9, 1..20),
        ) {
            let shares = shared(capacity, &demands);
            let sum: f64 = shares.iter().sum();
            prop_assert!(sum <= capacity * (1.0 + 1e-9) + 1e-6);
            let level = shares.iter().cloned().fold(0.0, f64::max);
            for (share, demand) in shares.iter().zip(&demands) {
                prop_assert!(share <= demand);
                // a flow that gets less than it requests gets as much as any
                prop_assert!(*share >= demand - 1e-6 || *share >= level - 1e-3);
            }
        }
    }
}
