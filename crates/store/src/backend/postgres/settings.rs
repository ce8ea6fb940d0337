//! Settings of a connection, from the URL and the environment variables of psql, and its
//! encryption, with the meaning that PostgreSQL's clients give to `sslmode`
//! (<https://www.postgresql.org/docs/current/libpq-ssl.html#LIBPQ-SSL-PROTECTION>).

use crate::backend::Access;
use crate::error::StoreError;
use crate::location::{Location, Server, decoded};
use postgres::config::{Host, SslMode};
use postgres::error::SqlState;
use postgres::{Client, Config, NoTls};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use std::error::Error;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{env, io};
use tokio_postgres_rustls::MakeRustlsConnect;

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
                let connector = connector(mode, self.roots.as_deref());
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
///
/// The file is that of PostgreSQL's clients:
/// <https://www.postgresql.org/docs/current/libpq-pgpass.html>.
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
    match find(&file, &place) {
        Ok(password) => {
            password.map(|password| config.password(password));
            None
        }
        Err(Exposed) => Some(file),
    }
}

/// Connection whose password is looked up.
pub struct Place<'a> {
    /// Host name; `localhost` for the default socket.
    pub host: &'a str,
    /// Port.
    pub port: u16,
    /// Name of the database.
    pub database: &'a str,
    /// Name of the user.
    pub user: &'a str,
}

/// The password file is not used because other users can read it.
#[derive(Debug, PartialEq, Eq)]
pub struct Exposed;

/// Returns the password of the first matching line; `None` if the file cannot be read.
pub fn find(path: &Path, place: &Place<'_>) -> Result<Option<String>, Exposed> {
    let Ok(mut file) = File::open(path) else {
        return Ok(None);
    };
    let Some(metadata) = file.metadata().ok().filter(|there| there.is_file()) else {
        return Ok(None);
    };
    if metadata.permissions().mode() & 0o077 != 0 {
        return Err(Exposed);
    }
    let mut text = String::new();
    if file.read_to_string(&mut text).is_err() {
        return Ok(None);
    }
    Ok(text.lines().find_map(|line| password(line, place)))
}

/// Returns the password of a line if it matches.
fn password(line: &str, place: &Place<'_>) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let port = place.port.to_string();
    let mut rest = line;
    for wanted in [place.host, &port, place.database, place.user] {
        let (field, after) = field(rest)?;
        if field != "*" && unescaped(field) != wanted {
            return None;
        }
        rest = after;
    }
    // Further fields are ignored.
    let password = field(rest).map_or(rest, |(field, _)| field);
    Some(unescaped(password))
}

/// Splits at the first colon that has no backslash before it.
fn field(text: &str) -> Option<(&str, &str)> {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices() {
        match letter {
            ':' if !is_escaped => return Some((text.get(..at)?, text.get(at + 1..)?)),
            '\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    None
}

fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        plain.extend(match letter {
            '\\' => letters.next(),
            letter => Some(letter),
        });
    }
    plain
}

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

/// Value of `sslmode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// `disable`.
    Off,
    /// `prefer`: encrypted if the server offers it; does not detect an impostor.
    IfOffered,
    /// `require`: encrypted; the server's certificate is not checked.
    Always,
    /// `verify-ca`: encrypted, and the certificate is signed by a trusted authority.
    Signed,
    /// `verify-full`: like `verify-ca`, and the certificate is valid for the host name.
    Named,
}

impl Protection {
    /// Parses a value; the default is `prefer`. `require` with its own root certificates checks
    /// them.
    pub fn parse(text: Option<&str>, has_roots: bool) -> Result<Self, String> {
        Ok(match text {
            None | Some("prefer" | "allow") => Self::IfOffered,
            Some("disable") => Self::Off,
            Some("require") if has_roots => Self::Signed,
            Some("require") => Self::Always,
            Some("verify-ca") => Self::Signed,
            Some("verify-full") => Self::Named,
            Some(other) => {
                return Err(format!(
                    "sslmode is '{other}', not disable, prefer, require, verify-ca or verify-full"
                ));
            }
        })
    }
}

