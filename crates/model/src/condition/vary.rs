//! Parser of `--vary SUBJECT=VALUES`, and the combination of several into conditions.

use super::{Condition, Offer, Setting, Subject};
use crate::text::meant;
use crate::units::Nanos;
use std::path::PathBuf;

/// Limit of conditions; more are most likely a mistake.
const MAX_CONDITIONS: usize = 1000;

/// A subject to vary and its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vary {
    /// The subject.
    pub subject: Subject,
    /// Values of the subject.
    pub values: Values,
}

/// The values of a subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// Every value that the kernel offers (`all`).
    All,
    /// A list of values, in the user's order.
    These(Vec<String>),
}

/// The commands of `--apply NAME=COMMAND` and `--undo NAME=COMMAND`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commands {
    apply: Vec<(String, String)>,
    undo: Vec<(String, String)>,
    /// Time limit of each command.
    limit: Nanos,
}

const APPLY: &str = "--apply";
const UNDO: &str = "--undo";

impl Commands {
    /// Parses the words of both flags; each command may take as long as `limit`.
    ///
    /// # Errors
    /// When one has no name or no command, or a name is given twice.
    pub fn parse(apply: &[String], undo: &[String], limit: Nanos) -> Result<Self, String> {
        Ok(Self {
            apply: named(APPLY, apply)?,
            undo: named(UNDO, undo)?,
            limit,
        })
    }

    /// Checks that each command sets something that is varied.
    ///
    /// # Errors
    /// When a command does not, most likely because of a mistyped name.
    pub fn all_used_by(&self, varied: &[Vary]) -> Result<(), String> {
        let is_used = |name: &String| {
            varied.iter().any(|vary| {
                matches!(&vary.subject, Subject::Command { name: known, .. } if known == name)
            })
        };
        for (flag, commands) in [(APPLY, &self.apply), (UNDO, &self.undo)] {
            if let Some((name, _)) = commands.iter().find(|(name, _)| !is_used(name)) {
                return Err(format!(
                    "{flag} {name}=… sets nothing: add --vary cmd:{name}=VALUES, or leave it out"
                ));
            }
        }
        Ok(())
    }

    pub(super) fn subject(&self, name: &str) -> Result<Subject, String> {
        let of = |commands: &[(String, String)]| {
            let found = commands.iter().find(|(known, _)| known == name);
            found.map(|(_, command)| command.clone())
        };
        match (of(&self.apply), of(&self.undo)) {
            (Some(apply), Some(undo)) => Ok(Subject::Command {
                name: name.to_owned(),
                apply,
                undo,
                limit: self.limit,
            }),
            _ => Err(format!(
                "cmd:{name} needs both --apply '{name}=COMMAND' and --undo '{name}=COMMAND'"
            )),
        }
    }
}

/// Splits the words of a flag into names and commands.
fn named(flag: &str, words: &[String]) -> Result<Vec<(String, String)>, String> {
    let mut named: Vec<(String, String)> = Vec::new();
    for text in words {
        let parts = text.split_once('=');
        let parts = parts.filter(|(name, command)| !name.is_empty() && !command.trim().is_empty());
        let (name, command) = parts.ok_or_else(|| format!("{flag} {text}: write NAME=COMMAND"))?;
        if named.iter().any(|(known, _)| known == name) {
            return Err(format!("{flag} {name}=… is given twice: give one command"));
        }
        named.push((name.to_owned(), command.to_owned()));
    }
    Ok(named)
}

impl Vary {
    /// Parses `scheduler=all`, `read_ahead_kb=128,512`, `file:/sys/…=a,b` or `cmd:NAME=a,b`.
    ///
    /// ```
    /// use assay_model::condition::{Commands, Values, Vary};
    /// let vary = Vary::parse("read_ahead_kb=128,512", &Commands::default()).unwrap();
    /// assert_eq!(vary.subject.to_string(), "read_ahead_kb");
    /// assert_eq!(vary.values, Values::These(vec!["128".into(), "512".into()]));
    /// ```
    ///
    /// # Errors
    /// When it does not have that form.
    pub fn parse(text: &str, commands: &Commands) -> Result<Self, String> {
        let shape = || {
            format!(
                "--vary {text}: write SUBJECT=VALUE,VALUE, as in scheduler=all or \
                 read_ahead_kb=128,512"
            )
        };
        let (word, values) = text.split_once('=').ok_or_else(shape)?;
        if word.is_empty() || values.is_empty() {
            return Err(shape());
        }
        let subject = Subject::parse(word, commands)?;
        if values == "all" {
            let values = Values::All;
            return Ok(Self { subject, values });
        }
        let mut these: Vec<String> = Vec::new();
        for value in values.split(',').map(str::trim) {
            if value.is_empty() {
                return Err(format!(
                    "--vary {text}: a value is empty: leave out the comma, or write the value"
                ));
            }
            if these.iter().any(|known| known == value) {
                return Err(format!(
                    "--vary {text}: '{value}' is given twice: name it once"
                ));
            }
            if subject == Subject::Mount && value.split('+').any(|option| option == "ro") {
                return Err(format!(
                    "--vary {text}: on a read-only mount no test file can be written; leave out ro"
                ));
            }
            these.push(value.to_owned());
        }
        Ok(Self {
            subject,
            values: Values::These(these),
        })
    }

