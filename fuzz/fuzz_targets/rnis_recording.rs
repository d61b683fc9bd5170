//! Recordings of radio reports and events, of any lines, played twice. The first byte gives the speed.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((speed, bytes)) = bytes.split_first() else {
        return;
    };
    // 0.001 to 1e6, as the configuration allows
    let speed = 10_f64.powi(i32::from(speed % 10) - 3);
    let times = rnis_server::recording_times(bytes, 2, speed);
    assert!(times.is_sorted(), "{times:?}");
    let lines = bytes.split(|&byte| byte == b'\n').count();
    assert!(times.len() <= 2 * lines);
});
