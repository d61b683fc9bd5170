//! `brimful-tunnel`: the tunnel's commands alone, for routers.

use clap::Parser;
use std::process::ExitCode;
use tunnel_command::TunnelCommand;

/// Carry all traffic over several paths at once: both ends of the multipath tunnel
#[derive(Debug, Parser)]
#[command(name = "brimful-tunnel", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: TunnelCommand,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match tunnel_command::run(&arguments.command, &[]) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let code = error.code();
            if code > 0 {
                eprintln!("error: {error}");
            }
            ExitCode::from(code)
        }
    }
}
