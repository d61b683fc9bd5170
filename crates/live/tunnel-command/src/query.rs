//! Questions to a tunnel that runs, and changes of it.

use crate::named;
use crate::output::{CommandError, print};
use crate::status::status_text;
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use tunnel::TunnelError;

/// The admin socket of the shipped configurations.
const SOCKET: &str = "/run/brimful/tunnel.sock";

/// Which daemon is queried.
#[derive(Debug, Args)]
pub struct SocketArgs {
    /// The tunnel's admin socket
    #[arg(long, value_name = "PATH", default_value = SOCKET)]
    socket: PathBuf,
    /// Print JSON on stdout instead of text
    #[arg(long)]
    json: bool,
}

/// Which daemon is queried, also by its name.
#[derive(Debug, Args)]
pub struct NamedArgs {
    /// As with `brimful tunnel up`
    #[arg(value_name = "NAME", conflicts_with = "socket")]
    name: Option<String>,
    /// The tunnel's admin socket [default: /run/brimful/tunnel.sock, else those of tunnels by name]
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Print JSON on stdout instead of text
    #[arg(long)]
    json: bool,
}

impl NamedArgs {
    /// One, or of several tunnels that run by their names all.
    fn sockets(&self) -> Result<Vec<PathBuf>, CommandError> {
        if let Some(name) = &self.name {
            return Ok(vec![named::socket_of(name)?]);
        }
        if let Some(socket) = &self.socket {
            return Ok(vec![socket.clone()]);
        }
        let default = PathBuf::from(SOCKET);
        if default.exists() {
            return Ok(vec![default]);
        }
        let all = named::sockets();
        Ok(if all.is_empty() { vec![default] } else { all })
    }
}

/// Changes of paths.
#[derive(Debug, Subcommand)]
pub enum PathCommand {
    /// Open one more path
    Add {
        /// As with `brimful tunnel client --path`
        #[arg(value_name = "PATH")]
        path: String,
        /// Which daemon
        #[command(flatten)]
        ask: SocketArgs,
    },
    /// Close a path
    Remove {
        /// Its name
        #[arg(value_name = "NAME")]
        name: String,
        /// Which daemon
        #[command(flatten)]
        ask: SocketArgs,
    },
    /// Give a path another priority
    Priority {
        /// Its name
        #[arg(value_name = "NAME")]
        name: String,
        /// never, standby, secondary, primary, or 0 to 15
        #[arg(value_name = "PRIORITY")]
        priority: String,
        /// Which daemon
        #[command(flatten)]
        ask: SocketArgs,
    },
}

/// How tunnels stand.
pub(crate) fn status(ask: &NamedArgs) -> Result<(), CommandError> {
    for socket in ask.sockets()? {
        let status = request(&socket, &json!({ "command": "status" }))?;
        match ask.json {
            true => print(&format!("{status}\n"))?,
            false => print(&status_text(&status))?,
        }
    }
    Ok(())
}

/// Has one apply its changed file.
pub(crate) fn reload(ask: &NamedArgs) -> Result<(), CommandError> {
    for socket in ask.sockets()? {
        let done = tunnel::request(&socket, &json!({ "command": "reload" }));
        // what it refuses is the file
        let done = done.map_err(|error| match error {
            TunnelError::Refused { .. } => CommandError::input(error),
            error => CommandError::run(error),
        })?;
        print_done(&done, ask.json)?;
    }
    Ok(())
}

/// Changes paths.
pub(crate) fn path(command: &PathCommand) -> Result<(), CommandError> {
    let (ask, change) = match command {
        PathCommand::Add { path, ask } => (ask, json!({ "command": "path-add", "path": path })),
        PathCommand::Remove { name, ask } => {
            (ask, json!({ "command": "path-remove", "name": name }))
        }
        PathCommand::Priority {
            name,
            priority,
            ask,
        } => (
            ask,
            json!({ "command": "path-priority", "name": name, "priority": priority }),
        ),
    };
    print_done(&request(&ask.socket, &change)?, ask.json)
}

/// Sends a request to the tunnel at this socket.
pub(crate) fn request(socket: &Path, request: &Value) -> Result<Value, CommandError> {
    tunnel::request(socket, request).map_err(CommandError::run)
}

fn print_done(done: &Value, is_json: bool) -> Result<(), CommandError> {
    match is_json {
        true => print(&format!("{done}\n")),
        false => print(&format!("{}\n", done["done"].as_str().unwrap_or("done"))),
    }
}
