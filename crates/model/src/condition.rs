//! Conditions: named settings that are in force while trials run.
//!
//! A **setting** gives a **subject** (an I/O scheduler, a governor, a file) a value. A
//! **condition** consists of settings, and its name lists them. A **knob** is the place where a
//! setting is made: one subject may have several, as a governor has one for each group of
//! processors.
//!
//! To add a subject: add a variant of `Subject` with the user's word, its knobs in
//! `assay_probe::conditions` (`knobs`), its values in `offers` there, and in `companions` the
//! settings that the kernel changes with it; then a line in `docs/sweep.md`.

mod vary;

pub use vary::{Commands, Values, Vary, cross};

use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::PathBuf;

/// Default time limit of a user's command.
pub const COMMAND_LIMIT: Nanos = Nanos::secs(60);

/// Time limit for records that do not have one.
const fn command_limit() -> Nanos {
    COMMAND_LIMIT
}

/// Named settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// Name, such as `scheduler=bfq,read_ahead_kb=512`.
    pub name: String,
    /// Settings, in the order in which they are made.
    pub settings: Vec<Setting>,
}

impl Condition {
    /// Creates the condition of these settings, named by them.
    pub fn of(settings: Vec<Setting>) -> Self {
        let names: Vec<String> = settings.iter().map(ToString::to_string).collect();
        Self {
            name: names.join(","),
            settings,
        }
    }

    /// `true` if this condition makes a new file system on the device under test.
    pub fn makes_file_system(&self) -> bool {
        let mut settings = self.settings.iter();
        settings.any(|setting| setting.subject == Subject::Mkfs)
    }

    /// Returns the options of the job under this condition.
    pub fn of_job(&self) -> impl Iterator<Item = &Setting> {
        let settings = self.settings.iter();
        settings.filter(|setting| setting.subject.is_of_job())
    }
}

/// A subject and its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// Subject that the setting changes.
    pub subject: Subject,
    /// Value, as the kernel spells it.
    pub value: String,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.subject, self.value)
    }
}

/// A place where a setting is made.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Knob {
    /// A file that holds one value; of several in a line, the one in brackets is in force.
    File {
        /// The file.
        path: PathBuf,
    },
    /// Options of a mount.
    Mount {
        /// The mount point.
        point: PathBuf,
    },
    /// A setting that two commands apply and undo; it cannot be read back.
    Command {
        /// Name, chosen by the user.
        name: String,
        /// Command to apply it, run by `sh -c` with the value as `$1`.
        apply: String,
        /// Command to undo it, run in the same way.
        undo: String,
        /// Time limit of each command.
        #[serde(default = "command_limit")]
        limit: Nanos,
    },
    /// A file system on a device whose data may be lost. Undoing it unmounts it.
    FileSystem {
        /// The device.
        device: PathBuf,
        /// Mount point, a folder that assay creates.
        point: PathBuf,
    },
    /// The processors that the agent's threads may run on. It ends with the agent.
    Affinity,
}

impl fmt::Display for Knob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path } => write!(f, "{}", path.display()),
            Self::Mount { point } => write!(f, "the mount on {}", point.display()),
            Self::Command { name, .. } => write!(f, "cmd:{name}"),
            Self::FileSystem { device, point } => write!(
                f,
                "the file system on {}, mounted on {}",
                device.display(),
                point.display()
            ),
            Self::Affinity => f.write_str("the agent's processors"),
        }
    }
}

/// Value of a knob, read back right before a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InForce {
    /// Subject, as in the condition's name.
    pub subject: String,
    /// The knob.
    pub knob: String,
    /// Value read back; `None` when the knob cannot be read back (a command).
    pub value: Option<String>,
}

/// A setting that a killed run left behind, and the result of undoing it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undone {
    /// Run that made the setting.
    pub run_id: String,
    /// The knob.
    pub knob: String,
    /// Value before that run; `None` for a command.
    pub old: Option<String>,
    /// Reason why it was not undone; `None` if it was.
    pub problem: Option<String>,
}

/// Largest number accepted, above that of any machine, so that a typing error does not exhaust
/// memory.
const MAX_CPU: usize = 4096;

