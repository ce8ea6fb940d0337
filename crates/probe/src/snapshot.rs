//! Counters at one moment.

use crate::attr;
use crate::counters::device_counters;
use crate::hindrances::{hindrances, time_ns};
use crate::roots::Roots;
use assay_model::evidence::{
    CpuState, Glance, MemoryCounters, OwnIo, Pressure, Snapshot, ThermalZone,
};
use assay_model::storage::Storage;
use rustix::time::ClockId;
use std::path::Path;

/// Takes all counters except [`Snapshot::file_cache`], which needs the open file.
///
/// It is called right after a measured clock stops, so the values that keep changing are read
/// first: the devices' counters and this process's own I/O.
pub fn snapshot(roots: &Roots, storage: &Storage) -> Snapshot {
    let mut snapshot = counters(roots, storage);
    add_machine_state(roots, &mut snapshot);
    snapshot
}

/// Takes only the counters that show where bytes went: the devices' counters, this process's own
/// I/O, and memory. Used for steps that are shorter than a call of [`add_machine_state`].
pub fn counters(roots: &Roots, storage: &Storage) -> Snapshot {
    Snapshot {
        at_ns: time_ns(ClockId::Monotonic),
        devices: storage
            .layers
            .iter()
            .filter_map(|layer| device_counters(roots, &layer.name))
            .collect(),
        own_io: own_io(roots),
        memory: memory(roots),
        ..Snapshot::default()
    }
}

/// Reads the values that are cheap enough to read while the clock runs, `/proc/meminfo` and the
/// thermal zones: tens of microseconds, longer if a sensor's driver waits for its hardware.
pub fn glance(roots: &Roots) -> Glance {
    let memory = memory(roots);
    let zones = thermal(roots).into_iter();
    Glance {
        at_ns: time_ns(ClockId::Monotonic),
        hottest_millicelsius: zones.map(|zone| zone.millicelsius).max(),
        dirty_bytes: memory.map(|memory| memory.dirty_bytes),
        writeback_bytes: memory.map(|memory| memory.writeback_bytes),
    }
}

/// Adds the state of the machine: pressure, context switches, frequencies, temperatures, and
/// hindrances (suspends, stops of the agent, stolen CPU time, limits of control groups).
pub fn add_machine_state(roots: &Roots, snapshot: &mut Snapshot) {
    snapshot.pressure = pressure(roots);
    snapshot.context_switches = context_switches(roots);
    snapshot.cpus = cpus(roots);
    snapshot.thermal = thermal(roots);
    snapshot.hindrances = Some(hindrances(roots));
}

/// Returns `counters` with the state of the machine from `around`, as read by [`add_machine_state`]
/// before.
pub fn with_surroundings(counters: Snapshot, around: Snapshot) -> Snapshot {
    Snapshot {
        pressure: around.pressure,
        context_switches: around.context_switches,
        cpus: around.cpus,
        thermal: around.thermal,
        hindrances: around.hindrances,
        ..counters
    }
}

/// Reads the I/O that the kernel accounts to this process and to the children it has waited for.
pub fn own_io(roots: &Roots) -> Option<OwnIo> {
    parse_io(&attr::whole(&roots.proc.join("self/io")).ok()?)
}

/// Reads `/proc/PID/io` (proc_pid_io(5)).
pub(crate) fn parse_io(text: &str) -> Option<OwnIo> {
    let value = |key| attr::value_after(text, key)?.parse().ok();
    Some(OwnIo {
        read_bytes: value("read_bytes:")?,
        write_bytes: value("write_bytes:")?,
        cancelled_write_bytes: value("cancelled_write_bytes:")?,
    })
}

