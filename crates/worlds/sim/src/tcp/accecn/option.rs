//! The AccECN option (RFC 9768 3.2.3): up to three counters of 24 bits, in one of two orders.

/// Kind of the option whose first field is that of ECT(0).
const ACCECN0: u8 = 172;
/// Kind of the option whose first field is that of ECT(1).
const ACCECN1: u8 = 174;
/// Kind and length.
const HEAD: usize = 2;
/// A field of 24 bits.
const FIELD: usize = 3;
/// What fields count modulo.
pub(super) const FIELD_VALUES: u64 = 1 << 24;

/// Bytes of payload that arrived, by codepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteCounts {
    /// With ECT(0), and 1.
    pub e0b: u64,
    /// Marked.
    pub ceb: u64,
    /// With ECT(1), and 1.
    pub e1b: u64,
}

impl ByteCounts {
    /// At the beginning (3.2.1).
    pub const INITIAL: Self = Self {
        e0b: 1,
        ceb: 0,
        e1b: 1,
    };

    /// In an order.
    pub(super) fn fields(self, order: FieldOrder) -> [u64; 3] {
        match order {
            FieldOrder::Ect0First => [self.e0b, self.ceb, self.e1b],
            FieldOrder::Ect1First => [self.e1b, self.ceb, self.e0b],
        }
    }
}

/// Which field is first; the one of marks is always the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldOrder {
    /// EE0B, ECEB, EE1B: order 0.
    Ect0First,
    /// EE1B, ECEB, EE0B: order 1.
    Ect1First,
}

/// The option as a segment carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccEcnOption {
    order: FieldOrder,
    /// Fields that are there, from 0 to 3.
    count: u8,
    fields: [[u8; FIELD]; 3],
}

impl AccEcnOption {
    /// The first `count` fields of that order, three at most.
    pub fn new(order: FieldOrder, counts: ByteCounts, count: usize) -> Self {
        let mut fields = [[0; FIELD]; 3];
        let count = count.min(fields.len());
        for (field, value) in fields.iter_mut().zip(counts.fields(order)).take(count) {
            let [.., a, b, c] = value.to_be_bytes();
            *field = [a, b, c];
        }
        Self {
            order,
            count: count as u8,
            fields,
        }
    }

    /// The counters that are there, modulo 2^24: of ECT(0), of CE, of ECT(1).
    pub fn counts(&self) -> [Option<u64>; 3] {
        let field = |index: usize| {
            let [a, b, c] = self.fields[index];
            (index < usize::from(self.count)).then(|| u64::from(u32::from_be_bytes([0, a, b, c])))
        };
        let in_order = [field(0), field(1), field(2)];
        match self.order {
            FieldOrder::Ect0First => in_order,
            FieldOrder::Ect1First => [in_order[2], in_order[1], in_order[0]],
        }
    }

    /// Bytes on the wire without padding (table 5).
    pub fn wire_len(&self) -> usize {
        HEAD + FIELD * usize::from(self.count)
    }

    /// Appends its bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(match self.order {
            FieldOrder::Ect0First => ACCECN0,
            FieldOrder::Ect1First => ACCECN1,
        });
        out.push(self.wire_len() as u8);
        let fields = &self.fields[..usize::from(self.count)];
        out.extend(fields.iter().flatten());
    }

    /// Reads one at the beginning of `bytes`; none if it is another option, or truncated. Of a length that
    /// table 5 has not, the whole fields are read and the rest is padding (3.2.3).
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (&kind, rest) = bytes.split_first()?;
        let order = match kind {
            ACCECN0 => FieldOrder::Ect0First,
            ACCECN1 => FieldOrder::Ect1First,
            _ => return None,
        };
        let (&length, rest) = rest.split_first()?;
        let content = rest.get(..usize::from(length).checked_sub(HEAD)?)?;
        let mut option = Self {
            order,
            count: 0,
            fields: [[0; FIELD]; 3],
        };
        for (field, bytes) in option.fields.iter_mut().zip(content.chunks_exact(FIELD)) {
            field.copy_from_slice(bytes);
            option.count += 1;
        }
        Some(option)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const COUNTS: ByteCounts = ByteCounts {
        e0b: 0x01_02_03,
        ceb: 0x0A_0B_0C,
        e1b: 0xF1_F2_F3,
    };

    /// Figure 4, both orders; table 5, all lengths.
    #[test]
    fn rfc_9768_3_2_3_layouts() {
        let bytes = |order, count| {
            let mut out = Vec::new();
            AccEcnOption::new(order, COUNTS, count).encode(&mut out);
            out
        };
        let order_0 = [172, 11, 1, 2, 3, 10, 11, 12, 0xF1, 0xF2, 0xF3];
        let order_1 = [174, 11, 0xF1, 0xF2, 0xF3, 10, 11, 12, 1, 2, 3];
        for (count, length) in [(3, 11), (2, 8), (1, 5), (0, 2)] {
            for (order, whole) in [
                (FieldOrder::Ect0First, order_0),
                (FieldOrder::Ect1First, order_1),
            ] {
                let mut expected = whole[..length].to_vec();
                expected[1] = length as u8;
                assert_eq!(bytes(order, count), expected);
            }
        }
    }

    #[test]
    fn rfc_9768_3_2_3_of_an_unknown_length_the_whole_fields_are_read() {
        let option = AccEcnOption::decode(&[172, 7, 0, 0, 9, 1, 2]).expect("an option");
        assert_eq!(option.counts(), [Some(9), None, None]);
        let long = [174, 14, 0, 0, 1, 0, 0, 2, 0, 0, 3, 9, 9, 9];
        let option = AccEcnOption::decode(&long).expect("an option");
        assert_eq!(option.counts(), [Some(3), Some(2), Some(1)]);
        for not_one in [
            &[][..],
            &[172],
            &[172, 1],
            &[172, 5, 0],
            &[173, 2],
            &[8, 10],
        ] {
            assert_eq!(AccEcnOption::decode(not_one), None);
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            e0b: u64, ceb: u64, e1b: u64, is_first: bool, count in 0usize..5,
        ) {
            let order = if is_first { FieldOrder::Ect1First } else { FieldOrder::Ect0First };
            let counts = ByteCounts { e0b, ceb, e1b };
            let option = AccEcnOption::new(order, counts, count);
            let mut out = Vec::new();
            option.encode(&mut out);
            prop_assert_eq!(out.len(), option.wire_len());
            prop_assert_eq!(AccEcnOption::decode(&out), Some(option));
            let read = option.counts();
            for (field, sent) in read.into_iter().zip([e0b, ceb, e1b]) {
                prop_assert!(field.is_none_or(|field| field == sent % FIELD_VALUES));
            }
            prop_assert_eq!(read.iter().flatten().count(), count.min(3));
        }

        #[test]
        fn no_bytes_are_too_much(bytes: Vec<u8>) {
            if let Some(option) = AccEcnOption::decode(&bytes) {
                prop_assert!(option.wire_len() <= 11);
            }
        }
    }
}
