//! Quoted names in messages.

use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;

/// Bytes with a meaning for a shell at any position.
const SPECIAL: &[u8] = b" !\"#$&'()*:;<=>?[\\^`|~";

/// Quotes a name.
///
/// ```
/// use assay_model::gnu::quoted;
/// assert_eq!(quoted("a b".as_ref()), "'a b'");
/// assert_eq!(quoted("it's".as_ref()), "\"it's\"");
/// assert_eq!(quoted("a\nb".as_ref()), r"'a'$'\n''b'");
/// ```
pub fn quoted(name: &OsStr) -> String {
    let bytes = name.as_bytes();
    let plain = |byte: &u8| matches!(byte, b' '..=b'~');
    let within_double = |byte: &u8| plain(byte) && !b"\"$`\\!".contains(byte);
    if bytes.contains(&b'\'') && bytes.iter().all(within_double) {
        return format!("\"{}\"", String::from_utf8_lossy(bytes));
    }
    let mut text = String::from("'");
    let mut escaped = false;
    for &byte in bytes {
        match byte {
            b'\'' => {
                close_escape(&mut text, &mut escaped);
                text.push_str("'\\''");
            }
            b' '..=b'~' => {
                close_escape(&mut text, &mut escaped);
                text.push(char::from(byte));
            }
            _ => {
                if !escaped {
                    text.push_str("'$'");
                    escaped = true;
                }
                push_escape(&mut text, byte);
            }
        }
    }
    text.push('\'');
    text
}

/// Quotes a name if a shell requires it.
///
/// ```
/// use assay_model::gnu::quoted_if_needed;
/// assert_eq!(quoted_if_needed("disk.img".as_ref()), "disk.img");
/// assert_eq!(quoted_if_needed("standard input".as_ref()), "'standard input'");
/// ```
pub fn quoted_if_needed(name: &OsStr) -> String {
    let bytes = name.as_bytes();
    let plain = |byte: &u8| matches!(byte, b'!'..=b'~') && !SPECIAL.contains(byte);
    // These two only have a meaning at the beginning.
    let tame = |byte: &u8| plain(byte) || b"#~".contains(byte);
    let begins = bytes.first().is_some_and(plain);
    let brace = matches!(bytes, b"{" | b"}");
    if begins && !brace && bytes.iter().all(tame) {
        String::from_utf8_lossy(bytes).into_owned()
    } else {
        quoted(name)
    }
}

/// Quotes a word that was not understood, with the escapes of C.
///
/// ```
/// use assay_model::gnu::quoted_c;
/// assert_eq!(quoted_c("it's\n"), r"'it\'s\n'");
/// ```
pub fn quoted_c(word: &str) -> String {
    let mut text = String::from("'");
    for byte in word.bytes() {
        match byte {
            b'\'' | b'\\' => {
                text.push('\\');
                text.push(char::from(byte));
            }
            b' '..=b'~' => text.push(char::from(byte)),
            _ => push_escape(&mut text, byte),
        }
    }
    text.push('\'');
    text
}

fn close_escape(text: &mut String, escaped: &mut bool) {
    if std::mem::take(escaped) {
        text.push_str("''");
    }
}

fn push_escape(text: &mut String, byte: u8) {
    let letter = match byte {
        7 => 'a',
        8 => 'b',
        9 => 't',
        10 => 'n',
        11 => 'v',
        12 => 'f',
        13 => 'r',
        _ => {
            // Writing to a String cannot fail.
            let _ = write!(text, "\\{byte:03o}");
            return;
        }
    };
    text.push('\\');
    text.push(letter);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_letters_are_escaped() {
        assert_eq!(quoted("é".as_ref()), r"''$'\303\251'");
        assert_eq!(quoted("a\x07".as_ref()), r"'a'$'\a'");
        assert_eq!(quoted("".as_ref()), "''");
        assert_eq!(quoted("it's $5".as_ref()), r"'it'\''s $5'");
    }

    #[test]
    fn quotes_come_only_where_a_shell_wants_them() {
        let same = ["a", "/dev/sda1", "a-b_c.d,e@g%h+i]", "a#b", "a~", "a{b"];
        for name in same {
            assert_eq!(quoted_if_needed(name.as_ref()), name);
        }
        for name in ["", "~a", "#a", "a b", "a*", "a=b", "a:b", "{", "a\n"] {
            assert_eq!(quoted_if_needed(name.as_ref()), quoted(name.as_ref()));
        }
    }
}
