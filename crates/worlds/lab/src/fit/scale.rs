//! The same experiment on a narrower pipe.
//!
//! A network of queues and windows whose rates, sizes and buffers are all multiplied by one number
//! has the same times: a window fills, a buffer drains, a file ends after as long. What is counted in
//! segments does not scale, and is kept:
//!
//! | scaled | why |
//! | --- | --- |
//! | PRBs of the cell, of the uplink, of others' load; rates of a trace | the pipe itself |
//! | rates of the path, the link, N3 | so that the same hop is the bottleneck |
//! | buffers of path, link, RLC, proxy | a full one drains in the same time |
//! | what queue management in the base station may hold and forward | as buffers; see `queues.rs` |
//! | socket buffers | the largest window is as many round trips' worth |
//! | what clients report before they have measured | as the pipe |
//! | sizes and rates of what flows send | a transfer lasts as long |
//!
//! Kept: all times; MCS, loss and error rates; MSS, initial window and packet sizes (so a window is
//! fewer segments); intervals of web pages, voice and games, and the packets of voice and games (a
//! few kbit/s each, which weigh more on a narrower pipe).

use super::queues::scale_queues;
use radio::trace::Content;
use ran::{BearerConfig, Rat};
use scenario::{
    AccessSpec, AppSpec, CellSpec, CellsSpec, ChannelSpec, Experiment, FlowSpec, LinkSpec,
    LoadSpec, TraceSpec, TunnelAccess, UeSpec,
};
use std::sync::Arc;
use units::{BitRate, Bytes, Prb};

/// Carriers of LTE, PRBs (TS 36.104 Table 5.6-1).
const LTE_CARRIERS: [u16; 6] = [6, 15, 25, 50, 75, 100];
/// Least buffer, in packets of 1500 B: below a few, a queue measures nothing but single packets.
const MIN_BUFFER: Bytes = Bytes::new(10 * 1500);

/// The experiment divided by `divisor` (0 counts as 1), and the exact number by which it was
/// multiplied: a carrier has whole PRBs, and one of LTE one of six widths.
pub fn scaled(experiment: &Experiment, divisor: u32) -> (Experiment, f64) {
    let share = 1.0 / f64::from(divisor.max(1));
    let mut scaled = experiment.clone();
    let of_access = match &mut scaled.access {
        AccessSpec::Link(link) => {
            scale_link(link, share);
            share
        }
        AccessSpec::Cell(cell) => scale_cell(cell, share),
    };
    let of_cells = scaled.cells.as_mut().map(|spec| scale_cells(spec, share));
    let ratio = of_cells.unwrap_or(of_access);
    if let Some(tunnel) = &mut scaled.tunnel {
        for path in &mut tunnel.paths {
            if let TunnelAccess::Link(link) = &mut path.access {
                scale_link(link, ratio);
            }
        }
    }
    scaled.path.rate = rate(scaled.path.rate, ratio);
    scaled.path.buffer = scaled.path.buffer.scaled(ratio);
    scaled.path.queue.scale(ratio);
    scaled.pep.buffer = scaled.pep.buffer.mul_f64(ratio).max(MIN_BUFFER);
    scaled.cdbe.initial_report = cc::RateReport::of(rate(scaled.cdbe.initial_report.rate(), ratio));
    scaled.ues.iter_mut().for_each(|ue| scale_ue(ue, ratio));
    scaled
        .flows
        .iter_mut()
        .for_each(|flow| scale_flow(flow, ratio));
    (scaled, ratio)
}

fn scale_link(link: &mut LinkSpec, ratio: f64) {
    link.rate = rate(link.rate, ratio);
    for (_, step) in &mut link.rate_steps {
        *step = rate(*step, ratio);
    }
    link.uplink_rate = rate(link.uplink_rate, ratio);
    link.buffer = link.buffer.scaled(ratio);
    link.queue.scale(ratio);
}

