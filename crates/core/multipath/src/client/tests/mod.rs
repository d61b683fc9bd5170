mod bench;
mod properties;
mod times;
