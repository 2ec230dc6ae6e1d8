//! What a buffer holds, in one line.

use crate::buffer::Buffer;
use crate::element::Number;

/// Values that are shown, from the first on.
const SHOWN: usize = 6;

/// `name`, its type, whether it changed, its first values, least and greatest, and how many are NaN.
pub(crate) fn line(buffer: &Buffer, now: &[u8]) -> String {
    let Buffer { name, element, initial, .. } = buffer;
    let numbers: Vec<Number> = now.chunks_exact(element.bytes()).map(|one| element.decode(one)).collect();
    let changed = if now == initial { "unchanged" } else { "changed" };
    let mut line = format!("{name}: {} {element}, {changed}", numbers.len());
    if numbers.is_empty() {
        return line;
    }
    let shown: Vec<_> = numbers.iter().take(SHOWN).map(Number::to_string).collect();
    let more = if numbers.len() > SHOWN { " …" } else { "" };
    line.push_str(&format!(": {}{more}", shown.join(" ")));
    let ordered = || numbers.iter().copied().filter(|number| !number.is_nan());
    let least = ordered().reduce(|a, b| if b < a { b } else { a });
    let greatest = ordered().reduce(|a, b| if b > a { b } else { a });
    if let (Some(least), Some(greatest)) = (least, greatest) {
        line.push_str(&format!("; min {least}, max {greatest}"));
    }
    if element.is_float() {
        line.push_str(&format!(", {} NaN", numbers.iter().filter(|number| number.is_nan()).count()));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::Element;

    fn of(element: Element, initial: &[u8], now: &[u8]) -> String {
        let buffer = Buffer { name: "x".to_owned(), element, address: 0, initial: initial.to_vec() };
        line(&buffer, now)
    }

    #[test]
    fn lines_say_what_is_there() {
        assert_eq!(of(Element::F32, &[], &[]), "x: 0 f32, unchanged");
        let floats = [1.0_f32, f32::NAN, -2.5, 1.0 / 3.0].map(f32::to_le_bytes).concat();
        assert_eq!(
            of(Element::F32, &[0; 16], &floats),
            "x: 4 f32, changed: 1.0 NaN -2.5 0.333333; min -2.5, max 1.0, 1 NaN"
        );
        assert_eq!(of(Element::F16, &[0xff; 4], &[0xff; 4]), "x: 2 f16, unchanged: NaN NaN, 2 NaN");
        let bytes: Vec<u8> = (0..10).collect();
        assert_eq!(of(Element::I8, &[], &bytes), "x: 10 i8, changed: 0 1 2 3 4 5 …; min 0, max 9");
    }
}
