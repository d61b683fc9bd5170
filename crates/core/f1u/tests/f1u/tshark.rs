//! What the emulated cell sends, read by another program.

use crate::common::{World, acknowledged, at_us, cell_config, fading};
use gtpu::pcap::{write_header, write_packet};
use std::process::Command;
use testing::Missing;

#[test]
fn another_program_finds_no_fault_with_the_cells_traffic() {
    let name = "f1u: another_program_finds_no_fault_with_the_cells_traffic";
    let config = cell_config();
    let bearer = acknowledged(&config);
    let mut world = World::new(config, vec![fading(18.0, 5.0, 1)], &bearer);
    world.keeps = true;
    for slot in 0..1_000 {
        let now = at_us(slot * 500);
        world.send(now, 0, 1_400);
        world.run(now);
    }
    let counts = world.monitor.counts();
    assert!(counts.user_data > 900 && counts.statuses > 40, "{counts:?}");
    let mut file = Vec::new();
    write_header(&mut file);
    for (at, packet) in &world.passed {
        write_packet(at.as_nanos(), packet, &mut file);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("f1u.pcap");
    std::fs::write(&path, file).expect("written");
    let mut tshark = Command::new("tshark");
    tshark
        .args(["-o", "ip.check_checksum:TRUE", "-r"])
        .arg(&path);
    tshark.args([
        "-T",
        "fields",
        "-e",
        "nrup.pdu_type",
        "-e",
        "_ws.malformed",
        "-e",
        "_ws.expert.severity",
    ]);
    let Ok(output) = tshark.output() else {
        testing::skip(name, Missing::Program("tshark"));
        return;
    };
    let text = String::from_utf8(output.stdout).expect("text");
    let (mut data, mut statuses) = (0, 0);
    for line in text.lines() {
        match line {
            "0\t\t" => data += 1,
            "1\t\t" => statuses += 1,
            other => panic!("tshark finds fault: {other:?}"),
        }
    }
    assert_eq!((data, statuses), (counts.user_data, counts.statuses));
}
