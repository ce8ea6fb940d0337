//! Name, tags and note that a user gives to a stored run or import. They can change at any time and
//! are not part of its record.

use crate::text::clean;
use serde::{Deserialize, Serialize};

/// Longest name or tag, in characters.
const LONGEST_WORD: usize = 100;
/// Longest note, in characters.
const LONGEST_NOTE: usize = 10_000;

/// Name, tags and note that a user gives to a run or an import.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotation {
    /// Name that can replace the id; unique among the runs and imports of a store.
    pub name: Option<String>,
    /// Search words, sorted, without duplicates.
    pub tags: Vec<String>,
    /// Free text.
    pub note: Option<String>,
}

impl Annotation {
    /// `true` if there is neither a name, nor a tag, nor a note.
    pub const fn is_empty(&self) -> bool {
        self.name.is_none() && self.tags.is_empty() && self.note.is_none()
    }

    /// Sets the option `name`, `tag` or `note`.
    ///
    /// # Errors
    /// When the option is not known, or the value is not allowed for it.
    pub fn take(&mut self, option: &str, value: &str) -> Result<(), String> {
        match option {
            "name" => self.name = Some(parse_name(value)?),
            "tag" => self.add_tag(&parse_tag(value)?),
            "note" => self.note = Some(parse_note(value)?).filter(|note| !note.is_empty()),
            _ => return Err(format!("no option is called '{option}'")),
        }
        Ok(())
    }

    /// Adds a tag, unless it is there already.
    pub fn add_tag(&mut self, tag: &str) {
        if let Err(at) = self.tags.binary_search_by(|known| known.as_str().cmp(tag)) {
            self.tags.insert(at, tag.to_owned());
        }
    }
}

/// Parses a name that can replace a run's id.
///
/// ```
/// use assay_model::annotation::parse_name;
/// assert_eq!(parse_name("before patch 3").as_deref(), Ok("before patch 3"));
/// assert!(parse_name("last").is_err() && parse_name("a@b").is_err());
/// ```
///
/// # Errors
/// When commands could mistake it for something else, or it does not fit in a line.
pub fn parse_name(text: &str) -> Result<String, String> {
    let name = parse_word(text)?;
    if name == "last" {
        return Err("'last' stands for the newest run or import: choose another name".to_owned());
    }
    if name.contains(['@', '/']) {
        return Err(
            "a name cannot have @ or / in it: @ is followed by a condition, \
             / belongs to paths"
                .to_owned(),
        );
    }
    Ok(name)
}

/// Parses a tag.
///
/// # Errors
/// When it is empty, too long, or does not fit in a line.
pub fn parse_tag(text: &str) -> Result<String, String> {
    parse_word(text)
}

/// Parses a note, which may have several lines.
///
/// # Errors
/// When it is too long, or has control characters other than tabs and line ends.
pub fn parse_note(text: &str) -> Result<String, String> {
    let note = text.trim_end();
    if note.chars().count() > LONGEST_NOTE {
        return Err(format!("a note has at most {LONGEST_NOTE} characters"));
    }
    let shown = note.replace(['\n', '\t'], " ");
    match clean(&shown) == shown {
        true => Ok(note.to_owned()),
        false => Err("it has characters that control a terminal or are invisible".to_owned()),
    }
}

fn parse_word(text: &str) -> Result<String, String> {
    let word = text.trim();
    if word.is_empty() {
        return Err("it is empty".to_owned());
    }
    if word.chars().count() > LONGEST_WORD {
        return Err(format!("it is longer than {LONGEST_WORD} characters"));
    }
    if word.starts_with('-') {
        return Err("it begins with -, as options do".to_owned());
    }
    match clean(word) == word {
        true => Ok(word.to_owned()),
        false => Err("it has characters that control a terminal or are invisible".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_commands_take_for_something_else_are_refused() {
        for name in [
            "",
            " ",
            "last",
            " last ",
            "a@b",
            "a/b",
            "/",
            "@",
            "a\nb",
            "a\tb",
            "\u{1b}[2J",
            "x\u{202e}y",
            "\0",
            "-o",
            "--name",
        ] {
            assert!(parse_name(name).is_err(), "{name:?}");
        }
        assert!(parse_name(&"x".repeat(10_000)).is_err());
        for name in [
            "lastly",
            "=1+1",
            "<b>bold</b>".trim_end_matches("</b>"),
            "µ 测试",
            "a.b:c",
        ] {
            assert_eq!(parse_name(name).as_deref(), Ok(name));
        }
        assert_eq!(parse_name(" padded ").as_deref(), Ok("padded"));
        assert_eq!(parse_name(&"é".repeat(100)).map(|name| name.len()), Ok(200));
    }

    #[test]
    fn a_tag_may_have_what_a_name_may_not() {
        assert_eq!(parse_tag("a@b/c").as_deref(), Ok("a@b/c"));
        assert!(parse_tag("a\nb").is_err() && parse_tag("").is_err());
    }

    #[test]
    fn a_note_has_lines_and_no_other_control_characters() {
        let note = "kernel 6.12\n\twith patch 3\n";
        assert_eq!(parse_note(note).as_deref(), Ok(note.trim_end()));
        assert!(parse_note("\u{1b}]0;title\u{7}").is_err());
        assert!(parse_note("a\rb").is_err());
        assert!(parse_note(&"x".repeat(10_001)).is_err());
        assert_eq!(parse_note("").as_deref(), Ok(""));
    }

    #[test]
    fn a_tag_is_there_once() {
        let mut annotation = Annotation::default();
        for tag in ["b", "a", "b"] {
            annotation.add_tag(tag);
        }
        assert_eq!(annotation.tags, ["a", "b"]);
    }
}
