//! Compiles the programs for the kernel with clang, to be part of this one.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The programs of `bpf/`.
const PROGRAMS: &[&str] = &["marker", "marker_check"];
/// Where headers of the kernel's interfaces are that are not of this crate.
const SHARED: &str = "../kernel-cc/bpf";

fn main() {
    println!("cargo:rerun-if-changed=bpf");
    println!("cargo:rerun-if-changed={SHARED}");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    for name in PROGRAMS {
        compile(name, &out);
    }
}

fn compile(name: &str, out: &Path) {
    let arch = std::env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets the architecture");
    let arch = if arch == "aarch64" { "arm64" } else { "x86" };
    let source = format!("bpf/{name}.bpf.c");
    let status = Command::new("clang")
        .args([
            "-g", "-O2", "-Wall", "-Werror", "-target", "bpf", "-mcpu=v3", "-I", SHARED,
        ])
        .arg(format!("-D__TARGET_ARCH_{arch}"))
        .args(["-c", &source, "-o"])
        .arg(out.join(format!("{name}.bpf.o")))
        .status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("clang could not compile {source}: {status}"),
        Err(error) => panic!("clang cannot be run ({error}): install it (scripts/setup does)"),
    }
}
