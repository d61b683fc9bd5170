//! What clients and ETSI's robot suite of MEC 012 expect beyond the document.

use crate::common::{FORM, NETWORK, connect, rest, until, usual, world};
use crate::inbox::Inbox;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const QUERIES: &str = "/rni/v2/queries";
const SUBSCRIPTIONS: &str = "/rni/v2/subscriptions";

/// More keys in `[http]`.
fn rest_with(keys: &str) -> String {
    rest().replace("[http]", &format!("[http]\n{keys}"))
}

/// The head of an answer as it is sent.
async fn head(keys: &str) -> String {
    let world = world("", &rest_with(keys)).await;
    let mut stream = connect(world.service.http_address().expect("an interface")).await;
    let request = b"GET /x HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    stream.write_all(request).await.expect("written");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("text");
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn header_names_are_in_title_case_or_as_configured() {
    let default = head("").await;
    assert!(
        default.contains("\r\nContent-Type: application/problem+json\r\n"),
        "{default}"
    );
    assert!(default.contains("\r\nWww-Authenticate: "), "{default}");
    let lower = head("header-names = \"lower-case\"").await;
    assert!(
        lower.contains("\r\ncontent-type: application/problem+json\r\n"),
        "{lower}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_wrapped_or_bare_as_configured() {
    for (keys, is_bare) in [("", false), ("answers = \"bare\"", true)] {
        let tables = format!("{NETWORK}{}", rest_with(keys));
        let mut world = world("max-age = \"60 s\"", &tables).await;
        world.cell.report(&usual(20)).await;
        world.accepted(1).await;
        let client = world.client("all").await;
        for (path, name, field) in [
            ("/rni/v2/queries/rab_info", "RabInfo", "cellUserInfo"),
            ("/rni/v2/queries/layer2_meas", "L2Meas", "cellInfo"),
            ("/rni/v2/queries/s1_bearer_info", "S1BearerInfo", "enbInfo"),
            (SUBSCRIPTIONS, "SubscriptionLinkList", "_links"),
        ] {
            let answer = client.get(path).await.json();
            let inner = if is_bare { &answer } else { &answer[name] };
            assert!(!inner[field].is_null(), "{keys} {path}: {answer}");
        }
        let plmn = client
            .get(&format!("{QUERIES}/plmn_info?app_ins_id=a"))
            .await;
        assert!(plmn.json()[0]["plmn"].is_array(), "a list in both forms");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_cell_is_answered_alike_by_every_query() {
    let mut world = world("max-age = \"60 s\"", &format!("{NETWORK}{}", rest())).await;
    world.cell.report(&usual(20)).await;
    world.accepted(1).await;
    let client = world.client("all").await;
    let mut details = Vec::new();
    for query in ["rab_info", "s1_bearer_info", "layer2_meas"] {
        let answer = client
            .get(&format!("{QUERIES}/{query}?cell_id=0x7654321"))
            .await;
        details.push(answer.problem(404));
        let known = client.get(&format!("{QUERIES}/{query}?cell_id=1")).await;
        assert_eq!(known.status, 200, "{query}");
    }
    assert!(
        details.iter().all(|detail| *detail == details[0]),
        "{details:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_match_nothing_is_refused() {
    let world = world("", &format!("{NETWORK}{}", rest())).await;
    let client = world.client("all").await;
    for query in ["rab_info", "s1_bearer_info", "layer2_meas"] {
        for filter in [
            "cell_id=zzz",
            "cell_id=",
            "cell_id=1,zzz",
            "ue_ipv4_address=999.1.1.1",
            "ue_ipv4_address=2001:db8::1",
            "ue_ipv6_address=zzz",
            "nated_ip_address=zzz",
            "gtp_teid=zzz",
        ] {
            client
                .get(&format!("{QUERIES}/{query}?{filter}"))
                .await
                .problem(400);
        }
    }
    for query in ["rab_info", "s1_bearer_info"] {
        client
            .get(&format!("{QUERIES}/{query}?erab_id=999"))
            .await
            .problem(400);
    }
    let cell = |id: &str| json!([{ "plmn": { "mcc": "001", "mnc": "01" }, "cellId": id }]);
    for criteria in [
        json!({ "ecgi": cell("zzz") }),
        json!({ "associateId": [{ "type": 1, "value": "999.1.1.1" }] }),
        json!({ "associateId": [{ "type": 4, "value": "zzz" }] }),
    ] {
        let body = json!({
            "subscriptionType": "MeasRepUeSubscription",
            "callbackReference": "http://127.0.0.1:9/",
            "filterCriteriaAssocTri": criteria,
        });
        client.post(SUBSCRIPTIONS, &body).await.problem(400);
    }
    let body = json!({
        "subscriptionType": "RabRelSubscription",
        "callbackReference": "http://127.0.0.1:9/",
        "filterCriteriaQci": { "qci": 9, "erabId": 99 },
    });
    client.post(SUBSCRIPTIONS, &body).await.problem(400);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_malformed_event_is_counted_as_one() {
    let mut world = world("", "").await;
    let line = br#"{"cell":1,"ue":"10.45.0.2","event":"measurement","rsrp":72}"#;
    world.cell.send(line).await;
    world.cell.send(b"nonsense").await;
    let refused = |reason| {
        let labels = [("source", "cell"), ("reason", reason)];
        world.counted("brimful_rnis_refused_total", &labels)
    };
    until("both are refused", || {
        refused("event") + refused("form") == 2.0
    })
    .await;
    assert_eq!((refused("event"), refused("form")), (1.0, 1.0));
}

#[tokio::test(flavor = "multi_thread")]
async fn links_of_notifications_are_the_documents_or_an_object() {
    for (keys, is_object) in [("", false), ("notification-links = \"object\"", true)] {
        let mut world = world("", &format!("{NETWORK}{}", rest_with(keys))).await;
        let client = world.client("all").await;
        let inbox = Inbox::open().await;
        let body = json!({
            "subscriptionType": "MeasTaSubscription",
            "callbackReference": inbox.uri("/"),
            "filterCriteriaAssoc": {},
        });
        let created = client.post(SUBSCRIPTIONS, &body).await;
        let event = br#"{"cell":1,"ue":"10.45.0.2","event":"timing-advance","steps":7}"#;
        world.cell.send(event).await;
        until("the notification", || !inbox.received().is_empty()).await;
        let body = &inbox.received()[0].body;
        let href = json!(created.header("location"));
        if is_object {
            assert_eq!(body["_links"]["subscription"]["href"], href);
            assert_eq!(body["subscription"], Value::Null);
        } else {
            assert_eq!(body["_links"], json!([{ "self": { "href": href } }]));
            assert_eq!(body["subscription"], json!([{ "href": href }]));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_has_the_scope_that_was_requested() {
    let world = world("", &rest()).await;
    let mut client = world.client("all").await;
    client.token = None;
    let request = async |id: &str, scope: &str| {
        let form = format!(
            "grant_type=client_credentials&client_id={id}&client_secret=secret&scope={scope}"
        );
        client
            .send("POST", "/oauth2/token", &[FORM], form.as_bytes())
            .await
    };
    let narrow = request("all", "query").await.json();
    assert_eq!(narrow["scope"], "query");
    let mut narrowed = client.clone();
    narrowed.token = narrow["access_token"].as_str().map(str::to_owned);
    assert_eq!(
        narrowed.get(&format!("{QUERIES}/layer2_meas")).await.status,
        200
    );
    narrowed.get(SUBSCRIPTIONS).await.problem(403);
    assert_eq!(
        request("all", "subscribe+query").await.json()["scope"],
        "query subscribe"
    );
    assert_eq!(request("all", "").await.json()["scope"], "query subscribe");
    for (id, scope) in [
        ("reader", "subscribe"),
        ("all", "everything"),
        ("all", "query+x"),
    ] {
        let answer = request(id, scope).await;
        assert_eq!(answer.status, 400, "{id} {scope}");
        assert_eq!(answer.json()["error"], "invalid_scope");
    }
}
