//! A server: what it serves, to whom, and what its program brings.

use crate::access::{Names, Token};
use crate::counts::Counts;
use crate::pool::{Open, Pool};
use crate::reply::{AnswerRoom, tag_of};
use assay_model::figures::Import;
use assay_model::run::Run;
use assay_report::html::{Site, style_sheet};
use assay_report::sweep::Verdicts;
use assay_store::{Owner, Store};
use maud::Markup;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;

/// Code of the program that serves: its judge, and its knowledge of the processes of this machine.
pub trait Program: Send + Sync {
    /// Compares sources of the store, each a name or an id, or one of its conditions behind an @.
    /// Gives the page, or why there is no verdict.
    ///
    /// # Errors
    /// When a source is not in the store, or the sides cannot be compared.
    fn compare(&self, store: &Store, sides: [&[String]; 2], site: &Site) -> Result<Markup, String>;

    /// Verdicts on the conditions of an import.
    fn verdicts(&self, import: &Import) -> Option<Verdicts>;

    /// Writes the workbook of a run.
    ///
    /// # Errors
    /// When `out` cannot be written.
    fn workbook(&self, run: &Run, out: &mut dyn Write) -> io::Result<()>;

    /// True if the process that makes a run is alive.
    fn is_alive(&self, owner: &Owner) -> bool;
}

/// Parts of a server.
pub struct ServedParts {
    /// Opens the store.
    pub open: Box<Open>,
    /// The store as people know it, without a password.
    pub source: String,
    /// The address that is listened on.
    pub address: SocketAddr,
    /// Further names by which the server may be called.
    pub names: Vec<String>,
    /// Token of scripts; `None`: whoever reaches the server may read the data.
    pub token: Option<Token>,
    /// Code of the program.
    pub program: Box<dyn Program>,
}

/// State of a server that its answers are made from.
pub struct Served {
    /// Connections to the store.
    pub(crate) pool: Arc<Pool>,
    /// The store as people know it.
    pub(crate) source: String,
    /// Names by which the server may be called.
    pub(crate) names: Names,
    /// Token of scripts.
    pub(crate) token: Option<Token>,
    /// Code of the program.
    pub(crate) program: Box<dyn Program>,
    /// Memory for answers.
    pub(crate) room: AnswerRoom,
    /// Answers so far.
    pub(crate) counts: Counts,
    /// The style sheet, and its tag without quotes.
    pub(crate) style: (String, String),
    /// Tells this build of the program from others: it renders the same differently.
    pub(crate) build: String,
}

impl Served {
    /// A server that has not been asked anything yet.
    pub fn new(parts: ServedParts) -> Self {
        let style = style_sheet();
        let tag = tag_of([style.as_bytes()]).replace('"', "");
        Self {
            pool: Pool::new(parts.open),
            source: parts.source,
            names: Names::of(parts.address, &parts.names),
            token: parts.token,
            program: parts.program,
            room: AnswerRoom::default(),
            counts: Counts::default(),
            style: (style, tag),
            build: this_build(),
        }
    }
}

/// Size and time of the program, which every build changes.
fn this_build() -> String {
    let program = std::env::current_exe().and_then(std::fs::metadata);
    let told = program.and_then(|file| Ok(format!("{} {:?}", file.len(), file.modified()?)));
    told.unwrap_or_default()
}
