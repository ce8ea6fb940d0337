//! Boards of a labgrid coordinator: acquired, reached by ssh, and always released.
//!
//! One Python process (`session.py`) holds all places of this process, through labgrid's own
//! library. It releases them when its input ends, which includes the case that this process is
//! killed. Places that remain held even then are in a journal (see [`release_stale`]).
//!
//! Only places that this process acquired are released, because the coordinator lets every user
//! release every place. A place from a journal must not have changed since it was recorded.

mod journal;

pub use journal::{Freed, release_stale};

use crate::ssh::SshAddress;
use crate::{
    AgentOrder, AgentSession, AgentThere, GivenUpAgent, Local, Ssh, Target, TargetError, WhenLost,
};
use assay_model::wire::Feature;
use journal::LeaseJournal;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{env, fmt};
use thiserror::Error;

/// Environment variable for the coordinator's address, as in labgrid's own client.
const COORDINATOR: &str = "LG_COORDINATOR";
/// Default address of the coordinator, as for labgrid's own client.
const DEFAULT_COORDINATOR: &str = "127.0.0.1:20408";
/// Version of the protocol between this program and `session.py`.
const VERSION: u32 = 1;
/// Time limit for an answer of the session, which waits for the coordinator, which waits for
/// exporters.
const PATIENCE: Duration = Duration::from_secs(300);
/// Bytes of an answer, at most: all places of a large lab.
const LONGEST: u64 = 64 << 20;

/// A session with a coordinator.
pub struct Lab {
    wire: Mutex<Wire>,
    journal: Mutex<LeaseJournal>,
}

/// A place as its coordinator knows it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct LabPlace {
    /// Name of the place.
    pub name: String,
    /// Tags of the place.
    pub tags: BTreeMap<String, String>,
    /// User who has acquired it; empty if it is free.
    pub acquired: String,
}

impl LabPlace {
    /// `true` if the place has all these tags; its name counts as one, as in a reservation.
    pub fn has(&self, tags: &BTreeMap<String, String>) -> bool {
        tags.iter().all(|(tag, value)| match self.tags.get(tag) {
            Some(own) => own == value,
            None => tag == "name" && *value == self.name,
        })
    }
}

/// Properties of an acquired place.
#[derive(Deserialize)]
struct Acquired {
    place: String,
    changed: f64,
    #[serde(default)]
    address: Option<String>,
    #[serde(default)]
    username: String,
    #[serde(default)]
    port: u16,
}

impl Lab {
    /// Opens a session with the coordinator that the environment names. Held places are recorded
    /// in a journal in `data`.
    ///
    /// # Errors
    /// If labgrid or the coordinator is not available, or the journal cannot be written.
    pub fn open(data: &Path) -> Result<Arc<Self>, LabError> {
        let coordinator = env::var(COORDINATOR).ok().filter(|name| !name.is_empty());
        let coordinator = coordinator.unwrap_or_else(|| DEFAULT_COORDINATOR.to_owned());
        let (wire, owner) = Wire::open(&coordinator)?;
        let journal = LeaseJournal::create(data, &coordinator, &owner)?;
        Ok(Arc::new(Self {
            wire: Mutex::new(wire),
            journal: Mutex::new(journal),
        }))
    }

    /// Returns all places.
    ///
    /// # Errors
    /// If the coordinator does not answer.
    pub fn places(&self) -> Result<Vec<LabPlace>, LabError> {
        #[derive(Deserialize)]
        struct Places {
            places: Vec<LabPlace>,
        }
        let places: Places = self.ask(&json!({"do": "places"}))?;
        Ok(places.places)
    }

