//! Maps from the lines that they print.

use std::str::FromStr;

use fa3_sys::tensormap::{DataType, Fill, Interleave, L2Promotion, Swizzle};

use super::args::{Args, Columns, SLOTS};

/// The map that prints as this line, `None` if there is none.
pub(crate) fn parse(line: &str) -> Option<Args> {
    let mut words = Words(line);
    let claimed: Option<usize> = words.skip("rank").then(|| words.next_as()).flatten();
    if claimed.is_some() {
        words.0 = words.0.strip_prefix(", else ")?;
    }
    let im2col = match words.next()? {
        "tiled" => false,
        "im2col" => true,
        _ => return None,
    };
    let data_type = words.named(&DataType::ALL, |t| t.name())?;
    let (extents, rank) = words.list(1)?;
    let mut args = Args {
        target: None,
        data_type,
        rank: claimed.unwrap_or(rank),
        extents,
        strides: [32; SLOTS],
        box_extents: [1; SLOTS],
        element_strides: [1; SLOTS],
        columns: None,
        interleave: Interleave::None,
        swizzle: Swizzle::None,
        l2_promotion: L2Promotion::None,
        fill: Fill::Zeros,
        address: 0,
    };
    if words.skip("strides") {
        args.strides = words.list(32)?.0;
    }
    match im2col {
        false => {
            words.expect("box")?;
            args.box_extents = words.list(1)?.0;
        }
        true => {
            words.expect("corners")?;
            let (lower, upper) = (words.list(0)?.0, words.list(0)?.0);
            words.expect("channels")?;
            args.box_extents[0] = words.next_as()?;
            words.expect("pixels")?;
            let pixels = words.next_as()?;
            args.columns = Some(Columns { lower, upper, pixels });
        }
    }
    if words.skip("element strides") {
        args.element_strides = words.list(1)?.0;
    }
    if words.skip("interleave") {
        args.interleave = words.named(&Interleave::ALL, |mode| mode.name())?;
    }
    if words.skip("swizzle") {
        args.swizzle = words.named(&Swizzle::ALL, |mode| mode.name())?;
    }
    if words.skip("L2") {
        args.l2_promotion = words.named(&L2Promotion::ALL, |mode| mode.name())?;
    }
    if words.skip("fill") {
        args.fill = words.named(&Fill::ALL, |mode| mode.name())?;
    }
    words.expect("at")?;
    args.address = u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?;
    words.0.is_empty().then_some(args)
}

/// What is left of a line.
struct Words<'a>(&'a str);

impl<'a> Words<'a> {
    /// Whether the line goes on with this, which is left behind.
    fn skip(&mut self, expected: &str) -> bool {
        let rest = self.0.trim_start().strip_prefix(expected);
        match rest.filter(|rest| rest.starts_with([' ', '['])) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, expected: &str) -> Option<()> {
        self.skip(expected).then_some(())
    }

    fn next(&mut self) -> Option<&'a str> {
        let text = self.0.trim_start();
        let (word, rest) = text.split_at(text.find([' ', ',']).unwrap_or(text.len()));
        self.0 = rest;
        (!word.is_empty()).then_some(word)
    }

    fn next_as<T: FromStr>(&mut self) -> Option<T> {
        self.next()?.parse().ok()
    }

    fn named<T: Copy>(&mut self, all: &[T], name: impl Fn(&T) -> &'static str) -> Option<T> {
        let word = self.next()?;
        all.iter().copied().find(|item| name(item) == word)
    }

    /// A list in brackets, filled up with `fill`, and its length.
    fn list<T: FromStr + Copy>(&mut self, fill: T) -> Option<([T; SLOTS], usize)> {
        let (items, rest) = self.0.trim_start().strip_prefix('[')?.split_once(']')?;
        self.0 = rest;
        let mut array = [fill; SLOTS];
        let mut count = 0;
        for item in items.split(", ").filter(|item| !item.is_empty()) {
            *array.get_mut(count)? = item.parse().ok()?;
            count += 1;
        }
        Some((array, count))
    }
}
