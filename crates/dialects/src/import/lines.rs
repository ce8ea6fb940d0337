//! Lines of texts that people have quoted.

/// A line with its number, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NumberedLine<'a> {
    pub(super) number: usize,
    pub(super) text: &'a str,
}

/// The lines of a text without what an e-mail puts before them.
pub(super) fn unquoted(text: &str) -> impl Iterator<Item = NumberedLine<'_>> {
    text.lines().enumerate().map(|(at, line)| NumberedLine {
        number: at + 1,
        text: unquote(line),
    })
}

/// `> > text` is `text`, with the blanks that it begins with.
fn unquote(line: &str) -> &str {
    let mut rest = line;
    while let Some(inner) = rest.trim_start().strip_prefix('>') {
        rest = inner.strip_prefix(' ').unwrap_or(inner);
    }
    rest.trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_quotes_go() {
        let lines: Vec<&str> = unquoted("> > a\n>>  b \n  c\n>\n")
            .map(|line| line.text)
            .collect();
        assert_eq!(lines, ["a", " b", "  c", ""]);
    }
}