/// Reads `/proc/meminfo`, whose `kB` are units of 1024 bytes
/// (proc_meminfo(5)).
pub(crate) fn memory(roots: &Roots) -> Option<MemoryCounters> {
    let text = attr::whole(&roots.proc.join("meminfo")).ok()?;
    let bytes = |key| attr::kibibytes_after(&text, key);
    Some(MemoryCounters {
        total_bytes: bytes("MemTotal:")?,
        available_bytes: bytes("MemAvailable:"),
        cached_bytes: bytes("Cached:")?,
        buffers_bytes: bytes("Buffers:")?,
        dirty_bytes: bytes("Dirty:")?,
        writeback_bytes: bytes("Writeback:")?,
    })
}

/// Reads `/proc/pressure` (Documentation/accounting/psi.rst).
fn pressure(roots: &Roots) -> Option<Pressure> {
    let folder = roots.proc.join("pressure");
    let total = |text: &str, line: &str| -> Option<u64> {
        let (_, total) = attr::value_after(text, line)?.rsplit_once("total=")?;
        total.parse().ok()
    };
    let read = |name: &str| attr::whole(&folder.join(name)).ok();
    let io = read("io")?;
    Some(Pressure {
        io_some_us: total(&io, "some")?,
        io_full_us: total(&io, "full")?,
        // The kernel defines no "full" pressure of the CPU for the whole system.
        cpu_some_us: total(&read("cpu")?, "some")?,
        memory_some_us: total(&read("memory")?, "some")?,
    })
}

fn context_switches(roots: &Roots) -> Option<u64> {
    let text = attr::whole(&roots.proc.join("stat")).ok()?;
    attr::value_after(&text, "ctxt ")?.parse().ok()
}

/// Returns the CPUs with a known frequency or governor, by number.
fn cpus(roots: &Roots) -> Vec<CpuState> {
    let folders = attr::numbered_entries(&roots.sys.join("devices/system/cpu"), "cpu");
    let cpus = folders.into_iter();
    let mut cpus: Vec<CpuState> = cpus
        .filter_map(|(number, folder)| cpu(number, &folder.join("cpufreq")))
        .collect();
    cpus.sort_by_key(|cpu| cpu.cpu);
    cpus
}

fn cpu(cpu: u32, cpufreq: &Path) -> Option<CpuState> {
    let state = CpuState {
        cpu,
        khz: attr::number(&cpufreq.join("scaling_cur_freq")),
        governor: attr::text(&cpufreq.join("scaling_governor")),
    };
    (state.khz.is_some() || state.governor.is_some()).then_some(state)
}

/// Returns the zones whose sensor responds, by number.
fn thermal(roots: &Roots) -> Vec<ThermalZone> {
    let mut zones = attr::numbered_entries(&roots.sys.join("class/thermal"), ZONE);
    zones.sort_by_key(|(number, _)| *number);
    let zones = zones.into_iter();
    zones
        .filter_map(|(number, folder)| zone(number, &folder))
        .collect()
}

/// Prefix of the folders of thermal zones.
pub(crate) const ZONE: &str = "thermal_zone";

