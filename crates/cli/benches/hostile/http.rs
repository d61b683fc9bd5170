//! Requests over HTTP/1.1, each over a connection of its own.

use std::io::{Error, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Status and body of an answer, within this time. Runs in the namespace of its thread.
pub fn request(
    address: SocketAddr,
    head: &str,
    body: &str,
    limit: Duration,
) -> std::io::Result<(u16, String)> {
    let mut stream = TcpStream::connect_timeout(&address, limit)?;
    stream.set_read_timeout(Some(limit))?;
    stream.set_write_timeout(Some(limit))?;
    let text = format!("{head}Host: x\r\nConnection: close\r\n\r\n{body}");
    stream.write_all(text.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .ok_or(ErrorKind::InvalidData)?;
    let status = head.split(' ').nth(1).and_then(|s| s.parse().ok());
    let status = status.ok_or_else(|| Error::from(ErrorKind::InvalidData))?;
    Ok((status, body.to_owned()))
}

pub fn get(address: SocketAddr, path: &str, limit: Duration) -> std::io::Result<(u16, String)> {
    request(address, &format!("GET {path} HTTP/1.1\r\n"), "", limit)
}

/// The same with a bearer token.
pub fn get_with(
    address: SocketAddr,
    path: &str,
    token: &str,
    limit: Duration,
) -> std::io::Result<(u16, String)> {
    let head = format!("GET {path} HTTP/1.1\r\nAuthorization: Bearer {token}\r\n");
    request(address, &head, "", limit)
}

/// A token of the radio information service, for this client.
pub fn token(address: SocketAddr, client: &str, secret: &str) -> std::io::Result<String> {
    let form = format!("grant_type=client_credentials&client_id={client}&client_secret={secret}");
    let head = format!(
        "POST /oauth2/token HTTP/1.1\r\nContent-Length: {}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\n",
        form.len()
    );
    let (_, body) = request(address, &head, &form, Duration::from_secs(10))?;
    let body: serde_json::Value = serde_json::from_str(&body)?;
    let token = body["access_token"].as_str().map(str::to_owned);
    token.ok_or_else(|| Error::other(format!("no token: {body}")))
}
