/* Made from rapid by `cargo run -p kernel-cc --example follow_constants`; a test compares. */
#pragma once

/* rapid::MIN_SEGMENTS */
#define MIN_CWND 1ULL
