//! A service of its own for each test, a client for it, and sources that the test plays.

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{HeaderMap, Request, StatusCode};
use hyper_util::rt::TokioIo;
use rnis::codec::encode_json;
use rnis::{CellId, CellReport, LinkQuality, McsTable, RadioReport, Rnti, UeReport};
use rnis_server::{Config, Service};
use serde_json::Value;
use std::fs::{Permissions, set_permissions};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;
use testing::HANG_LIMIT;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::time::{Instant, sleep};
use tokio_rustls::rustls::pki_types::CertificateDer;
use units::{Bytes as Amount, Cqi, Hertz, Mcs, Prb, Slot};

/// SHA-256 of `secret`.
pub const SECRET_HASH: &str = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";

/// Time between two looks at a condition.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Waits until a condition holds, as `testing::wait_until`.
pub async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    until_some(what, async || condition().then_some(())).await;
}

/// Polls until there is a value, as `testing::wait_for`.
pub async fn until_some<T>(what: &str, mut poll: impl AsyncFnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(value) = poll().await {
            return value;
        }
        assert!(
            start.elapsed() < HANG_LIMIT,
            "{what}: not within {HANG_LIMIT:?}"
        );
        sleep(POLL_INTERVAL).await;
    }
}

/// Connects to a port of this machine that is about to listen.
pub async fn connect(address: SocketAddr) -> TcpStream {
    until_some(&format!("a listener at {address}"), async || {
        TcpStream::connect(address).await.ok()
    })
    .await
}

/// A source that the test plays: a lab's cell on a Unix socket.
pub struct Cell {
    listener: UnixListener,
    stream: Option<UnixStream>,
}

impl Cell {
    pub async fn send(&mut self, line: &[u8]) {
        if self.stream.is_none() {
            self.stream = Some(self.listener.accept().await.expect("the service").0);
        }
        let stream = self.stream.as_mut().expect("connected");
        stream
            .write_all(&[line, b"\n"].concat())
            .await
            .expect("the service reads");
    }

    pub async fn report(&mut self, report: &RadioReport) {
        self.send(&encode_json(report)).await;
    }

    /// Breaks the connection; the service is to come back.
    pub fn hang_up(&mut self) {
        self.stream = None;
    }
}

/// A folder, a service in it, and its cell.
pub struct World {
    pub folder: TempDir,
    pub service: Service,
    pub cell: Cell,
}

/// The REST interface of nearly all tests, without TLS.
pub fn rest() -> String {
    format!(
        "[http]\nlisten = \"127.0.0.1:0\"\nrate = 100000\ncallback-networks = [\"127.0.0.0/8\"]\n\
         expiry-notice = \"2 s\"\n\
         [[client]]\nid = \"all\"\nsecret-sha256 = \"{SECRET_HASH}\"\n\
         [[client]]\nid = \"reader\"\nsecret-sha256 = \"{SECRET_HASH}\"\nscope = [\"query\"]\n\
         [[client]]\nid = \"other\"\nsecret-sha256 = \"{SECRET_HASH}\"\nscope = [\"subscribe\"]\n"
    )
}

/// A REST interface with TLS, and its certificate; its files are in `folder`.
pub fn secure_rest(folder: &Path) -> (String, CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into()]).expect("a certificate");
    let (certificate, key) = (folder.join("cert.pem"), folder.join("key.pem"));
    std::fs::write(&certificate, made.cert.pem()).expect("written");
    std::fs::write(&key, made.signing_key.serialize_pem()).expect("written");
    // a key that all users can read is refused
    set_permissions(&key, Permissions::from_mode(0o600)).expect("set");
    let tables = format!(
        "[http]\nlisten = \"127.0.0.1:0\"\ntls-certificate = \"{}\"\ntls-key = \"{}\"\n\
         [[client]]\nid = \"a\"\nsecret-sha256 = \"{SECRET_HASH}\"\n",
        certificate.display(),
        key.display()
    );
    (tables, made.cert.der().clone())
}

/// UEs and networks of nearly all tests.
pub const NETWORK: &str = r#"
[network]
plmns = ["20895", "00101"]
[[ue]]
ip = "10.45.0.2"
rnti = 17921
teid = 77
mmec = "1"
mtmsi = "4711"
bearers = [{ erab-id = 5, qci = 9 }, { erab-id = 6, qci = 1, gbr-dl = "2 Mbit/s", mbr-dl = "3 Mbit/s" }]
tunnels = [{ erab-id = 5, enb-address = "192.0.2.1", enb-teid = 11, sgw-address = "192.0.2.2", sgw-teid = 12 }]
[[ue]]
ip = "10.45.0.3"
rnti = 17922
"#;

