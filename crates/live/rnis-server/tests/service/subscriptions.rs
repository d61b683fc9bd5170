//! Subscriptions: their life, and what they deliver.

use crate::common::{
    Answer, JSON, NETWORK, Rest, World, report, rest, until, until_some, usual, world,
};
use crate::inbox::Inbox;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use futures_util::StreamExt;
use serde_json::{Value, json};
use testing::HANG_LIMIT;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

const SUBSCRIPTIONS: &str = "/rni/v2/subscriptions";

async fn open(keys: &str) -> World {
    world(keys, &format!("{NETWORK}{}", rest())).await
}

/// A subscription of each kind that filters nothing, by callback.
fn all_kinds(callback: &str) -> Vec<Value> {
    let kinds = [
        ("CellChangeSubscription", "filterCriteriaAssocHo", json!({})),
        (
            "RabEstSubscription",
            "filterCriteriaQci",
            json!({ "qci": 9 }),
        ),
        (
            "RabModSubscription",
            "filterCriteriaQci",
            json!({ "qci": 9, "erabId": 5 }),
        ),
        (
            "RabRelSubscription",
            "filterCriteriaQci",
            json!({ "qci": 9, "erabId": 5 }),
        ),
        ("MeasRepUeSubscription", "filterCriteriaAssocTri", json!({})),
        ("NrMeasRepUeSubscription", "filterCriteriaNrMrs", json!({})),
        ("MeasTaSubscription", "filterCriteriaAssoc", json!({})),
        ("CaReconfSubscription", "filterCriteriaAssoc", json!({})),
        (
            "S1BearerSubscription",
            "S1BearerSubscriptionCriteria",
            json!({}),
        ),
    ];
    kinds
        .into_iter()
        .map(|(kind, filter, criteria)| {
            let mut body = json!({
                "subscriptionType": kind,
                "callbackReference": callback,
                filter: criteria,
            });
            if kind == "S1BearerSubscription" {
                body["eventType"] = json!([1, 2, 3]);
            }
            body
        })
        .collect()
}

fn path_of(answer: &Answer) -> String {
    assert_eq!(answer.status, 201, "{answer:?}");
    let location = answer.header("location");
    format!("/rni{}", location.split_once("/rni").expect("a path").1)
}

async fn socket(client: &Rest, answer: &Answer) -> WebSocketStream<TcpStream> {
    let uri = answer.json()["websockNotifConfig"]["websocketUri"].clone();
    let uri = uri.as_str().expect("a URI").to_owned();
    let mut request = uri.into_client_request().expect("a request");
    let token = format!("Bearer {}", client.token.as_deref().expect("a token"));
    request
        .headers_mut()
        .insert("authorization", token.parse().expect("a header"));
    let stream = TcpStream::connect(client.address)
        .await
        .expect("the service listens");
    client_async(request, stream).await.expect("a WebSocket").0
}