/// Reads a thermal zone; `None` when its sensor does not respond.
pub(crate) fn zone(number: u32, folder: &Path) -> Option<ThermalZone> {
    let name = attr::text(&folder.join("type"));
    Some(ThermalZone {
        name: name.unwrap_or_else(|| format!("{ZONE}{number}")),
        millicelsius: attr::number(&folder.join("temp"))?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Machine;
    use assay_model::storage::Backing;

    fn no_storage() -> Storage {
        Storage {
            path: "/".into(),
            mount: None,
            backing: Backing::Memory {
                fs_type: "tmpfs".to_owned(),
            },
            layers: Vec::new(),
            total: None,
            available: None,
        }
    }

    const MEMINFO: &str = "MemTotal:         958 kB\nMemFree:  1 kB\nMemAvailable: 600 kB\n\
        Buffers: 7 kB\nCached: 200 kB\nSwapCached: 9 kB\nDirty: 3 kB\nWriteback: 2 kB\nWritebackTmp: 8 kB\n";

    #[test]
    fn meminfo_is_turned_into_bytes() {
        let machine = Machine::new();
        machine.file("proc/meminfo", MEMINFO);
        let memory = memory(&machine.roots).unwrap();
        assert_eq!(memory.total_bytes, 958 * 1024);
        assert_eq!(memory.available_bytes, Some(600 * 1024));
        assert_eq!(memory.cached_bytes, 200 * 1024, "not SwapCached");
        assert_eq!(memory.writeback_bytes, 2 * 1024, "not WritebackTmp");
    }

    #[test]
    fn a_kernel_without_mem_available_still_has_the_rest() {
        let machine = Machine::new();
        machine.file("proc/meminfo", &MEMINFO.replace("MemAvailable", "MemOther"));
        let memory = memory(&machine.roots).unwrap();
        assert_eq!(memory.available_bytes, None);
        assert_eq!(memory.dirty_bytes, 3 * 1024);
    }

    #[test]
    fn what_a_machine_does_not_show_is_none() {
        let machine = Machine::new();
        let snapshot = snapshot(&machine.roots, &no_storage());
        assert!(snapshot.at_ns > 0);
        let nothing = Snapshot {
            at_ns: snapshot.at_ns,
            hindrances: snapshot.hindrances.clone(),
            ..Snapshot::default()
        };
        assert_eq!(snapshot, nothing);
        let hindrances = snapshot.hindrances.unwrap();
        assert_eq!(
            (hindrances.steal_ns, hindrances.io_limits),
            (None, Vec::new())
        );
    }

    #[test]
    fn a_board_with_sensors_shows_them_in_order() {
        let machine = Machine::new();
        for (cpu, khz) in [(10, 1_800_000), (2, 600_000)] {
            let folder = format!("sys/devices/system/cpu/cpu{cpu}/cpufreq");
            machine.file(&format!("{folder}/scaling_cur_freq"), &format!("{khz}\n"));
            machine.file(&format!("{folder}/scaling_governor"), "schedutil\n");
        }
        machine.file("sys/devices/system/cpu/cpufreq/boost", "1\n");
        machine.file("sys/class/thermal/thermal_zone0/type", "cpu-thermal\n");
        machine.file("sys/class/thermal/thermal_zone0/temp", "-5000\n");
        machine.file("sys/class/thermal/thermal_zone1/type", "broken-sensor\n");
        machine.file(
            "proc/pressure/io",
            "some avg10=0.00 avg60=0.00 avg300=0.00 total=11\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n",
        );
        machine.file("proc/pressure/cpu", "some avg10=0.00 total=5\n");
        machine.file("proc/pressure/memory", "some avg10=0.00 total=3\n");
        machine.file("proc/stat", "cpu  1 2 3\nintr 9 9\nctxt 4242\nbtime 1\n");
        let snapshot = snapshot(&machine.roots, &no_storage());
        let cpus: Vec<u32> = snapshot.cpus.iter().map(|cpu| cpu.cpu).collect();
        assert_eq!(cpus, [2, 10]);
        assert_eq!(snapshot.cpus[0].khz, Some(600_000));
        assert_eq!(snapshot.thermal.len(), 1, "a sensor without a value");
        assert_eq!(snapshot.thermal[0].millicelsius, -5000);
        assert_eq!(snapshot.pressure.unwrap().io_full_us, 7);
        assert_eq!(snapshot.context_switches, Some(4242));
        let counters = Snapshot {
            at_ns: snapshot.at_ns,
            ..counters(&machine.roots, &no_storage())
        };
        assert_eq!(with_surroundings(counters, snapshot.clone()), snapshot);
    }

    #[test]
    fn own_io_needs_all_three_lines() {
        let io = "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 512\n";
        let parsed = parse_io(io).unwrap();
        assert_eq!((parsed.read_bytes, parsed.write_bytes), (4096, 8192));
        assert_eq!(parsed.cancelled_write_bytes, 512);
        assert_eq!(parse_io("read_bytes: 4096\n"), None);
    }
}
