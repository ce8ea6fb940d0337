//! Specification of a file system to make: `ext4:-b+1024`.

use std::fmt;

/// A file system to make on a device, with its `mkfs` options.
///
/// ```
/// use assay_model::condition::FileSystem;
/// let made = FileSystem::parse("ext4:-b+1024").unwrap();
/// assert_eq!((made.kind.as_str(), made.options.as_slice()), ("ext4", &["-b".into(), "1024".into()][..]));
/// assert_eq!(FileSystem::parse("../sh"), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// Type, as in `mkfs.ext4` and `mount -t ext4`.
    pub kind: String,
    /// Options of `mkfs`, one word each.
    pub options: Vec<String>,
    /// Options of `mount`.
    pub mount: Vec<String>,
}

impl FileSystem {
    /// Parses `KIND` or `KIND:OPTION+OPTION` (a comma would separate values), optionally followed
    /// by a space and mount options in the same form. `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let (made, mount) = match text.split_once(' ') {
            Some((made, mount)) => (made, words(mount)?),
            None => (text, Vec::new()),
        };
        let (kind, options) = match made.split_once(':') {
            Some((kind, options)) => (kind, words(options)?),
            None => (made, Vec::new()),
        };
        let in_kind = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        let is_kind = !kind.is_empty() && kind.bytes().all(in_kind);
        is_kind.then(|| Self {
            kind: kind.to_owned(),
            options,
            mount,
        })
    }
}

/// Splits text into words without spaces, none of them empty.
fn words(text: &str) -> Option<Vec<String>> {
    let words = text.split('+').map(|word| {
        let is_word = !word.is_empty() && !word.contains(char::is_whitespace);
        is_word.then(|| word.to_owned())
    });
    words.collect()
}

/// Prints the form that [`FileSystem::parse`] accepts.
impl fmt::Display for FileSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if !self.options.is_empty() {
            write!(f, ":{}", self.options.join("+"))?;
        }
        if !self.mount.is_empty() {
            write!(f, " {}", self.mount.join("+"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_and_mounted_is_read_as_it_is_shown() {
        for text in [
            "xfs",
            "ext4:-b+1024",
            "ext4:-O+^has_journal noatime+commit=5",
        ] {
            assert_eq!(FileSystem::parse(text).unwrap().to_string(), text);
        }
        for text in [
            "",
            "ext4:",
            "ext4:-b++1024",
            "a/b",
            "ext4:-L+a b c",
            "ext4 ",
        ] {
            assert_eq!(FileSystem::parse(text), None, "{text}");
        }
    }
}
