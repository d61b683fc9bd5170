//! Small objects on connections that stay open: responses a second, and CPU time a thousand of them.

use crate::relays::{Kind, Relay};
use crate::support::traffic::{connect, listen};
use crate::support::{Hosts, SERVER};
use crate::{Table, median};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Each size has a port of its own.
const SIZES: [(&str, usize, u16); 2] = [("1 kB", 1_000, 6_200), ("100 kB", 100_000, 6_201)];
const CLIENTS: usize = 16;
const WARM_UP: Duration = Duration::from_millis(300);
const MEASURE: Duration = Duration::from_millis(1_500);
const REPEATS: usize = 3;

/// Answers each byte with an object.
fn serve(listener: TcpListener, size: usize) {
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(stream, size));
        }
    });
}

fn answer(mut stream: TcpStream, size: usize) {
    let object = vec![7; size];
    let _ = stream.set_nodelay(true);
    while stream.read_exact(&mut [0]).is_ok() && stream.write_all(&object).is_ok() {}
}

/// Responses a second, and CPU milliseconds of the relay a thousand.
fn responses(hosts: &Hosts, relay: &Relay, (size, port): (usize, u16)) -> (f64, f64) {
    let stop = Arc::new(AtomicBool::new(false));
    let count = Arc::new(AtomicU64::new(0));
    let threads: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let mut stream = connect(&hosts.client, relay.target(port)).expect("connected");
            stream.set_nodelay(true).expect("set");
            let (stop, count) = (Arc::clone(&stop), Arc::clone(&count));
            std::thread::spawn(move || {
                let mut object = vec![0; size];
                while !stop.load(Relaxed) {
                    stream.write_all(b"x").expect("requested");
                    stream.read_exact(&mut object).expect("answered");
                    count.fetch_add(1, Relaxed);
                }
            })
        })
        .collect();
    std::thread::sleep(WARM_UP);
    let (began, before, cpu) = (Instant::now(), count.load(Relaxed), relay.cpu_seconds());
    std::thread::sleep(MEASURE);
    let seconds = began.elapsed().as_secs_f64();
    let responses = (count.load(Relaxed) - before) as f64;
    let cpu = relay.cpu_seconds() - cpu;
    stop.store(true, Relaxed);
    for thread in threads {
        thread.join().expect("it ends");
    }
    (responses / seconds, cpu * 1e6 / responses)
}

/// The rows of each size.
pub fn measure(hosts: &Hosts, kinds: &[Kind], table: &mut Table) {
    for (name, size, port) in SIZES {
        serve(listen(&hosts.server, (SERVER, port).into()), size);
        let mut rates = vec![Vec::new(); kinds.len()];
        let mut costs = vec![Vec::new(); kinds.len()];
        for _ in 0..REPEATS {
            for (i, kind) in kinds.iter().enumerate() {
                let relay = Relay::start(*kind, hosts, port);
                let (rate, cost) = responses(hosts, &relay, (size, port));
                rates[i].push(rate);
                if relay.pid().is_some() {
                    costs[i].push(cost);
                }
            }
        }
        let medians = |of: Vec<Vec<f64>>| of.into_iter().map(median).collect();
        table.row(
            format!("objects of {name}, responses a second"),
            medians(rates),
        );
        table.row(
            format!("objects of {name}, CPU milliseconds a thousand"),
            medians(costs),
        );
    }
    table.note(format!(
        "{CLIENTS} connections that stay open; each asks for the next object once it has one."
    ));
}
