//! UEs that change their cells, as radio reports have it.

use super::echo;
use crate::Test;
use crate::support::daemon::{Daemon, TRANSPARENT};
use crate::support::radio::{Radio, wide_open};
use crate::support::traffic::{accept, connect, listen};
use crate::support::two::Two;
use crate::support::{client, server};
use rnis::CellId;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use testing::wait_until;

pub const TESTS: &[Test] = &[(
    "a_ue_that_changes_its_cell_takes_its_connections_along",
    a_ue_that_changes_its_cell_takes_its_connections_along,
)];

/// With windows by reports and without.
fn a_ue_that_changes_its_cell_takes_its_connections_along() {
    let Some(two) = Two::try_new("a_ue_that_changes_its_cell_takes_its_connections_along") else {
        return;
    };
    for control in ["default", "split"] {
        follows(&two, control);
    }
}

fn follows(two: &Two, control: &str) {
    two.route(0);
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let cell = Arc::new(AtomicU64::new(1));
    let now = Arc::clone(&cell);
    let radio = Radio::start(&path("radio"), move |seq, at| {
        let mut report = wide_open(&[client(false)], seq, at);
        report.cell.id = CellId(now.load(Relaxed) as u32);
        report
    });
    let first = format!(
        "control = \"{control}\"\n{TRANSPARENT}\n[reports]\nsource = \"unix:{}\"\n[[handover.peer]]\nname = \"other\"\n\
         address = \"unix:{}\"\ncells = [\"2\"]\n",
        path("radio").display(),
        path("second").display()
    );
    let first = Daemon::start(&two.proxies[0], &first);
    let second = two.proxy(1, &path("second"), &path("first"), "");
    let address = SocketAddr::new(server(false), 5_201);
    let listener = listen(&two.server, address);
    let mut near = connect(&two.client, address).expect("connected");
    let (mut far, _) = accept(&listener);
    echo(&mut near, &mut far).expect("it works");
    assert_eq!(second.status()["connections"], 0);
    cell.store(2, Relaxed);
    wait_until("the connection has moved", || {
        second.status()["connections"] == 1 && first.status()["connections"] == 0
    });
    two.route(1);
    echo(&mut near, &mut far).expect("it goes on");
    drop(radio);
}
