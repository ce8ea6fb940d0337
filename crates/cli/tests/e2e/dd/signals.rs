//! Signals during a copy.

use super::both::{Both, Came, assert_same};
use crate::assay::until;
use assay_testkit::signal_to;
use rustix::process::Signal;
use std::fs;
use std::io::Write;
use std::process::Stdio;

/// Runs dd on a pipe that gives three bytes and then nothing, sends it signals,
/// and gives it the rest.
fn signalled(both: &Both, name: &str, signals: &[Signal]) -> Came {
    let folder = both.folder(name);
    // The number of the process is that of dd: `exec` keeps it.
    let script = "exec dd of=out bs=10 2> err";
    let mut command = assay_testkit::command("sh");
    let prepared = both.command(name, script, &folder);
    for (key, value) in prepared.get_envs() {
        command.env(key, value.unwrap_or_default());
    }
    command
        .args(["-c", script])
        .current_dir(&folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().expect("a shell");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(b"abc").expect("it reads");
    until("the bytes arrive", || {
        fs::read(folder.join("out")).is_ok_and(|bytes| bytes == b"abc")
    });
    let lines = || {
        fs::read_to_string(folder.join("err"))
            .unwrap_or_default()
            .lines()
            .count()
    };
    for (number, &signal) in signals.iter().enumerate() {
        signal_to(child.id(), signal);
        until("it is told", || lines() >= 3 * (number + 1));
    }
    if !signals.contains(&Signal::INT) {
        input.write_all(b"de").expect("it reads");
    }
    drop(input);
    let mut output = child.wait_with_output().expect("it ends");
    output.stderr = fs::read(folder.join("err")).expect("it was written");
    fs::remove_file(folder.join("err")).expect("it is there");
    let mut came = both.came(output, &folder);
    came.stderr
        .retain(|line| line.contains("records") || line.contains(" copied"));
    came
}

#[test]
fn sigusr1_tells_how_it_stands_and_sigint_ends_it() {
    assay_testkit::needs!("dd");
    let both = Both::new();
    for signals in [
        &[Signal::USR1][..],
        &[Signal::USR1, Signal::USR1],
        &[Signal::INT],
        &[Signal::USR1, Signal::INT],
    ] {
        let gnu = signalled(&both, "gnu", signals);
        let assay = signalled(&both, "assay", signals);
        assert_same(&assay, &gnu, &format!("{signals:?}"));
        let code = if signals.contains(&Signal::INT) {
            -2
        } else {
            0
        };
        assert_eq!(assay.code, code);
    }
}

/// As a shell without job control starts what it runs in the background.
#[test]
fn an_interrupt_that_is_ignored_by_whoever_started_it_stays_ignored() {
    assay_testkit::needs!("dd");
    let both = Both::new();
    let script = "trap '' INT; mkfifo fifo; dd of=out bs=10 < fifo & dd=$!; exec 3> fifo; \
        printf abc >&3; while ! [ -s out ]; do sleep 0.05; done; \
        kill -INT $dd; sleep 0.2; printf de >&3; exec 3>&-; wait $dd; echo $?; rm fifo";
    both.compare(script);
}
