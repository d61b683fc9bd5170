//! NR LDPC base graph and code block segmentation, TS 38.212 sections 5.2.2 and 7.2.2.
//!
//! All sizes are in bits. Code rates are x 10240, as in [`crate::nr_transport_block`].

use units::Bits;

/// An LDPC base graph (TS 38.212 5.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseGraph {
    /// For large blocks and high rates; up to 8448 bits per code block.
    One,
    /// For small blocks and low rates; up to 3840 bits per code block.
    Two,
}

/// How a transport block is divided into code blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segmentation {
    /// The base graph.
    pub base_graph: BaseGraph,
    /// B: transport block and its CRC.
    pub with_crc: Bits,
    /// C: number of code blocks.
    pub code_blocks: u64,
    /// K': bits of one code block, its CRC included, without filler.
    pub code_block: Bits,
    /// K_b: information columns in use.
    pub columns: u64,
    /// Z_c: lifting size.
    pub lifting_size: u64,
    /// K: bits of one code block with filler.
    pub filled: Bits,
}

/// TS 38.212 7.2.2: the base graph for a transport block of `size` at a code rate x 10240.
pub fn base_graph(size: Bits, rate_x10240: u16) -> BaseGraph {
    let a = size.get();
    // 0.67 * 10240 = 6860.8 and 0.25 * 10240 = 2560
    let low = a <= 292 || (a <= 3824 && rate_x10240 <= 6860) || rate_x10240 <= 2560;
    if low { BaseGraph::Two } else { BaseGraph::One }
}

/// TS 38.212 5.2.2: the code blocks of a transport block of `size`, at least 1 bit, at a code rate
/// x 10240.
pub fn segment(size: Bits, rate_x10240: u16) -> Segmentation {
    let base_graph = base_graph(size, rate_x10240);
    let crc = if size.get() > 3824 { 24 } else { 16 };
    let b = size.get() + crc;
    let largest = match base_graph {
        BaseGraph::One => 8448,
        BaseGraph::Two => 3840,
    };
    let (code_blocks, total) = if b <= largest {
        (1, b)
    } else {
        let blocks = b.div_ceil(largest - 24);
        (blocks, b + 24 * blocks)
    };
    // sizes from TS 38.214 5.1.3.2 divide without a remainder
    let code_block = total.div_ceil(code_blocks);
    let columns = match base_graph {
        BaseGraph::One => 22,
        BaseGraph::Two if b > 640 => 10,
        BaseGraph::Two if b > 560 => 9,
        BaseGraph::Two if b > 192 => 8,
        BaseGraph::Two => 6,
    };
    let lifting_size = lifting_size(code_block.div_ceil(columns));
    let filled = lifting_size * if base_graph == BaseGraph::One { 22 } else { 10 };
    Segmentation {
        base_graph,
        with_crc: Bits::new(b),
        code_blocks,
        code_block: Bits::new(code_block),
        columns,
        lifting_size,
        filled: Bits::new(filled),
    }
}

/// The smallest lifting size of TS 38.212 Table 5.3.2-1, a * 2^j up to 384, that is at least `least`.
fn lifting_size(min: u64) -> u64 {
    const ODD_PARTS: [u64; 8] = [2, 3, 5, 7, 9, 11, 13, 15];
    let sizes = ODD_PARTS.iter().flat_map(|a| (0..8).map(move |j| a << j));
    sizes.filter(|&z| z >= min && z <= 384).min().unwrap_or(384)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_graph_boundaries_7_2_2() {
        let graph = |a, rate| base_graph(Bits::new(a), rate);
        assert_eq!(graph(292, 9480), BaseGraph::Two);
        assert_eq!(graph(293, 9480), BaseGraph::One);
        assert_eq!(graph(3824, 6860), BaseGraph::Two);
        assert_eq!(graph(3824, 6861), BaseGraph::One);
        assert_eq!(graph(3825, 6860), BaseGraph::One);
        assert_eq!(graph(100_000, 2560), BaseGraph::Two);
        assert_eq!(graph(100_000, 2561), BaseGraph::One);
    }

    #[test]
    fn information_columns_change_above_192_560_640() {
        let columns = |b: u64| segment(Bits::new(b - 16), 1200).columns;
        assert_eq!(
            [192, 193, 560, 561, 640, 641].map(columns),
            [6, 8, 8, 9, 9, 10]
        );
    }

    #[test]
    fn lifting_sizes_of_table_5_3_2_1() {
        assert_eq!(
            [1, 2, 17, 193, 353, 384].map(lifting_size),
            [2, 2, 18, 208, 384, 384]
        );
    }

    #[test]
    fn largest_block_without_segmentation() {
        assert_eq!(segment(Bits::new(8424), 9480).code_blocks, 1);
        assert_eq!(segment(Bits::new(8432), 9480).code_blocks, 2);
        assert_eq!(segment(Bits::new(3824), 2000).code_blocks, 1);
        assert_eq!(segment(Bits::new(3840), 2000).code_blocks, 2);
    }
}
