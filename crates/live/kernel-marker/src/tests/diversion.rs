//! All that leaves an interface, handed to a device.

use super::holds::handed_over;
use super::live::{CLSACT, TCX, network};
use crate::{Diversion, Diverted, Holding, MarkerError, Way};
use tun::{Device, FrameSocket, Kind};

fn all_is_handed_over_and_comes_back(way: &'static [Way]) {
    let Some(network) = network("all is handed over", way) else {
        return;
    };
    // the next hop's address is known
    network.sent(4_433, &[1; 50]);
    network.edge.enter(|| {
        let diversion = Diversion::attach_by("ran0", way).expect("attached");
        assert_eq!([diversion.way()], way);
        let second = Diversion::attach("ran0").expect_err("one at an interface");
        assert!(
            matches!(second, MarkerError::Taken { .. }) && second.is_input(),
            "{second}"
        );
        assert!(
            network.sent(4_433, &[2; 70]).ends_with(&[2; 70]),
            "no process takes them"
        );
        let device = Device::of("brimfulu%d", Kind::Ethernet, true).expect("a device");
        let socket = FrameSocket::new().expect("a socket");
        let index = socket.set_up(&device).expect("up");
        let (interface, is_ethernet) = diversion.link().expect("it is there");
        assert!(is_ethernet);
        let holding = Holding {
            until: u64::MAX,
            cookie: socket.cookie(),
            device: index,
        };
        diversion.set(holding).expect("set");
        let before = diversion.counts().expect("counts");
        assert!(before.passed > 0);
        let payload = [9; 300];
        network.send(&payload);
        let frame = handed_over(&device, &payload);
        socket.send(interface, 0x0800, &frame).expect("sent");
        assert!(network.next(28 + payload.len()).ends_with(&payload));
        let Diverted {
            handed_over,
            returned,
            ..
        } = diversion.counts().expect("counts");
        assert!(handed_over > before.handed_over && returned == 1);
        // whoever took them has stopped stating that it does
        diversion
            .set(Holding {
                until: 1,
                ..holding
            })
            .expect("set");
        assert!(network.sent(4_433, &[7; 200]).ends_with(&[7; 200]));
        drop(diversion);
        Diversion::attach("ran0").expect("the first is gone");
    });
}

#[test]
fn all_that_leaves_is_handed_over_and_comes_back() {
    all_is_handed_over_and_comes_back(TCX);
}

#[test]
fn all_that_leaves_is_handed_over_by_a_filter_too() {
    all_is_handed_over_and_comes_back(CLSACT);
}
