//! Files that a user names to be read.

use crate::exit::Failure;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Opens a regular file, or a pipe that this process already has open (`/dev/stdin`,
/// `<(command)`), which ends with its writer. A named pipe might never end, and a device has no end.
///
/// # Errors
/// If the file cannot be opened, or is neither of these.
pub fn open(path: &Path) -> io::Result<File> {
    let kind = fs::metadata(path)?.file_type();
    // An anonymous pipe has no path: its link in /proc does not resolve.
    let has_name = fs::canonicalize(path).is_ok();
    if !kind.is_file() && has_name {
        let what = match () {
            () if kind.is_fifo() => "a named pipe",
            () if kind.is_dir() => "a directory",
            () if kind.is_socket() => "a socket",
            () => "a device",
        };
        return Err(io::Error::other(format!(
            "it is {what}: give a regular file"
        )));
    }
    File::open(path)
}

/// Maximum size of a text, in bytes: a job file with 100 000 jobs has a few MB.
pub const LONGEST: u64 = 64 << 20;

/// Reads all content.
///
/// # Errors
/// If reading fails, or the content is longer than [`LONGEST`].
pub fn all(source: impl Read) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    source.take(LONGEST + 1).read_to_end(&mut text)?;
    if text.len() as u64 > LONGEST {
        let why = format!("it is longer than {} MiB", LONGEST >> 20);
        return Err(io::Error::other(why));
    }
    Ok(text)
}

/// Reads the text of a file that [`open`] accepts.
///
/// # Errors
/// If [`open`] or [`all`] fails, or the content is not UTF-8.
pub fn text(path: &Path) -> Result<String, Failure> {
    let read = || String::from_utf8(all(open(path)?)?).map_err(io::Error::other);
    read().map_err(|error| Failure::in_file(path, error))
}

/// Reads the text of a regular file of at most 1 MiB.
pub fn small_text(path: &Path) -> io::Result<String> {
    let meta = fs::metadata(path)?;
    if !meta.is_file() || meta.len() > 1 << 20 {
        return Err(io::Error::other("it is not a file, or longer than 1 MiB"));
    }
    fs::read_to_string(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_testkit::Scratch;
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    #[test]
    fn only_what_has_an_end_is_opened() {
        let folder = Scratch::new().unwrap();
        let [file, pipe] = ["file", "pipe"].map(|name| folder.join(name));
        fs::write(&file, "text").unwrap();
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert_eq!(text(&file).unwrap(), "text");
        for (path, words) in [
            (pipe.as_path(), "a named pipe"),
            (folder.path(), "a directory"),
            (Path::new("/dev/zero"), "a device"),
        ] {
            let why = text(path).unwrap_err().to_string();
            assert!(why.contains(words), "{why}");
        }
        let (read, write) = io::pipe().unwrap();
        drop(write);
        use std::os::fd::AsRawFd;
        let inherited = format!("/proc/self/fd/{}", read.as_raw_fd());
        assert_eq!(text(Path::new(&inherited)).unwrap(), "");
    }
}
