//! Where callbacks may go, and what a client learns of those that fail.

use crate::common::{NETWORK, World, rest, world};
use crate::inbox::Inbox;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use serde_json::json;

const SUBSCRIPTIONS: &str = "/rni/v2/subscriptions";

async fn usual_world() -> World {
    world("", &format!("{NETWORK}{}", rest())).await
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_callbacks_do_not_differ_for_the_client() {
    let world = usual_world().await;
    let client = world.client("all").await;
    let error = Inbox::answering(|_| StatusCode::INTERNAL_SERVER_ERROR.into_response()).await;
    let closed = format!("http://127.0.0.1:{}/", testing::free_port());
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await;
    let silent = silent.expect("a port");
    let silent = format!("http://{}/", silent.local_addr().expect("its address"));
    let no_tls = error.uri("/").replace("http", "https");
    // a name whose address is not permitted: numbers in a form that only the resolver reads
    let metadata = "http://0xa9fea9fe/".to_owned();
    let attempts = [error.uri("/"), closed, silent, no_tls, metadata].map(|callback| {
        let client = &client;
        async move {
            let body = json!({
                "subscriptionType": "MeasTaSubscription",
                "filterCriteriaAssoc": {},
                "requestTestNotification": true,
                "callbackReference": callback,
            });
            client.post(SUBSCRIPTIONS, &body).await.problem(422)
        }
    });
    let details = futures_util::future::join_all(attempts).await;
    let same = "the test notification was not delivered";
    assert!(details.iter().all(|detail| detail == same), "{details:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_callback_that_can_never_be_reached_is_refused_at_once() {
    let world = usual_world().await;
    let client = world.client("all").await;
    for callback in [
        "http://169.254.169.254/latest/meta-data/",
        "http://[fd00:ec2::254]/",
        "http://[::1]:80/",
        "http://[::ffff:169.254.169.254]/",
        "http://[64:ff9b::169.254.169.254]/",
        "http://10.0.0.1/",
        "http://127.0.0.1:0/",
    ] {
        let body = json!({
            "subscriptionType": "MeasTaSubscription",
            "filterCriteriaAssoc": {},
            "callbackReference": callback,
        });
        let detail = client.post(SUBSCRIPTIONS, &body).await.problem(422);
        assert!(
            detail.starts_with("callbackReference "),
            "{callback}: {detail}"
        );
    }
    assert_eq!(world.counted("brimful_rnis_subscriptions", &[]), 0.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn networks_of_all_addresses_do_not_include_this_host() {
    // the address from which this host reaches others is one of its own
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").expect("a socket");
    let routed = socket.connect("192.0.2.200:9").is_ok();
    let own = socket.local_addr().expect("an address").ip();
    let all = rest().replace("127.0.0.0/8", "0.0.0.0/0\", \"::/0");
    let world = world("", &format!("{NETWORK}{all}")).await;
    let client = world.client("all").await;
    let mut callbacks = vec![
        "http://127.0.0.1:9/".to_owned(),
        "http://[::1]:9/".to_owned(),
    ];
    callbacks.extend((routed && !own.is_unspecified()).then(|| format!("http://{own}:9/")));
    for callback in callbacks {
        let body = json!({
            "subscriptionType": "MeasTaSubscription",
            "filterCriteriaAssoc": {},
            "callbackReference": callback,
        });
        client.post(SUBSCRIPTIONS, &body).await.problem(422);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_callback_networks_no_callback_is_permitted() {
    let default = rest().replace("callback-networks = [\"127.0.0.0/8\"]\n", "");
    let world = world("", &format!("{NETWORK}{default}")).await;
    let client = world.client("all").await;
    for callback in [
        "http://10.0.0.1/",
        "http://192.168.1.1/",
        "http://93.184.216.34/",
        "http://[2001:db8::1]/",
        "https://app.example/",
    ] {
        let mut body = json!({
            "subscriptionType": "MeasTaSubscription",
            "filterCriteriaAssoc": {},
            "callbackReference": callback,
        });
        let detail = client.post(SUBSCRIPTIONS, &body).await.problem(422);
        assert!(detail.contains("callback-networks"), "{detail}");
        // without the callback it can be had
        body.as_object_mut()
            .expect("one")
            .remove("callbackReference");
        body["websockNotifConfig"] = json!({ "requestWebsocketUri": true });
        assert_eq!(client.post(SUBSCRIPTIONS, &body).await.status, 201);
    }
}
