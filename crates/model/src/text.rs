//! Text from a device, a path or a person, made safe to display.

use std::fmt::Write as _;
use std::io;

/// Escapes control characters and characters that reorder or hide text (U+202E and the like), so
/// that a device name can neither control a terminal nor disguise itself.
///
/// ```
/// use assay_model::text::clean;
/// assert_eq!(clean("Card\u{1b}[31m"), "Card\\u{1b}[31m");
/// assert_eq!(clean("eMMC 5.1 µ"), "eMMC 5.1 µ");
/// ```
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() || is_invisible(c) => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

/// `true` for zero-width characters, line separators and bidirectional controls.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{61c}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
    )
}

/// Shortens to at most `width` characters, with an ellipsis in the middle: both ends of a path are
/// more informative than its beginning alone.
pub fn shorten(text: &str, width: usize) -> String {
    let count = text.chars().count();
    if count <= width || width < 3 {
        return text.to_owned();
    }
    let tail = (width - 1) / 2;
    let head = width - 1 - tail;
    let first: String = text.chars().take(head).collect();
    let last: String = text.chars().skip(count - tail).collect();
    format!("{first}…{last}")
}

/// Adds a remedy to the kernel's error that a thread could not be started.
#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
pub fn no_thread(source: io::Error) -> io::Error {
    let words = format!(
        "cannot start a thread: {source}: allow more (ulimit -u, ulimit -v, the pids limit of the cgroup)"
    );
    io::Error::new(source.kind(), words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_reordering_characters_are_spelled_out() {
        assert_eq!(clean("a\u{1b}[2Jb"), "a\\u{1b}[2Jb");
        assert_eq!(clean("a\r\nb\tc"), "a\\u{d}\\nb\\tc");
        assert_eq!(clean("gpj.\u{202e}exe"), "gpj.\\u{202e}exe");
        assert_eq!(clean("\u{9b}31m"), "\\u{9b}31m");
    }

    #[test]
    fn both_ends_of_a_path_survive() {
        assert_eq!(shorten("/mnt/very/long/path", 11), "/mnt/…/path");
        assert_eq!(shorten("short", 11), "short");
    }
}
