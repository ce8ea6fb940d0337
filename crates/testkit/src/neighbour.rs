//! Simulated second machine: a network namespace with a virtual cable to it, and servers of
//! adb and ssh.
//!
//! `cargo xtask servers` builds the servers.

use crate::command::{Scratch, Unavailable, run, text};
use crate::{board, missing};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// Folder of the servers, in the build folder.
pub const SERVERS: &str = "servers";

/// Address of the neighbour; the near end of the cable has the next one.
const ADDRESS: &str = "10.99.0.1";
/// Prefix of further addresses that also belong to the neighbour.
const ADDRESSES: &str = "10.99.1";

/// Script of the near end of the cable, in a separate network namespace. Executes commands
/// from its input, one a line, and stops everything at the end of input, that is, when the
/// test process ends, even if it is killed.
const NEAR: &str = r#"
servers=$1 folder=$2
ip link set lo up
unshare --net --mount sh -c "$3" far "$servers" "$folder" <"$folder/far.in" >"$folder/far.out" &
exec 3>"$folder/far.in" 4<"$folder/far.out"
read -r far <&4
ip link add near type veth peer name far netns "$far"
ip addr add 10.99.0.2/24 dev near
ip link set near up
ip route add 10.99.1.0/24 via 10.99.0.1
echo wired >&3
read -r ready <&4
"$servers/adb" start-server 3>&- 4<&- 2>"$folder/adb.log"
"$servers/adb" connect 10.99.0.1:5555 >/dev/null
echo "$ready"
while read -r word; do
    case $word in
    plug) ip link set near up ;;
    unplug) ip link set near down ;;
    *) echo "$word" >&3; read -r word <&4 ;;
    esac
    echo "$word"
done
"$servers/adb" kill-server
exec 3>&-
wait
"#;

/// Script of the far end; its home and memory are folders of the test.
const FAR: &str = r#"
servers=$1 folder=$2
unset TMPDIR
mount --bind "$folder/shm" /dev/shm
mount --bind "$folder/home" "$(eval echo ~root)"
echo $$
read -r wired
ip link set lo up
ip addr add 10.99.0.1/24 dev far
ip link set far up
ip route add local 10.99.1.0/24 dev lo
"$servers/dropbear" -F -e -E -s -P "$folder/pid" -r "$folder/host_key" -p 22 2>"$folder/ssh.log" &
ssh=$!
serve_adb() { ADBD_PORT=5555 "$servers/adbd" >"$folder/adbd.log" 2>&1 & adbd=$!; }
serve_adb
echo ready
while read -r word; do
    case $word in
    start-adbd) serve_adb ;;
    kill-adbd) kill -KILL "$adbd"; wait "$adbd" 2>/dev/null ;;
    esac
    echo "$word"
done
kill -KILL "$adbd" "$ssh"
"#;

/// Running neighbour. It ends when this is dropped, or with the test process.
#[derive(Debug)]
pub struct Neighbour {
    keeper: Child,
    answers: BufReader<ChildStdout>,
    scratch: Scratch,
}

impl Neighbour {
    /// Starts a neighbour.
    ///
    /// # Errors
    /// Without root or the servers, or when it does not start.
    pub fn new() -> Result<Self, Unavailable> {
        let needs = [
            "root",
            "unshare",
            "nsenter",
            "ip",
            "mount",
            "mkfifo",
            "ssh",
            "ssh-keygen",
        ];
        if let Some(why) = missing(&needs) {
            return Err(Unavailable(why));
        }
        let servers = crate::prepared::folder(SERVERS, "cargo xtask servers")?;
        let scratch = Scratch::new()?;
        furnish(&servers, &scratch)?;
        let mut keeper = keep(&servers, &scratch)?;
        let answers = keeper.stdout.take().map(BufReader::new);
        let mut neighbour = Self {
            answers: answers.ok_or_else(|| Unavailable("it is mute".to_owned()))?,
            keeper,
            scratch,
        };
        match neighbour.answer().as_str() {
            "ready" => Ok(neighbour),
            _ => Err(Unavailable(
                "a network of its own, or its servers, cannot be had".to_owned(),
            )),
        }
    }

    /// Returns assay's target over adb.
    #[must_use]
    pub fn adb(&self) -> String {
        format!("adb:{ADDRESS}:5555")
    }

    /// Returns assay's target over ssh.
    #[must_use]
    pub fn ssh(&self) -> String {
        format!("ssh://root@{ADDRESS}")
    }

    /// Returns a further address of the neighbour, for tests with several boards: the same
    /// ssh server listens there, and passes the address to sessions in `SSH_CONNECTION`.
    #[must_use]
    pub fn address(board: u8) -> String {
        format!("{ADDRESSES}.{board}")
    }

