//! From a radio report to the controller of a QUIC connection: a line of JSON becomes a `RadioState`, which is pushed
//! into the connection's feed.
//!
//! `cargo run -p quinn-cc --example radio_state` prints it, field by field.
#![expect(clippy::disallowed_methods, reason = "a program has a clock")]

use cc::RadioState;
use quinn_cc::{AdapterFactory, Epoch, RadioFeed};
use std::error::Error;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Instant;

/// A report of an LTE cell of 25 PRBs over 8 ms with two UEs, as the radio information service passes it on.
pub const LINE: &str = r#"{"cell":{"id":1,"n_prb":25,"scs":15000,"slot_duration":1000000,"downlink_share":1.0,"slot":10000,"slots":8,"prb_background":0},"ues":[{"rnti":61,"ip":"10.45.0.2","prb_dl":10,"quality":{"kind":"mcs","mcs":27,"table":"lte-qam64","layers":1,"data_re_per_prb":120},"cqi":14,"tbs_bytes":6000,"served_bytes":5600,"rlc_queue_bytes":42000,"harq_processes":3,"harq_retx":1,"lost_packets":2,"seq":41,"timestamp":5000000000},{"rnti":62,"ip":"10.45.0.3","prb_dl":5,"quality":{"kind":"mcs","mcs":10,"table":"lte-qam64","layers":1,"data_re_per_prb":120},"cqi":8,"tbs_bytes":900,"served_bytes":800,"rlc_queue_bytes":0,"harq_processes":1,"harq_retx":0,"seq":41,"timestamp":5000000000}]}"#;

/// The address of the UE at the other end of the connection.
pub const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 45, 0, 2));

/// What a report states of a client, at the time at which it came.
///
/// # Errors
/// What is no report; a client that is not in it.
pub fn state(line: &str, client: IpAddr, at: units::Instant) -> Result<RadioState, Box<dyn Error>> {
    let report = rnis::codec::decode(line.as_bytes())?;
    let mut ues = report.ues.iter();
    let ue = ues
        .find(|ue| ue.ip == Some(client))
        .ok_or("not in this cell")?;
    Ok(RadioState::of(&report, ue, at))
}

/// Feeds a connection's controller with the state.
///
/// # Errors
/// As [`state`].
pub fn main() -> Result<(), Box<dyn Error>> {
    let zero = Instant::now();
    let feed = RadioFeed::new();
    // the server's transport takes it: `transport.congestion_controller_factory(Arc::new(factory))`
    let meld = Some(cc::meld::Variant::Default);
    let _factory = AdapterFactory::named(zero, "cubic", meld)?.with_feed(feed.clone());

    let at = Epoch::new(zero).at(Instant::now());
    let state = state(LINE, CLIENT, at)?;
    feed.push(at, state);
    println!(
        "a slot could carry  {} (at the best MCS {})",
        state.tbs, state.best_tbs
    );
    println!("HARQ processes      {}", state.harq_processes);
    println!("waits               {}", state.queue);
    println!(
        "served              {} in {} ({} slots)",
        state.served, state.period, state.slots
    );
    println!(
        "sent again, lost    {}, {:?}",
        state.harq_retx, state.lost_packets
    );
    println!("number              {}", state.seq);
    Ok(())
}
