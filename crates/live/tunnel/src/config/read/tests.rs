use super::*;
use proptest::prelude::*;

const CLIENT: &str = r#"
private-key-file = "/etc/brimful/tunnel.key"
server-key = "3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08="
rekey-after = "60 s"
remote = "192.0.2.1:6511"
scheduler = "cpf"
deadline = "80 ms"
window-validation = "rfc7661"
keepalive = "2 s"
[supervision]
renew-after = "1 s"
[tun]
addresses = ["10.99.0.2/24", "fd00:99::2/64"]
routes = ["0.0.0.0/0"]
[reorder]
mode = "equalised"
margin = "5 ms"
[[path]]
name = "wifi"
interface = "wlan0"
priority = "primary"
[[path]]
name = "lte"
interface = "wwan0"
remote = "[2001:db8::1]:443"
priority = "secondary"
carrier = "tcp"
controller = "bbr"
"#;
const OTHER: &str = "hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=";
const SERVER: &str = r#"
role = "server"
private-key-file = "/etc/brimful/tunnel.key"
listen = ["0.0.0.0:6511", "[::]:6511"]
[tun]
addresses = ["10.99.0.1/24"]
[[client]]
name = "car"
public-key = "3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08="
key-file = "/etc/brimful/car.key"
addresses = ["10.99.0.2/32", "fd00:99::2/128"]
[limits]
half-open = 16
tcp-pending = 100
tcp-pending-per-source = 4
tcp-pending-timeout = "2 s"
"#;

fn message(text: &str, role: Role) -> String {
    Config::parse("t.toml", text, role)
        .expect_err("refused")
        .to_string()
}

#[test]
fn a_whole_client() {
    let config = Config::parse("t.toml", CLIENT, Role::Client).expect("valid");
    let End::Client(client) = &config.end else {
        panic!("a client")
    };
    let [wifi, lte] = &client.paths[..] else {
        panic!("two paths")
    };
    assert_eq!(
        (wifi.carrier, wifi.controller.as_str()),
        (Carrier::Dccp, "bbr2")
    );
    assert_eq!(wifi.remote.to_string(), "192.0.2.1:6511");
    assert_eq!(
        (lte.carrier, lte.controller.as_str()),
        (Carrier::Stream, "bbr")
    );
    let of_lte = lte.remote.address();
    assert!(of_lte.is_some_and(|at| at.is_ipv6()) && lte.priority < wifi.priority);
    assert_eq!(config.connection.reorder.rule, WaitRule::Equalised);
    assert_eq!(config.connection.reorder.margin, Duration::from_millis(5));
    assert_eq!(
        config.connection.reliability,
        Some(Duration::from_millis(80))
    );
    assert_eq!(config.connection.window_validation, Validation::Rfc7661);
    assert_eq!(config.scheduler, "cpf");
    assert_eq!(config.connection.keepalive, Some(Duration::from_secs(2)));
    let supervision = Supervision {
        renew_after: Duration::from_secs(1),
        ..Supervision::default()
    };
    assert_eq!(client.supervision, supervision);
    assert_eq!(config.tun.addresses[1].to_string(), "fd00:99::2/64");
}

/// The file has every value of a connection under its key, with its default.
#[test]
fn every_setting_of_a_connection_is_a_key_with_its_default() {
    let of = |line: &str| {
        let text = CLIENT.lines().filter(|line| !line.starts_with("deadline"));
        let text: Vec<&str> = text.collect();
        let path = text.join("\n");
        let path = &path[path.find("[[path]]").expect("a path")..];
        let head = "encryption = \"none\"\nkey-file = \"/k\"\nremote = \"192.0.2.1:6511\"\n";
        let config = Config::parse("t.toml", &format!("{head}{line}\n{path}"), Role::Client);
        config.unwrap_or_else(|error| panic!("{line}: {error}"))
    };
    let default = of("").connection;
    assert_eq!(default, TunnelConfig::default());
    let keys = default.clone().settings().map(|(key, _)| key);
    for changed in keys {
        let (mut config, mut value) = (default.clone(), String::new());
        for (key, mut setting) in config.settings() {
            if key == changed {
                setting.alter();
                value = setting.toml();
            }
        }
        let mut lines = vec![match changed.in_reorder {
            Some(name) => format!("[reorder]\n{name} = {value}"),
            None => format!("{} = {value}", changed.name),
        }];
        lines.extend(changed.older.map(|older| format!("{older} = {value}")));
        for line in &lines {
            assert_eq!(of(line).connection, config, "{line}");
        }
    }
    assert_eq!(of("keepalive = \"never\"").connection.keepalive, None);
    let both = "reliability = \"1 s\"\ndeadline = \"1 s\"\n";
    let error = message(
        &format!("{both}{CLIENT}").replace("deadline = \"80 ms\"\n", ""),
        Role::Client,
    );
    assert!(error.contains("expected one of them"), "{error}");
}

