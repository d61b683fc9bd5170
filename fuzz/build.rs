//! Compiles what the kernel's programs read of packets for this machine, with the sanitizer and the counters that the targets
//! are compiled with.

const LIVE: &str = "../crates/live";

fn main() {
    let sanitizers = std::env::var("CARGO_CFG_SANITIZE").unwrap_or_default();
    for (name, folder) in [
        ("packet_check", "kernel-marker"),
        ("wire_packet_check", "kernel-cc"),
    ] {
        let mut build = cc::Build::new();
        build
            .compiler("clang")
            .file(format!("{LIVE}/{folder}/bpf/{name}.c"))
            .include(format!("{LIVE}/kernel-cc/bpf"))
            .define("ANSWERS_CALLS", None)
            .opt_level(1)
            .debug(true)
            .flag("-fsanitize-coverage=inline-8bit-counters,pc-table,trace-cmp")
            .flag("-fsanitize=undefined")
            .flag("-fsanitize-trap=undefined");
        if sanitizers.split(',').any(|of| of == "address") {
            build.flag("-fsanitize=address");
        }
        build.compile(name);
    }
    for folder in ["kernel-marker", "kernel-cc"] {
        println!("cargo:rerun-if-changed={LIVE}/{folder}/bpf");
    }
}
