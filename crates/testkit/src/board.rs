//! Emulated board: an aarch64 machine with a real SD card driver, a USB stick and NVMe,
//! reached over ssh on loopback.
//!
//! `cargo xtask board` prepares its files.

use crate::agents::static_agent;
use crate::command::{Scratch, Unavailable, run, text};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, io};

/// Folder of the board's files, in the build folder.
pub const FOLDER: &str = "board";
/// Emulator, in [`FOLDER`].
pub const QEMU: &str = "qemu-system-aarch64";
/// Kernel, in [`FOLDER`].
pub const KERNEL: &str = "vmlinuz";
/// Initial RAM file system, in [`FOLDER`].
pub const INITRAMFS: &str = "initramfs.gz";
/// Private ssh key for the board's root, in [`FOLDER`].
pub const KEY: &str = "key";

/// Archive with a Debian program and its libraries, in its [`program_folder`].
pub const PROGRAM_ARCHIVE: &str = "program.tar";

/// Folder within the build folder that `cargo xtask board PROGRAM` prepares.
#[must_use]
pub fn program_folder(program: &str) -> String {
    format!("board-{program}")
}

/// Folder on the board that a Debian program is unpacked into.
fn program_there(program: &str) -> String {
    format!("/dev/shm/{program}")
}

/// Time limit for a boot, which takes about 10 s on an idle machine.
pub(crate) const BOOT: Duration = Duration::from_secs(300);
pub(crate) const BETWEEN_ATTEMPTS: Duration = Duration::from_millis(500);
/// Line that the board prints on the console when it has booted.
const UP: &str = "the board is up";

/// Runs the emulator; kills it and removes its folder at the end of input, that is, when the
/// test process ends, even if it is killed.
const KEEPER: &str = "\
folder=$1
shift
\"$@\" </dev/null &
cat >/dev/null
kill -KILL $!
wait
rm -r \"$folder\"
";

/// Emulated board. It runs until the test process ends.
#[derive(Debug)]
pub struct Board {
    /// Keeps the emulator running as long as its input is open. Killing the keeper would
    /// leave the emulator running.
    _keeper: Child,
    folder: PathBuf,
    port: u16,
}

/// Parts from which a board is started.
pub(crate) struct Parts {
    pub(crate) prepared: PathBuf,
    pub(crate) scratch: Scratch,
    pub(crate) port: u16,
}

impl Parts {
    pub(crate) fn new() -> Result<Self, Unavailable> {
        Ok(Self {
            prepared: prepared()?,
            scratch: Scratch::new()?,
            port: free_port()?,
        })
    }

    /// Copies the private key into the board's folder: ssh refuses a key that others can
    /// read, and the build folder may belong to another user.
    pub(crate) fn key(&self) -> io::Result<PathBuf> {
        let key = self.scratch.join(KEY);
        fs::copy(self.prepared.join(KEY), &key)?;
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600))?;
        Ok(key)
    }
}

