//! Puts script and style of `web/` into the crate, or where they have not been built, a script that
//! states it and a style for the tables.

use std::fs;
use std::path::{Path, PathBuf};

const PLAIN_SCRIPT: &str = r#"document.getElementById("series").insertAdjacentHTML("afterend","<p>This report has no charts: the program that made it was built without web/ (make web). The numbers below each figure are complete.</p>");"#;
const PLAIN_STYLE: &str = "body{font-family:sans-serif;max-width:1240px;margin:0 auto;padding:0 20px}\
table{border-collapse:collapse}th,td{padding:.2rem .6rem;text-align:right}th.t,td.t,th[scope=row]{text-align:left}\
.scroll{overflow-x:auto}nav a{margin-right:1rem}";

#[expect(
    clippy::disallowed_methods,
    reason = "cargo configures build scripts by variables; the crate itself reads none"
)]
fn main() -> std::io::Result<()> {
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../web/dist");
    println!("cargo::rerun-if-changed=build.rs");
    let files = ["report.js", "report.css"].map(|name| dist.join(name));
    let (script, style) = if files.iter().all(|file| file.is_file()) {
        for file in &files {
            println!("cargo::rerun-if-changed={}", file.display());
        }
        (
            fs::read_to_string(&files[0])?,
            fs::read_to_string(&files[1])?,
        )
    } else {
        // the folder is always there: it changes when the files are built
        println!("cargo::rerun-if-changed={}", dist.display());
        println!("cargo::warning=reports are made without charts: run `make web`");
        (PLAIN_SCRIPT.to_owned(), PLAIN_STYLE.to_owned())
    };
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    put(&out.join("report.js"), &script, "</script")?;
    put(&out.join("report.css"), &style, "</style")
}

/// Writes a text that stands within an element whose end it must not contain.
fn put(path: &Path, text: &str, end: &str) -> std::io::Result<()> {
    if text.to_ascii_lowercase().contains(end) {
        let problem = format!("{}: contains {end}", path.display());
        return Err(std::io::Error::other(problem));
    }
    fs::write(path, text.trim_end())
}
