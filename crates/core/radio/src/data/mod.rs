//! Constant tables, made from the CSV files in `tests/data` by
//! `python3 crates/core/radio/tools/generate_data.py`.

pub(crate) mod bler_fitted;
pub(crate) mod bler_lte;
pub(crate) mod bler_oai_nr;
pub(crate) mod bler_sionna;
pub(crate) mod lte;
pub(crate) mod nr;
pub(crate) mod policies;
