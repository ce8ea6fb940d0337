//! Causes besides storage that keep this process waiting: limits of control groups, a hypervisor,
//! and times in which it was stopped.

use crate::files::MountEntry;
use crate::roots::Roots;
use crate::{attr, files};
use assay_model::evidence::{AgentStop, Hindrances, IoLimit, Throttled};
use rustix::thread::gettid;
use rustix::time::{ClockId, clock_gettime};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::Duration;

/// Interval at which the thread of [`StopWatch`] wakes up.
const INTERVAL_NS: u64 = 100_000_000;
/// Shortest delay of the thread that counts as a stop.
const SHORTEST_STOP_NS: u64 = 250_000_000;
/// Number of stops that are kept.
const MOST_STOPS: usize = 32;
/// Number of times that a late thread is waited for.
const MOMENTS: u32 = 10;
const MOMENT: Duration = Duration::from_millis(2);
/// `USER_HZ`: times in `/proc/stat` are hundredths of a second.
const TICK_NS: u64 = 10_000_000;
/// Keys of `io.max`, and the matching suffixes of the files of `blkio.throttle`.
const LIMITS: [(&str, &str); 4] = [
    ("rbps", "read_bps"),
    ("wbps", "write_bps"),
    ("riops", "read_iops"),
    ("wiops", "write_iops"),
];

/// Reads the counters.
pub(crate) fn hindrances(roots: &Roots) -> Hindrances {
    let stat = attr::whole(&roots.proc.join("stat")).unwrap_or_default();
    let steal = attr::value_after(&stat, "cpu ").and_then(|all| all.split_whitespace().nth(7));
    let processors = stat.lines().filter(|line| line.starts_with("cpu")).count();
    let mut found = Hindrances {
        suspended_ns: time_ns(ClockId::Boottime).saturating_sub(time_ns(ClockId::Monotonic)),
        stops: stops(),
        steal_ns: steal.and_then(|ticks| Some(ticks.parse::<u64>().ok()?.saturating_mul(TICK_NS))),
        processors: u32::try_from(processors.saturating_sub(1)).unwrap_or(u32::MAX),
        ..Hindrances::default()
    };
    let mounts = files::read_mounts(roots).unwrap_or_default();
    let own = attr::whole(&roots.proc.join("self/cgroup")).unwrap_or_default();
    for controller in ["", "cpu", "blkio"] {
        for (group, folder) in folders(&mounts, &own, controller).unwrap_or_default() {
            add_limits(&group, &roots.root.join(folder), &mut found);
        }
    }
    found
}

/// Detects that this process was stopped, by a thread that wakes up at regular intervals.
struct StopWatch {
    thread: i32,
    /// Time of the last wake-up.
    last_ns: u64,
    /// Total time that the thread had waited for a processor at the last wake-up.
    delay_ns: u64,
    stops: Vec<AgentStop>,
}

/// Returns the stop watch of this process; `None` until the thread runs.
fn stop_watch() -> MutexGuard<'static, Option<StopWatch>> {
    static STOP_WATCH: Mutex<Option<StopWatch>> = Mutex::new(None);
    STOP_WATCH.lock().unwrap_or_else(PoisonError::into_inner)
}

impl StopWatch {
    /// Records a stop if the thread woke up late and had not waited for a processor.
    fn woke_up(&mut self) {
        let end_ns = time_ns(ClockId::Monotonic);
        let delay_ns = run_delay_ns(self.thread).unwrap_or(u64::MAX);
        let waited_ns = delay_ns.saturating_sub(self.delay_ns);
        let due_ns = self.last_ns + INTERVAL_NS;
        let length_ns = end_ns.saturating_sub(due_ns).saturating_sub(waited_ns);
        (self.last_ns, self.delay_ns) = (end_ns, delay_ns);
        if length_ns >= SHORTEST_STOP_NS {
            let surplus = (self.stops.len() + 1).saturating_sub(MOST_STOPS);
            self.stops.drain(..surplus);
            self.stops.push(AgentStop { end_ns, length_ns });
        }
    }
}

/// Starts the thread that detects when this process is stopped. The thread shares the working
/// directory and open files of its creator, so the creator must keep none of a file system under
/// test. Stops are not detected if no thread can be created.
pub fn watch_for_stops() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let _ = thread::Builder::new().spawn(|| {
            let thread = gettid().as_raw_nonzero().get();
            // Without the run delay, a stop cannot be distinguished from a busy machine.
            let Some(delay_ns) = run_delay_ns(thread) else {
                return;
            };
            *stop_watch() = Some(StopWatch {
                thread,
                last_ns: time_ns(ClockId::Monotonic),
                delay_ns,
                stops: Vec::new(),
            });
            loop {
                thread::sleep(Duration::from_nanos(INTERVAL_NS));
                if let Some(watch) = stop_watch().as_mut() {
                    watch.woke_up();
                }
            }
        });
    });
}

/// Returns the latest times in which this process was stopped. If a stop has just ended, waits
/// briefly until the thread has recorded it: the kernel updates a thread's run delay when it runs
/// again, so only then a stop differs from a busy machine.
fn stops() -> Vec<AgentStop> {
    let mut moments = 0..MOMENTS;
    loop {
        if let Some(watch) = &*stop_watch() {
            let latest_ns = watch.last_ns + INTERVAL_NS + SHORTEST_STOP_NS;
            if time_ns(ClockId::Monotonic) < latest_ns || moments.next().is_none() {
                return watch.stops.clone();
            }
        } else {
            return Vec::new();
        }
        thread::sleep(MOMENT);
    }
}