    /// Returns the values to set, given what the kernel offers.
    ///
    /// # Errors
    /// When a value is not offered, or `all` is given for values that cannot be listed.
    pub fn among(&self, offer: &Offer) -> Result<Vec<String>, String> {
        let subject = self.subject.to_string();
        match &self.values {
            Values::All => offer.all().ok_or_else(|| {
                format!("--vary {subject}=all: the values cannot be listed ({offer}): name them")
            }),
            Values::These(values) => match values.iter().find(|value| !offer.takes(value)) {
                None => Ok(values.clone()),
                Some(value) => Err(format!(
                    "--vary {subject}={value}: not offered here{}; the kernel offers {offer}",
                    meant(value, offer.words().iter().map(String::as_str))
                )),
            },
        }
    }
}

/// Combines every value of each subject with every value of the others; the last subject changes
/// fastest. Settings of a condition are in the order in which they are made; its name keeps the
/// user's order.
///
/// # Errors
/// When a subject is given twice, or there are too many conditions.
pub fn cross(varied: &[(Subject, Vec<String>)]) -> Result<Vec<Condition>, String> {
    for (at, (subject, _)) in varied.iter().enumerate() {
        let name = subject.to_string();
        if varied[..at]
            .iter()
            .any(|(other, _)| other.to_string() == name)
        {
            return Err(format!(
                "--vary {name} is given twice: put all its values into one, separated by commas"
            ));
        }
    }
    let counts = varied.iter().map(|(_, values)| values.len());
    let count = counts.fold(1_usize, usize::saturating_mul);
    if count > MAX_CONDITIONS {
        return Err(format!(
            "these are {count} conditions, more than {MAX_CONDITIONS}: vary less at once"
        ));
    }
    let mut all: Vec<Vec<Setting>> = vec![Vec::new()];
    for (subject, values) in varied {
        let with = |settings: &Vec<Setting>| {
            let settings = settings.clone();
            let each = values.iter().map(move |value| {
                let mut settings = settings.clone();
                settings.push(Setting {
                    subject: subject.clone(),
                    value: value.clone(),
                });
                settings
            });
            each.collect::<Vec<_>>()
        };
        all = all.iter().flat_map(with).collect();
    }
    let conditions = all.into_iter().map(|settings| {
        let mut condition = Condition::of(settings);
        condition
            .settings
            .sort_by_key(|setting| setting.subject.rank());
        condition
    });
    Ok(conditions.collect())
}

impl Subject {
    /// Usual subjects, for suggestions; the kernel may have more.
    pub const USUAL: [&str; 12] = [
        "scheduler",
        "read_ahead_kb",
        "nr_requests",
        "rq_affinity",
        "wbt_lat_usec",
        "max_sectors_kb",
        "governor",
        "cpufreq_min",
        "cpufreq_max",
        "mount",
        "mkfs",
        "affinity",
    ];

