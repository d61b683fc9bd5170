//! An HTTP server of the test: callbacks and a MEC platform's registry. It keeps what it is sent.

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::Value;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;

/// A request that came.
#[derive(Clone, Debug)]
pub struct Received {
    pub method: Method,
    pub path: String,
    pub token: Option<String>,
    pub body: Value,
}

type Answer = dyn Fn(&Received) -> Response + Send + Sync;

struct Shared {
    received: Mutex<Vec<Received>>,
    answer: Box<Answer>,
}

/// The server.
#[derive(Clone)]
pub struct Inbox {
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

impl Inbox {
    /// That answers 204 to everything.
    pub async fn open() -> Self {
        Self::answering(|_| StatusCode::NO_CONTENT.into_response()).await
    }

    pub async fn answering(answer: impl Fn(&Received) -> Response + Send + Sync + 'static) -> Self {
        let shared = Arc::new(Shared {
            received: Mutex::default(),
            answer: Box::new(answer),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("its address");
        let app = Router::new()
            .fallback(receive)
            .with_state(Arc::clone(&shared));
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { address, shared }
    }

    pub fn uri(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn received(&self) -> Vec<Received> {
        self.shared.received.lock().expect("not poisoned").clone()
    }
}

async fn receive(
    State(shared): State<Arc<Shared>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let token = headers
        .get("authorization")
        .and_then(|v| v.to_str().ok())
        .map(str::to_owned);
    let received = Received {
        method,
        path: uri.path().to_owned(),
        token,
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    };
    let answer = (shared.answer)(&received);
    shared.received.lock().expect("not poisoned").push(received);
    answer
}
