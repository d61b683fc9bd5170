use super::*;

const NOW: Instant = Instant::ZERO;
const MSS: u64 = crate::listener::USUAL_MSS as u64;

fn window() -> Window {
    Window::new(4_000_000, 4_000_000, true, ShownWindow::default())
}

/// What acknowledgements show from now on, and what is to be shown at once.
fn follow(window: &Window, waiting: u64) -> (Option<u32>, Option<Change>) {
    let mut clamped = None;
    let change = window.follow(NOW, waiting, 0, |bytes| clamped = Some(bytes));
    (clamped, change)
}

fn budget(bytes: u64) -> WanWindow {
    WanWindow::Budget(Bytes::new(bytes))
}

#[test]
fn a_decided_window_is_shown_by_the_rule_and_never_more_than_the_share() {
    let window = window();
    window.decide(budget(100_000));
    assert_eq!(follow(&window, 40_000), (Some(60_000), None));
    assert_eq!(follow(&window, 41_000), (None, None));
    window.decide(budget(100_000_000));
    assert_eq!(follow(&window, 0), (Some(4_000_000), None));
}

#[test]
fn without_a_decision_the_whole_share_is_shown_once() {
    let window = Window::new(4_000_000, 10_000, true, ShownWindow::default());
    assert_eq!(follow(&window, 0), (Some(4_000_000), None));
    assert_eq!(follow(&window, 0), (None, None));
}

#[test]
fn a_closed_window_shows_the_least_until_a_byte_is_left_and_is_opened_at_once() {
    let window = window();
    window.decide(budget(100_000));
    assert_eq!(follow(&window, 100_000), (Some(2 * MSS as u32), None));
    assert!(window.is_closed() && window.may_block(0));
    assert_eq!(follow(&window, 100_000), (None, None));
    let open = Change::Open(Bytes::new(100_000));
    assert_eq!(follow(&window, 0), (None, Some(open)));
    window.has_shown(NOW, open, 0);
    assert!(!window.is_closed() && window.shown() == 100_000);
    assert_eq!(follow(&window, 0), (None, None));
}

#[test]
fn a_closed_window_of_a_released_flow_is_opened_to_the_share() {
    let window = window();
    window.decide(budget(0));
    follow(&window, 0);
    window.release();
    assert!(window.follows_data());
    let open = Some(Change::Open(Bytes::new(4_000_000)));
    assert_eq!(follow(&window, 0), (None, open));
}

#[test]
fn a_flow_that_is_released_while_a_window_is_shown_at_once_has_the_share_with_the_next_data() {
    let window = window();
    window.decide(budget(0));
    follow(&window, 0);
    window.decide(budget(26_064));
    // prepared by the thread that relays the flow
    let open = Change::Open(Bytes::new(26_064));
    assert_eq!(follow(&window, 0), (None, Some(open)));
    // by another thread, before it is done
    window.release();
    let whole = Change::Open(Bytes::new(4_000_000));
    assert_eq!(follow(&window, 0), (None, Some(whole)));
    window.set_due(whole);
    window.has_shown(NOW, open, 0);
    assert_eq!(window.take_due(), None, "acknowledgements show it");
    assert!(window.follows_data());
    assert_eq!(follow(&window, 0), (Some(4_000_000), None));
    assert!(!window.follows_data());
}

#[test]
fn a_window_that_cannot_be_closed_is_the_least() {
    let window = window();
    window.is_established(1_000, false);
    window.decide(budget(0));
    assert_eq!(follow(&window, 0), (Some(2_000), None));
    assert!(!window.is_closed());
}

#[test]
fn a_segment_more_or_less_waits_for_the_next_turn_and_more_than_that_does_not() {
    let (flow, _server) = crate::flow::connected();
    let decide = |segments: u64| {
        flow.decide(&edge::Windows {
            flow: rapid::FlowId(1),
            wan: budget(segments * MSS),
            ran_window: Bytes::ZERO,
            pacing_bps: None,
            unsent: None,
            pace_bps: None,
            is_slow: false,
        });
        u64::from(flow.window.shown()) / MSS
    };
    assert_eq!((decide(10), flow.window.takes_news()), (10, false));
    assert_eq!((decide(11), flow.window.takes_news()), (10, true));
    // as the turn does
    assert_eq!(flow.follow_window(NOW), None);
    assert_eq!(u64::from(flow.window.shown()), 11 * MSS);
    assert_eq!((decide(11), flow.window.takes_news()), (11, false));
    assert_eq!((decide(9), flow.window.takes_news()), (9, false));
}

/// As a flow that comes from another proxy.
#[test]
fn what_another_proxy_has_learnt_is_gone_on_with() {
    let learnt = edge::Learnt {
        flow: None,
        window: Some(WanWindow::Budget(Bytes::new(70_000))),
        min_rtt: Some(Duration::from_millis(7)),
        smoothed_rtt: Some(Duration::from_millis(9)),
    };
    let (flow, _server) = crate::flow::connected();
    flow.learn(&learnt, true);
    assert_eq!(flow.learnt(), learnt);
    assert_eq!(flow.window.shown(), 70_000);
    // until it is let go
    flow.release();
    assert_eq!(flow.learnt().window, None);
    // where nothing is decided nothing would take a window back
    let (flow, _server) = crate::flow::connected();
    flow.learn(&learnt, false);
    assert_eq!((flow.learnt().window, flow.window.shown()), (None, 1 << 20));
    assert_eq!(flow.learnt().min_rtt, learnt.min_rtt);
}
