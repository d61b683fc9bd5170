//! The reader of scenario files on any text, with an option before the first zero byte.
#![no_main]

use libfuzzer_sys::fuzz_target;
use scenario::{Overrides, load_str};

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let (option, text) = match text.split_once('\0') {
        Some((option, text)) => (option.split_once('='), text),
        None => (None, &*text),
    };
    let set = option.map(|(key, value)| (key.to_owned(), value.to_owned()));
    let overrides = Overrides {
        set: set.into_iter().collect(),
        ..Overrides::default()
    };
    match load_str(text, &overrides) {
        Ok(points) => assert!(
            points
                .iter()
                .all(|point| !point.experiment.flows.is_empty())
        ),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
