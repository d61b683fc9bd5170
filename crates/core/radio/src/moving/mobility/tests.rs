//! Ways: their places, speeds and times.

use super::*;
use units::Streams;

fn track(mobility: Mobility, buildings: &[Building]) -> Track {
    Track::new(mobility, buildings.to_vec(), Streams::new(4).stream("walk")).unwrap()
}

fn at(x: f64, y: f64) -> Position {
    Position::at(x, y)
}

fn error(mobility: &Mobility) -> MobilityError {
    mobility.check().unwrap_err()
}

#[test]
fn straight_on() {
    let (from, towards) = (at(1.0, 1.0), at(4.0, 5.0));
    let mobility = Mobility::Line {
        from,
        towards,
        speed: Speed::new(5.0),
    };
    let leg = track(mobility.clone(), &[]).next_leg(Instant::ZERO);
    assert_eq!(leg.velocity, (3.0, 4.0));
    assert_eq!(leg.place(Instant::from_nanos(2_000_000_000)), at(7.0, 9.0));
    assert_eq!(
        mobility.ways(Duration::from_secs(2)),
        [(from, at(7.0, 9.0))]
    );
}

#[test]
fn waypoints_with_rests() {
    let point = |x, y, s| Waypoint {
        place: at(x, y),
        rest: Duration::from_secs(s),
        speed: None,
    };
    let points = vec![point(0.0, 0.0, 1), point(10.0, 0.0, 0), point(10.0, 5.0, 2)];
    let way = |at_end| Mobility::Waypoints {
        points: points.clone(),
        speed: Speed::new(1.0),
        at_end,
    };
    let mut stops = track(way(AtEnd::Stop), &[]);
    let mut now = Instant::ZERO;
    let mut seen = Vec::new();
    loop {
        let leg = stops.next_leg(now);
        seen.push((leg.start.as_secs_f64(), leg.from, leg.speed()));
        if leg.end == Instant::MAX {
            break;
        }
        now = leg.end;
    }
    assert_eq!(
        seen,
        [
            (0.0, at(0.0, 0.0), 0.0),
            (1.0, at(0.0, 0.0), 1.0),
            (11.0, at(10.0, 0.0), 1.0),
            (16.0, at(10.0, 5.0), 0.0),
            (18.0, at(10.0, 5.0), 0.0),
        ]
    );
    let mut loops = track(way(AtEnd::Loop), &[]);
    let mut now = Instant::ZERO;
    for _ in 0..5 {
        now = loops.next_leg(now).end;
    }
    // back at the first after sqrt(10^2 + 5^2) = 11.18 s
    let leg = loops.next_leg(now);
    assert!((leg.start.as_secs_f64() - 29.180_34).abs() < 1e-4);
    assert!(leg.from.distance(at(0.0, 0.0)).get() < 1e-6);
}

/// A random walk stays in its area, out of the building, at its speed, and sees all of the area.
#[test]
fn random_walk() {
    let house = Building::new(at(10.0, 10.0), at(30.0, 20.0), Metres::new(8.0)).unwrap();
    let mobility = Mobility::RandomWalk {
        from: at(5.0, 5.0),
        area: Area::Rectangle(at(0.0, 40.0), at(50.0, 0.0)),
        speed: Speed::new(1.4),
        leg: Metres::new(7.0),
    };
    let mut walk = track(mobility, &[house]);
    let mut now = Instant::ZERO;
    let mut visited = [[false; 5]; 4];
    for _ in 0..5_000 {
        let leg = walk.next_leg(now);
        assert!(leg.end > leg.start && leg.end < Instant::MAX);
        assert!((leg.speed() - 1.4).abs() < 1e-6 || leg.speed() == 0.0);
        let to = leg.place(leg.end);
        assert!(leg.from.distance(to).get() <= 7.0 + 1e-6);
        assert!(
            house.crossing(leg.from, to).is_none(),
            "through the wall: {leg:?}"
        );
        assert!((-1e-6..=50.0 + 1e-6).contains(&to.x) && (-1e-6..=40.0 + 1e-6).contains(&to.y));
        visited[(to.y as usize).min(39) / 10][(to.x as usize).min(49) / 10] = true;
        now = leg.end;
    }
    let missed = visited.iter().flatten().filter(|seen| !**seen).count();
    assert_eq!(
        missed, 2,
        "only the two squares of the building: {visited:?}"
    );
}

