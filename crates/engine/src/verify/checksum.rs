//! The checksums that follow a header, in fio's layout.
//!
//! fio's checksums differ from the published ones as follows (as read from, and
//! tested against, fio 3.33):
//! - CRC-7 is CRC-7/MMC, CRC-16 is CRC-16/ARC, CRC-64 is CRC-64/REDIS.
//! - CRC-32 is CRC-32/CKSUM, and CRC-32C is CRC-32/ISCSI, both without the
//!   inversion at the end.
//! - xxHash has the seed 1.
//! - SHA-1 is stored as five words with the lowest byte first.
//! - SHA-256 is padded with the length in the wrong byte order. Only the lowest
//!   byte of each word of the result is stored, followed by the rest of the
//!   last, padded block. It still detects all but one in 2^64 differences.
//! - SHA-512 is never computed: fio stores the first 128 bytes of the data,
//!   overwritten from the front by the last (length modulo 128) bytes, so
//!   damage between them is not detected. **assay writes the true SHA-512**,
//!   followed by zeros, which fio rejects. When it checks a block of fio, assay
//!   compares these stored bytes.

use assay_model::load::blocks::VerifyKind;
use crc::{Algorithm, CRC_7_MMC, CRC_16_ARC, CRC_32_CKSUM, CRC_64_REDIS, Crc};
use md5::{Digest, Md5};
use sha1::Sha1;
use sha2::Sha512;
use sha2::block_api::compress256;
use sha3::{Sha3_224, Sha3_256, Sha3_384, Sha3_512};
use std::fmt::Write;
use twox_hash::XxHash32;

static CRC7: Crc<u8> = Crc::<u8>::new(&CRC_7_MMC);
static CRC16: Crc<u16> = Crc::<u16>::new(&CRC_16_ARC);
static CRC32: Crc<u32> = Crc::<u32>::new(&CRC_32_UNINVERTED);
static CRC64: Crc<u64> = Crc::<u64>::new(&CRC_64_REDIS);
const CRC_32_UNINVERTED: Algorithm<u32> = Algorithm {
    xorout: 0,
    // CRC of "123456789": the published value without its inversion.
    check: !CRC_32_CKSUM.check,
    ..CRC_32_CKSUM
};
const XXHASH_SEED: u32 = 1;
/// FIPS 180-4, 5.3.3.
const SHA256_START: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];
const SHA256_BLOCK: usize = 64;
const SHA512_BLOCK: usize = 128;
/// Length of the longest checksum, in bytes.
const MOST_BYTES: usize = SHA512_BLOCK;

/// Returns the size of the checksum after a header, in bytes.
pub(super) const fn bytes(kind: VerifyKind) -> usize {
    match kind {
        VerifyKind::Crc7 => 1,
        VerifyKind::Crc16 => 2,
        VerifyKind::Crc32 | VerifyKind::Crc32c | VerifyKind::Xxhash => 4,
        VerifyKind::Crc64 => 8,
        VerifyKind::Md5 => 16,
        VerifyKind::Sha1 => 20,
        VerifyKind::Sha3224 => 28,
        VerifyKind::Sha3256 => 32,
        VerifyKind::Sha3384 => 48,
        VerifyKind::Sha3512 => 64,
        VerifyKind::Sha256 => SHA256_BLOCK,
        VerifyKind::Sha512 => SHA512_BLOCK,
        VerifyKind::Header | VerifyKind::Pattern | VerifyKind::PatternHeader | VerifyKind::Null => {
            0
        }
    }
}

/// Returns the name for messages.
pub(super) const fn name(kind: VerifyKind) -> &'static str {
    match kind {
        VerifyKind::Crc7 => "crc7",
        VerifyKind::Crc16 => "crc16",
        VerifyKind::Crc32 => "crc32",
        VerifyKind::Crc32c => "crc32c",
        VerifyKind::Crc64 => "crc64",
        VerifyKind::Md5 => "md5",
        VerifyKind::Sha1 => "sha1",
        VerifyKind::Sha256 => "sha256",
        VerifyKind::Sha512 => "sha512",
        VerifyKind::Sha3224 => "sha3-224",
        VerifyKind::Sha3256 => "sha3-256",
        VerifyKind::Sha3384 => "sha3-384",
        VerifyKind::Sha3512 => "sha3-512",
        VerifyKind::Xxhash => "xxhash",
        VerifyKind::Header => "header",
        VerifyKind::Pattern => "pattern",
        VerifyKind::PatternHeader => "pattern with header",
        VerifyKind::Null => "null",
    }
}