    /// Parses the subject before the `=` of `--vary`.
    ///
    /// # Errors
    /// When the subject is not known, or a command is missing.
    pub fn parse(word: &str, commands: &Commands) -> Result<Self, String> {
        let known = match word {
            "scheduler" => Some(Self::Scheduler),
            "governor" => Some(Self::Governor),
            "cpufreq_min" => Some(Self::CpufreqMin),
            "cpufreq_max" => Some(Self::CpufreqMax),
            "mount" => Some(Self::Mount),
            "mkfs" => Some(Self::Mkfs),
            "affinity" => Some(Self::Affinity),
            _ => None,
        };
        if let Some(subject) = known {
            return Ok(subject);
        }
        if let Some(name) = word.strip_prefix("cmd:") {
            return commands.subject(name);
        }
        if let Some(path) = word.strip_prefix("file:") {
            let path = PathBuf::from(path);
            let plain = path.is_absolute() && !path.components().any(|c| c.as_os_str() == "..");
            return plain
                .then_some(Self::File { path })
                .ok_or_else(|| format!("'{word}': the path must begin with / and have no .."));
        }
        let name = word.to_owned();
        let is_word = |part: &str| {
            let allowed =
                |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-".contains(&b);
            !part.is_empty() && part.bytes().all(allowed)
        };
        if word.starts_with("vm.") && word.split('.').all(is_word) {
            Ok(Self::Sysctl { name })
        } else if is_word(word) {
            Ok(Self::Queue { attribute: name })
        } else {
            Err(format!(
                "'{name}' is nothing that can be varied: use scheduler, governor, cpufreq_min, \
                 cpufreq_max, mount, mkfs, affinity, vm.NAME, the name of a file in the device's \
                 queue folder (read_ahead_kb), file:/PATH or cmd:NAME"
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vary, String> {
        let commands = Commands::parse(
            &["turbo=set \"$1\"".to_owned()],
            &["turbo=set on".to_owned()],
            Nanos::secs(1),
        );
        Vary::parse(text, &commands.unwrap())
    }

    fn subject(text: &str) -> Subject {
        parse(text).unwrap().subject
    }

    #[test]
    fn subjects_are_known_by_their_words() {
        assert_eq!(subject("scheduler=all"), Subject::Scheduler);
        assert_eq!(subject("governor=powersave"), Subject::Governor);
        let queue = Subject::Queue {
            attribute: "nr_requests".to_owned(),
        };
        assert_eq!(subject("nr_requests=32"), queue);
        let sysctl = Subject::Sysctl {
            name: "vm.dirty_ratio".to_owned(),
        };
        assert_eq!(subject("vm.dirty_ratio=5"), sysctl);
        let file = Subject::File {
            path: "/sys/x".into(),
        };
        assert_eq!(subject("file:/sys/x=a,b"), file);
        let command = subject("cmd:turbo=on,off");
        assert!(matches!(command, Subject::Command { undo, .. } if undo == "set on"));
        for text in [
            "scheduler=x",
            "cpufreq_max=1",
            "mount=noatime",
            "mkfs=ext4",
            "file:/a=b",
        ] {
            let (word, _) = text.split_once('=').unwrap();
            assert_eq!(subject(text).to_string(), word);
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (text, says) in [
            ("scheduler", "SUBJECT=VALUE"),
            ("=a", "SUBJECT=VALUE"),
            ("scheduler=", "SUBJECT=VALUE"),
            ("scheduler=a,,b", "empty"),
            ("scheduler=a,a", "'a' is given twice"),
            ("Sched/uler=a", "nothing that can be varied"),
            ("../x=a", "nothing that can be varied"),
            ("vm.../x=a", "nothing that can be varied"),
            ("mount=noatime,ro+sync", "leave out ro"),
            ("file:sys/x=a", "begin with /"),
            ("file:/sys/../etc/x=a", "no .."),
            ("cmd:other=a", "--apply 'other=COMMAND'"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
        let commands = |apply: &[&str]| {
            let apply: Vec<String> = apply.iter().map(|&text| text.to_owned()).collect();
            Commands::parse(&apply, &[], Nanos::secs(1))
        };
        let error = commands(&["=x"]).unwrap_err();
        assert!(error.to_string().contains("--apply =x"), "{error}");
        let error = commands(&["a=x", "a=y"]).unwrap_err().to_string();
        assert!(error.contains("--apply a=… is given twice"), "{error}");
    }

    #[test]
    fn a_command_that_sets_nothing_is_a_mistake() {
        let words = ["turbo=x".to_owned()];
        let commands = Commands::parse(&words, &words, Nanos::secs(1)).unwrap();
        let used = Vary::parse("cmd:turbo=on", &commands).unwrap();
        assert_eq!(commands.all_used_by(&[used]), Ok(()));
        let other = Vary::parse("scheduler=all", &commands).unwrap();
        let error = commands.all_used_by(&[other]).unwrap_err().to_string();
        assert!(error.contains("--vary cmd:turbo=VALUES"), "{error}");
    }

    #[test]
    fn values_are_those_that_the_kernel_offers() {
        let offer = Offer::Choice {
            values: ["none", "bfq"].map(str::to_owned).to_vec(),
        };
        let all = parse("scheduler=all").unwrap().among(&offer);
        assert_eq!(all.unwrap(), ["none", "bfq"]);
        let refused = parse("scheduler=bfq,cfq").unwrap().among(&offer);
        assert_eq!(
            refused.unwrap_err().to_string(),
            "--vary scheduler=cfq: not offered here (did you mean bfq?); the kernel offers none, bfq"
        );
        let endless = parse("read_ahead_kb=all").unwrap();
        let number = Offer::Number {
            least: None,
            most: None,
        };
        assert!(endless.among(&number).is_err());
    }

    #[test]
    fn every_value_meets_every_other() {
        let varied = |text: &str| {
            let vary = parse(text).unwrap();
            let Values::These(values) = vary.values else {
                panic!("named values")
            };
            (vary.subject, values)
        };
        let conditions = cross(&[
            varied("read_ahead_kb=128,512"),
            varied("scheduler=none,bfq"),
        ]);
        let conditions = conditions.unwrap();
        let names: Vec<&str> = conditions.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "read_ahead_kb=128,scheduler=none",
                "read_ahead_kb=128,scheduler=bfq",
                "read_ahead_kb=512,scheduler=none",
                "read_ahead_kb=512,scheduler=bfq",
            ]
        );
        // A new scheduler brings its own depth.
        assert_eq!(conditions[0].settings[0].subject, Subject::Scheduler);

        let twice = cross(&[varied("scheduler=none"), varied("scheduler=bfq")]);
        assert!(
            twice
                .unwrap_err()
                .contains("--vary scheduler is given twice")
        );
        let many: Vec<String> = (0..40).map(|n| n.to_string()).collect();
        let attribute = |name: &str| Subject::Queue {
            attribute: name.to_owned(),
        };
        let many = cross(&[(attribute("a"), many.clone()), (attribute("b"), many)]);
        assert!(many.unwrap_err().contains("1600 conditions"));
    }
}
