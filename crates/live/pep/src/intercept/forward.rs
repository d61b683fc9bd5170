//! Forward chains of others: connections through the proxy do not pass them, whatever they refuse.

/// A chain that decides on what is forwarded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ForwardChain {
    /// Family, table and chain, as `nft` names them.
    pub(super) name: String,
    /// What no rule matches is dropped.
    pub(super) drops: bool,
    /// How many rules it has.
    pub(super) rules: usize,
}

/// The forward chains of routed families in what `nft list ruleset` prints, but for those of tables whose
/// names begin with `ours`, and for those that do nothing.
pub(super) fn chains(ruleset: &str, ours: &str) -> Vec<ForwardChain> {
    let mut found = Vec::new();
    let (mut table, mut is_read) = (String::new(), false);
    let mut chain: Option<ForwardChain> = None;
    let mut is_forward = false;
    for line in ruleset.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["table", family, name, "{", ..] => {
                table = format!("{family} {name}");
                is_read = ["ip", "ip6", "inet"].contains(&family) && !name.starts_with(ours);
            }
            ["chain", name, "{", ..] => {
                is_forward = false;
                chain = Some(ForwardChain {
                    name: format!("{table} {name}"),
                    drops: false,
                    rules: 0,
                });
            }
            ["}"] => {
                let ended = chain.take().filter(|_| is_read && is_forward);
                found.extend(ended.filter(|chain| chain.drops || chain.rules > 0));
            }
            ["type", _, "hook", hook, ..] => {
                is_forward = hook == "forward";
                if let Some(chain) = &mut chain {
                    chain.drops = line.contains("policy drop");
                }
            }
            [] | ["comment", ..] | ["#", ..] => {}
            _ => {
                if let Some(chain) = &mut chain {
                    chain.rules += 1;
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const RULESET: &str = r#"
table ip filter {
	set x {
		type ipv4_addr
	}
	chain INPUT {
		type filter hook input priority filter; policy drop;
		accept
	}
	chain FORWARD {
		type filter hook forward priority filter; policy drop;
		ct state established accept
		ip saddr { 10.0.0.0/8,
			   172.16.0.0/12 } accept
	}
	chain other {
		drop
	}
}
table inet fw {
	flowtable f {
		hook ingress priority filter
		devices = { a }
	}
	chain pass {
		comment "does nothing"
		type filter hook forward priority filter; policy accept;
	}
	chain refuse {
		type filter hook forward priority 10; policy accept;
		tcp dport 25 drop
	}
}
table inet brimful_4000 {
	chain permit {
		type filter hook forward priority 2147483647; policy accept;
		accept
	}
}
table bridge b {
	chain forward {
		type filter hook forward priority filter; policy drop;
	}
}
"#;

    #[test]
    fn chains_that_refuse_or_may_are_named() {
        let named: Vec<(String, bool, usize)> = chains(RULESET, "brimful_")
            .into_iter()
            .map(|c| (c.name, c.drops, c.rules))
            .collect();
        let expected = [
            ("ip filter FORWARD".to_owned(), true, 3),
            ("inet fw refuse".to_owned(), false, 1),
        ];
        assert_eq!(named, expected);
    }

    proptest! {
        #[test]
        fn never_panics(text in "[a-z{};\\n ]{0,200}") {
            let _ = chains(&text, "brimful_");
        }
    }
}
