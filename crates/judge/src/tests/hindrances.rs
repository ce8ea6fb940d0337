//! Hindrances: causes besides the storage that kept the agent waiting.

use super::*;
use assay_model::evidence::{AgentStop, Hindrances, IoLimit, Throttled};

const SECOND: u64 = 1_000_000_000;

fn throttled(group: &str, time_ns: u64) -> Throttled {
    Throttled {
        group: group.to_owned(),
        time_ns,
    }
}

/// Ten seconds on two processors in one group, with what happened meanwhile.
fn trial(change: impl FnOnce(&mut Hindrances)) -> Trial {
    let quiet = Hindrances {
        suspended_ns: 7,
        stops: Vec::new(),
        steal_ns: Some(9),
        processors: 2,
        throttled: vec![throttled("/a", 5), throttled("/", 3600 * SECOND)],
        io_limits: Vec::new(),
    };
    Trial::write().direct().with(|t| {
        t.measured().elapsed_ns = 10 * SECOND;
        t.moment(true).at_ns = 10 * SECOND;
        let mut after = quiet.clone();
        change(&mut after);
        t.moment(false).hindrances = Some(quiet);
        t.moment(true).hindrances = Some(after);
    })
}

fn told(trial: &Trial) -> Vec<String> {
    let hindrances = trial.judged().hindrances;
    hindrances.into_iter().map(|found| found.words).collect()
}

#[test]
fn a_quiet_machine_hinders_nothing() {
    assert_eq!(told(&trial(|_| {})), [""; 0]);
    let little = trial(|now| {
        now.steal_ns = Some(9 + SECOND);
        now.throttled[0].time_ns += SECOND / 10;
    });
    let little = little.with(|t| t.measured().cpu.run_delay_ns = SECOND / 2);
    assert_eq!(told(&little), [""; 0]);
    assert_eq!(told(&Trial::write()), [""; 0], "an old record");
}

#[test]
fn each_hindrance_has_its_own_words() {
    let stopped = trial(|now| {
        let stop = |end_ns, length_ns| AgentStop { end_ns, length_ns };
        // The first began before the clock.
        now.stops = vec![stop(SECOND, 2 * SECOND), stop(9 * SECOND, SECOND)];
        now.suspended_ns += SECOND + SECOND / 5;
    });
    assert_eq!(
        told(&stopped),
        ["the agent stood still 3.20 s (stopped or suspended)"]
    );
    let steal = trial(|now| now.steal_ns = Some(9 + 2 * SECOND));
    assert_eq!(
        told(&steal),
        ["the hypervisor took 10 % of the processors' time"]
    );
    let quota = trial(|now| now.throttled[0].time_ns += SECOND);
    assert_eq!(
        told(&quota),
        ["the CPU limit of cgroup /a stopped threads of it for 1.00 s"]
    );
    let busy = trial(|_| {}).with(|t| t.measured().cpu.run_delay_ns = SECOND);
    assert_eq!(
        told(&busy),
        ["the agent's threads waited for a processor for 10 % of the time"]
    );
}

#[test]
fn a_limit_is_told_of_devices_that_reach_it() {
    let limited = |key: &str, device: &str, per_second| {
        let limit = IoLimit {
            source: "io.max of cgroup /a".to_owned(),
            device: device.to_owned(),
            key: key.to_owned(),
            per_second,
        };
        let trial = trial(|now| now.io_limits.push(limit)).wrote("sda", JOB);
        told(&trial.with(|t| t.counters("sda").write_ios += 1000))
    };
    let words = "limited by io.max of cgroup /a to 25.6 MiB/s";
    assert_eq!(limited("wbps", "8:0", JOB / 10), [words]);
    assert_eq!(limited("wbps", "8:0", JOB), [""; 0], "far below it");
    assert_eq!(limited("wbps", "8:0", JOB / 100), [""; 0], "far above it");
    assert_eq!(limited("wbps", "8:16", JOB / 10), [""; 0], "another device");
    let words = "limited by io.max of cgroup /a to 100 IOPS";
    assert_eq!(limited("wiops", "8:0", 100), [words], "requests, not calls");
}
