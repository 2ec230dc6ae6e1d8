//! Tokens. PTX ISA, "Syntax": words keep their dots and double colons, so that an opcode with its
//! modifiers, a directive and a special register are each one token.

use std::fmt;

use super::error::{Fault, PtxError};

/// A token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'a> {
    /// `add.s32`, `.reg`, `%tid.x`, `$L__BB0_2`, `shared_memory`.
    Word(&'a str),
    /// An integer without its sign.
    Integer(u64),
    /// `0f3F800000`.
    Single(u32),
    /// `0d3FF0000000000000`.
    Double(u64),
    /// `9.5`.
    Decimal(&'a str),
    /// Between quotes.
    Text(&'a str),
    /// One of `{}[]()<>,;:@!|+-=`.
    Mark(char),
    /// Behind the last.
    End,
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) | Self::Decimal(word) => write!(f, "`{word}`"),
            Self::Integer(value) => write!(f, "`{value}`"),
            Self::Single(bits) => write!(f, "`0f{bits:08X}`"),
            Self::Double(bits) => write!(f, "`0d{bits:016X}`"),
            Self::Text(text) => write!(f, "\"{text}\""),
            Self::Mark(mark) => write!(f, "`{mark}`"),
            Self::End => f.write_str("the end of the text"),
        }
    }
}

/// A token and where it stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lexeme<'a> {
    pub(super) token: Token<'a>,
    pub(super) line: u32,
    /// The offset of its first byte in the text.
    pub(super) at: usize,
}

/// All tokens of a text.
pub(super) fn tokens(text: &str) -> Result<Vec<Lexeme<'_>>, PtxError> {
    let mut lexemes = Vec::with_capacity(text.len() / 6);
    let (mut rest, mut line) = (text, 1_u32);
    while let Some(first) = rest.chars().next() {
        if let Some(comment) = rest.strip_prefix("//") {
            rest = comment.find('\n').and_then(|at| comment.get(at..)).unwrap_or("");
            continue;
        }
        if let Some(comment) = rest.strip_prefix("/*") {
            let unterminated = || Fault::Unterminated("a comment").at(line);
            let (inside, after) = comment.split_once("*/").ok_or_else(unterminated)?;
            line = line.saturating_add(newlines(inside));
            rest = after;
            continue;
        }
        if first.is_ascii_whitespace() {
            line = line.saturating_add(u32::from(first == '\n'));
            rest = rest.get(1..).unwrap_or("");
            continue;
        }
        let (token, after) = token(rest, first).map_err(|fault| fault.at(line))?;
        lexemes.push(Lexeme { token, line, at: text.len().saturating_sub(rest.len()) });
        if let Token::Text(inside) = token {
            line = line.saturating_add(newlines(inside));
        }
        rest = after;
    }
    lexemes.push(Lexeme { token: Token::End, line, at: text.len() });
    Ok(lexemes)
}

/// The token at the beginning of `text`, which begins with `first`, and what follows it.
fn token(text: &str, first: char) -> Result<(Token<'_>, &str), Fault> {
    match first {
        '"' => {
            let inside = text.get(1..).unwrap_or("");
            let (inside, after) = inside.split_once('"').ok_or(Fault::Unterminated("a string"))?;
            Ok((Token::Text(inside), after))
        }
        '0'..='9' => {
            let (digits, after) = split(text, number_length(text));
            Ok((number(digits)?, after))
        }
        'a'..='z' | 'A'..='Z' | '_' | '$' | '%' | '.' => {
            let (word, after) = split(text, word_length(text));
            Ok((Token::Word(word), after))
        }
        '{' | '}' | '[' | ']' | '(' | ')' | '<' | '>' | ',' | ';' | ':' | '@' | '!' | '|' | '+' | '-'
        | '=' => Ok((Token::Mark(first), text.get(1..).unwrap_or(""))),
        _ => Err(Fault::Character(first)),
    }
}

fn newlines(text: &str) -> u32 {
    u32::try_from(text.bytes().filter(|byte| *byte == b'\n').count()).unwrap_or(u32::MAX)
}

fn split(text: &str, length: usize) -> (&str, &str) {
    text.split_at_checked(length).unwrap_or((text, ""))
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%' | b'.')
}

/// A single colon ends a word (it makes a label of it), a double colon within it does not.
fn word_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut length = 0;
    loop {
        match bytes.get(length..).unwrap_or_default() {
            [byte, ..] if is_word(*byte) => length += 1,
            [b':', b':', byte, ..] if byte.is_ascii_alphanumeric() => length += 3,
            _ => return length,
        }
    }
}

