use super::*;

const GOOD: &str = r#"
max-age = "500 ms"
[[source]]
name = "gnb"
kind = "srsran"
url = "ws://127.0.0.1:8001"
pci = 1
[[source]]
name = "lab"
kind = "reports"
url = "unix:/run/brimful/cell.sock"
[[cell]]
id = 1
prb = 106
scs = "30 kHz"
mcs-table = "nr-qam256"
[[ue]]
ip = "10.45.0.2"
rnti = 17921
imsi = "001010000000001"
bearers = [{ erab-id = 5, qci = 9 }, { erab-id = 6, qci = 1, gbr-dl = "2 Mbit/s" }]
[network]
plmns = ["20895"]
[http]
listen = "127.0.0.1:0"
[[client]]
id = "dashboard"
secret-sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
scope = ["query"]
"#;

#[test]
fn a_good_file_is_read_whole() {
    let config = Config::parse("rnis.toml", GOOD).expect("good");
    assert_eq!(config.max_age, units::Duration::from_millis(500));
    let SourceKind::SrsRan { cell, pci } = &config.sources[0].kind else {
        panic!("{:?}", config.sources[0].kind);
    };
    assert_eq!(cell.slot_duration, units::Duration::from_micros(500));
    assert_eq!(*pci, Some(1));
    let ue = config
        .network
        .bearers("10.45.0.2".parse().expect("an address"));
    assert_eq!(ue.len(), 2);
    assert_eq!(ue[1].rates.map(|r| r.gbr_dl), Some(2_000_000));
    assert_eq!(config.network.plmns[0].mnc, "95");
    let http = config.http.expect("an interface");
    assert!(http.clients[0].query && !http.clients[0].subscribe);
    assert!(http.callback_networks.is_empty(), "none is a default");
    let text = format!("{GOOD}[unix]\npath = \"/run/radio.sock\"\n");
    let unix = Config::parse("rnis.toml", &text).expect("good").unix;
    let unix = unix.expect("a socket");
    assert_eq!(unix.unread_timeout, Duration::from_secs(20));
}

/// The error of the good file with one thing changed.
fn fault(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    let text = GOOD.replacen(from, to, 1);
    Config::parse("rnis.toml", &text)
        .expect_err("bad")
        .to_string()
}

#[test]
fn every_fault_has_its_place_and_a_way_out() {
    let cases = [
        (
            "pci = 1",
            "pcii = 1",
            "rnis.toml:7:1: [[source]]: unknown key \"pcii\"; did you mean \"pci\"?",
        ),
        (
            "kind = \"srsran\"",
            "kind = \"srs\"",
            "unknown kind \"srs\"; expected reports, replay, srsran",
        ),
        (
            "ws://127.0.0.1:8001",
            "http://127.0.0.1:8001",
            "srsran does not come over http",
        ),
        (
            "pci = 1",
            "pci = 2000",
            "allowed is a whole number 0 to 1007",
        ),
        ("\"500 ms\"", "\"500\"", "has no unit"),
        (
            "rnti = 17921",
            "rnti = 17921\nmmec = \"1\"",
            "mmec without mtmsi",
        ),
        (
            "rnti = 17921",
            "rnti = 17921\nmtmsi = \"4711\"",
            "mtmsi without mmec",
        ),
        (
            "unix:/run/brimful/cell.sock\"",
            "unix:/run/brimful/cell.sock\"\nmax-connections = 4",
            "go with listen = true only",
        ),
        (
            "unix:/run/brimful/cell.sock\"",
            "unix:/run/brimful/cell.sock\"\nlisten = true\nfirst-line-timeout = \"0 s\"",
            "first-line-timeout is 10 ms to 86400 s",
        ),
        (
            "unix:/run/brimful/cell.sock\"",
            "unix:/run/brimful/cell.sock\"\nlisten = true\nmax-connections = 0",
            "allowed is a whole number 1 to 1024",
        ),
        (
            "[network]",
            "[unix]\npath = \"/run/radio.sock\"\nunread-timeout = \"0 s\"\n[network]",
            "unread-timeout is 10 ms to 86400 s",
        ),
        (
            "listen = \"127.0.0.1:0\"",
            "listen = \"127.0.0.1:0\"\nanswers = \"naked\"",
            "expected wrapped, bare",
        ),
        (
            "name = \"lab\"",
            "name = \"gnb\"",
            "two sources are called \"gnb\"",
        ),
        ("prb = 106", "prb = 0", "allowed is a whole number 1 to 275"),
        ("\"30 kHz\"", "\"31 kHz\"", "scs is one of"),
        ("nr-qam256", "nr-256", "is none of lte-qam64"),
        ("\"20895\"", "\"208\"", "3 digits of the country"),
        ("127.0.0.1:0", "0.0.0.0:0", "on loopback only"),
        ("ba7816bf", "xa7816bf", "64 hexadecimal digits"),
        ("[\"query\"]", "[\"admin\"]", "none of query, subscribe"),
        (
            "imsi = \"001010000000001\"",
            "imsi = \"x\"",
            "imsi is up to 15 digits",
        ),
        ("[[cell]]\nid = 1", "[[cell]]\nid = 1.5", "rnis.toml:13:6"),
        (
            "[network]",
            "[netwrk]",
            "unknown key \"netwrk\"; did you mean \"network\"?",
        ),
    ];
    for (from, to, expected) in cases {
        let error = fault(from, to);
        assert!(error.contains(expected), "{from} -> {to}: {error}");
    }
}

