//! Signatures that file systems, volume managers and partition tables leave on a device, including
//! unused ones.

use crate::device::Device;
use crate::devices::node;
use crate::roots::Roots;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

/// Data that a device holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Name with its article: `an XFS file system`.
    pub words: &'static str,
    /// UUID or volume number, in hexadecimal.
    pub uuid: Option<String>,
}

/// Offset of a signature in bytes.
#[derive(Clone, Copy, Debug)]
enum At {
    Start(u64),
    /// Bytes before the end, which is rounded down to a multiple of the second number.
    End(u64, u64),
}

/// Offset, magic number, distance of the UUID from it with the UUID's length (0: none), and name, as
/// in util-linux's libblkid.
type Entry = (At, &'static [u8], (i64, usize), &'static str);

const NONE: (i64, usize) = (0, 0);
const MD: &[u8] = &[0xfc, 0x4e, 0x2b, 0xa9];
const LVM: &str = "a physical volume of LVM";
const RAID: &str = "a member of a software RAID";
#[rustfmt::skip]
static SIGNATURES: [Entry; 38] = [
    (At::Start(0), b"LUKS\xba\xbe", (168, 36), "a LUKS volume"),
    (At::Start(3), b"-FVE-FS-", NONE, "a BitLocker volume"),
    (At::Start(0), b"integrt\0", NONE, "a dm-integrity volume"),
    (At::Start(0), b"verity\0\0", (16, 16), "hashes of dm-verity"),
    (At::Start(0), b"LABELONE", (32, 32), LVM),
    (At::Start(512), b"LABELONE", (32, 32), LVM),
    (At::Start(1024), b"LABELONE", (32, 32), LVM),
    (At::Start(1536), b"LABELONE", (32, 32), LVM),
    (At::End(4036, 4096), &[0x83, 0x74, 0x02], NONE, "a device of DRBD"),
    (At::Start(0), MD, (16, 16), RAID),
    (At::Start(4096), MD, (16, 16), RAID),
    (At::End(8192, 4096), MD, (16, 16), RAID),
    (At::End(65_536, 65_536), MD, NONE, RAID),
    (At::End(1024, 512), b"Intel Raid ISM Cfg Sig. ", NONE, RAID),
    (At::Start(1080), &[0x53, 0xef], (48, 16), "an ext2, ext3 or ext4 file system"),
    (At::Start(0), b"XFSB", (32, 16), "an XFS file system"),
    (At::Start(65_600), b"_BHRfS_M", (-32, 16), "a btrfs file system"),
    (At::Start(1024), &[0x10, 0x20, 0xf5, 0xf2], (108, 16), "an F2FS file system"),
    (At::Start(1030), &[0x34, 0x34], (146, 16), "a NILFS2 file system"),
    (At::Start(1024), b"H+", NONE, "an HFS+ file system"),
    (At::Start(1024), b"HX", NONE, "an HFS+ file system"),
    (At::Start(32), b"NXSB", (40, 16), "an APFS container"),
    (At::Start(34_817), b"NSR0", NONE, "a UDF file system"),
    (At::Start(82), b"FAT32", (-15, 4), "a FAT file system"),
    (At::Start(54), b"FAT1", (-15, 4), "a FAT file system"),
    (At::Start(3), b"EXFAT   ", (97, 4), "an exFAT file system"),
    (At::Start(3), b"NTFS    ", (69, 8), "an NTFS file system"),
    (At::Start(32_768), b"JFS1", (136, 16), "a JFS file system"),
    (At::Start(65_588), b"ReIsEr", (32, 16), "a ReiserFS file system"),
    (At::Start(4120), b"\xc6\x68\x73\xf6\x4e\x1a\x45\xca", (32, 16), "a bcachefs file system"),
    (At::Start(4120), b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca", (16, 16), "a bcache device"),
    (At::Start(16_408), b"version", NONE, "a member of a ZFS pool"),
    (At::Start(4086), b"SWAPSPACE2", (-3050, 16), "swap space"),
    (At::Start(0), b"hsqs", NONE, "a SquashFS image"),
    (At::Start(1024), &[0xe2, 0xe1, 0xf5, 0xe0], (48, 16), "an EROFS image"),
    (At::Start(32_769), b"CD001", NONE, "an ISO 9660 image"),
    (At::Start(512), b"EFI PART", (56, 16), "a GPT partition table"),
    (At::Start(4096), b"EFI PART", (56, 16), "a GPT partition table"),
];

/// Lists the contents of a device and its partitions in words, including parts whose contents are
/// not known.
pub fn on_disk(roots: &Roots, name: &str) -> Vec<String> {
    let parts = Device::named(roots, name).map(|device| device.partitions());
    let words = |name: &str, on: &str| match of(roots, name) {
        Ok(found) => found
            .iter()
            .map(|one| format!("{}{on}", one.words))
            .collect(),
        Err(error) => vec![format!("data that is not known{on} ({name}: {error})")],
    };
    let there = parts.iter().flatten();
    let there = there.flat_map(|part| words(part, &format!(" on {part}")));
    words(name, "").into_iter().chain(there).collect()
}

/// Returns the signatures on a device of that kernel name.
///
/// # Errors
/// When none is found, and the device cannot be opened or read.
pub fn of(roots: &Roots, name: &str) -> io::Result<Vec<Signature>> {
    find(&File::open(node(roots, name))?)
}

/// Searches a device for signatures, without writing.
fn find(mut device: &File) -> io::Result<Vec<Signature>> {
    let bytes = device.seek(SeekFrom::End(0))?;
    let failed = Cell::new(None);
    let read = |offset: u64, length: usize| {
        let mut found = vec![0; length];
        match device.read_exact_at(&mut found, offset) {
            Ok(()) => return Some(found),
            // The device is smaller than that offset.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {}
            Err(error) => failed.set(Some(error)),
        }
        None
    };
    let mut all: Vec<Signature> = Vec::new();
    for &(at, magic, (distance, length), words) in &SIGNATURES {
        let offset = match at {
            At::Start(offset) => Some(offset),
            At::End(before, unit) => (bytes - bytes % unit).checked_sub(before),
        };
        let Some(offset) = offset.filter(|at| read(*at, magic.len()).as_deref() == Some(magic))
        else {
            continue;
        };
        let id = offset.checked_add_signed(distance).filter(|_| length > 0);
        let id = id.and_then(|at| read(at, length));
        if all.iter().all(|known| known.words != words) {
            all.push(Signature {
                words,
                uuid: id.map(|id| written(&id)),
            });
        }
    }
    // Boot sectors of FAT and NTFS end in the same two bytes as a partition table.
    let is_table = |sector: Vec<u8>| {
        let mut parts = sector[446..510].chunks(16);
        sector.ends_with(&[0x55, 0xaa]) && parts.any(|part| part[0] & 0x7f == 0 && part[4] != 0)
    };
    if all.is_empty() && read(0, 512).is_some_and(is_table) {
        let words = "an MBR partition table";
        all.push(Signature { words, uuid: None });
    }
    match failed.take() {
        Some(error) if all.is_empty() => Err(error),
        _ => Ok(all),
    }
}

/// Formats an identifier: unchanged if it is text, else in hexadecimal.
fn written(id: &[u8]) -> String {
    match str::from_utf8(id) {
        Ok(text) if id.len() > 16 => text.trim_matches('\0').to_owned(),
        _ => id.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn holding(parts: &[(u64, &[u8])]) -> Vec<Signature> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[0; 200_000]).unwrap();
        for (offset, bytes) in parts {
            file.write_all_at(bytes, *offset).unwrap();
        }
        find(&file).unwrap()
    }

    #[test]
    fn each_kind_is_found_at_its_place_alone() {
        assert_eq!(holding(&[]), []);
        for &(at, magic, _, words) in &SIGNATURES {
            let offset = match at {
                At::Start(offset) => offset,
                At::End(before, unit) => 200_000 / unit * unit - before,
            };
            let found = holding(&[(offset, magic)]);
            let found: Vec<&str> = found.iter().map(|one| one.words).collect();
            assert_eq!(found, [words]);
            assert_eq!(holding(&[(offset + 1, magic)]), [], "{words}");
        }
    }

    #[test]
    fn identifiers_are_read_beside_the_magic_number() {
        let swap = holding(&[(4086, b"SWAPSPACE2"), (1036, &[0xab; 16])]);
        assert_eq!(swap[0].uuid.as_deref(), Some("ab".repeat(16).as_str()));
        let id = "0f9d2b5e-8a5d-4c3e-9f25-5be3b5a2d7c1";
        let luks = holding(&[(0, b"LUKS\xba\xbe"), (168, id.as_bytes())]);
        assert_eq!(luks[0].uuid.as_deref(), Some(id));
    }

    #[test]
    fn a_partition_table_needs_a_partition() {
        let end: (u64, &[u8]) = (510, &[0x55, 0xaa]);
        assert_eq!(
            holding(&[end]),
            [],
            "a boot sector of a FAT without its name"
        );
        assert_eq!(
            holding(&[end, (450, &[0x83])])[0].words,
            "an MBR partition table"
        );
        let fat = holding(&[end, (82, b"FAT32   "), (450, &[0x83])]);
        assert_eq!(fat.len(), 1, "its code is no table");
        assert_eq!(find(&tempfile::tempfile().unwrap()).unwrap(), []);
    }

    #[test]
    fn several_are_all_named() {
        let both = holding(&[(1080, &[0x53, 0xef]), (131_072, MD)]);
        assert_eq!(both.len(), 2, "{both:?}");
    }

    #[test]
    fn what_cannot_be_read_is_not_known() {
        let roots = Roots::default();
        let words = on_disk(&roots, "no-such-device");
        assert!(
            words[0].starts_with("data that is not known (no-such-device: "),
            "{words:?}"
        );
        // Reads of a folder fail with EISDIR.
        let folder = tempfile::tempdir().unwrap();
        assert!(find(&File::open(folder.path()).unwrap()).is_err());
    }
}