    /// Acquires a place by its name or alias.
    ///
    /// # Errors
    /// [`LabError::Busy`] if others have acquired it; another error if the place does not exist or
    /// its board has no address.
    pub fn acquire(self: &Arc<Self>, place: &str) -> Result<Lease, LabError> {
        let look = self.ask::<Value>(&json!({"do": "look", "place": place}));
        look.map_err(|error| error.of_place(place))?;
        self.journal().acquiring(place)?;
        let acquired: Acquired = match self.ask(&json!({"do": "acquire", "place": place})) {
            Ok(acquired) => acquired,
            Err(error) => {
                // Without an answer, the place may be held nevertheless.
                if !matches!(error, LabError::Lost(_)) {
                    self.journal().released(place);
                }
                return Err(error.of_place(place));
            }
        };
        self.journal()
            .acquired(place, &acquired.place, acquired.changed);
        let found = address(
            acquired.address.as_deref(),
            &acquired.username,
            acquired.port,
        );
        match found {
            Ok(address) => Ok(Lease::new(Arc::clone(self), acquired.place, address)),
            Err(why) => {
                // A place that could not be released remains in the journal.
                let _ = self.release(&acquired.place);
                Err(LabError::Lost(why).of_place(&acquired.place))
            }
        }
    }

    /// Releases a place; `true` if it was held by this process all the time.
    fn release(&self, place: &str) -> Result<bool, LabError> {
        #[derive(Deserialize)]
        struct Released {
            kept: bool,
        }
        let released: Result<Released, _> = self.ask(&json!({"do": "release", "place": place}));
        let released = released.map_err(|error| error.of_place(place))?;
        self.journal().released(place);
        Ok(released.kept)
    }

    /// Reserves a place that has these tags.
    ///
    /// # Errors
    /// [`LabError::Unknown`] if no place has the tags, for which the coordinator would wait
    /// forever; another error if the coordinator rejects them.
    pub fn reserve(
        self: &Arc<Self>,
        tags: &BTreeMap<String, String>,
    ) -> Result<Reservation, LabError> {
        #[derive(Deserialize)]
        struct Reserved {
            token: String,
        }
        if !self.places()?.iter().any(|place| place.has(tags)) {
            return Err(LabError::Unknown("no place has these tags".to_owned()));
        }
        let reserved: Reserved = self.ask(&json!({"do": "reserve", "tags": tags}))?;
        Ok(Reservation::new(Arc::clone(self), tags, reserved.token))
    }

    fn journal(&self) -> MutexGuard<'_, LeaseJournal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask<T: DeserializeOwned>(&self, request: &Value) -> Result<T, LabError> {
        let mut wire = self.wire.lock().unwrap_or_else(PoisonError::into_inner);
        wire.ask(request)
    }
}

/// Returns the ssh address of a board, from its exporter's data.
fn address(address: Option<&str>, user: &str, port: u16) -> Result<SshAddress, String> {
    let host = address.ok_or("it has no NetworkService, so its board cannot be reached")?;
    let host = match host.contains(':') {
        true => format!("[{host}]"),
        false => host.to_owned(),
    };
    let user = (!user.is_empty()).then(|| format!("{user}@"));
    let port = (port != 0).then(|| format!(":{port}"));
    let text = format!(
        "ssh://{}{host}{}",
        user.unwrap_or_default(),
        port.unwrap_or_default()
    );
    let parsed = text.parse::<SshAddress>();
    parsed.map_err(|error| format!("its NetworkService cannot be used: {error}"))
}

/// The session's process and its output.
struct Wire {
    // Dropped before the session, which ends with its streams.
    lines: BufReader<Box<dyn Read + Send>>,
    session: AgentSession,
}

impl Wire {
    /// Starts a session; returns it with the name of the owner.
    fn open(coordinator: &str) -> Result<(Self, String), LabError> {
        #[derive(Deserialize)]
        struct Hello {
            version: u32,
            name: String,
        }
        let mut target = session(coordinator);
        let mut session = target
            .start()
            .map_err(|error| LabError::Missing(error.to_string()))?;
        let reader = std::mem::replace(&mut session.reader, Box::new(std::io::empty()));
        let lines = BufReader::new(reader);
        let mut wire = Self { lines, session };
        let hello: Hello = wire.receive().map_err(|error| error.at(coordinator))?;
        match hello.version == VERSION {
            true => Ok((wire, hello.name)),
            false => Err(LabError::Lost(
                "its session script is of another version of assay".to_owned(),
            )),
        }
    }

