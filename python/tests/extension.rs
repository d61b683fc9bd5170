//! That `cargo test` builds the extension: `make test` hands this very file to the Python tests.
#![allow(missing_docs, reason = "a test")]

#[test]
fn the_extension_is_built_and_is_a_module() {
    let here = std::env::current_exe().expect("this test is a program");
    let folder = here.parent().expect("which is in a folder");
    let file = folder.join("lib_core.so");
    let bytes = std::fs::read(&file).expect("the extension is beside it");
    let symbol = b"PyInit__core";
    assert!(bytes.windows(symbol.len()).any(|window| window == symbol));
}
