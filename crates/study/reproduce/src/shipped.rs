//! The scenario files, which are part of the program so that it works wherever it is installed.

use scenario::Embedded;

/// Names and texts of files in the folder `scenarios`, and after a semicolon in that of the repository.
macro_rules! files {
    ($($name:literal),* $(,)? $(; $($trace:literal),* $(,)?)?) => {
        &[
            $(($name, include_str!(concat!("../../../../scenarios/", $name))),)*
            $($(($trace, include_str!(concat!("../../../../", $trace))),)*)?
        ]
    };
}

/// Those of CDBE.
pub(crate) const CDBE: Embedded = files![
    "cdbe/cell.inc",
    "cdbe/coexist.toml",
    "cdbe/downloads.toml",
    "cdbe/sharing.toml",
    "cdbe/user.inc",
    "cdbe/validate-lte.toml",
    "cdbe/validate-wired.toml",
    "cdbe/wired-bottleneck.toml",
];

/// Those of the dynamic buffers.
pub(crate) const DYNAMIC_BUFFER: Embedded = files![
    "dynamic-buffer/base-station.inc",
    "dynamic-buffer/individual-sdap.toml",
    "dynamic-buffer/many-flows.toml",
    "dynamic-buffer/shared-sdap.toml",
    "dynamic-buffer/two-flows.inc",
    "dynamic-buffer/two-games.toml";
    "traces/pedestrian.txt",
    "traces/train.txt",
];

/// Those of MELD; its 5G cell is RAPID's.
pub(crate) const MELD: Embedded = files![
    "meld/download-20m.toml",
    "meld/mixed-short-long.toml",
    "meld/nr.toml",
    "meld/oai.inc",
    "meld/ping.toml",
    "meld/server.inc",
    "meld/upload.toml",
    "rapid/fast-cell.inc",
    "rapid/nlos-cell.inc",
    "rapid/rapid.inc",
];

/// Those of nested congestion control.
pub(crate) const NESTED_CC: Embedded = files![
    "nested-cc/call.toml",
    "nested-cc/contour.toml",
    "nested-cc/default.toml",
    "nested-cc/fade.toml",
    "nested-cc/roaming.toml",
    "nested-cc/two-paths.inc",
    "nested-cc/udp.toml",
    "nested-cc/walkaway.toml";
    "traces/drive-lte.csv",
];

/// Those of RAPID.
pub(crate) const RAPID: Embedded = files![
    "rapid/demand-aware.toml",
    "rapid/fast-cell.inc",
    "rapid/fast-embb-los.toml",
    "rapid/fast-embb-nlos.toml",
    "rapid/fast-unsplit.toml",
    "rapid/many-flows-4g.toml",
    "rapid/many-flows.toml",
    "rapid/many-ues.toml",
    "rapid/mixed-los.toml",
    "rapid/mixed-nlos.toml",
    "rapid/narrow-link.toml",
    "rapid/nlos-cell.inc",
    "rapid/oai-fast.toml",
    "rapid/oai-quic-bearers.toml",
    "rapid/oai-quic.toml",
    "rapid/oai-short.toml",
    "rapid/oai-udp-150k.toml",
    "rapid/oai-udp-8m.toml",
    "rapid/oai-udp.inc",
    "rapid/oai-unsplit-call.toml",
    "rapid/oai-unsplit-users.toml",
    "rapid/oai-unsplit.toml",
    "rapid/oai.inc",
    "rapid/ran-loss.toml",
    "rapid/rapid.inc",
    "rapid/scalability.toml",
    "rapid/three-ccas-yeah.toml",
    "rapid/three-ccas.toml",
    "rapid/trace-bursty.toml",
    "rapid/trace-drive.toml",
    "rapid/trace-quic.toml";
    "traces/bursty.csv",
    "traces/drive-lte.csv",
    "traces/drive-nr.csv",
    "traces/mmwave-blockage.csv",
    "traces/pedestrian.txt",
    "traces/static.csv",
    "traces/train.txt",
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// Names of the files of a folder in `scenarios`.
    fn folder(name: &str) -> Vec<String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scenarios");
        let mut names: Vec<String> = std::fs::read_dir(folder.join(name))
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name())
            .map(|file| format!("{name}/{}", file.to_string_lossy()))
            .collect();
        names.sort();
        names
    }

    #[test]
    fn the_tables_are_the_folders() {
        let all = [
            ("rapid", RAPID),
            ("dynamic-buffer", DYNAMIC_BUFFER),
            ("meld", MELD),
            ("cdbe", CDBE),
            ("nested-cc", NESTED_CC),
        ];
        for (name, files) in all {
            let known = files.iter().map(|(name, _)| *name);
            let inside = format!("{name}/");
            let known: Vec<&str> = known.filter(|n| n.starts_with(&inside)).collect();
            assert_eq!(known, folder(name));
        }
    }
}
