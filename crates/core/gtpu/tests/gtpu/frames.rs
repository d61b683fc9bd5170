//! Octets as text, and the sources of those that are written here.

/// Octets of hexadecimal digits.
pub fn octets(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| {
            let text = core::str::from_utf8(pair).expect("ASCII");
            u8::from_str_radix(text, 16).expect("hexadecimal digits")
        })
        .collect()
}

const PING: &str = "000102030405060708090a0b0c0d0e0f";

/// Whole messages. Tags: GG wmnsk/go-gtp, GU free5gc/go-upf, SRS srsran/srsRAN_Project, SC secdev/scapy; the rest were made after
/// the specification's tables.
pub const MESSAGES: [(&str, &str); 21] = [
    ("GG: no options", "30ff0004deadbeefdeadbeef"),
    ("GG: S", "32ff0008deadbeef00010000deadbeef"),
    (
        "GU: uplink, QFI 9",
        "34ff000c000000010000008501100900deadbeef",
    ),
    (
        "SRS: downlink, QFI 1",
        "34ff005c000000020000008501000100450000549bfb00004001565ac0a80401c0a803020000b8c0000200015d26776400000000b1de020000000000101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f3031323334353637",
    ),
    (
        "SRS: uplink, QFI 1",
        "34ff005c00000002000000850110010045000054e88340004001fa00ac100003ac10000108002cbeb4a40001d3456163000000001a20090000000000101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f3031323334353637",
    ),
    (
        "SC: downlink, QFI 63, paging policy 4",
        "34ff006000000001fa163e850200ff800000000045000054074d00004001fb490a0a31fe0a0a32010000325600930001c444ca5f00000000759e0a0000000000101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f3031323334353637",
    ),
    (
        "SRS: two extension headers",
        "34ff006000000001000000c00100018501000100450000541f6c00004001469c0a2d00010a2d0047000086b00004000d0170c16300000000f097070000000000101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f3031323334353637",
    ),
    (
        "SRS: downlink with a time and a number, QFI 24",
        "34ff00280000000200000085040c9820ffeeddccbbaa9988996601004500001400000000400100000a2d00020a2d0001",
    ),
    (
        "uplink with everything, QFI 9",
        "34ff004c00000002000000850d1fc9e9a1b2c300000000e9a1b2c300400000e9a1b2c30080000000000005000000070001020000000207010bb81388000000004500001400000000400100000a2d00020a2d0001",
    ),
    ("SRS: echo request", "320100040000000000000000"),
    ("SRS: echo response", "3202000600000000000000000e00"),
    ("GG: end marker", "30fe000000000001"),
    ("end marker with a flow", "34fe0008000000010000008501000100"),
    (
        "SRS: error indication of Open5GS",
        "361a00180000000000000085010001400100000010000012678500040a350102",
    ),
    (
        "GG: error indication",
        "321a0010112233440001000010deadbeef85000401010101",
    ),
    (
        "supported extension headers",
        "321f000800000000000000008d028584",
    ),
    ("SRS: user data", "34ff000c00000001000000840200001122330000"),
    (
        "SRS: user data with two blocks to discard",
        "34ff001400000002000000840404001122330244556677aabbccdd00",
    ),
    (
        "SRS: delivery status, size only",
        "34ff000c00000001000000840210001122334400",
    ),
    (
        "delivery status as srsRAN sends it",
        "34ff00140000000100000084041c00000186a0000123000125000000",
    ),
    (
        "delivery status with everything",
        "34ff002c00000001000000840a1f1f00010000009896800100000a00000c00012300013001000040000041010001260001280000",
    ),
];

/// Messages with assistance information.
pub const ASSISTANCE: [(&str, &str); 2] = [
    (
        "assistance: two items",
        "34ff001000000001000000840324000201010c0401300000",
    ),
    (
        "assistance with everything",
        "34ff001c0000000100000084062f010301010c020105060126000000070000000c000000",
    ),
];

/// A ping's payload, for messages that are put together here.
pub fn ping() -> Vec<u8> {
    octets(PING)
}
