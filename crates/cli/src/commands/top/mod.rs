//! `brimful top`: live values in a terminal.
//!
//! ```text
//!   server --dash::Client--> thread --Update--> Model --> view --> terminal, or text (--once)
//!                                               ^
//!                                             keys
//! ```

mod model;
mod view;

use crate::args::TopArgs;
use crate::commands::dash::{TOKEN_VARIABLE, failure};
use crate::failure::Failure;
use crate::output::{print, text_style};
use anyhow::{Context, anyhow};
use dash::{Client, ClientError, Event, Target, Token};
use model::{Key, Link, Model, Update};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{
    self, Event as Input, KeyCode, KeyEvent, KeyEventKind, KeyModifiers,
};
use std::io::{IsTerminal, stdin, stdout};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

/// Between drawings.
const SPACING: Duration = Duration::from_millis(100);
/// Between attempts to connect.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// What `--once` reads.
const FOR_ONCE: Duration = Duration::from_secs(1);
/// For the first values to come.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Messages between the connection and the screen; a screen that is slower is waited for.
const AHEAD: usize = 256;
/// For the loop to end by a signal; a terminal that is gone is read from without end.
const GRACE_PERIOD: Duration = Duration::from_secs(2);
/// Width of text that no terminal limits.
const WIDE: u16 = 110;
/// No flow's line is narrower.
const NARROW: u16 = 40;

/// Shows live values until a key ends it, or once.
pub(crate) fn run(arguments: &TopArgs) -> Result<(), Failure> {
    let has_terminal = stdin().is_terminal() && stdout().is_terminal();
    if !has_terminal && !arguments.once {
        let text = "top needs a terminal; for a script, --once prints one table";
        return Err(Failure::Input(anyhow!(text)));
    }
    let target = Target::parse(&arguments.address).map_err(Failure::input)?;
    let token = token(arguments.token_file.as_deref())?;
    let client = Client::connect(target, token).map_err(unreachable)?;
    match arguments.once {
        true => once(client),
        false => watch(client),
    }
}

/// The token in this file, or else in the variable.
fn token(file: Option<&Path>) -> Result<Option<String>, Failure> {
    // what is no token is refused here as the server refuses it
    if crate::commands::dash::token(file)?.is_none() {
        return Ok(None);
    }
    let text = match file {
        Some(path) => std::fs::read_to_string(path)
            .with_context(|| format!("{}: cannot be read", path.display()))
            .map_err(Failure::Input)?,
        None => std::env::var(TOKEN_VARIABLE).unwrap_or_default(),
    };
    let text = text.trim_end_matches(['\r', '\n']);
    Token::new(text, "the token").map_err(failure)?;
    Ok(Some(text.to_owned()))
}

/// Why nothing is watched.
fn unreachable(error: ClientError) -> Failure {
    let hint = match error {
        ClientError::Url { .. } => return Failure::Input(anyhow!(error)),
        ClientError::Refused { .. } => {
            "; live values are those of `brimful run --dash` and of `brimful dash` with a scenario file"
        }
        _ => {
            "; is `brimful run --dash`, `brimful dash` or a daemon with [metrics] under way there?"
        }
    };
    Failure::Run(anyhow!("{error}{hint}"))
}

/// One table of what the first second brings.
fn once(mut client: Client) -> Result<(), Failure> {
    let mut model = Model::default();
    let mut until = Instant::now() + TIMEOUT;
    let mut has_begun = false;
    while Instant::now() < until {
        let left = until.saturating_duration_since(Instant::now());
        let event = match client.next(left) {
            Ok(Some(event)) => event,
            Ok(None) => continue,
            // a run that has ended closes it
            Err(_) if has_begun => break,
            Err(error) => return Err(unreachable(error)),
        };
        let (is_frame, is_end) = (
            matches!(event, Event::Frame { .. }),
            matches!(event, Event::End(_)),
        );
        model.take(Update::Event(event));
        if is_end {
            break;
        }
        if is_frame && !has_begun {
            has_begun = true;
            until = Instant::now() + FOR_ONCE;
        }
    }
    if model.shown().t.is_none() {
        let text = "no values within 10 s: nothing is measured there";
        return Err(Failure::Run(anyhow!(text)));
    }
    let width = text_style().width.unwrap_or(WIDE).clamp(NARROW, 1_000);
    print(&view::text(&model, width))
}

