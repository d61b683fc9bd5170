//! What stands below a command's options in its help, and values that several commands read.

use std::net::SocketAddr;
use tunnel::Remote;

/// The text with each paragraph as one line, which the terminal's width then breaks; lines that are indented
/// stay as they are.
pub fn epilogue(text: &str) -> String {
    let mut out = String::new();
    let mut is_open = false;
    for line in text.lines() {
        let is_prose = !line.is_empty() && !line.starts_with(' ');
        if !out.is_empty() {
            out.push(if is_open && is_prose { ' ' } else { '\n' });
        }
        out.push_str(line);
        is_open = is_prose && !line.ends_with(':');
    }
    out
}

/// An address with its port, as an option gives it.
///
/// # Errors
/// What was expected, with what a port alone could mean.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        let port = text.trim_start_matches(':');
        match port.parse::<u16>() {
            Ok(port) => format!(
                "a port without its address; expected one of 0.0.0.0:{port} (all IPv4 addresses), [::]:{port} (all \
                 addresses) and 127.0.0.1:{port} (this machine alone)"
            ),
            Err(_) => "expected an IP address and a port, for example 192.0.2.1:4433 or [2001:db8::1]:4433".to_owned(),
        }
    })
}

/// A server, as an option gives it.
///
/// # Errors
/// What was expected.
pub fn server(text: &str) -> Result<Remote, String> {
    text.parse()
}

#[cfg(test)]
mod tests {
    use super::epilogue;

    #[test]
    fn paragraphs_are_one_line_and_examples_stay() {
        let text = "A first line\nand its rest.\n\nExamples:\n  brimful a\n  brimful b\n\nExit codes: 0 done,\n2 not.";
        assert_eq!(
            epilogue(text),
            "A first line and its rest.\n\nExamples:\n  brimful a\n  brimful b\n\nExit codes: 0 done, 2 not."
        );
    }
}
