//! The rules that bring UEs' connections to the listeners, as text for `nft`.

use super::{FROZEN_MARK, Names};
use crate::config::{Prefix, Transparent};
use std::fmt::Write;
use std::net::SocketAddr;

/// Set of the interface whose connections pass by: while it is empty, they are taken.
const FULL: &str = "full";
/// What the sets below hold at the most; without room in them connections pass by.
const SET_SIZE: u32 = 65_536;
/// Connections a second of a UE that are remembered to have passed by, and as many at once: with the time that they
/// are remembered for, the part of the set that a UE can take (3,500 of 65,536).
const PASSED: (u32, u32) = (50, 500);
/// Permissions a second that a UE is given, and as many at once: it has at most 800 in five minutes.
const PERMITTED: (u32, u32) = (2, 200);
/// Connections that have moved are remembered for so long.
const MOVED_TIME: &str = "60s";
/// Priority behind that of every other chain.
const LAST: i32 = i32::MAX;

/// Which connections are taken of those that could be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taking {
    /// SYNs a second of a UE, and as many at once; 0 for no limit.
    pub(super) syn_rate: u32,
    /// None, for there are as many as there may be.
    pub(super) passes_by: bool,
    /// UEs' requests for ECN are taken out: the window towards them follows decisions, whatever is marked.
    pub(super) without_ecn: bool,
    /// Connections move to other proxies: what is frozen or has moved is dropped.
    pub(super) moves: bool,
}

/// An address family in the language of `nft`.
struct Family {
    is_ipv6: bool,
    name: &'static str,
    /// Appended to the names of sets and chains.
    digit: char,
    /// Type of an address.
    address: &'static str,
    /// What a UE is counted by: its address, or the /64 that it has.
    ue: &'static str,
}

impl Family {
    /// What a connection is.
    fn pair(&self) -> String {
        let name = self.name;
        format!("{name} saddr . tcp sport . {name} daddr . tcp dport")
    }

    /// What a permission is for, whatever the UE's port.
    fn service(&self) -> String {
        let name = self.name;
        format!("{name} saddr . {name} daddr . tcp dport")
    }

    /// Matches as long as a UE stays within a rate (a second, and as many at once), kept in the set of this name.
    fn within(&self, set: &str, (rate, burst): (u32, u32)) -> String {
        let Self { digit, ue, .. } = self;
        format!("update @{set}{digit} {{ {ue} limit rate {rate}/second burst {burst} packets }} ")
    }
}

const FAMILIES: [Family; 2] = [
    Family {
        is_ipv6: false,
        name: "ip",
        digit: '4',
        address: "ipv4_addr",
        ue: "ip saddr",
    },
    Family {
        is_ipv6: true,
        name: "ip6",
        digit: '6',
        address: "ipv6_addr",
        ue: "ip6 saddr & ffff:ffff:ffff:ffff::",
    },
];

