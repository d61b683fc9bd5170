//! Clients that come, go, and change their keys while the server runs.

use super::*;

const ONE: &str = "0123456789abcdef";
const TWO: &str = "fedcba9876543210";
const THREE: &str = "a third pre-shared key";

fn keys(texts: &[&str]) -> Vec<PreSharedKey> {
    config(texts).shared
}

#[test]
fn a_client_whose_key_stays_goes_on_and_others_are_over() {
    let mut server = new_server(&[ONE, TWO], 1);
    let mut clients = [client(1, Some(ONE)), client(2, Some(TWO))];
    let now = run(1, &mut server, &mut clients);
    let of_two = server.connections().nth(1).expect("two").0;
    // the first is gone, the second has another place
    server.set_keys(now, keys(&[THREE, TWO]), 100);
    let left: Vec<_> = server.connections().collect();
    assert_eq!(left, [(of_two, Some(1))]);
    assert!(server.flows.values().all(|(key, _)| *key == of_two));
    let tunnel = server.tunnel(of_two).expect("there");
    tunnel.send(now, Data(7)).expect("there is room");
    run(200, &mut server, &mut clients);
    assert_eq!(clients[1].got, [7]);
    // who has a new key is let in, who has the old one is not
    let mut more = [client(3, Some(THREE)), client(4, Some(ONE))];
    run(400, &mut server, &mut more);
    assert!(more[0].tunnel.is_established());
    assert!(!more[1].tunnel.is_established());
    let places: Vec<_> = server.connections().map(|(_, client)| client).collect();
    assert_eq!(places, [Some(1), Some(0)]);
}

#[test]
fn handshakes_in_progress_of_a_removed_client_are_over() {
    let mut server = new_server(&[ONE, TWO], 1);
    let now = Instant::ZERO;
    for (last, key) in [(1, ONE), (2, TWO)] {
        let mut client = client(last, Some(key));
        let request = client.tunnel.poll_transmit(now).expect("a Request");
        let flow = Flow {
            socket: 0,
            remote: client.at,
        };
        server.receive(now, flow, &request.packet, None, Ecn::NotEct);
    }
    assert_eq!(
        (server.connections().count(), server.half_open.len()),
        (2, 2)
    );
    server.set_keys(now, keys(&[TWO]), 100);
    assert_eq!(
        (server.connections().count(), server.half_open.len()),
        (1, 1)
    );
    assert_eq!(server.half_open.oldest_of(|of| *of == Some(0)).1, 1);
}