/// Writes the checksum of `data` to `sum`, which has the length that [`bytes`]
/// returns.
pub(super) fn write(kind: VerifyKind, data: &[u8], sum: &mut [u8]) {
    match kind {
        VerifyKind::Crc7 => sum.copy_from_slice(&[CRC7.checksum(data)]),
        VerifyKind::Crc16 => sum.copy_from_slice(&CRC16.checksum(data).to_le_bytes()),
        VerifyKind::Crc32 => sum.copy_from_slice(&CRC32.checksum(data).to_le_bytes()),
        VerifyKind::Crc32c => sum.copy_from_slice(&crc32c(data).to_le_bytes()),
        VerifyKind::Crc64 => sum.copy_from_slice(&CRC64.checksum(data).to_le_bytes()),
        VerifyKind::Xxhash => {
            sum.copy_from_slice(&XxHash32::oneshot(XXHASH_SEED, data).to_le_bytes());
        }
        VerifyKind::Md5 => sum.copy_from_slice(&Md5::digest(data)),
        VerifyKind::Sha1 => {
            sum.copy_from_slice(&Sha1::digest(data));
            sum.chunks_mut(4).for_each(<[u8]>::reverse);
        }
        VerifyKind::Sha256 => sum.copy_from_slice(&sha256_of_fio(data)),
        VerifyKind::Sha512 => {
            let (digest, rest) = sum.split_at_mut(SHA512_BLOCK / 2);
            digest.copy_from_slice(&Sha512::digest(data));
            rest.fill(0);
        }
        VerifyKind::Sha3224 => sum.copy_from_slice(&Sha3_224::digest(data)),
        VerifyKind::Sha3256 => sum.copy_from_slice(&Sha3_256::digest(data)),
        VerifyKind::Sha3384 => sum.copy_from_slice(&Sha3_384::digest(data)),
        VerifyKind::Sha3512 => sum.copy_from_slice(&Sha3_512::digest(data)),
        VerifyKind::Header | VerifyKind::Pattern | VerifyKind::PatternHeader | VerifyKind::Null => {
        }
    }
}

/// Compares the checksum of `data` with the stored one.
pub(super) fn check(kind: VerifyKind, data: &[u8], stored: &[u8]) -> Result<(), String> {
    let mut space = [0; MOST_BYTES];
    let computed = &mut space[..bytes(kind)];
    write(kind, data, computed);
    if computed == stored || kind == VerifyKind::Sha512 && is_sha512_of_fio(data, stored) {
        return Ok(());
    }
    Err(format!(
        "{} of the {} bytes behind the header differs: found {}, expected {}",
        name(kind),
        data.len(),
        hex(computed),
        hex(stored)
    ))
}

/// Computes CRC-32C without the inversion at the end.
pub(super) fn crc32c(data: &[u8]) -> u32 {
    !::crc32c::crc32c(data)
}