/// A source of F1-U with these lines more.
fn f1u(lines: &str) -> Result<Config, ConfigError> {
    let text = format!(
        "[[source]]\nname = \"f1\"\nkind = \"f1-u\"\nurl = \"interface:f1\"\n{lines}\n\
         [[cell]]\nid = 1\nprb = 51\nperiod = \"10 ms\"\n"
    );
    Config::parse("rnis.toml", &text)
}

#[test]
fn a_source_of_f1_u_has_its_defaults_and_its_bounds() {
    let config =
        f1u("pdcp-sn-bits = 12\ndistributed-units = [\"10.1.0.2\", \"fd00::2\"]").expect("good");
    let SourceKind::F1u { monitor, buffer } = &config.sources[0].kind else {
        panic!("{:?}", config.sources[0].kind);
    };
    assert_eq!(config.sources[0].address, Address::Interface("f1".into()));
    assert_eq!(
        (monitor.sn_length, monitor.units.len()),
        (f1u::SnLength::Bits12, 2)
    );
    assert_eq!((monitor.has_sdap, *buffer), (true, 8_000_000));
    assert_eq!(monitor.idle_timeout, units::Duration::from_secs(30));
    assert_eq!(monitor.status_period, units::Duration::from_millis(10));
    for (lines, expected) in [
        ("pdcp-sn-bits = 15", "pdcp-sn-bits is 12 or 18, not 15"),
        ("pdcp-sn-bits = 7", "allowed is a whole number 12 to 18"),
        (
            "idle-timeout = \"1 ms\"",
            "idle-timeout is 10 ms to 86400 s",
        ),
        ("status-period = \"2 s\"", "status-period is 1 ms to 1 s"),
        (
            "capture-buffer = \"1 kB\"",
            "capture-buffer is 100 kB to 1073 MB",
        ),
        ("distributed-units = [\"du1\"]", "distributed-units"),
        ("listen = true", "unknown key \"listen\""),
    ] {
        let error = f1u(lines).expect_err("bad").to_string();
        assert!(error.contains(expected), "{lines}: {error}");
    }
    let error = fault("unix:/run/brimful/cell.sock", "interface:f1");
    assert!(
        error.contains("reports does not come over interface"),
        "{error}"
    );
}

#[test]
fn a_file_without_sources_or_clients_is_refused() {
    let error = Config::parse("x", "max-age = \"1 s\"")
        .expect_err("empty")
        .to_string();
    assert!(error.contains("no [[source]]"), "{error}");
    let text = GOOD.split("[[client]]").next().expect("the beginning");
    let error = Config::parse("x", text).expect_err("no client").to_string();
    assert!(error.contains("no [[client]]"), "{error}");
}

#[test]
fn secrets_are_not_in_debug_output() {
    let mut config = Config::parse("x", GOOD).expect("good");
    config.platform = Some(PlatformConfig {
        url: "https://mep".into(),
        app_instance: "a".into(),
        token: Some("hidden-token".into()),
    });
    let text = format!("{config:?}");
    assert!(
        !text.contains("hidden-token") && !text.contains("secret_sha256"),
        "{text}"
    );
}
