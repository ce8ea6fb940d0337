//! Parses arguments as getopt does: one-letter flags may be combined, and the
//! last of them may have its value attached or in the next argument.

use super::IozoneError;
use super::flags::{Flag, Takes, find, nearest};

/// Flag with its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) flag: Flag,
    pub(super) values: Vec<String>,
}

/// Parses all flags, in their order.
pub(super) fn given(words: &[String]) -> Result<Vec<Given>, IozoneError> {
    let mut rest = words.iter().map(String::as_str).peekable();
    let mut all = Vec::new();
    while let Some(word) = rest.next() {
        if let Some(long) = word.strip_prefix("--") {
            all.push(long_flag(long, &mut rest)?);
        } else if let Some(letters) = word.strip_prefix('-').filter(|some| !some.is_empty()) {
            cluster(letters, &mut rest, &mut all)?;
        } else {
            return Err(IozoneError(format!(
                "{word:?} belongs to no flag: a file is named with -f, see assay iozone -h"
            )));
        }
    }
    Ok(all)
}

fn long_flag<'a>(
    long: &str,
    rest: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
) -> Result<Given, IozoneError> {
    let (name, glued) = match long.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (long, None),
    };
    let flag = known(&format!("-{name}"))?;
    with_values(flag, glued.filter(|_| flag.takes != Takes::Nothing), rest)
}

fn cluster<'a>(
    letters: &str,
    rest: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
    all: &mut Vec<Given>,
) -> Result<(), IozoneError> {
    let mut left = letters;
    while let Some(letter) = left.chars().next() {
        let length = match letter {
            '+' => 1 + left.chars().nth(1).map_or(0, char::len_utf8),
            other => other.len_utf8(),
        };
        let (name, after) = left.split_at(length);
        let flag = known(name)?;
        left = after;
        if flag.takes == Takes::Nothing {
            all.push(with_values(flag, None, rest)?);
        } else {
            let glued = (!left.is_empty()).then_some(left);
            all.push(with_values(flag, glued, rest)?);
            return Ok(());
        }
    }
    Ok(())
}

fn known(name: &str) -> Result<Flag, IozoneError> {
    let Some(flag) = find(name) else {
        let hint = match nearest(name) {
            Some(near) => format!("did you mean -{near}?"),
            None => "see assay iozone -h".to_owned(),
        };
        return Err(IozoneError(format!(
            "-{name} is not a flag of iozone; {hint}"
        )));
    };
    if flag.supported {
        Ok(flag)
    } else {
        Err(IozoneError(format!(
            "-{name} is not supported: {}",
            flag.about
        )))
    }
}

fn with_values<'a>(
    flag: Flag,
    glued: Option<&str>,
    rest: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
) -> Result<Given, IozoneError> {
    let mut values: Vec<String> = glued.map(str::to_owned).into_iter().collect();
    match flag.takes {
        Takes::Nothing => {}
        Takes::One(_) if values.is_empty() => values.extend(rest.next().map(str::to_owned)),
        Takes::One(_) => {}
        Takes::Many(_) => {
            while let Some(word) = rest.next_if(|word| !word.starts_with('-')) {
                values.push(word.to_owned());
            }
        }
    }
    match flag.takes {
        Takes::One(value) | Takes::Many(value) if values.is_empty() => Err(IozoneError(format!(
            "-{} needs a value: -{} {value}",
            flag.name, flag.name
        ))),
        _ => Ok(Given { flag, values }),
    }
}
