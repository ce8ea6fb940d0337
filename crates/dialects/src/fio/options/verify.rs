//! Verification and trims.

use super::define::OptionDef;
use super::make::{count, flag, no_effect, switch, text};
use super::other::processors;
use super::reader::not_one_of;
use crate::fio::value::pattern::pattern;
use assay_model::load::verify::{SaveState, VerifyKind};

/// Names of checks. (`header` and `pattern_hdr` are those of newer versions.)
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

pub(super) static OPTIONS: &[OptionDef] = &[
    text("verify", "0, crc7, crc16, crc32, crc32c, crc64, md5, sha1, sha256, sha512, sha3-224 to sha3-512, xxhash, meta, pattern, pattern_hdr or null", "0", "Check what was written, by this", |job, _, value| {
        let Some((_, kind)) = KINDS.iter().find(|(name, _)| *name == value) else {
            return Err(not_one_of(value, KINDS.iter().map(|(name, _)| *name)));
        };
        job.verify_kind = *kind;
        Ok(())
    })
    .differs("a mismatch of data is never exit code 0"),
    flag("do_verify", "1", "Read back what was written and check it", |job, on| {
        job.verify.read_back = on;
    }),
    switch("verify_only", "Write nothing; check what an earlier run wrote", |job, on| {
        job.verify.only = on;
    }),
    text("verify_interval", "bytes", "", "A header every so many bytes", |job, reader, value| {
        let bytes = header_number(reader.count(value)?)?;
            if bytes < 2 * HEADER_BYTES {
                return Err(format!("use at least {} bytes: two headers", 2 * HEADER_BYTES));
            }
            job.verify.interval = bytes;
        Ok(())
    }),
    text("verify_offset", "bytes", "", "Where in the interval the header lies", |job, reader, value| {
        let bytes = header_number(reader.count(value)?)?;
            if (1..HEADER_BYTES).contains(&bytes) {
                return Err(format!("use at least {HEADER_BYTES} bytes: a header"));
            }
            job.verify.offset = bytes;
        Ok(())
    }),
    text("verify_pattern", "bytes as 0xdeadbeef, \"text\", 42, %o, 'file', one after another", "", "Fill blocks with this and check it", |job, reader, value| {
        job.verify.pattern = pattern(value, true, reader.env)?;
        Ok(())
    }),
    text("verify_pattern_interval", "bytes", "0", "Begin the pattern anew every so many bytes", |job, reader, value| {
        job.verify_pattern_interval = header_number(reader.count(value)?)?;
        Ok(())
    }),
    flag("verify_write_sequence", "1", "A block must be of the write that was last there", |job, on| {
        job.verify.check_number = on;
    }),
    flag("verify_header_seed", "1", "A header must have the seed of its write", |job, on| {
        job.verify.check_seed = on;
    })
    .differs("seeds of what another job has written are not known"),
    flag("verify_fatal", "0", "End at the first mismatch", |job, on| job.verify.fatal = on),
    flag("verify_dump", "0", "Write blocks that differ to files", |job, on| job.verify.dump = on),
    count("verify_async", (0, 1024), "0", "Threads that check", |job, n| {
        job.verify.threads = u32::try_from(n).unwrap_or(0);
    }),
    text("verify_async_cpus", "processors", "", "Where those threads run", |job, reader, value| {
        job.verify.thread_cpus = processors(reader, value)?;
        Ok(())
    }),
    count("verify_backlog", (0, u64::MAX), "0", "Check after that many written blocks", |job, n| {
        job.verify.backlog = n;
    }),
    count("verify_backlog_batch", (0, u64::MAX), "0", "That many of them at once", |job, n| {
        job.verify.backlog_batch = n;
    }),
    flag("experimental_verify", "0", "Generate offsets anew for checking instead of keeping them", |_, _| {})
    .differs("offsets are kept nevertheless: what is checked is the same"),
    flag("verify_state_load", "0", "Check up to where a state file says", |job, on| {
        job.verify.load_state = on;
    }),
    flag("verify_state_save", "1", "Save a state file", |job, on| {
        job.verify.save_state = if on { SaveState::Always } else { SaveState::Never };
    })
    .differs("where it is not given, only a job that is stopped saves one"),
    flag("verifysort", "1", "Check in the order of offsets", |job, on| job.verify.sort = on),
    no_effect("verifysort_nr", "number", "Not used any more", "fio dropped it"),
    count("trim_percentage", (0, 100), "0", "Share of written blocks that are trimmed", |job, n| {
        job.stream.trim.percent = u8::try_from(n).unwrap_or(100);
    }),
    flag("trim_verify_zero", "1", "Trimmed blocks must read as zeroes", |job, on| {
        job.stream.trim.verify_zero = on;
    }),
    count("trim_backlog", (0, u64::MAX), "0", "Trim after that many written blocks", |job, n| {
        job.stream.trim.backlog = n;
    }),
    count("trim_backlog_batch", (0, u64::MAX), "0", "That many of them at once", |job, n| {
        job.stream.trim.backlog_batch = n;
    }),
];

/// Size of fio's header before each checked block.
pub(in crate::fio) const HEADER_BYTES: u32 = 40;

fn header_number(bytes: u64) -> Result<u32, String> {
    u32::try_from(bytes).map_err(|_| format!("{bytes} is too large"))
}
