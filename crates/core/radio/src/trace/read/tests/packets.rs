//! Packets per tick.

use super::*;

#[test]
fn packets_per_tick_are_counted() {
    let Content::PacketsPerTick(packets) = read_any("3\n6\n4\n0\n").unwrap().content else {
        panic!("no packets")
    };
    assert_eq!(
        packets.values().map(|n| n.get()).collect::<Vec<_>>(),
        [6, 4, 0]
    );
    let error = read_as(Format::PacketsPerTick, "4\n6\n4\n6\n").unwrap_err();
    assert_eq!(error.line(), Some(1));
    assert!(
        error
            .to_string()
            .contains("expected 3, the number of lines"),
        "{error}"
    );
    let error = read_as(Format::PacketsPerTick, "2\n6\n1000001\n").unwrap_err();
    assert_eq!(error.line(), Some(3));
    let error = read_as(Format::PacketsPerTick, "2\n0\n0\n")
        .unwrap_err()
        .to_string();
    assert!(error.contains("all values are 0"), "{error}");
}
