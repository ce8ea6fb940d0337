//! Input of users: files to read, and names of bus modes and parts. serde reads the values of their TOML
//! files, and a mistake is reported with its line, its key and the nearest known word.

use crate::exit::Failure;
use crate::ui::parse_time;
use assay_flash::part::DeviceModel;
use assay_model::device::{self, Ceiling};
use assay_model::text::meant;
use assay_model::units::{Bytes, Nanos};
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use toml::de::DeTable;

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

/// Mistake in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Line of the file, from 1.
    pub line: usize,
    /// Explanation, which begins with the key where there is one.
    pub why: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

impl Mistake {
    fn at(text: &str, offset: usize, why: impl Into<String>) -> Self {
        let before = text.get(..offset).unwrap_or(text);
        Self {
            line: before.matches('\n').count() + 1,
            why: why.into(),
        }
    }
}

/// Parses the text of a file.
///
/// # Errors
/// The first mistake in it.
pub fn parse_toml<T: DeserializeOwned>(text: &str) -> Result<T, Mistake> {
    toml::from_str(text).map_err(|mut error| {
        let why = toml_error_in_words(error.message());
        // The path of the key is only in the text of an error without its input.
        error.set_input(None);
        let shown = error.to_string();
        let path = shown.trim_end().rsplit_once("\nin `");
        let key = path.and_then(|(_, path)| path.trim_end_matches('`').rsplit('.').next());
        let key = key.map_or_else(String::new, |key| format!("{key}: "));
        let offset = error.span().map_or(0, |span| span.start);
        Mistake::at(text, offset, key + &why)
    })
}

/// Rewords serde's messages for users.
fn toml_error_in_words(message: &str) -> String {
    if let Some(name) = message.strip_prefix("missing field `") {
        return format!("{} is missing", name.trim_end_matches('`'));
    }
    let mistyped = message.strip_prefix("invalid type: ");
    if let Some((found, wanted)) = mistyped.and_then(|rest| rest.split_once(", expected ")) {
        let wanted = match wanted {
            "a string" | "path string" => "a text in quotes",
            "a boolean" => "true or false",
            "a sequence" => "a list",
            "i64" | "u32" | "usize" => "a whole number",
            other => other,
        };
        return format!("{wanted} is wanted here, not {found}");
    }
    let after = |start| message.strip_prefix(start)?.split_once("`, expected ");
    let unknown = |subject, (word, known): (&str, &str)| {
        // The known words are those between backquotes.
        let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
        unknown_word(subject, word, &known)
    };
    match (after("unknown field `"), after("unknown variant `")) {
        (Some(found), _) => unknown("there is no key", found),
        (_, Some(found)) => unknown("nothing is called", found),
        (None, None) => message.to_owned(),
    }
}

fn unknown_word(subject: &str, word: &str, known: &[&str]) -> String {
    let meant = meant(word, known.iter().copied());
    format!("{subject} {word}{meant}; there is {}", known.join(", "))
}

/// Keys of a table with their lines, for rules beyond those of serde.
#[derive(Clone, Copy)]
pub struct Keys<'a> {
    text: &'a str,
    offset: usize,
    table: &'a DeTable<'a>,
}

impl<'a> Keys<'a> {
    /// Keys of a whole file.
    pub const fn new(text: &'a str, table: &'a DeTable<'a>) -> Self {
        Self {
            text,
            offset: 0,
            table,
        }
    }

    /// Tables of a list, `[[key]]`.
    pub fn tables(self, key: &str) -> impl Iterator<Item = Self> {
        let list = self.table.get(key).map(|value| value.get_ref().as_array());
        list.flatten().into_iter().flatten().filter_map(move |it| {
            Some(Self {
                offset: it.span().start,
                table: it.get_ref().as_table()?,
                ..self
            })
        })
    }

    /// Reports a key that is not known.
    pub fn only(self, known: &[&str]) -> Result<(), Mistake> {
        let mut names = self.table.keys();
        match names.find(|name| !known.contains(&&**name.get_ref())) {
            None => Ok(()),
            Some(name) => {
                let why = unknown_word("there is no key", name.get_ref(), known);
                Err(Mistake::at(self.text, name.span().start, why))
            }
        }
    }

    /// Returns the value of a required key.
    pub fn needed<T>(self, key: &str, value: Option<T>) -> Result<T, Mistake> {
        value.ok_or_else(|| self.mistake(format!("{key} is missing")))
    }

    /// Reports a mistake in the table as a whole.
    pub fn mistake(self, why: impl Into<String>) -> Mistake {
        Mistake::at(self.text, self.offset, why)
    }

