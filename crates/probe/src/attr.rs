//! Functions that read attribute files: one value per file, often absent.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Returns the text of an attribute without surrounding blanks and NULs (ids are padded with both);
/// `None` when it cannot be read or is empty.
pub(crate) fn text(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let trimmed = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!trimmed.is_empty()).then(|| trimmed.to_owned())
}

/// Reads a whole kernel file. Kernel files report a size of zero, and the standard library would
/// query size and position before each read.
pub(crate) fn whole(path: &Path) -> io::Result<String> {
    const MOST_ARE_SHORTER: usize = 8 << 10;
    let mut file = File::open(path)?;
    let mut text = vec![0; MOST_ARE_SHORTER];
    let mut length = 0;
    loop {
        match file.read(&mut text[length..]) {
            Ok(0) => break,
            Ok(more) => length += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if length == text.len() {
            text.resize(2 * length, 0);
        }
    }
    text.truncate(length);
    String::from_utf8(text).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// Reads a decimal number.
pub(crate) fn number<T: FromStr>(path: &Path) -> Option<T> {
    text(path)?.parse().ok()
}

/// Parses a number such as `0x1f`.
pub(crate) fn parse_hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text.trim().strip_prefix("0x")?, 16).ok()
}

/// Reads a flag that is written as `0` or `1`.
pub(crate) fn flag(path: &Path) -> Option<bool> {
    match text(path)?.as_str() {
        "0" => Some(false),
        "1" => Some(true),
        _ => None,
    }
}

/// Returns the names in a folder, sorted; none when it cannot be read.
pub(crate) fn entries(folder: &Path) -> Vec<String> {
    let read = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = read
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort_unstable();
    names
}

/// Returns the last component of a link's target: sysfs names drivers and subsystems by links.
pub(crate) fn link_name(link: &Path) -> Option<String> {
    let target = fs::read_link(link).ok()?;
    Some(target.file_name()?.to_str()?.to_owned())
}

/// Returns the number at the end of `name` if the rest is `prefix`: `3` of `cpu3`.
pub(crate) fn numbered(name: &str, prefix: &str) -> Option<u32> {
    let digits = name.strip_prefix(prefix)?;
    let all_digits = digits.bytes().all(|b| b.is_ascii_digit());
    all_digits.then(|| digits.parse().ok()).flatten()
}

/// Returns number and path of each entry of a folder whose name is `prefix` and a number, in the
/// order of names.
pub(crate) fn numbered_entries(folder: &Path, prefix: &str) -> Vec<(u32, PathBuf)> {
    let numbered = |name: String| Some((numbered(&name, prefix)?, folder.join(name)));
    entries(folder).into_iter().filter_map(numbered).collect()
}

/// Returns the bytes after `key` in lines such as `Dirty: 12 kB`, whose `kB` are units of 1024.
pub(crate) fn kibibytes_after(text: &str, key: &str) -> Option<u64> {
    let number = value_after(text, key)?.strip_suffix("kB")?;
    number.trim_end().parse::<u64>().ok()?.checked_mul(1024)
}

/// Returns the word in brackets of a text such as `none [bfq] kyber`: the selected one.
pub(crate) fn bracketed(text: &str) -> Option<&str> {
    let mut words = text.split_whitespace();
    words.find_map(|word| word.strip_prefix('[')?.strip_suffix(']'))
}

/// Returns the value after `key` in `key: value` or `key value` lines.
pub(crate) fn value_after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    Some(line.trim_start_matches([':', '\t', ' ']).trim_end())
}
