//! A lab of boards: labgrid's coordinator and exporter, and places that all lead to one
//! [`Neighbour`], at the near end of its cable.
//!
//! `cargo xtask labgrid` and `cargo xtask servers` prepare what it is made of.

use crate::command::Unavailable;
use crate::neighbour::Neighbour;
use crate::process::Process;
use crate::scratch::Scratch;
use std::fmt::Write;
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Within the build folder.
pub const LABGRID: &str = "labgrid";

const COORDINATOR: &str = "127.0.0.1:20408";
/// Nobody listens there.
const DEAD: u16 = 9;
/// Python takes a while to start.
const PATIENCE: Duration = Duration::from_secs(120);

/// A place of the lab.
#[derive(Clone, Debug)]
pub struct Place {
    name: String,
    tags: Vec<(String, String)>,
    port: u16,
}

impl Place {
    /// A place with a tag.
    #[must_use]
    pub fn new(name: &str, tag: &str, value: &str) -> Self {
        Self {
            name: name.to_owned(),
            tags: vec![(tag.to_owned(), value.to_owned())],
            port: 22,
        }
    }

    /// The same with a board that cannot be reached.
    #[must_use]
    pub fn dead(mut self) -> Self {
        self.port = DEAD;
        self
    }
}

/// The lab. It is there until this is dropped.
#[derive(Debug)]
pub struct Lab {
    daemons: Vec<Process>,
    python: PathBuf,
    neighbour: Neighbour,
    scratch: Scratch,
}

impl Lab {
    /// Makes one.
    ///
    /// # Errors
    /// Without root or what is prepared, or when it does not come up.
    pub fn new(places: &[Place]) -> Result<Self, Unavailable> {
        let python = crate::prepared::folder(LABGRID, "cargo xtask labgrid")?.join("bin");
        let neighbour = Neighbour::new()?;
        let scratch = Scratch::new()?;
        let failed = |error: io::Error| Unavailable(format!("cannot set up a lab: {error}"));
        write_lab(&scratch, &neighbour, places).map_err(failed)?;
        let mut lab = Self {
            daemons: Vec::new(),
            python,
            neighbour,
            scratch,
        };
        lab.start("labgrid-coordinator", &["-l", COORDINATOR])?;
        // An exporter that finds none ends.
        lab.await_lines("places", places.len())?;
        let words = ["-n", "lab", "--hostname", "127.0.0.1", "exporter.yaml"];
        lab.start("labgrid-exporter", &words)?;
        lab.await_lines("resources", places.len())?;
        Ok(lab)
    }

    fn start(&mut self, name: &str, words: &[&str]) -> Result<(), Unavailable> {
        let failed = |error: io::Error| Unavailable(format!("cannot start {name}: {error}"));
        let mut daemon = Command::new(self.python.join("python3"));
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

    /// A command that knows the lab, and its boards.
    #[must_use]
    pub fn near(&self, command: &Command) -> Command {
        let mut near = self.neighbour.near(command);
        let path = std::env::var("PATH").unwrap_or_default();
        let (bin, python) = (self.neighbour.bin(), self.python.display());
        near.env("PATH", format!("{}:{python}:{path}", bin.display()))
            .env("LG_COORDINATOR", COORDINATOR);
        near
    }

    /// What labgrid's own client says.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn client(&self, words: &[&str]) -> String {
        self.client_as("nobody/there", words)
    }

    /// The same for a user, HOST/USER.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn client_as(&self, who: &str, words: &[&str]) -> String {
        let (host, user) = who.split_once('/').unwrap_or((who, who));
        let mut client = Command::new(self.python.join("python3"));
        client
            .arg(self.python.join("labgrid-client"))
            .args(words)
            .env("LG_HOSTNAME", host)
            .env("LG_USERNAME", user);
        let said = self.near(&client).output().expect("it is prepared");
        String::from_utf8_lossy(&said.stdout).into_owned()
    }

    /// Places that somebody has acquired.
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

    /// Where agents are put.
    #[must_use]
    pub fn memory(&self) -> PathBuf {
        self.neighbour.memory()
    }

    /// Waits until the client has so much to list.
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

/// What exporter and coordinator read when they start.
fn write_lab(scratch: &Scratch, neighbour: &Neighbour, places: &[Place]) -> io::Result<()> {
    let address = neighbour.ssh();
    let address = address.rsplit('@').next().unwrap_or_default();
    let (mut boards, mut known) = (String::new(), String::new());
    for Place { name, tags, port } in places {
        let tags: Vec<String> = tags
            .iter()
            .map(|(tag, value)| format!("{tag}: {value}"))
            .collect();
        let tags = tags.join(", ");
        // Nothing can fail that is written to text.
        let _ = writeln!(
            boards,
            "{name}:\n  NetworkService: {{address: {address}, username: root, port: {port}}}"
        );
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
