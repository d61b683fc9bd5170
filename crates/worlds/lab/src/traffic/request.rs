//! What a client requests from the lab's own server: 200 bytes, as in the simulator, and padding where a request is
//! longer. (No request is shorter.)

use units::BitRate;

/// Bytes of a request.
pub(crate) const LENGTH: usize = 200;
/// What it begins with.
const MAGIC: &[u8; 8] = b"BRIMFUL1";

/// A request for one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// Bytes of the object; `u64::MAX` is without end.
    pub(crate) size: u64,
    /// The server sends no faster than this, if set.
    pub(crate) rate: Option<BitRate>,
    /// The server closes the connection behind it.
    pub(crate) closes_after: bool,
    /// Bytes of the request behind these.
    pub(crate) padding: u32,
}

impl Request {
    /// As it is sent.
    pub(crate) fn bytes(&self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..16].copy_from_slice(&self.size.to_be_bytes());
        let rate = self.rate.map_or(0, BitRate::as_bps);
        bytes[16..24].copy_from_slice(&rate.to_be_bytes());
        bytes[24] = u8::from(self.closes_after);
        bytes[25..29].copy_from_slice(&self.padding.to_be_bytes());
        bytes
    }

    /// From what was sent; nothing if it is no request.
    pub(crate) fn read(bytes: &[u8; LENGTH]) -> Option<Self> {
        let (magic, rest) = bytes.split_first_chunk::<8>()?;
        let (size, rest) = rest.split_first_chunk::<8>()?;
        let (rate, rest) = rest.split_first_chunk::<8>()?;
        let rate = u64::from_be_bytes(*rate);
        let (closes_after, rest) = rest.split_first()?;
        let (padding, _) = rest.split_first_chunk::<4>()?;
        (magic == MAGIC && *closes_after <= 1).then(|| Self {
            size: u64::from_be_bytes(*size),
            rate: (rate > 0).then(|| BitRate::from_bps(rate)),
            closes_after: *closes_after == 1,
            padding: u32::from_be_bytes(*padding),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_as_written_and_nothing_else() {
        let request = Request {
            size: 2_000_000,
            rate: Some(BitRate::from_mbps(16)),
            closes_after: true,
            padding: 1_350,
        };
        assert_eq!(Request::read(&request.bytes()), Some(request));
        let mut other = request.bytes();
        other[0] = b'G';
        assert_eq!(Request::read(&other), None);
    }
}