    fn ask<T: DeserializeOwned>(&mut self, request: &Value) -> Result<T, LabError> {
        let writer = self.session.writer.as_mut();
        let sent = writer.is_some_and(|writer| writeln!(writer, "{request}").is_ok());
        match sent {
            true => self.receive(),
            false => Err(LabError::Lost("its session has ended".to_owned())),
        }
    }

    fn receive<T: DeserializeOwned>(&mut self) -> Result<T, LabError> {
        let watchdog = self.session.must_answer_within(PATIENCE);
        let watchdog = watchdog.map_err(|error| LabError::Lost(error.to_string()))?;
        let mut line = String::new();
        // After an error or in the middle of a line, the text is not valid JSON, which is detected
        // below.
        let _ = (&mut self.lines).take(LONGEST).read_line(&mut line);
        if watchdog.has_expired() || line.is_empty() {
            return Err(LabError::Lost("its session does not answer".to_owned()));
        }
        let answer: Value = serde_json::from_str(&line).unwrap_or_default();
        if let Some(error) = LabError::said(&answer) {
            return Err(error);
        }
        serde_json::from_value(answer)
            .map_err(|error| LabError::Lost(format!("its session sent an invalid answer: {error}")))
    }
}

/// A place as a target. It is acquired when the agent is started for the first time.
pub struct Board {
    lab: Arc<Lab>,
    wanted: BoardFilter,
    lease: Option<Lease>,
    /// Connection to the board.
    ssh: Option<Ssh>,
    when_lost: WhenLost,
    tell: fn(&str),
    needs: Option<Feature>,
}

impl Board {
    /// Creates a target for the board, or for one of the boards, that the filter selects.
    pub fn new(lab: Arc<Lab>, wanted: BoardFilter) -> Self {
        Self {
            lab,
            wanted,
            lease: None,
            ssh: None,
            when_lost: WhenLost::Stop,
            tell: |_| {},
            needs: None,
        }
    }

    /// Sets the reaction to a lost link, as for a board that is reached by ssh; `tell` is called
    /// with messages for the user.
    #[must_use]
    pub fn when_lost(mut self, when_lost: WhenLost, tell: fn(&str)) -> Self {
        (self.when_lost, self.tell) = (when_lost, tell);
        self
    }

    /// Returns the connection to the board, which is acquired first if necessary.
    fn ssh(&mut self) -> Result<&mut Ssh, TargetError> {
        let lease = match self.lease.take() {
            Some(lease) => lease,
            None => self.wanted.get(&self.lab)?,
        };
        let address = self.lease.insert(lease).address();
        let ssh = self
            .ssh
            .get_or_insert_with(|| Ssh::new(address.clone()).when_lost(self.when_lost, self.tell));
        if let Some(feature) = self.needs {
            ssh.needs(feature);
        }
        Ok(ssh)
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        let Some(lease) = self.lease.take() else {
            return;
        };
        let name = lease.name();
        if let Err(trouble) = lease.release() {
            (self.tell)(&format!("{name}: {trouble}"));
        }
    }
}

impl Target for Board {
    fn name(&self) -> Option<String> {
        Some(match &self.lease {
            Some(lease) => lease.name(),
            None => self.wanted.to_string(),
        })
    }

    fn needs(&mut self, feature: Feature) {
        self.needs = Some(feature);
    }

    fn needed(&self) -> Option<Feature> {
        self.needs
    }

    fn start(&mut self) -> Result<AgentSession, TargetError> {
        self.ssh()?.start()
    }

    fn give_up_installed(&mut self) -> Option<GivenUpAgent> {
        self.ssh.as_mut()?.give_up_installed()
    }

