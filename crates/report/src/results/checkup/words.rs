//! Describes each finding: cause, location, effect, remedy. Foreign texts are not cleaned here; the
//! views do that.

use crate::words::{celsius, enumerate, percent};
use assay_lang::counted;
use assay_model::checkup::{DiskUse, Facility, Finding, PowerKind};
use assay_model::units::{Bytes, Nanos};

/// Description of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// Finding, and its location.
    pub what: String,
    /// Effect on measurements.
    pub why: &'static str,
    /// Remedy for the finding.
    pub remedy: String,
}

/// Describes a finding.
pub fn words(finding: &Finding) -> Words {
    let (why, remedy) = reason(finding);
    Words {
        what: what(finding),
        why,
        remedy,
    }
}

fn what(finding: &Finding) -> String {
    match finding {
        Finding::Memory { what } => what.clone(),
        Finding::UnknownDevice { why } => format!("the device behind this path is unknown: {why}"),
        Finding::NotWritable { reasons } => {
            format!("nothing can be written here: {}", enumerate(reasons))
        }
        Finding::LoopDevice { device, file } => {
            format!("{device} is a loop device, and this machine caches its file {file}")
        }
        Finding::IostatsOff { device } => format!("the kernel does not count the I/O of {device}"),
        Finding::FlushesDropped { device } => format!(
            "{device} has a volatile cache, but its queue says write through: flushes are not sent"
        ),
        Finding::NoBarriers { point, option } => format!("{point} is mounted with {option}"),
        Finding::OthersIo {
            disk,
            elapsed_ns,
            processes,
        } => others(disk, *elapsed_ns, processes),
        Finding::IoLimit { limits } => {
            format!("a control group limits I/O: {}", enumerate(limits))
        }
        Finding::BusyCpu { share } => {
            format!("others use {} of the processors' time", percent(*share))
        }
        Finding::DirtyPages { bytes } => format!("{bytes} of dirty pages are still to be written"),
        Finding::NoRoot => "not run as root".to_owned(),
        Finding::LittleRoom { available } => format!("only {available} are free"),
        Finding::NearlyFull { used_percent } => {
            format!("the file system is {used_percent} % full")
        }
        Finding::SwapOnDevice { path } => format!("swap space {path} is on this device"),
        Finding::Swapping { used } => format!("{used} of memory are swapped out"),
        Finding::NoDiscard { point } => format!("{point} is mounted without discard"),
        Finding::OnlineDiscard { point } => format!("{point} is mounted with discard"),
        Finding::Encrypted { device } => format!("{device} encrypts (dm-crypt)"),
        Finding::Compressed { point, option } => format!("{point} is mounted with {option}"),
        Finding::SlowBus { device, bus, could } => match could {
            Some(could) => format!("{device} runs at {bus}, and could at {could}"),
            None => format!("{device} runs on a slow bus: {bus}"),
        },
        Finding::Worn { device, problems } => format!("{device} is worn: {}", problems.join("; ")),
        Finding::CacheOff { device } => format!("the volatile cache of {device} is off"),
        Finding::Governor { governors } => {
            format!("CPU frequency is left to {}", enumerate(governors))
        }
        Finding::FrequencyLimit { khz, most_khz } => format!(
            "processors are held at {} MHz of {} MHz",
            khz / 1_000,
            most_khz / 1_000
        ),
        Finding::Throttled { what } => format!("slowed down against heat now: {}", enumerate(what)),
        Finding::WasThrottled { events } => format!(
            "processors were slowed down by heat {} since boot",
            counted!(*events, "{n} time", "{n} times")
        ),
        Finding::Hot {
            zone,
            millicelsius,
            slows_from_millicelsius,
        } => format!(
            "{zone} is at {}, and is slowed down from {} on",
            celsius(*millicelsius),
            celsius(*slows_from_millicelsius)
        ),
        Finding::OldKernel { release, lacks } => {
            format!("Linux {release} lacks {}", enumerate(lacks))
        }
        Finding::MissingFacility { answer, .. } => answer.clone(),
        Finding::ClockSource { source, .. } => format!("the kernel's clock source is {source}"),
        Finding::PowerSaving {
            how, device, value, ..
        } => power(*how, device, value),
        Finding::LaptopMode => "laptop mode is on".to_owned(),
        Finding::DirtyLimits { background, limit } => dirty_limits(*background, *limit),
        Finding::MemoryLimit { limit, memory } => {
            format!("a control group limits memory to {limit} of {memory}")
        }
        Finding::CpuLimit { cpus } => format!(
            "a control group limits processors' time to {} of one",
            percent(*cpus)
        ),
        Finding::Container { name } => format!("in a container ({name})"),
        Finding::VirtualMachine { name } if name == "unknown" => {
            "a virtual machine, of which kind is not known".to_owned()
        }
        Finding::VirtualMachine { name } => format!("a virtual machine ({name})"),
    }
}

