//! LTX files, version 3 (<https://github.com/superfly/ltx>): the pages that transactions have changed, each compressed, with an index and a
//! checksum.
//!
//! ```text
//! header (100 bytes) · pages in order of their numbers · 6 zeros · index of the pages · checksums (16 bytes)
//! ```
//!
//! A page is its number (4 bytes), flags (2), the length of what follows (4), and the page in an LZ4 block. All numbers are big-endian. The
//! last checksum covers everything before it, with the pages as they are uncompressed.

use crate::crc64::Crc64;
use crate::{Error, Result};
use std::io::{Read, Write};

const MAGIC: &[u8; 4] = b"LTX1";
/// The bytes of a header.
pub const HEADER: usize = 100;
const PAGE_HEADER: usize = 6;
/// The file has no checksums of the whole database, only one of itself.
const NO_CHECKSUM: u32 = 1 << 1;
/// A page's length and an LZ4 block follow its number.
const HAS_SIZE: u16 = 1;
/// Each checksum has this bit, so that none is zero.
const CHECKSUM: u64 = 1 << 63;
/// SQLite locks bytes from here on; the page that they are in is never used.
const LOCKED: u32 = 0x4000_0000;

/// What a file says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Header {
    /// the bytes of a page
    pub page_size: u32,
    /// how many pages the database has after the file's transactions
    pub pages: u32,
    /// the number of the file's first transaction
    pub first: u64,
    /// the number of its last
    pub last: u64,
    /// when that was committed: milliseconds since 1970
    pub time: i64,
    /// where its changes begin in all that was ever written to the database's log, and where they end: bytes; zero: it is not known
    pub lsn: (u64, u64),
    /// who has written it; zero: it is not known
    pub node: u64,
    flags: u32,
}

/// The first place in a log, which no file begins before: zero has no meaning in PostgreSQL either.
pub const FIRST_LSN: u64 = 1 << 24;

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].iter().fold(0, |n, b| n << 8 | u32::from(*b))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 8].iter().fold(0, |n, b| n << 8 | u64::from(*b))
}

impl Header {
    /// The header of a file with these transactions.
    pub fn new(page_size: u32, pages: u32, first: u64, last: u64, time: i64) -> Header {
        Header { page_size, pages, first, last, time, lsn: (0, 0), node: 0, flags: NO_CHECKSUM }
    }

    /// The same header, of changes between two places in the log.
    pub fn at(self, lsn: (u64, u64)) -> Header {
        Header { lsn, ..self }
    }

    /// The same header, of a file that this process writes.
    pub fn by(self, node: u64) -> Header {
        Header { node, ..self }
    }

    /// Whether the file has all pages of the database.
    pub fn is_whole(&self) -> bool {
        self.first == 1
    }

    /// The page that SQLite never uses.
    pub fn locked_page(&self) -> u32 {
        LOCKED / self.page_size + 1
    }

    fn encode(&self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..4].copy_from_slice(MAGIC);
        bytes[4..8].copy_from_slice(&self.flags.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.page_size.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.pages.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.first.to_be_bytes());
        bytes[24..32].copy_from_slice(&self.last.to_be_bytes());
        bytes[32..40].copy_from_slice(&self.time.to_be_bytes());
        // (the format has an offset and a size in the log, and two numbers of its beginning, which Litestream sets and this program does not)
        if let (from @ 1.., to) = self.lsn {
            bytes[48..56].copy_from_slice(&from.to_be_bytes());
            bytes[56..64].copy_from_slice(&(to - from).to_be_bytes());
        }
        bytes[72..80].copy_from_slice(&self.node.to_be_bytes());
        bytes
    }

    fn decode(bytes: &[u8; HEADER]) -> Result<Header> {
        if &bytes[..4] != MAGIC {
            return Err(Error::new("the file is no LTX file"));
        }
        let (from, size, salts) = (u64_at(bytes, 48), u64_at(bytes, 56), u64_at(bytes, 64));
        let header = Header {
            flags: u32_at(bytes, 4),
            page_size: u32_at(bytes, 8),
            pages: u32_at(bytes, 12),
            first: u64_at(bytes, 16),
            last: u64_at(bytes, 24),
            time: u64_at(bytes, 32) as i64,
            node: u64_at(bytes, 72),
            lsn: from.checked_add(size).filter(|_| salts == 0 && from > 0).map_or((0, 0), |to| (from, to)),
        };
        let plausible = header.flags & !NO_CHECKSUM == 0
            && header.page_size.is_power_of_two()
            && (512..=65_536).contains(&header.page_size)
            && (1..=header.last).contains(&header.first);
        match plausible {
            true => Ok(header),
            false => Err(Error::new("the header of the LTX file is damaged, or of a later version")),
        }
    }
}

/// A number as the index has it: seven bits a byte, the lowest first.
fn put_varint(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push(number as u8 | 0x80);
        number >>= 7;
    }
    to.push(number as u8);
}

