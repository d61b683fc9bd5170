use super::*;
use serde_json::Value;

fn feed() -> Feed {
    Feed::new(About {
        title: "a run".into(),
        world: World::Sim,
        source: Source::Run,
    })
}

/// Makes frames, one a round, as if time passed.
fn fill(feed: &Feed, began: Instant, rounds: std::ops::RangeInclusive<u32>) {
    for k in rounds {
        let mut round = feed.round(f64::from(k) * 0.02);
        round.put(Kind::Flow, "bulk", Some("phone"), "rtt_ms", f64::from(k));
        round.put(Kind::Ue, "phone", None, "cqi", 9.0);
        let at = began + Duration::from_millis(20) * k;
        assert!(round.state.finish_round(at), "round {k}");
    }
}

fn all(feed: &Feed, position: &mut Position) -> Vec<Value> {
    let mut read = Vec::new();
    loop {
        let texts = feed.next(position);
        if texts.is_empty() {
            return read;
        }
        read.extend(texts.iter().map(|text| {
            serde_json::from_str::<Value>(text.as_str()).unwrap_or_else(|e| panic!("{e}: {text}"))
        }));
    }
}

fn frames(read: &[Value]) -> Vec<u64> {
    let frames = read.iter().filter(|m| m["type"] == "frame");
    frames
        .map(|m| m["seq"].as_u64().expect("a number"))
        .collect()
}

#[test]
fn a_reader_gets_hello_series_frames_table_and_end() {
    let feed = feed();
    fill(&feed, Instant::now(), 1..=3);
    feed.end("done");
    let read = all(&feed, &mut Position::start());
    let types: Vec<&str> = read.iter().filter_map(|m| m["type"].as_str()).collect();
    assert_eq!(
        types,
        ["hello", "series", "frame", "frame", "frame", "table", "end"]
    );
    assert_eq!(read[0]["title"], "a run");
    assert_eq!(read[1]["series"][0]["entity"], "bulk");
    assert_eq!(read[1]["series"][0]["parent"], "phone");
    assert_eq!(read[1]["series"][0]["unit"], "ms");
    assert_eq!(read[2]["v"], serde_json::json!([[0, 1], [1, 9]]));
    // the CQI has not changed
    assert_eq!(read[3]["v"], serde_json::json!([[0, 2]]));
    assert_eq!(read[5]["flows"][0]["rtt_ms"], 3.0);
    assert_eq!(read[6]["reason"], "done");
}

#[test]
fn who_resumes_misses_nothing_and_gets_nothing_twice() {
    let feed = feed();
    let began = Instant::now();
    fill(&feed, began, 1..=10);
    let mut first = Position::start();
    let mut read = all(&feed, &mut first);
    let session = read[0]["session"].as_str().expect("a session").to_owned();
    fill(&feed, began, 11..=300);
    read.extend(all(&feed, &mut Position::resume(&session, 10)));
    assert_eq!(frames(&read), (1..=300).collect::<Vec<_>>());
    // of another session, everything anew
    let anew = all(&feed, &mut Position::resume("another", 200));
    assert_eq!(frames(&anew), (1..=300).collect::<Vec<_>>());
}

