//! State of a server: its store, its access rules, and the code of its program.

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

/// Functions that the serving program provides: comparisons, and the state of local processes.
pub trait Program: Send + Sync {
    /// Compares sources of the store, each a name or an id, optionally with a condition after an
    /// `@`. Returns the rendered page.
    ///
    /// # Errors
    /// The reason why there is no verdict: a source is not in the store, or the sides cannot be
    /// compared.
    fn compare(&self, store: &Store, sides: [&[String]; 2], site: &Site) -> Result<Markup, String>;

    /// Returns the verdicts on the conditions of an import.
    fn verdicts(&self, import: &Import) -> Option<Verdicts>;

    /// Writes the workbook of a run.
    ///
    /// # Errors
    /// If `out` cannot be written.
    fn workbook(&self, run: &Run, out: &mut dyn Write) -> io::Result<()>;

    /// Returns true if the process that makes a run is alive.
    fn is_alive(&self, owner: &Owner) -> bool;
}

/// Parts from which a server is made.
pub struct ServedParts {
    /// Opens the store.
    pub open: Box<Open>,
    /// Display name of the store, without a password.
    pub source: String,
    /// Address on which the server listens.
    pub address: SocketAddr,
    /// Additional host names under which the server answers.
    pub names: Vec<String>,
    /// Token of scripts; `None` lets every client read the data.
    pub token: Option<Token>,
    /// Functions of the serving program.
    pub program: Box<dyn Program>,
}

/// State shared by all requests.
pub struct Served {
    /// Connections to the store.
    pub(crate) pool: Arc<Pool>,
    /// Display name of the store, without a password.
    pub(crate) source: String,
    /// Host names under which the server answers.
    pub(crate) names: Names,
    /// Token of scripts.
    pub(crate) token: Option<Token>,
    /// Functions of the serving program.
    pub(crate) program: Box<dyn Program>,
    /// Memory for answers being sent.
    pub(crate) room: AnswerRoom,
    /// Numbers of answers.
    pub(crate) counts: Counts,
    /// The style sheet, and its tag without quotes.
    pub(crate) style: (String, String),
    /// Identifies this build of the program: another build may render the same data differently.
    pub(crate) build: String,
}

impl Served {
    /// Returns a server that has not answered any request yet.
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

/// Returns the size and the modification time of the executable, which change with every build.
fn this_build() -> String {
    let program = std::env::current_exe().and_then(std::fs::metadata);
    let told = program.and_then(|file| Ok(format!("{} {:?}", file.len(), file.modified()?)));
    told.unwrap_or_default()
}
