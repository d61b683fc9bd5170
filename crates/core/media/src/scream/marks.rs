//! l4s_alpha (section 4.2.1.3).

use units::Instant;

/// L4S_AVG_G_UP.
const L4S_AVG_G_UP: f64 = 1.0 / 8.0;
/// L4S_AVG_G_DOWN.
const L4S_AVG_G_DOWN: f64 = 1.0 / 128.0;
/// l4s_alpha is updated after so much at the latest, s.
const UPDATE_INTERVAL: f64 = 0.01;

/// The average share of marked packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    l4s_alpha: f64,
    last_update: Option<Instant>,
    delivered: u64,
    marked: u64,
}

/// The EWMA of fast attack and slow decay.
fn averaged(l4s_alpha: f64, fraction_marked: f64) -> f64 {
    if fraction_marked >= l4s_alpha {
        L4S_AVG_G_UP * fraction_marked + (1.0 - L4S_AVG_G_UP) * l4s_alpha
    } else {
        (1.0 - L4S_AVG_G_DOWN) * l4s_alpha
    }
}

impl Marks {
    /// The average, 0 to 1.
    pub(super) fn l4s_alpha(&self) -> f64 {
        self.l4s_alpha
    }

    /// So many packets came, `marked` of them with CE.
    pub(super) fn on_feedback(&mut self, now: Instant, delivered: u64, marked: u64, s_rtt: f64) {
        self.delivered += delivered;
        self.marked += marked;
        let last = *self.last_update.get_or_insert(Instant::ZERO);
        let time = now.saturating_since(last).as_secs_f64();
        if self.delivered == 0 || time < UPDATE_INTERVAL.min(s_rtt) {
            return;
        }
        let fraction_marked = self.marked as f64 / self.delivered as f64;
        self.l4s_alpha = averaged(self.l4s_alpha, fraction_marked);
        *self = Self {
            last_update: Some(now),
            delivered: 0,
            marked: 0,
            ..*self
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Duration;

    /// 1/8 x 0.5 = 0.0625; 1/8 x 1 + 7/8 x 0.0625 = 0.1796875; x 127/128 = 0.17828...
    #[test]
    fn section_4_2_1_3_by_hand() {
        let mut marks = Marks::default();
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        marks.on_feedback(at(100), 10, 5, 0.05);
        assert_eq!(marks.l4s_alpha(), 0.0625);
        marks.on_feedback(at(105), 4, 4, 0.05);
        assert_eq!(marks.l4s_alpha(), 0.0625, "10 ms have not passed");
        marks.on_feedback(at(110), 4, 4, 0.05);
        assert_eq!(marks.l4s_alpha(), 0.179_687_5);
        marks.on_feedback(at(120), 8, 0, 0.05);
        assert_eq!(marks.l4s_alpha(), 0.179_687_5 * 127.0 / 128.0);
    }
}
