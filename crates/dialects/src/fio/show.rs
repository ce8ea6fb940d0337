//! `--showcmd`: job files as command lines.

use super::command_line::Arguments;
use super::environment::Environment;
use super::error::FioError;
use super::ini::{self, Section};
use std::fmt::Write as _;

/// A command line for each job file. Nothing is checked or replaced.
pub(super) fn command_lines(
    arguments: &Arguments,
    env: &dyn Environment,
) -> Result<String, FioError> {
    let mut text = String::new();
    for file in &arguments.files {
        text.push_str("fio");
        let wanted = |name: &str| arguments.wants(name);
        ini::read(file, env, &wanted, &mut |section| {
            write_section(&mut text, &section);
            Ok(())
        })?;
        text.push('\n');
    }
    Ok(text)
}

fn write_section(text: &mut String, section: &Section) {
    if !section.is_global() {
        let _ = write!(text, " --name={}", quoted(&section.name));
    }
    for entry in &section.entries {
        let _ = write!(text, " --{}", entry.name);
        if let Some(value) = &entry.value {
            let _ = write!(text, "={}", quoted(value));
        }
    }
}

/// As a shell has to be given it.
fn quoted(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/.,:_-+=%@".contains(c);
    match !value.is_empty() && value.chars().all(plain) {
        true => value.to_owned(),
        false => format!("'{}'", value.replace('\'', r"'\''")),
    }
}
