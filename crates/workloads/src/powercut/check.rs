//! Check of the file system under test, with its own check program. Before the check, the
//! file system must have been mounted, which replays its journal, and unmounted again:
//! otherwise every check finds errors.

use super::mount;
use assay_model::act::powercut::{FileSystemCheck, Powercut};
use std::process::{Command, Stdio};

/// Lines kept of a check's output, at most.
const LINES: usize = 10;
/// Folders searched for root's programs if `PATH` does not contain them.
const FOLDERS: &str = "/usr/local/sbin:/usr/sbin:/sbin";

/// A program that checks a file system without writing.
struct Checker {
    program: String,
    flags: &'static [&'static str],
    /// Returns `true` for an exit code that means damage.
    damaged: fn(i32) -> bool,
}

/// Returns the checker of file systems that guarantee consistency after a power cut:
/// those with a journal.
fn checker(fs_type: &str) -> Option<Checker> {
    match fs_type {
        // e2fsck(8): 4 means "errors left uncorrected", and codes are added.
        "ext3" | "ext4" => Some(Checker {
            program: format!("fsck.{fs_type}"),
            flags: &["-f", "-n"],
            damaged: |code| code & 4 != 0,
        }),
        // xfs_repair(8): 1 means "corruption was detected".
        "xfs" => Some(Checker {
            program: "xfs_repair".to_owned(),
            flags: &["-n"],
            damaged: |code| code == 1,
        }),
        _ => None,
    }
}

/// Unmounts the file system under test, checks it, and mounts it again. `None` if there
/// is no check program, or assay does not mount the file system.
pub(super) fn check(work: &Powercut) -> Option<FileSystemCheck> {
    let mounting = work.mount.as_ref()?;
    let checker = checker(&mounting.fs_type)?;
    if !mount::unmount(work) {
        return None;
    }
    let found = run(&checker, &mounting.device.to_string_lossy());
    // If mounting fails, the verification of the files reports it.
    let _ = mount::mount(work);
    found
}

fn run(checker: &Checker, device: &str) -> Option<FileSystemCheck> {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(&checker.program);
    command.args(checker.flags).arg(device);
    command.env("PATH", format!("{path}:{FOLDERS}"));
    let output = command.stdin(Stdio::null()).output().ok()?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    let exit_code = output.status.code();
    Some(FileSystemCheck {
        command: format!("{} {} {device}", checker.program, checker.flags.join(" ")),
        exit_code,
        damaged: exit_code.is_some_and(checker.damaged),
        said: lines.take(LINES).map(str::to_owned).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_testkit::{Scratch, needs, text};
    use std::fs::OpenOptions;
    use std::os::unix::fs::FileExt;

    #[test]
    fn a_damaged_file_system_is_told_from_a_sound_one() {
        needs!("mkfs.ext4", "e2fsck");
        let scratch = Scratch::new().unwrap();
        let image = scratch.image("ext4", 16).unwrap();
        assay_testkit::run(&["mkfs.ext4", "-q", "-F", text(&image)]).unwrap();
        let checked = || run(&checker("ext4").unwrap(), text(&image)).unwrap();
        let sound = checked();
        assert_eq!((sound.exit_code, sound.damaged), (Some(0), false));
        // Damages the inode table or its neighbourhood.
        let file = OpenOptions::new().write(true).open(&image).unwrap();
        file.write_all_at(&[0xa5; 65_536], 64 << 10).unwrap();
        let broken = checked();
        assert!(broken.damaged && !broken.said.is_empty(), "{broken:?}");
    }

    #[test]
    fn what_has_no_journal_or_no_program_is_not_checked() {
        assert!(checker("vfat").is_none());
        let missing = Checker {
            program: "fsck.of-nobody".to_owned(),
            flags: &[],
            damaged: |_| true,
        };
        assert_eq!(run(&missing, "/dev/null"), None);
    }
}
