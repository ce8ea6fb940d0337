//! What a job file may ask about this machine.

use crate::runs::random;
use assay_dialects::fio::Environment;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

/// This machine.
pub struct Machine;

impl Environment for Machine {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        if path == Path::new("-") {
            let mut text = Vec::new();
            io::stdin().lock().read_to_end(&mut text)?;
            return Ok(text);
        }
        fs::read(path)
    }

    fn var(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    /// Those that the kernel has a folder for, switched on or not.
    fn cpus(&self) -> u32 {
        let is_cpu = |name: &str| {
            let number = name.strip_prefix("cpu");
            number.is_some_and(|number| number.parse::<u32>().is_ok())
        };
        let folder = fs::read_dir("/sys/devices/system/cpu")
            .into_iter()
            .flatten();
        let names = folder.filter_map(|entry| Some(entry.ok()?.file_name()));
        let seen = names.filter(|name| name.to_str().is_some_and(is_cpu));
        match u32::try_from(seen.count()) {
            Ok(count @ 1..) => count,
            _ => std::thread::available_parallelism()
                .map_or(1, |count| u32::try_from(count.get()).unwrap_or(1)),
        }
    }

    fn memory_mib(&self) -> u64 {
        let info = rustix::system::sysinfo();
        // The kernel counts in units, whose type depends on the platform.
        #[expect(clippy::useless_conversion, reason = "u32 on 32 bit")]
        let total = u64::from(info.totalram) * u64::from(info.mem_unit);
        total >> 20
    }

    fn page_bytes(&self) -> u32 {
        u32::try_from(rustix::param::page_size()).unwrap_or(4096)
    }

    fn entropy(&self) -> u64 {
        random()
    }

    fn is_special(&self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok_and(|meta| !meta.is_file())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_what_machines_have() {
        assert!(Machine.cpus() >= 1);
        assert!(Machine.memory_mib() >= 16);
        assert!(Machine.page_bytes().is_power_of_two());
        assert_ne!(Machine.entropy(), Machine.entropy());
    }

    #[test]
    fn only_what_is_there_and_no_file_is_special() {
        assert!(Machine.is_special(Path::new("/dev/null")));
        assert!(!Machine.is_special(Path::new("/proc/self/status")));
        assert!(!Machine.is_special(Path::new("/no/such/thing")));
    }
}
