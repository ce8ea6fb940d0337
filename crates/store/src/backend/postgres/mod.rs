//! A store in a PostgreSQL database.

mod ask;
mod errors;
mod migrate;
mod passfile;
mod settings;
mod statements;
mod tls;
mod types;

use super::{Access, Backend, Dialect, Scope, Statements, Value};
use crate::backend::Question;
use crate::error::StoreError;
use crate::location::{Location, Server};
use errors::Failures;
use postgres::Client;
use settings::Settings;
use statements::Open;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;

/// Open database. Reconnects if the connection was lost between two uses.
pub struct Postgres {
    location: Location,
    settings: Settings,
    link: RefCell<Option<Link>>,
}

/// Connection with its prepared statements.
struct Link {
    client: Client,
    prepared: HashMap<String, postgres::Statement>,
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Postgres").field(&self.location).finish()
    }
}

impl Postgres {
    /// Connects. [`Access::Create`] creates the tables; older ones are upgraded except with
    /// [`Access::Read`].
    pub fn open(server: &Server, access: Access) -> Result<Self, StoreError> {
        let location = Location::Server(server.clone());
        let settings = Settings::of(server, access)?;
        let opened = Self {
            link: RefCell::new(None),
            settings,
            location,
        };
        let mut link = opened.connect()?;
        migrate::migrate(&mut link.client, &opened.failures(), access)?;
        opened.link.replace(Some(link));
        Ok(opened)
    }

    fn failures(&self) -> Failures<'_> {
        Failures::new(&self.location, self.settings.ignored.as_deref())
    }

    fn connect(&self) -> Result<Link, StoreError> {
        let client = self.settings.connect();
        Ok(Link {
            client: client.map_err(|error| self.failures().connecting(&error))?,
            prepared: HashMap::new(),
        })
    }

    /// Returns the connection, or a new one if the client knows that it is closed.
    fn alive(&self, link: Option<Link>) -> Result<Link, StoreError> {
        match link {
            Some(link) if !link.client.is_closed() => Ok(link),
            _ => self.connect(),
        }
    }

    /// Begins a transaction. Reconnects if the server closed the connection since its last use,
    /// which only this first statement detects.
    fn begin(&self, link: &mut Link, sql: &str) -> Result<(), StoreError> {
        match link.client.batch_execute(sql) {
            Err(error) if errors::is_lost(&error) => {
                *link = self.connect()?;
                link.client.batch_execute(sql)
            }
            began => began,
        }
        .map_err(|error| self.failures().failed(&error))
    }

    fn transact(
        &self,
        link: &mut Link,
        begin: &str,
        work: &mut dyn FnMut(&mut dyn Statements) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.begin(link, begin)?;
        match work(&mut Open::new(link, self.failures())) {
            Ok(()) => {
                let committed = link.client.batch_execute("COMMIT");
                committed.map_err(|error| self.failures().failed(&error))
            }
            Err(error) => {
                // If this fails too, the connection is lost and the server rolls back.
                let _ = link.client.batch_execute("ROLLBACK");
                Err(error)
            }
        }
    }

    /// Runs statements outside of a transaction. The first is repeated on a new connection if the
    /// server closed this one since its last use.
    fn read(
        &self,
        link: &mut Link,
        work: &mut dyn FnMut(&mut dyn Statements) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let connect = || self.connect();
        work(&mut Open::renewable(link, self.failures(), &connect))
    }
}

impl Backend for Postgres {
    fn location(&self) -> &Location {
        &self.location
    }

    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn work(
        &self,
        mode: Scope,
        work: &mut dyn FnMut(&mut dyn Statements) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let Ok(mut held) = self.link.try_borrow_mut() else {
            return Err(StoreError::Failed {
                store: self.location.clone(),
                reason: "a statement was given while another was under way".to_owned(),
            });
        };
        let mut link = self.alive(held.take())?;
        let came = match mode {
            Scope::Read => self.read(&mut link, work),
            Scope::Snapshot => {
                let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
                self.transact(&mut link, begin, work)
            }
            Scope::Write => self.transact(&mut link, "BEGIN ISOLATION LEVEL READ COMMITTED", work),
        };
        *held = Some(link);
        came
    }

    /// Uses a separate connection, because a user's statement can change settings of the session.
    fn ask(
        &self,
        question: &Question<'_>,
        row: &mut dyn FnMut(Vec<Value>) -> Result<(), StoreError>,
    ) -> Result<Vec<String>, StoreError> {
        let mut link = self.connect()?;
        ask::ask(&mut link.client, self.failures(), question, row)
    }
}
