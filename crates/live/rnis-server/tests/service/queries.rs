//! The queries of MEC 012.

use crate::common::{Answer, NETWORK, Rest, World, report, rest, until_some, usual, world};
use rnis::mec012::WINDOW;
use serde_json::json;
use std::time::Instant;

const QUERIES: &str = "/rni/v2/queries";

#[tokio::test(flavor = "multi_thread")]
async fn rab_info_lists_the_bearers_of_reported_ues() {
    let mut world = world("max-age = \"60 s\"", &format!("{NETWORK}{}", rest())).await;
    world.cell.report(&usual(20)).await;
    world.accepted(1).await;
    let client = world.client("all").await;
    let answer = client
        .get(&format!("{QUERIES}/rab_info?app_ins_id=app-7"))
        .await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), "application/json");
    let info = &answer.json()["RabInfo"];
    assert_eq!(info["appInstanceId"], "app-7");
    let cell = &info["cellUserInfo"][0];
    assert_eq!(cell["ecgi"]["plmn"], json!({ "mcc": "208", "mnc": "95" }));
    assert_eq!(cell["ecgi"]["cellId"], "0000000000000000000000000001");
    let ues = cell["ueInfo"].as_array().expect("a list");
    assert_eq!(ues.len(), 2);
    assert_eq!(
        ues[0]["associateId"],
        json!([
            { "type": 1, "value": "10.45.0.2" }, { "type": 4, "value": "77" },
        ])
    );
    let guaranteed = &ues[0]["erabInfo"][1];
    assert_eq!(guaranteed["erabQosParameters"]["qci"], 1);
    assert_eq!(
        guaranteed["erabQosParameters"]["qosInformation"]["erabGbrDl"],
        2_000_000
    );
    // a UE without configured bearers has the default one; its address came from the mapping
    assert_eq!(ues[1]["associateId"][0]["value"], "10.45.0.3");
    assert_eq!(
        ues[1]["erabInfo"],
        json!([{ "erabId": 5, "erabQosParameters": { "qci": 9 } }])
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn filters_leave_only_what_matches() {
    let mut world = world("max-age = \"60 s\"", &format!("{NETWORK}{}", rest())).await;
    world.cell.report(&usual(20)).await;
    world
        .cell
        .report(&report(2, 20, &[(5, Some([10, 45, 0, 9].into()), 10)]))
        .await;
    world.accepted(2).await;
    let client = world.client("reader").await;
    let count = async |filter: &str| {
        let answer = client.get(&format!("{QUERIES}/rab_info?{filter}")).await;
        assert_eq!(answer.status, 200, "{filter}: {answer:?}");
        let cells = answer.json()["RabInfo"]["cellUserInfo"].clone();
        let ues = |cell: &serde_json::Value| cell["ueInfo"].as_array().map_or(0, Vec::len);
        cells
            .as_array()
            .expect("cells")
            .iter()
            .map(ues)
            .sum::<usize>()
    };
    assert_eq!(count("").await, 3);
    assert_eq!(count("cell_id=0000000000000000000000000010").await, 1);
    assert_eq!(count("cell_id=1,2").await, 3);
    assert_eq!(count("cell_id=1,0x3").await, 2);
    assert_eq!(count("ue_ipv4_address=10.45.0.2,10.45.0.9").await, 2);
    assert_eq!(
        count("ue_ipv4_address=10.45.0.2&ue_ipv4_address=10.45.0.9").await,
        2
    );
    assert_eq!(count("ue_ipv6_address=2001%3Adb8%3A%3A1").await, 0);
    assert_eq!(count("gtp_teid=77").await, 1);
    assert_eq!(count("qci=1").await, 1);
    assert_eq!(count("erab_id=6&erab_gbr_dl=2000000").await, 1);
    assert_eq!(count("erab_gbr_dl=1").await, 0);
    let unknown = client
        .get(&format!("{QUERIES}/rab_info?qcii=1"))
        .await
        .problem(400);
    assert!(
        unknown.contains("\"qcii\"") && unknown.contains("erab_mbr_dl"),
        "{unknown}"
    );
    let word = client
        .get(&format!("{QUERIES}/rab_info?qci=high"))
        .await
        .problem(400);
    assert!(
        word.contains("qci") && word.contains("whole number"),
        "{word}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn plmn_info_is_a_list_with_an_entry_for_each_application() {
    let world = world("", &format!("{NETWORK}{}", rest())).await;
    let client = world.client("all").await;
    let answer = client
        .get(&format!("{QUERIES}/plmn_info?app_ins_id=a,b"))
        .await;
    let list = answer.json();
    assert_eq!(list[1]["appInstanceId"], "b");
    assert_eq!(list[0]["plmn"][1], json!({ "mcc": "001", "mnc": "01" }));
    assert!(list[0]["timeStamp"]["seconds"].as_u64() > Some(1_600_000_000));
    client
        .get(&format!("{QUERIES}/plmn_info"))
        .await
        .problem(400);
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_bearer_info_is_in_the_documents_form_and_the_standards() {
    let mut world = world("max-age = \"60 s\"", &format!("{NETWORK}{}", rest())).await;
    let client = world.client("all").await;
    client
        .get(&format!("{QUERIES}/s1_bearer_info"))
        .await
        .problem(404);
    world.cell.report(&usual(20)).await;
    world.accepted(1).await;
    let answer = client
        .get(&format!("{QUERIES}/s1_bearer_info?temp_ue_id=4711"))
        .await;
    let info = &answer.json()["S1BearerInfo"];
    assert_eq!(info["erabId"], 5);
    assert_eq!(
        info["enbInfo"],
        json!({ "ipAddress": "192.0.2.1", "tunnelId": "11" })
    );
    let ue = &info["s1UeInfo"][0];
    assert_eq!(ue["tempUeId"], json!({ "mmec": "1", "mtmsi": "4711" }));
    assert_eq!(ue["s1BearerInfoDetailed"][0]["sGwInfo"]["tunnelId"], "12");
    client
        .get(&format!("{QUERIES}/s1_bearer_info?erab_id=6"))
        .await
        .problem(404);
}

/// A service with ten reports, and its measurements; none if this took so long that a window of
/// measurement ended among them.
async fn ten_reports() -> Option<(Rest, Answer, World)> {
    let mut world = world("max-age = \"60 s\"", &format!("{NETWORK}{}", rest())).await;
    let client = world.client("all").await;
    let start = Instant::now();
    for slot in 1..=10 {
        world.cell.report(&usual(20 * slot)).await;
    }
    world.accepted(10).await;
    let answer = client.get(&format!("{QUERIES}/layer2_meas")).await;
    let is_one_window = start.elapsed().as_nanos() < u128::from(WINDOW.as_nanos());
    is_one_window.then_some((client, answer, world))
}

#[tokio::test(flavor = "multi_thread")]
async fn layer2_meas_adds_up_prbs_bytes_and_active_ues() {
    let (client, answer, _world) = until_some("ten reports in one window", ten_reports).await;
    let meas = &answer.json()["L2Meas"];
    let cell = &meas["cellInfo"][0];
    // 40 + 20 of 106 PRBs by UEs, 2 by others
    assert_eq!(cell["dl_nongbr_prb_usage_cell"], 57);
    assert_eq!(cell["dl_total_prb_usage_cell"], 58);
    assert_eq!(cell["dl_gbr_prb_usage_cell"], 0);
    assert_eq!(cell["number_of_active_ue_dl_nongbr_cell"], 2);
    assert!(
        cell.get("ul_total_prb_usage_cell").is_none(),
        "what is not measured is left out"
    );
    let ue = &meas["cellUEInfo"][0];
    assert_eq!(
        ue["associateId"],
        json!({ "type": 1, "value": "10.45.0.2" })
    );
    // 900 bytes in each 20 slots of 0.5 ms; ten of them are 72 kbit
    assert_eq!(ue["dl_nongbr_throughput_ue"], 720);
    assert_eq!(ue["dl_nongbr_data_volume_ue"], 72);

    let count = async |filter: &str, list: &str| {
        let answer = client.get(&format!("{QUERIES}/layer2_meas?{filter}")).await;
        assert_eq!(answer.status, 200, "{filter}: {answer:?}");
        answer.json()["L2Meas"][list].as_array().map_or(0, Vec::len)
    };
    assert_eq!(count("dl_total_prb_usage_cell=58", "cellInfo").await, 1);
    assert_eq!(count("dl_total_prb_usage_cell=59", "cellInfo").await, 0);
    assert_eq!(count("ul_gbr_pdr_cell=0", "cellInfo").await, 0);
    assert_eq!(count("ue_ipv4_address=10.45.0.3", "cellUEInfo").await, 1);
    // the document's misspelt parameter and the standard's
    for name in ["selecte", "selected"] {
        let filter = format!("received_randomly_{name}_preambles_low_range_cell=1");
        assert_eq!(count(&filter, "cellInfo").await, 0);
    }
    let long = format!("{QUERIES}/layer2_meas?cell_id={}", "1,".repeat(3_000));
    client.get(&long).await.problem(414);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cell_whose_reports_stop_is_not_listed() {
    let mut world = world(
        "max-age = \"50 ms\"",
        &format!("{NETWORK}{}\n[metrics]\nlisten = \"127.0.0.1:0\"\n", rest()),
    )
    .await;
    world.cell.report(&usual(20)).await;
    world.accepted(1).await;
    let mut metrics = world.client("all").await;
    let client = metrics.clone();
    until_some("the report expires", async || {
        let answer = client.get(&format!("{QUERIES}/layer2_meas")).await;
        (answer.json()["L2Meas"]["cellInfo"] == json!([])).then_some(())
    })
    .await;
    metrics.address = world.service.metrics_address().expect("metrics");
    metrics.token = None;
    let text = String::from_utf8(metrics.get("/metrics").await.body).expect("text");
    assert!(
        text.contains("\nbrimful_rnis_cells 0\nbrimful_rnis_cells_silent 1\n")
            || (text.contains("\nbrimful_rnis_cells 0\n")
                && text.contains("\nbrimful_rnis_cells_silent 1\n")),
        "{text}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_json_or_none() {
    let world = world("", &rest()).await;
    let client = world.client("all").await;
    let path = format!("{QUERIES}/layer2_meas");
    let accepting = async |accept| client.send("GET", &path, &[("accept", accept)], b"").await;
    assert_eq!(accepting("application/*").await.status, 200);
    accepting("text/html").await.problem(406);
    client.send("POST", &path, &[], b"").await.problem(405);
    client.get("/rni/v2/queries/nothing").await.problem(404);
    client.get("/").await.problem(404);
}
