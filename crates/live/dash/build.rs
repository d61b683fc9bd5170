//! Puts the page of `web/` into the crate: every file of `web/dist/dash`, or where that has not been
//! built, a short page that states so.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> std::io::Result<()> {
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("../../..");
    let page = root.join("web/dist/dash");
    let mut files = Vec::new();
    if page.join("index.html").is_file() {
        collect(&page, "", &mut files)?;
    } else {
        println!("cargo::warning=the dashboard is built without its page: run `make web`");
    }
    watch(&root);
    files.sort();
    let mut table = String::from("&[\n");
    for (name, path) in &files {
        // writing to a text cannot fail
        let _ = writeln!(table, "    ({name:?}, include_bytes!({path:?})),");
    }
    table.push(']');
    fs::write(PathBuf::from(variable("OUT_DIR")).join("assets.rs"), table)
}

/// What makes this run again. A path that is missing would do so every time, so it is the nearest
/// folder that exists.
fn watch(root: &Path) {
    println!("cargo::rerun-if-changed=build.rs");
    let candidates = ["web/dist/dash", "web/dist"].map(|path| root.join(path));
    if let Some(path) = candidates.iter().find(|path| path.exists()) {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

/// All files below a folder, by their paths from there.
fn collect(folder: &Path, prefix: &str, files: &mut Vec<(String, PathBuf)>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{name}/"), files)?;
        } else {
            files.push((name, entry.path()));
        }
    }
    Ok(())
}
