//! Compiles the BPF congestion control with clang, to be part of the program.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=bpf");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let arch = std::env::var("CARGO_CFG_TARGET_ARCH").expect("cargo sets the architecture");
    let arch = if arch == "aarch64" { "arm64" } else { "x86" };
    let status = Command::new("clang")
        .args([
            "-g", "-O2", "-Wall", "-Werror", "-target", "bpf", "-mcpu=v3",
        ])
        .arg(format!("-D__TARGET_ARCH_{arch}"))
        .args(["-c", "bpf/follow.bpf.c", "-o"])
        .arg(out.join("follow.bpf.o"))
        .status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("clang could not compile bpf/follow.bpf.c: {status}"),
        Err(error) => panic!("clang cannot be run ({error}): install it (scripts/setup does)"),
    }
}