/// Writes an LTX file.
pub struct Writer<W: Write> {
    to: W,
    header: Header,
    crc: Crc64,
    written: u64,
    index: Vec<u8>,
    /// the last page that was written
    page: u32,
}

impl<W: Write> Writer<W> {
    /// Begins a file.
    pub fn new(to: W, header: Header) -> Result<Writer<W>> {
        let bytes = header.encode();
        let mut writer = Writer { to, header, crc: Crc64::new(), written: 0, index: Vec::new(), page: 0 };
        writer.put(&bytes)?;
        Ok(writer)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.to.write_all(bytes)?;
        self.crc.update(bytes);
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// The number of the page that follows the last one.
    pub fn next(&self) -> u32 {
        match self.page + 1 {
            next if next == self.header.locked_page() => next + 1,
            next => next,
        }
    }

    /// Writes the next page. Pages come in the order of their numbers; a file with the first transaction has all of them.
    pub fn page(&mut self, number: u32, content: &[u8]) -> Result<()> {
        let locked = self.header.locked_page();
        let in_order = if self.header.is_whole() { number == self.next() } else { number > self.page };
        if !in_order
            || number > self.header.pages
            || number == locked
            || content.len() != self.header.page_size as usize
        {
            return Err(Error::new(format!("page {number} cannot follow page {} in an LTX file", self.page)));
        }
        self.page = number;
        let began = self.written;
        let compressed = lz4_flex::block::compress(content);
        let mut head = [0; PAGE_HEADER + 4];
        head[..4].copy_from_slice(&number.to_be_bytes());
        head[4..6].copy_from_slice(&HAS_SIZE.to_be_bytes());
        head[6..].copy_from_slice(&(compressed.len() as u32).to_be_bytes());
        self.put(&head)?;
        self.to.write_all(&compressed)?;
        self.crc.update(content);
        self.written += compressed.len() as u64;
        put_varint(&mut self.index, u64::from(number));
        put_varint(&mut self.index, began);
        put_varint(&mut self.index, self.written - began);
        Ok(())
    }

    /// Ends the file. Returns what it was written to.
    pub fn finish(mut self) -> Result<W> {
        self.put(&[0; PAGE_HEADER])?;
        let mut index = std::mem::take(&mut self.index);
        index.push(0);
        self.put(&index)?;
        self.put(&(index.len() as u64).to_be_bytes())?;
        self.put(&[0; 8])?;
        self.to.write_all(&(CHECKSUM | self.crc.sum()).to_be_bytes())?;
        self.to.flush()?;
        Ok(self.to)
    }
}

/// Reads an LTX file.
pub struct Reader<R: Read> {
    from: R,
    header: Header,
    crc: Crc64,
    /// the pages that were read, as the index must have them
    index: Vec<u8>,
    read: u64,
    page: u32,
    compressed: Vec<u8>,
    content: Vec<u8>,
    ended: bool,
}

impl<R: Read> Reader<R> {
    /// Begins with the header.
    pub fn new(mut from: R) -> Result<Reader<R>> {
        let mut bytes = [0; HEADER];
        from.read_exact(&mut bytes)?;
        let header = Header::decode(&bytes)?;
        let mut crc = Crc64::new();
        crc.update(&bytes);
        let content = vec![0; header.page_size as usize];
        let (index, compressed) = Default::default();
        Ok(Reader { from, header, crc, index, read: HEADER as u64, page: 0, compressed, content, ended: false })
    }

    /// What the file says of itself.
    pub fn header(&self) -> &Header {
        &self.header
    }

    fn take(&mut self, to: &mut [u8]) -> Result<()> {
        self.from.read_exact(to)?;
        self.crc.update(to);
        self.read += to.len() as u64;
        Ok(())
    }

    /// The next page; None: that was the last one, and the file is whole and has its checksum. Nothing of a file may be believed before.
    pub fn page(&mut self) -> Result<Option<(u32, &[u8])>> {
        if self.ended {
            return Ok(None);
        }
        let began = self.read;
        let mut head = [0; PAGE_HEADER];
        self.take(&mut head)?;
        if head == [0; PAGE_HEADER] {
            return self.end().map(|()| None);
        }
        let number = u32_at(&head, 0);
        if head[4..] != HAS_SIZE.to_be_bytes() {
            return Err(Error::new("the pages of this LTX file are compressed as early versions of Litestream 0.5 did it, which is not supported"));
        }
        let mut size = [0; 4];
        self.take(&mut size)?;
        let size = u32_at(&size, 0) as usize;
        let whole = self.header.is_whole() && self.page + 1 != self.header.locked_page() && number != self.page + 1;
        let longest = lz4_flex::block::get_maximum_output_size(self.content.len());
        if number <= self.page || number > self.header.pages || whole || size > longest {
            return Err(Error::new(format!(
                "page {number} after page {} does not belong into the LTX file",
                self.page
            )));
        }
        self.compressed.resize(size, 0);
        self.from.read_exact(&mut self.compressed)?;
        self.read += size as u64;
        match lz4_flex::block::decompress_into(&self.compressed, &mut self.content) {
            Ok(length) if length == self.content.len() => {}
            _ => return Err(Error::new(format!("page {number} of the LTX file cannot be decompressed"))),
        }
        self.crc.update(&self.content);
        self.page = number;
        put_varint(&mut self.index, u64::from(number));
        put_varint(&mut self.index, began);
        put_varint(&mut self.index, self.read - began);
        Ok(Some((number, &self.content)))
    }

