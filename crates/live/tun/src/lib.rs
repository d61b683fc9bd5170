//! TUN devices with segmentation offload: the kernel hands over, and takes, up to 64 kB of one flow
//! in one call.
//!
//! ```text
//!   kernel -> [virtio_net_hdr | IP TCP/UDP 64 kB] -> split    -> packets of MTU size, sums complete
//!   kernel <- [virtio_net_hdr | IP TCP/UDP 64 kB] <- Coalescer <- packets of MTU size, sums verified
//! ```
//!
//! [`Device`] is the device, [`VnetHeader`] what stands before each packet (Linux
//! `include/uapi/linux/virtio_net.h`, `Documentation/networking/tuntap.rst`), [`split`](split()) cuts, and
//! [`Coalescer`] puts together what follows each other in one flow. [`pieces`] carries what is to be segmented without the
//! headers of each segment. [`cut`](cut()) cuts into smaller pieces that the kernel still
//! has to segment, and [`FrameSocket`] sends frames with the same header by any interface. [`Capture`] reads what passes one.
//!
//! What this crate is *not*: it has no event loop, chooses no addresses and no routes, and changes
//! nothing of a packet but what segmentation changes.

mod capture;
pub mod checksum;
mod coalesce;
mod cut;
mod device;
mod frames;
mod layout;
pub mod pieces;
mod split;
#[expect(unsafe_code, reason = "the kernel's interfaces that no safe crate has")]
mod sys;
mod vnet;

pub use capture::Capture;
pub use coalesce::Coalescer;
pub use cut::cut;
pub use device::{Device, Kind, refused};
pub use frames::FrameSocket;
pub use layout::Layout;
pub use split::{SplitError, split};
pub use vnet::VnetHeader;

#[cfg(test)]
mod test_support;
