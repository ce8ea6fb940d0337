//! Unmounting and mounting between tests (`-U`), which empties the page cache
//! of a file system.

use crate::WorkError;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Unmounts a file system and mounts it again with the same words.
///
/// # Errors
/// When nothing is mounted there, or it is in use.
pub(super) fn remount(place: &Path) -> Result<(), WorkError> {
    let mounts = fs::read_to_string("/proc/self/mounts").map_err(|error| {
        super::files::failed("cannot read", Path::new("/proc/self/mounts"), &error)
    })?;
    let mut found = mounts.lines().filter_map(Mount::parse);
    // The last is on top of the others.
    let mount = found.rfind(|mount| Path::new(&mount.target) == place);
    let Some(mount) = mount else {
        return Err(WorkError::Refused(format!(
            "-U {}: nothing is mounted there; name a mount point as findmnt shows it",
            place.display()
        )));
    };
    call(Command::new("umount").arg(&mount.target))?;
    call(
        Command::new("mount")
            .args(["-t", &mount.kind, "-o", &mount.options])
            .args([&mount.source, &mount.target]),
    )
}

/// A line of `/proc/self/mounts`.
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    source: String,
    target: String,
    kind: String,
    options: String,
}

impl Mount {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ').map(unescape);
        Some(Self {
            source: words.next()?,
            target: words.next()?,
            kind: words.next()?,
            options: words.next()?,
        })
    }
}

/// Blanks and the like are written as `\040` there.
fn unescape(word: &str) -> String {
    let mut parts = word.split('\\');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part
            .get(..3)
            .and_then(|code| u8::from_str_radix(code, 8).ok());
        match code {
            Some(code) => {
                text.push(char::from(code));
                text.push_str(&part[3..]);
            }
            None => {
                text.push('\\');
                text.push_str(part);
            }
        }
    }
    text
}

fn call(command: &mut Command) -> Result<(), WorkError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let failed = |why: String| WorkError::Failed {
        message: format!("{name}: {why}"),
        errno: None,
    };
    let done = command
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    Err(failed(said.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_mounts_are_read_with_their_blanks() {
        let mount = Mount::parse(r"/dev/loop0 /mnt/a\040b ext4 rw,relatime 0 0").unwrap();
        assert_eq!(mount.source, "/dev/loop0");
        assert_eq!(mount.target, "/mnt/a b");
        assert_eq!(
            (mount.kind.as_str(), mount.options.as_str()),
            ("ext4", "rw,relatime")
        );
        assert_eq!(Mount::parse("one two"), None);
    }
}
