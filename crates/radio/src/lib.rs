//! radio
