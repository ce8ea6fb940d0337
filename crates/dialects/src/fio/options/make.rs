//! Functions for the kinds of rows in the table.

use super::define::{OptionDef, OptionType, Set, Support, TimeUnit};
use super::reader::OptionReader;
use crate::fio::job::{Each, JobDraft};
use assay_model::load::Extent;
use assay_model::units::Nanos;

/// Makes an option that takes 0 or 1.
pub(super) const fn flag(
    name: &'static str,
    default: &'static str,
    help: &'static str,
    set: fn(&mut JobDraft, bool),
) -> OptionDef {
    OptionDef::new(name, OptionType::Flag, default, help, Set::Flag(set))
}

/// Makes an option that takes no value, 0 or 1.
pub(super) const fn switch(
    name: &'static str,
    help: &'static str,
    set: fn(&mut JobDraft, bool),
) -> OptionDef {
    OptionDef::new(name, OptionType::Switch, "0", help, Set::Flag(set))
}

/// Makes an option that takes a number within `range`.
pub(super) const fn count(
    name: &'static str,
    range: (u64, u64),
    default: &'static str,
    help: &'static str,
    set: fn(&mut JobDraft, u64),
) -> OptionDef {
    #[expect(
        clippy::cast_possible_wrap,
        reason = "least values are small constants"
    )]
    let kind = OptionType::Number(range.0 as i64, range.1);
    OptionDef::new(name, kind, default, help, Set::Count(set))
}

/// Makes an option that takes a number within `range`, which may be negative.
pub(super) const fn signed(
    name: &'static str,
    range: (i64, u64),
    default: &'static str,
    help: &'static str,
    set: fn(&mut JobDraft, i64),
) -> OptionDef {
    OptionDef::new(
        name,
        OptionType::Number(range.0, range.1),
        default,
        help,
        Set::Signed(set),
    )
}

/// Makes an option that takes bytes.
pub(super) const fn bytes(
    name: &'static str,
    default: &'static str,
    help: &'static str,
    set: fn(&mut JobDraft, u64),
) -> OptionDef {
    OptionDef::new(name, OptionType::Bytes, default, help, Set::Bytes(set))
}

/// Makes an option that takes bytes for reads, writes and trims.
pub(super) const fn each_bytes(
    name: &'static str,
    default: &'static str,
    help: &'static str,
    set: fn(&mut JobDraft, Each<u64>),
) -> OptionDef {
    OptionDef::new(
        name,
        OptionType::EachBytes,
        default,
        help,
        Set::EachBytes(set),
    )
}

/// Makes an option that takes bytes or percent.
pub(super) const fn extent(
    name: &'static str,
    default: &'static str,
    help: &'static str,
    set: fn(&mut JobDraft, Extent),
) -> OptionDef {
    OptionDef::new(name, OptionType::Extent, default, help, Set::Extent(set))
}

/// Makes an option that takes a time.
pub(super) const fn time(
    name: &'static str,
    unit: TimeUnit,
    default: &'static str,
    help: &'static str,
    set: fn(&mut JobDraft, Nanos),
) -> OptionDef {
    OptionDef::new(name, OptionType::Time(unit), default, help, Set::Time(set))
}

/// Makes an option that takes one of several words, each with its meaning.
pub(super) const fn choice(
    name: &'static str,
    default: &'static str,
    help: &'static str,
    set: fn(&mut JobDraft, &str),
    choices: &'static [(&'static str, &'static str)],
) -> OptionDef {
    OptionDef::new(
        name,
        OptionType::Choice(choices),
        default,
        help,
        Set::Choice(set),
    )
}

/// Makes an option that takes text; `form` describes it.
pub(super) const fn text(
    name: &'static str,
    form: &'static str,
    default: &'static str,
    help: &'static str,
    set: fn(&mut JobDraft, &mut OptionReader<'_>, &str) -> Result<(), String>,
) -> OptionDef {
    OptionDef::new(name, OptionType::Text(form), default, help, Set::Text(set))
}

/// Makes an option that takes text or no value.
pub(super) const fn optional_text(
    name: &'static str,
    form: &'static str,
    help: &'static str,
    set: fn(&mut JobDraft, Option<&str>),
) -> OptionDef {
    OptionDef::new(
        name,
        OptionType::OptionalText(form),
        "",
        help,
        Set::OptionalText(set),
    )
}

/// Makes an option that is accepted without effect.
pub(super) const fn no_effect(
    name: &'static str,
    form: &'static str,
    help: &'static str,
    why: &'static str,
) -> OptionDef {
    let option = OptionDef::new(name, OptionType::Text(form), "", help, Set::Nothing);
    OptionDef {
        support: Support::NoEffect(why),
        ..option
    }
}

/// Makes an option that is refused, except with its default as value.
pub(super) const fn refused(
    name: &'static str,
    form: &'static str,
    default: &'static str,
    help: &'static str,
    why: &'static str,
) -> OptionDef {
    let option = OptionDef::new(name, OptionType::Text(form), default, help, Set::Nothing);
    OptionDef {
        support: Support::Refused(why),
        ..option
    }
}

/// Makes an option of engines that assay lacks, which is refused.
pub(super) const fn absent(
    name: &'static str,
    form: &'static str,
    default: &'static str,
    help: &'static str,
) -> OptionDef {
    refused(name, form, default, help, "its engine is not supported")
}
