//! What a tunnel has where a file states nothing: the same in scenarios and live, and as the guide has it.

use crate::{Page, root};
use ::tunnel::{Carrier, Config, End, Role};
use scenario::{Overrides, TunnelSpec, load_str};

/// The tunnel of a scenario file that states nothing of it but two paths' rates.
fn in_a_scenario() -> TunnelSpec {
    let text = "[path]\nrtt = \"40 ms\"\n[flow.bulk]\napp = { kind = \"bulk\", size = \"1 MB\" }\n[tunnel]\n\
                [tunnel.path.a]\nrate = \"1 Mbit/s\"\n[tunnel.path.b]\nrate = \"1 Mbit/s\"\n";
    let mut points = load_str(text, &Overrides::default()).unwrap_or_else(|e| panic!("{e}"));
    points.remove(0).experiment.tunnel.expect("a tunnel")
}

/// A daemon's configuration that states nothing but where the paths go.
fn in_a_daemon() -> Config {
    let text = "encryption = \"none\"\nkey-file = \"/k\"\nremote = \"192.0.2.1:1\"\n[[path]]\nname = \"a\"\n[[path]]\nname = \"b\"\n";
    Config::parse("t.toml", text, Role::Client).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn a_tunnels_defaults_are_the_same_in_scenarios_and_live() {
    let (mut simulated, mut live) = (in_a_scenario(), in_a_daemon());
    assert_eq!(simulated.scheduler, live.scheduler);
    let End::Client(client) = &live.end else {
        panic!("a client")
    };
    assert_eq!(simulated.paths.len(), client.paths.len());
    for (simulated, live) in simulated.paths.iter().zip(&client.paths) {
        assert_eq!(simulated.cc, live.controller);
        assert_eq!(simulated.carrier.name(), live.carrier.name());
        assert_eq!(simulated.priority, live.priority.get());
    }
    assert_eq!(simulated.supervision, client.supervision);
    // by the list, so that a key that is added is compared
    let pairs = simulated.connection.settings();
    for ((key, simulated), (_, live)) in pairs.into_iter().zip(live.connection.settings()) {
        assert_eq!(simulated.toml(), live.toml(), "{}", key.name);
    }
}

/// The row of a page's table that begins so.
fn row(page: &str, begin: &str) -> String {
    let page = Page::read(&root().join(page));
    let mut rows = page.text.lines();
    let row = rows.find(|line| line.starts_with(begin));
    row.unwrap_or_else(|| panic!("{} has no row {begin}", page.name))
        .to_owned()
}

#[test]
fn the_guide_names_every_scheduler_and_controller() {
    let live = "docs/operations/tunnel.md";
    let schedulers = row(live, "| `scheduler` |");
    let default = format!("| `scheduler` | `{}` |", ::tunnel::scheduler::DEFAULT);
    assert!(schedulers.starts_with(&default), "{schedulers}");
    for name in ::tunnel::scheduler::names() {
        assert!(schedulers.contains(&format!("`{name}`")), "{name}");
        row("docs/algorithms/nested-cc.md", &format!("| `{name}` |"));
    }
    let controllers = row(live, "| `[[path]] controller` |");
    for carrier in Carrier::NAMES.map(|(_, carrier)| carrier) {
        let names = carrier.controllers().into_iter();
        let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
        let listed = format!("`{}`: {}", carrier.name(), names.join(", "));
        assert!(controllers.contains(&listed), "{listed}");
    }
}

/// Every key of a connection is described, with its default where it is one value.
#[test]
fn the_guide_names_every_key_of_a_connection() {
    let page = Page::read(&root().join("docs/operations/tunnel.md"));
    let mut live = in_a_daemon();
    for (key, _) in live.connection.settings() {
        let name = format!("`{}`", key.in_reorder.unwrap_or(key.name));
        let of_reorder = format!("`[reorder] {}`", key.in_reorder.unwrap_or_default());
        let mut heads = page.text.lines().filter_map(|line| line.split('|').nth(1));
        let is_there = match key.in_reorder {
            Some(_) => heads.any(|head| {
                head.contains(&of_reorder)
                    || (head.trim().starts_with("`[reorder]") && head.contains(&name))
            }),
            None => heads.any(|head| head.trim() == name),
        };
        assert!(is_there, "no row for {}", key.name);
    }
}
