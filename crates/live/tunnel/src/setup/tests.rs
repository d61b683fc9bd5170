use super::*;

fn client(tun: &str) -> Config {
    let text = format!(
        "encryption = \"none\"\nkey-file = \"/k\"\nremote = \"192.0.2.1:6511\"\n\
         [tun]\nname = \"t0\"\n{tun}\n[[path]]\nname = \"a\"\n"
    );
    Config::parse("t.toml", &text, Role::Client).unwrap_or_else(|error| panic!("{error}"))
}

fn plan(tun: &str, facts: &Facts) -> Plan {
    Plan::of(&steps(&client(tun), 1_400, facts).expect("possible"))
}

#[test]
fn addresses_and_routes_are_set_up_in_order() {
    let plan = plan(
        "addresses = [\"10.99.0.2/24\", \"fd99::2/64\"]\nroutes = [\"10.0.0.0/8\"]",
        &Facts::default(),
    );
    let expected = [
        "ip link set dev t0 mtu 1400 up",
        "ip address replace 10.99.0.2/24 dev t0",
        "ip address replace fd99::2/64 dev t0 nodad",
        "ip route replace 10.0.0.0/8 dev t0",
    ];
    assert_eq!(plan.up, expected);
    assert_eq!(plan.down[0], "ip route del 10.0.0.0/8 dev t0");
}

#[test]
fn a_default_route_stands_in_a_table_of_its_own() {
    let both = "routes = [\"0.0.0.0/0\", \"::/0\"]";
    let plan = plan(both, &Facts::default());
    let expected = [
        "ip link set dev t0 mtu 1400 up",
        "ip route replace 0.0.0.0/0 dev t0 table 6511",
        "ip route replace ::/0 dev t0 table 6511",
        "ip -4 rule add priority 32701 not fwmark 6511 table 6511",
        "ip -4 rule add priority 32700 table main suppress_prefixlength 0",
        "ip -6 rule add priority 32701 not fwmark 6511 table 6511",
        "ip -6 rule add priority 32700 table main suppress_prefixlength 0",
    ];
    assert_eq!(plan.up, expected);
    // without a mark as it was configured
    let plain = client(&format!("fwmark = 0\n{both}"));
    let plain = Plan::of(&steps(&plain, 1_400, &Facts::default()).expect("possible"));
    assert_eq!(
        plain.up[1..],
        [
            "ip route replace 0.0.0.0/0 dev t0",
            "ip route replace ::/0 dev t0"
        ]
    );
    // half of all addresses is no default route
    let half = client("routes = [\"0.0.0.0/1\", \"128.0.0.0/1\"]");
    assert!(changeable(&half).iter().all(|step| step.kind != Kind::Rule));
}

#[test]
fn what_else_is_set_up_is_undone_in_reverse() {
    let facts = Facts {
        dns: Some(DnsTool::Resolved),
        strict_filter: Some("1".to_owned()),
    };
    let tun = "routes = [\"0.0.0.0/0\"]\ndns = [\"10.99.0.1\"]\ndns-search = [\"example.net\"]\n\
               post-up = [\"echo %i 'is up'\"]\npre-down = [\"echo down\"]";
    let all = plan(tun, &facts);
    let expected = [
        "sysctl -q -w net.ipv4.conf.all.rp_filter=2",
        "resolvectl dns t0 10.99.0.1",
        "resolvectl domain t0 example.net ~.",
        "sh -c 'echo t0 '\\''is up'\\'''",
    ];
    assert_eq!(all.up[all.up.len() - 4..], expected);
    let expected = [
        "sh -c 'echo down'",
        "resolvectl revert t0",
        "sysctl -q -w net.ipv4.conf.all.rp_filter=1",
        "ip -4 rule del priority 32700 table main suppress_prefixlength 0",
        "ip -4 rule del priority 32701 not fwmark 6511 table 6511",
        "ip route del 0.0.0.0/0 dev t0 table 6511",
    ];
    assert_eq!(all.down, expected);
    let facts = Facts {
        dns: Some(DnsTool::Resolvconf),
        ..Facts::default()
    };
    let by_file = plan("dns = [\"10.99.0.1\"]", &facts);
    let line = "printf %s 'nameserver 10.99.0.1\n' | resolvconf -a tun.t0 -m 0 -x";
    assert_eq!(by_file.up[1], line);
    let error = steps(&client("dns = [\"10.99.0.1\"]"), 1_400, &Facts::default());
    assert!(error.expect_err("no tool").contains("neither resolvectl"));
}

/// Hooks run for real; nothing of the system is touched.
#[test]
fn steps_are_undone_where_a_later_one_fails_and_at_the_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("log");
    let hook = |text: &str| {
        let text = format!("echo {text} >> {}", file.display());
        Some(vec!["sh".to_owned(), "-c".to_owned(), text])
    };
    let step = |kind, run: &str, undo: &str| Step {
        kind,
        run: hook(run),
        input: None,
        undo: hook(undo),
    };
    let log = || {
        std::fs::read_to_string(&file)
            .unwrap_or_default()
            .replace('\n', " ")
    };
    let setup = Setup::default();
    let guard = Guard::new(&setup);
    let first = step(Kind::Address, "a", "not-a");
    let hooks = step(Kind::Hook, "b", "not-b");
    setup
        .apply(vec![first.clone(), hooks])
        .expect("they succeed");
    let failing = Step {
        kind: Kind::Hook,
        run: Some(words("sh -c false")),
        input: None,
        undo: None,
    };
    let error = setup.apply(vec![failing.clone()]).expect_err("it fails");
    assert!(
        error
            .to_string()
            .contains("sh -c false failed: exit status: 1"),
        "{error}"
    );
    // of an exchange that fails nothing stays
    let second = step(Kind::Address, "c", "not-c");
    let error = setup.exchange(vec![second.clone(), failing]);
    assert!(error.is_err());
    assert_eq!(log(), "a b c not-c ");
    let exchange = setup.exchange(vec![second]).expect("it succeeds");
    assert!(!exchange.is_empty());
    exchange.commit();
    assert_eq!(log(), "a b c not-c c not-a c ");
    drop(guard);
    // addresses go with the device
    assert_eq!(log(), "a b c not-c c not-a c not-b ");
}
