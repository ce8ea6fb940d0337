//! Fields of a row of the option table.

use super::reader::{OptionReader, not_one_of};
use crate::fio::job::{Each, JobDraft};
pub(in crate::fio) use crate::fio::value::time::TimeUnit;
use crate::fio::value::time::duration;
use assay_model::load::Extent;
use assay_model::units::Nanos;

/// Option of fio.
#[derive(Clone, Copy)]
pub struct OptionDef {
    /// First name.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// Engines that have the option; empty: all jobs have it.
    pub engines: &'static [&'static str],
    /// Kind of value that the option accepts.
    pub(in crate::fio) kind: OptionType,
    /// Default as it would be written; empty: none.
    pub default: &'static str,
    /// Help text.
    pub help: &'static str,
    /// Level of assay's support.
    pub support: Support,
    /// Setter of the option.
    pub(in crate::fio) set: Set,
}

/// Level of assay's support for an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// As in fio.
    Works,
    /// Works differently from fio; the text gives the difference.
    Differs(&'static str),
    /// Accepted and noted without effect; the text gives the reason.
    NoEffect(&'static str),
    /// Refused with an error; the text gives the reason.
    Refused(&'static str),
}

/// Kind of value that an option accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fio) enum OptionType {
    /// 0 or 1.
    Flag,
    /// No value, 0 or 1.
    Switch,
    /// Whole number within a range, both ends included.
    Number(i64, u64),
    /// Number of bytes.
    Bytes,
    /// Bytes for reads, writes and trims.
    EachBytes,
    /// Bytes or percent.
    Extent,
    /// Time.
    Time(TimeUnit),
    /// Word of a list, with its meaning.
    Choice(&'static [(&'static str, &'static str)]),
    /// Text in the described form.
    Text(&'static str),
    /// No value, or text in the described form.
    OptionalText(&'static str),
}

/// Setter of an option, by the kind of its value.
#[derive(Clone, Copy)]
pub(in crate::fio) enum Set {
    /// The option sets nothing.
    Nothing,
    /// Set from a flag or switch.
    Flag(fn(&mut JobDraft, bool)),
    /// Set from a number that is not negative.
    Count(fn(&mut JobDraft, u64)),
    /// Set from a number.
    Signed(fn(&mut JobDraft, i64)),
    /// Set from a number of bytes.
    Bytes(fn(&mut JobDraft, u64)),
    /// Set from bytes for each direction.
    EachBytes(fn(&mut JobDraft, Each<u64>)),
    /// Set from bytes or percent.
    Extent(fn(&mut JobDraft, Extent)),
    /// Set from a time.
    Time(fn(&mut JobDraft, Nanos)),
    /// Set from one of the choices.
    Choice(fn(&mut JobDraft, &str)),
    /// Set from text.
    Text(fn(&mut JobDraft, &mut OptionReader<'_>, &str) -> Result<(), String>),
    /// Set from text, or from no value.
    OptionalText(fn(&mut JobDraft, Option<&str>)),
}

impl OptionDef {
    /// Returns the name and the aliases.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    pub(super) const fn new(
        name: &'static str,
        kind: OptionType,
        default: &'static str,
        help: &'static str,
        set: Set,
    ) -> Self {
        Self {
            name,
            aliases: &[],
            engines: &[],
            kind,
            default,
            help,
            support: Support::Works,
            set,
        }
    }

    /// Adds other names.
    pub(super) const fn alias(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    /// Restricts the option to these engines.
    pub(super) const fn of(mut self, engines: &'static [&'static str]) -> Self {
        self.engines = engines;
        self
    }

    /// Makes the value optional.
    pub(super) const fn switch(mut self) -> Self {
        self.kind = OptionType::Switch;
        self
    }

    /// Marks the option as different from fio.
    pub(super) const fn differs(mut self, how: &'static str) -> Self {
        self.support = Support::Differs(how);
        self
    }
}

impl OptionReader<'_> {
    /// Parses the value and calls the option's setter with it.
    pub(in crate::fio) fn apply(
        &mut self,
        option: &OptionDef,
        value: Option<&str>,
        job: &mut JobDraft,
    ) -> Result<(), String> {
        let value = value.map(str::trim);
        match option.set {
            Set::Nothing => {}
            Set::Flag(set) => set(job, self.boolean(option.kind, value)?),
            Set::OptionalText(set) => set(job, value.filter(|value| !value.is_empty())),
            Set::Count(set) => {
                let number = self.within(option.kind, needed(value)?)?;
                set(
                    job,
                    u64::try_from(number).map_err(|_| "may not be negative")?,
                );
            }
            Set::Signed(set) => {
                let number = self.within(option.kind, needed(value)?)?;
                set(job, i64::try_from(number).map_err(|_| "is too large")?);
            }
            Set::Bytes(set) => set(job, self.count(needed(value)?)?),
            Set::EachBytes(set) => set(job, self.each(needed(value)?, OptionReader::count)?),
            Set::Extent(set) => set(job, self.extent(needed(value)?)?),
            Set::Time(set) => set(job, time_of(option.kind, needed(value)?)?),
            Set::Choice(set) => {
                let value = needed(value)?;
                let OptionType::Choice(choices) = option.kind else {
                    return Err("has no choices".to_owned());
                };
                if !choices.iter().any(|(name, _)| *name == value) {
                    return Err(not_one_of(value, choices.iter().map(|(name, _)| *name)));
                }
                set(job, value);
            }
            Set::Text(set) => {
                let value = needed(value)?;
                set(job, self, value)?;
            }
        }
        Ok(())
    }

    fn boolean(&mut self, kind: OptionType, value: Option<&str>) -> Result<bool, String> {
        match value {
            None if kind == OptionType::Switch => Ok(true),
            Some("1") => Ok(true),
            Some("0") => Ok(false),
            Some(text) if kind == OptionType::Switch && text.parse::<u32>().is_ok() => Ok(true),
            _ => Err("write 0 or 1".to_owned()),
        }
    }

    fn within(&mut self, kind: OptionType, text: &str) -> Result<i128, String> {
        let number = i128::from(self.signed(text)?);
        match kind {
            OptionType::Number(min, max)
                if number < i128::from(min) || number > i128::from(max) =>
            {
                Err(format!("'{text}' is not within {min} and {max}"))
            }
            _ => Ok(number),
        }
    }
}

fn needed(value: Option<&str>) -> Result<&str, String> {
    value
        .filter(|value| !value.is_empty())
        .ok_or_else(|| "needs a value".to_owned())
}

fn time_of(kind: OptionType, text: &str) -> Result<Nanos, String> {
    match kind {
        OptionType::Time(unit) => duration(text, unit),
        _ => Err("is not a time".to_owned()),
    }
}
