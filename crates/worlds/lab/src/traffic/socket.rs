//! TCP sockets as the scenario needs them.

use super::{FlowContext, Stamp, TICK};
use crate::Error;
use crate::cdbe;
use crate::fit::{kernel_name, known};
use crate::names::{SERVER_ADDRESS, flow_port};
use crate::topology::ECN_MARK;
use cc::meld::Variant;
use kernel_cc::meld::ROUND;
use rustix::io::Errno;
use rustix::net::sockopt::{
    Timeout, set_socket_recv_buffer_size_force, set_socket_reuseaddr,
    set_socket_send_buffer_size_force, set_socket_timeout, set_tcp_congestion, set_tcp_nodelay,
};
use rustix::net::{AddressFamily, SocketAddrV4, SocketFlags, SocketType, ipproto, socket_with};
use scenario::{AppSpec, Direction, EcnSpec, FlowSpec, TcpSpec, Transport};
use std::os::fd::OwnedFd;

/// Bytes of the timestamps option with its padding (RFC 7323 appendix A): Linux counts it as part of
/// the MSS, scenarios do not.
const TIMESTAMPS: u64 = 12;
/// Largest MSS of a scenario: MTU 1500 less the headers of IPv4 and TCP, less the timestamps.
const MAX_MSS: u64 = 1500 - 40 - TIMESTAMPS;

/// Largest payload of a datagram: MTU 1500 less the headers of IPv4 and UDP.
const MAX_DATAGRAM: u64 = 1500 - 28;

/// Whether the kernel can run a flow. `available` is what the kernel reports of its congestion controls.
///
/// # Errors
/// What it cannot do.
pub(crate) fn check_flow(flow: &FlowSpec, available: &str) -> Result<(), Error> {
    let refuse = |why: String| {
        Err(Error::Unsupported {
            what: format!("flow {:?}", flow.name),
            why,
        })
    };
    if matches!(flow.app, AppSpec::Video(_) | AppSpec::Page(_)) {
        return refuse(
            "the lab has no video player and no browser: take --world sim, or app = { kind = \"web\", \
             ... }"
                .to_owned(),
        );
    }
    if flow.transport != Transport::Quic
        && let Some(why) = cdbe::refused(flow)
    {
        return refuse(why);
    }
    if matches!(flow.app, AppSpec::Call(_)) {
        return refuse(
            "the lab has no end of a call: take --world sim, or app = { kind = \"voip\" }; calls of \
             browsers are measured apart from scenarios"
                .to_owned(),
        );
    }
    let payload = match flow.app {
        AppSpec::Cbr { packet, .. } | AppSpec::Voip { packet, .. } => Some(packet),
        AppSpec::Gaming { packet, .. } => Some(packet),
        _ => None,
    };
    if let Some(payload) = payload {
        let range = Stamp::LENGTH as u64..=MAX_DATAGRAM;
        return match range.contains(&payload.get()) {
            true => Ok(()),
            false => refuse(format!(
                "packets of {payload}; in the lab they carry {} B (a time stamp) to {} B (MTU 1500)",
                range.start(),
                range.end()
            )),
        };
    }
    if flow.transport == Transport::Quic {
        return crate::quic::check(flow).or_else(refuse);
    }
    if flow.meld.is_some() && !ROUND.contains(&flow.cc.name.as_str()) {
        return refuse(format!(
            "in the kernel MELD is round {} only, not {:?}: take one of them, meld = \"off\", or --world sim",
            ROUND.join(" and "),
            flow.cc.name
        ));
    }
    if flow.meld == Some(Variant::Yielding) {
        return refuse(
            "in the kernel MELD yields to no flow: take meld = \"default\", transport = \"quic\", or --world sim"
                .to_owned(),
        );
    }
    if cdbe::is_server(&flow.cc.name) && flow.direction == Direction::Up {
        return refuse(
            "in the lab only servers pace by reports: take another cc, or --world sim".to_owned(),
        );
    }
    if !known(available).any(|known| known == kernel_name(&flow.cc.name)) {
        let known = known(available).collect::<Vec<_>>().join(", ");
        return refuse(format!(
            "this kernel's TCP has no {:?}; it has {known} (newreno is its reno): choose one of \
             them, or take --world sim",
            flow.cc.name
        ));
    }
    match flow.ecn {
        EcnSpec::L4s => {
            return refuse(
                "ecn is \"l4s\": the kernel's TCP sends no ECT(1); take ecn = \"classic\", or \
                 --world sim"
                    .to_owned(),
            );
        }
        EcnSpec::Off if flow.cc.name == "dctcp" => {
            return refuse(
                "the kernel's dctcp always uses ECN: take ecn = \"classic\", or --world sim"
                    .to_owned(),
            );
        }
        EcnSpec::Off | EcnSpec::Classic => {}
    }
    if flow.tcp.mss.get() > MAX_MSS {
        return refuse(format!(
            "tcp.mss is {}, and the lab's interfaces carry at most {MAX_MSS} B (MTU 1500, less \
             headers and timestamps)",
            flow.tcp.mss
        ));
    }
    Ok(())
}

