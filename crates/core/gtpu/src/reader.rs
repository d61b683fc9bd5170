//! Bytes taken one field after the other.

/// Bytes are not what they should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// A field is not there, or not whole.
    #[error("{field} is cut off")]
    Short {
        /// The field.
        field: &'static str,
    },
    /// A field has a value that cannot be read.
    #[error("{field} is {value}")]
    Value {
        /// The field.
        field: &'static str,
        /// What it holds.
        value: u64,
    },
}

/// What is left of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn take(
        &mut self,
        length: usize,
        field: &'static str,
    ) -> Result<&'a [u8], ReadError> {
        let (taken, rest) = self
            .0
            .split_at_checked(length)
            .ok_or(ReadError::Short { field })?;
        self.0 = rest;
        Ok(taken)
    }

    /// An integer of up to eight octets.
    fn integer(&mut self, octets: usize, field: &'static str) -> Result<u64, ReadError> {
        let bytes = self.take(octets, field)?;
        Ok(bytes
            .iter()
            .fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    pub(crate) fn u8(&mut self, field: &'static str) -> Result<u8, ReadError> {
        Ok(self.integer(1, field)? as u8)
    }

    pub(crate) fn u16(&mut self, field: &'static str) -> Result<u16, ReadError> {
        Ok(self.integer(2, field)? as u16)
    }

    /// Three octets.
    pub(crate) fn u24(&mut self, field: &'static str) -> Result<u32, ReadError> {
        Ok(self.integer(3, field)? as u32)
    }

    pub(crate) fn u32(&mut self, field: &'static str) -> Result<u32, ReadError> {
        Ok(self.integer(4, field)? as u32)
    }

    pub(crate) fn u64(&mut self, field: &'static str) -> Result<u64, ReadError> {
        self.integer(8, field)
    }
}

/// Appends the lower three octets of a number.
pub(crate) fn push_u24(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_be_bytes()[1..]);
}