/// Parses `0`, `0+2` or `0-3`: numbers and ranges joined with `+`, because a comma separates
/// values. `None` if it is not such a list.
///
/// ```
/// use assay_model::condition::parse_cpus;
/// assert_eq!(parse_cpus("0-2+5"), Some(vec![0, 1, 2, 5]));
/// assert_eq!(parse_cpus("2-0"), None);
/// ```
pub fn parse_cpus(text: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in text.split('+') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last > MAX_CPU {
            return None;
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

/// A file system to make on a device, with its `mkfs` options.
///
/// ```
/// use assay_model::condition::FileSystem;
/// let made = FileSystem::parse("ext4:-b+1024").unwrap();
/// assert_eq!((made.kind.as_str(), made.options.as_slice()), ("ext4", &["-b".into(), "1024".into()][..]));
/// assert_eq!(FileSystem::parse("../sh"), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// Type, as in `mkfs.ext4` and `mount -t ext4`.
    pub kind: String,
    /// Options of `mkfs`, one word each.
    pub options: Vec<String>,
    /// Options of `mount`.
    pub mount: Vec<String>,
}

impl FileSystem {
    /// Parses `KIND` or `KIND:OPTION+OPTION` (a comma would separate values), optionally followed
    /// by a space and mount options in the same form. `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let (made, mount) = match text.split_once(' ') {
            Some((made, mount)) => (made, words(mount)?),
            None => (text, Vec::new()),
        };
        let (kind, options) = match made.split_once(':') {
            Some((kind, options)) => (kind, words(options)?),
            None => (made, Vec::new()),
        };
        let in_kind = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        let is_kind = !kind.is_empty() && kind.bytes().all(in_kind);
        is_kind.then(|| Self {
            kind: kind.to_owned(),
            options,
            mount,
        })
    }
}

/// Splits text into words without spaces, none of them empty.
fn words(text: &str) -> Option<Vec<String>> {
    let words = text.split('+').map(|word| {
        let is_word = !word.is_empty() && !word.contains(char::is_whitespace);
        is_word.then(|| word.to_owned())
    });
    words.collect()
}

/// Prints the form that [`FileSystem::parse`] accepts.
impl fmt::Display for FileSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if !self.options.is_empty() {
            write!(f, ":{}", self.options.join("+"))?;
        }
        if !self.mount.is_empty() {
            write!(f, " {}", self.mount.join("+"))?;
        }
        Ok(())
    }
}

/// Values that a knob accepts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Offer {
    /// One of these words.
    Choice {
        /// Words in the kernel's order.
        values: Vec<String>,
    },
    /// A whole number.
    Number {
        /// Smallest value; `None` if the kernel does not report it.
        least: Option<u64>,
        /// Largest value; `None` if the kernel does not report it.
        most: Option<u64>,
    },
    /// Processors, in the form of [`parse_cpus`].
    Cpus {
        /// Processors that exist.
        allowed: Vec<usize>,
    },
    /// Mount options, joined with `+`. An option with a value can only be restored to the value
    /// that the mount shows now.
    Options {
        /// Options that the mount shows now.
        shown: Vec<String>,
    },
    /// File systems, in the form of [`FileSystem`].
    FileSystems {
        /// Kinds that can be made here.
        kinds: Vec<String>,
    },
    /// Any text; only setting it shows if the kernel accepts it.
    Text,
}

impl Offer {
    /// Returns the values that are words.
    pub(crate) fn words(&self) -> &[String] {
        match self {
            Self::Choice { values } => values,
            Self::FileSystems { kinds } => kinds,
            _ => &[],
        }
    }

    /// Checks that a value is offered.
    pub fn takes(&self, value: &str) -> bool {
        match self {
            Self::Choice { values } => values.iter().any(|known| known == value),
            Self::Number { least, most } => value.parse::<u64>().is_ok_and(|number| {
                least.is_none_or(|least| number >= least) && most.is_none_or(|most| number <= most)
            }),
            Self::Cpus { allowed } => {
                parse_cpus(value).is_some_and(|cpus| cpus.iter().all(|cpu| allowed.contains(cpu)))
            }
            Self::Options { shown } => value.split('+').all(|option| {
                let key = option.split_once('=').map(|(key, _)| format!("{key}="));
                let can_be_put_back =
                    |key: String| shown.iter().any(|option| option.starts_with(&key));
                !option.is_empty() && key.is_none_or(can_be_put_back)
            }),
            Self::FileSystems { kinds } => FileSystem::parse(value)
                .is_some_and(|asked| asked.mount.is_empty() && kinds.contains(&asked.kind)),
            Self::Text => true,
        }
    }

    /// Returns all values if they can be listed.
    pub fn all(&self) -> Option<Vec<String>> {
        match self {
            Self::Choice { values } => Some(values.clone()),
            Self::Cpus { allowed } => Some(allowed.iter().map(ToString::to_string).collect()),
            Self::Number { .. } | Self::Options { .. } | Self::FileSystems { .. } | Self::Text => {
                None
            }
        }
    }

    /// Returns the values that both offers accept, for a subject with several knobs.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Choice { mut values }, Self::Choice { values: others }) => {
                values.retain(|value| others.contains(value));
                Self::Choice { values }
            }
            (Self::Number { least, most }, Self::Number { least: l, most: m }) => Self::Number {
                least: least.max(l),
                most: most.into_iter().chain(m).min(),
            },
            (one, _) => one,
        }
    }
}

