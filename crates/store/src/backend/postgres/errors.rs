//! Conversion of PostgreSQL errors to errors of this crate.

use crate::error::StoreError;
use crate::location::Location;
use postgres::error::SqlState;
use std::error::Error;
use std::io;
use std::path::Path;

/// Converts the errors of one store.
#[derive(Clone, Copy)]
pub struct Failures<'a> {
    store: &'a Location,
    /// Password file that exists but was not used.
    ignored: Option<&'a Path>,
}

/// Reason why there is no connection.
pub enum Problem {
    /// Error of the client or the server.
    Postgres(postgres::Error),
    /// Certificates cannot be read.
    Tls(String),
}

impl From<postgres::Error> for Problem {
    fn from(error: postgres::Error) -> Self {
        Self::Postgres(error)
    }
}

/// Formats an error and its causes in one line.
pub fn chain(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_words = cause.to_string();
        if !words.contains(&cause_words) {
            words = format!("{words}: {cause_words}");
        }
        source = cause.source();
    }
    words.replace('\n', " ")
}

/// Returns the message of the server if there is one, otherwise that of the client.
pub fn words(error: &postgres::Error) -> String {
    let Some(said) = error.as_db_error() else {
        return chain(error);
    };
    let detail = said
        .detail()
        .map_or_else(String::new, |detail| format!(" ({detail})"));
    format!("{}{detail}", said.message()).replace('\n', " ")
}

/// Returns true if the connection was lost.
pub fn is_lost(error: &postgres::Error) -> bool {
    if error.is_closed() {
        return true;
    }
    if let Some(state) = error.code() {
        let ended = [
            SqlState::ADMIN_SHUTDOWN,
            SqlState::CRASH_SHUTDOWN,
            SqlState::CANNOT_CONNECT_NOW,
            SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
        ];
        // Class 08: connection exceptions.
        return ended.contains(state) || state.code().starts_with("08");
    }
    error
        .source()
        .is_some_and(|source| source.is::<io::Error>())
}

impl<'a> Failures<'a> {
    /// Returns a converter for this store; `ignored` is a password file that was not used.
    pub fn new(store: &'a Location, ignored: Option<&'a Path>) -> Self {
        Self { store, ignored }
    }

    /// Returns the store of the errors.
    pub fn store(&self) -> &'a Location {
        self.store
    }

    /// Converts an error of connecting.
    pub fn connecting(&self, problem: &Problem) -> StoreError {
        let store = self.store.clone();
        let error = match problem {
            Problem::Postgres(error) => error,
            Problem::Tls(reason) => {
                return StoreError::Insecure {
                    store,
                    reason: reason.clone(),
                };
            }
        };
        let reason = words(error);
        let Some(state) = error.code() else {
            return self.unconnected(error, reason);
        };
        if *state == SqlState::INVALID_CATALOG_NAME {
            return StoreError::NoDatabase { store, reason };
        }
        // The server has no error code for its encryption rules, only a message.
        if reason.contains("no encryption") {
            let reason = format!("{reason}; add sslmode=require to the address");
            return StoreError::Insecure { store, reason };
        }
        // Class 28: invalid authorization.
        if state.code().starts_with("28") || *state == SqlState::INSUFFICIENT_PRIVILEGE {
            return self.denied(&reason);
        }
        // The server does not know or refuses a parameter of the address, such as `options`.
        let parameter = [
            SqlState::INVALID_PARAMETER_VALUE,
            SqlState::UNDEFINED_OBJECT,
            SqlState::SYNTAX_ERROR,
        ];
        if parameter.contains(state) {
            return StoreError::BadAddress { store, reason };
        }
        StoreError::Unreachable { store, reason }
    }

    /// Converts an error with which the client gave up connecting.
    fn unconnected(&self, error: &postgres::Error, reason: String) -> StoreError {
        let store = self.store.clone();
        // The client's error kinds are private; their messages are not.
        let kind = error.to_string();
        match kind.as_str() {
            "error performing TLS handshake" => StoreError::Insecure { store, reason },
            "authentication error" | "invalid configuration" => self.denied(&reason),
            _ => StoreError::Unreachable { store, reason },
        }
    }

    fn denied(&self, reason: &str) -> StoreError {
        let ignored = self.ignored.map_or_else(String::new, |file| {
            let file = file.display();
            format!("; {file} is not used since others can read it (chmod 600 {file})")
        });
        StoreError::Denied {
            store: self.store.clone(),
            reason: format!("{reason}{ignored}"),
        }
    }

    /// Converts the error of a statement.
    pub fn failed(&self, error: &postgres::Error) -> StoreError {
        let (store, reason) = (self.store.clone(), words(error));
        if is_lost(error) {
            return StoreError::Lost { store, reason };
        }
        let Some(state) = error.code() else {
            return StoreError::Failed { store, reason };
        };
        match *state {
            SqlState::INSUFFICIENT_PRIVILEGE | SqlState::READ_ONLY_SQL_TRANSACTION => {
                StoreError::Forbidden { store, reason }
            }
            SqlState::LOCK_NOT_AVAILABLE | SqlState::T_R_DEADLOCK_DETECTED => {
                StoreError::Locked { store }
            }
            SqlState::DISK_FULL => StoreError::Full { store },
            SqlState::DUPLICATE_TABLE | SqlState::DUPLICATE_OBJECT => StoreError::Foreign { store },
            _ => StoreError::Failed { store, reason },
        }
    }

    /// Converts an error of sending data.
    pub fn interrupted(&self, error: &io::Error) -> StoreError {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
        match inner {
            Some(inner) => self.failed(inner),
            None => StoreError::Lost {
                store: self.store.clone(),
                reason: error.to_string(),
            },
        }
    }
}
