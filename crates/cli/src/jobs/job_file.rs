//! Environment of a job file: this machine, or that of the agent.

use crate::checks::input;
use crate::child;
use crate::driver::host::Host;
use crate::driver::runs::random;
use crate::exit::Failure;
use assay_dialects::fio::Environment;
use assay_model::system::System;
use assay_model::text::clean;
use assay_model::units::MIB;
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// This machine.
pub struct Machine;

impl Environment for Machine {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match path == Path::new("-") {
            true if child::this().is_some() => Err(io::Error::other(
                "several targets cannot read one standard input: name a file",
            )),
            true => input::all(io::stdin().lock()),
            false => input::all(File::open(path)?),
        }
    }

    fn var(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    /// Counts the processors for which the kernel has a folder, online or not.
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

/// Returns the environment of a job file: the host's target if that is another machine, else this
/// machine. Job files are always read on this machine.
pub fn machine(host: Option<&mut Host>) -> Result<Box<dyn Environment>, Failure> {
    Ok(match host {
        Some(host) if host.target().is_some() => {
            Box::new(Elsewhere(host.inspect(Path::new("/"))?.system))
        }
        _ => Box::new(Machine),
    })
}

/// Another machine, as its agent described it. Job files are read on this one.
struct Elsewhere(System);

impl Environment for Elsewhere {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        Machine.read(path)
    }

    fn var(&self, name: &str) -> Option<String> {
        Machine.var(name)
    }

    fn cpus(&self) -> u32 {
        self.0.cpus
    }

    fn memory_mib(&self) -> u64 {
        self.0.memory.0 / MIB
    }

    fn page_bytes(&self) -> u32 {
        u32::try_from(self.0.page_size.0).unwrap_or(4096)
    }

    fn entropy(&self) -> u64 {
        random()
    }

    /// The other machine is not queried: only paths in `/dev` count as special.
    fn is_special(&self, path: &Path) -> bool {
        path.starts_with("/dev")
    }
}

/// Function that prints a message that is no result.
pub type Talk = fn(&str);

/// Prints the warnings about a job file.
pub fn warn(warnings: &[String], talk: Talk) {
    for warning in warnings {
        talk(&format!("assay: warning: {}", clean(warning)));
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
    fn what_has_no_end_is_not_read() {
        assert!(Machine.read(Path::new("/dev/zero")).is_err());
        assert_eq!(Machine.read(Path::new("/dev/null")).unwrap(), b"");
        let longest = usize::try_from(input::LONGEST).unwrap();
        let text = vec![b' '; longest + 1];
        assert_eq!(input::all(&text[1..]).unwrap().len(), longest);
        assert!(input::all(&text[..]).is_err());
    }

    #[test]
    fn only_what_is_there_and_no_file_is_special() {
        assert!(Machine.is_special(Path::new("/dev/null")));
        assert!(!Machine.is_special(Path::new("/proc/self/status")));
        assert!(!Machine.is_special(Path::new("/no/such/thing")));
    }
}