fn others(disk: &DiskUse, elapsed_ns: u64, processes: &[String]) -> String {
    let moved = [("read", disk.read_bytes), ("wrote", disk.write_bytes)];
    let moved = moved.iter().filter(|(_, bytes)| *bytes > 0);
    let moved: Vec<String> = moved
        .map(|(verb, bytes)| format!("{verb} {}", Bytes(*bytes)))
        .collect();
    let who = match processes.is_empty() {
        true => String::new(),
        false => format!("; busy then: {}", enumerate(processes)),
    };
    let name = &disk.name;
    format!(
        "others {} on {name} in {}{who}",
        enumerate(&moved),
        Nanos(elapsed_ns)
    )
}

fn power(how: PowerKind, device: &str, value: &str) -> String {
    match how {
        PowerKind::Runtime => format!("{device} may sleep when it is idle"),
        PowerKind::UsbAutosuspend => format!("the USB device {device} may sleep when it is idle"),
        PowerKind::NvmeApst => format!(
            "{device} may change to states of less power, as far as that costs no more than {value} \
             µs"
        ),
        PowerKind::PcieAspm => format!("links of PCIe may sleep: {value}"),
        PowerKind::SataLink => format!("the SATA link {device} may sleep: {value}"),
    }
}

fn dirty_limits(background: Option<Bytes>, limit: Option<Bytes>) -> String {
    let background = background.map(|bytes| format!("written in the background from {bytes} on"));
    let limit = limit.map(|bytes| format!("writers held up from {bytes} on"));
    let known: Vec<String> = [background, limit].into_iter().flatten().collect();
    format!(
        "limits of dirty pages are not the usual ones: {}",
        known.join(", ")
    )
}

