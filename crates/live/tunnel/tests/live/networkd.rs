//! The tunnel's device beside systemd-networkd, which runs in a namespace with the files of the package.

use crate::Test;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use testing::{Missing, wait_until};

pub const TESTS: &[Test] = &[(
    "networkd_leaves_the_device_and_its_rules_alone",
    networkd_leaves_the_device_and_its_rules_alone,
)];

const PROGRAM: &str = "/lib/systemd/systemd-networkd";

/// Another file matches every interface. `/sys` is read-only: devices need no udev then.
const SCRIPT: &str = "
mount --make-rprivate /
mount -t tmpfs tmpfs /run
mount -t sysfs -o ro sysfs /sys
mkdir -p /run/systemd/network /run/systemd/netif/links /run/systemd/networkd.conf.d
for file in \"$@\"; do
  case $file in
    *.network) cp \"$file\" /run/systemd/network/ ;;
    *) cp \"$file\" /run/systemd/networkd.conf.d/90-brimful.conf ;;
  esac
done
printf '[Match]\\nName=*\\n[Network]\\nLinkLocalAddressing=ipv6\\n' >/run/systemd/network/99-all.network
ip link set lo up
ip tuntap add dev brimful0 mode tun
ip link set brimful0 up
ip address add 10.99.0.2/24 dev brimful0
ip route add default dev brimful0 table 6511
ip rule add pref 32701 not fwmark 6511 lookup 6511
exec env SYSTEMD_LOG_LEVEL=debug SYSTEMD_LOG_TARGET=console /lib/systemd/systemd-networkd
";

/// A running networkd; it ends with its namespace.
struct Networkd {
    child: Child,
    log: PathBuf,
}

impl Networkd {
    fn start(folder: &Path, files: &[&str]) -> Self {
        let log = folder.join(format!("log{}", files.len()));
        let packaging = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../packaging/network");
        let mut command = Command::new("unshare");
        command.args(["--net", "--mount", "--", "sh", "-ec", SCRIPT, "sh"]);
        command.args(files.iter().map(|file| packaging.join(file)));
        let output = std::fs::File::create(&log).expect("a log");
        let error = output.try_clone().expect("a log");
        command.stdin(Stdio::null()).stdout(output).stderr(error);
        Self {
            child: command.spawn().expect("unshare starts"),
            log,
        }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    fn wait_for(&self, text: &str) {
        wait_until(text, || self.log().contains(text));
    }
}

impl Drop for Networkd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("--- log of networkd ---\n{}", self.log());
        }
    }
}

/// With the package's files it does not touch the device, and does not look at rules; without them it would.
fn networkd_leaves_the_device_and_its_rules_alone() {
    let test = "networkd_leaves_the_device_and_its_rules_alone";
    if !testing::has_root(test) {
        return;
    }
    if !Path::new(PROGRAM).exists() {
        return testing::skip(test, Missing::Optional(PROGRAM));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let rule = "foreign routing policy rule";
    let without = Networkd::start(folder.path(), &[]);
    without.wait_for("brimful0: Configuring with /run/systemd/network/99-all.network");
    without.wait_for(&format!("{rule} (configured): priority: 32701"));
    let files = ["90-brimful.network", "90-brimful-networkd.conf"];
    let with = Networkd::start(folder.path(), &files);
    with.wait_for("brimful0: Unmanaging interface");
    with.wait_for("brimful0: State changed: initialized -> unmanaged");
    with.wait_for("Enumeration completed");
    let log = with.log();
    for fault in [rule, "90-brimful.network:", "90-brimful.conf:"] {
        assert!(!log.contains(fault), "{fault:?}");
    }
}
