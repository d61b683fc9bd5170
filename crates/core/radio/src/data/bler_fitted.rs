//! NR BLER curves of 5G-LENA and NeoRadium: first transmission, AWGN, 1 layer.
//!
//! Written by `python3 crates/core/radio/tools/generate_data.py`; do not edit.

use crate::bler::Published;

/// 5G-LENA_EESM, MCS table 5.1.3.1-1.
pub(crate) static LENA_QAM64: [Published; 29] = [
    Published {
        mcs: 0,
        probit: Some((-1.225, 0.178)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 1,
        probit: Some((-0.757, 0.153)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 2,
        probit: Some((0.024, 0.165)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 3,
        probit: Some((0.992, 0.165)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 4,
        probit: Some((1.763, 0.151)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 5,
        probit: Some((2.531, 0.149)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 6,
        probit: Some((3.275, 0.148)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 7,
        probit: Some((3.904, 0.144)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 8,
        probit: Some((4.648, 0.144)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 9,
        probit: Some((5.421, 0.148)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 10,
        probit: Some((6.13, 0.121)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 11,
        probit: Some((6.825, 0.119)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 12,
        probit: Some((7.563, 0.121)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 13,
        probit: Some((8.335, 0.131)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 14,
        probit: Some((9.177, 0.129)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 15,
        probit: Some((10.088, 0.137)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 16,
        probit: Some((10.649, 0.137)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 17,
        probit: Some((11.428, 0.137)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 18,
        probit: Some((12.032, 0.143)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 19,
        probit: Some((12.97, 0.146)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 20,
        probit: Some((13.819, 0.151)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 21,
        probit: Some((14.675, 0.136)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 22,
        probit: Some((15.591, 0.132)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 23,
        probit: Some((16.456, 0.149)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 24,
        probit: Some((17.526, 0.156)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 25,
        probit: None,
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 26,
        probit: Some((19.455, 0.17)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 27,
        probit: Some((20.419, 0.179)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 28,
        probit: Some((21.899, 0.578)),
        snr_db: &[],
        bler: &[],
    },
];

/// 5G-LENA_EESM, MCS table 5.1.3.1-2.
pub(crate) static LENA_QAM256: [Published; 28] = [
    Published {
        mcs: 0,
        probit: Some((-1.225, 0.178)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 1,
        probit: Some((0.024, 0.165)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 2,
        probit: Some((1.763, 0.151)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 3,
        probit: Some((3.275, 0.148)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 4,
        probit: Some((4.648, 0.144)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 5,
        probit: Some((6.825, 0.119)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 6,
        probit: Some((7.563, 0.121)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 7,
        probit: Some((8.335, 0.131)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 8,
        probit: Some((9.177, 0.129)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 9,
        probit: Some((10.088, 0.137)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 10,
        probit: Some((10.649, 0.137)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 11,
        probit: Some((12.032, 0.143)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 12,
        probit: Some((12.97, 0.146)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 13,
        probit: Some((13.819, 0.151)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 14,
        probit: Some((14.675, 0.136)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 15,
        probit: Some((15.591, 0.132)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 16,
        probit: Some((16.456, 0.149)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 17,
        probit: Some((17.526, 0.156)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 18,
        probit: None,
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 19,
        probit: Some((19.455, 0.17)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 20,
        probit: Some((20.606, 0.17)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 21,
        probit: Some((21.236, 0.176)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 22,
        probit: Some((22.22, 0.163)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 23,
        probit: Some((23.059, 0.195)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 24,
        probit: Some((24.122, 0.175)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 25,
        probit: Some((25.039, 0.191)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 26,
        probit: Some((26.196, 0.204)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 27,
        probit: Some((26.787, 0.246)),
        snr_db: &[],
        bler: &[],
    },
];

/// NeoRadium_AWGN, MCS table 5.1.3.1-1.
pub(crate) static NEORADIUM_QAM64: [Published; 14] = [
    Published {
        mcs: 0,
        probit: Some((-4.656, 0.172)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 2,
        probit: Some((-2.613, 0.169)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 4,
        probit: Some((-0.581, 0.141)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 6,
        probit: Some((1.501, 0.141)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 8,
        probit: Some((3.187, 0.122)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 11,
        probit: Some((5.705, 0.151)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 13,
        probit: Some((7.285, 0.137)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 15,
        probit: Some((9.233, 0.132)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 18,
        probit: Some((11.223, 0.182)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 20,
        probit: Some((12.916, 0.168)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 22,
        probit: Some((14.617, 0.142)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 24,
        probit: Some((16.378, 0.143)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 26,
        probit: Some((18.06, 0.111)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 28,
        probit: Some((19.496, 0.112)),
        snr_db: &[],
        bler: &[],
    },
];

/// NeoRadium_AWGN, MCS table 5.1.3.1-2.
pub(crate) static NEORADIUM_QAM256: [Published; 17] = [
    Published {
        mcs: 0,
        probit: Some((-4.656, 0.172)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 1,
        probit: Some((-2.613, 0.169)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 2,
        probit: Some((-0.581, 0.141)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 3,
        probit: Some((1.501, 0.141)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 4,
        probit: Some((3.187, 0.122)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 5,
        probit: Some((5.705, 0.151)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 7,
        probit: Some((7.285, 0.137)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 9,
        probit: Some((9.233, 0.132)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 11,
        probit: Some((11.223, 0.182)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 13,
        probit: Some((12.916, 0.168)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 15,
        probit: Some((14.617, 0.142)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 17,
        probit: Some((16.378, 0.143)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 19,
        probit: Some((18.06, 0.111)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 21,
        probit: Some((20.174, 0.146)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 23,
        probit: Some((21.855, 0.143)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 25,
        probit: Some((23.494, 0.14)),
        snr_db: &[],
        bler: &[],
    },
    Published {
        mcs: 27,
        probit: Some((24.661, 0.12)),
        snr_db: &[],
        bler: &[],
    },
];
