//! Symbols of `conv=`, `iflag=`, `oflag=` and `status=`.

use super::DdError;
use assay_model::act::copy::{Flags, Treatment};
use assay_model::gnu::quoted_c;

/// Conversions of `conv=`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Conv {
    pub(super) ascii: bool,
    pub(super) ebcdic: bool,
    pub(super) ibm: bool,
    pub(super) block: bool,
    pub(super) unblock: bool,
    pub(super) lcase: bool,
    pub(super) ucase: bool,
    pub(super) swab: bool,
    pub(super) treatment: Treatment,
}

/// Flags of one end, and the units of `count=`, `skip=` and `seek=`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EndFlags {
    pub(super) flags: Flags,
    pub(super) count_bytes: bool,
    pub(super) skip_bytes: bool,
    pub(super) seek_bytes: bool,
}

/// Amount of output that dd writes to standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// Records and rate at the end.
    #[default]
    All,
    /// Records only.
    NoRate,
    /// Errors only.
    None,
    /// Also the progress, once a second.
    Progress,
}

/// Passes each word of a list to `set`, which returns false for an unknown one.
fn each(list: &str, what: &str, mut set: impl FnMut(&str) -> bool) -> Result<(), DdError> {
    for word in list.split(',') {
        if !set(word) {
            let word = quoted_c(word);
            return Err(DdError::with_help(format!("invalid {what}: {word}")));
        }
    }
    Ok(())
}

pub(super) fn conv(list: &str, conv: &mut Conv) -> Result<(), DdError> {
    each(list, "conversion", |word| {
        let treatment = &mut conv.treatment;
        let place = match word {
            "ascii" => &mut conv.ascii,
            "ebcdic" => &mut conv.ebcdic,
            "ibm" => &mut conv.ibm,
            "block" => &mut conv.block,
            "unblock" => &mut conv.unblock,
            "lcase" => &mut conv.lcase,
            "ucase" => &mut conv.ucase,
            "swab" => &mut conv.swab,
            "sparse" => &mut treatment.sparse,
            "sync" => &mut treatment.pad,
            "excl" => &mut treatment.exclusive,
            "nocreat" => &mut treatment.must_exist,
            "notrunc" => &mut treatment.keep_length,
            "noerror" => &mut treatment.go_on,
            "fdatasync" => &mut treatment.fdatasync,
            "fsync" => &mut treatment.fsync,
            _ => return false,
        };
        *place = true;
        true
    })
}

/// Parses `iflag=` or `oflag=`. `what` is `input flag` or `output flag`, for
/// errors.
pub(super) fn flags(list: &str, what: &str, end: &mut EndFlags) -> Result<(), DdError> {
    each(list, what, |word| {
        let flags = &mut end.flags;
        let place = match word {
            "append" => &mut flags.append,
            "direct" => &mut flags.direct,
            "directory" => &mut flags.directory,
            "dsync" => &mut flags.dsync,
            "sync" => &mut flags.sync,
            "fullblock" => &mut flags.full_block,
            "nonblock" => &mut flags.nonblock,
            "noatime" => &mut flags.noatime,
            "nocache" => &mut flags.nocache,
            "noctty" => &mut flags.noctty,
            "nofollow" => &mut flags.nofollow,
            "count_bytes" => &mut end.count_bytes,
            "skip_bytes" => &mut end.skip_bytes,
            "seek_bytes" => &mut end.seek_bytes,
            _ => return false,
        };
        *place = true;
        true
    })
}

/// Parses `status=`; the last word counts.
pub(super) fn status(list: &str, status: &mut Status) -> Result<(), DdError> {
    each(list, "status level", |word| {
        *status = match word {
            "none" => Status::None,
            "noxfer" => Status::NoRate,
            "progress" => Status::Progress,
            _ => return false,
        };
        true
    })
}
