use super::*;
use proptest::prelude::*;

fn hello(session: &str) -> Update {
    Update::Event(Event::Hello {
        session: session.into(),
        title: "drive".into(),
        world: "sim".into(),
        source: "run".into(),
    })
}

pub(in super::super) fn series(all: &[(u64, &str, &str, Option<&str>, &str)]) -> Update {
    let series = all
        .iter()
        .map(|(id, entity, kind, parent, metric)| SeriesInfo {
            id: *id,
            entity: (*entity).into(),
            kind: (*kind).into(),
            parent: parent.map(str::to_owned),
            metric: (*metric).into(),
        });
    Update::Event(Event::Series(series.collect()))
}

pub(in super::super) fn frame(t: f64, values: &[(u64, Option<f64>)]) -> Update {
    Update::Event(Event::Frame {
        seq: 1,
        t,
        values: values.to_vec(),
    })
}

/// A cell, two flows of a UE, and a queue.
pub(in super::super) fn model() -> Model {
    let mut model = Model::default();
    model.take(hello("a"));
    model.take(series(&[
        (0, "cell", "cell", None, "capacity_bps"),
        (1, "bulk", "flow", Some("phone"), "goodput_bps"),
        (2, "bulk", "flow", Some("phone"), "rtt_ms"),
        (3, "web", "flow", Some("phone"), "goodput_bps"),
        (4, "web", "flow", Some("phone"), "rtt_ms"),
        (5, "phone", "ue", Some("cell"), "prb"),
        (6, "phone", "cell", None, "capacity_bps"),
        (7, "drb", "queue", None, "queue_bytes"),
        (8, "bulk", "flow", Some("phone"), "is_slow"),
    ]));
    let flow = serde_json::json!({"name": "bulk", "cc": "cubic"});
    let flow = flow.as_object().cloned().unwrap_or_default();
    model.take(Update::Event(Event::Table(vec![flow])));
    model.take(frame(
        1.5,
        &[
            (0, Some(75e6)),
            (1, Some(12.34e6)),
            (2, Some(45.6)),
            (3, Some(1e6)),
            (4, Some(80.0)),
            (5, Some(78.0)),
            (6, Some(60e6)),
            (7, Some(123_456.0)),
            (8, Some(1.0)),
        ],
    ));
    model
}

fn names(model: &Model, section: Section) -> Vec<String> {
    let rows = model.rows().remove(&section).unwrap_or_default();
    rows.into_iter().map(|row| row.name).collect()
}

fn type_text(model: &mut Model, text: &str) {
    text.chars()
        .for_each(|c| assert!(model.press(Key::Char(c))));
}

#[test]
fn values_are_found_where_they_belong() {
    let model = model();
    assert_eq!(names(&model, Section::Cell), ["cell"]);
    assert_eq!(names(&model, Section::Ue), ["phone"]);
    assert_eq!(names(&model, Section::Queue), ["drb"]);
    let rows = model.rows();
    let bulk = &rows[&Section::Flow][0];
    assert_eq!((bulk.parent.as_str(), bulk.cc.as_str()), ("phone", "cubic"));
    assert_eq!(bulk.value(Metric::Rtt), Some(45.6));
    assert_eq!(rows[&Section::Ue][0].value(Metric::Capacity), Some(60e6));
}

#[test]
fn keys_sort_and_the_same_key_turns_round() {
    let mut model = model();
    assert_eq!(names(&model, Section::Flow), ["bulk", "web"]);
    for (keys, expected) in [
        ("g", ["web", "bulk"]),
        ("r", ["web", "bulk"]),
        ("r", ["bulk", "web"]),
        ("n", ["bulk", "web"]),
        ("n", ["web", "bulk"]),
        ("g", ["bulk", "web"]),
    ] {
        type_text(&mut model, keys);
        assert_eq!(names(&model, Section::Flow), expected, "after {keys}");
    }
}

#[test]
fn a_filter_takes_keys_as_text_and_escape_takes_it_away() {
    let mut model = model();
    type_text(&mut model, "/CUBq");
    assert_eq!(names(&model, Section::Flow), [""; 0]);
    assert!(model.press(Key::Backspace));
    assert_eq!(names(&model, Section::Flow), ["bulk"]);
    assert!(model.press(Key::Enter) && !model.is_typing);
    assert!(model.press(Key::Escape), "the filter goes, not the program");
    assert_eq!(names(&model, Section::Flow).len(), 2);
    assert!(!model.press(Key::Escape));
    assert!(!model.press(Key::Char('q')));
}

#[test]
fn a_pause_keeps_the_screen_and_ends_with_the_newest_values() {
    let mut model = model();
    type_text(&mut model, " ");
    model.take(frame(2.0, &[(3, Some(99e6))]));
    assert_eq!((model.shown().t, model.is_paused()), (Some(1.5), true));
    assert_eq!(names(&model, Section::Flow), ["bulk", "web"]);
    type_text(&mut model, " ");
    assert_eq!((model.shown().t, model.is_paused()), (Some(2.0), false));
    assert_eq!(names(&model, Section::Flow), ["web", "bulk"]);
}

#[test]
fn what_has_ended_goes_and_another_session_begins_anew() {
    let mut model = model();
    model.take(frame(2.0, &[(3, None), (4, None)]));
    assert_eq!(names(&model, Section::Flow), ["bulk"]);
    model.take(hello("a"));
    assert_eq!(names(&model, Section::Flow), ["bulk"], "the same session");
    model.take(hello("b"));
    assert!(model.rows().is_empty() && model.shown().t.is_none());
}

#[test]
fn history_is_the_mean_of_each_second() {
    let mut model = Model::default();
    model.take(series(&[(0, "bulk", "flow", None, "goodput_bps")]));
    for (t, value) in [(0.0, 1.0), (0.5, 3.0), (1.0, 5.0)] {
        model.take(frame(t, &[(0, Some(value))]));
    }
    // not sent again: it is still 5
    model.take(frame(2.0, &[]));
    assert_eq!(model.rows()[&Section::Flow][0].history, [2.0, 5.0, 5.0]);
    (3..100).for_each(|t| model.take(frame(f64::from(t), &[])));
    assert_eq!(model.rows()[&Section::Flow][0].history.len(), HISTORY + 1);
}

#[test]
fn names_cannot_move_the_cursor() {
    let mut model = Model::default();
    model.take(series(&[(0, "a\u{1b}[2J\n", "flow", None, "rtt_ms")]));
    model.take(frame(0.0, &[(0, Some(1.0))]));
    assert_eq!(names(&model, Section::Flow), ["a?[2J?"]);
}

#[test]
fn scrolling_stops_where_the_last_flow_is_last() {
    let mut model = model();
    assert!(model.press(Key::Last));
    model.settle(1);
    assert_eq!(model.scroll, 1);
    assert!(model.press(Key::Scroll(-3)));
    assert_eq!(model.scroll, 0);
}

proptest! {
    #[test]
    fn any_values_and_keys_are_taken(
        values in prop::collection::vec((0_u64..12, prop::option::of(any::<f64>())), 0..20),
        t in any::<f64>(),
        keys in "[ gn/r?xq]{0,12}",
    ) {
        let mut model = model();
        model.take(frame(t, &values));
        keys.chars().for_each(|c| { model.press(Key::Char(c)); });
        model.rows();
    }
}