impl Board {
    /// Returns the board of this process, locked for one test at a time.
    ///
    /// # Errors
    /// Without the emulator, or when the board does not boot.
    pub fn shared() -> Result<MutexGuard<'static, Self>, Unavailable> {
        static BOARD: OnceLock<Result<Mutex<Board>, Unavailable>> = OnceLock::new();
        match BOARD.get_or_init(|| Self::start().map(Mutex::new)) {
            Ok(board) => Ok(board.lock().unwrap_or_else(PoisonError::into_inner)),
            Err(why) => Err(why.clone()),
        }
    }

    fn start() -> Result<Self, Unavailable> {
        let parts = Parts::new()?;
        let usb = Usb::Stick(parts.scratch.image("usb.img", 64)?);
        let cards = Cards::new(&parts.scratch, usb)?;
        write_client(&parts)?;
        let mut keeper = keep(&parts, &cards)?;
        // The keeper removes the folder, not this process.
        let folder = parts.scratch.keep();
        await_boot(&mut keeper)?;
        let board = Self {
            _keeper: keeper,
            folder,
            port: parts.port,
        };
        board.await_login()?;
        Ok(board)
    }

    /// Returns assay's target URL of the board: `ssh://root@127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("ssh://root@127.0.0.1:{}", self.port)
    }

    /// Returns the path of the agent for the board.
    ///
    /// # Errors
    /// When it was not built.
    pub fn agent(&self) -> Result<PathBuf, Unavailable> {
        static_agent("aarch64")
    }

    /// Folder that `cargo xtask agents` fills.
    #[must_use]
    pub fn agents() -> PathBuf {
        let prepared = prepared().unwrap_or_default();
        prepared.with_file_name("agents")
    }

    /// Search path with an `ssh` that learns the board's host key at the first connection.
    #[must_use]
    pub fn search_path(&self) -> String {
        let path = crate::search_path();
        format!("{}:{path}", self.folder.join("bin").display())
    }

    /// Search path with an `ssh` that expects another host key.
    #[must_use]
    pub fn search_path_with_wrong_host_key(&self) -> String {
        let path = crate::search_path();
        format!("{}:{path}", self.folder.join("wrong").display())
    }

    /// Runs a shell script on the board and returns its output.
    ///
    /// # Errors
    /// When the board cannot be reached or the script fails.
    pub fn run(&self, script: &str) -> Result<String, Unavailable> {
        self.run_with(script, Stdio::null())
    }

    /// Unpacks a `tar` archive into a folder on the board.
    ///
    /// # Errors
    /// When the archive cannot be read or the board cannot be reached.
    pub fn unpack(&self, archive: &Path, folder: &str) -> Result<(), Unavailable> {
        let file = fs::File::open(archive)
            .map_err(|error| Unavailable(format!("{}: {error}", archive.display())))?;
        let is_packed = archive.extension().is_some_and(|ending| ending == "gz");
        let flags = if is_packed { "xz" } else { "x" };
        let script = format!("mkdir -p {folder} && tar {flags} -C {folder}");
        self.run_with(&script, file.into()).map(drop)
    }

    fn run_with(&self, script: &str, input: Stdio) -> Result<String, Unavailable> {
        let output = crate::command(self.folder.join("bin/ssh"))
            .args(["-p", &self.port.to_string(), "root@127.0.0.1", script])
            .stdin(input)
            .output()
            .map_err(|error| Unavailable(format!("ssh: {error}")))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
        }
        let complaint = String::from_utf8_lossy(&output.stderr);
        Err(Unavailable(format!("on the board: {script}: {complaint}")))
    }

    /// Copies a Debian program to the board and returns the command that starts it there.
    ///
    /// # Errors
    /// When `cargo xtask board PROGRAM` was not run, or the copy fails.
    pub fn program(&self, name: &str) -> Result<String, Unavailable> {
        let how = format!("cargo xtask board {name}");
        let prepared = crate::prepared::folder(&program_folder(name), &how)?;
        let there = program_there(name);
        self.unpack(&prepared.join(PROGRAM_ARCHIVE), &there)?;
        let loader = "ld-linux-aarch64.so.1 --library-path";
        Ok(format!("{there}/{loader} {there} {there}/{name}"))
    }

    /// Removes the files that [`Self::program`] copied.
    ///
    /// # Errors
    /// When the board is not reached.
    pub fn remove_program(&self, name: &str) -> Result<(), Unavailable> {
        self.run(&format!("rm -r {}", program_there(name)))
            .map(drop)
    }

    fn await_login(&self) -> Result<(), Unavailable> {
        let since = Instant::now();
        loop {
            match self.run("true") {
                Ok(_) => return Ok(()),
                Err(why) if since.elapsed() > BOOT => return Err(why),
                Err(_) => std::thread::sleep(BETWEEN_ATTEMPTS),
            }
        }
    }
}

/// Files and sockets behind the board's storage devices.
pub(crate) struct Cards {
    sd: PathBuf,
    usb: Usb,
    nvme: PathBuf,
}

/// Backing of the USB storage device.
pub(crate) enum Usb {
    /// USB stick over this file.
    Stick(PathBuf),
    /// UAS disk over the socket of an NBD drive. Unlike QEMU's NVMe, which accepts writes
    /// with FUA and drops the flag, this disk reports no FUA support, so that the kernel
    /// sends flushes.
    Drive(PathBuf),
}

impl Cards {
    pub(crate) fn new(scratch: &Scratch, usb: Usb) -> Result<Self, Unavailable> {
        // QEMU requires a card size that is a power of two. This is the smallest on which
        // the usual jobs have room.
        let sd = scratch.image("sd.img", 512)?;
        let mkfs = [
            "mkfs.ext4",
            "-q",
            "-E",
            "lazy_itable_init=0,lazy_journal_init=0",
        ];
        run(&[mkfs.as_slice(), &[text(&sd)]].concat())?;
        Ok(Self {
            sd,
            usb,
            nvme: scratch.image("nvme.img", 256)?,
        })
    }
}

