//! How a client comes to a connection: the addresses of its host, and an attempt at each.

mod unreachable;

use super::Client;
use crate::metered::{Meter, Metered};
use crate::{QuicError, epoch, tls};
use cc::cdbe::estimator::Estimator;
use quinn::{
    ClientConfig, Connection, ConnectionError, Endpoint, EndpointConfig, TransportConfig,
    TransportErrorCode, VarInt,
};
use quinn_cc::{AdapterFactory, Monitor, Reporting, allow_reports};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Instant;
use tokio::task::JoinSet;
use unreachable::Unreachable;

/// What a client takes ahead of its application: enough for 1 Gbit/s at 130 ms.
const RECEIVE_WINDOW: u32 = 16 << 20;
/// TLS: the issuer of the server's certificate is unknown (RFC 8446 6.2).
const UNKNOWN_CA: u8 = 48;

/// Between the beginnings of two attempts (RFC 8305 8).
const STAGGER: std::time::Duration = std::time::Duration::from_millis(250);
/// Maximum number of addresses of a host that are tried.
const MAX_ADDRESSES: usize = 8;

impl Client {
    /// To the first of the host's addresses that answers. Each gets a little time before the next is
    /// tried beside it (RFC 8305 5).
    pub(super) async fn connect(
        &self,
        host: &str,
        port: u16,
        protocol: &[u8],
        monitor: &Monitor,
    ) -> Result<Made, QuicError> {
        let addresses = resolve(host, port, self.options.bind).await?;
        let mut config = ClientConfig::new(Arc::new(tls::client(&self.options.trust, protocol)?));
        let mut transport = TransportConfig::default();
        transport.stream_receive_window(VarInt::from_u32(RECEIVE_WINDOW));
        if let Some(mtu) = self.options.mtu {
            transport.initial_mtu(mtu).mtu_discovery_config(None);
        }
        if self.options.report.is_some() {
            allow_reports(&mut transport);
        }
        let factory = AdapterFactory::named(epoch(), "cubic", None)?.with_monitor(monitor.clone());
        transport.congestion_controller_factory(Arc::new(factory));
        config.transport_config(Arc::new(transport));
        let mut attempts = JoinSet::new();
        for (turn, address) in (0..).zip(addresses) {
            let (config, host, bind) = (config.clone(), host.to_owned(), self.options.bind);
            let meter = self.options.report.map(|config| {
                let reporting = Reporting::new(Box::new(Estimator::new(config)));
                Meter::new(reporting, address, monitor.clone())
            });
            attempts.spawn(async move {
                tokio::time::sleep(STAGGER * turn).await;
                attempt(address, bind, config, &host, meter).await
            });
        }
        let mut fault = None;
        while let Some(ended) = attempts.join_next().await {
            match ended.map_err(|error| QuicError::System(error.into()))? {
                Ok(made) => return Ok(made),
                Err(error) => fault = fault.or(Some(error)),
            }
        }
        Err(fault.unwrap_or_else(|| no_address(host, "has no address")))
    }
}

/// A connection, and when its first packet left.
pub(super) struct Made {
    pub(super) endpoint: Endpoint,
    pub(super) connection: Connection,
    pub(super) meter: Option<Meter>,
    pub(super) began: Instant,
}

/// An endpoint with a socket of its own, which passes to the meter what arrives, and what watches it.
fn endpoint(bind: SocketAddr, meter: Option<&Meter>) -> io::Result<(Endpoint, Unreachable)> {
    let runtime =
        quinn::default_runtime().ok_or_else(|| io::Error::other("not in a tokio runtime"))?;
    let socket = UdpSocket::bind(bind)?;
    let unreachable = Unreachable::watch(&socket)?;
    let mut socket = runtime.wrap_udp_socket(socket)?;
    if let Some(meter) = meter {
        socket = Arc::new(Metered::new(socket, meter.clone()));
    }
    let config = EndpointConfig::default();
    let endpoint = Endpoint::new_with_abstract_socket(config, None, socket, runtime)?;
    Ok((endpoint, unreachable))
}

/// Why a handshake has failed.
fn unconnected(error: &ConnectionError, address: SocketAddr) -> QuicError {
    let problem = match error {
        ConnectionError::TimedOut => {
            "no answer: is a server there, and do firewalls let UDP pass?".to_owned()
        }
        other => other.to_string(),
    };
    match error {
        ConnectionError::TransportError(of)
            if of.code == TransportErrorCode::crypto(UNKNOWN_CA) =>
        {
            QuicError::Untrusted { address, problem }
        }
        _ => QuicError::Connection { address, problem },
    }
}

async fn attempt(
    address: SocketAddr,
    bind: Option<SocketAddr>,
    config: ClientConfig,
    host: &str,
    meter: Option<Meter>,
) -> Result<Made, QuicError> {
    let bind = bind.unwrap_or_else(|| any(address));
    let made = endpoint(bind, meter.as_ref());
    let (endpoint, unreachable) = made.map_err(|source| QuicError::Socket {
        address: bind,
        source,
    })?;
    let fault = |problem: String| QuicError::Connection { address, problem };
    let began = Instant::now();
    let connecting = endpoint
        .connect_with(config, address, host)
        .map_err(|error| fault(error.to_string()))?;
    let connection = tokio::select! {
        made = connecting => made.map_err(|error| unconnected(&error, address))?,
        answer = unreachable.answer() => return Err(fault(match answer {
            io::ErrorKind::ConnectionRefused => "nothing listens at this UDP port, its host answers by ICMP".to_owned(),
            _ => "the network answers by ICMP that it cannot be reached".to_owned(),
        })),
    };
    drop(unreachable);
    Ok(Made {
        endpoint,
        connection,
        meter,
        began,
    })
}

/// The address to send from that goes with this server's.
fn any(server: SocketAddr) -> SocketAddr {
    let ip: IpAddr = match server {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    SocketAddr::new(ip, 0)
}

fn no_address(host: &str, problem: impl std::fmt::Display) -> QuicError {
    QuicError::Target {
        target: host.to_owned(),
        problem: problem.to_string(),
    }
}

/// The addresses of a host, of the family that is sent from.
async fn resolve(
    host: &str,
    port: u16,
    bind: Option<SocketAddr>,
) -> Result<Vec<SocketAddr>, QuicError> {
    let found = tokio::net::lookup_host((host, port)).await;
    let found = found.map_err(|error| no_address(host, error))?;
    let fits = |address: &SocketAddr| bind.is_none_or(|bind| bind.is_ipv4() == address.is_ipv4());
    Ok(found.filter(fits).take(MAX_ADDRESSES).collect())
}
