//! Registration at a MEC platform (ETSI GS MEC 011, clause 8.2.6): the REST interface as
//! `REST_HTTP`, and the topics of radio reports as `MB_TOPIC_BASED`.

use crate::client::{Call, Client, Session};
use crate::config::{Config, Format, HttpConfig, PlatformConfig, TopicConfig};
use crate::hub::Hub;
use daemon::Backoff;
use hyper::{Method, Uri};
use serde_json::{Value, json};
use std::io;
use std::sync::Arc;
use tokio::sync::watch;

/// The services to announce.
pub(crate) fn services(config: &Config) -> Vec<Value> {
    let mut services = Vec::new();
    services.extend(config.http.as_ref().map(rest));
    services.extend(config.amqp.as_ref().map(|topic| {
        let routing = json!({ "exchange": topic.topic, "routingKey": "cell.{cellId}" });
        messages("brimful-radio-amqp", "AMQP", "0-9-1", topic, &routing)
    }));
    services.extend(config.nats.as_ref().map(|topic| {
        let routing = json!({ "subject": format!("{}.cell.{{cellId}}", topic.topic) });
        messages("brimful-radio-nats", "NATS", "1", topic, &routing)
    }));
    services
}

fn category() -> Value {
    json!({ "href": "/rni", "id": "rni", "name": "RNI", "version": "v2" })
}

fn rest(http: &HttpConfig) -> Value {
    json!({
        "serName": "rni",
        "serCategory": category(),
        "version": "2.2.1",
        "state": "ACTIVE",
        "serializer": "JSON",
        "transportInfo": {
            "id": "brimful-rest",
            "name": "REST",
            "type": "REST_HTTP",
            "protocol": "HTTP",
            "version": "1.1",
            "endpoint": { "uris": [format!("{}/rni/v2", http.public_url)] },
            "security": { "oAuth2Info": {
                "grantTypes": ["OAUTH2_CLIENT_CREDENTIALS"],
                "tokenEndpoint": format!("{}/oauth2/token", http.public_url),
            } },
        },
    })
}

fn messages(
    name: &str,
    protocol: &str,
    version: &str,
    topic: &TopicConfig,
    routing: &Value,
) -> Value {
    let serializer = match topic.format {
        Format::Json => "JSON",
        // the standard's list has no other word for a form of one's own
        Format::Binary => "BRIMFUL_BINARY_1",
    };
    json!({
        "serName": name,
        "serCategory": category(),
        "version": env!("CARGO_PKG_VERSION"),
        "state": "ACTIVE",
        "serializer": serializer,
        "transportInfo": {
            "id": name,
            "name": name,
            "type": "MB_TOPIC_BASED",
            "protocol": protocol,
            "version": version,
            // without user and password: Address never prints them
            "endpoint": { "uris": [topic.address.to_string()] },
            "security": {},
            "implSpecificInfo": routing,
        },
    })
}

/// Registers every service, and takes the registrations back when the service ends.
pub(crate) async fn keep(
    platform: PlatformConfig,
    services: Vec<Value>,
    client: Client,
    hub: Arc<Hub>,
    mut ending: watch::Receiver<bool>,
) {
    let mut session = Session::new(client);
    let mut registered: Vec<Uri> = Vec::new();
    tokio::select! {
        () = register_all(&mut session, &platform, &services, &hub, &mut registered) => {
            ended(&mut ending).await;
        }
        () = ended(&mut ending) => {}
    }
    // a request that was broken off would confuse the connection
    let mut session = Session::new(session.into_client());
    withdraw(&mut session, &platform, registered).await;
}

async fn ended(ending: &mut watch::Receiver<bool>) {
    // the sender is gone as well when the service ends
    let _ = ending.wait_for(|end| *end).await;
}

async fn register_all(
    session: &mut Session,
    platform: &PlatformConfig,
    services: &[Value],
    hub: &Hub,
    registered: &mut Vec<Uri>,
) {
    for service in services {
        let mut backoff = Backoff::new();
        loop {
            match register(session, platform, service).await {
                Ok(location) => {
                    registered.push(location);
                    hub.metrics()
                        .set("brimful_rnis_registered", &[], registered.len() as f64);
                    tracing::info!(service = %service["serName"], "registered at the MEC platform");
                    break;
                }
                Err(error) => tracing::warn!(platform = platform.url, "registration: {error}"),
            }
            backoff.wait().await;
        }
    }
}

async fn register(
    session: &mut Session,
    platform: &PlatformConfig,
    service: &Value,
) -> io::Result<Uri> {
    let url = format!(
        "{}/applications/{}/services",
        platform.url, platform.app_instance
    );
    let uri: Uri = url.parse().map_err(io::Error::other)?;
    let answer = session
        .call(Call {
            method: Method::POST,
            uri: &uri,
            token: platform.token.as_deref(),
            json: Some(service.to_string().into()),
        })
        .await?;
    if answer.status.as_u16() != 201 {
        return Err(io::Error::other(format!("answered {}", answer.status)));
    }
    let location = answer.location.or_else(|| {
        let body: Value = serde_json::from_slice(&answer.body).ok()?;
        Some(format!("{url}/{}", body["serInstanceId"].as_str()?))
    });
    let location = location.ok_or_else(|| io::Error::other("no Location in the answer"))?;
    // a location without a host is one of the platform
    let absolute = match location.starts_with('/') {
        true => {
            let scheme = uri.scheme_str().unwrap_or("http");
            let authority = uri.authority().map_or("", |a| a.as_str());
            format!("{scheme}://{authority}{location}")
        }
        false => location,
    };
    absolute.parse().map_err(io::Error::other)
}

async fn withdraw(session: &mut Session, platform: &PlatformConfig, registered: Vec<Uri>) {
    for uri in &registered {
        let call = Call {
            method: Method::DELETE,
            uri,
            token: platform.token.as_deref(),
            json: None,
        };
        if let Err(error) = session.call(call).await {
            tracing::warn!(%uri, "registration could not be taken back: {error}");
        }
    }
}
