//! `brimful dash`: the dashboard over result folders.

use crate::failure::Failure;
use crate::output::{complain, print};
use anyhow::{Context, anyhow};
use clap::{Args, ValueEnum};
use dash::{Access, Dash, DashError, Library, Server, Token};
use std::io::{IsTerminal, stdout};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;

/// Help below the options.
pub(crate) const DASH_HELP: &str = "\
PATH is a result folder, or a folder of result folders as `results`. The page's address is printed;
Ctrl-C ends it. From this machine no token is needed. Others need one: the content of --token-file,
or of the variable BRIMFUL_DASH_TOKEN, 16 to 1024 characters; there is no encryption, so put a proxy
with TLS before it. docs/operations/dashboard.md says more.

Examples:
  brimful dash results
  brimful dash results/wire --listen 127.0.0.1:0 --open no
  brimful dash results --listen 0.0.0.0:8080 --token-file dash.token --host lab7.example

Exit codes: 0 ended by Ctrl-C, 2 bad usage or input (nothing was served), 1 the address is taken.";

/// The variable with the token.
const TOKEN_VARIABLE: &str = "BRIMFUL_DASH_TOKEN";

/// Options of `dash`.
#[derive(Debug, Args)]
pub(crate) struct DashArgs {
    /// Result folder, or folder of result folders
    path: PathBuf,
    #[command(flatten)]
    serving: ServingArgs,
    /// Whether to open the page in the browser [default: yes on a desktop's terminal]
    #[arg(long, value_enum)]
    open: Option<Open>,
}

/// Where a dashboard is served, and to whom.
#[derive(Debug, Args)]
pub(crate) struct ServingArgs {
    /// Address and port of the page; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    /// File with the token for all but this machine, which only its owner may read
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Name by which browsers reach this machine, beside localhost and addresses
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
}

/// Whether to open a browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Open {
    /// The desktop's
    Yes,
    /// None
    No,
}

/// Serves until it is interrupted.
pub(crate) fn run(arguments: &DashArgs) -> Result<(), Failure> {
    let library = Library::open(&arguments.path).map_err(failure)?;
    let access = arguments.serving.access()?;
    let server = Server::bind(arguments.serving.listen, Dash::results(library, access));
    let server = server.map_err(failure)?;
    let url = server.url();
    server.spawn().map_err(failure)?;
    let (sender, interrupted) = channel();
    ctrlc::set_handler(move || drop(sender.send(())))
        .context("Ctrl-C cannot be heard")
        .map_err(Failure::Run)?;
    print(&format!("{url}\n"))?;
    if arguments
        .open
        .map_or_else(has_desktop, |open| open == Open::Yes)
    {
        open(&url);
    }
    // nothing else ends it
    let _ = interrupted.recv();
    Ok(())
}

impl ServingArgs {
    /// Who may see it.
    fn access(&self) -> Result<Access, Failure> {
        let token = match (&self.token_file, std::env::var(TOKEN_VARIABLE)) {
            (Some(path), _) => Some(Token::read(path).map_err(failure)?),
            (None, Ok(text)) => Some(Token::new(&text, TOKEN_VARIABLE).map_err(failure)?),
            (None, Err(_)) => None,
        };
        Ok(Access::new(token, self.host.clone()))
    }
}

fn failure(error: DashError) -> Failure {
    match error.is_input() {
        true => Failure::Input(anyhow!(error)),
        false => Failure::Run(anyhow!(error)),
    }
}

/// Whether somebody sits before this.
fn has_desktop() -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    stdout().is_terminal() && (is_set("DISPLAY") || is_set("WAYLAND_DISPLAY"))
}

/// Opens a browser; if there is none, the address was printed all the same.
fn open(url: &str) {
    let opened = Command::new("xdg-open")
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if let Err(error) = opened {
        complain(&format!("note: no browser was opened: {error}"));
    }
}
