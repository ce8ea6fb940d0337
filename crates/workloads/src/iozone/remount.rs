//! Unmounting and mounting between tests (`-U`), which empties the page cache
//! of a file system.

use crate::WorkError;
use crate::files::run_program;
use assay_engine::held::shown;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Unmounts a file system and mounts it again with the same options.
///
/// # Errors
/// If nothing is mounted at the path, or the file system is in use.
pub(super) fn remount(place: &Path) -> Result<(), WorkError> {
    let mounts = fs::read_to_string("/proc/self/mounts")
        .map_err(|error| WorkError::io("read", Path::new("/proc/self/mounts"), &error))?;
    let mut found = mounts.lines().filter_map(Mount::parse);
    // The last entry is mounted on top of the others.
    let mount = found.rfind(|mount| Path::new(&mount.target) == place);
    let Some(mount) = mount else {
        return Err(WorkError::Refused(format!(
            "-U {}: nothing is mounted there; name a mount point as findmnt shows it",
            shown(place)
        )));
    };
    call(Command::new("umount").arg(&mount.target))?;
    mount_again(&mount, call)
}

/// Mounts a file system again. If it rejects the options that the kernel listed for it,
/// it is mounted without them, so that its files are accessible again; the test then
/// fails, because it would run with other options than requested.
fn mount_again(
    mount: &Mount,
    call: impl Fn(&mut Command) -> Result<(), WorkError>,
) -> Result<(), WorkError> {
    let Err(error) = call(&mut mount.command(&mount.options)) else {
        return Ok(());
    };
    let Mount {
        source,
        target,
        kind,
        options,
    } = mount;
    let read_only = options.split(',').any(|option| option == "ro");
    let left = match call(&mut mount.command(if read_only { "ro" } else { "rw" })) {
        Ok(()) => format!(
            "{target} is now mounted without its options: restore them with mount -o remount,{options} {target}"
        ),
        Err(_) => format!(
            "{target} is now unmounted: mount it with mount -t {kind} -o {options} {source} {target}"
        ),
    };
    Err(WorkError::Failed {
        message: format!("{error}; {left}"),
        errno: error.errno(),
    })
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
    fn command(&self, options: &str) -> Command {
        let mut command = Command::new("mount");
        command.args(["-t", &self.kind, "-o", options]);
        command.args([&self.source, &self.target]);
        command
    }

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

/// Decodes octal escapes such as `\040` for a space.
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
    run_program(command).map_err(|why| WorkError::failed(format!("{name}: {why}")))
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
    /// Mounts with a fake that accepts the options for which `takes` is true. Returns the
    /// attempts, and the final error.
    fn tried(options: &str, takes: fn(&str) -> bool) -> (Vec<String>, Option<String>) {
        let line = format!("/dev/loop0 /mnt ext4 {options} 0 0");
        let mount = Mount::parse(&line).unwrap();
        let tried = std::cell::RefCell::new(Vec::new());
        let call = |command: &mut Command| {
            let words: Vec<_> = command
                .get_args()
                .map(|word| word.to_string_lossy())
                .collect();
            tried.borrow_mut().push(words.join(" "));
            match takes(&words[3]) {
                true => Ok(()),
                false => Err(WorkError::failed("mount: bad option")),
            }
        };
        let came = mount_again(&mount, call);
        (
            tried.into_inner(),
            came.err().map(|error| error.to_string()),
        )
    }

    #[test]
    fn a_mount_that_fails_is_tried_again_and_told() {
        let (calls, error) = tried("rw,odd", |_| true);
        assert_eq!(calls, ["-t ext4 -o rw,odd /dev/loop0 /mnt"]);
        assert_eq!(error, None);
        let (calls, error) = tried("ro,odd", |options| options == "ro");
        assert_eq!(calls[1], "-t ext4 -o ro /dev/loop0 /mnt");
        let error = error.unwrap();
        assert!(error.contains("remount,ro,odd /mnt"), "{error}");
        let (_, error) = tried("rw,odd", |_| false);
        let error = error.unwrap();
        let words = "/mnt is now unmounted: mount it with mount -t ext4 -o rw,odd /dev/loop0 /mnt";
        assert!(error.contains(words), "{error}");
    }
}
