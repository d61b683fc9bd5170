//! What the system is set up with around the device.

use crate::config::{ConfigError, TunConfig};
use daemon::config::Section;

/// A hook, or a domain: one line.
fn lines(table: &mut Section<'_, '_>, key: &'static str) -> Result<Vec<String>, ConfigError> {
    let all: Vec<String> = table.parsed_list(key)?;
    match all
        .iter()
        .find(|line| line.trim().is_empty() || line.contains(['\n', '\0']))
    {
        Some(line) => Err(table.fault(format!("{key}: {line:?}; expected one line of text"))),
        None => Ok(all),
    }
}

pub(super) fn system(table: &mut Section<'_, '_>, tun: &mut TunConfig) -> Result<(), ConfigError> {
    if let Some(mark) = table.whole::<u32>("fwmark", 0..=i64::from(u32::MAX))? {
        if (253..=255).contains(&mark) {
            return Err(table.fault(format!(
                "fwmark = {mark} is the number of a table of the system's; expected 0 (none), or another one"
            )));
        }
        tun.fwmark = (mark > 0).then_some(mark);
    }
    tun.dns = table.parsed_list("dns")?;
    tun.dns_search = lines(table, "dns-search")?;
    let is_domain = |c: char| c.is_ascii_alphanumeric() || "-_.~".contains(c);
    for domain in &tun.dns_search {
        if !domain.chars().all(is_domain) || domain.starts_with('-') {
            return Err(table.fault(format!("dns-search: {domain:?} is no domain")));
        }
    }
    if tun.dns.is_empty() && !tun.dns_search.is_empty() {
        return Err(table.fault("dns-search is of no use without dns"));
    }
    tun.post_up = lines(table, "post-up")?;
    tun.pre_down = lines(table, "pre-down")?;
    Ok(())
}
