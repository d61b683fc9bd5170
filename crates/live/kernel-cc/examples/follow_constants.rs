//! Prints `bpf/follow_constants.h`.

fn main() {
    print!("{}", kernel_cc::follow::constants_header());
}