/// Starts a service with a cell at a Unix socket and more configuration, in which `{folder}` is the
/// test's folder. Top-level keys come first.
pub async fn world(keys: &str, tables: &str) -> World {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().display().to_string();
    let listener = UnixListener::bind(folder.path().join("cell.sock")).expect("a socket");
    let source = format!(
        "[[source]]\nname = \"cell\"\nkind = \"reports\"\nurl = \"unix:{path}/cell.sock\"\n"
    );
    let text = format!("{keys}\n{source}\n{tables}").replace("{folder}", &path);
    let config = Config::parse("test.toml", &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let service = Service::start(config).await.expect("a service");
    let cell = Cell {
        listener,
        stream: None,
    };
    World {
        folder,
        service,
        cell,
    }
}

impl World {
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn counted(&self, name: &'static str, labels: &[(&str, &str)]) -> f64 {
        self.service.metrics().get(name, labels)
    }

    /// Waits until so many reports of the cell were accepted.
    pub async fn accepted(&self, count: u32) {
        until("reports accepted", || {
            self.counted("brimful_rnis_reports_total", &[("source", "cell")]) >= f64::from(count)
        })
        .await;
    }

    pub async fn client(&self, id: &str) -> Rest {
        let mut rest = Rest {
            address: self.service.http_address().expect("an interface"),
            token: None,
        };
        let form = format!("grant_type=client_credentials&client_id={id}&client_secret=secret");
        let answer = rest
            .send("POST", "/oauth2/token", &[FORM], form.as_bytes())
            .await;
        assert_eq!(answer.status, 200, "{answer:?}");
        rest.token = answer.json()["access_token"].as_str().map(str::to_owned);
        rest
    }
}

pub const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");
pub const JSON: (&str, &str) = ("content-type", "application/json");

/// A client of the REST interface.
#[derive(Clone)]
pub struct Rest {
    pub address: SocketAddr,
    pub token: Option<String>,
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .and_then(|v| v.to_str().ok())
            .unwrap_or_default()
    }

    /// Asserts that it is a problem of this status, and gives its detail.
    pub fn problem(&self, status: u16) -> String {
        assert_eq!(self.status.as_u16(), status, "{self:?}");
        assert_eq!(self.header("content-type"), "application/problem+json");
        let body = self.json();
        assert_eq!(body["status"], status);
        body["detail"].as_str().expect("a detail").to_owned()
    }
}

impl Rest {
    pub async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"").await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &[JSON], body.to_string().as_bytes())
            .await
    }

    pub async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let stream = TcpStream::connect(self.address)
            .await
            .expect("the service listens");
        let opened = http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = opened.expect("HTTP");
        tokio::spawn(connection);
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "rnis");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request
            .body(Full::new(Bytes::copy_from_slice(body)))
            .expect("a request");
        let response = sender.send_request(request).await.expect("an answer");
        let (head, body) = response.into_parts();
        let body = body.collect().await.expect("a body").to_bytes().to_vec();
        Answer {
            status: head.status,
            headers: head.headers,
            body,
        }
    }
}

/// A report of a cell with UEs: RNTI, address and PRBs.
pub fn report(cell: u32, slot: u64, ues: &[(u16, Option<IpAddr>, u16)]) -> RadioReport {
    let ue = |&(rnti, ip, prb): &(u16, Option<IpAddr>, u16)| UeReport {
        ip,
        prb_dl: Prb::new(prb),
        cqi: Cqi::new(11),
        tbs_bytes: Amount::new(1_000),
        served_bytes: Amount::new(900),
        rlc_queue_bytes: Amount::new(5_000),
        harq_processes: 1,
        seq: slot,
        ..UeReport::idle(
            Rnti(rnti),
            LinkQuality::Mcs {
                mcs: Mcs::new(20),
                table: McsTable::NrQam256,
                layers: 1,
                data_re_per_prb: 132,
            },
            units::Instant::from_nanos(slot * 500_000),
        )
    };
    RadioReport {
        cell: CellReport {
            scs: Hertz::from_khz(30),
            slot_duration: units::Duration::from_micros(500),
            slot: Slot::new(slot),
            slots: 20,
            prb_background: Prb::new(2),
            ..CellReport::fdd(CellId(cell), Prb::new(106))
        },
        ues: ues.iter().map(ue).collect(),
    }
}

/// Two UEs, one of them without an address of its own.
pub fn usual(slot: u64) -> RadioReport {
    report(
        1,
        slot,
        &[
            (17_921, Some([10, 45, 0, 2].into()), 40),
            (17_922, None, 20),
        ],
    )
}
