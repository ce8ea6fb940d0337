//! In a sandbox that filters system calls (seccomp): what it refuses, or kills for, is
//! an engine less, and not the end of a measurement.

use crate::assay::{Bed, Running, is_pure, label, test_folders, text, trial, undisturbed};
use crate::over_ssh::Machine;
use assay_testkit::{Volume, needs, or_skip};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

/// Becomes the words behind it, under a filter that does the first of them, a number,
/// to who calls `io_uring_setup(2)`.
const FILTER: &str = "\
import ctypes, os, struct, sys
NO_NEW_PRIVS, SET_SECCOMP, FILTER = 38, 22, 2
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
IO_URING_SETUP, ALLOW = 425, 0x7fff0000
steps = [(LOAD, 0, 0, 0), (EQUAL, 0, 1, IO_URING_SETUP),
         (RETURN, 0, 0, int(sys.argv[1], 0)), (RETURN, 0, 0, ALLOW)]
code = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *step) for step in steps))
program = ctypes.create_string_buffer(struct.pack('HxxxxxxP', len(steps), ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(NO_NEW_PRIVS, 1, 0, 0, 0) == 0
assert libc.prctl(SET_SECCOMP, FILTER, program, 0, 0) == 0, ctypes.get_errno()
os.execv(sys.argv[2], sys.argv[2:])
";

/// What filters do: kill the process, send it a signal that kills, or say that there is
/// no such call or no permission.
const KILL: &str = "0x80000000";
const TRAP: &str = "0x00030000";
const NO_SUCH_CALL: &str = "0x00050026";
const NO_PERMISSION: &str = "0x00050001";

/// A machine whose agent is this program in such a sandbox.
fn sandbox(action: &str) -> Machine {
    let program = env!("CARGO_BIN_EXE_assay");
    let filter = FILTER.replace('\'', "'\\''");
    Machine::new(&format!(
        "exec /usr/bin/python3 -c '{filter}' {action} '{program}' --serve-as-assay-agent \"$@\""
    ))
}

#[test]
fn a_filter_that_kills_or_refuses_costs_an_engine_only() {
    needs!("/usr/bin/python3");
    for action in [KILL, TRAP, NO_SUCH_CALL, NO_PERMISSION] {
        let machine = sandbox(action);
        let job = machine.bed.join("j.fio");
        let data = machine.bed.join("data");
        let run = |engine: &str| {
            let lines = format!(
                "[j]\nioengine={engine}\nrw=write\nbs=4k\nsize=64k\nfilename={}\n",
                text(&data)
            );
            fs::write(&job, lines).expect("a file");
            machine.run(&["run", "--on", "ssh://board", text(&job), "--trials", "1"])
        };
        run("psync").assert_code(0);
        let refused = run("io_uring");
        refused.assert_code(1);
        let words = ["io_uring does not work here"];
        assert!(refused.says(&words), "{action}: {:#?}", refused.err);
        machine.assert_clean();
    }
}

/// Without root there may be less evidence, but no wrong word.
#[test]
fn a_user_without_rights_gets_true_labels_or_the_reason_why_not() {
    needs!(root, "mkfs.ext4", "setpriv");
    let volume = or_skip!(Volume::new("ext4", 256));
    let open = Permissions::from_mode(0o755);
    fs::set_permissions(volume.scratch().path(), open).unwrap();
    let folder = volume.point().join("theirs");
    fs::create_dir(&folder).unwrap();
    std::os::unix::fs::chown(&folder, Some(65534), Some(65534)).unwrap();

    let bed = Bed::new();
    let jobs = "ladder-*,read-cached,read-buffered,seq-read-1m";
    let words = [
        "qualify",
        text(&folder),
        "--quick",
        "--json",
        "--size",
        "32M",
        "--trials",
        "1",
        "--only",
        jobs,
    ];
    let measure = || {
        let ended = Running::start(&mut bed.command_of_nobody(&words)).end();
        ended.assert_code(0);
        assert!(test_folders(&folder).is_empty());
        ended.json()
    };
    // A sync(2) of others writes the page cache back.
    let run = undisturbed(measure, |run| {
        is_pure(&trial(run, "ladder-plain")["evidence"]["write"])
    });
    assert_eq!(run["system"]["root"], false);
    for (job, direction, truth) in [
        ("ladder-plain", "write", "page-cache"),
        ("ladder-fdatasync", "write", "device"),
        ("ladder-direct", "write", "device-unflushed"),
        ("ladder-dsync", "write", "device"),
        ("read-cached", "read", "page-cache"),
        ("read-buffered", "read", "device"),
        ("seq-read-1m", "read", "device"),
    ] {
        let (label, because) = label(&run, job, direction);
        if label == "unknown" {
            let why = &trial(&run, job)["evidence"][direction]["why"];
            assert!(why.as_str().is_some_and(|why| !why.is_empty()), "{job}");
        } else {
            assert_eq!(label, truth, "{job}: {because}");
        }
    }
}
