use super::*;
use crate::{BearerReport, CellId, CellReport, LinkQuality, McsTable, Rnti, UeReport};
use core::net::IpAddr;
use proptest::prelude::*;
use units::{Bytes, Cqi, Duration, Hertz, Instant, Mcs, Prb, Slot};

fn bearer(id: u8, queue: u64) -> BearerReport {
    BearerReport {
        id,
        queue_bytes: Bytes::new(queue),
    }
}

fn report() -> RadioReport {
    let ue = UeReport {
        rnti: Rnti(17_921),
        ip: Some("10.45.0.2".parse().unwrap()),
        prb_dl: Prb::new(73),
        quality: LinkQuality::Mcs {
            mcs: Mcs::new(22),
            table: McsTable::NrQam256,
            layers: 2,
            data_re_per_prb: 132,
        },
        cqi: Cqi::new(12),
        tbs_bytes: Bytes::new(9_480),
        served_bytes: Bytes::new(9_000),
        rlc_queue_bytes: Bytes::new(120_000),
        bearers: Vec::new(),
        harq_processes: 3,
        harq_retx: 1,
        lost_packets: None,
        seq: 41,
        timestamp: Instant::from_nanos(5_000_000_123),
    };
    RadioReport {
        cell: CellReport {
            id: CellId(1),
            n_prb: Prb::new(106),
            scs: Hertz::from_khz(30),
            slot_duration: Duration::from_micros(500),
            downlink_share: 0.74,
            slot: Slot::new(10_000),
            slots: 20,
            prb_background: Prb::new(4),
        },
        ues: vec![
            ue.clone(),
            UeReport {
                rnti: Rnti(17_922),
                ip: Some("2001:db8::7".parse().unwrap()),
                quality: LinkQuality::Measured {
                    full_band_millibytes: u64::MAX,
                },
                timestamp: Instant::from_nanos(4_999_999_999),
                bearers: vec![bearer(1, 119_000), bearer(32, 1_000)],
                ..ue.clone()
            },
            UeReport {
                rnti: Rnti(17_923),
                ip: None,
                ..ue
            },
        ],
    }
}

#[test]
fn both_forms_give_the_report_back() {
    let report = report();
    let json = encode_json(&report);
    let binary = encode_binary(&report);
    assert!(!json.contains(&b'\n'));
    assert!(
        binary.len() * 5 < json.len(),
        "{} {}",
        binary.len(),
        json.len()
    );
    assert_eq!(decode_json(&json).unwrap(), report);
    assert_eq!(decode_binary(&binary).unwrap(), report);
    assert_eq!(decode(&json).unwrap(), report);
    assert_eq!(decode(&binary).unwrap(), report);
    assert_eq!(
        decode(&[b" \n".as_slice(), &json, b"\r\n"].concat()).unwrap(),
        report
    );
}

#[test]
fn json_has_the_names_that_the_guide_lists() {
    let json = String::from_utf8(encode_json(&report())).unwrap();
    for name in [
        r#"{"cell":{"id":1,"n_prb":106,"scs":30000,"slot_duration":500000"#,
        r#""downlink_share":0.74,"slot":10000,"slots":20,"prb_background":4}"#,
        r#""ues":[{"rnti":17921,"ip":"10.45.0.2","prb_dl":73"#,
        r#""quality":{"kind":"mcs","mcs":22,"table":"nr-qam256","layers":2,"data_re_per_prb":132}"#,
        r#""timestamp":5000000123"#,
        r#""bearers":[{"id":1,"queue_bytes":119000},{"id":32,"queue_bytes":1000}]"#,
        r#""quality":{"kind":"measured","full_band_millibytes":18446744073709551615}"#,
    ] {
        assert!(json.contains(name), "{name} is not in {json}");
    }
}

