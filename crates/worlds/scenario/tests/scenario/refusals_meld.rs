//! What is refused of MELD and QUIC, and what is accepted.

use crate::one_flow::{BULK, CELL, LINK, read, refused};
use cc::meld::Variant;
use scenario::{ChannelSpec, Transport};
use units::Duration;

#[test]
fn meld_is_for_data_that_crosses_a_cell_to_the_user() {
    let bulk = |lines: &str| format!("{lines}\n{BULK}");
    refused(
        CELL,
        &bulk("meld = \"dee\""),
        "",
        &[":9:", "\"de\"", "\"default\""],
    );
    let up = bulk("meld = \"de\"\ndirection = \"up\"");
    refused(CELL, &up, "", &["data towards the user"]);
    let udp = "app = { kind = \"voip\" }\nmeld = \"me\"\n";
    refused(CELL, udp, "", &[":11:", "no congestion control"]);
    refused(
        LINK,
        &bulk("meld = \"de\""),
        "",
        &["\"one\"", "gives no radio reports"],
    );
}

#[test]
fn the_proxy_and_the_servers_read_the_same_reports() {
    let flow = format!("meld = \"default\"\n{BULK}");
    let pep = "[pep]\nmode = \"default\"\nreport-period = \"2 ms\"\n";
    let two = format!("{pep}[meld]\nreport-period = \"8 ms\"\n");
    refused(CELL, &flow, &two, &["the proxy's period is 2 ms"]);
    let one = read(CELL, &flow, pep).expect("valid");
    assert_eq!(one.meld.reports.period, Duration::from_millis(2));
    let gap = "[meld]\nreport-gap = \"1 s\"\n";
    refused(CELL, &flow, gap, &["leaves none of each 1 s"]);
}

#[test]
fn what_runs_over_tcp_runs_over_quic() {
    let quic = format!("transport = \"quic\"\nmeld = \"me\"\n{BULK}");
    let quic = read(CELL, &quic, "").expect("valid");
    assert_eq!(quic.flows[0].transport, Transport::Quic);
    assert_eq!(quic.flows[0].meld, Some(Variant::MixedEnhancement));
    assert!(!quic.flows[0].intercepted);
    assert_eq!(quic.meld.reports.period, Duration::from_millis(8));
    assert_eq!(quic.meld.max_age, Duration::from_millis(40));
    let taken = format!("transport = \"quic\"\nintercepted = true\n{BULK}");
    refused(CELL, &taken, "", &["TCP flows only"]);
    let voip = "app = { kind = \"voip\" }\ntransport = \"quic\"\n";
    refused(
        CELL,
        voip,
        "",
        &["does not run over quic", "it uses \"udp\""],
    );
}

#[test]
fn an_interferer_of_a_constant_sinr() {
    let cell = |interferer: &str| {
        format!(
            "[cell]\nrat = \"lte\"\nbandwidth = \"5 MHz\"\nbler-family = \"oai-lte\"\n[ue.phone.channel]\n\
             kind = \"constant-sinr\"\nsinr = \"25 dB\"\ninterferer = {{ {interferer} }}\n"
        )
    };
    let times = "mean-on = \"7 ms\", mean-off = \"25 ms\"";
    let good = cell(&format!("drop = \"12 dB\", {times}"));
    let good = read(&good, BULK, "").expect("valid");
    let ChannelSpec::ConstantSinr {
        fades: Some(fades), ..
    } = good.ues[0].channel
    else {
        panic!("{:?}", good.ues[0].channel)
    };
    assert_eq!(fades.mean_off, Duration::from_millis(25));
    refused(&cell(times), BULK, "", &[":11:", "no key \"drop\""]);
    let up = cell(&format!("drop = \"-3 dB\", {times}"));
    refused(&up, BULK, "", &[":11:", "-3 dB", "0 dB"]);
    let never = cell("drop = \"3 dB\", mean-on = \"0 s\", mean-off = \"1 s\"");
    refused(&never, BULK, "", &[":11:", "1 us"]);
}