    fn start_in_foreground(&mut self) -> Result<AgentSession, TargetError> {
        Err(TargetError::NotInForeground(self.wanted.to_string()))
    }

    fn agents(&mut self, order: AgentOrder) -> Result<Vec<AgentThere>, TargetError> {
        self.ssh()?.agents(order)
    }
}

const SCRIPT: &str = include_str!("session.py");
const CLIENT: &str = "labgrid-client";
const PYTHON: &str = "python3";
/// Python module that [`CLIENT`] starts.
const CLIENT_MODULE: &str = "labgrid.remote.client";

/// Returns the process of a session, which is not started yet.
fn session(coordinator: &str) -> Local {
    Local::new(python(), &["-c", SCRIPT, coordinator])
}

/// Returns the command line of labgrid's own client.
pub fn client() -> Vec<String> {
    let python = python().to_string_lossy().into_owned();
    vec![python, "-m".to_owned(), CLIENT_MODULE.to_owned()]
}

fn python() -> PathBuf {
    beside_client().unwrap_or_else(|| PYTHON.into())
}

/// Finds the Python of labgrid's client: the client is in the folder of the Python that it is
/// installed for, or is a link to a file in that folder.
fn beside_client() -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let client = env::split_paths(&path)
        .map(|folder| folder.join(CLIENT))
        .find(|client| client.is_file())?;
    let real = client.canonicalize().ok()?;
    let python = |client: &Path| Some(client.parent()?.join(PYTHON));
    let candidates = [python(&real), python(&client)];
    candidates
        .into_iter()
        .flatten()
        .find(|python| python.is_file())
}

/// Reason why a board of a lab is not available.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LabError {
    /// labgrid is not installed on this host.
    #[error(
        "labgrid cannot be used here ({0}): install it (pip install labgrid), and put labgrid-client \
         or its python3 into PATH"
    )]
    Missing(String),
    /// The coordinator does not know the place, or no place has the tags.
    #[error("labgrid: {0}")]
    Unknown(String),
    /// Another user has acquired it.
    #[error("labgrid: {0}")]
    Busy(String),
    /// The coordinator, or the connection to it, is lost.
    #[error("labgrid: {0}")]
    Lost(String),
    /// The journal of held places could not be written.
    #[error("{0}")]
    Journal(String),
}

impl LabError {
    /// Parses the error that the session reports, if any.
    fn said(answer: &Value) -> Option<Self> {
        let why = answer["why"].as_str().unwrap_or_default().to_owned();
        Some(match answer["error"].as_str()? {
            "missing" => Self::Missing(why),
            "unknown" => Self::Unknown(why),
            "busy" => Self::Busy(why),
            _ => Self::Lost(why),
        })
    }

    /// Adds the place's name to the message.
    fn of_place(self, place: &str) -> Self {
        self.map(|why| format!("{place}: {why}"))
    }

    /// Adds the coordinator's address to the message of a lost connection.
    fn at(self, coordinator: &str) -> Self {
        match self {
            Self::Lost(why) => Self::Lost(format!(
                "no coordinator answers at {coordinator} ({why}); set LG_COORDINATOR to use another"
            )),
            other => other,
        }
    }

    fn map(self, say: impl FnOnce(String) -> String) -> Self {
        match self {
            Self::Unknown(why) => Self::Unknown(say(why)),
            Self::Busy(why) => Self::Busy(say(why)),
            Self::Lost(why) => Self::Lost(say(why)),
            other => other,
        }
    }

    /// The user has to change the command or the installation.
    pub const fn is_usage(&self) -> bool {
        matches!(self, Self::Missing(_) | Self::Unknown(_))
    }

    /// The place is acquired by others, or unreachable: another board, or another
    /// attempt, may succeed.
    pub const fn is_lost(&self) -> bool {
        matches!(self, Self::Busy(_) | Self::Lost(_))
    }
}

