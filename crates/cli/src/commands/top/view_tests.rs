use super::super::model::tests::{frame, model, series};
use super::super::model::{Key, Update};
use super::*;
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

/// What a terminal of this size shows, line by line.
fn screen(model: &Model, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
    terminal
        .draw(|frame| {
            draw(model, frame.area(), frame.buffer_mut());
        })
        .expect("a drawing");
    let buffer = terminal.backend().buffer();
    let line = |y| {
        let cells = (0..width).map(|x| buffer[(x, y)].symbol());
        cells.collect::<String>().trim_end().to_owned()
    };
    (0..height).map(line).collect()
}

#[test]
fn a_small_screen_shows_all_of_it() {
    assert_eq!(
        screen(&model(), 60, 11),
        [
            "drive  sim/run  1.5 s",
            "cell 75.0 Mbit/s   PRB 78",
            "flow                 CC          goodput v      RTT     cwnd",
            "bulk                 cubic     12.3 Mbit/s  45.6 ms",
            "web                            1.00 Mbit/s  80.0 ms",
            "UE                    goodput v     capacity   PRB  MCS  CQI",
            "phone                            60.0 Mbit/s    78",
            "queue                                                  bytes",
            "drb                                                   123 kB",
            "",
            "g r n sort   / filter   space pause   ? help   q end",
        ]
    );
}

#[test]
fn a_narrow_screen_keeps_goodput() {
    let lines = screen(&model(), 24, 5);
    assert_eq!(lines[2], "flow           goodput v");
    assert_eq!(lines[3], "bulk         12.3 Mbit/s");
}

#[test]
fn text_is_the_same_without_the_keys() {
    let text = text(&model(), 110);
    assert!(
        text.starts_with("drive  sim/run  1.5 s\ncell 75.0 Mbit/s   PRB 78\nflow"),
        "{text}"
    );
    for word in [
        "bulk",
        "cubic",
        "12.3 Mbit/s",
        "45.6 ms",
        "slow",
        "123 kB",
        "█",
    ] {
        assert!(text.contains(word), "no {word}: {text}");
    }
    assert!(!text.contains("q end") && text.ends_with("kB\n"), "{text}");
}

#[test]
fn queued_bytes_are_shown_of_flows_ues_and_paths() {
    let mut model = model();
    model.take(series(&[
        (9, "phone", "ue", Some("cell"), "queue_bytes"),
        (10, "bulk", "flow", Some("phone"), "queue_bytes"),
        (11, "wifi", "path", None, "queue_bytes"),
    ]));
    let waiting = [(9, Some(64_000.0)), (10, Some(3_000.0)), (11, Some(700.0))];
    model.take(frame(1.6, &waiting));
    let lines = screen(&model, 90, 14);
    let line = |name: &str| lines.iter().find(|line| line.starts_with(name));
    for (name, waits) in [("phone", "64.0 kB"), ("bulk", "3.00 kB"), ("wifi", "700 B")] {
        let line = line(name).expect(name);
        assert!(line.ends_with(waits), "{line}");
    }
}

#[test]
fn a_ue_shows_what_waits_that_is_not_split() {
    let mut model = model();
    model.take(series(&[(9, "phone", "ue", None, "unsplit_delay_ms")]));
    model.take(frame(1.6, &[(9, Some(12.34))]));
    let lines = screen(&model, 90, 14);
    let of_ue = |word: &str| lines.iter().find(|line| line.starts_with(word));
    assert!(
        of_ue("UE").expect("a head").contains(" unsplit "),
        "{lines:?}"
    );
    assert!(
        of_ue("phone").expect("a row").contains(" 12.3 ms"),
        "{lines:?}"
    );
}

#[test]
fn the_head_shows_the_state_of_the_connection() {
    let mut model = model();
    model.take(Update::Link(Link::Lost("refused".into())));
    let first = screen(&model, 90, 6).remove(0);
    assert!(
        first.ends_with("connection lost, trying again: refused"),
        "{first}"
    );
    model.take(Update::Link(Link::Up));
    model.press(Key::Char(' '));
    let first = screen(&model, 90, 6).remove(0);
    assert!(first.ends_with("paused"), "{first}");
}

#[test]
fn keys_are_below_and_help_lies_above_all() {
    let mut model = model();
    assert!(screen(&model, 80, 9)[8].starts_with("g r n sort"));
    model.press(Key::Char('/'));
    model.press(Key::Char('b'));
    assert!(screen(&model, 80, 9)[8].starts_with("/b_"));
    model.press(Key::Escape);
    model.press(Key::Char('?'));
    let shown = screen(&model, 80, 14).join("\n");
    assert!(HELP.iter().all(|line| shown.contains(line)), "{shown}");
}

#[test]
fn lines_go_to_flows_first_and_no_head_stands_alone() {
    assert_eq!(share(20, [3, 1, 0, 2]), [4, 2, 0, 3]);
    assert_eq!(share(10, [50, 2, 0, 9]), [5, 3, 0, 2]);
    assert_eq!(share(6, [50, 1, 0, 1]), [3, 2, 0, 0]);
    assert_eq!(share(1, [5, 5, 5, 5]), [0; 4]);
    assert_eq!(share(10, [0, 2, 0, 0]), [0, 3, 0, 0]);
}

#[test]
fn numbers_have_three_digits() {
    for (value, expected) in [
        (0.0, "0 B"),
        (999.0, "999 B"),
        (999.6, "1.00 kB"),
        (1_234.0, "1.23 kB"),
        (12_345.0, "12.3 kB"),
        (999_600.0, "1.00 MB"),
        (123e6, "123 MB"),
        (4.5e12, "4.50 TB"),
    ] {
        assert_eq!(scaled(value, "B"), expected);
    }
}

#[test]
fn bars_reach_from_nothing_to_the_greatest() {
    assert_eq!(bars(&[0.0, 7.0, 14.0]), "▁▅█");
    assert_eq!(bars(&[0.0, 0.0]), "▁▁");
    assert_eq!(bars(&[1.0; 30]).chars().count(), 20);
    assert_eq!(bars(&[f64::NAN, -1.0, 2.0]), "▁▁█");
}

proptest! {
    #[test]
    fn any_size_is_drawn(width in 0_u16..140, height in 0_u16..30, keys in "[ gn/?r]{0,4}") {
        let mut model = model();
        keys.chars().for_each(|c| { model.press(Key::Char(c)); });
        screen(&model, width, height);
    }
}
