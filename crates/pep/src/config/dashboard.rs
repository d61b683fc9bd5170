//! The table `[dashboard]`.

use super::ConfigError;
use super::reader::Reader;
use dash::Settings;

pub(super) fn read(top: &mut Reader<'_, '_>, has_server: bool) -> Result<Settings, ConfigError> {
    let usual = Settings::default();
    let value = top.take("dashboard");
    let is_given = value.is_some();
    let mut table = Reader::new(top.source, "[dashboard]", &Settings::KEYS, value)?;
    let settings = Settings {
        is_on: table.flag("enabled", usual.is_on)?,
        rate: table.number("rate", usual.rate)?,
        token_file: table.parsed("token-file")?.map(|(path, _)| path),
        hosts: table.list("hosts")?.unwrap_or_default(),
    };
    let rates = Settings::LEAST_RATE..=Settings::MOST_RATE;
    if !rates.contains(&settings.rate) {
        return Err(table.fault(format!(
            "rate is {}, expected {} to {} samples a second",
            settings.rate,
            rates.start(),
            rates.end()
        )));
    }
    if is_given && settings.is_on && !has_server {
        return Err(table.fault("it is served where [metrics] listens: give that \"listen\""));
    }
    Ok(settings)
}

#[cfg(test)]
mod tests {
    use crate::config::{Config, ConfigError};

    fn read(more: &str) -> Result<Config, ConfigError> {
        let explicit = "[explicit]\nlisten = \"127.0.0.1:1\"\nupstream = \"192.0.2.1:80\"\n";
        let text = format!("mode = \"explicit\"\ncontrol = \"split\"\n{explicit}{more}");
        Config::parse("pep.toml", &text)
    }

    #[test]
    fn it_is_there_where_metrics_are_unless_it_is_switched_off() {
        let metrics = "[metrics]\nlisten = \"127.0.0.1:9464\"\n";
        assert!(read(metrics).expect("valid").dashboard.is_on);
        let whole = "[dashboard]\nenabled = false\nrate = 5\ntoken-file = \"/etc/t\"\n\
                     hosts = [\"edge.example\"]\n";
        let read_whole = read(&format!("{metrics}{whole}")).expect("valid").dashboard;
        assert!(!read_whole.is_on);
        assert_eq!(read_whole.rate, 5.0);
        assert_eq!(read_whole.hosts, ["edge.example"]);
        for (bad, said) in [
            ("[dashboard]\nrate = 0\n", "expected 0.1 to 50"),
            ("[dashboard]\nrate = nan\n", "expected 0.1 to 50"),
            (
                "[dashboard]\ntokenfile = \"t\"\n",
                "did you mean \"token-file\"",
            ),
            ("[dashboard]\nenabled = \"no\"\n", "expected true or false"),
        ] {
            let error = read(&format!("{metrics}{bad}")).expect_err(bad).to_string();
            assert!(
                error.starts_with("pep.toml:8:") || error.starts_with("pep.toml:9:"),
                "{error}"
            );
            assert!(error.contains(said), "{error}");
        }
        let alone = read("[dashboard]\nrate = 5\n").expect_err("no server");
        assert!(alone.to_string().contains("[metrics]"), "{alone}");
        assert!(read("[dashboard]\nenabled = false\n").is_ok());
    }
}