/// A script that puts the rules in place in one transaction, whatever of them was there before.
///
/// - From the UEs: what opens a connection of their addresses (SYN) goes to the listener, except to
///   this machine itself, to destinations that are left alone, and to the listener's own port. Without
///   a listener `tproxy` matches nothing, and packets pass as they always did. What is not routed to the
///   interface towards the servers passes too: onward sockets are bound to it.
/// - SYNs of a UE beyond its rate pass by, and all while the proxy is full. What has passed by once does
///   so for a minute: a SYN that is repeated must not reach the proxy when the first reached the server,
///   and the other way round.
/// - When more handshakes are open than the kernel's queue holds, it answers with SYN cookies and has no
///   socket until the UE's acknowledgement. That of a connection that was taken goes to the listener.
/// - Where the forward policy is followed, a SYN is taken only if one of the same UE, server and port has
///   come through all forward chains lately; the last of them, ours, keeps that.
/// - Of a UE only so much is kept a second: one that asks for ever more fills no set, and its own connections
///   pass by.
/// - From both sides: what belongs to a transparent socket is delivered here. A SYN from a UE is never
///   looked up so: it would be bound to sockets that wait out their end. What belongs to none passes: it
///   is of a connection that is older than the rules, or has passed by.
///   The listener is none of these (it is bound to the wildcard address): of connections that pass by, some have its
///   port at an end.
/// - The listener's port cannot be reached directly.
pub(super) fn script(names: &Names, transparent: &Transparent, taking: Taking) -> String {
    let Names { table, mark, port } = names;
    let ran = &transparent.ran_interface;
    let wan = &transparent.wan_interface;
    let (mut sets, mut openings, mut rules) = (String::new(), String::new(), String::new());
    let mut moved = String::new();
    let (mut acknowledged, mut forwarded) = (String::new(), String::new());
    // writing to a text cannot fail
    let elements = if taking.passes_by {
        format!("elements = {{ \"{ran}\" }}; ")
    } else {
        String::new()
    };
    let _ = writeln!(sets, "  set {FULL} {{ type ifname; {elements}}}");
    for family in FAMILIES {
        let Some(from) = set(&transparent.ue_prefixes, family.is_ipv6) else {
            continue;
        };
        let Family { name, digit, .. } = family;
        let bypass = set(&transparent.bypass, family.is_ipv6)
            .map_or_else(String::new, |set| format!("{name} daddr != {set} "));
        let follows = transparent.follow_forward_policy;
        put_sets(&mut sets, &family, taking, follows);
        put_opening(&mut openings, &family, names, taking, follows);
        if taking.moves {
            put_moved(&mut sets, &mut moved, &family, (ran, wan));
        }
        let _ = writeln!(
            rules,
            "    iifname \"{ran}\" meta l4proto tcp tcp flags & (fin | syn | rst | ack) == syn \
             {name} saddr {from} {bypass}tcp dport != {port} fib daddr type unicast fib daddr oifname \"{wan}\" goto open{digit}"
        );
        let _ = writeln!(
            acknowledged,
            "    iifname \"{ran}\" meta l4proto tcp tcp flags & (fin | syn | rst | ack) == ack \
             {name} saddr {from} {} @taken{digit} tproxy {name} to :{port} meta mark set {mark} \
             accept",
            family.pair()
        );
        let _ = writeln!(
            forwarded,
            "    iifname \"{ran}\" oifname \"{wan}\" meta l4proto tcp \
             tcp flags & (fin | syn | rst | ack) == syn {name} saddr {from} {}update \
             @permitted{digit} {{ {} }}",
            family.within("asking", PERMITTED),
            family.service()
        );
    }
    if transparent.follow_forward_policy {
        let _ = writeln!(
            openings,
            "  chain permit {{\n    type filter hook forward priority {LAST}; policy accept;\n\
             {forwarded}  }}"
        );
    }
    if taking.moves {
        // resets are let through: a connection of a process that dies is not to hang
        let _ = writeln!(
            openings,
            "  chain frozen {{\n    type filter hook output priority raw; policy accept;\n    \
             meta mark {FROZEN_MARK} meta l4proto tcp tcp flags & rst == 0 drop\n  }}"
        );
    }
    format!(
        "add table inet {table}\ndelete table inet {table}\ntable inet {table} {{\n{sets}{openings}  \
         chain intercept {{\n    \
         type filter hook prerouting priority mangle; policy accept;\n    \
         tcp dport {port} fib daddr type local drop\n{rules}    \
         iifname \"{ran}\" meta l4proto tcp tcp flags & (fin | syn | rst | ack) != syn socket \
         transparent 1 socket wildcard 0 meta mark set {mark} accept\n{acknowledged}    \
         iifname \"{wan}\" meta l4proto tcp socket transparent 1 socket wildcard 0 meta mark set {mark} accept\n    \
         iifname {{ \"{ran}\", \"{wan}\" }} meta l4proto {{ icmp, icmpv6 }} socket transparent 1 socket wildcard 0 \
         meta mark set {mark} accept\n{moved}  }}\n}}\n"
    )
}

/// A script that lets the interface's new connections pass by, or takes them again.
pub(super) fn passing_by(table: &str, ran: &str, passes_by: bool) -> String {
    if passes_by {
        format!("add element inet {table} {FULL} {{ \"{ran}\" }}\n")
    } else {
        format!("flush set inet {table} {FULL}\n")
    }
}

