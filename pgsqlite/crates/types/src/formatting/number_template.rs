//! Templates of numbers, cut into nodes, with what they say as a whole.

use super::{plain, Case, Plain};
use crate::{PgError, Result, SqlState};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pattern {
    /// `9`
    Digit,
    /// `0`
    Zero,
    /// `.`
    Point,
    /// `D`, the locale's point
    LocalePoint,
    /// `,`
    Comma,
    /// `G`, the locale's comma
    Group,
    /// `B`
    Blank,
    /// `L`
    Currency,
    /// `C`: recognised, does nothing
    IsoCurrency,
    /// `FM`
    Fill,
    /// `MI`
    Minus,
    /// `PL`
    Plus,
    /// `SG`
    Sign,
    /// `PR`
    Brackets,
    /// `S`
    AnchoredSign,
    /// `SP`: recognised, does nothing
    Spell,
    Roman(Case),
    Ordinal(Case),
    /// `V`
    Shift,
    /// `EEEE`
    Exponent,
}

/// The patterns, those that begin another one after it.
const PATTERNS: &[(&str, Pattern)] = &[
    (",", Pattern::Comma),
    (".", Pattern::Point),
    ("0", Pattern::Zero),
    ("9", Pattern::Digit),
    ("B", Pattern::Blank),
    ("b", Pattern::Blank),
    ("C", Pattern::IsoCurrency),
    ("c", Pattern::IsoCurrency),
    ("D", Pattern::LocalePoint),
    ("d", Pattern::LocalePoint),
    ("EEEE", Pattern::Exponent),
    ("eeee", Pattern::Exponent),
    ("FM", Pattern::Fill),
    ("fm", Pattern::Fill),
    ("G", Pattern::Group),
    ("g", Pattern::Group),
    ("L", Pattern::Currency),
    ("l", Pattern::Currency),
    ("MI", Pattern::Minus),
    ("mi", Pattern::Minus),
    ("PL", Pattern::Plus),
    ("pl", Pattern::Plus),
    ("PR", Pattern::Brackets),
    ("pr", Pattern::Brackets),
    ("RN", Pattern::Roman(Case::Upper)),
    ("rn", Pattern::Roman(Case::Lower)),
    ("SG", Pattern::Sign),
    ("sg", Pattern::Sign),
    ("SP", Pattern::Spell),
    ("sp", Pattern::Spell),
    ("S", Pattern::AnchoredSign),
    ("s", Pattern::AnchoredSign),
    ("TH", Pattern::Ordinal(Case::Upper)),
    ("th", Pattern::Ordinal(Case::Lower)),
    ("V", Pattern::Shift),
    ("v", Pattern::Shift),
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node<'a> {
    Pattern(Pattern),
    Character(&'a str),
}

/// Where the sign of `S` is anchored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Anchor {
    #[default]
    None,
    Before,
    After,
}

/// What a template says as a whole.
#[derive(Debug, Clone, Default)]
pub(super) struct Summary {
    /// digits before the point
    pub before: usize,
    /// digits after the point
    pub after: usize,
    /// digits that `V` shifts by
    pub shift: usize,
    pub anchor: Anchor,
    /// digits before `S`
    pub digits_before_sign: usize,
    /// position of the first `0` before the point, from 1
    pub zero_start: usize,
    /// digits up to the last `0`
    pub zero_end: usize,
    pub zero: bool,
    pub decimal: bool,
    pub anchored_sign: bool,
    pub brackets: bool,
    pub plus: bool,
    pub minus: bool,
    pub blank: bool,
    pub fill: bool,
    pub roman: bool,
    pub shifted: bool,
    pub exponent: bool,
}

fn wrong(message: &str) -> PgError {
    PgError::new(SqlState::SYNTAX_ERROR, message)
}

impl Summary {
    fn says_more_than_roman(&self) -> bool {
        [self.decimal, self.anchored_sign, self.brackets, self.plus, self.minus].contains(&true)
            || [self.blank, self.zero, self.shifted, self.exponent].contains(&true)
    }