fn prepared() -> Result<PathBuf, Unavailable> {
    crate::prepared::folder(FOLDER, "cargo xtask board")
}

/// Returns a port that was free a moment ago.
pub(crate) fn free_port() -> Result<u16, Unavailable> {
    TcpListener::bind(("127.0.0.1", 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(|error| Unavailable(format!("no free port: {error}")))
}

/// Writes two `ssh` programs with private settings: one learns the board's host key at the first
/// connection, the other expects a wrong one.
fn write_client(parts: &Parts) -> Result<(), Unavailable> {
    let failed = |error: io::Error| Unavailable(format!("cannot set up ssh: {error}"));
    let key = parts.key().map_err(failed)?;
    // Any key other than the board's serves as the wrong one; the client's own is at hand.
    let wrong_key = fs::read_to_string(parts.prepared.join(KEY).with_extension("pub"));
    let other_key = format!("[127.0.0.1]:{} {}", parts.port, wrong_key.map_err(failed)?);
    let known = parts.scratch.join("known_hosts_wrong");
    fs::write(&known, other_key).map_err(failed)?;
    let hosts = parts.scratch.join("known_hosts");
    for (folder, hosts, check) in [("bin", hosts, "accept-new"), ("wrong", known, "yes")] {
        let folder = parts.scratch.join(folder);
        fs::create_dir(&folder).map_err(failed)?;
        write(&folder, &key, &hosts, check)?;
    }
    Ok(())
}

fn keep(parts: &Parts, cards: &Cards) -> Result<Child, Unavailable> {
    let keeper = crate::command("sh")
        .args(["-c", KEEPER, "keeper"])
        .arg(parts.scratch.path())
        .args(emulator(parts, cards))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // Ctrl-C should reach the test program only.
        .process_group(0)
        .spawn();
    keeper.map_err(|error| Unavailable(format!("sh: {error}")))
}

/// Command line of the emulator.
pub(crate) fn emulator(parts: &Parts, cards: &Cards) -> Vec<OsString> {
    let file = |id: &str, path: &Path| {
        format!(
            "if=none,id={id},file={},format=raw,cache=unsafe",
            path.display()
        )
    };
    let (usb, usb_devices) = match &cards.usb {
        Usb::Stick(path) => (file("usb", path), ["usb-storage,drive=usb"].as_slice()),
        Usb::Drive(socket) => (
            format!(
                "if=none,id=usb,file=nbd+unix:///?socket={},format=raw,cache=none",
                socket.display()
            ),
            ["usb-uas,id=uas", "scsi-hd,bus=uas.0,drive=usb"].as_slice(),
        ),
    };
    let net = format!("user,id=net,hostfwd=tcp:127.0.0.1:{}-:22", parts.port);
    let machine = "-M virt -cpu cortex-a57 -smp 2 -m 512 -nodefaults -nographic -no-reboot \
                   -serial stdio";
    let mut words = vec![parts.prepared.join(QEMU).into_os_string()];
    words.extend(machine.split_whitespace().map(OsString::from));
    let prepared = |name: &str| parts.prepared.join(name).into_os_string();
    words.extend(["-kernel".into(), prepared(KERNEL)]);
    words.extend(["-initrd".into(), prepared(INITRAMFS)]);
    let devices = [
        ["-append", "console=ttyAMA0 quiet panic=-1"],
        ["-device", "sdhci-pci"],
        ["-drive", &(file("sd", &cards.sd) + card_io())],
        ["-device", "sd-card,drive=sd"],
        ["-device", "qemu-xhci"],
        ["-drive", &usb],
        ["-drive", &file("nvme", &cards.nvme)],
        ["-device", "nvme,drive=nvme,serial=emulated"],
        ["-device", "virtio-rng-pci"],
        ["-netdev", &net],
        ["-device", "virtio-net-pci,netdev=net,romfile="],
    ];
    words.extend(devices.iter().flatten().map(OsString::from));
    let usb_devices = usb_devices.iter().flat_map(|device| ["-device", *device]);
    words.extend(usb_devices.map(OsString::from));
    words
}

/// I/O engine of the emulator for a card's file, which it reads block by block. With
/// `io_uring`, a block in the page cache is there at once. Otherwise the emulator wakes a
/// thread for each block; its random latency doubles the variance of the card's read
/// latency.
fn card_io() -> &'static str {
    match io_uring::IoUring::new(1) {
        Ok(_) => ",aio=io_uring",
        Err(_) => "",
    }
}

/// Reads the board's console until the boot ends, then discards the rest.
fn await_boot(keeper: &mut Child) -> Result<(), Unavailable> {
    let console = keeper.stdout.take();
    let console = console.ok_or_else(|| Unavailable("the board is mute".to_owned()))?;
    let (told, received) = channel();
    std::thread::spawn(move || {
        let mut console = BufReader::new(console);
        let mut line = Vec::new();
        while console
            .read_until(b'\n', &mut line)
            .is_ok_and(|read| read > 0)
        {
            let _ = told.send(String::from_utf8_lossy(&line).trim().to_owned());
            line.clear();
        }
        // A full pipe would stop the board.
        let _ = io::copy(&mut console.take(u64::MAX), &mut io::sink());
    });
    let until = Instant::now() + BOOT;
    let mut said: Vec<String> = Vec::new();
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let Ok(line) = received.recv_timeout(left) else {
            let last = said.iter().rev().take(3).rev().cloned().collect::<Vec<_>>();
            let last = last.join(" / ");
            return Err(Unavailable(format!(
                "the emulated board does not come up: {last}"
            )));
        };
        if line.ends_with(UP) {
            return Ok(());
        }
        said.push(line);
    }
}

