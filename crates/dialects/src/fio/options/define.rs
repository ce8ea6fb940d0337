//! What a line of the table consists of.

use super::reader::Reader;
use crate::fio::job::{Each, Job};
pub(in crate::fio) use crate::fio::value::time::TimeUnit;
use assay_model::load::Extent;
use assay_model::units::Nanos;

/// An option of fio.
#[derive(Clone, Copy)]
pub struct OptionDef {
    /// First name.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// Engines that have it; empty: all jobs have it.
    pub engines: &'static [&'static str],
    /// What it takes.
    pub(in crate::fio) kind: Kind,
    /// Default, as it would be written; empty: none.
    pub default: &'static str,
    /// What it is for.
    pub help: &'static str,
    /// How far assay supports it.
    pub support: Support,
    /// What it sets.
    pub(in crate::fio) set: Set,
}

/// How far assay supports an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// As in fio.
    Works,
    /// It works, but not quite as in fio: how.
    Differs(&'static str),
    /// It is accepted and noted, and does nothing: why.
    NoEffect(&'static str),
    /// It is an error: why.
    Refused(&'static str),
}

/// What an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::fio) enum Kind {
    /// 0 or 1.
    Flag,
    /// Nothing, 0 or 1.
    Switch,
    /// A whole number from the first to the second.
    Number(i64, u64),
    /// A number of bytes.
    Bytes,
    /// Bytes for reads, writes and trims.
    EachBytes,
    /// Bytes or percent.
    Extent,
    /// A time.
    Time(TimeUnit),
    /// One of these, each with what it means.
    Choice(&'static [(&'static str, &'static str)]),
    /// As described.
    Text(&'static str),
    /// Nothing, or as described.
    OptionalText(&'static str),
}

/// What an option sets.
#[derive(Clone, Copy)]
pub(in crate::fio) enum Set {
    /// Nothing.
    Nothing,
    /// From a flag or switch.
    Flag(fn(&mut Job, bool)),
    /// From a number that is not negative.
    Count(fn(&mut Job, u64)),
    /// From a number.
    Signed(fn(&mut Job, i64)),
    /// From a number of bytes.
    Bytes(fn(&mut Job, u64)),
    /// From bytes for each direction.
    EachBytes(fn(&mut Job, Each<u64>)),
    /// From bytes or percent.
    Extent(fn(&mut Job, Extent)),
    /// From a time.
    Time(fn(&mut Job, Nanos)),
    /// From one of the choices.
    Choice(fn(&mut Job, &str)),
    /// From text.
    Text(fn(&mut Job, &mut Reader<'_>, &str) -> Result<(), String>),
    /// From text, or from nothing.
    OptionalText(fn(&mut Job, Option<&str>)),
}

impl OptionDef {
    /// Its name and aliases.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    pub(super) const fn new(
        name: &'static str,
        kind: Kind,
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

    /// Other names.
    pub(super) const fn alias(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    /// Only these engines have it.
    pub(super) const fn of(mut self, engines: &'static [&'static str]) -> Self {
        self.engines = engines;
        self
    }

    /// It may be given without a value.
    pub(super) const fn switch(mut self) -> Self {
        self.kind = Kind::Switch;
        self
    }

    /// It works, but not quite as in fio.
    pub(super) const fn differs(mut self, how: &'static str) -> Self {
        self.support = Support::Differs(how);
        self
    }
}