#[test]
fn a_whole_server() {
    let config = Config::parse("t.toml", SERVER, Role::Server).expect("valid");
    let End::Server(server) = &config.end else {
        panic!("a server")
    };
    assert_eq!((server.listen.len(), server.half_open), (2, 16));
    let pending = crate::PendingLimits {
        total: 100,
        per_source: 4,
        timeout: Duration::from_secs(2),
    };
    assert_eq!(server.pending, pending);
    assert_eq!(server.clients[0].addresses.len(), 2);
    assert_eq!(config.tun.name, "brimful0");
}

#[test]
fn addresses_are_announced_and_used() {
    let parse = |text: &str, role| Config::parse("t.toml", text, role);
    let text = SERVER.replace("[tun]", "announce = [\"198.51.100.1:6511\"]\n[tun]");
    let End::Server(server) = parse(&text, Role::Server).expect("valid").end else {
        panic!("a server");
    };
    assert_eq!(server.announce, ["198.51.100.1:6511".parse().expect("one")]);
    for none in [
        "0.0.0.0:6511",
        "224.0.0.1:6511",
        "255.255.255.255:9",
        "[ff02::1]:1",
        "192.0.2.1:0",
    ] {
        let text = text.replace("198.51.100.1:6511", none);
        let error = parse(&text, Role::Server)
            .expect_err("rejected")
            .to_string();
        assert!(error.contains(none), "{error}");
    }
    let used = |text: &str| match parse(text, Role::Client).expect("valid").end {
        End::Client(end) => end.use_announced,
        End::Server(_) => panic!("a client"),
    };
    assert!(!used(CLIENT));
    assert!(used(&format!("use-announced = true\n{CLIENT}")));
}

#[test]
fn faults_name_place_problem_and_what_is_allowed() {
    for (from, to, expected) in [
        (
            "remote = \"192.0.2.1:6511\"",
            "remote = \"192.0.2.1\"",
            "t.toml:5:11",
        ),
        ("\"cpf\"", "\"minrtt\"", "known are cpf, srtt"),
        (
            "interface = \"wlan0\"",
            "interfaec = \"wlan0\"",
            "did you mean \"interface\"?",
        ),
        ("\"wlan0\"", "\"wlan0; reboot\"", "no name of an interface"),
        (
            "\"primary\"",
            "\"frist\"",
            "never, standby, secondary, primary",
        ),
        (
            "\"bbr\"",
            "\"vegas\"",
            "carrier \"tcp\" has cubic, reno, bbr, bbr2, bbr3",
        ),
        ("\"80 ms\"", "\"80\"", "t.toml:7:"),
        ("\"equalised\"", "\"equal\"", "known are none, fixed"),
        ("\"lte\"", "\"wifi\"", "two paths \"wifi\""),
        ("\"10.99.0.2/24\"", "\"10.99.0.2\"", "length of its network"),
        ("margin", "wait", "mode = \"fixed\""),
        ("\"2 s\"", "\"2 min\"", "t.toml:9:14"),
        (
            "renew-after = \"1 s\"",
            "renew-after = \"1 ms\"",
            "renew-after = 1 ms; allowed are 10 ms to 3600 s",
        ),
        (
            "renew-after",
            "renew-afetr",
            "did you mean \"renew-after\"?",
        ),
        (
            "scheduler =",
            "role = \"server\"\nscheduler =",
            "this is \"brimful tunnel client\"",
        ),
    ] {
        let text = CLIENT.replacen(from, to, 1);
        let error = message(&text, Role::Client);
        assert!(error.contains(expected), "{to}: {error}");
    }
    assert!(message(SERVER, Role::Client).contains("role"));
    let twice = format!(
        "{SERVER}[[client]]\nname = \"van\"\npublic-key = \"{OTHER}\"\naddresses = [\"10.99.0.0/24\"]\n"
    );
    assert!(message(&twice, Role::Server).contains("is of the client \"car\" too"));
    let long = SERVER.replacen("\"2 s\"", "\"2 min\"", 1);
    let error = message(&long, Role::Server);
    assert!(error.contains("\"100 ms\" to \"60 s\""), "{error}");
    let none = SERVER.replacen("tcp-pending = 100", "tcp-pending = 0", 1);
    assert!(message(&none, Role::Server).contains("tcp-pending"));
    assert!(
        message(
            "encryption = \"none\"\nlisten = [\"0.0.0.0:1\"]",
            Role::Server
        )
        .contains("no client")
    );
    let plain = "encryption = \"none\"\nkey-file = \"/k\"";
    assert!(message(plain, Role::Client).contains("no path"));
}

