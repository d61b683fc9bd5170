//! Prints `bpf/meld_constants.h`.

fn main() {
    print!("{}", kernel_cc::meld::constants_header());
}