#[test]
fn the_kind_of_a_link_quality_may_stand_anywhere_and_its_fields_are_needed() {
    let read = |text: &str| serde_json::from_str::<LinkQuality>(text);
    let mcs = LinkQuality::Mcs {
        mcs: Mcs::new(22),
        table: McsTable::NrQam256,
        layers: 2,
        data_re_per_prb: 132,
    };
    let text = r#"{"table":"nr-qam256","layers":2,"more":[1],"kind":"mcs","data_re_per_prb":132,"mcs":22}"#;
    assert_eq!(read(text).unwrap(), mcs);
    for (text, problem) in [
        (r#"{"mcs":1}"#, "missing field `kind`"),
        (
            r#"{"kind":"mcs","mcs":1,"layers":2,"data_re_per_prb":9}"#,
            "missing field `table`",
        ),
        (
            r#"{"kind":"measured","mcs":1}"#,
            "missing field `full_band_millibytes`",
        ),
        (r#"{"kind":"other"}"#, "unknown variant `other`"),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
}

/// What version 2 wrote of a cell with one UE: no bearers were in it.
#[test]
fn a_binary_report_of_the_version_before_is_read() {
    let mut report = report();
    report.ues.truncate(1);
    let mut binary = encode_binary(&report);
    // before: 120,000 in three bytes; after: two bytes of HARQ, one of losses, 41, and the time in five
    let count = binary.len() - 10;
    assert_eq!(binary[count - 3..=count], [0xc0, 0xa9, 0x07, 0]);
    binary.remove(count);
    binary[0] = 2;
    assert_eq!(decode(&binary).unwrap(), report);
    binary[0] = 1;
    assert_eq!(
        decode(&binary).unwrap_err().to_string(),
        "binary radio report of version 1: only 2 and 3 are known"
    );
}

#[test]
fn more_bearers_than_the_message_can_hold_are_refused() {
    let mut report = report();
    report.ues.truncate(1);
    let mut binary = encode_binary(&report);
    let count = binary.len() - 10;
    binary[count] = 0x7f;
    assert!(matches!(
        decode_binary(&binary),
        Err(DecodeError::Binary { field: "count of bearers", at, .. }) if at == count + 1
    ));
}

#[test]
fn a_binary_report_cut_short_or_longer_is_refused() {
    let binary = encode_binary(&report());
    for end in 0..binary.len() {
        assert!(decode_binary(&binary[..end]).is_err(), "cut at {end}");
    }
    let longer = [binary.as_slice(), &[0]].concat();
    assert!(matches!(
        decode_binary(&longer),
        Err(DecodeError::Binary { field: "end", .. })
    ));
}

#[test]
fn absurd_values_are_refused_and_named() {
    let json = String::from_utf8(encode_json(&report())).unwrap();
    let with = |from: &str, to: &str| {
        assert!(json.contains(from));
        decode_json(json.replacen(from, to, 1).as_bytes())
            .unwrap_err()
            .to_string()
    };
    assert!(with("\"n_prb\":106", "\"n_prb\":1000000000000000000").contains("column"));
    assert!(with("\"prb_dl\":73", "\"prb_dl\":107").contains("RNTI 17921"));
    assert!(with("\"downlink_share\":0.74", "\"downlink_share\":NaN").contains("column"));
    assert!(with("\"downlink_share\":0.74", "\"downlink_share\":1.5").contains("downlink_share"));
    assert!(with("\"slots\":20", "\"slots\":0").contains("slots"));
    assert!(with("\"rnti\":17921", "\"rnti\":-1").contains("column"));

    let mut nan = report();
    nan.cell.downlink_share = f64::NAN;
    assert!(decode_json(&encode_json(&nan)).is_err());
    assert_eq!(
        decode_binary(&encode_binary(&nan)),
        Err(DecodeError::Report(ReportError::Share))
    );
}

#[test]
fn length_version_and_count_are_limited() {
    assert_eq!(decode(&[]), Err(DecodeError::Empty));
    let long = vec![b' '; MAX_ENCODED_BYTES + 1];
    assert!(matches!(
        decode_json(&long),
        Err(DecodeError::TooLong { .. })
    ));
    assert_eq!(
        decode_binary(&[9, 1, 2]),
        Err(DecodeError::Version { version: 9 })
    );

    let mut none = report();
    none.ues.clear();
    let mut many = encode_binary(&none);
    assert_eq!(many.pop(), Some(0));
    many.extend([0xff, 0xff, 0xff, 0xff, 0x0f]);
    let error = decode_binary(&many).unwrap_err().to_string();
    assert!(error.contains("more than the message can hold"), "{error}");
}

fn quality() -> impl Strategy<Value = LinkQuality> {
    let table = prop::sample::select(vec![
        McsTable::LteQam64,
        McsTable::LteQam256,
        McsTable::NrQam64,
        McsTable::NrQam256,
        McsTable::NrLowSe,
    ]);
    prop_oneof![
        (any::<u8>(), table, any::<u8>(), any::<u16>()).prop_map(
            |(mcs, table, layers, data_re_per_prb)| LinkQuality::Mcs {
                mcs: Mcs::new(mcs),
                table,
                layers,
                data_re_per_prb,
            }
        ),
        any::<u64>().prop_map(|full_band_millibytes| LinkQuality::Measured {
            full_band_millibytes
        }),
    ]
}

prop_compose! {
    fn any_ue()(
        rnti in any::<u16>(),
        ip in prop::option::of(any::<IpAddr>()),
        prb in 0..=275_u16,
        quality in quality(),
        small in any::<[u8; 2]>(),
        amounts in any::<[u64; 5]>(),
        harq_retx in any::<u32>(),
        lost_packets in any::<Option<u32>>(),
        bearers in prop::collection::vec((any::<u8>(), any::<u64>()), 0..4),
    ) -> UeReport {
        UeReport {
            rnti: Rnti(rnti),
            ip,
            prb_dl: Prb::new(prb),
            quality,
            cqi: Cqi::new(small[0]),
            tbs_bytes: Bytes::new(amounts[0]),
            served_bytes: Bytes::new(amounts[1]),
            rlc_queue_bytes: Bytes::new(amounts[2]),
            bearers: bearers.into_iter().map(|(id, queue)| bearer(id, queue)).collect(),
            harq_processes: small[1],
            harq_retx,
            lost_packets,
            seq: amounts[3],
            timestamp: Instant::from_nanos(amounts[4]),
        }
    }
}

prop_compose! {
    fn any_report()(
        id in any::<u32>(),
        numbers in any::<[u64; 3]>(),
        slots in 1..=u32::MAX,
        share in 0.0..=1.0_f64,
        background in any::<u16>(),
        ues in prop::collection::vec(any_ue(), 0..20),
    ) -> RadioReport {
        RadioReport {
            cell: CellReport {
                id: CellId(id),
                n_prb: Prb::new(275),
                scs: Hertz::new(numbers[0]),
                slot_duration: Duration::from_nanos(numbers[1].max(1)),
                downlink_share: share,
                slot: Slot::new(numbers[2]),
                slots,
                prb_background: Prb::new(background),
            },
            ues,
        }
    }
}

proptest! {
    #[test]
    fn every_report_survives_both_forms(report in any_report()) {
        prop_assert_eq!(&decode_binary(&encode_binary(&report)).unwrap(), &report);
        let json = decode_json(&encode_json(&report)).unwrap();
        // JSON keeps the shortest digits that give the same f64 back
        prop_assert_eq!(&json, &report);
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = decode(&bytes);
        let _ = decode_json(&bytes);
        let mut binary = vec![BINARY_VERSION];
        binary.extend(bytes);
        if let Ok(report) = decode_binary(&binary) {
            prop_assert!(report.check().is_ok());
        }
    }

    #[test]
    fn a_damaged_report_is_read_or_refused(
        report in any_report(), at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let mut binary = encode_binary(&report);
        let at = at.index(binary.len());
        binary[at] = byte;
        if let Ok(report) = decode_binary(&binary) {
            prop_assert!(report.check().is_ok());
        }
    }
}
