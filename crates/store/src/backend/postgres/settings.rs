//! Settings of a connection, from the URL and the environment variables of psql.

use super::errors::{Problem, chain};
use super::passfile::{self, Place};
use super::tls::{self, Protection};
use crate::backend::Access;
use crate::error::StoreError;
use crate::location::{Location, Server, decoded};
use postgres::config::{Host, SslMode};
use postgres::{Client, Config, NoTls};
use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Time limit for connecting to each address of the server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time after which sent but unacknowledged data ends the connection.
const LOST_AFTER: Duration = Duration::from_secs(60);

/// Settings of the session. An endless statement, an unreleased lock or the open transaction of a
/// disconnected client must not block other users.
const SESSION: &str = "SET lock_timeout = '30s'; \
    SET idle_in_transaction_session_timeout = '5min'; SET client_min_messages = 'warning'";
const STATEMENT_TIMEOUT: &str = "SET statement_timeout = '2min'";
const READ_ONLY: &str = "SET default_transaction_read_only = on";

/// Socket directory of PostgreSQL packages of distributions.
const SOCKETS: &str = "/var/run/postgresql";

/// Settings of a connection.
pub struct Settings {
    config: Config,
    mode: Protection,
    roots: Option<PathBuf>,
    session: Vec<&'static str>,
    /// Password file that exists but was not used.
    pub ignored: Option<PathBuf>,
}

impl Settings {
    /// Reads a URL and the environment.
    pub fn of(server: &Server, access: Access) -> Result<Self, StoreError> {
        let wrong = |reason: String| StoreError::BadAddress {
            store: Location::Server(server.clone()),
            reason,
        };
        let (url, own) = split(server.url());
        let parsed = url.parse::<Config>();
        let mut config = parsed.map_err(|error| wrong(chain(&error)))?;
        fill(&mut config).map_err(wrong)?;
        let roots = own.roots.or_else(|| variable("PGSSLROOTCERT"));
        let roots = roots.map(PathBuf::from);
        let mode = own.mode.or_else(|| variable("PGSSLMODE"));
        let mode = Protection::parse(mode.as_deref(), roots.is_some()).map_err(wrong)?;
        config.ssl_mode(match mode {
            Protection::Off => SslMode::Disable,
            Protection::IfOffered => SslMode::Prefer,
            _ => SslMode::Require,
        });
        let ignored = fill_password(&mut config, server);
        let mut session = vec![SESSION];
        let options = config.get_options().unwrap_or_default();
        if !options.contains("statement_timeout") {
            session.push(STATEMENT_TIMEOUT);
        }
        if access == Access::Read {
            session.push(READ_ONLY);
        }
        Ok(Self {
            config,
            mode,
            roots,
            session,
            ignored,
        })
    }

    /// Connects.
    pub fn connect(&self) -> Result<Client, Problem> {
        let is_local = matches!(self.config.get_hosts().first(), Some(Host::Unix(_)));
        let mut client = match self.mode {
            Protection::Off => self.config.connect(NoTls)?,
            // A Unix socket does not leave the machine: no encryption is needed.
            _ if is_local => {
                let mut config = self.config.clone();
                config.ssl_mode(SslMode::Disable).connect(NoTls)?
            }
            mode => {
                let connector = tls::connector(mode, self.roots.as_deref());
                self.config.connect(connector.map_err(Problem::Tls)?)?
            }
        };
        client.batch_execute(&self.session.join("; "))?;
        Ok(client)
    }
}

/// URL parameters that the client library does not support, or only with some of their values.
#[derive(Default)]
struct Own {
    mode: Option<String>,
    roots: Option<String>,
}

fn split(url: &str) -> (String, Own) {
    let (place, parameters) = url.split_once('?').unwrap_or((url, ""));
    let (mut rest, mut own) = (Vec::new(), Own::default());
    for parameter in parameters.split('&').filter(|text| !text.is_empty()) {
        match parameter.split_once('=') {
            Some(("sslmode", mode)) => own.mode = Some(decoded(mode)),
            Some(("sslrootcert", path)) => own.roots = Some(decoded(path)),
            _ => rest.push(parameter),
        }
    }
    match rest.is_empty() {
        true => (place.to_owned(), own),
        false => (format!("{place}?{}", rest.join("&")), own),
    }
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// Completes the settings from the variables of libpq, then from its defaults.
fn fill(config: &mut Config) -> Result<(), String> {
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        let sockets = Path::new(SOCKETS).is_dir();
        let usual = if sockets { SOCKETS } else { "localhost" };
        config.host(variable("PGHOST").as_deref().unwrap_or(usual));
    }
    if config.get_ports().is_empty()
        && let Some(port) = variable("PGPORT")
    {
        let number = port.parse();
        config.port(number.map_err(|_| format!("PGPORT is '{port}', not a port"))?);
    }
    if config.get_user().is_none()
        && let Some(user) = ["PGUSER", "USER", "LOGNAME"].into_iter().find_map(variable)
    {
        config.user(&user);
    }
    if config.get_dbname().is_none()
        && let Some(name) = variable("PGDATABASE").or_else(|| config.get_user().map(str::to_owned))
    {
        config.dbname(&name);
    }
    if config.get_options().is_none()
        && let Some(options) = variable("PGOPTIONS")
    {
        config.options(&options);
    }
    if config.get_application_name().is_none() {
        config.application_name("assay");
    }
    if config.get_connect_timeout().is_none() {
        let seconds = variable("PGCONNECT_TIMEOUT").and_then(|text| text.parse().ok());
        config.connect_timeout(seconds.map_or(CONNECT_TIMEOUT, Duration::from_secs));
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(LOST_AFTER);
        config.keepalives_idle(Duration::from_secs(30));
    }
    Ok(())
}

/// Sets the password from the URL, the environment or the password file. Returns the path of an
/// ignored password file.
fn fill_password(config: &mut Config, server: &Server) -> Option<PathBuf> {
    let given = server.password().map(str::to_owned);
    if let Some(password) = given.or_else(|| variable("PGPASSWORD")) {
        config.password(password);
        return None;
    }
    let file = match variable("PGPASSFILE") {
        Some(file) => PathBuf::from(file),
        None => PathBuf::from(variable("HOME")?).join(".pgpass"),
    };
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(host)) => host.clone(),
        Some(Host::Unix(path)) if path != Path::new(SOCKETS) => path.display().to_string(),
        _ => "localhost".to_owned(),
    };
    let place = Place {
        host: &host,
        port: config.get_ports().first().copied().unwrap_or(5432),
        database: config.get_dbname().unwrap_or_default(),
        user: config.get_user().unwrap_or_default(),
    };
    match passfile::find(&file, &place) {
        Ok(password) => {
            password.map(|password| config.password(password));
            None
        }
        Err(passfile::Exposed) => Some(file),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_tls_are_not_the_clients() {
        let (url, own) =
            split("postgres://a@b/c?sslmode=verify-full&connect_timeout=3&sslrootcert=%2Fca");
        assert_eq!(url, "postgres://a@b/c?connect_timeout=3");
        assert_eq!(own.mode.as_deref(), Some("verify-full"));
        assert_eq!(own.roots.as_deref(), Some("/ca"));
        assert_eq!(split("postgres://b").0, "postgres://b");
    }
}
