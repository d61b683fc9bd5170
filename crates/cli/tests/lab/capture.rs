//! What an onlooker sees at the server and at the UE, with the proxy between them: true addresses and
//! ports on both sides, and a window towards the server that follows what the radio carries.

use crate::{Running, brimful, is_root, scenario, stderr, stdout, wait_for};
use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::process::{Child, Command, Stdio};

/// 24 Mbit/s for 4 s, then 6 Mbit/s for 4 s, as Mahimahi has it: the millisecond of each packet.
fn halves() -> String {
    let fast = (1..=4_000).flat_map(|ms| [ms, ms]);
    let slow = (4_001..=8_000).filter(|ms| ms % 2 == 0);
    fast.chain(slow).map(|ms: u32| format!("{ms}\n")).collect()
}

/// The namespace of a running lab's server.
fn servers(running: &Running, networks: &BTreeSet<u64>) -> OwnedFd {
    let fds = fs::read_dir(format!("/proc/{}/fd", running.pid())).expect("descriptors");
    let mut candidates = fds.filter_map(|fd| {
        let path = fd.ok()?.path();
        let inode = fs::metadata(&path).ok()?.ino();
        networks
            .contains(&inode)
            .then(|| fs::File::open(path).ok())?
    });
    let server = candidates.find(|namespace| {
        let addresses = inside(namespace, &["ip", "-4", "addr"]).output();
        addresses.is_ok_and(|shown| stdout(&shown).contains("10.46.0.1/32"))
    });
    server.expect("the servers' namespace").into()
}

/// A command in a namespace.
fn inside(namespace: &impl AsFd, arguments: &[&str]) -> Command {
    use std::os::fd::AsRawFd;
    let mut command = Command::new("nsenter");
    let fd = namespace.as_fd().as_raw_fd();
    command.arg(format!("--net=/proc/{}/fd/{fd}", std::process::id()));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// tcpdump of all TCP at a device, as text. Ends when the device goes.
fn tcpdump(namespace: &OwnedFd, device: &str) -> Child {
    let arguments = [
        "tcpdump", "-i", device, "-nn", "-tt", "-l", "-s", "120", "tcp",
    ];
    inside(namespace, &arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("tcpdump; scripts/setup installs it")
}

/// A packet as tcpdump tells it.
#[derive(Debug)]
struct Seen {
    at: f64,
    from: String,
    to: String,
    flags: String,
    window: Option<f64>,
    scale: Option<u32>,
}

impl Seen {
    fn read(line: &str) -> Option<Self> {
        // 1700000000.123456 IP 10.45.0.1.40000 > 10.46.0.1.80: Flags [S], seq 1, win 64240, options [...], length 0
        let mut words = line.split_whitespace();
        let at = words.next()?.parse().ok()?;
        let from = words.nth(1)?.to_owned();
        let to = words.nth(1)?.trim_end_matches(':').to_owned();
        let after = |key: &str| {
            let (_, rest) = line.split_once(key)?;
            rest.split(|c: char| !c.is_ascii_digit())
                .next()?
                .parse()
                .ok()
        };
        let flags = line.split_once("Flags [")?.1.split_once(']')?.0.to_owned();
        Some(Self {
            at,
            from,
            to,
            flags,
            window: after(" win ").map(f64::from),
            scale: after("wscale "),
        })
    }
}

fn read_all(mut dump: Child) -> Vec<Seen> {
    let mut text = String::new();
    let mut output = dump.stdout.take().expect("piped");
    output.read_to_string(&mut text).expect("text");
    let _ = dump.wait();
    text.lines().filter_map(Seen::read).collect()
}

#[test]
fn addresses_are_true_and_the_window_follows_the_radio() {
    if !is_root("addresses_are_true_and_the_window_follows_the_radio") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let trace = folder.path().join("halves.mahimahi");
    fs::write(&trace, halves()).expect("a trace");
    let mark = folder.path().join("go");
    let ue_dump = folder.path().join("ue.txt");
    let script = format!(
        "tcpdump -i radio0 -nn -tt -l -s 120 tcp >{} 2>/dev/null & dump=$!
         until [ -e {} ]; do sleep 0.05; done
         curl -sS -m 8 -o /dev/null http://server/100M 2>/dev/null; kill $dump; wait $dump; true",
        ue_dump.display(),
        mark.display()
    );
    let mut command = brimful(&["lab", "shell"]);
    command
        .arg(scenario("trace-drive.toml"))
        .arg("--trace")
        .arg(&trace);
    command.args(["--set", "pep=default", "--quiet", "--", "sh", "-c", &script]);
    let running = Running::start(command);
    let networks = running.networks();
    running.proxy();
    let namespace = servers(&running, &networks);
    let at_server = tcpdump(&namespace, "eth0");
    // both listen before anything is sent
    wait_for("tcpdump at the UE", || ue_dump.exists().then_some(()));
    std::thread::sleep(std::time::Duration::from_millis(700));
    fs::write(&mark, "").expect("a mark");
    let reader = std::thread::spawn(move || read_all(at_server));
    let done = running.wait();
    drop(namespace);
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    let at_server = reader.join().expect("a dump");
    let at_ue = fs::read_to_string(&ue_dump).expect("a dump");
    let at_ue: Vec<Seen> = at_ue.lines().filter_map(Seen::read).collect();

    let syn = |seen: &[Seen]| -> (String, String) {
        let syn = seen.iter().find(|packet| packet.flags == "S");
        let syn = syn.expect("a SYN");
        (syn.from.clone(), syn.to.clone())
    };
    let (ue, server) = syn(&at_ue);
    assert!(ue.starts_with("10.45.0.1."), "{ue}");
    assert_eq!(server, "10.46.0.1.80");
    assert_eq!(
        syn(&at_server),
        (ue.clone(), server),
        "the server sees the UE as it is"
    );
    let ends: BTreeSet<&str> = at_ue
        .iter()
        .chain(&at_server)
        .map(|p| p.from.as_str())
        .collect();
    assert_eq!(ends, BTreeSet::from([ue.as_str(), "10.46.0.1.80"]));

    let scale = at_server
        .iter()
        .filter(|p| p.from == ue)
        .find_map(|p| p.scale);
    let factor = f64::from(1u32 << scale.expect("window scaling"));
    let began = at_server.first().expect("packets").at;
    let window = |from: f64, to: f64| {
        let acks = at_server.iter().filter(|packet| {
            let at = packet.at - began;
            packet.from == ue && packet.flags == "." && at >= from && at < to
        });
        let mut windows: Vec<f64> = acks
            .filter_map(|ack| ack.window)
            .map(|w| w * factor)
            .collect();
        assert!(windows.len() > 20, "{} acknowledgements", windows.len());
        windows.sort_by(f64::total_cmp);
        windows[windows.len() / 2]
    };
    // The trace began an unknown second or two before the download, and repeats after 8 s: the windows
    // themselves tell the two levels apart.
    let medians: Vec<f64> = (1..8)
        .map(|s| window(f64::from(s), f64::from(s + 1)))
        .collect();
    let (least, most) = medians.iter().fold((f64::MAX, 0.0), |(least, most), &w| {
        (f64::min(least, w), f64::max(most, w))
    });
    assert!(
        most > 2.5 * least,
        "the window follows a rate of 24 and 6 Mbit/s: {medians:?}"
    );
    // 30 of the 50 ms lie between edge and server: 90 kB at 24 Mbit/s, 22.5 kB at 6 Mbit/s
    assert!((60e3..150e3).contains(&most), "{medians:?}");
    assert!((15e3..45e3).contains(&least), "{medians:?}");
}
