//! Compiles the BPF congestion controls with clang, to be part of the program.

include!("clang.rs");

/// The programs of `bpf/`.
const PROGRAMS: &[&str] = &[
    "follow",
    "wire",
    "meld",
    "cdbe",
    "cdbe_check",
    "follow_check",
    "meld_check",
];

fn main() {
    println!("cargo:rerun-if-changed=clang.rs");
    compile_all(PROGRAMS, &[]);
}
