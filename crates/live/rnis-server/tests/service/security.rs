//! Authorization: what a client may do, and that rejected requests get no information.

use crate::common::{
    FORM, JSON, NETWORK, Rest, report, rest, secure_rest, until_some, usual, world,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use serde_json::json;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

const PATHS: [&str; 8] = [
    "/",
    "/rni/v2/queries/rab_info",
    "/rni/v2/queries/nothing",
    "/rni/v2/subscriptions",
    "/rni/v2/subscriptions/1",
    "/rni/v2/subscriptions/1/websocket",
    "/rni/v2/openapi.yaml",
    "/metrics",
];

#[tokio::test(flavor = "multi_thread")]
async fn without_a_token_every_path_answers_alike() {
    let mut world = world("max-age = \"60 s\"", &format!("{NETWORK}{}", rest())).await;
    world.cell.report(&usual(20)).await;
    world.accepted(1).await;
    let good = world.client("all").await;
    let token = good.token.clone().expect("a token");
    let mut changed = token.clone().into_bytes();
    changed[3] = if changed[3] == b'A' { b'B' } else { b'A' };
    let changed = String::from_utf8(changed).expect("text");
    let forged = [
        None,
        Some(String::new()),
        Some("x".into()),
        Some(changed),
        Some(format!("{token}x")),
    ];
    let mut bodies = Vec::new();
    for token in forged {
        let bad = Rest {
            token,
            ..good.clone()
        };
        for path in PATHS {
            for method in ["GET", "POST", "PUT", "DELETE", "OPTIONS"] {
                let answer = bad.send(method, path, &[JSON], b"{}").await;
                answer.problem(401);
                assert_eq!(answer.header("www-authenticate"), "Bearer realm=\"rni\"");
                assert_eq!(answer.header("server"), "");
                bodies.push(answer.body);
            }
        }
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1, "all refusals are the same");
    let text = String::from_utf8_lossy(&bodies[0]).into_owned();
    assert!(!text.contains("10.45") && !text.contains("208"), "{text}");
    assert_eq!(good.get("/rni/v2/subscriptions").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_may_only_what_is_in_their_scope() {
    let world = world("", &format!("{NETWORK}{}", rest())).await;
    let reader = world.client("reader").await;
    let other = world.client("other").await;
    assert_eq!(reader.get("/rni/v2/queries/layer2_meas").await.status, 200);
    reader.get("/rni/v2/subscriptions").await.problem(403);
    reader
        .post("/rni/v2/subscriptions", &json!({}))
        .await
        .problem(403);
    reader.get("/rni/v2/subscriptions/1").await.problem(403);
    reader
        .send("DELETE", "/rni/v2/subscriptions/1", &[], b"")
        .await
        .problem(403);
    other.get("/rni/v2/queries/layer2_meas").await.problem(403);
    assert_eq!(other.get("/rni/v2/subscriptions").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_given_for_credentials_only() {
    let world = world("", &rest()).await;
    let mut client = world.client("all").await;
    client.token = None;
    let post = async |headers: &[(&str, &str)], form: &str| {
        client
            .send("POST", "/oauth2/token", headers, form.as_bytes())
            .await
    };
    let grant = "grant_type=client_credentials";
    let basic = |text: &str| format!("Basic {}", STANDARD.encode(text));

    let good = post(&[FORM, ("authorization", &basic("all:secret"))], grant).await;
    assert_eq!(good.status, 200);
    assert_eq!(good.header("cache-control"), "no-store");
    let body = good.json();
    assert_eq!(body["token_type"], "Bearer");
    assert_eq!(body["expires_in"], 3600);
    assert_eq!(body["scope"], "query subscribe");

    let both = format!("{grant}&client_id=all&client_secret=secret");
    let cases = [
        (
            vec![FORM],
            "grant_type=password&client_id=all&client_secret=secret".to_owned(),
            400,
            "unsupported_grant_type",
        ),
        (
            vec![FORM],
            "client_id=all&client_secret=secret".into(),
            400,
            "invalid_request",
        ),
        (
            vec![FORM],
            format!("{grant}&client_id=all&client_secret=wrong"),
            401,
            "invalid_client",
        ),
        (
            vec![FORM],
            format!("{grant}&client_id=nobody&client_secret=secret"),
            401,
            "invalid_client",
        ),
        (vec![FORM], grant.into(), 401, "invalid_client"),
        (vec![JSON], both.clone(), 400, "invalid_request"),
        (
            vec![FORM],
            format!("{both}&client_id=other"),
            400,
            "invalid_request",
        ),
        (
            vec![FORM],
            format!("{both}&x={}", "y".repeat(10_000)),
            400,
            "invalid_request",
        ),
    ];
    for (headers, form, status, code) in cases {
        let answer = post(&headers, &form).await;
        assert_eq!(answer.status.as_u16(), status, "{form:.80}: {answer:?}");
        assert_eq!(answer.json(), json!({ "error": code }), "{form:.80}");
    }
    let answer = client.get("/oauth2/token").await;
    assert_eq!(answer.status, 405);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_ends() {
    let rest = rest().replace("[http]", "[http]\ntoken-lifetime = \"1 s\"");
    let world = world("", &rest).await;
    // on a busy machine a token may end before it is used: the next is
    let client = until_some("a token is accepted", async || {
        let client = world.client("all").await;
        let answer = client.get("/rni/v2/subscriptions").await;
        (answer.status == 200).then_some(client)
    })
    .await;
    let answer = until_some("the token ends", async || {
        let answer = client.get("/rni/v2/subscriptions").await;
        (answer.status != 200).then_some(answer)
    })
    .await;
    answer.problem(401);
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_requests_are_answered_with_the_time_to_retry() {
    let rest = rest().replace("rate = 100000", "rate = 0.1\nburst = 3");
    let world = world("", &rest).await;
    // the request for its token was the first of its three
    let client = world.client("all").await;
    for _ in 0..2 {
        assert_eq!(client.get("/rni/v2/subscriptions").await.status, 200);
    }
    let limited = until_some("the client's bucket is empty", async || {
        let answer = client.get("/rni/v2/subscriptions").await;
        (answer.status != 200).then_some(answer)
    })
    .await;
    limited.problem(429);
    // at 0.1 requests a second the next is at most 10 s away
    let seconds: u64 = limited.header("retry-after").parse().expect("seconds");
    assert!(seconds > 0 && seconds <= 10, "{seconds}");
}

#[tokio::test(flavor = "multi_thread")]
async fn guesses_keep_no_other_client_of_their_address_from_a_token() {
    let rest = rest().replace("rate = 100000", "rate = 0.1\nburst = 5");
    let world = world("", &rest).await;
    let guess = Rest {
        address: world.service.http_address().expect("an interface"),
        token: Some("guess".into()),
    };
    for _ in 0..50 {
        guess.get("/rni/v2/subscriptions").await.problem(401);
    }
    let secret = "grant_type=client_credentials&client_id=other&client_secret=guess";
    let ask = async || {
        let path = "/oauth2/token";
        guess.send("POST", path, &[FORM], secret.as_bytes()).await
    };
    let limited = until_some("guesses at a secret are limited", async || {
        let answer = ask().await;
        (answer.status != 401).then_some(answer)
    })
    .await;
    limited.problem(429);
    let client = world.client("all").await;
    assert_eq!(client.get("/rni/v2/subscriptions").await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_are_limited() {
    let world = world("", &rest()).await;
    let client = world.client("all").await;
    let large = format!("{{\"x\":\"{}\"}}", "y".repeat(70_000));
    let answer = client
        .send("POST", "/rni/v2/subscriptions", &[JSON], large.as_bytes())
        .await;
    answer.problem(413);

    // one without a length in its head
    let mut stream = TcpStream::connect(client.address).await.expect("listening");
    let token = client.token.as_deref().expect("a token");
    let head = format!(
        "POST /rni/v2/subscriptions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.expect("written");
    let chunk = format!("1000\r\n{}\r\n", " ".repeat(4096));
    let (mut read, mut write) = stream.split();
    let endless = async {
        // the service may close before it has read all
        while write.write_all(chunk.as_bytes()).await.is_ok() {}
        std::future::pending::<()>().await;
    };
    let mut answer = [0; 12];
    tokio::select! {
        () = endless => {}
        read = read.read_exact(&mut answer) => { read.expect("an answer"); }
    }
    assert_eq!(&answer, b"HTTP/1.1 413");
}

/// Sends a request over TLS, trusting one certificate.
async fn over_tls(
    address: SocketAddr,
    trusted: &CertificateDer<'static>,
    request: hyper::Request<Full<Bytes>>,
) -> Option<(u16, Vec<u8>)> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).expect("a certificate");
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(address)
        .await
        .expect("the service listens");
    let name = ServerName::try_from("localhost").expect("a name");
    let stream = TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
        .ok()?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .expect("HTTP");
    tokio::spawn(connection);
    let response = sender.send_request(request).await.expect("an answer");
    let status = response.status().as_u16();
    let body = response
        .into_body()
        .collect()
        .await
        .expect("a body")
        .to_bytes();
    Some((status, body.to_vec()))
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_serves_its_certificate_and_plain_http_gets_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let (tables, certificate) = secure_rest(folder.path());
    let world = world("", &tables).await;
    let address = world.service.http_address().expect("an interface");
    let form = "grant_type=client_credentials&client_id=a&client_secret=secret";
    let request = || {
        hyper::Request::post("/oauth2/token")
            .header("host", "localhost")
            .header(FORM.0, FORM.1)
            .body(Full::new(Bytes::from(form)))
            .expect("a request")
    };
    let (status, body) = over_tls(address, &certificate, request())
        .await
        .expect("trusted");
    assert_eq!(status, 200);
    assert!(String::from_utf8_lossy(&body).contains("access_token"));

    let another = rcgen::generate_simple_self_signed(vec!["localhost".into()]).expect("another");
    assert!(
        over_tls(address, another.cert.der(), request())
            .await
            .is_none(),
        "not trusted"
    );

    let mut plain = TcpStream::connect(address)
        .await
        .expect("the service listens");
    let request = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n";
    plain.write_all(request).await.expect("written");
    let mut answer = Vec::new();
    // the end may be a reset
    let _ = plain.read_to_end(&mut answer).await;
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_clients_subscription_is_not_there() {
    let mut world = world("", &format!("{NETWORK}{}", rest())).await;
    world.cell.report(&report(1, 20, &[])).await;
    let all = world.client("all").await;
    let other = world.client("other").await;
    let body = json!({
        "subscriptionType": "CellChangeSubscription",
        "filterCriteriaAssocHo": {},
        "websockNotifConfig": { "requestWebsocketUri": true },
    });
    let created = all.post("/rni/v2/subscriptions", &body).await;
    assert_eq!(created.status, 201, "{created:?}");
    let uri = created.header("location").to_owned();
    let path = uri
        .split_once("/rni")
        .map(|(_, path)| format!("/rni{path}"))
        .expect("a path");
    assert_eq!(all.get(&path).await.status, 200);
    other.get(&path).await.problem(404);
    other
        .send("PUT", &path, &[JSON], body.to_string().as_bytes())
        .await
        .problem(404);
    other.send("DELETE", &path, &[], b"").await.problem(404);
    let list = other.get("/rni/v2/subscriptions").await.json();
    assert_eq!(
        list["SubscriptionLinkList"]["_links"]["subscription"],
        json!([])
    );
    assert_eq!(all.send("DELETE", &path, &[], b"").await.status, 204);
    all.get(&path).await.problem(404);
}
