//! Reading fields from what has arrived so far.
//!
//! A length is believed only up to a limit that its place allows, so that a peer cannot make the server wait for (or keep) more
//! than that; what a length claims is never allocated before it has arrived.

/// Why a message could not be read.
#[derive(Debug, PartialEq)]
pub enum Stop {
    /// the rest has not arrived yet
    Incomplete,
    /// the peer does not keep to the protocol: where the next message begins is unknown from here on
    Malformed(String),
}

pub type Read<T> = Result<T, Stop>;

pub fn malformed<T>(what: impl Into<String>) -> Read<T> {
    Err(Stop::Malformed(what.into()))
}

/// The longest SQL text, row, or value of one message in bytes.
pub const LONGEST: usize = 64 << 20;

/// A place in the bytes that have arrived.
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { bytes, at: 0 }
    }

    /// How many bytes have been read.
    pub fn position(&self) -> usize {
        self.at
    }

    /// The next `n` bytes.
    pub fn take(&mut self, n: usize) -> Read<&'a [u8]> {
        let end = self.at.checked_add(n).filter(|end| *end <= self.bytes.len()).ok_or(Stop::Incomplete)?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Read<[u8; N]> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N)?);
        Ok(out)
    }

    pub fn byte(&mut self) -> Read<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub fn short(&mut self) -> Read<i16> {
        Ok(i16::from_be_bytes(self.array()?))
    }

    pub fn int(&mut self) -> Read<i32> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    pub fn long(&mut self) -> Read<i64> {
        Ok(i64::from_be_bytes(self.array()?))
    }

    pub fn double(&mut self) -> Read<f64> {
        Ok(f64::from_be_bytes(self.array()?))
    }

    pub fn single(&mut self) -> Read<f32> {
        Ok(f32::from_be_bytes(self.array()?))
    }

    /// `n` bytes, followed by a zero if `n` is odd.
    pub fn padded(&mut self, n: usize) -> Read<&'a [u8]> {
        let bytes = self.take(n)?;
        if n % 2 == 1 {
            self.take(1)?;
        }
        Ok(bytes)
    }

    /// A count in a short that must not be negative.
    pub fn count(&mut self, what: &str) -> Read<usize> {
        let n = self.short()?;
        usize::try_from(n).or_else(|_| malformed(format!("{what} is {n}")))
    }

    /// A length in an int, at most [`LONGEST`].
    pub fn length(&mut self, what: &str) -> Read<usize> {
        let n = self.int()?;
        match usize::try_from(n) {
            Ok(n) if n <= LONGEST => Ok(n),
            _ => malformed(format!("{what} is {n}")),
        }
    }

    /// CHAR: a short length, the bytes, padding.
    pub fn char(&mut self) -> Read<&'a [u8]> {
        let n = self.count("the length of a string")?;
        self.padded(n)
    }

    /// CHAR4: as CHAR, with an int length.
    pub fn char4(&mut self) -> Read<&'a [u8]> {
        let n = self.length("the length of a text")?;
        self.padded(n)
    }

    /// A string of the login packet: a length that counts the final zero, no padding. An empty one may leave the zero out.
    pub fn ascii(&mut self) -> Read<&'a [u8]> {
        let n = self.count("the length of a login string")?;
        let bytes = self.take(n)?;
        match bytes.split_last() {
            None => Ok(bytes),
            Some((0, text)) => Ok(text),
            Some(_) => malformed("a login string without its final zero"),
        }
    }
}
