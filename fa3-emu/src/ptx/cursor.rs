//! A place among the tokens of a text.

use super::error::{Fault, PtxError};
use super::lexer::{Lexeme, Token};

/// A place among tokens, of which [`Token::End`] is the last.
pub(super) struct Cursor<'a> {
    lexemes: Vec<Lexeme<'a>>,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(lexemes: Vec<Lexeme<'a>>) -> Self {
        Self { lexemes, at: 0 }
    }

    /// The token here.
    pub(super) fn peek(&self) -> Token<'a> {
        self.ahead(0)
    }

    /// The token so many places ahead.
    pub(super) fn ahead(&self, distance: usize) -> Token<'a> {
        let at = self.at.saturating_add(distance);
        self.lexemes.get(at).map_or(Token::End, |lexeme| lexeme.token)
    }

    /// The line of the token here.
    pub(super) fn line(&self) -> u32 {
        self.lexemes.get(self.at).or(self.lexemes.last()).map_or(1, |lexeme| lexeme.line)
    }

    /// The offset in the text of the token here.
    pub(super) fn offset(&self) -> usize {
        self.lexemes.get(self.at).or(self.lexemes.last()).map_or(0, |lexeme| lexeme.at)
    }

    /// The offset in the text behind the mark just passed over.
    pub(super) fn behind_mark(&self) -> usize {
        let mark = self.at.checked_sub(1).and_then(|before| self.lexemes.get(before));
        mark.map_or(0, |lexeme| lexeme.at.saturating_add(1))
    }

    /// Goes on to the next token; stays at the end.
    pub(super) fn advance(&mut self) {
        if self.at < self.lexemes.len() {
            self.at += 1;
        }
    }

    /// Passes over the mark if it is here.
    pub(super) fn take(&mut self, mark: char) -> bool {
        let here = self.peek() == Token::Mark(mark);
        if here {
            self.advance();
        }
        here
    }

    /// Passes over the word if it is here.
    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let here = self.peek() == Token::Word(word);
        if here {
            self.advance();
        }
        here
    }

    /// Passes over the mark, which must be here.
    pub(super) fn mark(&mut self, mark: char, expected: &'static str) -> Result<(), PtxError> {
        if self.take(mark) { Ok(()) } else { Err(self.expected(expected)) }
    }

    /// The word that must be here.
    pub(super) fn word(&mut self, expected: &'static str) -> Result<&'a str, PtxError> {
        let Token::Word(word) = self.peek() else {
            return Err(self.expected(expected));
        };
        self.advance();
        Ok(word)
    }

    /// The name that must be here: a word that is no directive.
    pub(super) fn name(&mut self, expected: &'static str) -> Result<&'a str, PtxError> {
        match self.peek() {
            Token::Word(word) if !word.starts_with('.') => {
                self.advance();
                Ok(word)
            }
            _ => Err(self.expected(expected)),
        }
    }

    /// The integer of at most 32 bits that must be here.
    pub(super) fn integer(&mut self, expected: &'static str) -> Result<u32, PtxError> {
        match self.peek() {
            Token::Integer(value) if u32::try_from(value).is_ok() => {
                self.advance();
                Ok(value as u32)
            }
            _ => Err(self.expected(expected)),
        }
    }

    /// The string that must be here.
    pub(super) fn text(&mut self, expected: &'static str) -> Result<&'a str, PtxError> {
        let Token::Text(text) = self.peek() else {
            return Err(self.expected(expected));
        };
        self.advance();
        Ok(text)
    }

    /// An error that says what should be here.
    pub(super) fn expected(&self, expected: &'static str) -> PtxError {
        Fault::Expected { expected, found: self.peek().to_string() }.at(self.line())
    }
}
