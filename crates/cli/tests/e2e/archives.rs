//! Archives of the static program, as they are unpacked: they need a kernel and nothing else.
//! `cargo xtask dist` makes them.

use crate::assay::{Bed, Running, text};
use crate::board::{CARD, assert_clean};
use assay_testkit::neighbour::SERVERS;
use assay_testkit::{Board, Unavailable, archive, needs, or_skip, prepared, run};
use serde_json::Value;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Runs its words in the folder `$0` as root folder, with the file systems of the kernel.
const IN_ROOT: &str = "\
mount -t proc proc \"$0/proc\" && mount -t sysfs sysfs \"$0/sys\" &&
mount -t devtmpfs dev \"$0/dev\" && exec chroot \"$0\" \"$@\"";

/// Makes a qualification short.
const FEW: [&str; 5] = ["--quick", "--size", "4M", "--trials", "1"];

/// Serves ssh on a port of loopback, in front of a home of its own for root.
const SSH_SERVER: &str = "\
mount --bind \"$1/home\" \"$(eval echo ~root)\" &&
exec \"$2/dropbear\" -F -E -s -p \"127.0.0.1:$3\" -P \"$1/pid\" -r \"$1/host_key\"";

/// Unpacks an archive into a folder; the folder in it.
fn unpacked(archive: &Path, folder: &Path) -> PathBuf {
    run(&["tar", "-xzf", text(archive), "-C", text(folder)]).expect("an archive");
    let name = archive.file_name().expect("a name").to_string_lossy();
    folder.join(name.trim_end_matches(".tar.gz"))
}

/// A root folder with busybox and an unpacked archive, at `/assay`.
fn root_folder(bed: &Bed, archive: &Path) -> PathBuf {
    let root = bed.folder_named("root");
    for folder in ["bin", "data", "dev", "proc", "sys"] {
        fs::create_dir(root.join(folder)).expect("a folder");
    }
    let busybox = text(&root.join("bin/busybox")).to_owned();
    run(&["cp", "/bin/busybox", &busybox]).expect("busybox");
    symlink("busybox", root.join("bin/sh")).expect("a link");
    fs::rename(unpacked(archive, &root), root.join("assay")).expect("a folder");
    root
}

/// A command in that root folder, whose environment has nothing but a home.
fn within(root: &Path, words: &[&str]) -> Command {
    let mut command = assay_testkit::command("unshare");
    command.args(["--mount", "sh", "-c", IN_ROOT, text(root)]);
    command.args(["/bin/busybox", "env", "-i", "HOME=/data"]);
    command.args(words);
    command
}

#[test]
fn an_archive_needs_nothing_but_a_kernel() {
    needs!(root, "busybox", "chroot", "unshare");
    let archive = or_skip!(archive(std::env::consts::ARCH));
    let bed = Bed::new();
    let root = root_folder(&bed, &archive);
    let run = |words: &[&str]| Running::start(&mut within(&root, words)).end();
    let sums = "cd /assay && /bin/busybox sha256sum -c SHA256SUMS";
    run(&["/bin/sh", "-c", sums]).assert_code(0);
    let assay = |words: &[&str]| run(&[&["/assay/bin/assay"], words].concat());
    let ended = assay(&[&["qualify", "/data", "--json"], &FEW[..]].concat());
    ended.assert_code(0);
    assert_eq!(ended.json()["run"]["status"], "finished");
    for (file, start) in [("run.html", "<!DOCTYPE html>"), ("run.xlsx", "PK")] {
        let there = format!("/data/{file}");
        assay(&["report", "last", "-o", &there]).assert_code(0);
        let report = fs::read(root.join("data").join(file)).expect("a report");
        assert!(report.starts_with(start.as_bytes()), "{file}");
    }
}

#[test]
fn an_archive_has_the_agents_of_boards() {
    let board = or_skip!(Board::shared());
    let archive = or_skip!(archive(std::env::consts::ARCH));
    let bed = Bed::new();
    let assay = unpacked(&archive, &bed.folder()).join("bin/assay");
    for action in ["push", "remove"] {
        let mut command = assay_testkit::command(&assay);
        command.args(["lab", "agent", action, "--on", &board.url()]);
        command.env("PATH", board.search_path());
        Running::start(&mut command).end().assert_code(0);
    }
}

