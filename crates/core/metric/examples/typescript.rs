//! Prints `web/src/base/metrics.ts`.

#[allow(clippy::print_stdout, reason = "that is what it is for")]
fn main() {
    print!("{}", metric::typescript());
}
