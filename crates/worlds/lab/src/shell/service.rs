//! What serves the programs of a shell: HTTP at port 80, a sink for TCP at port 9 (RFC 863), and
//! iperf3 where it is installed. All of it in the servers' namespace.

use super::content::{Body, Content, text};
use super::responsiveness;
use crate::Error;
use crate::child;
use crate::cleanup::Folder;
use crate::names::SERVER_ADDRESS;
use crate::namespace::Namespace;
use crate::topology::Hosts;
use hyper::body::{Body as _, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};

/// Ports of HTTP and of the sink.
const HTTP: u16 = 80;
const DISCARD: u16 = 9;
/// How long the end may go unnoticed.
const TICK: Duration = Duration::from_millis(50);
/// Bytes that the sink takes at a time.
const CHUNK: usize = 256 * 1024;

/// Serves from a thread of its own until `stop`. Both ports are listening when this returns.
pub(super) fn start(
    hosts: &Arc<Hosts>,
    content: Content,
    stop: Arc<AtomicBool>,
) -> Result<JoinHandle<()>, Error> {
    let (sender, ready) = channel();
    let hosts = Arc::clone(hosts);
    let work = move || {
        let serving = hosts.servers.enter().and_then(|()| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(Error::system("start the servers"))?;
            runtime.block_on(serve(Arc::new(content), &stop, &sender))
        });
        if let Err(error) = serving {
            let _ = sender.send(Err(error));
        }
    };
    let thread = std::thread::Builder::new()
        .name("servers".to_owned())
        .spawn(work)
        .map_err(Error::system("start a thread"))?;
    match ready.recv() {
        Ok(Ok(())) => Ok(thread),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(Error::Program {
            program: "the servers".to_owned(),
            problem: "did not start".to_owned(),
        }),
    }
}

async fn serve(
    content: Arc<Content>,
    stop: &AtomicBool,
    ready: &Sender<Result<(), Error>>,
) -> Result<(), Error> {
    let http = listen(HTTP).await?;
    let sink = listen(DISCARD).await?;
    let _ = ready.send(Ok(()));
    tokio::spawn(async move {
        loop {
            let stream = accept(&http).await;
            tokio::spawn(converse(stream, Arc::clone(&content)));
        }
    });
    tokio::spawn(async move {
        loop {
            tokio::spawn(discard(accept(&sink).await));
        }
    });
    while !stop.load(Ordering::Relaxed) {
        tokio::time::sleep(TICK).await;
    }
    Ok(())
}

async fn listen(port: u16) -> Result<TcpListener, Error> {
    let failed = || Error::system(format!("listen at port {port} of the servers"));
    TcpListener::bind((SERVER_ADDRESS, port))
        .await
        .map_err(failed())
}

/// The next connection. One that is gone before it is accepted is no reason to stop.
async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let _ = stream.set_nodelay(true);
                return stream;
            }
            Err(_) => tokio::time::sleep(TICK).await,
        }
    }
}

async fn converse(stream: TcpStream, content: Arc<Content>) {
    let answers = service_fn(move |request| answer(Arc::clone(&content), request));
    let http = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .serve_connection(TokioIo::new(stream), answers);
    // a client that goes away is its own affair
    let _ = http.await;
}

async fn answer(
    content: Arc<Content>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    Ok(match *request.method() {
        Method::GET | Method::HEAD => {
            let path = request.uri().path();
            responsiveness::get(path).unwrap_or_else(|| content.get(path))
        }
        Method::POST | Method::PUT => match swallow(request.into_body()).await {
            Ok(bytes) => text(StatusCode::OK, format!("{bytes} bytes received\n")),
            Err(error) => text(StatusCode::BAD_REQUEST, format!("{error}\n")),
        },
        _ => text(
            StatusCode::METHOD_NOT_ALLOWED,
            "GET, HEAD, POST and PUT are what this server accepts\n".to_owned(),
        ),
    })
}

/// Reads a body to its end; how many bytes it had.
async fn swallow(mut body: Incoming) -> Result<u64, hyper::Error> {
    let mut bytes = 0;
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        bytes += frame?.data_ref().map_or(0, |data| data.len() as u64);
    }
    Ok(bytes)
}

async fn discard(mut stream: TcpStream) {
    let mut buffer = vec![0; CHUNK];
    while matches!(stream.read(&mut buffer).await, Ok(read) if read > 0) {}
}

/// An iperf3 server. Dropped, it is gone.
#[derive(Debug)]
pub(super) struct Iperf {
    child: Child,
}

impl Iperf {
    /// Starts one if iperf3 is installed. The calling thread must outlive it.
    pub(super) fn start(servers: &Namespace, folder: &Folder) -> Result<Option<Self>, Error> {
        let failed = || Error::system("start iperf3");
        let mut command = Command::new("iperf3");
        command
            .arg("-s")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        folder.mark(&mut command);
        child::run_in(&mut command, servers).map_err(failed())?;
        match command.spawn() {
            Ok(child) => Ok(Some(Self { child })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed()(error)),
        }
    }
}

impl Drop for Iperf {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