    /// Reports a mistake in the value of a key.
    pub fn mistake_in(self, key: &str, why: &str) -> Mistake {
        let value = self.table.get(key);
        let offset = value.map_or(self.offset, |value| value.span().start);
        Mistake::at(self.text, offset, format!("{key}: {why}"))
    }
}

/// Reads a size such as `"64M"`, greater than 0.
pub fn read_size<'de, T: From<u64>, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    parse_size(&String::deserialize(from)?)
        .map(T::from)
        .map_err(D::Error::custom)
}

/// Parses a size such as `64M`, greater than 0.
pub fn parse_size(text: &str) -> Result<u64, String> {
    match text.parse::<Bytes>() {
        Ok(Bytes(0)) => Err("a size is more than 0".to_owned()),
        Ok(Bytes(size)) => Ok(size),
        Err(error) => Err(error.to_string()),
    }
}

/// Reads a time such as `"33ms"`, greater than 0, in nanoseconds.
pub fn read_time<'de, T: From<u64>, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    match parse_time(&String::deserialize(from)?) {
        Ok(Nanos(0)) => Err(D::Error::custom("a time is more than 0")),
        Ok(Nanos(time)) => Ok(T::from(time)),
        Err(why) => Err(D::Error::custom(why)),
    }
}

/// Reads a whole number from `LEAST` to `MOST`.
pub fn read_number<'de, const LEAST: u32, const MOST: u32, T: From<u32>, D: Deserializer<'de>>(
    from: D,
) -> Result<T, D::Error> {
    let number = u32::try_from(i64::deserialize(from)?).ok();
    let number = number.filter(|number| (LEAST..=MOST).contains(number));
    number
        .map(T::from)
        .ok_or_else(|| D::Error::custom(format!("a number from {LEAST} to {MOST} is wanted")))
}

/// Finds the mode of a bus by its name.
pub fn bus_mode(word: &str) -> Result<Ceiling, Failure> {
    device::find_ceiling(word).ok_or_else(|| {
        let all = device::all_ceilings();
        let modes = all.iter().map(|ceiling| ceiling.mode.as_str());
        let meant = meant(&word.to_ascii_lowercase(), modes);
        Failure::usage(format!(
            "no bus is called '{word}'{meant}: assay model limits lists all"
        ))
    })
}

/// Finds the model of a part: a built-in one by its name, or that in a file.
pub fn device_model(word: &str) -> Result<DeviceModel, Failure> {
    if let Some(part) = DeviceModel::find(word) {
        return Ok(part);
    }
    let path = Path::new(word);
    let text = small_text(path).map_err(|error| {
        let known = DeviceModel::known_names();
        let meant = meant(word, known.split(", "));
        let why = format!(
            "no part is called so{meant}: there are {known}; as a file it cannot be read: {error}"
        );
        Failure::in_file(path, why)
    })?;
    DeviceModel::parse(&text).map_err(|error| Failure::in_file(path, error))
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

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        #[serde(default, deserialize_with = "read_size")]
        _size: Option<u64>,
        #[serde(default, deserialize_with = "read_time")]
        _time: Option<u64>,
        #[serde(default, deserialize_with = "read_number::<1, 9, _, _>")]
        _count: Option<u32>,
        #[serde(default)]
        _inner: Vec<Inner>,
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        _flag: bool,
        _kind: Option<Kind>,
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        Folder,
        Device,
    }

    #[test]
    fn a_mistake_is_told_with_its_line_its_key_and_the_nearest_word() {
        for (text, expected) in [
            ("\n_size = ", "line 2: "),
            (
                "\n_sice = 1",
                "line 2: there is no key _sice (did you mean _size?); there is _size, _time,",
            ),
            ("q = 1", "line 1: there is no key q; there is _size,"),
            (
                "_size = 1",
                "line 1: _size: a text in quotes is wanted here, not integer `1`",
            ),
            ("_size = \"0\"", "line 1: _size: a size is more than 0"),
            ("_time = \"1 d\"", "line 1: _time: 1 d is not a time"),
            ("_time = \"0s\"", "line 1: _time: a time is more than 0"),
            ("_count = -1", "line 1: _count: a number from 1 to 9"),
            ("_count = 10", "line 1: _count: a number from 1 to 9"),
            ("_count = \"a\"", "line 1: _count: a whole number is wanted"),
            ("[[_inner]]", "line 1: _inner: _flag is missing"),
            (
                "[[_inner]]\n_flag = 1",
                "line 2: _flag: true or false is wanted",
            ),
            (
                "[[_inner]]\n_flag = true\n_kind = \"foldr\"",
                "line 3: _kind: nothing is called foldr (did you mean folder?); \
                 there is folder, device",
            ),
        ] {
            let mistake = parse_toml::<Sample>(text).unwrap_err().to_string();
            assert!(mistake.starts_with(expected), "{text}: {mistake}");
        }
    }
}
