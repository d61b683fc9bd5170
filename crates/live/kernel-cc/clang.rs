// Of the build scripts of the crates with programs for the kernel: compiles them with clang, to be part of the program.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles each `bpf/NAME.bpf.c` into `OUT_DIR`, with headers of these folders beside its own.
fn compile_all(names: &[&str], headers: &[&str]) {
    println!("cargo:rerun-if-changed=bpf");
    for folder in headers {
        println!("cargo:rerun-if-changed={folder}");
    }
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    for name in names {
        compile(name, headers, &out);
    }
}

fn compile(name: &str, headers: &[&str], out: &Path) {
    let arch = std::env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets the architecture");
    let arch = if arch == "aarch64" { "arm64" } else { "x86" };
    let source = format!("bpf/{name}.bpf.c");
    let status = Command::new("clang")
        .args([
            "-g", "-O2", "-Wall", "-Werror", "-target", "bpf", "-mcpu=v3",
        ])
        .args(headers.iter().flat_map(|folder| ["-I", folder]))
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
