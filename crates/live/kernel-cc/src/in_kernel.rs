//! A program that tests run in this kernel.

use libbpf_rs::{Object, ObjectBuilder};

/// Loads it; none, recorded as skipped, without the right to.
pub(crate) fn load(program: &[u8]) -> Option<Object> {
    let open = ObjectBuilder::default().open_memory(program).expect("read");
    match open.load() {
        Ok(object) => Some(object),
        Err(error) if error.kind() == libbpf_rs::ErrorKind::PermissionDenied => {
            testing::skip("loading a BPF program", testing::Missing::Root);
            None
        }
        Err(error) => panic!("{error:#}"),
    }
}