/// Returns a TLS connector for the mode.
pub fn connector(mode: Protection, roots: Option<&Path>) -> Result<MakeRustlsConnect, String> {
    let provider = Arc::new(ring::default_provider());
    let checker = match mode {
        Protection::Signed | Protection::Named => Some(Checker::new(roots, Arc::clone(&provider))?),
        Protection::Off | Protection::IfOffered | Protection::Always => None,
    };
    let verifier = Verifier {
        checker,
        checks_name: mode == Protection::Named,
        provider: Arc::clone(&provider),
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

/// Trusted certificates and the verifier that uses them.
#[derive(Debug)]
struct Checker {
    verifier: Arc<WebPkiServerVerifier>,
    /// Certificates from a file. The server's own certificate may be one of them.
    named: Vec<CertificateDer<'static>>,
}

impl Checker {
    /// Loads the certificates of a file, or the system's.
    fn new(roots: Option<&Path>, provider: Arc<CryptoProvider>) -> Result<Self, String> {
        let mut named = Vec::new();
        let mut store = RootCertStore::empty();
        match roots {
            Some(path) if path != Path::new("system") => {
                let wrong = |error: &dyn std::fmt::Display| {
                    format!("cannot read certificates of {}: {error}", path.display())
                };
                let all = CertificateDer::pem_file_iter(path).map_err(|error| wrong(&error))?;
                for certificate in all {
                    let certificate = certificate.map_err(|error| wrong(&error))?;
                    named.push(certificate.clone());
                    store.add(certificate).map_err(|error| wrong(&error))?;
                }
            }
            _ => {
                let system = rustls_native_certs::load_native_certs();
                store.add_parsable_certificates(system.certs);
            }
        }
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider);
        let verifier = verifier.build().map_err(|error| {
            format!("no certificates to check it with ({error}): name a file with sslrootcert")
        })?;
        Ok(Self { verifier, named })
    }
}

/// Certificate verifier: checks what the mode requires, and always the signatures of the handshake.
#[derive(Debug)]
struct Verifier {
    checker: Option<Checker>,
    checks_name: bool,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(checker) = &self.checker else {
            return Ok(ServerCertVerified::assertion());
        };
        if checker.named.iter().any(|named| named == end) {
            // A self-signed certificate is often marked as an authority, which the verifier refuses
            // as a server's.
            if self.checks_name {
                verify_server_name(&ParsedCertificate::try_from(end)?, name)?;
            }
            return Ok(ServerCertVerified::assertion());
        }
        let verifier = &checker.verifier;
        match verifier.verify_server_cert(end, between, name, ocsp, now) {
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.checks_name => Ok(ServerCertVerified::assertion()),
            checked => checked,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let known = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::fs::Permissions;

    #[test]
    fn parameters_of_tls_are_not_the_clients() {
        let (url, own) =
            split("postgres://a@b/c?sslmode=verify-full&connect_timeout=3&sslrootcert=%2Fca");
        assert_eq!(url, "postgres://a@b/c?connect_timeout=3");
        assert_eq!(own.mode.as_deref(), Some("verify-full"));
        assert_eq!(own.roots.as_deref(), Some("/ca"));
        assert_eq!(split("postgres://b").0, "postgres://b");
    }

    const PLACE: Place<'static> = Place {
        host: "db",
        port: 5432,
        database: "lab",
        user: "ann",
    };

    #[test]
    fn the_first_line_that_fits_has_the_password() {
        for (line, found) in [
            ("db:5432:lab:ann:secret", Some("secret")),
            ("*:*:*:*:any", Some("any")),
            (r"db:5432:lab:ann:a\:b\\c", Some(r"a:b\c")),
            ("db:5432:lab:ann:secret:more", Some("secret")),
            ("db:5432:lab:ann:", Some("")),
            ("db:5433:lab:ann:secret", None),
            ("#db:5432:lab:ann:secret", None),
            (r"d\b:5432:lab:ann:x", Some("x")),
            ("db:5432:lab", None),
            ("", None),
        ] {
            assert_eq!(password(line, &PLACE).as_deref(), found, "{line}");
        }
    }

    #[test]
    fn a_file_that_others_can_read_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pgpass");
        assert_eq!(find(&path, &PLACE), Ok(None));
        fs::write(&path, "other:*:*:*:no\ndb:*:*:*:one\n*:*:*:*:two\n").unwrap();
        for (mode, found) in [
            (0o600, Ok(Some("one".to_owned()))),
            (0o640, Err(Exposed)),
            (0o604, Err(Exposed)),
        ] {
            fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            assert_eq!(find(&path, &PLACE), found, "{mode:o}");
        }
    }
}
