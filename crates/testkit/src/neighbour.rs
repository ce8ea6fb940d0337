//! This machine as if it were another one beside it: with a network of its own, a
//! cable to that, and servers of adb and ssh.
//!
//! `cargo xtask servers` prepares what it is made of.

use crate::command::{Unavailable, run, text};
use crate::scratch::Scratch;
use crate::{missing, ssh_client};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// Within the build folder.
pub const SERVERS: &str = "servers";

/// The neighbour's address; the other end of the cable has the next one.
const ADDRESS: &str = "10.99.0.1";
/// All addresses that begin so are the neighbour's, too.
const ADDRESSES: &str = "10.99.1";

/// Holds the near end of the cable, in a network of its own, and carries out what it
/// is told, line by line. Ends all when its input ends: with the process that holds
/// the other end, however that goes.
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

/// The neighbour: its home and its memory are folders of the test's.
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

/// The neighbour. It is there until this is dropped, or its process ends.
#[derive(Debug)]
pub struct Neighbour {
    keeper: Child,
    answers: BufReader<ChildStdout>,
    scratch: Scratch,
}

impl Neighbour {
    /// Makes one.
    ///
    /// # Errors
    /// Without root or the servers, or when it does not come up.
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

    /// How assay calls it over adb.
    #[must_use]
    pub fn adb(&self) -> String {
        format!("adb:{ADDRESS}:5555")
    }

    /// How assay calls it over ssh.
    #[must_use]
    pub fn ssh(&self) -> String {
        format!("ssh://root@{ADDRESS}")
    }

    /// Another address of it, as of another board: the same server of ssh listens there, and
    /// tells what it starts in `SSH_CONNECTION`.
    #[must_use]
    pub fn address(board: u8) -> String {
        format!("{ADDRESSES}.{board}")
    }

    /// A command that runs at the near end of the cable, where adb and ssh know the
    /// neighbour.
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

    /// Programs that know the neighbour: the first folder of [`near`](Self::near)'s path.
    pub(crate) fn bin(&self) -> PathBuf {
        self.scratch.join("bin")
    }

    /// Its folders in memory, where an agent is put.
    #[must_use]
    pub fn memory(&self) -> PathBuf {
        self.scratch.join("shm")
    }

    /// Pulls the cable out: nothing arrives any more, and nobody is told.
    pub fn unplug(&mut self) {
        self.tell("unplug");
    }

    /// Puts the cable in again.
    pub fn plug(&mut self) {
        self.tell("plug");
    }

    /// Kills its server of adb, which ends all that goes over it.
    pub fn kill_adbd(&mut self) {
        self.tell("kill-adbd");
    }

    /// Starts its server of adb again, and connects.
    pub fn start_adbd(&mut self) {
        self.tell("start-adbd");
        let device = format!("{ADDRESS}:5555");
        // The old connection counts as one until somebody looks.
        for words in [["disconnect", &device], ["connect", &device]] {
            let mut adb = crate::command("adb");
            // Who needs it sees whether it went well.
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

/// What it needs in its folder.
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
    ssh_client::write(&bin, &key, &scratch.join("known_hosts"), "accept-new")?;
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
        // Keys of adb are the test's, too.
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