/// Returns what its PRBs were multiplied by.
fn scale_cell(cell: &mut CellSpec, share: f64) -> f64 {
    let config = &mut cell.config;
    let before = config.n_prb;
    let after = match config.rat {
        Rat::Lte => {
            let max = f64::from(before.get()) * share;
            let narrower = LTE_CARRIERS.iter().rev().find(|&&n| f64::from(n) <= max);
            Prb::new(*narrower.unwrap_or(&LTE_CARRIERS[0]))
        }
        Rat::Nr { .. } => prbs(before, share),
    };
    config.n_prb = after;
    let ratio = f64::from(after.get()) / f64::from(before.get().max(1));
    config.uplink.n_prb = prbs(config.uplink.n_prb, ratio);
    config.n3_rate = config.n3_rate.map(|n3| rate(n3, ratio));
    config.n3_buffer = config.n3_buffer.scaled(ratio);
    if let Some(queues) = &mut config.queues {
        scale_queues(queues, ratio);
    }
    match &mut cell.background {
        LoadSpec::Constant(prb) | LoadSpec::Random { prb, .. } if prb.get() > 0 => {
            *prb = prbs(*prb, ratio);
        }
        // a DCI log's load is a share of its own carrier
        _ => {}
    }
    ratio
}

/// Returns what the PRBs of all cells together were multiplied by.
fn scale_cells(cells: &mut CellsSpec, share: f64) -> f64 {
    let prbs = |cells: &CellsSpec| -> f64 {
        let each = cells.cells.iter();
        each.map(|cell| f64::from(cell.spec.config.n_prb.get()))
            .sum()
    };
    let before = prbs(cells);
    for cell in &mut cells.cells {
        let ratio = scale_cell(&mut cell.spec, share);
        let traces = cell.traces.iter_mut();
        traces.for_each(|trace| scale_trace(trace, ratio));
    }
    prbs(cells) / before.max(1.0)
}

fn scale_ue(ue: &mut UeSpec, ratio: f64) {
    for BearerConfig {
        downlink_buffer,
        uplink_buffer,
        uplink_discipline,
        ..
    } in &mut ue.bearers
    {
        uplink_discipline.scale(ratio);
        *downlink_buffer = downlink_buffer.scaled(ratio);
        *uplink_buffer = uplink_buffer.scaled(ratio);
    }
    if let Some(above) = &mut ue.uplink_queue {
        above.config.buffer = above.config.buffer.mul_f64(ratio).max(Bytes::new(1));
    }
    // a trace that states how much a slot carries states it of the whole carrier
    let downlink = match &mut ue.channel {
        ChannelSpec::Trace(trace) => Some(trace),
        _ => None,
    };
    let traces = downlink.into_iter().chain(&mut ue.uplink);
    traces.for_each(|trace| scale_trace(trace, ratio));
}

fn scale_trace(spec: &mut TraceSpec, ratio: f64) {
    let TraceSpec {
        trace, playback, ..
    } = spec;
    match &trace.content {
        Content::Rate(rates) => {
            let narrower = Content::Rate(rates.scaled(ratio));
            Arc::make_mut(trace).content = narrower;
        }
        Content::Opportunities(_) | Content::PacketsPerTick(_) => {
            playback.packet = playback.packet.mul_f64(ratio).max(Bytes::new(1));
        }
        _ => {}
    }
}

fn scale_flow(flow: &mut FlowSpec, ratio: f64) {
    let min = flow.tcp.mss;
    let smaller = |size: Bytes| size.mul_f64(ratio).max(Bytes::new(1));
    match &mut flow.app {
        AppSpec::Bulk { size } | AppSpec::Short { size, .. } | AppSpec::Ssh { size } => {
            *size = smaller(*size);
        }
        AppSpec::Web {
            size, rate: paced, ..
        } => {
            *size = smaller(*size);
            *paced = paced.map(|paced| rate(paced, ratio));
        }
        AppSpec::Cbr { rate: sent, .. } => *sent = rate(*sent, ratio),
        // videos, pages and calls are refused before
        AppSpec::Continuous
        | AppSpec::Video(_)
        | AppSpec::Page(_)
        | AppSpec::Voip { .. }
        | AppSpec::Gaming { .. }
        | AppSpec::Call(_) => {}
    }
    for buffer in [&mut flow.tcp.receive_buffer, &mut flow.tcp.send_buffer] {
        *buffer = buffer.mul_f64(ratio).max((min * 4).min(*buffer));
    }
}

fn rate(rate: BitRate, ratio: f64) -> BitRate {
    BitRate::from_bps(((rate.as_bps() as f64 * ratio).round() as u64).max(1))
}

fn prbs(prb: Prb, ratio: f64) -> Prb {
    let fewer = (f64::from(prb.get()) * ratio).round() as u16;
    Prb::new(fewer.clamp(1, prb.get().max(1)))
}
