//! What strangers send to a proxy: requests to its admin socket and to `/metrics`, and both sides of an upgrade.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Err(error) = pep::check_request(bytes) {
        assert!(error.contains("a request is"), "{error}");
    }
    assert!(pep::metrics_status(bytes).is_ascii());
    // a message carries a few descriptors at most; an offer fits one number of them
    let accepted = (0..=10).map(|descriptors| pep::check_upgrade(bytes, descriptors));
    let offers = accepted.filter(|&(_, is_offer)| is_offer).count();
    assert!(offers <= 1, "{offers}");
});
