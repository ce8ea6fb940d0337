//! Output: standard output is for data, standard error for messages.

use crate::exit::Failure;
use assay_report::document::Document;
use assay_report::terminal::{self, Style};
use assay_report::words::{width, wrap};
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Width in columns if there is no terminal.
const DEFAULT_WIDTH: usize = 80;
/// Maximum width in columns: longer lines are hard to read.
const MAX_WIDTH: usize = 120;

/// `true` once a message could not be written.
static TALK_LOST: AtomicBool = AtomicBool::new(false);

/// Prints a message on standard error, wrapped at the width of a terminal. A failed write is not
/// an error, but is recorded ([`message_was_lost`]).
pub fn say(text: &str) {
    let mut talk = io::stderr().lock();
    let fits = |line: &str| talk_columns().is_none_or(|columns| width(line) <= columns);
    if text.lines().all(fits) {
        note_loss(&writeln!(talk, "{text}"));
        return;
    }
    for line in text.lines() {
        // A line that fits keeps its spaces: it may belong to a table.
        let lines = match talk_columns() {
            Some(columns) if !fits(line) => wrap(line, columns),
            _ => vec![line.to_owned()],
        };
        for line in lines {
            note_loss(&writeln!(talk, "{line}"));
        }
    }
}

/// Prints a part of a line on standard error.
pub fn say_part(part: &str) {
    let mut talk = io::stderr().lock();
    note_loss(&talk.write_all(part.as_bytes()).and_then(|()| talk.flush()));
}

fn note_loss(said: &io::Result<()>) {
    if said.is_err() {
        TALK_LOST.store(true, Ordering::Relaxed);
    }
}

/// `true` if a message so far could not be written.
pub fn message_was_lost() -> bool {
    TALK_LOST.load(Ordering::Relaxed)
}

/// Writes data to standard output. A reader that closed the pipe (`| head`) is no failure.
pub fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    print_while_read(write).map(|_| ())
}

/// Prints a document for people.
pub fn show(document: &Document) -> Result<(), Failure> {
    print(|out| terminal::write(document, style(), &[], out))
}

/// Prints a JSON document.
pub fn print_json(value: &serde_json::Value) -> Result<(), Failure> {
    print(|out| writeln!(out, "{value:#}"))
}

/// Writes like [`print()`]; returns `false` once the reader has closed the pipe, so that an
/// endless output can end.
pub fn print_while_read(
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<bool, Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::failed(format!(
            "cannot write to standard output: {error}"
        ))),
    }
}

/// Checks that a file that the user named for results may be written.
///
/// # Errors
/// When it is a block device, or a file that the kernel works on.
pub fn admit_output(path: &Path) -> Result<(), Failure> {
    assay_agent::admit_output(path).map_err(Failure::usage)
}

/// Returns the columns of the terminal on standard error; `None` if that is no terminal.
pub fn talk_columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stderr()).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// Returns the rows of the terminal on standard error; `None` if that is no terminal.
pub fn talk_rows() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stderr()).ok()?;
    (size.ws_row > 0).then_some(usize::from(size.ws_row))
}

/// Returns the columns of the terminal on standard output; `None` if that is no terminal.
pub fn print_columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// `true` if standard error is a terminal.
pub fn talks_to_terminal() -> bool {
    io::stderr().is_terminal()
}

/// `true` if standard output is a terminal.
pub fn prints_to_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Returns the style of standard output: colour only for a terminal, unless switched off
/// (<https://no-color.org>).
pub fn style() -> Style {
    Style {
        color: prints_to_terminal() && colour_wanted(),
        width: print_columns().unwrap_or(DEFAULT_WIDTH).min(MAX_WIDTH),
        ascii: !colour_wanted() || !speaks_utf8(),
    }
}

/// `true` if the locale's encoding is UTF-8: the first variable that is set decides (POSIX, 8.2).
/// UTF-8 is assumed where none is set.
fn speaks_utf8() -> bool {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"];
    let mut set = names.iter().filter_map(std::env::var_os);
    let first = set.find(|value| !value.is_empty());
    first.is_none_or(|locale| {
        let locale = locale.to_string_lossy().to_ascii_lowercase();
        locale.ends_with("utf-8") || locale.ends_with("utf8") || locale.contains("utf-8@")
    })
}

/// `true` unless the user has switched colour off.
pub fn colour_wanted() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}
