//! The rules that bring UEs' connections to the listeners, as text for `nft`.

use super::Names;
use crate::config::{Prefix, Transparent};
use std::fmt::Write;

/// A script that puts the rules in place in one transaction, whatever of them was there before.
///
/// - From the UEs: what opens a connection of their addresses (SYN) goes to the listener, except to
///   this machine itself, to destinations that are left alone, and to the listener's own port. Without
///   a listener `tproxy` matches nothing, and packets pass as they always did.
/// - From both sides: what belongs to a transparent socket is delivered here. A SYN from a UE is never
///   asked so: it would be bound to sockets that wait out their end. What belongs to none passes: it
///   is of a connection that is older than the rules.
/// - The listener's port cannot be reached directly.
pub(super) fn script(names: &Names, transparent: &Transparent) -> String {
    let Names { table, mark, port } = names;
    let mut text = String::new();
    let ran = &transparent.ran_interface;
    let wan = &transparent.wan_interface;
    // writing to a text cannot fail
    let _ = writeln!(text, "add table inet {table}\ndelete table inet {table}");
    let _ = writeln!(text, "table inet {table} {{\n  chain intercept {{");
    let _ = writeln!(
        text,
        "    type filter hook prerouting priority mangle; policy accept;\n    \
         tcp dport {port} fib daddr type local drop"
    );
    for (is_ipv6, family) in [(false, "ip"), (true, "ip6")] {
        let Some(from) = set(&transparent.ue_prefixes, is_ipv6) else {
            continue;
        };
        let bypass = set(&transparent.bypass, is_ipv6)
            .map_or_else(String::new, |set| format!("{family} daddr != {set} "));
        let _ = writeln!(
            text,
            "    iifname \"{ran}\" meta l4proto tcp tcp flags & (fin | syn | rst | ack) == syn \
             {family} saddr {from} {bypass}tcp dport != {port} fib daddr type unicast tproxy {family} to :{port} meta mark set {mark} accept"
        );
    }
    let _ = writeln!(
        text,
        "    iifname \"{ran}\" meta l4proto tcp tcp flags & (fin | syn | rst | ack) != syn socket \
         transparent 1 meta mark set {mark} accept\n    \
         iifname \"{wan}\" meta l4proto tcp socket transparent 1 meta mark set {mark} accept\n    \
         iifname {{ \"{ran}\", \"{wan}\" }} meta l4proto {{ icmp, icmpv6 }} socket transparent 1 \
         meta mark set {mark} accept\n  }}\n}}"
    );
    text
}

/// The prefixes of a family as a set; none if there are none.
fn set(prefixes: &[Prefix], is_ipv6: bool) -> Option<String> {
    let of: Vec<String> = prefixes
        .iter()
        .filter(|prefix| prefix.is_ipv6() == is_ipv6)
        .map(Prefix::to_string)
        .collect();
    (!of.is_empty()).then(|| format!("{{ {} }}", of.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transparent(prefixes: &[&str]) -> Transparent {
        Transparent {
            ue_prefixes: prefixes.iter().filter_map(|p| p.parse().ok()).collect(),
            bypass: vec!["192.0.2.0/24".parse().expect("a prefix")],
            ran_interface: "ran0".to_owned(),
            wan_interface: "wan0".to_owned(),
            port: 0,
        }
    }

    #[test]
    fn one_rule_for_each_family_that_has_prefixes() {
        let text = script(&Names::of(40_001), &transparent(&["10.45.0.0/24"]));
        assert!(text.contains("tproxy ip to :40001") && !text.contains("tproxy ip6"));
        assert!(text.contains("ip daddr != { 192.0.2.0/24 }"));
        let both = script(
            &Names::of(1),
            &transparent(&["10.45.0.0/24", "2001:db8::/64"]),
        );
        assert_eq!(both.matches("tproxy").count(), 2);
    }

    #[test]
    fn what_opens_a_connection_is_not_matched_with_old_sockets() {
        let text = script(&Names::of(9), &transparent(&["10.45.0.0/24"]));
        let of_tcp = |l: &&str| l.contains("socket") && l.contains("l4proto tcp");
        let lines: Vec<&str> = text.lines().filter(of_tcp).collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].contains("iifname \"ran0\"") && lines[0].contains("!= syn"));
        assert!(lines[1].contains("iifname \"wan0\""));
        let opening = text.lines().find(|l| l.contains("tproxy")).expect("a rule");
        assert!(opening.contains("== syn"), "{opening}");
    }
}