/// What comes of connections that have moved to another proxy, and belongs to no socket here, from both sides.
fn put_moved(sets: &mut String, rules: &mut String, family: &Family, (ran, wan): (&str, &str)) {
    let Family {
        name,
        digit,
        address,
        ..
    } = family;
    let pair = format!("{address} . inet_service . {address} . inet_service");
    let _ = writeln!(
        sets,
        "  set moved{digit} {{ type {pair}; size {SET_SIZE}; flags timeout; timeout {MOVED_TIME}; }}"
    );
    let back = format!("{name} daddr . tcp dport . {name} saddr . tcp sport");
    for (interface, ends) in [(ran, family.pair()), (wan, back)] {
        let _ = writeln!(
            rules,
            "    iifname \"{interface}\" meta l4proto tcp {ends} @moved{digit} drop"
        );
    }
}

/// A script that has packets of these connections dropped for a while, by the UE's end and the server's.
pub(super) fn moving(table: &str, ends: &[(SocketAddr, SocketAddr)]) -> String {
    let mut text = String::new();
    for (client, server) in ends {
        let digit = if client.is_ipv4() { 4 } else { 6 };
        // writing to a text cannot fail
        let _ = writeln!(
            text,
            "add element inet {table} moved{digit} {{ {} . {} . {} . {} }}",
            client.ip(),
            client.port(),
            server.ip(),
            server.port()
        );
    }
    text
}

/// The sets of a family: rates of UEs, connections that have passed by or were taken, and what is
/// permitted.
fn put_sets(text: &mut String, family: &Family, taking: Taking, follows: bool) {
    let Family { digit, address, .. } = family;
    let mut put = |name: &str, types: &str, timeout: &str| {
        let _ = writeln!(
            text,
            "  set {name}{digit} {{ type {types}; size {SET_SIZE}; flags dynamic, timeout; \
             timeout {timeout}; }}"
        );
    };
    if taking.syn_rate > 0 {
        put("syns", address, "10s");
    }
    // no shorter than until the burst of a rate is whole again
    put("passing", address, "10s");
    let pair = format!("{address} . inet_service . {address} . inet_service");
    put("passed", &pair, "60s");
    put("taken", &pair, "10s");
    if follows {
        let service = format!("{address} . {address} . inet_service");
        put("permitted", &service, "5m");
        put("asking", address, "100s");
    }
}