fn sha256_of_fio(data: &[u8]) -> [u8; SHA256_BLOCK] {
    let mut state = SHA256_START;
    let (blocks, rest) = data.as_chunks::<SHA256_BLOCK>();
    compress256(&mut state, blocks);
    let mut last = [0; SHA256_BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    last[rest.len()] = 0x80;
    let length_at = SHA256_BLOCK - 8;
    if rest.len() >= length_at {
        compress256(&mut state, &[last]);
        last.fill(0);
    }
    last[length_at..].copy_from_slice(&(data.len() as u64 * 8).to_le_bytes());
    compress256(&mut state, &[last]);
    for (byte, word) in last.iter_mut().zip(state) {
        *byte = word.to_le_bytes()[0];
    }
    last
}

/// Returns true if `stored` is fio's SHA-512 field for `data`. For less than
/// 128 bytes of data, fio stores and compares uninitialized memory; such blocks
/// are rejected.
fn is_sha512_of_fio(data: &[u8], stored: &[u8]) -> bool {
    let (blocks, rest) = data.as_chunks::<SHA512_BLOCK>();
    let (tail, beyond) = stored.split_at(rest.len());
    let begins_alike = |first: &[u8; SHA512_BLOCK]| beyond == &first[rest.len()..];
    tail == rest && blocks.first().is_some_and(begins_alike)
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(kind: VerifyKind, data: &[u8]) -> String {
        let mut sum = vec![0; bytes(kind)];
        write(kind, data, &mut sum);
        hex(&sum)
    }

    /// The check values of the CRC catalogue (reveng.sourceforge.io) and the
    /// digests of coreutils and Python's hashlib for the same nine bytes.
    #[test]
    fn checksums_are_the_published_ones() {
        let data = b"123456789";
        for (kind, expected) in [
            (VerifyKind::Crc7, "75"),
            // CRC-16/ARC bb3d, lowest byte first.
            (VerifyKind::Crc16, "3dbb"),
            // CRC-32/CKSUM 765e7680, inverted, lowest byte first.
            (VerifyKind::Crc32, "7f89a189"),
            // CRC-32/ISCSI e3069283, inverted, lowest byte first.
            (VerifyKind::Crc32c, "7c6df91c"),
            // CRC-64/REDIS e9c6d914c4b8d9ca, lowest byte first.
            (VerifyKind::Crc64, "cad9b8c414d9c6e9"),
            (VerifyKind::Md5, "25f9e794323b453885f5181f1b624d0b"),
            // SHA-1 f7c3bc1d 808e0473 2adf6799 65ccc34c a7ae3441.
            (VerifyKind::Sha1, "1dbcc3f773048e809967df2a4cc3cc654134aea7"),
            (
                VerifyKind::Sha3224,
                "5795c3d628fd638c9835a4c79a55809f265068c88729a1a3fcdf8522",
            ),
            (
                VerifyKind::Sha3256,
                "87cd084d190e436f147322b90e7384f6a8e0676c99d21ef519ea718e51d45f9c",
            ),
            (
                VerifyKind::Sha3384,
                "8b90ede4d095409f1a12492c2520599683a9478dc70b7566d23b3e41ece8538c6cde92382a5e38786490375c54672abf",
            ),
            (
                VerifyKind::Sha3512,
                "e1e44d20556e97a180b6dd3ed7ae5c465cafd553fa8747dca038fb95635b77a37318f7ddf7aec1f6c3c14bb160ba2497007decf38dd361cab199e3b8c8fe1f5c",
            ),
            (
                VerifyKind::Sha512,
                "d9e6762dd1c8eaf6d61b3c6192fc408d4d6d5f1176d0c29169bc24e71c3f274ad27fcd5811b313d681f7e55ec02d73d499c95455b6b5bb503acf574fba8ffe8500000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000",
            ),
            (VerifyKind::Xxhash, "8c9161f2"),
        ] {
            assert_eq!(sum(kind, data), expected, "{kind:?}");
        }
    }

    /// The length of nothing is the same in both byte orders, so that fio's
    /// result is the published one here.
    #[test]
    fn of_sha256_the_lowest_byte_of_each_word_is_stored() {
        // SHA-256 of nothing: e3b0c442 98fc1c14 9afbf4c8 996fb924 27ae41e4
        // 649b934c a495991b 7852b855.
        let stored = sum(VerifyKind::Sha256, b"");
        assert_eq!(&stored[..16], "4214c824e44c1b55");
    }

    #[test]
    fn what_fio_stores_for_sha512_is_accepted() {
        for length in [128, 129, 1000, 4096] {
            let data: Vec<u8> = (0..251).cycle().take(length).collect();
            let mut stored = [0; SHA512_BLOCK];
            stored.copy_from_slice(&data[..SHA512_BLOCK]);
            let rest = data.len() % SHA512_BLOCK;
            stored[..rest].copy_from_slice(&data[data.len() - rest..]);
            assert_eq!(check(VerifyKind::Sha512, &data, &stored), Ok(()));
            stored[0] ^= 1;
            assert!(check(VerifyKind::Sha512, &data, &stored).is_err());
        }
    }
}
