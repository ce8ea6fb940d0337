//! Lab of boards: labgrid's coordinator and exporter, with places that all lead to one
//! [`Neighbour`] at the near end of its cable, or, on this machine's own network, each to
//! its configured address.
//!
//! `cargo xtask labgrid` and `cargo xtask servers` install the programs.

use crate::command::{Process, Scratch, Unavailable};
use crate::neighbour::Neighbour;
use std::fmt::Write;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Folder of labgrid, in the build folder.
pub const LABGRID: &str = "labgrid";

/// Port of the coordinator on the neighbour's network, where no other program runs.
const COORDINATOR_PORT: u16 = 20408;
/// Port without a listener.
const DEAD: u16 = 9;
/// Time limit for the start of a daemon; Python takes a while.
const PATIENCE: Duration = Duration::from_secs(120);

/// Place of the lab.
#[derive(Clone, Debug)]
pub struct Place {
    name: String,
    tags: Vec<(String, String)>,
    /// Address of the board; `None`: the neighbour's.
    address: Option<String>,
    port: u16,
    /// URL of the power port without its last part: `/0` is off, `/1` on.
    power: Option<String>,
}

impl Place {
    /// Makes a place with a tag.
    #[must_use]
    pub fn new(name: &str, tag: &str, value: &str) -> Self {
        Self {
            name: name.to_owned(),
            tags: vec![(tag.to_owned(), value.to_owned())],
            address: None,
            port: 22,
            power: None,
        }
    }

    /// Sets another address of the board.
    #[must_use]
    pub fn at(mut self, address: &str, port: u16) -> Self {
        (self.address, self.port) = (Some(address.to_owned()), port);
        self
    }

    /// Adds a power port that is switched over HTTP: `URL/0` cuts the power, `URL/1`
    /// restores it.
    #[must_use]
    pub fn powered_by(mut self, url: &str) -> Self {
        self.power = Some(url.to_owned());
        self
    }

    /// Makes the board unreachable.
    #[must_use]
    pub fn dead(mut self) -> Self {
        self.port = DEAD;
        self
    }
}

/// Running lab. It ends when this is dropped.
#[derive(Debug)]
pub struct Lab {
    daemons: Vec<Process>,
    python: PathBuf,
    /// Neighbour on whose network the lab runs; `None`: this machine's own network.
    neighbour: Option<Neighbour>,
    coordinator: String,
    scratch: Scratch,
}

impl Lab {
    /// Starts a lab on the network of a new [`Neighbour`].
    ///
    /// # Errors
    /// Without root, labgrid or the servers, or when a daemon does not start.
    pub fn new(places: &[Place]) -> Result<Self, Unavailable> {
        Self::on(Some(Neighbour::new()?), COORDINATOR_PORT, places)
    }

    /// Starts a lab on this machine's own network. Each place must have an address.
    ///
    /// # Errors
    /// Without labgrid, or when a daemon does not start.
    pub fn here(places: &[Place]) -> Result<Self, Unavailable> {
        Self::on(None, crate::board::free_port()?, places)
    }

    fn on(neighbour: Option<Neighbour>, port: u16, places: &[Place]) -> Result<Self, Unavailable> {
        let python = crate::prepared::folder(LABGRID, "cargo xtask labgrid")?.join("bin");
        let scratch = Scratch::new()?;
        let failed = |error: io::Error| Unavailable(format!("cannot set up a lab: {error}"));
        write_lab(&scratch, neighbour.as_ref(), places).map_err(failed)?;
        let mut lab = Self {
            daemons: Vec::new(),
            python,
            neighbour,
            coordinator: format!("127.0.0.1:{port}"),
            scratch,
        };
        let coordinator = lab.coordinator.clone();
        lab.start("labgrid-coordinator", &["-l", &coordinator])?;
        // An exporter that finds no coordinator ends.
        lab.await_lines("places", places.len())?;
        let words = ["-n", "lab", "--hostname", "127.0.0.1", "exporter.yaml"];
        lab.start("labgrid-exporter", &words)?;
        let powered = places.iter().filter(|place| place.power.is_some()).count();
        lab.await_lines("resources", places.len() + powered)?;
        Ok(lab)
    }

    fn start(&mut self, name: &str, words: &[&str]) -> Result<(), Unavailable> {
        let failed = |error: io::Error| Unavailable(format!("cannot start {name}: {error}"));
        let mut daemon = crate::command(self.python.join("python3"));
        daemon.arg(self.python.join(name)).args(words);
        let log = File::create(self.scratch.join("log")).map_err(failed)?;
        let mut near = self.near(&daemon);
        near.current_dir(self.scratch.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        self.daemons
            .push(Process::start(&mut near).map_err(failed)?);
        Ok(())
    }

    /// Returns a copy of the command in the lab's environment and network.
    #[must_use]
    pub fn near(&self, command: &Command) -> Command {
        let python = self.python.display();
        let path = search_path(command);
        let (mut near, path) = match &self.neighbour {
            Some(neighbour) => {
                let bin = neighbour.bin();
                let path = format!("{}:{python}:{path}", bin.display());
                (neighbour.near(command), path)
            }
            None => (again(command), format!("{python}:{path}")),
        };
        near.env("PATH", path)
            .env("LG_COORDINATOR", &self.coordinator);
        near
    }

    /// Runs labgrid's own client and returns its output.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn client(&self, words: &[&str]) -> String {
        self.client_as("nobody/there", words)
    }