impl fmt::Display for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Choice { values } => f.write_str(&values.join(", ")),
            Self::Number { least, most } => match (least, most) {
                (Some(least), Some(most)) => write!(f, "a whole number from {least} to {most}"),
                (Some(least), None) => write!(f, "a whole number from {least}"),
                (None, Some(most)) => write!(f, "a whole number up to {most}"),
                (None, None) => f.write_str("a whole number"),
            },
            Self::Cpus { allowed } => {
                let numbers: Vec<String> = allowed.iter().map(ToString::to_string).collect();
                write!(f, "the processors {}, as 0+1 or 0-3", numbers.join(", "))
            }
            Self::Options { shown } => write!(
                f,
                "options without a value, and those with a value that the mount shows, for only \
                 these can be put back ({})",
                shown.join(",")
            ),
            Self::FileSystems { kinds } => write!(
                f,
                "KIND or KIND:OPTION+OPTION, as ext4:-b+1024, with one of {}",
                kinds.join(", ")
            ),
            Self::Text => f.write_str("any text"),
        }
    }
}

/// Knobs of a subject and the values they accept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offered {
    /// The subject.
    pub subject: Subject,
    /// Names of the knobs, for display.
    pub knobs: Vec<String>,
    /// Values in force now, without duplicates; empty when they cannot be read.
    pub current: Vec<String>,
    /// Values that the knobs accept.
    pub offer: Offer,
}

/// Subject of the temperature among the values in force before a trial (`InForce`); its
/// value is in degrees Celsius.
pub const TEMPERATURE: &str = "temperature";

/// Actions before each trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restore {
    /// Idle time.
    pub idle: Nanos,
    /// The page cache of the whole system is emptied (`vm.drop_caches`).
    pub drop_caches: bool,
    /// Free blocks of the file system are discarded (`fstrim`).
    pub trim: bool,
    /// Allowed difference from the temperature before the first trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<TemperatureWindow>,
}

/// Range of temperatures at which a trial may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TemperatureWindow {
    /// Half width of the range, in thousandths of a kelvin.
    pub width_mk: u32,
    /// Longest time to wait for it.
    pub limit: Nanos,
    /// Temperature before the first trial, in thousandths of a degree Celsius; `None` before the
    /// first trial.
    pub around: Option<i64>,
}

impl Restore {
    /// `true` if there is nothing to do.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl TemperatureWindow {
    /// Checks that a trial may begin at a temperature (thousandths of a degree Celsius).
    pub fn holds(&self, millicelsius: i64) -> bool {
        self.around
            .is_none_or(|around| around.abs_diff(millicelsius) <= self.width_mk.into())
    }
}

/// Prints `3 K around 41.2 °C`.
impl fmt::Display for TemperatureWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} K around ", f64::from(self.width_mk) / 1e3)?;
        match self.around {
            Some(around) => write!(f, "{} °C", celsius(around)),
            None => f.write_str("that before the first trial"),
        }
    }
}

/// Formats thousandths of a degree as degrees, with all digits.
pub fn celsius(millicelsius: i64) -> String {
    let sign = if millicelsius < 0 { "-" } else { "" };
    let size = millicelsius.unsigned_abs();
    format!("{sign}{}.{:03}", size / 1000, size % 1000)
}

pub(crate) fn parse_celsius(text: &str) -> Option<i64> {
    let (whole, part) = text.split_once('.')?;
    let thousandths: i64 = part.parse().ok().filter(|_| part.len() == 3)?;
    let size = whole.trim_start_matches('-').parse::<i64>().ok()? * 1000 + thousandths;
    Some(if whole.starts_with('-') { -size } else { size })
}

/// Subject of a setting.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Subject {
    /// The I/O scheduler of the disks (`queue/scheduler`).
    Scheduler,
    /// Another attribute of the disk's queue (`queue/NAME`).
    Queue {
        /// Name of the file, such as `read_ahead_kb`.
        attribute: String,
    },
    /// The frequency governor of all processors.
    Governor,
    /// The lowest frequency of all processors, kHz.
    CpufreqMin,
    /// The highest frequency of all processors, kHz.
    CpufreqMax,
    /// A setting of the kernel (`/proc/sys`).
    Sysctl {
        /// Name with dots, such as `vm.dirty_ratio`.
        name: String,
    },
    /// A file that holds a value.
    File {
        /// Absolute path of the file.
        path: PathBuf,
    },
    /// A setting that the user's commands apply and undo.
    Command {
        /// Name, chosen by the user.
        name: String,
        /// Command to apply it, run by `sh -c` with the value as `$1`.
        apply: String,
        /// Command to undo it, run in the same way.
        undo: String,
        /// Time limit of each command.
        #[serde(default = "command_limit")]
        limit: Nanos,
    },
    /// A file system that is made on the device under test, with options of `mkfs`
    /// (`FileSystem`).
    Mkfs,
    /// Options of the mount that holds the test file, joined with `+`.
    Mount,
    /// The processors that the workers may run on, as `0+2` or `0-3`.
    Affinity,
    /// An option of the job, as in a job file. The jobs of the plan have the values already, so that
    /// nothing is set on the machine.
    Job {
        /// Name of the option, such as `iodepth`.
        option: String,
    },
}