    /// What follows the pages.
    fn end(&mut self) -> Result<()> {
        let mut expected = std::mem::take(&mut self.index);
        expected.push(0);
        expected.extend((expected.len() as u64).to_be_bytes());
        let mut index = vec![0; expected.len()];
        self.take(&mut index)?;
        let mut sums = [0; 16];
        self.from.read_exact(&mut sums)?;
        self.crc.update(&sums[..8]);
        if u64_at(&sums, 8) != CHECKSUM | self.crc.sum() {
            return Err(Error::new("the LTX file is damaged: its checksum is another one"));
        }
        if index != expected {
            return Err(Error::new("the index of the LTX file does not belong to its pages"));
        }
        if self.header.is_whole() {
            let last = self.page + u32::from(self.page + 1 == self.header.locked_page());
            if last < self.header.pages {
                return Err(Error::new(format!("the LTX file has {} of {} pages", self.page, self.header.pages)));
            }
        }
        if self.from.read(&mut [0])? != 0 {
            return Err(Error::new("something follows the LTX file"));
        }
        self.ended = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(seed: u32) -> Vec<u8> {
        // half of it cannot be compressed
        let mut state = seed.wrapping_mul(2_654_435_761) | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state as u8
        };
        (0..1024).map(|i| if i < 512 { next() } else { seed as u8 }).collect()
    }

    fn file(header: &Header, pages: &[u32]) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new(), header.clone()).unwrap();
        pages.iter().for_each(|n| writer.page(*n, &content(*n)).unwrap());
        writer.finish().unwrap()
    }

    fn read(bytes: &[u8]) -> Result<Vec<(u32, Vec<u8>)>> {
        let mut reader = Reader::new(bytes)?;
        let mut pages = Vec::new();
        while let Some((number, content)) = reader.page()? {
            pages.push((number, content.to_vec()));
        }
        Ok(pages)
    }

    #[test]
    fn what_is_written_is_read() {
        let header = Header::new(1024, 300, 5, 9, 1_700_000_000_123);
        let bytes = file(&header, &[1, 2, 200, 300]);
        assert_eq!(Reader::new(&bytes[..]).unwrap().header(), &header);
        let pages = read(&bytes).unwrap();
        assert_eq!(pages.iter().map(|(n, _)| *n).collect::<Vec<_>>(), [1, 2, 200, 300]);
        assert!(pages.iter().all(|(n, c)| *c == content(*n)));
        assert_eq!(read(&file(&Header::new(1024, 3, 1, 1, 0), &[1, 2, 3])).unwrap().len(), 3);
        assert_eq!(read(&file(&Header::new(1024, 3, 2, 2, 0), &[])).unwrap(), []);
    }

    /// Whatever happens to a byte, or to the end, is noticed before the last page is given.
    #[test]
    fn damage_is_noticed() {
        let bytes = file(&Header::new(1024, 9, 2, 2, 7), &[1, 4, 9]);
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            // (two compressed forms may be of one page)
            assert!(read(&damaged).is_err() || read(&damaged) == read(&bytes), "byte {at}");
            assert!(read(&bytes[..at]).is_err(), "{at} bytes");
        }
        let mut longer = bytes;
        longer.push(0);
        assert!(read(&longer).is_err());
    }

    #[test]
    fn pages_have_an_order_and_a_whole_file_has_all() {
        let refused = |header: Header, pages: &[u32]| {
            let mut writer = Writer::new(Vec::new(), header).unwrap();
            pages.iter().any(|n| writer.page(*n, &content(*n)).is_err())
        };
        assert!(refused(Header::new(1024, 9, 2, 2, 0), &[4, 4]));
        assert!(refused(Header::new(1024, 9, 2, 2, 0), &[10]));
        assert!(refused(Header::new(1024, 9, 1, 2, 0), &[2]));
        assert!(refused(Header::new(1024, 9, 1, 2, 0), &[1, 3]));
        assert!(read(&file(&Header::new(1024, 3, 1, 1, 0), &[1, 2])).is_err(), "a page is missing");
        let locked = Header::new(1024, u32::MAX, 2, 2, 0).locked_page();
        assert!(refused(Header::new(1024, u32::MAX, 2, 2, 0), &[locked]));
    }
}