/// The validation of CDBE (section III-B): away at 6 m/s, back at 10 m/s, away at 20 m/s.
#[test]
fn each_way_at_its_own_speed() {
    let point = |x, speed: f64| Waypoint {
        place: at(x, 0.0),
        rest: Duration::ZERO,
        speed: (speed > 0.0).then_some(Speed::new(speed)),
    };
    let points = vec![
        point(50.0, 0.0),
        point(110.0, 6.0),
        point(10.0, 10.0),
        point(110.0, 20.0),
    ];
    let mut way = track(
        Mobility::Waypoints {
            points,
            speed: Speed::new(1.0),
            at_end: AtEnd::Stop,
        },
        &[],
    );
    let mut now = Instant::ZERO;
    let mut seen = Vec::new();
    for _ in 0..3 {
        let leg = way.next_leg(now);
        now = leg.end;
        seen.push((leg.speed(), now.as_secs_f64()));
    }
    assert_eq!(seen, [(6.0, 10.0), (10.0, 20.0), (20.0, 25.0)]);
    assert_eq!(way.next_leg(now).speed(), 0.0);
}

#[test]
fn a_walk_in_a_disc_stays_in_it() {
    let area = Area::Disc {
        centre: at(0.0, 0.0),
        radius: Metres::new(30.0),
    };
    let mut walk = track(
        Mobility::RandomWalk {
            from: at(29.0, 0.0),
            area,
            speed: Speed::new(4.0),
            leg: Metres::new(20.0),
        },
        &[],
    );
    let (mut now, mut farthest) = (Instant::ZERO, 0.0f64);
    for _ in 0..5_000 {
        let leg = walk.next_leg(now);
        let to = leg.place(leg.end);
        farthest = farthest.max(at(0.0, 0.0).distance(to).get());
        now = leg.end;
    }
    assert!((29.9..30.0 + 1e-6).contains(&farthest), "{farthest}");
}

#[test]
fn impossible_ways_are_refused() {
    let line = |metres_per_second| Mobility::Line {
        from: at(0.0, 0.0),
        towards: at(1.0, 0.0),
        speed: Speed::new(metres_per_second),
    };
    assert_eq!(
        error(&line(299_792_458.0)).to_string(),
        "the speed is 299792458 m/s; choose 0 m/s to 500 m/s"
    );
    for speed in [-1.0, f64::NAN, 500.1] {
        assert!(matches!(error(&line(speed)), MobilityError::Speed { .. }));
    }
    assert!(line(500.0).check().is_ok());
    let nowhere = Mobility::Static {
        place: at(f64::NAN, 0.0),
    };
    assert!(matches!(error(&nowhere), MobilityError::Place { .. }));
    let speed = Speed::new(1.0);
    let same = Mobility::Line {
        from: at(1.0, 1.0),
        towards: at(1.0, 1.0),
        speed,
    };
    assert!(matches!(error(&same), MobilityError::NoDirection { .. }));
    let none = Mobility::Waypoints {
        points: Vec::new(),
        speed,
        at_end: AtEnd::Stop,
    };
    assert_eq!(error(&none), MobilityError::NoWaypoints);
    let walk = |from, leg| Mobility::RandomWalk {
        from,
        area: Area::Rectangle(at(0.0, 0.0), at(10.0, 10.0)),
        speed,
        leg: Metres::new(leg),
    };
    assert!(matches!(
        error(&walk(at(11.0, 0.0), 1.0)),
        MobilityError::OutsideArea { .. }
    ));
    assert!(matches!(
        error(&walk(at(1.0, 0.0), 0.0)),
        MobilityError::Leg { .. }
    ));
}
