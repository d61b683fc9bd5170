//! Loads of a page in Chromium, over HTTP/3 and HTTP/2.

mod content;
mod loads;

use super::download::{CURL, Download};
use super::scripts::{self, CHROMIUM, PLAYWRIGHT};
use crate::judge::{Judge, Measure, Problem};
use crate::judges::certificate::Certificate;
use crate::judges::server::{self, NGINX, Site};
use crate::run::file;
use crate::stage::Stage;
use lab::Host;
use std::fs;

/// Where the page is.
const PORT: u16 = 8443;
/// Loads that are made in any case, and at most.
const LOADS: [u32; 2] = [3, 10];

pub(in crate::judges) const H3: Judge = Judge {
    name: "page-h3",
    about: "loads of a page of 65 objects and 2 MB over HTTP/3 by Chromium",
    needs: &[CHROMIUM, PLAYWRIGHT],
    run: |stage| run(stage, Protocol::H3, Download::None),
};

pub(in crate::judges) const H3_BESIDE_DOWNLOAD: Judge = Judge {
    name: "page-h3-beside-download",
    about: "loads of the page over HTTP/3 beside a download over TCP of the same UE",
    needs: &[CHROMIUM, PLAYWRIGHT, CURL],
    run: |stage| run(stage, Protocol::H3, Download::Tcp),
};

pub(in crate::judges) const H3_BESIDE_QUIC: Judge = Judge {
    name: "page-h3-beside-quic",
    about: "loads of the page over HTTP/3 beside a download over QUIC of the same UE",
    needs: &[CHROMIUM, PLAYWRIGHT],
    run: |stage| run(stage, Protocol::H3, Download::Quic),
};

pub(in crate::judges) const H2: Judge = Judge {
    name: "page-h2",
    about: "loads of the page over HTTP/2 and TCP from nginx",
    needs: &[CHROMIUM, PLAYWRIGHT, NGINX],
    run: |stage| run(stage, Protocol::H2, Download::None),
};

/// By what the page comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    H2,
    H3,
}

impl Protocol {
    /// As a browser states it (`nextHopProtocol`).
    const fn name(self) -> &'static str {
        match self {
            Self::H2 => "h2",
            Self::H3 => "h3",
        }
    }
}

fn run(
    stage: &mut Stage<'_, '_>,
    protocol: Protocol,
    download: Download,
) -> Result<Vec<Measure>, Problem> {
    let page = content::page();
    let root = stage.scratch().join("site");
    fs::create_dir_all(&root).map_err(file(&root))?;
    for object in &page {
        let path = root.join(&object.name);
        fs::write(&path, &object.bytes).map_err(file(&path))?;
    }
    let certificate = Certificate::write(stage.scratch())?;
    let site = Site {
        root: &root,
        certificate: &certificate,
    };
    match protocol {
        Protocol::H3 => server::start_quic(stage, "server", PORT, Some(site))?,
        Protocol::H2 => server::start_nginx(stage, PORT, site)?,
    }
    let mut command = scripts::command(stage, "page.py")?;
    let [least, most] = LOADS.map(|loads| loads.to_string());
    command.arg(format!("https://server:{PORT}/index.html"));
    command.args(["--key", &certificate.key_hash]);
    command.args(["--least", &least, "--most", &most]);
    command.args(["--seconds", &stage.seconds().to_string()]);
    if protocol == Protocol::H3 {
        command.args(["--quic", &format!("server:{PORT}")]);
    }
    download.add(&mut command, stage)?;
    let output = stage.run(Host::Ue, "page", command)?;
    loads::read(&output.stdout, protocol.name(), page.len())
}