/// The options of both ends.
fn configure(socket: &OwnedFd, congestion: &str, tcp: &TcpSpec) -> Result<(), Error> {
    let failed =
        |option: &str| Error::system::<std::io::Error>(format!("set {option} of a socket"));
    let bytes = |n: u64| i32::try_from(n).unwrap_or(i32::MAX);
    set_tcp_congestion(socket, congestion).map_err(|e| failed("TCP_CONGESTION")(e.into()))?;
    set_tcp_nodelay(socket, true).map_err(|e| failed("TCP_NODELAY")(e.into()))?;
    let mss = bytes(tcp.mss.get() + TIMESTAMPS);
    socket_options::set_int(socket, libc::IPPROTO_TCP, libc::TCP_MAXSEG, mss)
        .map_err(failed("TCP_MAXSEG"))?;
    // The kernel counts its overhead too, as much again as payload at worst, and doubles what it is
    // reported: the clamp then makes the window what the scenario states.
    let buffer = tcp.receive_buffer.get();
    set_socket_recv_buffer_size_force(socket, buffer as usize)
        .map_err(|e| failed("SO_RCVBUFFORCE")(e.into()))?;
    socket_options::set_int(
        socket,
        libc::IPPROTO_TCP,
        libc::TCP_WINDOW_CLAMP,
        bytes(buffer),
    )
    .map_err(failed("TCP_WINDOW_CLAMP"))?;
    // doubled by the kernel; a tenth is overhead
    let buffer = tcp.send_buffer.get() * 11 / 20;
    set_socket_send_buffer_size_force(socket, buffer as usize)
        .map_err(|e| failed("SO_SNDBUFFORCE")(e.into()))?;
    let tick = Some(core::time::Duration::from_nanos(TICK.as_nanos()));
    for which in [Timeout::Recv, Timeout::Send] {
        set_socket_timeout(socket, which, tick).map_err(|e| failed("a timeout")(e.into()))?;
    }
    Ok(())
}

fn tcp_socket() -> Result<OwnedFd, Error> {
    socket_with(
        AddressFamily::INET,
        SocketType::STREAM,
        SocketFlags::CLOEXEC,
        Some(ipproto::TCP),
    )
    .map_err(Error::system("make a socket"))
}

/// The listening socket of a flow's server, in the calling thread's namespace.
pub(crate) fn listen(context: &FlowContext) -> Result<OwnedFd, Error> {
    let socket = tcp_socket()?;
    configure(&socket, &context.congestion, &context.spec.tcp)?;
    let address = SocketAddrV4::new(SERVER_ADDRESS, flow_port(context.index));
    let work = || -> rustix::io::Result<()> {
        set_socket_reuseaddr(&socket, true)?;
        rustix::net::bind(&socket, &address)?;
        rustix::net::listen(&socket, 1024)
    };
    work().map_err(Error::system(format!("listen at {address}")))?;
    Ok(socket)
}

/// The next connection of a client; none once the run is over.
pub(crate) fn accept(context: &FlowContext, listener: &OwnedFd) -> Result<Option<OwnedFd>, Error> {
    while !context.has_stopped() {
        match rustix::net::accept(listener) {
            Ok(socket) => {
                configure(&socket, &context.congestion, &context.spec.tcp)?;
                return Ok(Some(socket));
            }
            Err(Errno::AGAIN | Errno::INTR | Errno::CONNABORTED) => {}
            Err(error) => return Err(Error::system("accept a connection")(error)),
        }
    }
    Ok(None)
}

/// Prints on stderr if a connection has not got the ECN that its flow requests. The kernel gives it up
/// when a SYN has to be repeated, as RFC 3168 6.1.1.1 advises.
fn check_ecn(context: &FlowContext, socket: &OwnedFd) {
    if context.has_ecn && socket_options::tcp_info(socket).is_ok_and(|info| !info.has_ecn) {
        crate::note::note(format_args!(
            "flow {:?}: the kernels did not agree on ECN for one of its connections (its SYN \
             was repeated, or the kernel is set otherwise)",
            context.spec.name
        ));
    }
}

/// A connection to the flow's server from the calling thread's namespace; none once the run is over.
pub(crate) fn connect(context: &FlowContext) -> Result<Option<OwnedFd>, Error> {
    let socket = tcp_socket()?;
    configure(
        &socket,
        kernel_name(&context.spec.cc.name),
        &context.spec.tcp,
    )?;
    if context.spec.ecn != EcnSpec::Off {
        socket_options::set_int(&socket, libc::SOL_SOCKET, libc::SO_MARK, ECN_MARK)
            .map_err(Error::system("set SO_MARK of a socket"))?;
    }
    let address = SocketAddrV4::new(SERVER_ADDRESS, flow_port(context.index));
    loop {
        match rustix::net::connect(&socket, &address) {
            Ok(()) | Err(Errno::ISCONN) => {
                check_ecn(context, &socket);
                return Ok(Some(socket));
            }
            // not yet, after the timeout
            Err(Errno::INPROGRESS | Errno::ALREADY | Errno::INTR) if !context.has_stopped() => {}
            Err(_) if context.has_stopped() => return Ok(None),
            Err(error) => return Err(Error::system(format!("connect to {address}"))(error)),
        }
    }
}
