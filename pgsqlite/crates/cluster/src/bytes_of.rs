//! Numbers and texts as bytes, and back: big-endian, each text with its length before it. What is read is looked at, not trusted.

use bytes::Bytes;

/// Bytes that are being written.
#[derive(Debug, Default)]
pub struct Writer(pub Vec<u8>);

impl Writer {
    /// One byte.
    pub fn u8(&mut self, v: u8) -> &mut Self {
        self.0.push(v);
        self
    }

    /// Four bytes.
    pub fn u32(&mut self, v: u32) -> &mut Self {
        self.0.extend(v.to_be_bytes());
        self
    }

    /// Eight bytes.
    pub fn u64(&mut self, v: u64) -> &mut Self {
        self.0.extend(v.to_be_bytes());
        self
    }

    /// The length in four bytes, and the bytes. (Longer ones are never made: commands have a limit.)
    pub fn bytes(&mut self, v: &[u8]) -> &mut Self {
        self.u32(v.len() as u32);
        self.0.extend(v);
        self
    }
}

/// Bytes that are being read.
#[derive(Debug, Clone)]
pub struct Reader(pub Bytes);

impl Reader {
    /// So many bytes. None: there are fewer.
    pub fn take(&mut self, n: usize) -> Option<Bytes> {
        (n <= self.0.len()).then(|| self.0.split_to(n))
    }

    /// One byte.
    pub fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|b| b[0])
    }

    /// Four bytes.
    pub fn u32(&mut self) -> Option<u32> {
        self.take(4).and_then(|b| b[..].try_into().ok()).map(u32::from_be_bytes)
    }

    /// Eight bytes.
    pub fn u64(&mut self) -> Option<u64> {
        self.take(8).and_then(|b| b[..].try_into().ok()).map(u64::from_be_bytes)
    }

    /// Bytes with their length before them.
    pub fn bytes(&mut self) -> Option<Bytes> {
        let n = self.u32()? as usize;
        self.take(n)
    }

    /// A text with its length before it. None: also for what is not UTF-8.
    pub fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }

    /// Whether everything has been read.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