    /// Takes the next pattern in; 42601 where it does not go with those before.
    fn add(&mut self, pattern: Pattern) -> Result<()> {
        if self.exponent && pattern != Pattern::Exponent {
            return Err(wrong("\"EEEE\" must be the last pattern used"));
        }
        match pattern {
            Pattern::Digit => {
                if self.brackets {
                    return Err(wrong("\"9\" must be ahead of \"PR\""));
                }
                if self.shifted {
                    self.shift += 1;
                } else if self.decimal {
                    self.after += 1;
                } else {
                    self.before += 1;
                }
            }
            Pattern::Zero => {
                if self.brackets {
                    return Err(wrong("\"0\" must be ahead of \"PR\""));
                }
                if !self.zero && !self.decimal {
                    self.zero = true;
                    self.zero_start = self.before + 1;
                }
                if self.decimal {
                    self.after += 1;
                } else {
                    self.before += 1;
                }
                self.zero_end = self.before + self.after;
            }
            Pattern::Blank => {
                if self.before == 0 && self.after == 0 && !self.zero {
                    self.blank = true;
                }
            }
            Pattern::Point | Pattern::LocalePoint => {
                if self.decimal {
                    return Err(wrong("multiple decimal points"));
                }
                if self.shifted {
                    return Err(wrong("cannot use \"V\" and decimal point together"));
                }
                self.decimal = true;
            }
            Pattern::Fill => self.fill = true,
            Pattern::AnchoredSign => {
                if self.anchored_sign {
                    return Err(wrong("cannot use \"S\" twice"));
                }
                if self.plus || self.minus || self.brackets {
                    return Err(wrong("cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together"));
                }
                if !self.decimal {
                    self.anchor = Anchor::Before;
                    self.digits_before_sign = self.before;
                } else if self.anchor == Anchor::None {
                    self.anchor = Anchor::After;
                }
                self.anchored_sign = true;
            }
            Pattern::Minus => {
                if self.anchored_sign {
                    return Err(wrong("cannot use \"S\" and \"MI\" together"));
                }
                self.minus = true;
            }
            Pattern::Plus => {
                if self.anchored_sign {
                    return Err(wrong("cannot use \"S\" and \"PL\" together"));
                }
                self.plus = true;
            }
            Pattern::Sign => {
                if self.anchored_sign {
                    return Err(wrong("cannot use \"S\" and \"SG\" together"));
                }
                self.plus = true;
                self.minus = true;
            }
            Pattern::Brackets => {
                if self.anchored_sign || self.plus || self.minus {
                    return Err(wrong("cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together"));
                }
                self.brackets = true;
            }
            Pattern::Roman(_) => {
                if self.roman {
                    return Err(wrong("cannot use \"RN\" twice"));
                }
                self.roman = true;
            }
            Pattern::Shift => {
                if self.decimal {
                    return Err(wrong("cannot use \"V\" and decimal point together"));
                }
                self.shifted = true;
            }
            Pattern::Exponent => {
                if self.exponent {
                    return Err(wrong("cannot use \"EEEE\" twice"));
                }
                if self.blank
                    || self.fill
                    || self.anchored_sign
                    || self.brackets
                    || self.minus
                    || self.plus
                    || self.roman
                    || self.shifted
                {
                    return Err(wrong("\"EEEE\" is incompatible with other formats")
                        .detail("\"EEEE\" may only be used together with digit and decimal point patterns."));
                }
                self.exponent = true;
            }
            Pattern::Comma
            | Pattern::Group
            | Pattern::Currency
            | Pattern::IsoCurrency
            | Pattern::Spell
            | Pattern::Ordinal(_) => {}
        }
        Ok(())
    }
}

/// The nodes of a template, and what they say as a whole. 42601 for patterns that do not go together.
pub(super) fn nodes(template: &str) -> Result<(Vec<Node<'_>>, Summary)> {
    let (mut out, mut summary) = (Vec::new(), Summary::default());
    let mut rest = template;
    while !rest.is_empty() {
        crate::work::pulse(1);
        if let Some(&(name, pattern)) = PATTERNS.iter().find(|(name, _)| rest.starts_with(name)) {
            rest = &rest[name.len()..];
            summary.add(pattern)?;
            out.push(Node::Pattern(pattern));
            continue;
        }
        let (text, after) = plain(rest);
        rest = after;
        match text {
            Plain::Quoted(characters) => out.extend(characters.into_iter().map(Node::Character)),
            Plain::Character(c) => out.push(Node::Character(c)),
        }
    }
    if summary.roman && summary.says_more_than_roman() {
        return Err(
            wrong("\"RN\" is incompatible with other formats").detail("\"RN\" may only be used together with \"FM\".")
        );
    }
    Ok((out, summary))
}