/// Serves a power port until the process ends and returns its address. A request of
/// `ADDRESS/0` runs `switch off`, `ADDRESS/1` runs `switch on`.
///
/// # Errors
/// Without a port to listen on.
pub fn serve(switch: &Path) -> io::Result<String> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = format!("http://{}/power", listener.local_addr()?);
    let switch = switch.to_owned();
    std::thread::spawn(move || {
        // A client that disconnects early is ignored.
        for client in listener.incoming().flatten() {
            let _ = answer(&switch, client);
        }
    });
    Ok(address)
}

fn answer(switch: &PathBuf, mut client: TcpStream) -> io::Result<()> {
    let mut lines = BufReader::new(client.try_clone()?).lines();
    let asked = lines.next().transpose()?.unwrap_or_default();
    let path = asked.split(' ').nth(1).unwrap_or_default();
    // Read all headers: closing a connection with unread data resets it.
    while lines
        .next()
        .transpose()?
        .is_some_and(|line| !line.is_empty())
    {}
    let word = if path.ends_with("/0") { "off" } else { "on" };
    let status = crate::command(switch).arg(word).status()?;
    let code = if status.success() {
        "200 OK"
    } else {
        "500 Failed"
    };
    write!(
        client,
        "HTTP/1.1 {code}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    )
}

/// Writes an `ssh` wrapper into a folder. It logs in with a key and reads host
/// keys from one file only; `check` is its `StrictHostKeyChecking`.
pub(crate) fn write(
    folder: &Path,
    key: &Path,
    hosts: &Path,
    check: &str,
) -> Result<(), Unavailable> {
    let config = folder.join("config");
    let settings = format!(
        "Host *\n IdentityFile {}\n IdentitiesOnly yes\n IdentityAgent none\n \
         UserKnownHostsFile {}\n GlobalKnownHostsFile /dev/null\n \
         StrictHostKeyChecking {check}\n LogLevel ERROR\n",
        key.display(),
        hosts.display()
    );
    fs::write(&config, settings).map_err(|error| Unavailable(error.to_string()))?;
    let ssh = folder.join("ssh");
    let script = format!(
        "#!/bin/sh\nPATH=${{PATH#*:}} exec /usr/bin/ssh -F '{}' \"$@\"\n",
        config.display()
    );
    crate::write_program(&ssh, &script)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::or_skip;

    #[test]
    fn the_board_has_a_real_card_driver() {
        let board = or_skip!(Board::shared());
        let kind = board.run("cat /sys/block/mmcblk0/device/type").unwrap();
        assert_eq!(kind, "SD");
        let mounts = board.run("cat /proc/mounts").unwrap();
        assert!(mounts.contains("/dev/mmcblk0 /mnt/sd ext4"), "{mounts}");
        let devices = board.run("ls /sys/block").unwrap();
        for name in ["sda", "nvme0n1"] {
            assert!(devices.contains(name), "{devices}");
        }
    }
}
