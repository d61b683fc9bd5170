//! One QUIC connection through the tunnel: the project's server and client, as `brimful quic serve` and `brimful quic get` run
//! them, with what they are preset to (Cubic; the path's MTU as probes find it).

use crate::support::Namespace;
use quic::{Client, ClientOptions, Config, QuicError, Server, Target, Trust, download_while};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use tokio::sync::oneshot;
use units::Bytes;

/// More than passes in the time of a measurement.
const SIZE: Bytes = Bytes::new(10_000_000_000);

/// A download that goes on until it is ended.
pub struct Download {
    came: mpsc::Receiver<u64>,
    goes_on: Arc<AtomicBool>,
    client: JoinHandle<Result<quic::Download, QuicError>>,
    /// Ends the server.
    end: oneshot::Sender<()>,
    server: JoinHandle<()>,
}

impl Download {
    /// From a server on one host to a client on the other.
    pub fn begin(from: &Namespace, to: &Namespace, address: SocketAddr) -> Self {
        let (end, server) = serve(from, address);
        let (sender, came) = mpsc::channel();
        let goes_on = Arc::new(AtomicBool::new(true));
        let still = Arc::clone(&goes_on);
        // threads are of the host in which they are made, and their sockets with them
        let client = to.enter(|| {
            std::thread::spawn(move || {
                let client = Client::new(ClientOptions {
                    trust: Trust::Any,
                    ..ClientOptions::default()
                });
                let target = Target::Plain {
                    server: address.to_string(),
                    size: SIZE,
                    rate: None,
                };
                let mut sink = |bytes: &[u8]| {
                    // of the last ones none is counted
                    let _ = sender.send(bytes.len() as u64);
                    Ok(())
                };
                let goes_on = || still.load(Ordering::Relaxed);
                download_while(&client, &target, &mut sink, goes_on)
            })
        });
        Self {
            came,
            goes_on,
            client,
            end,
            server,
        }
    }

    /// Waits for bytes: so many have come.
    pub fn read(&self) -> u64 {
        self.came.recv().expect("bytes keep coming")
    }

    /// Ends both.
    pub fn end(self) {
        self.goes_on.store(false, Ordering::Relaxed);
        let ended = self.client.join().expect("it ends");
        assert!(matches!(ended, Err(QuicError::Sink(_))), "{ended:?}");
        let _ = self.end.send(());
        self.server.join().expect("it ends");
    }
}

/// A server, once it listens.
fn serve(host: &Namespace, address: SocketAddr) -> (oneshot::Sender<()>, JoinHandle<()>) {
    let (end, ended) = oneshot::channel();
    let (ready, listens) = mpsc::channel();
    let config = Config {
        listen: vec![address],
        ..Config::default()
    };
    let serve = async move {
        let server = Server::start(config).await.expect("it listens");
        ready.send(()).expect("waited for");
        let _ = ended.await;
        server.close().await;
    };
    let thread = host.enter(|| {
        std::thread::spawn(|| {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(serve);
        })
    });
    listens.recv().expect("it runs");
    (end, thread)
}
