//! NR BLER curves of Sionna: first transmission, AWGN, 1 layer.
//!
//! Written by `python3 crates/core/radio/tools/generate_data.py`; do not edit.

use crate::bler::Published;

/// Sionna_sys_PDSCH, MCS table 5.1.3.1-1.
pub(crate) static SIONNA_QAM64: [Published; 26] = [
    Published {
        mcs: 3,
        probit: None,
        snr_db: &[-5.0, -3.2143, -1.4286],
        bler: &[1.0, 0.935, 0.0],
    },
    Published {
        mcs: 4,
        probit: None,
        snr_db: &[-3.2143, -1.4286, 0.3571],
        bler: &[1.0, 0.004667, 0.0],
    },
    Published {
        mcs: 5,
        probit: None,
        snr_db: &[-1.4286, 0.3571],
        bler: &[1.0, 0.0],
    },
    Published {
        mcs: 6,
        probit: None,
        snr_db: &[-1.4286, 0.3571, 2.1429],
        bler: &[1.0, 0.209167, 0.0],
    },
    Published {
        mcs: 7,
        probit: None,
        snr_db: &[0.3571, 2.1429],
        bler: &[1.0, 0.0],
    },
    Published {
        mcs: 8,
        probit: None,
        snr_db: &[0.3571, 2.1429, 3.9286],
        bler: &[1.0, 0.385714, 0.0],
    },
    Published {
        mcs: 9,
        probit: None,
        snr_db: &[2.1429, 3.9286],
        bler: &[1.0, 0.0],
    },
    Published {
        mcs: 10,
        probit: None,
        snr_db: &[2.1429, 3.9286, 5.7143],
        bler: &[1.0, 0.002667, 0.0],
    },
    Published {
        mcs: 11,
        probit: None,
        snr_db: &[2.1429, 3.9286, 5.7143],
        bler: &[1.0, 0.511, 0.0],
    },
    Published {
        mcs: 12,
        probit: None,
        snr_db: &[3.9286, 5.7143, 7.5],
        bler: &[1.0, 0.000667, 0.0],
    },
    Published {
        mcs: 13,
        probit: None,
        snr_db: &[3.9286, 5.7143, 7.5],
        bler: &[1.0, 0.586667, 0.0],
    },
    Published {
        mcs: 14,
        probit: None,
        snr_db: &[5.7143, 7.5, 9.2857],
        bler: &[1.0, 0.000333, 0.0],
    },
    Published {
        mcs: 15,
        probit: None,
        snr_db: &[5.7143, 7.5, 9.2857],
        bler: &[1.0, 0.866667, 0.0],
    },
    Published {
        mcs: 16,
        probit: None,
        snr_db: &[7.5, 9.2857],
        bler: &[1.0, 0.0],
    },
    Published {
        mcs: 17,
        probit: None,
        snr_db: &[7.5, 9.2857, 11.0714],
        bler: &[1.0, 0.035, 0.0],
    },
    Published {
        mcs: 18,
        probit: None,
        snr_db: &[7.5, 9.2857, 11.0714, 12.8571],
        bler: &[1.0, 0.71, 0.000333, 0.0],
    },
    Published {
        mcs: 19,
        probit: None,
        snr_db: &[9.2857, 11.0714, 12.8571],
        bler: &[1.0, 0.004, 0.0],
    },
    Published {
        mcs: 20,
        probit: None,
        snr_db: &[9.2857, 11.0714, 12.8571, 14.6429],
        bler: &[1.0, 0.925, 0.000333, 0.0],
    },
    Published {
        mcs: 21,
        probit: None,
        snr_db: &[11.0714, 12.8571, 14.6429],
        bler: &[1.0, 0.029333, 0.0],
    },
    Published {
        mcs: 22,
        probit: None,
        snr_db: &[11.0714, 12.8571, 14.6429, 16.4286],
        bler: &[1.0, 0.981667, 0.000333, 0.0],
    },
    Published {
        mcs: 23,
        probit: None,
        snr_db: &[12.8571, 14.6429, 16.4286],
        bler: &[1.0, 0.057667, 0.0],
    },
    Published {
        mcs: 24,
        probit: None,
        snr_db: &[12.8571, 14.6429, 16.4286],
        bler: &[1.0, 0.986667, 0.0],
    },
    Published {
        mcs: 25,
        probit: None,
        snr_db: &[14.6429, 16.4286, 18.2143],
        bler: &[1.0, 0.147667, 0.0],
    },
    Published {
        mcs: 26,
        probit: None,
        snr_db: &[14.6429, 16.4286, 18.2143, 20.0],
        bler: &[1.0, 0.998333, 0.001, 0.0],
    },
    Published {
        mcs: 27,
        probit: None,
        snr_db: &[16.4286, 18.2143, 20.0],
        bler: &[1.0, 0.257, 0.0],
    },
    Published {
        mcs: 28,
        probit: None,
        snr_db: &[18.2143, 20.0],
        bler: &[1.0, 0.004333],
    },
];

