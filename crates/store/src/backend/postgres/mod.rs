//! A store in a PostgreSQL database.

mod errors;
mod migrate;
mod passfile;
mod settings;
mod statements;
mod tls;
mod types;

use super::{Access, Backend, Dialect, Scope, Statements};
use crate::error::StoreError;
use crate::location::{Location, Server};
use errors::Failures;
use postgres::Client;
use settings::Settings;
use statements::Open;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;

/// An open database. Its connection is made anew when it was lost between two uses.
pub struct Postgres {
    location: Location,
    settings: Settings,
    link: RefCell<Option<Link>>,
}

/// A connection and the statements that the server has prepared for it.
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
    /// Connects. With [`Access::Create`] the tables are made; older ones are brought to the
    /// newest format except with [`Access::Read`].
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

    /// A connection that was not closed as far as is known.
    fn alive(&self, link: Option<Link>) -> Result<Link, StoreError> {
        match link {
            Some(link) if !link.client.is_closed() => Ok(link),
            _ => self.connect(),
        }
    }

    /// Begins a transaction; on a new connection if the server closed this one since its last
    /// use, which shows only now.
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
                // If this fails too, the connection is lost, and the transaction with it.
                let _ = link.client.batch_execute("ROLLBACK");
                Err(error)
            }
        }
    }

    /// Statements that each stand for themselves; the first is repeated on a new connection if
    /// the server closed this one since its last use.
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
}
