//! A configuration that is read again while its daemon runs: it is applied as a whole, or not at all.

use crate::notify;

/// Has another configuration read and applied. `apply` gives what has changed (empty: it is not stated) or why nothing has.
/// Either is logged and given back, and the service manager is notified.
///
/// # Errors
/// The reason why the configuration stays as it was.
pub fn reload(apply: impl FnOnce() -> Result<String, String>) -> Result<String, String> {
    notify("RELOADING=1");
    let done = apply();
    notify("READY=1");
    match done {
        Ok(changed) => {
            let text = match changed.as_str() {
                "" => "configuration reloaded".to_owned(),
                _ => format!("configuration reloaded: {changed}"),
            };
            tracing::info!("{text}");
            Ok(text)
        }
        Err(error) => {
            tracing::error!("the configuration is not reloaded: {error}");
            Err(error)
        }
    }
}

/// What differs between the configuration that a daemon runs with and another one.
#[derive(Debug, Default)]
pub struct Differences {
    changed: Vec<&'static str>,
    fixed: Vec<&'static str>,
}

impl Differences {
    /// Keys, by their name in the file, that can change while the daemon runs, and whether they differ.
    pub fn may(&mut self, name: &'static str, differs: bool) {
        if differs {
            self.changed.push(name);
        }
    }

    /// Keys that cannot.
    pub fn cannot(&mut self, name: &'static str, differs: bool) {
        if differs {
            self.fixed.push(name);
        }
    }

    /// Those that can and differ, for [`reload`].
    ///
    /// # Errors
    /// The names of those that differ and cannot; `what` is what runs.
    pub fn check(self, what: &str) -> Result<String, String> {
        if !self.fixed.is_empty() {
            let names = self.fixed.join(", ");
            return Err(format!(
                "{names} cannot change while {what} runs: restart it"
            ));
        }
        Ok(match self.changed.is_empty() {
            true => "no change".to_owned(),
            false => self.changed.join(", "),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_change_is_named_and_hides_what_can() {
        let mut differences = Differences::default();
        differences.may("limit", false);
        differences.cannot("interface", false);
        assert_eq!(differences.check("it"), Ok("no change".to_owned()));
        let mut differences = Differences::default();
        differences.may("limit", true);
        differences.may("ahead", true);
        assert_eq!(differences.check("it"), Ok("limit, ahead".to_owned()));
        let mut differences = Differences::default();
        differences.may("limit", true);
        differences.cannot("interface", true);
        differences.cannot("[metrics]", true);
        let text = "interface, [metrics] cannot change while it runs: restart it";
        assert_eq!(differences.check("it"), Err(text.to_owned()));
    }

    #[test]
    fn what_has_changed_is_given_back_with_a_head() {
        let done = |changed: &str| reload(|| Ok(changed.to_owned())).expect("done");
        assert_eq!(done(""), "configuration reloaded");
        assert_eq!(done("limit"), "configuration reloaded: limit");
        assert_eq!(reload(|| Err("no".to_owned())), Err("no".to_owned()));
    }
}
