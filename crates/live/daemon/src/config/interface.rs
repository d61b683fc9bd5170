//! Names of network interfaces.

/// The longest name of an interface (`IFNAMSIZ` less its end).
pub(crate) const MAX_NAME_BYTES: usize = 15;

/// What an interface may be called, and nothing that means something in a rule or a command.
pub fn is_interface(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.@".contains(c);
    !name.is_empty()
        && name.len() <= MAX_NAME_BYTES
        && !name.starts_with('-')
        && name.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_kernel_and_no_commands() {
        for good in ["eth0", "wlp3s0", "br-lan.100", "veth0@if4"] {
            assert!(is_interface(good), "{good}");
        }
        for bad in ["", "-j", "a b", "a;b", "a/b", "a234567890123456"] {
            assert!(!is_interface(bad), "{bad}");
        }
    }
}
