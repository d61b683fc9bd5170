#!/bin/sh
# Installs, upgrades and purges a package in an overlay of this machine, which is not touched.
#   install.sh PACKAGE FOLDER BEFORE      as root, in mount and PID namespaces of its own (unshare -mpf)
set -eu
# BEFORE has the configurations and maintainer scripts of version 0.2.0's package, from which it upgrades too. The program in that is
# today's: nothing runs it before the upgrade.
package=$1
folder=$2
before=$3

mount --make-rprivate /
mount -t tmpfs tmpfs "$folder"
mkdir "$folder/upper" "$folder/work" "$folder/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$folder/upper,workdir=$folder/work" "$folder/root"
mount -t proc proc "$folder/root/proc"
mount -t tmpfs tmpfs "$folder/root/tmp"
mkdir -p "$folder/root/dev"
mount --bind /dev "$folder/root/dev"
cp "$package" "$folder/root/tmp/first.deb"
cp -r "$before" "$folder/root/tmp/before"

cat >"$folder/root/tmp/inside" <<'INSIDE'
set -eu
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8
cd /tmp
step() { echo "step: $*"; }
fail() { echo "failed: $*"; exit 1; }

step "an upgrade from 0.2.0 keeps what was changed, and brings what is new"
dpkg-deb -R first.deb old
sed -i 's/^Version: .*/Version: 0.2.0-1/' old/DEBIAN/control
sed -i '/ue\.toml$/d' old/DEBIAN/conffiles
rm old/etc/brimful/* old/lib/systemd/system/brimful-ue.service
rm -r old/usr/lib/NetworkManager old/usr/lib/systemd
cp before/*.toml old/etc/brimful/
cp before/postinst before/postrm before/prerm old/DEBIAN/
dpkg-deb --root-owner-group -Zgzip -z1 -b old old.deb >/dev/null
dpkg --no-triggers --force-depends --force-confold -i old.deb
[ ! -e /etc/brimful/ue.toml ] || fail "0.2.0 had no ue.toml"
sed -i 's/^ran-interface = .*/ran-interface = "lo"/' /etc/brimful/pep.toml
dpkg --no-triggers --force-depends --force-confold -i first.deb
[ "$(dpkg-query -W -f '${Version}' brimful)" = "$(dpkg-deb -f first.deb Version)" ] || fail "not upgraded"
grep -q '^ran-interface = "lo"' /etc/brimful/pep.toml || fail "a changed configuration was lost"
for file in /etc/brimful/ue.toml /lib/systemd/system/brimful-ue.service /usr/lib/systemd/network/90-brimful.network; do
  [ -f "$file" ] || fail "$file has not come"
done
grep -q '^private-key-file' /etc/brimful/tunnel-client.toml || fail "an unchanged configuration is still that of 0.2.0"
setpriv --reuid brimful --regid brimful --clear-groups brimful pep --config /etc/brimful/pep.toml --check
dpkg --no-triggers --purge brimful
! getent passwd brimful >/dev/null || fail "the user is left"

step install
dpkg --no-triggers --force-depends --force-confold -i first.deb
[ "$(command -v brimful)" = /usr/bin/brimful ] || fail "the program is not found"
brimful --version
getent passwd brimful >/dev/null || fail "no user"
for file in /etc/brimful/pep.toml /lib/systemd/system/brimful-pep.service /usr/share/man/man1/brimful-pep.1.gz \
  /usr/share/man/man5/brimful-scenario.5.gz /usr/share/bash-completion/completions/brimful \
  /usr/share/zsh/vendor-completions/_brimful /usr/share/fish/vendor_completions.d/brimful.fish \
  /usr/share/doc/brimful/copyright /usr/share/doc/brimful/changelog.Debian.gz \
  /usr/share/doc/brimful/docs/operations/pep.md /usr/share/brimful/grafana/brimful.json; do
  [ -f "$file" ] || fail "$file is missing"
done

step "scenarios are found with their traces"
brimful list /usr/share/brimful/scenarios/rapid >/dev/null
for scenario in $(find /usr/share/brimful/scenarios -name '*.toml'); do
  brimful scenario show "$scenario" >/dev/null || fail "$scenario"
done

step "units are good with the program in its place"
if command -v systemd-analyze >/dev/null; then
  for unit in /lib/systemd/system/brimful-*.service; do
    output=$(systemd-analyze verify --man=no "$unit" 2>&1 | grep -F brimful || true)
    [ -z "$output" ] || fail "$output"
  done
fi
[ -z "$(find /etc/systemd -name '*brimful*' 2>/dev/null)" ] || fail "a unit is enabled"

step "configurations are good, as the daemons' user reads them"
for daemon in pep rnis; do
  setpriv --reuid brimful --regid brimful --clear-groups brimful "$daemon" --config "/etc/brimful/$daemon.toml" --check
done

step "an upgrade keeps what was changed and takes what was not"
echo "# mine" >>/etc/brimful/pep.toml
dpkg-deb -R first.deb second
sed -i 's/^Version: .*/Version: 99.0-1/' second/DEBIAN/control
echo "# theirs" >>second/etc/brimful/pep.toml
echo "# theirs" >>second/etc/brimful/rnis.toml
dpkg-deb --root-owner-group -Zgzip -z1 -b second second.deb >/dev/null
dpkg --no-triggers --force-depends --force-confold -i second.deb
grep -q "^# mine" /etc/brimful/pep.toml || fail "a changed configuration was lost"
grep -q "^# theirs" /etc/brimful/rnis.toml || fail "an unchanged configuration is still the old one"

step "removal keeps configurations"
dpkg --no-triggers --remove brimful
[ ! -e /usr/bin/brimful ] || fail "the program is left"
grep -q "^# mine" /etc/brimful/pep.toml || fail "the removal took a configuration"

step "an operator's key outlives a purge"
dpkg --no-triggers --force-depends --force-confold -i first.deb
echo key >/etc/brimful/tunnel.key
dpkg --no-triggers --purge brimful
[ "$(ls -A /etc/brimful)" = tunnel.key ] || fail "/etc/brimful: $(ls -A /etc/brimful)"
getent passwd brimful >/dev/null || fail "a key without an owner is left"

step "a purge leaves nothing"
rm -r /etc/brimful
dpkg --no-triggers --force-depends --force-confold -i first.deb
dpkg --no-triggers --purge brimful
! getent passwd brimful >/dev/null || fail "the user is left"
INSIDE
chroot "$folder/root" sh /tmp/inside
# what the overlay holds beside removals (devices 0, 0)
left=$(find "$folder/upper" -path '*brimful*' ! -type c ! -path '*/var/lib/dpkg/info/*')
[ -z "$left" ] || { echo "failed: left: $left"; exit 1; }
echo "step: done"