/// Sionna_sys_PDSCH, MCS table 5.1.3.1-2.
pub(crate) static SIONNA_QAM256: [Published; 26] = [
    Published {
        mcs: 2,
        probit: None,
        snr_db: &[-3.4211, -1.8421, -0.2632],
        bler: &[1.0, 0.39, 0.0],
    },
    Published {
        mcs: 3,
        probit: None,
        snr_db: &[-1.8421, -0.2632, 1.3158],
        bler: &[1.0, 0.998333, 0.0],
    },
    Published {
        mcs: 4,
        probit: None,
        snr_db: &[1.3158, 2.8947],
        bler: &[1.0, 0.0],
    },
    Published {
        mcs: 5,
        probit: None,
        snr_db: &[2.8947, 4.4737, 6.0526],
        bler: &[1.0, 0.008333, 0.0],
    },
    Published {
        mcs: 6,
        probit: None,
        snr_db: &[2.8947, 4.4737, 6.0526],
        bler: &[1.0, 0.963333, 0.0],
    },
    Published {
        mcs: 7,
        probit: None,
        snr_db: &[4.4737, 6.0526, 7.6316],
        bler: &[1.0, 0.1, 0.0],
    },
    Published {
        mcs: 8,
        probit: None,
        snr_db: &[6.0526, 7.6316],
        bler: &[1.0, 0.0],
    },
    Published {
        mcs: 9,
        probit: None,
        snr_db: &[6.0526, 7.6316, 9.2105],
        bler: &[1.0, 0.685, 0.0],
    },
    Published {
        mcs: 10,
        probit: None,
        snr_db: &[7.6316, 9.2105, 10.7895],
        bler: &[1.0, 0.000333, 0.0],
    },
    Published {
        mcs: 11,
        probit: None,
        snr_db: &[7.6316, 9.2105, 10.7895],
        bler: &[1.0, 0.812857, 0.0],
    },
    Published {
        mcs: 12,
        probit: None,
        snr_db: &[9.2105, 10.7895, 12.3684],
        bler: &[1.0, 0.066, 0.0],
    },
    Published {
        mcs: 13,
        probit: None,
        snr_db: &[9.2105, 10.7895, 12.3684],
        bler: &[1.0, 0.998333, 0.0],
    },
    Published {
        mcs: 14,
        probit: None,
        snr_db: &[10.7895, 12.3684, 13.9474, 15.5263],
        bler: &[1.0, 0.471818, 0.000333, 0.0],
    },
    Published {
        mcs: 15,
        probit: None,
        snr_db: &[12.3684, 13.9474, 15.5263],
        bler: &[1.0, 0.012667, 0.0],
    },
    Published {
        mcs: 16,
        probit: None,
        snr_db: &[12.3684, 13.9474, 15.5263, 17.1053],
        bler: &[1.0, 0.86, 0.000333, 0.0],
    },
    Published {
        mcs: 17,
        probit: None,
        snr_db: &[13.9474, 15.5263, 17.1053],
        bler: &[1.0, 0.102333, 0.0],
    },
    Published {
        mcs: 18,
        probit: None,
        snr_db: &[13.9474, 15.5263, 17.1053, 18.6842],
        bler: &[1.0, 0.99, 0.000667, 0.0],
    },
    Published {
        mcs: 19,
        probit: None,
        snr_db: &[15.5263, 17.1053, 18.6842],
        bler: &[1.0, 0.6525, 0.0],
    },
    Published {
        mcs: 20,
        probit: None,
        snr_db: &[17.1053, 18.6842, 20.2632],
        bler: &[1.0, 0.075333, 0.0],
    },
    Published {
        mcs: 21,
        probit: None,
        snr_db: &[17.1053, 18.6842, 20.2632],
        bler: &[1.0, 0.479091, 0.0],
    },
    Published {
        mcs: 22,
        probit: None,
        snr_db: &[18.6842, 20.2632, 21.8421],
        bler: &[1.0, 0.038, 0.0],
    },
    Published {
        mcs: 23,
        probit: None,
        snr_db: &[18.6842, 20.2632, 21.8421, 23.4211],
        bler: &[1.0, 0.945, 0.001333, 0.0],
    },
    Published {
        mcs: 24,
        probit: None,
        snr_db: &[20.2632, 21.8421, 23.4211, 25.0],
        bler: &[1.0, 0.348, 0.000333, 0.0],
    },
    Published {
        mcs: 25,
        probit: None,
        snr_db: &[21.8421, 23.4211, 25.0],
        bler: &[1.0, 0.037, 0.0],
    },
    Published {
        mcs: 26,
        probit: None,
        snr_db: &[21.8421, 23.4211, 25.0],
        bler: &[1.0, 0.801429, 0.000667],
    },
    Published {
        mcs: 27,
        probit: None,
        snr_db: &[23.4211, 25.0],
        bler: &[1.0, 0.150333],
    },
];