/// The chain that decides on what opens a connection.
fn put_opening(text: &mut String, family: &Family, names: &Names, taking: Taking, follows: bool) {
    let Names { mark, port, .. } = names;
    let Family { name, digit, .. } = family;
    let pair = family.pair();
    let permitted = if follows {
        format!("{} @permitted{digit} ", family.service())
    } else {
        String::new()
    };
    let rate = if taking.syn_rate > 0 {
        family.within("syns", (taking.syn_rate, taking.syn_rate))
    } else {
        String::new()
    };
    let passing = family.within("passing", PASSED);
    // it is a SYN and nothing more, whether it requested ECN (RFC 3168 6.1.1) or not
    let flags = match taking.without_ecn {
        true => "tcp flags set syn ",
        false => "",
    };
    let tproxy = format!("{flags}tproxy {name} to :{port} meta mark set {mark} accept");
    let _ = writeln!(
        text,
        "  chain take{digit} {{\n    \
         update @taken{digit} {{ {pair} }}\n    \
         meta l4proto tcp {tproxy}\n  }}\n  \
         chain open{digit} {{\n    \
         {pair} @passed{digit} accept\n    \
         meta l4proto tcp {pair} @taken{digit} {tproxy}\n    \
         iifname != @{FULL} {permitted}{rate}goto take{digit}\n    \
         {passing}update @passed{digit} {{ {pair} }} counter\n  }}"
    );
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

    const TAKING: Taking = Taking {
        syn_rate: 200,
        passes_by: false,
        without_ecn: false,
        moves: false,
    };

    fn transparent(prefixes: &[&str]) -> Transparent {
        Transparent {
            ue_prefixes: prefixes.iter().filter_map(|p| p.parse().ok()).collect(),
            bypass: vec!["192.0.2.0/24".parse().expect("a prefix")],
            ran_interface: "ran0".to_owned(),
            wan_interface: "wan0".to_owned(),
            port: 0,
            follow_forward_policy: false,
        }
    }

    #[test]
    fn what_may_pass_is_learned_behind_all_forward_chains() {
        let mut both = transparent(&["10.45.0.0/24", "2001:db8::/32"]);
        assert!(!script(&Names::of(9), &both, TAKING).contains("hook forward"));
        both.follow_forward_policy = true;
        let text = script(&Names::of(9), &both, TAKING);
        assert!(text.contains("hook forward priority 2147483647"));
        for name in ["ip", "ip6"] {
            let service = format!("{name} saddr . {name} daddr . tcp dport");
            let digit = if name == "ip" { 4 } else { 6 };
            let ue = if name == "ip" {
                "ip saddr"
            } else {
                "ip6 saddr & ffff:ffff:ffff:ffff::"
            };
            let learned = format!(
                "update @asking{digit} {{ {ue} limit rate 2/second burst 200 packets }} \
                 update @permitted{digit} {{ {service} }}"
            );
            assert!(text.contains(&learned), "{text}");
            let taken = text
                .lines()
                .find(|l| l.contains(&format!("goto take{digit}")));
            let rule = format!("@full {service} @permitted{digit} update @syns{digit}");
            assert!(taken.expect("a rule").contains(&rule), "{text}");
        }
    }

    #[test]
    fn one_rule_for_each_family_that_has_prefixes() {
        let text = script(&Names::of(40_001), &transparent(&["10.45.0.0/24"]), TAKING);
        assert!(text.contains("tproxy ip to :40001") && !text.contains("tproxy ip6"));
        assert!(text.contains("ip daddr != { 192.0.2.0/24 }"));
        let both = script(
            &Names::of(1),
            &transparent(&["10.45.0.0/24", "2001:db8::/64"]),
            TAKING,
        );
        for name in ["ip", "ip6"] {
            // what opens, what is repeated, and what answers a cookie
            assert_eq!(both.matches(&format!("tproxy {name} to :1 ")).count(), 3);
        }
    }

    #[test]
    fn what_opens_a_connection_is_not_matched_with_old_sockets() {
        let text = script(&Names::of(9), &transparent(&["10.45.0.0/24"]), TAKING);
        let of_tcp = |l: &&str| l.contains("socket") && l.contains("l4proto tcp");
        let lines: Vec<&str> = text.lines().filter(of_tcp).collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].contains("iifname \"ran0\"") && lines[0].contains("!= syn"));
        assert!(lines[1].contains("iifname \"wan0\""));
        let opening = text.lines().find(|l| l.contains("goto open"));
        let opening = opening.expect("a rule");
        assert!(opening.contains("== syn"), "{opening}");
    }

    #[test]
    fn a_ue_is_an_address_or_a_64() {
        let both = transparent(&["10.45.0.0/24", "2001:db8::/32"]);
        let text = script(&Names::of(9), &both, TAKING);
        assert!(text.contains("{ ip saddr limit rate 200/second burst 200 packets }"));
        assert!(text.contains("{ ip6 saddr & ffff:ffff:ffff:ffff:: limit rate 200/second"));
        let unlimited = Taking {
            syn_rate: 0,
            passes_by: true,
            without_ecn: true,
            moves: true,
        };
        let text = script(&Names::of(9), &both, unlimited);
        assert!(!text.contains("syns"));
        assert!(text.contains("meta mark 1112670208 meta l4proto tcp tcp flags & rst == 0 drop"));
        assert_eq!(
            text.matches("@moved").count(),
            4,
            "both sides, both families"
        );
        let chains = text.matches("tcp flags set syn tproxy").count();
        assert_eq!(chains, 4, "first and repeated SYNs of both families");
        assert!(text.contains("elements = { \"ran0\" }"));
    }
}
