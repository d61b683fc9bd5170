//! The table `[dashboard]`, which the configurations of several daemons have.

use super::reader::{ConfigError, Section};
use dash::Settings;

/// Reads it; `has_server`: metrics are served, and so the dashboard can be.
///
/// # Errors
/// A key that is not known or cannot be used, and a dashboard that nobody would serve.
pub fn read_dashboard(
    top: &mut Section<'_, '_>,
    has_server: bool,
) -> Result<Settings, ConfigError> {
    let usual = Settings::default();
    let Some(mut table) = top.table("dashboard", "[dashboard]")? else {
        return Ok(usual);
    };
    let rates = Settings::LEAST_RATE..=Settings::MOST_RATE;
    let settings = Settings {
        is_on: table.truth("enabled")?.unwrap_or(usual.is_on),
        rate: table.number("rate", rates)?.unwrap_or(usual.rate),
        token_file: table.parsed("token-file")?,
        hosts: table.parsed_list("hosts")?,
    };
    if settings.is_on && !has_server {
        return Err(table.fault("it is served where [metrics] listens: give that \"listen\""));
    }
    table.finish()?;
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::reader::File;

    fn read(text: &str, has_server: bool) -> Result<Settings, ConfigError> {
        let file = File {
            name: "a.toml",
            text,
        };
        let root = toml_span::parse(text).expect("TOML");
        let mut top = Section::root(file, root)?;
        read_dashboard(&mut top, has_server)
    }

    #[test]
    fn it_is_there_where_metrics_are_unless_it_is_switched_off() {
        assert_eq!(read("", false).expect("nothing"), Settings::default());
        let text =
            "[dashboard]\nenabled = false\nrate = 0.5\ntoken-file = \"/t\"\nhosts = [\"a\"]\n";
        let settings = read(text, true).expect("valid");
        assert_eq!((settings.is_on, settings.rate), (false, 0.5));
        assert_eq!(settings.token_file, Some("/t".into()));
        assert_eq!(settings.hosts, ["a"]);
        assert!(read("[dashboard]\nenabled = false\n", false).is_ok());
        for (bad, said) in [
            ("rate = 51", "0.1 to 50"),
            ("tokenfile = \"t\"", "did you mean \"token-file\""),
            ("enabled = 1", "enabled"),
        ] {
            let error = read(&format!("[dashboard]\n{bad}\n"), true).expect_err(bad);
            let error = error.to_string();
            assert!(
                error.starts_with("a.toml:") && error.contains(said),
                "{error}"
            );
        }
        let alone = read("[dashboard]\nrate = 5\n", false).expect_err("no server");
        assert!(alone.to_string().contains("[metrics]"), "{alone}");
    }
}
