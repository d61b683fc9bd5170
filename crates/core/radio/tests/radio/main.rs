//! Tables, curves, link adaptation and traces through the public interface.

mod adaptation;
mod bler;
mod csv;
mod moving;
mod recorded_traces;
mod shipped_traces;
mod tables;
mod transport_blocks;
