/* CDBE's client and server in whole numbers: what cc::cdbe::{estimator, cadence, clock, server} decide,
 * function by function and to the bit. Equations, sources and readings are reported there; the constants
 * come from there too (src/cdbe/words.rs hands the configuration over, src/cdbe/differential.rs
 * compares all of it with the Rust).
 *
 * Microseconds, bytes, bytes a second, thousandths. States are 64-bit words only, so that they can be
 * compared as such. */
#pragma once

#include "cdbe_client.h"
#include "cdbe_server.h"
