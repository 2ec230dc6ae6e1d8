//! Checking machine code for the instructions a kernel is built around.

/// Those of `expected` that begin no instruction of a disassembly (`nvdisasm -c`).
pub(crate) fn missing(disassembly: &str, expected: &[&'static str]) -> Vec<&'static str> {
    let opcodes: Vec<&str> = disassembly.lines().filter_map(opcode).collect();
    let absent = |expected: &&&str| !opcodes.iter().any(|opcode| opcode.starts_with(**expected));
    expected.iter().filter(absent).copied().collect()
}

/// The opcode of a line such as `/*0220*/ @!P0 UTMALDG.4D [UR8], [UR6] ;`.
fn opcode(line: &str) -> Option<&str> {
    let (address, instruction) = line.trim_start().strip_prefix("/*")?.split_once("*/")?;
    if !address.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    instruction.split_whitespace().find(|word| !word.starts_with('@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISASSEMBLY: &str = "
.text.k:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0220*/                   USETMAXREG.TRY_ALLOC.CTAPOOL UP0, 0xf0 ;
        /*0230*/              @!P0 UTMALDG.4D [UR8], [UR6], desc[UR10] ;
        /*05e0*/                   HGMMA.64x80x16.F32.BF16 R152, gdesc[UR20], RZ, !UPT ; // UTMASTG
";

    #[test]
    fn opcodes_are_found_behind_predicates() {
        assert_eq!(missing(DISASSEMBLY, &["HGMMA", "UTMALDG", "USETMAXREG.TRY_ALLOC", "LDC"]), [""; 0]);
    }

    #[test]
    fn absent_ones_are_named_and_mentions_do_not_count() {
        let expected = ["UTMASTG", "HGMMA", "USETMAXREG.DEALLOC", "R152", "c[0x0]"];
        assert_eq!(missing(DISASSEMBLY, &expected), ["UTMASTG", "USETMAXREG.DEALLOC", "R152", "c[0x0]"]);
        assert_eq!(missing("", &["HGMMA"]), ["HGMMA"]);
    }
}