/// Problem found when a place was released.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Trouble {
    /// Others had released or acquired it meanwhile.
    #[error(
        "somebody else released or acquired it meanwhile: another job may have run during the measurement"
    )]
    Taken,
    /// It could not be released.
    #[error("it could not be released ({0}); assay lab targets --release-stale does so later")]
    Held(LabError),
}

/// A place that this process has acquired. Dropping the lease releases the place.
pub struct Lease {
    lab: Arc<Lab>,
    place: String,
    address: SshAddress,
    /// Cancelled after the place is released.
    reservation: Option<Reservation>,
    is_held: bool,
}

impl Lease {
    fn new(lab: Arc<Lab>, place: String, address: SshAddress) -> Self {
        Self {
            lab,
            place,
            address,
            reservation: None,
            is_held: true,
        }
    }

    /// Returns the name of the target, as a user writes it.
    pub fn name(&self) -> String {
        format!("labgrid:{}", self.place)
    }

    /// Returns the address of the board.
    pub fn address(&self) -> &SshAddress {
        &self.address
    }

    /// Releases the place.
    ///
    /// # Errors
    /// [`Trouble::Taken`] if others changed it meanwhile; [`Trouble::Held`] if it could
    /// not be released: then it remains in the journal.
    pub fn release(mut self) -> Result<(), Trouble> {
        self.is_held = false;
        match self.lab.release(&self.place) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Trouble::Taken),
            Err(error) => Err(Trouble::Held(error)),
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.is_held {
            // A place that could not be released remains in the journal.
            let _ = self.lab.release(&self.place);
        }
        drop(self.reservation.take());
    }
}

/// A pending reservation. Dropping it cancels the reservation.
pub struct Reservation {
    lab: Arc<Lab>,
    tags: BTreeMap<String, String>,
    /// `None` once the reservation belongs to a lease.
    token: Option<String>,
}

impl Reservation {
    fn new(lab: Arc<Lab>, tags: &BTreeMap<String, String>, token: String) -> Self {
        Self {
            lab,
            tags: tags.clone(),
            token: Some(token),
        }
    }

