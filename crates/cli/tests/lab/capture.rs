//! The packets at the server and at the UE, with the proxy between them: true addresses and ports on both
//! sides.

use crate::{Running, brimful, has_root, scenario, stderr, stdout};
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::process::{Child, Command, Stdio};

/// The namespace of a running lab's host that has this address.
pub(crate) fn namespace_of(running: &Running, networks: &BTreeSet<u64>, address: &str) -> OwnedFd {
    let fds = fs::read_dir(format!("/proc/{}/fd", running.pid())).expect("descriptors");
    let mut candidates = fds.filter_map(|fd| {
        let path = fd.ok()?.path();
        let inode = fs::metadata(&path).ok()?.ino();
        networks
            .contains(&inode)
            .then(|| fs::File::open(path).ok())?
    });
    let host = candidates.find(|namespace| {
        let addresses = inside(namespace, &["ip", "-4", "addr"]).output();
        addresses.is_ok_and(|shown| stdout(&shown).contains(address))
    });
    host.expect("a namespace with this address").into()
}

/// A command in a namespace.
pub(crate) fn inside(namespace: &impl AsFd, arguments: &[&str]) -> Command {
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
        .stderr(Stdio::piped())
        .spawn()
        .expect("tcpdump; scripts/setup installs it")
}

/// Waits until it captures; what it writes to stderr later is discarded.
pub(crate) fn wait_until_it_captures(dump: &mut Child) {
    let mut stderr = BufReader::new(dump.stderr.take().expect("piped"));
    let mut line = String::new();
    while !line.contains("listening on") {
        line.clear();
        let read = stderr.read_line(&mut line).expect("text");
        assert!(read > 0, "tcpdump has ended");
    }
    std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
}

/// A packet as tcpdump prints it.
#[derive(Debug)]
struct Seen {
    from: String,
    to: String,
    flags: String,
}

impl Seen {
    fn read(line: &str) -> Option<Self> {
        // 1700000000.123456 IP 10.45.0.1.40000 > 10.46.0.1.80: Flags [S], seq 1, win 64240, options [...], length 0
        let mut words = line.split_whitespace();
        let _: f64 = words.next()?.parse().ok()?;
        let from = words.nth(1)?.to_owned();
        let to = words.nth(1)?.trim_end_matches(':').to_owned();
        let flags = line.split_once("Flags [")?.1.split_once(']')?.0.to_owned();
        Some(Self { from, to, flags })
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
fn addresses_are_true_on_both_sides_of_the_proxy() {
    if !has_root("addresses_are_true_on_both_sides_of_the_proxy") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mark = folder.path().join("go");
    let (ue_dump, ue_errors) = (folder.path().join("ue.txt"), folder.path().join("ue.err"));
    let script = format!(
        "tcpdump -i radio0 -nn -tt -l -s 120 tcp >{} 2>{} & dump=$!
         until [ -e {} ]; do sleep 0.05; done
         curl -sS -o /dev/null http://server/2M; kill $dump; wait $dump; true",
        ue_dump.display(),
        ue_errors.display(),
        mark.display()
    );
    let mut command = brimful(&["lab", "shell"]);
    command.arg(scenario("oai-fast.toml"));
    command.args(["--set", "pep=default", "--quiet", "--", "sh", "-c", &script]);
    let running = Running::start(command);
    let networks = running.networks();
    running.proxy();
    let namespace = namespace_of(&running, &networks, "10.46.0.1/32");
    let mut at_server = tcpdump(&namespace, "eth0");
    // both capture before anything is sent
    wait_until_it_captures(&mut at_server);
    crate::wait_until("tcpdump at the UE", || {
        fs::read_to_string(&ue_errors).is_ok_and(|text| text.contains("listening on"))
    });
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
}
