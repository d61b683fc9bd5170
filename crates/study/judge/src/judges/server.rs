//! The servers of pages, of downloads over QUIC, and of HTTPS before the lab's own.

use super::certificate::Certificate;
use crate::judge::Problem;
use crate::need::Need;
use crate::stage::Stage;
use lab::Host;
use std::net::Ipv4Addr;
use std::path::Path;

pub(super) const NGINX: Need = Need::Program("nginx");

/// UDP payload of the lab's paths: MTU 1500 less the headers of IPv4 and UDP.
const MTU: u16 = 1472;
/// What a connection may send ahead of acknowledgements: no queue of a cell is to be longer.
const WINDOW: &str = "16 MB";

/// A folder of files, and the certificate by which they are served.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site<'a> {
    pub(super) root: &'a Path,
    pub(super) certificate: &'a Certificate,
}

/// Starts `brimful quic serve`: HTTP/3, of a site's files or of bytes.
pub(super) fn start_quic(
    stage: &mut Stage<'_, '_>,
    name: &str,
    port: u16,
    site: Option<Site<'_>>,
) -> Result<(), Problem> {
    let text = quic_configuration(stage.address(Host::Server), port, site);
    let path = stage.write(&format!("{name}.toml"), &text)?;
    let mut command = stage.brimful();
    command.args(["quic", "serve", "--config"]).arg(path);
    stage.start_service(Host::Server, name, command, |output| {
        let texts = [&output.stdout, &output.stderr];
        texts.iter().any(|text| text.contains("listening"))
    })
}

fn quic_configuration(address: Ipv4Addr, port: u16, site: Option<Site<'_>>) -> String {
    let (certificate, http) = match site {
        Some(Site { root, certificate }) => (
            format!(
                "chain = {:?}\nkey = {:?}",
                certificate.chain, certificate.key
            ),
            format!("root = {root:?}"),
        ),
        None => (
            "self-signed = [\"server\"]".to_owned(),
            "largest = \"1 TB\"".to_owned(),
        ),
    };
    format!(
        "listen = [\"{address}:{port}\"]\n[certificate]\n{certificate}\n[http]\n{http}\n\
         [transport]\nmtu = {MTU}\n[limits]\nwindow = \"{WINDOW}\"\n"
    )
}

/// Starts nginx: HTTP/2 over TLS.
pub(super) fn start_nginx(
    stage: &mut Stage<'_, '_>,
    port: u16,
    site: Site<'_>,
) -> Result<(), Problem> {
    let text = nginx_configuration(stage.address(Host::Server), port, site, stage.scratch());
    let path = stage.write("nginx.conf", &text)?;
    let mut command = stage.command(NGINX);
    command.arg("-p").arg(stage.scratch()).arg("-c").arg(path);
    command.args(["-e", "stderr"]);
    // it states how it waits for events once its sockets are open
    stage.start_service(Host::Server, "nginx", command, |output| {
        output.stderr.contains("event method")
    })
}

/// One process that writes nowhere but into this folder.
fn nginx_configuration(address: Ipv4Addr, port: u16, site: Site<'_>, folder: &Path) -> String {
    let kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let temporary = kinds.map(|kind| format!("{kind}_temp_path {:?};", folder.join(kind)));
    format!(
        "daemon off; master_process off; error_log stderr notice; pid {pid:?};\n\
         events {{ worker_connections 256; }}\n\
         http {{\n\
         access_log off; sendfile on; tcp_nopush on; {temporary}\n\
         types {{ text/html html; text/css css; text/javascript js; image/bmp bmp; }}\n\
         server {{ listen {address}:{port} ssl http2; root {root:?};\n\
         ssl_certificate {chain:?}; ssl_certificate_key {key:?}; }}\n\
         }}\n",
        pid = folder.join("nginx.pid"),
        temporary = temporary.join(" "),
        root = site.root,
        chain = site.certificate.chain,
        key = site.certificate.key,
    )
}
