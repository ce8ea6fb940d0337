//! Command lines that can be pasted into a shell.

use super::COLUMNS;
use crate::words::text::{break_long, clean, width};

/// What a sheet may put before a line.
const INDENT: usize = 2;

/// `$ assay qualify /mnt`, broken between words where it is too long.
pub(super) fn lines(command: &[String]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = "$".to_owned();
    for word in command {
        let word = quoted(word);
        // Room for what says that the command goes on.
        let room = COLUMNS - INDENT - " \\".len();
        if width(&line) + 1 + width(&word) > room && line.trim() != "$" {
            lines.push(format!("{line} \\"));
            line = "   ".to_owned();
        }
        line.push(' ');
        line.push_str(&word);
    }
    lines.push(line);
    lines.iter().flat_map(|line| within(line)).collect()
}

/// Only a word that is longer than a mail is wide is cut.
fn within(line: &str) -> Vec<String> {
    match width(line) > COLUMNS - INDENT {
        true => {
            let cut = break_long(line, COLUMNS - INDENT - 4);
            crate::words::text::wrap(&cut, COLUMNS - INDENT)
        }
        false => vec![line.to_owned()],
    }
}

fn quoted(word: &str) -> String {
    let word = clean(word);
    match shlex::try_quote(&word) {
        Ok(quoted) => quoted.into_owned(),
        // Only a NUL cannot be quoted, and none is left.
        Err(_) => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split('|').map(str::to_owned).collect()
    }

    #[test]
    fn a_command_is_quoted_for_a_shell() {
        let found = lines(&words("assay|compare|my file|a;b"));
        assert_eq!(found, ["$ assay compare 'my file' 'a;b'"]);
    }

    #[test]
    fn a_long_command_goes_on_in_the_next_line() {
        let found = lines(&words(
            "assay|sweep|/mnt/disk|--vary|scheduler=none,bfq,mq-deadline|--vary|read_ahead_kb=128",
        ));
        let first = "$ assay sweep /mnt/disk --vary 'scheduler=none,bfq,mq-deadline' \\";
        assert_eq!(found, [first, "    --vary 'read_ahead_kb=128'"]);
        let long = lines(&words(&format!("assay|{}", "x".repeat(200))));
        assert!(long.len() > 2 && long.iter().all(|line| line.len() <= COLUMNS - INDENT));
    }
}