    /// Returns a copy of the command that runs at the near end of the cable, where adb and
    /// ssh are configured for the neighbour.
    #[must_use]
    pub fn near(&self, command: &Command) -> Command {
        let mut near = crate::command("nsenter");
        near.arg(format!("--net=/proc/{}/ns/net", self.keeper.id()))
            .arg("--")
            .arg(command.get_program())
            .args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => near.env(name, value),
                None => near.env_remove(name),
            };
        }
        let path = crate::search_path();
        near.env("PATH", format!("{}:{path}", self.bin().display()))
            .env("HOME", self.scratch.join("home"));
        near
    }

    /// Folder of programs configured for the neighbour: the first in the path of
    /// [`near`](Self::near).
    pub(crate) fn bin(&self) -> PathBuf {
        self.scratch.join("bin")
    }

    /// Folder that the neighbour mounts as its `/dev/shm`, where an agent is put.
    #[must_use]
    pub fn memory(&self) -> PathBuf {
        self.scratch.join("shm")
    }

    /// Sets the link down: no packets pass, and neither end gets an error.
    pub fn unplug(&mut self) {
        self.tell("unplug");
    }

    /// Sets the link up again.
    pub fn plug(&mut self) {
        self.tell("plug");
    }

    /// Kills the adb server, which ends all its connections.
    pub fn kill_adbd(&mut self) {
        self.tell("kill-adbd");
    }

    /// Starts the adb server again, and connects.
    pub fn start_adbd(&mut self) {
        self.tell("start-adbd");
        let device = format!("{ADDRESS}:5555");
        // adb counts the broken connection as open until it is used, hence the disconnect.
        for words in [["disconnect", &device], ["connect", &device]] {
            let mut adb = crate::command("adb");
            // A failure shows in the test that uses adb.
            let _ = self.near(adb.args(words)).stdout(Stdio::null()).status();
        }
    }

    fn tell(&mut self, word: &str) {
        let input = self.keeper.stdin.as_mut();
        let told = input.map(|input| writeln!(input, "{word}").and_then(|()| input.flush()));
        assert!(matches!(told, Some(Ok(()))), "the neighbour is gone");
        assert_eq!(self.answer(), word);
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        let _ = self.answers.read_line(&mut line);
        line.trim().to_owned()
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

/// Creates the neighbour's folders, keys and pipes.
fn furnish(servers: &Path, scratch: &Scratch) -> Result<(), Unavailable> {
    let failed = |error: std::io::Error| Unavailable(format!("cannot set up a neighbour: {error}"));
    let ssh = scratch.join("home/.ssh");
    for folder in [&scratch.join("shm"), &scratch.join("bin"), &ssh] {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    for name in ["far.in", "far.out"] {
        run(&["mkfifo", text(&scratch.join(name))])?;
    }
    let key = scratch.join("key");
    run(&[
        "ssh-keygen",
        "-q",
        "-t",
        "ed25519",
        "-N",
        "",
        "-f",
        text(&key),
    ])?;
    fs::copy(key.with_extension("pub"), ssh.join("authorized_keys")).map_err(failed)?;
    let dropbearkey = servers.join("dropbearkey");
    let host_key = scratch.join("host_key");
    run(&[text(&dropbearkey), "-t", "ed25519", "-f", text(&host_key)])?;
    let bin = scratch.join("bin");
    board::write(&bin, &key, &scratch.join("known_hosts"), "accept-new")?;
    let adb = format!(
        "#!/bin/sh\nexec '{}' \"$@\"\n",
        servers.join("adb").display()
    );
    crate::write_program(&bin.join("adb"), &adb)
}

fn keep(servers: &Path, scratch: &Scratch) -> Result<Child, Unavailable> {
    crate::command("unshare")
        .args(["--net", "sh", "-c", NEAR, "near"])
        .args([servers, scratch.path()])
        .arg(FAR)
        // The keys of adb belong to the test, too.
        .env("HOME", scratch.join("home"))
        .env("ASSAY_JOURNAL_DIR", scratch.join("journals"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| Unavailable(format!("unshare: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::or_skip;

    #[test]
    fn a_neighbour_is_reached_by_adb_and_by_ssh() {
        let neighbour = or_skip!(Neighbour::new());
        let serial = neighbour.adb();
        let serial = serial.trim_start_matches("adb:");
        let host = neighbour.ssh();
        for words in [
            ["adb", "-s", serial, "shell", "echo here; ls /dev/shm"].as_slice(),
            &["ssh", &host, "echo here; ls /dev/shm"],
        ] {
            let mut command = crate::command(words[0]);
            let said = neighbour.near(command.args(&words[1..])).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&said.stdout), "here\n", "{said:?}");
        }
    }
}
