//! Text for mails and tickets: at most 72 columns, so that nothing is wrapped when it
//! is quoted. What is said is written once, over `Sheet`; text and Markdown differ
//! only in how they set it.

mod command;
mod comparison;
mod import;
mod markdown;
mod place;
mod plain;
mod run;
mod sweep;
#[cfg(test)]
mod tests;

use crate::render::terminal::table::Table;
use crate::results::comparison::{Compared, Ranked};
use assay_model::figures::Import;
use assay_model::run::Run;
use markdown::Markdown;
use plain::Plain;
use std::io::{self, Write};

/// Columns of a mail: RFC 2822 asks for 78, and quoting takes some.
const COLUMNS: usize = 72;
/// A name is not made shorter than this.
const SHORTEST_NAME: usize = 12;

/// How it is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As mailing lists take it.
    Text,
    /// As trackers show it.
    Markdown,
}

/// Writes a run.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_run(run: &Run, form: Form, out: &mut dyn Write) -> io::Result<()> {
    match form {
        Form::Text => run::write(run, &mut Plain::to(out)),
        Form::Markdown => run::write(run, &mut Markdown::to(out)),
    }
}

/// Writes a run under several conditions with what came of them.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_sweep(
    run: &Run,
    ranked: &Ranked<'_>,
    form: Form,
    out: &mut dyn Write,
) -> io::Result<()> {
    match form {
        Form::Text => sweep::write(run, ranked, &mut Plain::to(out)),
        Form::Markdown => sweep::write(run, ranked, &mut Markdown::to(out)),
    }
}

/// Writes results that were made elsewhere; `ranked` where they have several conditions.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_import(
    import: &Import,
    ranked: Option<&Ranked<'_>>,
    form: Form,
    out: &mut dyn Write,
) -> io::Result<()> {
    match form {
        Form::Text => import::write(import, ranked, &mut Plain::to(out)),
        Form::Markdown => import::write(import, ranked, &mut Markdown::to(out)),
    }
}

/// Writes a comparison.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_comparison(
    compared: &Compared<'_>,
    form: Form,
    out: &mut dyn Write,
) -> io::Result<()> {
    match form {
        Form::Text => comparison::write(compared, &mut Plain::to(out)),
        Form::Markdown => comparison::write(compared, &mut Markdown::to(out)),
    }
}

/// What a mail is made of. All texts are safe to show already.
trait Sheet {
    /// The first line.
    fn title(&mut self, text: &str) -> io::Result<()>;
    /// Of a part.
    fn heading(&mut self, text: &str) -> io::Result<()>;
    /// A paragraph.
    fn paragraph(&mut self, text: &str) -> io::Result<()>;
    /// Names with what is said of them.
    fn facts(&mut self, facts: &[(String, String)]) -> io::Result<()>;
    /// A point each.
    fn list(&mut self, points: &[String]) -> io::Result<()>;
    /// Lines as they are.
    fn lines(&mut self, lines: &[String]) -> io::Result<()>;
    /// A table. A row of one cell is a heading within it.
    fn table<const N: usize>(&mut self, table: Table<N>) -> io::Result<()>;
}
