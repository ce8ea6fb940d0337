//! Words and lines; text from outside is made safe to show.

pub use assay_model::text::{clean, shorten};

/// Breaks `text` at spaces into lines of at most `width` characters; a longer
/// word stands on a line of its own.
#[must_use]
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The text with every longer word cut, so that [`wrap`] leaves no line that is wider.
#[must_use]
pub fn break_long(text: &str, width: usize) -> String {
    let cut = text.split(' ').map(|word| {
        let characters: Vec<char> = word.chars().collect();
        let parts = characters.chunks(width.max(1));
        let parts: Vec<String> = parts.map(|part| part.iter().collect()).collect();
        parts.join(" ")
    });
    cut.collect::<Vec<_>>().join(" ")
}

/// `a`, `a and b`, `a, b and c`.
#[must_use]
pub fn enumerate<T: AsRef<str>>(items: &[T]) -> String {
    match items {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", first.join(", "), last.as_ref())
        }
    }
}

/// `1 trial`, `3 trials`.
#[must_use]
pub fn count(n: u64, noun: &str) -> String {
    if n == 1 {
        format!("1 {noun}")
    } else {
        format!("{n} {noun}s")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_no_longer_than_asked() {
        let lines = wrap("one two three four five", 9);
        assert_eq!(lines, ["one two", "three", "four five"]);
        assert_eq!(wrap("unbreakable", 4), ["unbreakable"]);
        assert_eq!(break_long("an unbreakable one", 4), "an unbr eaka ble one");
    }

    #[test]
    fn lists_read_as_english() {
        assert_eq!(enumerate::<&str>(&[]), "");
        assert_eq!(enumerate(&["a"]), "a");
        assert_eq!(enumerate(&["a", "b", "c"]), "a, b and c");
    }
}