/// Returns the time of a clock that counts from system start, in nanoseconds.
pub(crate) fn time_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    // Neither is ever negative on these clocks.
    let (secs, nanos) = (u64::try_from(now.tv_sec), u64::try_from(now.tv_nsec));
    secs.unwrap_or(0) * 1_000_000_000 + nanos.unwrap_or(0)
}

/// Returns the time for which a thread of this process was ready to run without a processor.
fn run_delay_ns(thread: i32) -> Option<u64> {
    let path = format!("/proc/self/task/{thread}/schedstat");
    let text = attr::whole(Path::new(&path)).ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}

/// Returns names and folders of a process's control group and its ancestors. Version 2 has one
/// hierarchy without a name for all controllers.
fn folders(mounts: &[MountEntry], own: &str, controller: &str) -> Option<Vec<(String, PathBuf)>> {
    let mut groups = own
        .lines()
        .filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let (_, path) = groups.find(|(names, _)| names.split(',').any(|name| name == controller))?;
    let is_here = |entry: &&MountEntry| match controller {
        "" => entry.mount.fs_type == "cgroup2",
        name => {
            let mut options = entry.mount.super_options.iter();
            entry.mount.fs_type == "cgroup" && options.any(|option| option == name)
        }
    };
    let entry = mounts.iter().find(is_here)?;
    let below = Path::new(path).strip_prefix(&entry.root).ok()?;
    let point = entry.mount.point.strip_prefix("/").ok()?;
    let name = |group: &Path| Path::new("/").join(group).display().to_string();
    let groups = below.ancestors();
    Some(
        groups
            .map(|group| (name(group), point.join(group)))
            .collect(),
    )
}

/// Adds the limits of a control group, of either version.
fn add_limits(group: &str, folder: &Path, found: &mut Hindrances) {
    let read = |file: &str| attr::whole(&folder.join(file)).unwrap_or_default();
    let quota = [read("cpu.max"), read("cpu.cfs_quota_us")].concat();
    let stat = read("cpu.stat");
    let stat =
        |key, unit_ns| Some(attr::value_after(&stat, key)?.trim().parse::<u64>().ok()? * unit_ns);
    if quota.starts_with(|first: char| first.is_ascii_digit()) {
        let throttled = stat("throttled_usec ", 1000).or_else(|| stat("throttled_time ", 1));
        found.throttled.extend(throttled.map(|time_ns| Throttled {
            group: group.to_owned(),
            time_ns,
        }));
    }
    let mut add = |file: &str, device: &str, key: &str, value: &str| {
        found
            .io_limits
            .extend(value.parse().map(|per_second| IoLimit {
                source: format!("{file} of cgroup {group}"),
                device: device.to_owned(),
                key: key.to_owned(),
                per_second,
            }));
    };
    for line in read("io.max").lines() {
        let (device, limits) = line.split_once(' ').unwrap_or_default();
        for (key, value) in limits.split(' ').filter_map(|limit| limit.split_once('=')) {
            add("io.max", device, key, value);
        }
    }
    for (key, name) in LIMITS {
        let file = format!("blkio.throttle.{name}_device");
        for (device, value) in read(&file).lines().filter_map(|line| line.split_once(' ')) {
            add(&file, device, key, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Machine;

    #[test]
    fn limits_of_both_versions_are_found_up_to_the_root() {
        let machine = Machine::new();
        machine.mountinfo(
            "30 1 0:25 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
             31 1 0:26 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n\
             32 1 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpuacct,cpu\n",
        );
        machine.file("proc/self/cgroup", "4:cpuacct,cpu:/a\n3:blkio:/\n0::/a/b\n");
        machine.file(
            "proc/stat",
            "cpu  1 2 3 4 5 6 7 80 0 0\ncpu0 1\ncpu1 1\nctxt 7\n",
        );
        let group = "sys/fs/cgroup/unified/a";
        let limits = "8:0 rbps=1048576 wbps=max riops=max wiops=20\n";
        machine.file(&format!("{group}/io.max"), limits);
        machine.file(&format!("{group}/b/cpu.max"), "50000 100000\n");
        machine.file(
            &format!("{group}/b/cpu.stat"),
            "nr_throttled 3\nthrottled_usec 9\n",
        );
        machine.file("sys/fs/cgroup/cpu/a/cpu.cfs_quota_us", "-1\n");
        machine.file("sys/fs/cgroup/cpu/a/cpu.stat", "throttled_time 90000\n");
        let throttle = "blkio.throttle.write_bps_device";
        machine.file(&format!("sys/fs/cgroup/blkio/{throttle}"), "8:0 4096\n");
        let found = hindrances(&machine.roots);
        assert_eq!((found.steal_ns, found.processors), (Some(800_000_000), 2));
        let throttled = Throttled {
            group: "/a/b".to_owned(),
            time_ns: 9000,
        };
        assert_eq!(found.throttled, [throttled]);
        let limit = |source: &str, key: &str, per_second| IoLimit {
            source: source.to_owned(),
            device: "8:0".to_owned(),
            key: key.to_owned(),
            per_second,
        };
        let throttle = format!("{throttle} of cgroup /");
        assert_eq!(
            found.io_limits,
            [
                limit("io.max of cgroup /a", "rbps", 1 << 20),
                limit("io.max of cgroup /a", "wiops", 20),
                limit(&throttle, "wbps", 4096),
            ]
        );
    }
}
