//! What strangers send to the REST interface: `Authorization` (Basic, Bearer), `Accept`, token requests.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let read = rnis_server::credentials(bytes);
    if let Some(token) = &read.bearer {
        assert!(token.len() <= bytes.len() && read.basic.is_none());
    }
    if let Some((id, secret)) = &read.basic {
        assert!(id.len() + secret.len() <= 3 * bytes.len());
    }
    assert_ne!(
        read.scope,
        Some((false, false)),
        "a token that is good for nothing"
    );
});