/// A file of before, which has a shared key only, is refused with what is to be done.
#[test]
fn keys_are_those_that_the_encryption_needs() {
    let old = "key-file = \"/k\"\nremote = \"192.0.2.1:1\"\n[[path]]\nname = \"a\"\n";
    let error = message(old, Role::Client);
    for part in [
        "private-key-file",
        "encryption = \"none\"",
        "`brimful tunnel key FILE`",
    ] {
        assert!(error.contains(part), "{error}");
    }
    let plain = format!("encryption = \"none\"\n{old}");
    let config = Config::parse("t.toml", &plain, Role::Client).expect("valid");
    assert_eq!(config.encryption, Encryption::None);
    let config = Config::parse("t.toml", CLIENT, Role::Client).expect("valid");
    assert_eq!(config.encryption, Encryption::On);
    assert_eq!(config.rekey_after, Duration::from_secs(60));
    for (from, to, expected) in [
        ("\"60 s\"", "\"2 h\"", "\"1 s\" to \"3600 s\""),
        ("server-key", "key-file", "no key \"server-key\""),
        ("3p7bfX", "3p7b", "44 characters of base64"),
        (
            "private-key-file",
            "encryption = \"none\" #",
            "server-key is of no use",
        ),
        (
            "private-key-file",
            "encryption = \"none\"\nprivate-key-file",
            "private-key-file is of no use",
        ),
        (
            "private-key-file",
            "encryption = \"off\"\nprivate-key-file",
            "expected on, none",
        ),
    ] {
        let error = message(&CLIENT.replacen(from, to, 1), Role::Client);
        assert!(error.contains(expected), "{to}: {error}");
    }
    let plain = plain.replace("key-file = \"/k\"\n", "");
    assert!(message(&plain, Role::Client).contains("no key \"key-file\""));
    let twice = format!(
        "{SERVER}[[client]]\nname = \"van\"\npublic-key = \"3p7bfXt9wbTTW2HC7OQ1Nz+DQ8hbeGdNrfx+FG+IK08=\"\n\
         addresses = [\"10.99.1.0/24\"]\n"
    );
    let error = message(&twice, Role::Server);
    assert!(
        error.contains("public-key is that of the client \"car\" too"),
        "{error}"
    );
}

proptest! {
    #[test]
    fn never_panics(text in "[a-z=\\[\\]\" \n0-9.-]{0,200}", is_server: bool) {
        let role = if is_server { Role::Server } else { Role::Client };
        let _ = Config::parse("f", &text, role);
    }
}

#[test]
fn the_mtu_of_paths_is_found_unless_it_is_given() {
    let of = |head: &str, path: &str| {
        let text = CLIENT.replace(
            "priority = \"primary\"",
            &format!("priority = \"primary\"\n{path}"),
        );
        let config = Config::parse("t.toml", &format!("{head}\n{text}"), Role::Client);
        let End::Client(client) = config.expect("valid").end else {
            panic!("a client")
        };
        let all = client.paths.iter().map(|path| path.path_mtu);
        all.collect::<Vec<_>>()
    };
    assert_eq!(of("", ""), [None, None]);
    assert_eq!(
        of("path-mtu = 1400", ""),
        [Some(1_400), None],
        "TCP has its own"
    );
    assert_eq!(
        of("path-mtu = 1400", "path-mtu = 1280"),
        [Some(1_280), None]
    );
    let word = PathConfig::parse("wlan0,path-mtu=1492,remote=192.0.2.1:1", None);
    assert_eq!(word.expect("valid").path_mtu, Some(1_492));
    let server = Config::parse(
        "t.toml",
        &format!("path-mtu = 1400\n{SERVER}"),
        Role::Server,
    );
    let End::Server(server) = server.expect("valid").end else {
        panic!("a server")
    };
    assert_eq!(server.path_mtu, Some(1_400));
}

#[test]
fn a_path_mtu_that_cannot_be_is_refused_with_file_and_key() {
    for (given, stated) in [
        (
            "1279",
            "t.toml:1:12: path-mtu is 1279; allowed is a whole number 1280 to 65535",
        ),
        (
            "65536",
            "t.toml:1:12: path-mtu is 65536; allowed is a whole number 1280 to 65535",
        ),
        (
            "\"found\"",
            "t.toml:1:13: path-mtu is text; allowed is a whole number 1280 to 65535",
        ),
    ] {
        let given = format!("path-mtu = {given}\n");
        for (text, role) in [(CLIENT, Role::Client), (SERVER, Role::Server)] {
            assert_eq!(message(&format!("{given}{text}"), role), stated);
        }
    }
    let text = CLIENT.replace("carrier = \"tcp\"", "carrier = \"tcp\"\npath-mtu = 1400");
    let stated = message(&text, Role::Client);
    assert!(
        stated.ends_with("path-mtu is of no use with carrier = \"tcp\""),
        "{stated}"
    );
}

#[test]
fn threads_are_one_two_or_as_many_as_pay() {
    let of = |line: &str| {
        let text = format!("{line}\n{CLIENT}");
        let config = Config::parse("t.toml", &text, Role::Client);
        config
            .map(|config| config.threads)
            .map_err(|e| e.to_string())
    };
    assert_eq!(of(""), Ok(Threads::One));
    assert_eq!(of("threads = \"auto\""), Ok(Threads::Auto));
    assert_eq!(of("threads = 1"), Ok(Threads::One));
    assert_eq!(of("threads = 2"), Ok(Threads::Two));
    assert_eq!(Threads::Two.has_second(), !Threads::One.has_second());
    let error = of("threads = 3").expect_err("as many as there are jobs");
    assert!(
        error.starts_with("t.toml:1:11: ") && error.contains("expected 1, 2, auto"),
        "{error}"
    );
}
