//! Compiles the programs for the kernel with clang, to be part of this one.

include!("../kernel-cc/clang.rs");

/// The programs of `bpf/`.
const PROGRAMS: &[&str] = &["marker", "marker_check", "divert"];
/// Where headers of the kernel's interfaces are that are not of this crate.
const SHARED: &str = "../kernel-cc/bpf";

fn main() {
    println!("cargo:rerun-if-changed=../kernel-cc/clang.rs");
    compile_all(PROGRAMS, &[SHARED]);
}
