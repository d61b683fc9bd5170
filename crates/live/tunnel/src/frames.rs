//! Packets in a byte stream, each behind its length in two bytes (as RFC 4571 section 2 has it).

use bytes::Bytes;

/// A frame is longer than it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

/// Hands the whole frames at the beginning of `stream` to `take`, without their lengths; gives back what
/// is left, the beginning of a frame.
pub(crate) fn split(
    mut stream: Bytes,
    max: usize,
    mut take: impl FnMut(Bytes),
) -> Result<Bytes, TooLong> {
    while let [a, b, after @ ..] = &stream[..] {
        let length = usize::from(u16::from_be_bytes([*a, *b]));
        if length > max {
            return Err(TooLong);
        }
        if after.len() < length {
            break;
        }
        take(stream.slice(2..2 + length));
        stream = stream.slice(2 + length..);
    }
    Ok(stream)
}

/// The frames of a stream that comes in pieces of `piece` bytes (at least one), as a TCP connection hands
/// them over; and whether it was refused for a frame of more than `max` bytes.
pub fn split_frames(stream: &[u8], piece: usize, max: usize) -> (Vec<Vec<u8>>, bool) {
    let (mut frames, mut kept) = (Vec::new(), Bytes::new());
    for piece in stream.chunks(piece.max(1)) {
        let all = [&kept[..], piece].concat();
        match split(all.into(), max, |frame| frames.push(frame.to_vec())) {
            Ok(left) => kept = left,
            Err(TooLong) => return (frames, true),
        }
    }
    (frames, false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_length_that_may_not_be_ends_the_stream_before_its_frame_has_come() {
        let stream = [0, 1, 7, 1, 1, 0, 0];
        assert_eq!(split_frames(&stream, 5, 256), (vec![vec![7]], true));
        assert_eq!(split_frames(&stream, 5, 257), (vec![vec![7]], false));
    }

    proptest! {
        /// However the stream is cut into pieces, the frames are those that were put into it.
        #[test]
        fn frames_come_out_as_they_went_in(
            frames in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..8),
            piece in 1usize..700,
        ) {
            let mut stream = Vec::new();
            for frame in &frames {
                stream.extend((frame.len() as u16).to_be_bytes());
                stream.extend(frame);
            }
            stream.push(0);
            prop_assert_eq!(split_frames(&stream, piece, 65_535), (frames, false));
        }
    }
}
