//! Numbers in base 100: DECIMAL and MONEY, and the digits of DATETIME and INTERVAL.
//!
//! A number is 0.d1d2d3… × 100^e with d1 ≠ 0. Its first byte holds the sign and e, then come the digits; in negative numbers they are
//! complemented. NULL is all zeros.

/// A number; `pairs` empty: zero.
#[derive(Debug, Clone, PartialEq)]
pub struct Base100 {
    pub negative: bool,
    /// how many pairs stand before the point
    pub exponent: i32,
    /// without zeros in front or behind
    pub pairs: Vec<u8>,
}

impl Base100 {
    /// From pairs with zeros anywhere.
    pub fn new(negative: bool, exponent: i32, pairs: &[u8]) -> Base100 {
        let leading = pairs.iter().take_while(|p| **p == 0).count();
        let mut kept = pairs[leading..].to_vec();
        while kept.last() == Some(&0) {
            kept.pop();
        }
        if kept.is_empty() {
            return Base100 { negative: false, exponent: 0, pairs: kept };
        }
        Base100 { negative, exponent: exponent - leading as i32, pairs: kept }
    }

    /// Reads plain decimal notation; None if the text is not a number.
    #[cfg(test)]
    pub fn parse(text: &str) -> Option<Base100> {
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() && fraction.is_empty() || !all(whole) || !all(fraction) {
            return None;
        }
        // pairs are counted from the point
        let mut decimal = Vec::new();
        if whole.len() % 2 == 1 {
            decimal.push(b'0');
        }
        decimal.extend_from_slice(whole.as_bytes());
        let exponent = decimal.len() as i32 / 2;
        decimal.extend_from_slice(fraction.as_bytes());
        if decimal.len() % 2 == 1 {
            decimal.push(b'0');
        }
        let pairs: Vec<u8> = decimal.chunks(2).map(|p| (p[0] - b'0') * 10 + p[1] - b'0').collect();
        Some(Base100::new(negative, exponent, &pairs))
    }

    /// Rounded (half away from zero) to so many decimal digits, as a floating DECIMAL holds.
    pub fn rounded(self, digits: usize) -> Base100 {
        let mut decimal: Vec<u8> = self.pairs.iter().flat_map(|p| [p / 10, p % 10]).collect();
        let leading = decimal.iter().take_while(|d| **d == 0).count();
        let keep = leading + digits;
        if decimal.len() <= keep {
            return self;
        }
        let up = decimal[keep] >= 5;
        decimal.truncate(keep);
        let mut exponent = self.exponent;
        if up {
            let mut at = keep;
            loop {
                if at == 0 {
                    // 99.9… became 100
                    decimal.splice(0..0, [0, 1]);
                    exponent += 1;
                    break;
                }
                at -= 1;
                if decimal[at] < 9 {
                    decimal[at] += 1;
                    break;
                }
                decimal[at] = 0;
            }
        }
        if decimal.len() % 2 == 1 {
            decimal.push(0);
        }
        let pairs: Vec<u8> = decimal.chunks(2).map(|p| p[0] * 10 + p[1]).collect();
        Base100::new(self.negative, exponent, &pairs)
    }

    /// `width` bytes; None: its exponent or its pairs have no room.
    pub fn encode(&self, width: usize) -> Option<Vec<u8>> {
        let mut out = vec![0; width];
        if self.pairs.is_empty() {
            out[0] = 0x80;
            return Some(out);
        }
        if self.pairs.len() + 1 > width || !(-64..=63).contains(&self.exponent) {
            return None;
        }
        let biased = (self.exponent + 64) as u8;
        out[0] = if self.negative { biased ^ 0x7f } else { 0x80 | biased };
        for (i, pair) in self.pairs.iter().enumerate() {
            out[i + 1] = match self.negative {
                false => *pair,
                true if i + 1 == self.pairs.len() => 100 - pair,
                true => 99 - pair,
            };
        }
        Some(out)
    }