impl Subject {
    /// `true` for an option of the job, `false` for a setting of the system.
    pub const fn is_of_job(&self) -> bool {
        matches!(self, Self::Job { .. })
    }

    /// Returns the rank in the order of setting. A subject is set after those that would change it,
    /// as a new scheduler changes the queue depth.
    pub const fn rank(&self) -> u8 {
        match self {
            Self::Mkfs | Self::Mount => 0,
            Self::Scheduler | Self::Governor => 1,
            _ => 2,
        }
    }
}

/// Prints the form that the user writes.
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scheduler => f.write_str("scheduler"),
            Self::Queue { attribute } => f.write_str(attribute),
            Self::Governor => f.write_str("governor"),
            Self::CpufreqMin => f.write_str("cpufreq_min"),
            Self::CpufreqMax => f.write_str("cpufreq_max"),
            Self::Sysctl { name } => f.write_str(name),
            Self::File { path } => write!(f, "file:{}", path.display()),
            Self::Command { name, .. } => write!(f, "cmd:{name}"),
            Self::Mkfs => f.write_str("mkfs"),
            Self::Mount => f.write_str("mount"),
            Self::Affinity => f.write_str("affinity"),
            Self::Job { option } => f.write_str(option),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_and_mounted_is_read_as_it_is_shown() {
        for text in [
            "xfs",
            "ext4:-b+1024",
            "ext4:-O+^has_journal noatime+commit=5",
        ] {
            assert_eq!(FileSystem::parse(text).unwrap().to_string(), text);
        }
        for text in [
            "",
            "ext4:",
            "ext4:-b++1024",
            "a/b",
            "ext4:-L+a b c",
            "ext4 ",
        ] {
            assert_eq!(FileSystem::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_value_is_taken_only_where_it_is_offered() {
        let choice = Offer::Choice {
            values: vec!["none".to_owned(), "bfq".to_owned()],
        };
        assert!(choice.takes("bfq") && !choice.takes("bf"));
        assert_eq!(choice.to_string(), "none, bfq");
        let number = Offer::Number {
            least: Some(4),
            most: None,
        };
        assert!(
            number.takes("4") && !number.takes("3") && !number.takes("x") && !number.takes("-1")
        );
        let cpus = Offer::Cpus {
            allowed: vec![0, 1],
        };
        assert!(cpus.takes("0-1") && !cpus.takes("1+2"));
        assert!(Offer::Text.takes("anything"));
        let options = Offer::Options {
            shown: ["rw", "commit=30"].map(str::to_owned).to_vec(),
        };
        assert!(options.takes("noatime+commit=5") && !options.takes("stripe=8"));
        assert!(!options.takes("noatime+"));
        let made = Offer::FileSystems {
            kinds: vec!["ext4".to_owned()],
        };
        assert!(made.takes("ext4:-b+1024") && !made.takes("xfs") && !made.takes("ext4 noatime"));
    }

    #[test]
    fn several_knobs_offer_what_all_do() {
        let choice = |values: &[&str]| Offer::Choice {
            values: values.iter().map(|&value| value.to_owned()).collect(),
        };
        let both = choice(&["a", "b"]).and(choice(&["b", "c"]));
        assert_eq!(both, choice(&["b"]));
        let span = |least, most| Offer::Number { least, most };
        let both = span(Some(1), Some(9)).and(span(Some(3), None));
        assert_eq!(both, span(Some(3), Some(9)));
    }

    #[test]
    fn temperatures_are_read_as_they_are_written() {
        for millicelsius in [0, 41_250, -5_001, -7, 99_999] {
            assert_eq!(parse_celsius(&celsius(millicelsius)), Some(millicelsius));
        }
        assert_eq!(celsius(-7), "-0.007");
        assert_eq!(parse_celsius("41"), None);
    }

    #[test]
    fn a_window_is_around_the_first_temperature() {
        let mut window = TemperatureWindow {
            width_mk: 3000,
            limit: Nanos::secs(1),
            around: None,
        };
        assert!(window.holds(90_000), "the first one");
        window.around = Some(40_000);
        assert!(window.holds(43_000) && window.holds(37_000));
        assert!(!window.holds(43_001) && !window.holds(36_999));
        assert_eq!(window.to_string(), "3 K around 40.000 °C");
    }
}
