//! The forward speeds that the FlashAttention-3 paper prints.
//!
//! Shah et al., "FlashAttention-3: Fast and Accurate Attention with Asynchrony and Low-precision",
//! arXiv:2407.08608, figure 5: 16-bit forward pass on an H100 80GB SXM5 at a fixed clock of 1830 MHz
//! (appendix C.1), 16k tokens in all, hidden size 2048. Read from transcriptions of the labels above the
//! bars; those at 16k tokens agree with a second reading to within 2.

/// Its head dimensions.
pub(crate) const HEAD_DIMS: [u64; 3] = [64, 128, 256];
/// Its sequence lengths.
pub(crate) const LENGTHS: [u64; 6] = [512, 1024, 2048, 4096, 8192, 16384];

/// TFLOP/s by head dimension, without and with a causal mask, by length.
const FORWARD: [[[u16; 6]; 2]; 3] = [
    [[333, 392, 460, 476, 496, 497], [197, 265, 371, 420, 460, 473]],
    [[467, 565, 625, 638, 646, 648], [292, 423, 521, 579, 602, 616]],
    [[482, 639, 707, 736, 746, 756], [286, 427, 537, 612, 628, 642]],
];

/// FlashAttention-3's TFLOP/s, if it is a cell of the paper's.
pub(crate) fn forward(d: u64, causal: bool, length: u64) -> Option<f64> {
    let row = HEAD_DIMS.iter().position(|&found| found == d)?;
    let column = LENGTHS.iter().position(|&found| found == length)?;
    let speeds = FORWARD.get(row)?.get(usize::from(causal))?;
    speeds.get(column).map(|&speed| f64::from(speed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_found_and_others_are_not() {
        assert_eq!(forward(64, true, 512), Some(197.0));
        assert_eq!(forward(128, false, 16384), Some(648.0));
        assert_eq!(forward(256, true, 16384), Some(642.0));
        assert_eq!((forward(96, false, 512), forward(64, false, 600)), (None, None));
    }
}