    /// A value of any width. None: the bytes are no number, or (see [`is_null`]) NULL.
    pub fn decode(bytes: &[u8]) -> Option<Base100> {
        let (&head, digits) = bytes.split_first()?;
        let negative = head & 0x80 == 0;
        let used = digits.len() - digits.iter().rev().take_while(|d| **d == 0).count();
        let digits = &digits[..used];
        if digits.is_empty() {
            // clients also send zeros that have an exponent
            return (head != 0).then(|| Base100::new(false, 0, &[]));
        }
        let biased = if negative { head ^ 0x7f } else { head & 0x7f };
        let mut pairs = Vec::with_capacity(used);
        for (i, digit) in digits.iter().enumerate() {
            pairs.push(match negative {
                false => Some(*digit),
                true if i + 1 == used => 100u8.checked_sub(*digit),
                true => 99u8.checked_sub(*digit),
            }?);
            if pairs[i] > 99 {
                return None;
            }
        }
        Some(Base100::new(negative, biased as i32 - 64, &pairs))
    }

    /// Plain decimal notation.
    pub fn to_decimal(&self) -> String {
        let mut text = String::new();
        if self.negative {
            text.push('-');
        }
        let before = self.exponent.max(0) as usize;
        let mut whole = String::new();
        for i in 0..before {
            whole += &format!("{:02}", self.pairs.get(i).copied().unwrap_or(0));
        }
        let whole = whole.trim_start_matches('0');
        text += if whole.is_empty() { "0" } else { whole };
        if self.pairs.len() > before {
            text.push('.');
            text.push_str(&"00".repeat((-self.exponent).max(0) as usize));
            for pair in &self.pairs[before.min(self.pairs.len())..] {
                text += &format!("{pair:02}");
            }
            text.truncate(text.trim_end_matches('0').len());
        }
        text
    }
}

/// Whether these bytes of a row are NULL.
pub fn is_null(bytes: &[u8]) -> bool {
    bytes.iter().all(|b| *b == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|b| format!("{b:02x}")).collect()
    }

    /// Bytes that real servers and IBM's driver were seen to exchange.
    #[test]
    fn numbers_have_the_known_bytes() {
        for (text, width, expected) in [
            ("-1234.56", 6, "3d57412c0000"),
            ("123.45", 5, "c201172d00"),
            ("-123.45", 5, "3d624c3700"),
            ("0", 5, "8000000000"),
            ("0.001", 10, "bf0a0000000000000000"),
            ("100", 4, "c2010000"),
            ("0.1", 2, "c00a"),
            ("-0.001", 3, "405a00"),
            ("99.95", 7, "c1635f00000000"),
        ] {
            let number = Base100::parse(text).unwrap();
            let bytes = number.encode(width).unwrap();
            assert_eq!(hex(&bytes), expected, "{text}");
            assert_eq!(Base100::decode(&bytes).unwrap(), number, "{text}");
            assert_eq!(Base100::parse(&number.to_decimal()).unwrap(), number, "{text}");
        }
        for (digits, zeros, negative, start) in
            [(0, 130, false, "8001"), (0, 130, true, "7f63"), (126, 0, false, "ff0a"), (126, 0, true, "005a")]
        {
            let text = match digits {
                0 => format!("0.{}1", "0".repeat(zeros - 1)),
                n => format!("1{}", "0".repeat(n - 1)),
            };
            let number = Base100::parse(&format!("{}{text}", if negative { "-" } else { "" })).unwrap();
            let bytes = number.encode(18).unwrap();
            assert!(hex(&bytes).starts_with(start), "{text}: {}", hex(&bytes));
            assert_eq!(Base100::decode(&bytes).unwrap(), number);
        }
    }

    #[test]
    fn rounding_and_refusing() {
        let round = |text: &str, digits| Base100::parse(text).unwrap().rounded(digits).to_decimal();
        assert_eq!(round("1.23456", 4), "1.235");
        assert_eq!(round("99.996", 4), "100");
        assert_eq!(round("0.0123449", 4), "0.01234");
        assert_eq!(round("12", 4), "12");
        assert_eq!(Base100::parse("123456").unwrap().encode(3), None);
        assert_eq!(Base100::parse("1.2.3"), None);
        assert_eq!(Base100::parse("NaN"), None);
        assert_eq!(Base100::decode(&[0xc1, 0xff]), None);
        for zero in [&[0x80][..], &[0xc1, 0], &[0x3e, 0, 0]] {
            assert_eq!(Base100::decode(zero).unwrap().to_decimal(), "0");
        }
        assert!(is_null(&[0, 0, 0]) && !is_null(&[0, 0x5a]));
    }
}
