//! Emulated board with a power switch: a program cuts its power and restores it, like
//! a relay.

use crate::board;
use crate::board::{BETWEEN_ATTEMPTS, BOOT, Cards, Parts, Usb, emulator};
use crate::command::Unavailable;
use crate::volatile_drive::VolatileDrive;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::Instant;

/// Starts the emulator whenever it should be on and is not. Kills it and removes its
/// folder at the end of input, that is, when the test process ends.
const KEEPER: &str = "\
folder=$1
shift
while :; do
    if [ -e \"$folder/on\" ]; then
        \"$@\" </dev/null >>\"$folder/console\" 2>&1 &
        echo $! >\"$folder/pid\"
        wait $!
    fi
    sleep 0.1
done &
loop=$!
cat >/dev/null
kill -KILL $loop
kill -KILL \"$(cat \"$folder/pid\")\"
wait
rm -r \"$folder\"
";

/// Emulated board with a power switch. It is removed when the test process ends.
#[derive(Debug)]
pub struct SwitchedBoard {
    _keeper: Child,
    folder: PathBuf,
    port: u16,
}

impl SwitchedBoard {
    /// Starts a board whose USB disk is `drive`. Its power is on; the boot may not
    /// have ended.
    ///
    /// # Errors
    /// Without the emulator.
    pub fn start(drive: &VolatileDrive) -> Result<Self, Unavailable> {
        let failed = |error: std::io::Error| Unavailable(format!("cannot set up a board: {error}"));
        let parts = Parts::new()?;
        let cards = Cards::new(&parts.scratch, Usb::Drive(drive.socket().to_owned()))?;
        let client = parts.scratch.join("bin");
        fs::create_dir(&client).map_err(failed)?;
        let key = parts.key().map_err(failed)?;
        // The board has a new host key at every start.
        board::write(&client, &key, Path::new("/dev/null"), "no")?;
        fs::write(parts.scratch.join("on"), "").map_err(failed)?;
        write_switch(parts.scratch.path())?;
        let keeper = crate::command("sh")
            .args(["-c", KEEPER, "keeper"])
            .arg(parts.scratch.path())
            .args(emulator(&parts, &cards))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            // The shell reports each killed emulator on its standard error.
            .stderr(Stdio::null())
            // Ctrl-C should reach the test program only.
            .process_group(0)
            .spawn();
        let board = Self {
            _keeper: keeper.map_err(failed)?,
            port: parts.port,
            folder: parts.scratch.keep(),
        };
        board.await_login()?;
        Ok(board)
    }

    fn await_login(&self) -> Result<(), Unavailable> {
        let until = Instant::now() + BOOT;
        let mut login = crate::command(self.folder.join("bin/ssh"));
        login.args(["-p", &self.port.to_string(), "root@127.0.0.1", "true"]);
        login.stdin(Stdio::null()).stderr(Stdio::null());
        while !login.status().is_ok_and(|status| status.success()) {
            if Instant::now() > until {
                return Err(Unavailable(
                    "the switched board does not come up".to_owned(),
                ));
            }
            sleep(BETWEEN_ATTEMPTS);
        }
        Ok(())
    }

    /// Returns assay's target URL of the board: `ssh://root@127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("ssh://root@127.0.0.1:{}", self.port)
    }

    /// Port of its ssh server on loopback.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Search path with an `ssh` configured for the board.
    #[must_use]
    pub fn search_path(&self) -> String {
        let path = crate::search_path();
        format!("{}:{path}", self.folder.join("bin").display())
    }

    /// Path of the program that switches its power, with the argument `off` or `on`.
    #[must_use]
    pub fn switch(&self) -> PathBuf {
        self.folder.join("switch")
    }
}

fn write_switch(folder: &Path) -> Result<(), Unavailable> {
    let switch = folder.join("switch");
    let script = format!(
        "#!/bin/sh\ncd '{}' || exit\ncase $1 in\n\
         off) rm on; kill -KILL \"$(cat pid)\" ;;\non) : >on ;;\n*) exit 2 ;;\nesac\n",
        folder.display()
    );
    crate::write_program(&switch, &script)
}
