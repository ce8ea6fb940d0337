//! Private PostgreSQL server for tests.

use crate::command::{Scratch, Unavailable, command, run, signal_to, text};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// Folder in which Debian has a folder of programs per version.
const VERSIONS: &str = "/usr/lib/postgresql";
/// User of the server when the tests run as root, which PostgreSQL refuses.
const NOBODY: u32 = 65_534;
const PATIENCE: Duration = Duration::from_secs(60);

/// Owner of all databases, with all rights.
pub const OWNER: &str = "assay";
/// The owner's password over TCP; the socket needs none.
pub const PASSWORD: &str = "s3cret/@:%";

/// Running server in a private folder, with a socket there and a port on 127.0.0.1. It stops when
/// dropped.
#[derive(Debug)]
pub struct Postgres {
    folder: Scratch,
    programs: PathBuf,
    port: u16,
    /// Commits survive a power cut, as on a server in production.
    is_durable: bool,
    server: Mutex<Option<Child>>,
    databases: AtomicU32,
}

/// Server that the tests of this process share.
static SHARED: Mutex<Weak<Postgres>> = Mutex::new(Weak::new());

impl Postgres {
    /// Returns the server that the tests of this process share. It stops with the last user.
    ///
    /// # Errors
    /// When PostgreSQL is not installed or does not start.
    pub fn shared() -> Result<Arc<Self>, Unavailable> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = shared.upgrade() {
            return Ok(running);
        }
        let started = Arc::new(Self::start()?);
        *shared = Arc::downgrade(&started);
        Ok(started)
    }

    /// Starts a server for one test.
    ///
    /// # Errors
    /// When PostgreSQL is not installed or does not start.
    pub fn start() -> Result<Self, Unavailable> {
        let server = Self::initialized()?;
        server.go_on()?;
        Ok(server)
    }

    /// Starts a server that syncs its disk as one in production does, for measurements.
    ///
    /// # Errors
    /// When PostgreSQL is not installed or does not start.
    pub fn start_durable() -> Result<Self, Unavailable> {
        let mut server = Self::initialized()?;
        server.is_durable = true;
        server.go_on()?;
        Ok(server)
    }

    /// Starts a server for one test that accepts only encrypted TCP connections, as `localhost`.
    /// Its self-signed certificate is [`Self::certificate`].
    ///
    /// # Errors
    /// When PostgreSQL or openssl is not installed or does not start.
    pub fn start_encrypted() -> Result<Self, Unavailable> {
        let server = Self::initialized()?;
        let (certificate, key) = (server.certificate(), server.folder.join("server.key"));
        let names = "subjectAltName=DNS:localhost";
        let mut words = vec!["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes"];
        words.extend(["-days", "2", "-subj", "/CN=localhost", "-addext", names]);
        words.extend(["-keyout", text(&key), "-out", text(&certificate)]);
        run(&words)?;
        let rules = "local all all trust\nhostssl all all all scram-sha-256\n";
        let configured = give_away(&key)
            .and_then(|()| fs::write(server.data().join("pg_hba.conf"), rules))
            .and_then(|()| {
                let (certificate, key) = (text(&certificate), text(&key));
                let more =
                    format!("ssl = on\nssl_cert_file = '{certificate}'\nssl_key_file = '{key}'\n");
                fs::write(server.data().join("postgresql.auto.conf"), more)
            });
        configured.map_err(unavailable)?;
        server.go_on()?;
        Ok(server)
    }

    /// Path of the certificate of an encrypted server.
    #[must_use]
    pub fn certificate(&self) -> PathBuf {
        self.folder.join("server.crt")
    }

    fn initialized() -> Result<Self, Unavailable> {
        let programs = programs().ok_or_else(|| unavailable("postgresql is not installed"))?;
        let folder = Scratch::new()?;
        give_away(folder.path()).map_err(unavailable)?;
        let server = Self {
            port: free_port().map_err(unavailable)?,
            folder,
            programs,
            is_durable: false,
            server: Mutex::new(None),
            databases: AtomicU32::new(0),
        };
        server.initialize()?;
        Ok(server)
    }

    /// Folder of its data, its socket and its log.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Port on 127.0.0.1 that the server listens on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Makes an empty database and returns its name.
    ///
    /// # Errors
    /// When the server refuses.
    pub fn database(&self) -> Result<String, Unavailable> {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        let name = format!("lab{number}");
        self.sql("postgres", &format!("CREATE DATABASE {name}"))?;
        Ok(name)
    }

    /// URL of a database over the socket, for its owner.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        self.url_of(OWNER, database)
    }

    /// URL of a database over the socket, for a user.
    #[must_use]
    pub fn url_of(&self, user: &str, database: &str) -> String {
        let folder = self.folder.path().display();
        format!(
            "postgres://{user}@/{database}?host={folder}&port={}",
            self.port
        )
    }

    /// URL of a database over TCP, where the server requires a password; the URL holds none.
    #[must_use]
    pub fn tcp_url(&self, database: &str) -> String {
        format!("postgres://{OWNER}@127.0.0.1:{}/{database}", self.port)
    }

    /// Runs statements as the owner and returns the output of psql.
    ///
    /// # Errors
    /// When a statement fails.
    pub fn sql(&self, database: &str, sql: &str) -> Result<String, Unavailable> {
        let psql = self.programs.join("psql");
        let url = self.url(database);
        let mut words = vec![text(&psql), "--no-psqlrc", "--quiet", "--tuples-only"];
        words.extend([
            "--no-align",
            "--set=ON_ERROR_STOP=1",
            "--command",
            sql,
            &url,
        ]);
        run(&words)
    }

    /// Stops the server at once, as a crash would.
    pub fn halt(&self) {
        let mut server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(mut child) = server.take() {
            // Immediate shutdown: it also ends the server's child processes.
            signal_to(child.id(), rustix::process::Signal::QUIT);
            let _ = child.wait();
        }
    }

    /// Restarts the server with the same data and port.
    ///
    /// # Errors
    /// When it does not start.
    pub fn go_on(&self) -> Result<(), Unavailable> {
        let mut start = self.program("postgres");
        start
            .arg("-D")
            .arg(self.data())
            .arg("-k")
            .arg(self.folder.path())
            .args(["-p", &self.port.to_string()])
            .args(["-c", "listen_addresses=127.0.0.1"])
            .args(["-c", "max_connections=200"])
            .stdin(Stdio::null());
        if !self.is_durable {
            start.args(["-c", "fsync=off"]);
        }
        let log = fs::File::options()
            .append(true)
            .create(true)
            .open(self.folder.path().join("log"));
        let log = log.map_err(unavailable)?;
        start.stderr(Stdio::from(log)).stdout(Stdio::null());
        let child = start.spawn();
        let child = child.map_err(unavailable)?;
        *self.server.lock().unwrap_or_else(PoisonError::into_inner) = Some(child);
        let begun = Instant::now();
        while let Err(error) = self.sql("postgres", "SELECT 1") {
            if begun.elapsed() > PATIENCE {
                return Err(error);
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Makes the data folder. All users may connect over the socket, and with a password over TCP.
    fn initialize(&self) -> Result<(), Unavailable> {
        let secret = self.folder.path().join("password");
        let written = fs::write(&secret, PASSWORD).and_then(|()| give_away(&secret));
        written.map_err(unavailable)?;
        let mut make = self.program("initdb");
        make.arg("--pgdata")
            .arg(self.data())
            .args(["--username", OWNER, "--encoding=UTF8", "--locale=C"])
            .args([
                "--auth-local=trust",
                "--auth-host=scram-sha-256",
                "--no-sync",
            ])
            .arg("--pwfile")
            .arg(&secret);
        let made = make.output().map_err(unavailable)?;
        match made.status.success() {
            true => Ok(()),
            false => Err(unavailable(String::from_utf8_lossy(&made.stderr))),
        }
    }

    fn program(&self, name: &str) -> Command {
        let mut program = command(self.programs.join(name));
        program.current_dir(self.folder.path());
        if rustix::process::geteuid().is_root() {
            program.uid(NOBODY).gid(NOBODY);
        }
        program
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.halt();
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn unavailable(why: impl ToString) -> Unavailable {
    Unavailable(why.to_string())
}

/// Folder of the newest version's programs.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir(VERSIONS).ok()?.filter_map(Result::ok);
    let version = |path: &PathBuf| -> Option<u32> { path.file_name()?.to_str()?.parse().ok() };
    let newest = versions
        .map(|entry| entry.path())
        .filter(|path| path.join("bin/postgres").exists())
        .max_by_key(version)?;
    Some(newest.join("bin"))
}

/// Returns a free port. If another program takes it first, the server does not start.
fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// Changes a file's owner to the user of the server. Root, the user of the tests, can still read
/// it.
fn give_away(path: &Path) -> std::io::Result<()> {
    if rustix::process::geteuid().is_root() {
        chown(path, Some(NOBODY), Some(NOBODY))?;
        let mode = if path.is_dir() { 0o755 } else { 0o600 };
        fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    }
    Ok(())
}
