//! Mounts, from `/proc/self/mountinfo` (see `proc_pid_mountinfo(5)`).

use crate::device::DeviceNumber;
use crate::roots::Roots;
use assay_model::storage::Mount;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// A line of mountinfo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MountEntry {
    /// Id of the mount.
    pub(crate) id: u64,
    /// Device of the file system; many have an anonymous number (0:N).
    pub(crate) device: DeviceNumber,
    /// Folder of the file system that is mounted.
    pub(crate) root: PathBuf,
    /// Mount without its ids.
    pub(crate) mount: Mount,
}

/// Reads the mounts of this process, in the order of mounting.
///
/// # Errors
/// When `/proc/self/mountinfo` cannot be read.
pub(crate) fn read(roots: &Roots) -> io::Result<Vec<MountEntry>> {
    Ok(parse(&fs::read(roots.proc.join("self/mountinfo"))?))
}

/// Parses mountinfo; malformed lines are skipped.
pub(crate) fn parse(text: &[u8]) -> Vec<MountEntry> {
    text.split(|&b| b == b'\n').filter_map(parse_line).collect()
}

/// Parses a line such as `36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/root
/// rw,errors=x`. The number of fields before ` - ` varies.
fn parse_line(line: &[u8]) -> Option<MountEntry> {
    let fields: Vec<&[u8]> = line.split(|&b| b == b' ').collect();
    let separator = fields.iter().skip(6).position(|f| *f == b"-")? + 6;
    let word = |at: usize| fields.get(at).and_then(|f| str::from_utf8(f).ok());
    Some(MountEntry {
        id: word(0)?.parse().ok()?,
        device: word(2)?.parse().ok()?,
        root: PathBuf::from(unescape(fields.get(3)?)),
        mount: Mount {
            point: PathBuf::from(unescape(fields.get(4)?)),
            fs_type: lossy(fields.get(separator + 1)?),
            source: lossy(fields.get(separator + 2)?),
            options: options(fields.get(5)?),
            super_options: fields.get(separator + 3).map_or(Vec::new(), |f| options(f)),
        },
    })
}

/// Splits options at commas before unescaping, since a comma within an option is escaped.
fn options(field: &[u8]) -> Vec<String> {
    field.split(|&b| b == b',').map(lossy).collect()
}

fn lossy(field: &[u8]) -> String {
    unescape(field).to_string_lossy().into_owned()
}

/// Decodes a name from a `/proc` file.
pub(crate) fn unescaped(field: &str) -> String {
    lossy(field.as_bytes())
}

/// Decodes escapes: the kernel writes space, tab, newline, backslash and separators as a backslash
/// and three octal digits.
fn unescape(field: &[u8]) -> OsString {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, tail)) = rest.split_first() {
        match octal(rest) {
            Some(byte) => {
                out.push(byte);
                rest = rest.get(4..).unwrap_or_default();
            }
            None => {
                out.push(first);
                rest = tail;
            }
        }
    }
    OsString::from_vec(out)
}

/// Decodes the byte `\ooo` at the start of `text`.
fn octal(text: &[u8]) -> Option<u8> {
    let digits = text.strip_prefix(b"\\")?.get(..3)?;
    let mut value = 0_u32;
    for digit in digits {
        value = value * 8 + char::from(*digit).to_digit(8)?;
    }
    u8::try_from(value).ok()
}

/// Returns the mount through which `path` (absolute, without links) is reached: by its mount id,
/// else the mount with the longest mount point above the path; the last of several at one point
/// hides the others.
pub(crate) fn mount_of<'a>(
    mounts: &'a [MountEntry],
    path: &Path,
    mount_id: Option<u64>,
) -> Option<&'a MountEntry> {
    let by_id = mounts.iter().find(|entry| Some(entry.id) == mount_id);
    by_id.or_else(|| {
        mounts
            .iter()
            .filter(|entry| path.starts_with(&entry.mount.point))
            .max_by_key(|entry| entry.mount.point.components().count())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SAMPLE: &[u8] = b"\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
36 27 8:17 / /mnt/a\\040b rw,noatime shared:12 master:3 - vfat /dev/sdb1 rw,fmask=0022
37 27 0:41 /sub /srv rw - btrfs /dev/sdc1 rw,space_cache=v2
38 27 8:33 / /srv rw - ext4 /dev/sdc1
a broken line
39 27 0:50 / /over rw - overlay overlay rw,lowerdir=/l,upperdir=/up\\054per\n";

    #[test]
    fn lines_are_read_with_any_number_of_optional_fields() {
        let mounts = parse(SAMPLE);
        assert_eq!(mounts.len(), 5);
        assert_eq!(mounts[1].mount.point, Path::new("/mnt/a b"));
        assert_eq!(mounts[1].mount.fs_type, "vfat");
        assert_eq!(mounts[1].mount.super_options, ["rw", "fmask=0022"]);
        assert_eq!(mounts[2].root, Path::new("/sub"));
        assert_eq!(mounts[3].mount.super_options, [""; 0]);
        assert_eq!(
            mounts[4].mount.super_options[2], "upperdir=/up,per",
            "an escaped comma belongs to the option"
        );
    }

    #[test]
    fn the_mount_id_beats_the_mount_point() {
        let mounts = parse(SAMPLE);
        let found = |path: &str, id| mount_of(&mounts, Path::new(path), id).map(|m| m.id);
        assert_eq!(found("/srv/x", Some(37)), Some(37));
        assert_eq!(
            found("/srv/x", None),
            Some(38),
            "the last of two hides the first"
        );
        assert_eq!(found("/srvx", None), Some(27), "/srv is not above /srvx");
        assert_eq!(found("/mnt/a b/c", Some(999)), Some(36), "unknown id");
    }

    fn escape(bytes: &[u8]) -> Vec<u8> {
        let special = |b: u8| b" \t\n\\,=".contains(&b);
        bytes
            .iter()
            .flat_map(|&b| match special(b) {
                true => format!("\\{b:03o}").into_bytes(),
                false => vec![b],
            })
            .collect()
    }

    proptest! {
        #[test]
        fn escaped_names_come_back(name in proptest::collection::vec(1_u8.., 0..40)) {
            prop_assert_eq!(unescape(&escape(&name)).into_vec(), name);
        }

        #[test]
        fn no_text_breaks_the_parser(text in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(parse(&text).len() <= text.len());
        }
    }
}
