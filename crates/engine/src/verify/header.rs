//! The common part of all headers: fio's `struct verify_header` on a
//! little-endian machine, 40 bytes.
//!
//! | at | bytes | |
//! |---|---|---|
//! | 0 | 2 | `acca` |
//! | 2 | 2 | kind of check |
//! | 4 | 4 | length of the interval, header included |
//! | 8 | 8 | seed of the content |
//! | 16 | 8 | offset of the interval |
//! | 24 | 4 + 4 | time of writing: seconds, nanoseconds |
//! | 32 | 2 | number of the writing thread |
//! | 34 | 2 | number of the write |
//! | 36 | 4 | CRC-32C of the 36 bytes before |

use super::checksum::crc32c;
use assay_model::load::verify::VerifyKind;

/// Size of a header in bytes.
pub(super) const BYTES: usize = 40;
const MAGIC: u16 = 0xacca;
const CRC_AT: usize = 36;
/// Code that an older fio used for CRC-32C computed in hardware.
const CRC32C_HARDWARE: u16 = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: u16,
    pub(super) length: u32,
    pub(super) seed: u64,
    pub(super) offset: u64,
    pub(super) time: (u32, u32),
    pub(super) thread: u16,
    pub(super) number: u16,
}

impl Header {
    pub(super) fn encode(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[0..2].copy_from_slice(&MAGIC.to_le_bytes());
        bytes[2..4].copy_from_slice(&self.kind.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.length.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.seed.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.offset.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.time.0.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.time.1.to_le_bytes());
        bytes[32..34].copy_from_slice(&self.thread.to_le_bytes());
        bytes[34..36].copy_from_slice(&self.number.to_le_bytes());
        let crc = crc32c(&bytes[..CRC_AT]);
        bytes[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Decodes a header; the error describes why the bytes are not a header.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, String> {
        let Some(bytes) = bytes.first_chunk::<BYTES>() else {
            return Err(format!("too few bytes for a header: {}", bytes.len()));
        };
        let magic = u16::from_le_bytes(at(bytes, 0));
        if magic != MAGIC {
            return Err(format!(
                "there is no header: found {magic:04x}, expected {MAGIC:04x}"
            ));
        }
        let stored = u32::from_le_bytes(at(bytes, CRC_AT));
        let computed = crc32c(&bytes[..CRC_AT]);
        if stored != computed {
            return Err(format!(
                "crc32c of the header differs: found {computed:08x}, expected {stored:08x}"
            ));
        }
        Ok(Self {
            kind: u16::from_le_bytes(at(bytes, 2)),
            length: u32::from_le_bytes(at(bytes, 4)),
            seed: u64::from_le_bytes(at(bytes, 8)),
            offset: u64::from_le_bytes(at(bytes, 16)),
            time: (
                u32::from_le_bytes(at(bytes, 24)),
                u32::from_le_bytes(at(bytes, 28)),
            ),
            thread: u16::from_le_bytes(at(bytes, 32)),
            number: u16::from_le_bytes(at(bytes, 34)),
        })
    }
}

fn at<const N: usize>(bytes: &[u8; BYTES], place: usize) -> [u8; N] {
    std::array::from_fn(|i| bytes[place + i])
}

/// Returns fio's code of a kind of check.
pub(super) const fn code(kind: VerifyKind) -> u16 {
    match kind {
        VerifyKind::Header => 1,
        VerifyKind::Md5 => 2,
        VerifyKind::Crc64 => 3,
        VerifyKind::Crc32 => 4,
        VerifyKind::Crc32c => 5,
        VerifyKind::Crc16 => 7,
        VerifyKind::Crc7 => 8,
        VerifyKind::Sha256 => 9,
        VerifyKind::Sha512 => 10,
        VerifyKind::Sha3224 => 11,
        VerifyKind::Sha3256 => 12,
        VerifyKind::Sha3384 => 13,
        VerifyKind::Sha3512 => 14,
        VerifyKind::Xxhash => 15,
        VerifyKind::Sha1 => 16,
        VerifyKind::PatternHeader => 17,
        VerifyKind::Pattern => 18,
        VerifyKind::Null => 19,
    }
}

/// Returns true if a header with that code may precede data of that kind.
pub(super) const fn is_code_of(found: u16, kind: VerifyKind) -> bool {
    found == code(kind) || found == CRC32C_HARDWARE && matches!(kind, VerifyKind::Crc32c)
}
