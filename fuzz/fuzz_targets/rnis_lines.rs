//! The line splitter of the radio information service's sources, against one that has all bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let [piece, longest, text @ ..] = bytes else {
        return;
    };
    let longest = usize::from(*longest);
    let bounded = |line: &[u8]| (line.len() <= longest).then(|| line.to_vec());
    let mut expected: Vec<_> = text.split(|&byte| byte == b'\n').map(bounded).collect();
    // what comes after the last line end is no line, unless it is too long for one already
    if expected.last().is_some_and(Option::is_some) {
        expected.pop();
    }
    let split = report_source::split_lines(text, usize::from(*piece), longest);
    assert_eq!(split, expected);
});