/// Draws until a key or a signal ends it. The terminal is restored however it ends.
fn watch(client: Client) -> Result<(), Failure> {
    let (sender, updates) = sync_channel(AHEAD);
    std::thread::spawn(move || read(client, &sender));
    let ends = Arc::new(AtomicBool::new(false));
    let is_over = Arc::clone(&ends);
    let end = move || {
        is_over.store(true, Ordering::Release);
        std::thread::sleep(GRACE_PERIOD);
        std::process::exit(1);
    };
    ctrlc::set_handler(end)
        .context("no handler for signals")
        .map_err(Failure::Run)?;
    // a panic restores it too, by the hook that this sets
    let terminal = ratatui::try_init()
        .context("the terminal cannot be used")
        .map_err(Failure::Run);
    let ended = terminal.and_then(|mut terminal| show(&mut terminal, &updates, &ends));
    let restored = ratatui::try_restore().context("the terminal cannot be restored");
    ended.and(restored.map_err(Failure::Run))
}

fn show(
    terminal: &mut DefaultTerminal,
    updates: &Receiver<Update>,
    ends: &AtomicBool,
) -> Result<(), Failure> {
    let failed = |error| Failure::Run(anyhow!("the terminal is gone: {error}"));
    let mut model = Model::default();
    while !ends.load(Ordering::Acquire) {
        // no more at a time than can wait, so that keys are read
        for _ in 0..AHEAD {
            match updates.try_recv() {
                Ok(one) => model.take(one),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    return Err(Failure::Run(anyhow!("the connection is no longer read")));
                }
            }
        }
        let mut flows = 0;
        terminal
            .draw(|frame| flows = view::draw(&model, frame.area(), frame.buffer_mut()))
            .map_err(failed)?;
        model.settle(flows);
        let until = Instant::now() + SPACING;
        while event::poll(until.saturating_duration_since(Instant::now())).map_err(failed)? {
            let Input::Key(key) = event::read().map_err(failed)? else {
                // another size: draw at once
                break;
            };
            let goes_on = pressed(key, flows).is_none_or(|key| match key {
                Pressed::End => false,
                Pressed::Key(key) => model.press(key),
            });
            if !goes_on {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// What a key requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pressed {
    /// Ctrl-C, whatever is being typed.
    End,
    Key(Key),
}

fn pressed(key: KeyEvent, flows: usize) -> Option<Pressed> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return (key.code == KeyCode::Char('c')).then_some(Pressed::End);
    }
    let page = isize::try_from(flows).unwrap_or(1).max(1);
    Some(Pressed::Key(match key.code {
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Esc => Key::Escape,
        KeyCode::Enter => Key::Enter,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Up => Key::Scroll(-1),
        KeyCode::Down => Key::Scroll(1),
        KeyCode::PageUp => Key::Scroll(-page),
        KeyCode::PageDown => Key::Scroll(page),
        KeyCode::Home => Key::First,
        KeyCode::End => Key::Last,
        _ => return None,
    }))
}

/// Reads, and connects again, until the receiver is gone.
fn read(mut client: Client, sender: &SyncSender<Update>) {
    loop {
        let updates = match client.next(RETRY_INTERVAL) {
            Ok(None) => continue,
            Ok(Some(event)) => Update::Event(event),
            Err(error) => {
                if !reconnect(&mut client, error, sender) {
                    return;
                }
                Update::Link(Link::Up)
            }
        };
        if sender.send(updates).is_err() {
            return;
        }
    }
}

/// Tries until there is a connection again; false once the receiver is gone.
fn reconnect(client: &mut Client, error: ClientError, sender: &SyncSender<Update>) -> bool {
    let mut error = error;
    loop {
        let lost = Link::Lost(error.to_string());
        if sender.send(Update::Link(lost)).is_err() {
            return false;
        }
        std::thread::sleep(RETRY_INTERVAL);
        match client.reconnect() {
            Ok(()) => return true,
            Err(again) => error = again,
        }
    }
}