    /// Acquires the allocated place; `None` if no place is allocated yet. If another
    /// command of the same user has acquired the place by name, the reservation is
    /// replaced by a new one.
    ///
    /// # Errors
    /// If the coordinator no longer knows the reservation, and as in [`Lab::acquire`].
    pub fn take(&mut self) -> Result<Option<Lease>, LabError> {
        let Some(place) = self.place()? else {
            return Ok(None);
        };
        match self.lab.acquire(&place) {
            Ok(mut lease) => {
                lease.reservation = Some(Self {
                    lab: Arc::clone(&self.lab),
                    tags: BTreeMap::new(),
                    token: self.token.take(),
                });
                Ok(Some(lease))
            }
            Err(LabError::Busy(_)) => {
                *self = self.lab.reserve(&self.tags)?;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn place(&self) -> Result<Option<String>, LabError> {
        #[derive(Deserialize)]
        struct ReservationState {
            place: Option<String>,
        }
        let state: ReservationState = self.lab.ask(&json!({"do": "poll", "token": self.token}))?;
        Ok(state.place)
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if let Some(token) = &self.token {
            // A reservation that is not polled expires.
            let _: Result<Value, LabError> = self.lab.ask(&json!({"do": "cancel", "token": token}));
        }
    }
}

const SCHEME: &str = "labgrid:";
const RESERVE: &str = "reserve?";
/// Time between two checks of a reservation. A reservation is kept as long as its owner asks at
/// least once a minute.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Selection of a board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BoardFilter {
    /// The place of this name.
    Place(String),
    /// Any place with these tags, as soon as one is free.
    Any(BTreeMap<String, String>),
}

/// Error for a text that does not select a board.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "not a valid labgrid target: {0}; write labgrid:PLACE or labgrid:reserve?TAG=VALUE&TAG=VALUE"
)]
pub struct WantedError(&'static str);

impl BoardFilter {
    /// Acquires a selected board; waits until the reservation succeeds.
    ///
    /// # Errors
    /// As in [`Lab::acquire`] and [`Lab::reserve`].
    pub fn get(&self, lab: &Arc<Lab>) -> Result<Lease, LabError> {
        match self {
            Self::Place(place) => lab.acquire(place),
            Self::Any(tags) => {
                let mut reservation = lab.reserve(tags)?;
                loop {
                    if let Some(lease) = reservation.take()? {
                        return Ok(lease);
                    }
                    std::thread::sleep(POLL_INTERVAL);
                }
            }
        }
    }
}

impl FromStr for BoardFilter {
    type Err = WantedError;

    fn from_str(text: &str) -> Result<Self, WantedError> {
        let rest = text.strip_prefix(SCHEME);
        let rest = rest.ok_or(WantedError("it does not begin with labgrid:"))?;
        if rest.contains(char::is_control) {
            return Err(WantedError("it has a control character"));
        }
        let Some(tags) = rest.strip_prefix(RESERVE) else {
            return match rest {
                "" => Err(WantedError("the place has no name")),
                "reserve" => Err(WantedError("a reservation needs tags")),
                place => Ok(Self::Place(place.to_owned())),
            };
        };
        let mut wanted = BTreeMap::new();
        for tag in tags.split('&') {
            let (name, value) = tag
                .split_once('=')
                .ok_or(WantedError("a tag has no value"))?;
            if name.is_empty() || value.is_empty() {
                return Err(WantedError("a tag has no name or no value"));
            }
            if wanted.insert(name.to_owned(), value.to_owned()).is_some() {
                return Err(WantedError("a tag is named twice"));
            }
        }
        Ok(Self::Any(wanted))
    }
}

impl fmt::Display for BoardFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Place(place) => write!(f, "{SCHEME}{place}"),
            Self::Any(tags) => {
                let tags: Vec<_> = tags
                    .iter()
                    .map(|(name, value)| format!("{name}={value}"))
                    .collect();
                write!(f, "{SCHEME}{RESERVE}{}", tags.join("&"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_board_is_asked_for_by_place_or_by_tags() {
        for (text, tags) in [
            ("labgrid:sd001", 0),
            ("labgrid:reserve?media=sd", 1),
            ("labgrid:reserve?board=rk3588&media=sd", 2),
        ] {
            let wanted: BoardFilter = text.parse().unwrap();
            assert_eq!(wanted.to_string(), text);
            match wanted {
                BoardFilter::Place(place) => assert_eq!((place.as_str(), tags), ("sd001", 0)),
                BoardFilter::Any(all) => assert_eq!(all.len(), tags),
            }
        }
        for text in [
            "labgrid:",
            "labgrid:reserve",
            "labgrid:reserve?",
            "labgrid:reserve?media",
            "labgrid:reserve?media=",
            "labgrid:reserve?a=1&a=2",
            "sd001",
        ] {
            assert!(text.parse::<BoardFilter>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_address_from_an_exporter_is_validated() {
        let reached = |host, user, port| address(host, user, port).map(|found| found.to_string());
        let known = |text: &str| Ok(text.to_owned());
        assert_eq!(
            reached(Some("10.0.0.7"), "root", 2222),
            known("ssh://root@10.0.0.7:2222")
        );
        assert_eq!(reached(Some("board"), "", 0), known("ssh://board"));
        assert_eq!(
            reached(Some("fe80::1%eth0"), "root", 22),
            known("ssh://root@[fe80::1%eth0]:22")
        );
        for host in [
            None,
            Some(""),
            Some("-oProxyCommand=x"),
            Some("a;b"),
            Some("a/b"),
        ] {
            assert!(reached(host, "root", 22).is_err(), "{host:?}");
        }
        assert!(reached(Some("board"), "$(x)", 22).is_err());
    }
}
