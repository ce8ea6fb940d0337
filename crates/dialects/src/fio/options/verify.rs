//! Verification and trims.

use super::other::processors;
use super::table::{OptionReader, not_one_of, options};
use crate::fio::value::pattern;
use assay_model::load::blocks::{SaveState, VerifyKind};

/// Names of checks. (`header` and `pattern_hdr` exist in newer versions.)
const KINDS: [(&str, Option<VerifyKind>); 22] = [
    ("0", None),
    ("none", None),
    ("md5", Some(VerifyKind::Md5)),
    ("crc64", Some(VerifyKind::Crc64)),
    ("crc32", Some(VerifyKind::Crc32)),
    ("crc32c-intel", Some(VerifyKind::Crc32c)),
    ("crc32c", Some(VerifyKind::Crc32c)),
    ("crc16", Some(VerifyKind::Crc16)),
    ("crc7", Some(VerifyKind::Crc7)),
    ("sha1", Some(VerifyKind::Sha1)),
    ("sha256", Some(VerifyKind::Sha256)),
    ("sha512", Some(VerifyKind::Sha512)),
    ("sha3-224", Some(VerifyKind::Sha3224)),
    ("sha3-256", Some(VerifyKind::Sha3256)),
    ("sha3-384", Some(VerifyKind::Sha3384)),
    ("sha3-512", Some(VerifyKind::Sha3512)),
    ("xxhash", Some(VerifyKind::Xxhash)),
    ("meta", Some(VerifyKind::Header)),
    ("header", Some(VerifyKind::Header)),
    ("pattern", Some(VerifyKind::Pattern)),
    ("pattern_hdr", Some(VerifyKind::PatternHeader)),
    ("null", Some(VerifyKind::Null)),
];

options! {
    pub(super) static OPTIONS:

    text("verify",
        "0, crc7, crc16, crc32, crc32c, crc64, md5, sha1, sha256, sha512, sha3-224 to sha3-512, \
         xxhash, meta, pattern, pattern_hdr or null", "0", "Check what was written, by this")
        [verify_kind = kind].differs("a mismatch of data is never exit code 0");
    flag("do_verify", "1", "Read back what was written and check it") [verify.read_back];
    switch("verify_only", "Write nothing; check what an earlier run wrote") [verify.only];
    text("verify_interval", "bytes", "", "A header every so many bytes")
        [verify.interval = |reader, value| match header_number(reader, value)? {
            bytes if bytes >= 2 * HEADER_BYTES => Ok(bytes),
            _ => Err(format!("use at least {} bytes: two headers", 2 * HEADER_BYTES)),
        }];
    text("verify_offset", "bytes", "", "Where in the interval the header lies")
        [verify.offset = |reader, value| match header_number(reader, value)? {
            1..HEADER_BYTES => Err(format!("use at least {HEADER_BYTES} bytes: a header")),
            bytes => Ok(bytes),
        }];
    text("verify_pattern", "bytes as 0xdeadbeef, \"text\", 42, %o, 'file', one after another", "",
        "Fill blocks with this and check it")
        [verify.pattern = |reader, value| pattern(value, true, reader.env)];
    text("verify_pattern_interval", "bytes", "0", "Begin the pattern anew every so many bytes")
        [verify_pattern_interval = header_number];
    flag("verify_write_sequence", "1", "A block must be of the write that was last there")
        [verify.check_number];
    flag("verify_header_seed", "1", "A header must have the seed of its write") [verify.check_seed]
        .differs("seeds of what another job has written are not known");
    flag("verify_fatal", "0", "End at the first mismatch") [verify.fatal];
    flag("verify_dump", "0", "Write blocks that differ to files") [verify.dump];
    count("verify_async", (0, 1024), "0", "Threads that check") [verify.threads];
    text("verify_async_cpus", "processors", "", "Where those threads run")
        [verify.thread_cpus = processors];
    count("verify_backlog", (0, u64::MAX), "0", "Check after that many written blocks")
        [verify.backlog];
    count("verify_backlog_batch", (0, u64::MAX), "0", "That many of them at once")
        [verify.backlog_batch];
    flag("experimental_verify", "0", "Generate offsets anew for checking instead of keeping them",
        |_, _| {})
        .differs("offsets are kept nevertheless: what is checked is the same");
    flag("verify_state_load", "0", "Check up to where a state file says") [verify.load_state];
    flag("verify_state_save", "1", "Save a state file")
        [verify.save_state = |on| if on { SaveState::Always } else { SaveState::Never }]
        .differs("where it is not given, only a job that is stopped saves one");
    flag("verifysort", "1", "Check in the order of offsets") [verify.sort];
    no_effect("verifysort_nr", "number", "Not used any more", "fio dropped it");
    count("trim_percentage", (0, 100), "0", "Share of written blocks that are trimmed")
        [stream.trim.percent];
    flag("trim_verify_zero", "1", "Trimmed blocks must read as zeroes") [stream.trim.verify_zero];
    count("trim_backlog", (0, u64::MAX), "0", "Trim after that many written blocks")
        [stream.trim.backlog];
    count("trim_backlog_batch", (0, u64::MAX), "0", "That many of them at once")
        [stream.trim.backlog_batch];
}

/// Size of fio's header before each checked block, in bytes.
pub(in crate::fio) const HEADER_BYTES: u32 = 40;

fn kind(_: &mut OptionReader<'_>, name: &str) -> Result<Option<VerifyKind>, String> {
    match KINDS.iter().find(|(known, _)| *known == name) {
        Some((_, kind)) => Ok(*kind),
        None => Err(not_one_of(name, KINDS.iter().map(|(known, _)| *known))),
    }
}

fn header_number(reader: &mut OptionReader<'_>, value: &str) -> Result<u32, String> {
    let bytes = reader.count(value)?;
    u32::try_from(bytes).map_err(|_| format!("{bytes} is too large"))
}
