//! The scenario files, which are part of the program so that it works wherever it is installed.

use scenario::Embedded;

/// Names and texts of files in the folder `scenarios`.
macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../scenarios/", $name)))),*]
    };
}

/// Those of RAPID.
pub(crate) const RAPID: Embedded = files![
    "rapid/fast-cell.inc",
    "rapid/fast-embb-los.toml",
    "rapid/fast-embb-nlos.toml",
    "rapid/many-ues.toml",
    "rapid/mixed-los.toml",
    "rapid/mixed-nlos.toml",
    "rapid/nlos-cell.inc",
    "rapid/oai-fast.toml",
    "rapid/oai-short.toml",
    "rapid/oai-udp-150k.toml",
    "rapid/oai-udp-8m.toml",
    "rapid/oai-udp.inc",
    "rapid/oai.inc",
    "rapid/ran-loss.toml",
    "rapid/rapid.inc",
    "rapid/scalability.toml",
    "rapid/three-ccas-yeah.toml",
    "rapid/three-ccas.toml",
    "rapid/trace-drive.toml",
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_table_is_the_folder() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/rapid");
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name())
            .map(|name| format!("rapid/{}", name.to_string_lossy()))
            .collect();
        names.sort();
        let known: Vec<&str> = RAPID.iter().map(|(name, _)| *name).collect();
        assert_eq!(known, names);
    }
}