#[test]
fn one_that_reads_too_slowly_continues_with_a_whole_frame() {
    let feed = feed();
    let began = Instant::now();
    fill(&feed, began, 1..=2);
    let mut position = Position::start();
    all(&feed, &mut position);
    fill(&feed, began, 3..=500);
    let read = all(&feed, &mut position);
    let numbers = frames(&read);
    assert_eq!(numbers, (451..=500).collect::<Vec<_>>());
    let whole = read.iter().find(|m| m["seq"] == 451).expect("a frame");
    assert_eq!(whole["v"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_ring_that_went_on_leads_to_the_first_whole_frame() {
    let feed = feed();
    let began = Instant::now();
    fill(&feed, began, 1..=10);
    let session = all(&feed, &mut Position::start())[0]["session"]
        .as_str()
        .expect("a session")
        .to_owned();
    fill(&feed, began, 11..=4000);
    let numbers = frames(&all(&feed, &mut Position::resume(&session, 10)));
    // 1001 is the first that is there, and whole
    assert_eq!(numbers, (1001..=4000).collect::<Vec<_>>());
}

#[test]
fn rounds_within_a_frame_are_averaged_or_the_last_is_taken() {
    let feed = feed();
    let began = Instant::now();
    fill(&feed, began, 1..=1);
    for (value, at, is_frame) in [(10.0, 25, false), (20.0, 30, false), (30.0, 41, true)] {
        let mut round = feed.round(0.0);
        round.put(Kind::Flow, "bulk", None, "rtt_ms", value);
        round.put(Kind::Flow, "bulk", None, "cwnd_bytes", value);
        let at = began + Duration::from_millis(at);
        assert_eq!(round.state.finish_round(at), is_frame);
    }
    let read = all(&feed, &mut Position::start());
    let last = read.iter().rfind(|m| m["type"] == "frame").expect("frames");
    assert_eq!(last["v"], serde_json::json!([[0, 20], [2, 30]]));
}

#[test]
fn what_is_not_named_ends_and_is_forgotten_later() {
    let feed = feed();
    let began = Instant::now();
    fill(&feed, began, 1..=1);
    let complete = |at: u64| {
        let mut round = feed.round(1.0);
        round.put(Kind::Ue, "phone", None, "cqi", at as f64);
        let at = began + Duration::from_millis(at);
        round.state.end_unnamed(at);
        round.state.finish_round(at);
    };
    complete(100);
    let read = all(&feed, &mut Position::start());
    let last = read.iter().rfind(|m| m["type"] == "frame").expect("frames");
    assert_eq!(last["v"], serde_json::json!([[0, null], [1, 100]]));
    complete(70_000);
    let read = all(&feed, &mut Position::start());
    assert_eq!(read[1]["series"].as_array().map(Vec::len), Some(1));
}

#[test]
fn another_run_begins_anew_for_those_who_watch() {
    let feed = feed();
    fill(&feed, Instant::now(), 1..=5);
    let mut position = Position::start();
    all(&feed, &mut position);
    feed.begin(About {
        title: "another".into(),
        world: World::Lab,
        source: Source::Lab,
    });
    fill(&feed, Instant::now(), 1..=1);
    let read = all(&feed, &mut position);
    assert_eq!(read[0]["title"], "another");
    assert_eq!(frames(&read), [1]);
}

#[test]
fn series_are_bounded() {
    let feed = feed();
    let mut round = feed.round(0.0);
    for k in 0..30_000 {
        round.put(Kind::Flow, &format!("f{k}"), None, "rtt_ms", 1.0);
    }
    round.finish();
    let read = all(&feed, &mut Position::start());
    assert_eq!(read[1]["series"].as_array().map(Vec::len), Some(20_000));
}

#[test]
fn what_comes_to_another_parent_goes_on_as_another_series() {
    let feed = feed();
    let began = Instant::now();
    for (k, cell) in (1u32..).zip(["cell 1", "cell 1", "cell 2", "cell 2"]) {
        let mut round = feed.round(f64::from(k));
        round.put(Kind::Ue, "phone", Some(cell), "prb", f64::from(k));
        // what names no parent has not moved
        round.put(Kind::Ue, "phone", None, "cqi", 9.0);
        assert!(
            round
                .state
                .finish_round(began + Duration::from_secs(k.into()))
        );
    }
    let read = all(&feed, &mut Position::start());
    let values: Vec<&Value> = read.iter().filter(|m| m["type"] == "frame").collect();
    assert_eq!(values[1]["v"], serde_json::json!([[0, 2]]));
    assert_eq!(values[2]["v"], serde_json::json!([[0, null], [2, 3]]));
    assert_eq!(values[3]["v"], serde_json::json!([[2, 4]]));
    let parents: Vec<(&Value, &Value)> = read
        .iter()
        .filter_map(|m| m["series"].as_array())
        .flatten()
        .map(|series| (&series["id"], &series["parent"]))
        .collect();
    assert_eq!(parents.len(), 2, "{parents:?}");
    assert!(
        parents.contains(&(&2.into(), &"cell 2".into())),
        "{parents:?}"
    );
}