    /// Runs labgrid's own client as a user, HOST/USER, and returns its output.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn client_as(&self, who: &str, words: &[&str]) -> String {
        let (host, user) = who.split_once('/').unwrap_or((who, who));
        let mut client = crate::command(self.python.join("python3"));
        client
            .arg(self.python.join("labgrid-client"))
            .args(words)
            .env("LG_HOSTNAME", host)
            .env("LG_USERNAME", user);
        let said = self.near(&client).output().expect("it is prepared");
        String::from_utf8_lossy(&said.stdout).into_owned()
    }

    /// Lists the acquired places.
    #[must_use]
    pub fn acquired(&self) -> Vec<String> {
        let who = self.client(&["who"]);
        // User, host, place, and when it changed, below a header.
        let places = who
            .lines()
            .skip(1)
            .filter_map(|line| line.split_whitespace().nth(2));
        places.map(str::to_owned).collect()
    }

    /// Folder that the neighbour mounts as its `/dev/shm`, where agents are put; `None`
    /// without a neighbour.
    #[must_use]
    pub fn memory(&self) -> Option<PathBuf> {
        self.neighbour.as_ref().map(Neighbour::memory)
    }

    /// Waits until the client lists at least `count` lines.
    fn await_lines(&self, what: &str, count: usize) -> Result<(), Unavailable> {
        let deadline = Instant::now() + PATIENCE;
        while self.client(&[what]).lines().count() < count {
            if Instant::now() > deadline {
                let log = fs::read_to_string(self.scratch.join("log")).unwrap_or_default();
                let last = log.lines().last().unwrap_or("without a word").to_owned();
                return Err(Unavailable(format!("labgrid does not come up: {last}")));
            }
            sleep(Duration::from_millis(100));
        }
        Ok(())
    }
}

/// Returns the search path of a command, or of this process if it has none.
fn search_path(command: &Command) -> String {
    let mut own = command.get_envs().filter(|(name, _)| *name == "PATH");
    let own = own.next().and_then(|(_, value)| value?.to_str());
    own.map_or_else(crate::search_path, str::to_owned)
}

/// Copies a command, which `Command` cannot do itself.
fn again(command: &Command) -> Command {
    let mut again = crate::command(command.get_program());
    again.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => again.env(name, value),
            None => again.env_remove(name),
        };
    }
    again
}

/// Writes the configuration of exporter and coordinator.
fn write_lab(scratch: &Scratch, neighbour: Option<&Neighbour>, places: &[Place]) -> io::Result<()> {
    let usual = neighbour.map(Neighbour::ssh).unwrap_or_default();
    let usual = usual.rsplit('@').next().unwrap_or_default();
    let (mut boards, mut known) = (String::new(), String::new());
    for place in places {
        let Place {
            name, tags, port, ..
        } = place;
        let address = place.address.as_deref().unwrap_or(usual);
        let tags: Vec<String> = tags
            .iter()
            .map(|(tag, value)| format!("{tag}: {value}"))
            .collect();
        let tags = tags.join(", ");
        // Writing to a string cannot fail.
        let _ = writeln!(
            boards,
            "{name}:\n  NetworkService: {{address: {address}, username: root, port: {port}}}"
        );
        if let Some(url) = &place.power {
            let _ = writeln!(
                boards,
                "  NetworkPowerPort: {{model: simplerest, host: '{url}/{{value}}', index: 0}}"
            );
        }
        let _ = writeln!(
            known,
            "{name}:\n  matches: [{{exporter: lab, group: {name}, cls: '*', name: null, rename: null}}]\n  \
             tags: {{{tags}}}"
        );
    }
    fs::write(scratch.join("exporter.yaml"), boards)?;
    fs::write(scratch.join("places.yaml"), known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::or_skip;

    #[test]
    fn a_lab_has_places_that_are_acquired() {
        let places = ["a", "b"].map(|name| Place::new(name, "media", "sd"));
        let lab = or_skip!(Lab::new(&places));
        let listed = lab.client(&["places"]);
        let names: Vec<&str> = listed.lines().map(str::trim).collect();
        assert_eq!(names, ["a", "b"]);
        lab.client(&["-p", "b", "acquire"]);
        assert_eq!(lab.acquired(), ["b"]);
    }
}