async fn next(socket: &mut WebSocketStream<TcpStream>) -> Value {
    loop {
        match socket.next().await.expect("a message").expect("no fault") {
            Message::Text(text) => return serde_json::from_str(&text).expect("JSON"),
            Message::Ping(_) | Message::Pong(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_is_created_in_both_forms_and_listed() {
    let world = open("").await;
    let client = world.client("all").await;
    let callback = "http://127.0.0.1:9/";
    for (i, body) in all_kinds(callback).into_iter().enumerate() {
        let kind = body["subscriptionType"]
            .as_str()
            .expect("a kind")
            .to_owned();
        let bare = client.post(SUBSCRIPTIONS, &body).await;
        let path = path_of(&bare);
        assert_eq!(bare.json()["subscriptionType"], kind);
        assert_eq!(
            bare.json()["_links"]["self"]["href"],
            bare.header("location")
        );

        let wrapped = client
            .post(SUBSCRIPTIONS, &json!({ kind.clone(): body }))
            .await;
        assert_eq!(
            wrapped.json()[&kind]["subscriptionType"],
            kind,
            "answers in the form of the request"
        );
        let read = client.get(&path_of(&wrapped)).await.json();
        assert_eq!(read, wrapped.json());
        assert_eq!(client.get(&path).await.json(), bare.json());

        let list = client.get(SUBSCRIPTIONS).await.json();
        let links = &list["SubscriptionLinkList"]["_links"];
        assert_eq!(
            links["subscription"].as_array().map(Vec::len),
            Some(2 * i + 2)
        );
    }
    for kind in ["s1_bearer", "S1BearerSubscription"] {
        let list = client
            .get(&format!("{SUBSCRIPTIONS}?subscription_type={kind}"))
            .await
            .json();
        let links = list["SubscriptionLinkList"]["_links"]["subscription"].clone();
        let kinds: Vec<&Value> = links
            .as_array()
            .expect("a list")
            .iter()
            .map(|l| &l["subscriptionType"])
            .collect();
        assert_eq!(kinds, ["S1BearerSubscription", "S1BearerSubscription"]);
    }
    client
        .get(&format!("{SUBSCRIPTIONS}?subscription_type=x"))
        .await
        .problem(400);
    client
        .get(&format!("{SUBSCRIPTIONS}?kind=x"))
        .await
        .problem(400);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_subscription_is_answered_with_the_reason() {
    let world = open("").await;
    let client = world.client("all").await;
    let good = all_kinds("http://127.0.0.1:9/").swap_remove(0);
    let with = |field: &str, value: Value| {
        let mut body = good.clone();
        body[field] = value;
        body
    };
    let cases = [
        (json!([]), 400, "object"),
        (json!({}), 400, "no subscriptionType"),
        (
            with("subscriptionType", json!("Nothing")),
            400,
            "unknown subscriptionType",
        ),
        (
            with("subscriptionType", json!(7)),
            400,
            "subscriptionType is text",
        ),
        (
            with("subscriptionType", json!("RabEstSubscription")),
            400,
            "needs filterCriteriaQci",
        ),
        (
            with("filterCriteriaAssocHo", json!([])),
            400,
            "is an object",
        ),
        (
            with("filterCriteriaAssocHo", json!({ "hoStatus": [9] })),
            400,
            "hoStatus 9",
        ),
        (
            with("filterCriteriaAssocHo", json!({ "ecgi": 1 })),
            400,
            "filterCriteriaAssocHo",
        ),
        (
            with("callbackReference", json!("ftp://x/")),
            422,
            "http or https",
        ),
        (
            with("callbackReference", json!(7)),
            400,
            "callbackReference",
        ),
        (
            with("callbackReference", json!("http://a b/")),
            422,
            "no URI",
        ),
        (
            with("expiryDeadline", json!({ "seconds": 1, "nanoSeconds": 0 })),
            422,
            "in the past",
        ),
        (with("expiryDeadline", json!([9, 9])), 400, "is an object"),
        (
            with("requestTestNotification", json!("yes")),
            400,
            "requestTestNotification",
        ),
        (json!({ "RabEstSubscription": 3 }), 400, "is an object"),
        (
            json!({ "RabEstSubscription": good.clone() }),
            400,
            "must be",
        ),
    ];
    for (body, status, expected) in cases {
        let detail = client.post(SUBSCRIPTIONS, &body).await.problem(status);
        assert!(detail.contains(expected), "{body}: {detail}");
    }
    let mut nowhere = good.clone();
    nowhere
        .as_object_mut()
        .expect("an object")
        .remove("callbackReference");
    let detail = client.post(SUBSCRIPTIONS, &nowhere).await.problem(400);
    assert!(detail.contains("nowhere to notify"), "{detail}");
    let half = client
        .send("POST", SUBSCRIPTIONS, &[JSON], b"{\"subscriptionType\":")
        .await;
    assert!(half.problem(400).contains("no JSON"));
    let text = [("content-type", "text/plain")];
    client
        .send("POST", SUBSCRIPTIONS, &text, good.to_string().as_bytes())
        .await
        .problem(415);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replaced_subscription_has_another_etag_and_old_ones_do_not_match() {
    let world = open("").await;
    let client = world.client("all").await;
    let good = all_kinds("http://127.0.0.1:9/a").swap_remove(0);
    let created = client.post(SUBSCRIPTIONS, &good).await;
    let path = path_of(&created);
    let etag = created.header("etag").to_owned();
    let mut body = good.clone();
    body["callbackReference"] = json!("http://127.0.0.1:9/b");
    let put = async |etag: &str| {
        let headers = [JSON, ("if-match", etag)];
        client
            .send("PUT", &path, &headers, body.to_string().as_bytes())
            .await
    };
    let replaced = put(&etag).await;
    assert_eq!(replaced.status, 200, "{replaced:?}");
    assert_eq!(replaced.json()["callbackReference"], "http://127.0.0.1:9/b");
    assert_ne!(replaced.header("etag"), etag);
    put(&etag).await.problem(412);
    assert_eq!(put("*").await.status, 200);
    let mut other = all_kinds("http://127.0.0.1:9/").swap_remove(1);
    other["callbackReference"] = json!("http://127.0.0.1:9/");
    let detail = client
        .send("PUT", &path, &[JSON], other.to_string().as_bytes())
        .await
        .problem(422);
    assert!(detail.contains("cannot change"), "{detail}");
    client
        .send("PUT", &format!("{SUBSCRIPTIONS}/none"), &[JSON], b"{}")
        .await
        .problem(404);
    assert_eq!(client.send("DELETE", &path, &[], b"").await.status, 204);
    client.send("DELETE", &path, &[], b"").await.problem(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn callbacks_get_every_kind_of_notification() {
    let mut world = open("release-after = \"10 ms\"\nmax-age = \"60 s\"").await;
    let client = world.client("all").await;
    let inbox = Inbox::open().await;
    for (i, mut body) in all_kinds("").into_iter().enumerate() {
        // the field as it is called in the document's callback does as well
        let field = if i % 2 == 0 {
            "callbackReference"
        } else {
            "callbackUri"
        };
        body.as_object_mut()
            .expect("an object")
            .remove("callbackReference");
        body[field] = json!(inbox.uri("/events"));
        assert_eq!(client.post(SUBSCRIPTIONS, &body).await.status, 201);
    }
    // a UE comes, moves to another cell and goes
    world.cell.report(&usual(20)).await;
    world
        .cell
        .report(&report(2, 20, &[(9, Some([10, 45, 0, 2].into()), 1)]))
        .await;
    for event in [
        r#"{"cell":1,"ue":"10.45.0.2","event":"measurement","rsrp":72,"rsrq":24,"trigger":12}"#,
        r#"{"cell":1,"ue":"10.45.0.2","event":"nr-measurement","rsrp":90,"sinr":60,"trigger":1}"#,
        r#"{"cell":1,"ue":"10.45.0.2","event":"timing-advance","steps":31}"#,
        r#"{"cell":1,"ue":"10.45.0.2","event":"carrier-aggregation","added":[2]}"#,
        r#"{"cell":1,"teid":77,"event":"bearer-modified","erab_id":5,"qci":9}"#,
    ] {
        world.cell.send(event.as_bytes()).await;
    }
    world.accepted(2).await;
    let names = [
        "CellChange",
        "RabEst",
        "RabMod",
        "RabRel",
        "MeasRepUe",
        "NrMeasRepUe",
        "MeasTa",
        "CaReconf",
        "S1Bearer",
    ];
    let first = |name: &str| {
        let name = format!("{name}Notification");
        inbox
            .received()
            .into_iter()
            .find(|r| r.body["notificationType"] == name.as_str())
    };
    // the UE has left once reports without it have come for the time of `release-after`
    let mut slot = 20;
    until_some("all kinds", async || {
        slot += 20;
        world.cell.report(&report(2, slot, &[])).await;
        names.iter().all(|name| first(name).is_some()).then_some(())
    })
    .await;

    let body = |name: &str| first(name).expect("it came").body;
    let moved = body("CellChange");
    assert_eq!(moved["srcEcgi"]["cellId"], "0000000000000000000000000001");
    assert_eq!(
        moved["trgEcgi"][0]["cellId"],
        "0000000000000000000000000010"
    );
    assert_eq!(moved["hoStatus"], 3);
    assert_eq!(
        moved["associateId"][0],
        json!({ "type": 1, "value": "10.45.0.2" })
    );
    assert_eq!(body("RabEst")["erabQosParameters"]["qci"], 9);
    assert_eq!(body("RabRel")["erabReleaseInfo"]["erabId"], 5);
    assert_eq!(body("MeasRepUe")["rsrp"], 72);
    let quantities =
        &body("NrMeasRepUe")["servCellMeasInfo"][0]["sCell"]["measQuantityResultsSsbCell"];
    assert_eq!(*quantities, json!({ "rsrp": 90, "sinr": 60 }));
    assert_eq!(body("MeasTa")["timingAdvance"], 31);
    let added = &body("CaReconf")["secondaryCellAdd"][0]["ecgi"]["cellId"];
    assert_eq!(added, "0000000000000000000000000010");
    assert_eq!(
        body("S1Bearer")["s1UeInfo"]["s1BearerInfo"][0]["enbInfo"]["tunnelId"],
        "11"
    );
    for received in inbox.received() {
        let link = received.body["subscription"][0]["href"]
            .as_str()
            .expect("a link")
            .to_owned();
        assert_eq!(received.body["_links"][0]["self"]["href"], link);
        assert!(received.body["timeStamp"]["seconds"].is_u64());
    }
    // guaranteed bearers are of another class than the one subscribed to
    assert!(inbox.received().iter().all(|r| r.body["erabId"] != 6));
    until("counted", || {
        let delivered = [("outcome", "delivered")];
        world.counted("brimful_rnis_notifications_total", &delivered) >= names.len() as f64
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_websocket_gets_them_and_only_one() {
    let mut world = open("max-age = \"60 s\"").await;
    let client = world.client("all").await;
    let body = json!({
        "subscriptionType": "RabEstSubscription",
        "filterCriteriaQci": { "qci": 1 },
        "callbackReference": "http://127.0.0.1:9/",
        "websockNotifConfig": { "requestWebsocketUri": true },
    });
    let created = client.post(SUBSCRIPTIONS, &body).await;
    let path = path_of(&created);
    assert!(
        created.json().get("callbackReference").is_none(),
        "only what was chosen is shown"
    );
    let mut first = socket(&client, &created).await;
    let held = format!("{path}/websocket");
    let upgrade = [
        ("connection", "upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "AAAAAAAAAAAAAAAAAAAAAA=="),
    ];
    client.send("GET", &held, &upgrade, b"").await.problem(409);
    client.get(&held).await.problem(400);
    world.cell.report(&usual(20)).await;
    let notification = next(&mut first).await;
    assert_eq!(notification["notificationType"], "RabEstNotification");
    assert_eq!(notification["erabId"], 6);
    // the end of the subscription is the end of the connection
    assert_eq!(client.send("DELETE", &path, &[], b"").await.status, 204);
    loop {
        match first.next().await {
            None | Some(Ok(Message::Close(_)) | Err(Error::Protocol(_) | Error::Io(_))) => break,
            Some(Ok(Message::Ping(_))) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_notification_decides_on_the_delivery() {
    let world = open("").await;
    let client = world.client("all").await;
    let good = Inbox::open().await;
    let bad = Inbox::answering(|_| StatusCode::NOT_FOUND.into_response()).await;
    let subscribe = async |callback: String, websocket: bool| {
        let body = json!({
            "subscriptionType": "MeasTaSubscription",
            "filterCriteriaAssoc": {},
            "requestTestNotification": true,
            "callbackReference": callback,
            "websockNotifConfig": { "requestWebsocketUri": websocket },
        });
        client.post(SUBSCRIPTIONS, &body).await
    };
    let chosen = subscribe(good.uri("/"), true).await;
    assert_eq!(chosen.json()["callbackReference"], good.uri("/"));
    assert!(chosen.json().get("websockNotifConfig").is_none());
    let test = &good.received()[0].body;
    assert_eq!(test["notificationType"], "TestNotification");
    assert_eq!(
        test["_links"]["subscription"]["href"],
        chosen.header("location")
    );

    let fallback = subscribe(bad.uri("/"), true).await.json();
    assert!(fallback["websockNotifConfig"]["websocketUri"].is_string());
    assert!(fallback.get("callbackReference").is_none());
    let detail = subscribe(bad.uri("/"), false).await.problem(422);
    assert_eq!(detail, "the test notification was not delivered");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_is_notified_of_its_end_and_ends() {
    let world = open("").await;
    let client = world.client("all").await;
    let inbox = Inbox::open().await;
    // a deadline that is past when the request arrives is rejected: then a later one
    let (created, deadline) = until_some("a subscription", async || {
        let now = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .expect("after 1970");
        let deadline = json!({ "seconds": now.as_secs() + 3, "nanoSeconds": 0 });
        let body = json!({
            "subscriptionType": "CaReconfSubscription",
            "filterCriteriaAssoc": {},
            "callbackReference": inbox.uri("/"),
            "expiryDeadline": deadline,
        });
        let created = client.post(SUBSCRIPTIONS, &body).await;
        (created.status != 422).then_some((created, deadline))
    })
    .await;
    let path = path_of(&created);
    until("the notice", || !inbox.received().is_empty()).await;
    let notice = &inbox.received()[0].body;
    assert_eq!(notice["notificationType"], "ExpiryNotification");
    assert_eq!(notice["expiryDeadline"], deadline);
    assert_eq!(
        notice["_links"]["subscription"]["href"],
        created.header("location")
    );
    until("the end", || {
        world.counted("brimful_rnis_subscriptions", &[]) == 0.0
    })
    .await;
    client.get(&path).await.problem(404);
    assert_eq!(inbox.received().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn subscriptions_of_one_client_are_limited_and_a_dead_callback_delays_no_other() {
    let limited = rest().replace("[http]", "[http]\nmax-subscriptions = 2");
    let mut world = world("max-age = \"60 s\"", &format!("{NETWORK}{limited}")).await;
    let client = world.client("all").await;
    let inbox = Inbox::open().await;
    // a server that takes connections and never answers
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let dead = format!("http://{}/", silent.local_addr().expect("its address"));
    for callback in [dead, inbox.uri("/")] {
        let body = json!({
            "subscriptionType": "RabEstSubscription",
            "filterCriteriaQci": { "qci": 9 },
            "callbackReference": callback,
        });
        assert_eq!(client.post(SUBSCRIPTIONS, &body).await.status, 201);
    }
    let third = all_kinds("http://127.0.0.1:9/").swap_remove(0);
    client.post(SUBSCRIPTIONS, &third).await.problem(403);
    world.cell.report(&usual(20)).await;
    until("the living one", || inbox.received().len() == 2).await;
    until("the dead one", || {
        world.counted("brimful_rnis_notifications_total", &[("outcome", "failed")]) >= 1.0
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn notifications_that_are_not_read_are_bounded_in_bytes() {
    let mut world = open("max-age = \"60 s\"").await;
    let client = world.client("all").await;
    let body = json!({
        "subscriptionType": "CaReconfSubscription",
        "filterCriteriaAssoc": {},
        "websockNotifConfig": { "requestWebsocketUri": true },
    });
    let created = client.post(SUBSCRIPTIONS, &body).await;
    assert_eq!(created.status, 201, "{created:?}");
    let cells: Vec<u32> = (1..=31).collect();
    let event = format!(
        r#"{{"cell":1,"ue":"10.45.0.2","event":"carrier-aggregation","added":{cells:?},"removed":{cells:?}}}"#
    );
    let inbox = Inbox::open().await;
    let after = json!({
        "subscriptionType": "MeasTaSubscription",
        "filterCriteriaAssoc": {},
        "callbackReference": inbox.uri("/"),
    });
    assert_eq!(client.post(SUBSCRIPTIONS, &after).await.status, 201);
    // fewer than may wait by their number; what follows is delivered once all have been handed out
    for _ in 0..200 {
        world.cell.send(event.as_bytes()).await;
    }
    let last = br#"{"cell":1,"ue":"10.45.0.2","event":"timing-advance","steps":7}"#;
    world.cell.send(last).await;
    until("the last event", || !inbox.received().is_empty()).await;
    let lost = [("outcome", "lost")];
    let lost = world.counted("brimful_rnis_notifications_total", &lost);
    let mut reader = socket(&client, &created).await;
    let (mut read, mut bytes) = (0.0, 0);
    while read + lost < 200.0 {
        let notification = tokio::time::timeout(HANG_LIMIT, next(&mut reader)).await;
        read += 1.0;
        bytes += notification.expect("one more").to_string().len();
    }
    assert!(bytes <= 256_000 && read > 10.0, "{bytes} bytes had waited");
    // there is room again
    world.cell.send(event.as_bytes()).await;
    let notification = next(&mut reader).await;
    assert_eq!(
        notification["secondaryCellAdd"].as_array().map(Vec::len),
        Some(31)
    );
}
