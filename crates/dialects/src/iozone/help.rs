//! The text of `-h`.

use super::flags::{FLAGS, Flag, Takes};

/// Columns of a flag and its value.
const LEFT: usize = 20;
/// Columns of a line.
const WIDTH: usize = 96;

/// The flags, what they do, and which of iozone's are not supported.
#[must_use]
pub fn help() -> String {
    let mut text = HEAD.to_owned();
    for flag in FLAGS.iter().filter(|flag| flag.supported) {
        entry(flag, &mut text);
    }
    text.push_str("\nFlags of iozone that are not supported:\n");
    for flag in FLAGS.iter().filter(|flag| !flag.supported) {
        entry(flag, &mut text);
    }
    text.push_str(FOOT);
    text
}

const HEAD: &str = "\
Is iozone: its flags and its text, and what each figure measured.

Usage: assay iozone [--on TARGET] [flags of iozone] [--trials N] [--json] [--store FILE]

  assay iozone -Rab out.xlsx -g 2G -n 1M -w -e -C
  assay iozone -i 0 -i 1 -s 64M -r 4k -I
  assay iozone -t 4 -s 256M -r 64k

Sizes are in kB (1024 bytes) or end in k, m or g.

";

const FOOT: &str = "
Exit codes: 0 done, 1 failed, 2 the command cannot be carried out as given,
4 data that differs (-V), 5 device or target lost, 130 or 143 stopped by Ctrl-C
or SIGTERM. Finished cells are kept in every case.
";

fn entry(flag: &Flag, text: &mut String) {
    let left = match flag.takes {
        Takes::Nothing => format!("  -{}", flag.name),
        Takes::One(value) | Takes::Many(value) => format!("  -{} {value}", flag.name),
    };
    text.push_str(&format!("{left:LEFT$} "));
    let mut column = LEFT.max(left.len()) + 1;
    for word in flag.about.split(' ') {
        if column + word.len() > WIDTH {
            text.push_str(&format!("\n{:LEFT$} ", ""));
            column = LEFT + 1;
        }
        text.push_str(word);
        text.push(' ');
        column += word.len() + 1;
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
}