fn number_length(text: &str) -> usize {
    text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'.').count()
}

/// PTX ISA, "Constants".
fn number(text: &str) -> Result<Token<'_>, Fault> {
    let wrong = |rule| Fault::Number { text: text.to_owned(), rule };
    let prefixed = |upper: &str, lower: &str| text.strip_prefix(lower).or_else(|| text.strip_prefix(upper));
    if let Some(digits) = prefixed("0F", "0f") {
        let bits = hexadecimal(digits, 8).ok_or_else(|| wrong("`0f` and 8 hexadecimal digits"))?;
        return Ok(Token::Single(bits as u32));
    }
    if let Some(digits) = prefixed("0D", "0d") {
        let bits = hexadecimal(digits, 16).ok_or_else(|| wrong("`0d` and 16 hexadecimal digits"))?;
        return Ok(Token::Double(bits));
    }
    if text.contains('.') {
        let rule = "a decimal number";
        return text.parse::<f64>().map(|_| Token::Decimal(text)).map_err(|_| wrong(rule));
    }
    let unsuffixed = text.strip_suffix('U').unwrap_or(text);
    let (digits, radix) = if let Some(digits) = prefixed("0X", "0x") {
        (digits.strip_suffix('U').unwrap_or(digits), 16)
    } else if let Some(digits) = prefixed("0B", "0b") {
        (digits.strip_suffix('U').unwrap_or(digits), 2)
    } else {
        match unsuffixed.strip_prefix('0') {
            Some(digits) if !digits.is_empty() => (digits, 8),
            _ => (unsuffixed, 10),
        }
    };
    u64::from_str_radix(digits, radix).map(Token::Integer).map_err(|_| wrong("an integer of at most 64 bits"))
}

fn hexadecimal(digits: &str, length: usize) -> Option<u64> {
    let right = digits.len() == length && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    right.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<Token<'_>> {
        tokens(text).expect("tokens").into_iter().map(|lexeme| lexeme.token).collect()
    }

    #[test]
    fn words_keep_dots_and_double_colons() {
        use Token::{End, Mark, Word};
        assert_eq!(
            all("L: mbarrier.init.shared::cta.b64 [%r1], %tid.x;"),
            [
                Word("L"),
                Mark(':'),
                Word("mbarrier.init.shared::cta.b64"),
                Mark('['),
                Word("%r1"),
                Mark(']'),
                Mark(','),
                Word("%tid.x"),
                Mark(';'),
                End
            ]
        );
    }

    #[test]
    fn numbers() {
        use Token::{Decimal, Double, End, Integer, Single};
        assert_eq!(
            all("0 7 010 0x1fU 0b101 42U 9.5 0f3F800000 0d3FF0000000000000"),
            [
                Integer(0),
                Integer(7),
                Integer(8),
                Integer(31),
                Integer(5),
                Integer(42),
                Decimal("9.5"),
                Single(0x3f80_0000),
                Double(0x3ff0_0000_0000_0000),
                End
            ]
        );
    }

    #[test]
    fn lines_count_through_comments() {
        let lexemes = tokens("// one\n/* two\nthree */ a \"x\ny\" b").expect("tokens");
        let lines: Vec<u32> = lexemes.iter().map(|lexeme| lexeme.line).collect();
        assert_eq!(lines, [3, 3, 4, 4]);
    }

    #[test]
    fn faults_have_their_line() {
        for (text, fault) in [
            ("\n#", Fault::Character('#')),
            ("\n\"abc", Fault::Unterminated("a string")),
            ("\n/* abc", Fault::Unterminated("a comment")),
            ("\n0f3F8", Fault::Number { text: "0f3F8".into(), rule: "`0f` and 8 hexadecimal digits" }),
            ("\n0d3F8", Fault::Number { text: "0d3F8".into(), rule: "`0d` and 16 hexadecimal digits" }),
            ("\n1.5.2", Fault::Number { text: "1.5.2".into(), rule: "a decimal number" }),
            ("\n08", Fault::Number { text: "08".into(), rule: "an integer of at most 64 bits" }),
            (
                "\n18446744073709551616",
                Fault::Number { text: "18446744073709551616".into(), rule: "an integer of at most 64 bits" },
            ),
        ] {
            assert_eq!(tokens(text), Err(fault.at(2)), "{text}");
        }
    }
}