#[test]
fn an_archive_works_on_a_board() {
    const THERE: &str = "/dev/shm/archive";
    let board = or_skip!(Board::shared());
    let archive = or_skip!(archive("aarch64"));
    board.unpack(&archive, THERE).expect("room for it");
    let sums = format!("cd {THERE}/assay-* && sha256sum -c SHA256SUMS");
    board.run(&sums).expect("what was packed");
    let few = FEW.join(" ");
    let qualify = format!("{THERE}/assay-*/bin/assay qualify {CARD} --store {THERE}/runs");
    let shown = board.run(&format!("{qualify} --json {few}"));
    let run: Value = serde_json::from_str(&shown.expect("a run")).expect("JSON");
    assert_eq!(run["run"]["status"], "finished");
    assert_eq!(run["system"]["machine"], "aarch64");
    assert_eq!(run["device"]["layers"][0]["name"], "mmcblk0");
    board.run(&format!("rm -r {THERE}")).expect("removed");
    assert_clean(&board);
}

/// A server of ssh on this machine, which the emulated board reaches as 10.0.2.2.
struct SshServer {
    child: Child,
    port: u16,
    key: PathBuf,
}

impl SshServer {
    fn start(bed: &Bed) -> Result<Self, Unavailable> {
        let servers = prepared::folder(SERVERS, "cargo xtask servers")?;
        let folder = bed.folder_named("server");
        let (key, host_key) = (folder.join("key"), folder.join("host_key"));
        let login = folder.join("home/.ssh");
        fs::create_dir_all(&login).expect("a home");
        let make_key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f"];
        run(&[&make_key[..], &[text(&key)]].concat())?;
        fs::copy(key.with_extension("pub"), login.join("authorized_keys")).expect("a copy");
        let make_host_key = text(&servers.join("dropbearkey")).to_owned();
        run(&[&make_host_key, "-t", "ed25519", "-f", text(&host_key)])?;
        let free = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = free.local_addr().expect("an address").port();
        drop(free);
        let mut command = assay_testkit::command("unshare");
        command.args(["--mount", "sh", "-c", SSH_SERVER, "server"]);
        command.args([text(&folder), text(&servers), &port.to_string()]);
        let child = command.stderr(Stdio::null()).spawn().expect("unshare");
        Ok(Self { child, port, key })
    }
}

impl Drop for SshServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn an_archive_on_a_board_reaches_another_machine() {
    const THERE: &str = "/dev/shm/client";
    let board = or_skip!(Board::shared());
    let archive = or_skip!(archive("aarch64"));
    let client = or_skip!(board.program("ssh"));
    let bed = Bed::new();
    let server = or_skip!(SshServer::start(&bed));
    board.unpack(&archive, THERE).expect("room for it");
    let key = fs::read_to_string(&server.key).expect("a key");
    let options = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR";
    let set_up = format!(
        "cd {THERE} && echo '{key}' >key && chmod 600 key && mkdir bin && printf '%s\n' \
         '#!/bin/sh' 'exec {client} -F none -i {THERE}/key {options} \"$@\"' >bin/ssh && \
         chmod 755 bin/ssh"
    );
    board.run(&set_up).expect("a client");
    let folder = bed.folder_named("measured");
    let few = FEW.join(" ");
    let shown = board.run(&format!(
        "PATH={THERE}/bin:$PATH {THERE}/assay-*/bin/assay qualify {} --store {THERE}/runs \
         --on ssh://root@10.0.2.2:{} --json {few}",
        text(&folder),
        server.port
    ));
    let run: Value = serde_json::from_str(&shown.expect("a run")).expect("JSON");
    assert_eq!(run["run"]["status"], "finished");
    assert_eq!(run["system"]["machine"], std::env::consts::ARCH);
    board.run(&format!("rm -r {THERE}")).expect("removed");
    board.remove_program("ssh").expect("removed");
    assert_clean(&board);
}