/// Returns the effect and the remedy.
fn reason(finding: &Finding) -> (&'static str, String) {
    let fixed = match finding {
        Finding::Memory { .. } => (
            "figures are those of memory",
            "choose a path on the storage you mean",
        ),
        Finding::UnknownDevice { .. } => (
            "no counter tells what reached the device: labels are unknown",
            "measure where the device is, or give the block device",
        ),
        Finding::NotWritable { .. } => (
            "only reads of existing files can be measured",
            "choose a folder that this user may write, or free the device",
        ),
        Finding::LoopDevice { .. } => (
            "what is labelled device is the loop device, not the storage beneath it",
            "measure that, or set losetup --direct-io=on",
        ),
        Finding::IostatsOff { .. } => (
            "nothing tells how much reached the device: labels are unknown",
            "write 1 to queue/iostats of the disk",
        ),
        Finding::FlushesDropped { .. } => (
            "data that was flushed may be lost in a power cut, and flushes look free",
            "write 'write back' to queue/write_cache of the disk",
        ),
        Finding::NoBarriers { .. } => (
            "flushes of files do not reach the device, and look free",
            "mount it without that option",
        ),
        Finding::OthersIo { .. } => (
            "figures include what others do, and evidence cannot always tell whose bytes they were",
            "stop these processes, or measure another device",
        ),
        Finding::IoLimit { .. } => (
            "what is measured may be the limit",
            "run it outside of that control group",
        ),
        Finding::BusyCpu { .. } => (
            "small I/Os wait for a processor",
            "stop what is running, or wait",
        ),
        Finding::DirtyPages { .. } => (
            "they are written while something else is measured",
            "run sync, and wait for it",
        ),
        Finding::NoRoot => (
            "page caches cannot be dropped, and counters, modes of buses, health and other \
             users of the device are not all seen",
            "run it as root",
        ),
        Finding::LittleRoom { .. } => (
            "a small test file fits into caches of device and memory",
            "make room, or choose another file system",
        ),
        Finding::NearlyFull { .. } => (
            "flash is slower when few blocks are free, and new files are broken up",
            "make room, or say how full it was",
        ),
        Finding::SwapOnDevice { .. } => (
            "the kernel may read and write it at any time",
            "swapoff it while something is measured",
        ),
        Finding::Swapping { .. } => (
            "programs that go on may wait for it",
            "give the machine more free memory",
        ),
        Finding::NoDiscard { .. } => (
            "the flash keeps blocks of removed files until they are trimmed: writes may be slower \
             than on a fresh one",
            "run fstrim before a measurement, or assay sweep --trim",
        ),
        Finding::OnlineDiscard { .. } => (
            "removing files costs time of the device, also after the removal",
            "wait after files were removed, or mount it without",
        ),
        Finding::Encrypted { .. } => (
            "figures include the cost of encryption",
            "measure below it to know the device's own speed",
        ),
        Finding::Compressed { .. } => (
            "contents that can be compressed look faster than the device is; assay writes such \
             that cannot",
            "keep contents random, or mount it without",
        ),
        Finding::SlowBus { .. } => (
            "figures near the bus's ceiling are those of the bus",
            "use a faster port, cable or mode, or state the bus with the figures",
        ),
        Finding::Worn { .. } => (
            "speed and reliability fall with wear",
            "compare with a fresh device; do not trust data to this one",
        ),
        Finding::CacheOff { .. } => (
            "small writes are slower than with it, and flushes cost nothing",
            "state it with the figures",
        ),
        Finding::Governor { .. } => (
            "latencies depend on how busy the processor was before",
            "cpupower frequency-set -g performance, or assay sweep --vary governor=...",
        ),
        Finding::FrequencyLimit { .. } => (
            "fast storage waits for the processor",
            "raise scaling_max_freq, unless that is meant",
        ),
        Finding::Throttled { .. } | Finding::Hot { .. } => (
            "figures fall while it lasts",
            "cool it, or pause between trials (assay sweep --temperature)",
        ),
        Finding::WasThrottled { .. } => (
            "it may happen again under load",
            "watch temperatures of a long measurement",
        ),
        Finding::OldKernel { .. } => (
            "there is less evidence, or an engine is missing",
            "read what labels say; use a newer kernel if it matters",
        ),
        Finding::MissingFacility { facility, .. } => missing(*facility),
        Finding::ClockSource { better, .. } => {
            let why =
                "reading the clock costs microseconds, or is coarse: small latencies are wrong";
            return match better {
                Some(better) => (
                    why,
                    format!("write {better} to current_clocksource of clocksource0"),
                ),
                None => (why, "do not believe latencies of microseconds".to_owned()),
            };
        }
        Finding::PowerSaving { how, file, .. } => return power_reason(*how, file),
        Finding::LaptopMode => (
            "the kernel gathers writes and does them at once",
            "write 0 to /proc/sys/vm/laptop_mode",
        ),
        Finding::DirtyLimits { .. } => (
            "buffered writes are held up, or stay in memory, at other amounts than elsewhere",
            "state it with figures of buffered writes",
        ),
        Finding::MemoryLimit { .. } => (
            "the page cache is smaller than the memory: buffered figures are those of the limit",
            "run it outside of that control group, or use direct I/O",
        ),
        Finding::CpuLimit { .. } => (
            "I/O stands still when the time is used up",
            "run it outside of that control group",
        ),
        Finding::Container { .. } => (
            "devices, processes and limits outside of it are not all seen",
            "run it on the machine itself if labels are unknown",
        ),
        Finding::VirtualMachine { .. } => (
            "its host may cache and share the storage: device means what the host shows",
            "measure on the host to know the device",
        ),
    };
    (fixed.0, fixed.1.to_owned())
}

const fn missing(facility: Facility) -> (&'static str, &'static str) {
    match facility {
        Facility::IoUring => (
            "jobs of that engine fail, and those of qualify use libaio",
            "set kernel.io_uring_disabled to 0, or allow its calls in the container's seccomp \
             profile",
        ),
        Facility::Libaio => (
            "jobs of that engine fail",
            "use a kernel with AIO, or allow its calls in the container's seccomp profile",
        ),
        Facility::Cachestat => (
            "dirty pages of a file are not known, and cached ones only to its owner",
            "use Linux 6.5 or newer, or allow the call in the container's seccomp profile",
        ),
        Facility::DropCaches => (
            "--drop-caches fails",
            "run it outside of the container, or with a writable /proc/sys",
        ),
        Facility::BlockEvents => (
            "block requests cannot be recorded here for assay replay",
            "mount -t tracefs tracefs /sys/kernel/tracing, on a kernel with block events",
        ),
    }
}

fn power_reason(how: PowerKind, file: &str) -> (&'static str, String) {
    match how {
        PowerKind::Runtime => (
            "the first I/O after a pause waits until it is awake",
            format!("write on to {file} to keep it awake"),
        ),
        PowerKind::UsbAutosuspend => (
            "the first I/O after a pause waits until it is awake, which takes tens of milliseconds",
            format!("write on to {file} to keep it awake"),
        ),
        PowerKind::NvmeApst => (
            "the first I/O after a pause is slower, and latencies at low rates are too",
            format!("write 0 to {file} to keep it at full power"),
        ),
        PowerKind::PcieAspm => (
            "single I/Os wait until links are awake",
            format!("write performance to {file}"),
        ),
        PowerKind::SataLink => (
            "single I/Os wait until the link is awake",
            format!("write max_performance to {file}"),
        ),
    }
}
