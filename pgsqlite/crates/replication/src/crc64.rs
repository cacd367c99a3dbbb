//! The checksum of LTX files: CRC-64 with the polynomial of ISO 3309, reflected, inverted before and after.

const POLYNOMIAL: u64 = 0xD800_0000_0000_0000;

/// For eight bytes at once: table k has the checksum of a byte that k zeros follow.
static TABLES: [[u64; 256]; 8] = tables();

const fn tables() -> [[u64; 256]; 8] {
    let mut tables = [[0u64; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u64;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut k = 1;
    while k < 8 {
        byte = 0;
        while byte < 256 {
            let before = tables[k - 1][byte];
            tables[k][byte] = before >> 8 ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        k += 1;
    }
    tables
}

/// A checksum that is being computed.
#[derive(Clone, Copy)]
pub(crate) struct Crc64(u64);

impl Crc64 {
    pub fn new() -> Crc64 {
        Crc64(!0)
    }

    pub fn update(&mut self, bytes: &[u8]) {
        let (eights, rest) = bytes.as_chunks::<8>();
        for eight in eights {
            let word = (self.0 ^ u64::from_le_bytes(*eight)).to_le_bytes();
            self.0 = word.iter().zip((0..8).rev()).fold(0, |crc, (byte, k)| crc ^ TABLES[k][usize::from(*byte)]);
        }
        for byte in rest {
            self.0 = self.0 >> 8 ^ TABLES[0][usize::from(self.0 as u8 ^ byte)];
        }
    }

    pub fn sum(&self) -> u64 {
        !self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_standard() {
        let sum = |bytes: &[u8]| {
            let mut crc = Crc64::new();
            crc.update(bytes);
            crc.sum()
        };
        // the check value of CRC-64/GO-ISO
        assert_eq!(sum(b"123456789"), 0xb909_56c7_75a4_1001);
        assert_eq!(sum(b""), 0);
        // in pieces of any length it is the same
        let bytes: Vec<u8> = (0..1000u32).map(|i| (i * 7 % 251) as u8).collect();
        for cut in [1, 7, 8, 9, 500] {
            let mut crc = Crc64::new();
            bytes.chunks(cut).for_each(|piece| crc.update(piece));
            assert_eq!(crc.sum(), sum(&bytes));
        }
    }
}
