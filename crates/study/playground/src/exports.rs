//! What a page calls. There is one instance for each worker: it puts bytes where [`input`] says, calls [`add_file`] or
//! [`run`], and reads what [`output`] and [`output_length`] say.
#![allow(
    unsafe_code,
    reason = "a name that is exported might be another's, which the compiler cannot rule out"
)]

use crate::{Files, Request};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

/// What has come and what is to be fetched.
struct State {
    input: Vec<u8>,
    output: Vec<u8>,
    files: Files,
}

static STATE: Mutex<State> = Mutex::new(State {
    input: Vec::new(),
    output: Vec::new(),
    files: Files::new(),
});
/// What a panic says, which no caller can be passed.
static PANIC: Mutex<String> = Mutex::new(String::new());
static HOOK: Once = Once::new();

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Room for so many bytes, which the next call takes.
#[unsafe(no_mangle)]
pub extern "C" fn input(length: usize) -> *mut u8 {
    HOOK.call_once(|| {
        std::panic::set_hook(Box::new(|panic| *lock(&PANIC) = panic.to_string()));
    });
    let mut state = lock(&STATE);
    state.input = vec![0; length];
    state.input.as_mut_ptr()
}

/// Forgets all files.
#[unsafe(no_mangle)]
pub extern "C" fn clear_files() {
    lock(&STATE).files.clear();
}

/// Takes a file: its path, a zero, its content.
#[unsafe(no_mangle)]
pub extern "C" fn add_file() {
    let mut state = lock(&STATE);
    let mut bytes = core::mem::take(&mut state.input);
    if let Some(end) = bytes.iter().position(|&byte| byte == 0) {
        let content = bytes.split_off(end + 1);
        let path = String::from_utf8_lossy(&bytes[..end]).into_owned();
        state.files.insert(PathBuf::from(path), content);
    }
}

/// Runs the request that has come. True if the output is its result, false if it is what was wrong.
#[unsafe(no_mangle)]
pub extern "C" fn run() -> bool {
    let mut state = lock(&STATE);
    let request = core::mem::take(&mut state.input);
    let result =
        Request::from_json(&request).and_then(|request| crate::run(&request, &state.files));
    let is_result = result.is_ok();
    state.output = result.unwrap_or_else(|message| message).into_bytes();
    is_result
}

/// Where the output is.
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    lock(&STATE).output.as_ptr()
}

/// How long it is.
#[unsafe(no_mangle)]
pub extern "C" fn output_length() -> usize {
    lock(&STATE).output.len()
}

/// Where the message of the panic is that has ended a call.
#[unsafe(no_mangle)]
pub extern "C" fn panic_message() -> *const u8 {
    lock(&PANIC).as_ptr()
}

/// How long it is; zero if there was none.
#[unsafe(no_mangle)]
pub extern "C" fn panic_length() -> usize {
    lock(&PANIC).len()
}
