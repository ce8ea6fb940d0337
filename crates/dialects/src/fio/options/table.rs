//! Rows of the option table, and setters of fields.

pub(in crate::fio) use crate::fio::value::TimeUnit;

use crate::fio::value::duration;
use crate::fio::{Each, Environment, JobDraft, value};
use assay_model::load::{Extent, PerDirection, Range};
use assay_model::units::Nanos;
use std::path::PathBuf;

/// Declares a table of options. Each row is one option:
///
/// ```text
/// options! {
///     pub(super) static OPTIONS:
///
///     flag("direct", "0", "Use O_DIRECT") [stream.durability.direct];
///     flag("buffered", "1", "Do not use O_DIRECT") [!stream.durability.direct];
///     count("loops", (0, u64::MAX), "1", "How often the whole is done; 0 is once")
///         [stream.length.loops = |n| n.max(1)];
///     choice("rate_process", "linear", "How I/Os come under a rate") [stream.pace.poisson] {
///         "linear": "I/Os come evenly" => false,
///         "poisson": "I/Os come as a Poisson process" => true,
///     };
///     text("ioengine", "name of an engine", "psync", "How I/O is handed to the kernel",
///         io_engine);
///     refused("uid", "number", "", "Run as this user", "start assay as that user");
/// }
/// ```
///
/// A row begins with a function of the module `make` and its arguments, of which the first is the
/// option's name. The rest of the row sets fields:
///
/// - `[a.b]`: the field `a.b` of the `JobDraft` takes the value, as implemented by [`Field`].
/// - `[!a.b]`: the field becomes the opposite of the flag.
/// - `[a.b = function]`: the field takes the result of the function for the value. The function of
///   a `text` gets an `OptionReader` and the text, and returns a `Result`.
/// - `[a.b] { "word": "meaning" => value, }`: a `choice` takes one of these words, and the field
///   becomes the word's value.
/// - Nothing, as in `refused`, or if the last argument is a function that sets any fields of the
///   job. The words of a `choice` then have no values: `{ "word": "meaning", }`.
///
/// Methods of `OptionDef`, such as `.alias(&["other_name"])`, may end a row.
macro_rules! options {
    (
        $(#[$of_table:meta])*
        $visible:vis static $table:ident:
        $(
            $make:ident($($given:tt)*) $([$($sets:tt)+])? $({$($words:tt)+})?
            $(.$method:ident($($argument:tt)*))*;
        )+
    ) => {
        $(#[$of_table])*
        $visible static $table: &[$crate::fio::options::table::OptionDef] = &[$(
            $crate::fio::options::table::option!(
                $make($($given)*) $([$($sets)+])? $({$($words)+})?
            )
            $(.$method($($argument)*))*,
        )+];
    };
}

/// Expands a row of `options!` to an option.
macro_rules! option {
    ($make:ident($($given:tt)*)) => {
        $crate::fio::options::table::$make($($given)*)
    };
    (text($($given:tt)*) [$($field:ident).+]) => {
        $crate::fio::options::table::option!(
            text($($given)*) [$($field).+ = |_, value| Ok(value)]
        )
    };
    (text($($given:tt)*) [$($field:ident).+ = $read:expr]) => {
        $crate::fio::options::table::text($($given)*, |job, reader, value| {
            $crate::fio::options::table::read(&mut job.$($field).+, reader, value, $read)
        })
    };
    ($make:ident($($given:tt)*) [$($field:ident).+]) => {
        $crate::fio::options::table::$make($($given)*, |job, value| {
            $crate::fio::options::table::Field::take(&mut job.$($field).+, value);
        })
    };
    ($make:ident($($given:tt)*) [!$($field:ident).+]) => {
        $crate::fio::options::table::$make($($given)*, |job, on| job.$($field).+ = !on)
    };
    ($make:ident($($given:tt)*) [$($field:ident).+ = $from:expr]) => {
        $crate::fio::options::table::$make($($given)*, |job, value| {
            $crate::fio::options::table::set(&mut job.$($field).+, value, $from);
        })
    };
    (choice($($given:tt)*) {$($word:literal: $meaning:literal,)+}) => {
        $crate::fio::options::table::choice($($given)*, &[$(($word, $meaning)),+])
    };
    (choice($($given:tt)*) [$($field:ident).+] {
        $($word:literal: $meaning:literal => $value:expr,)+
    }) => {
        $crate::fio::options::table::choice(
            $($given)*,
            |job, word| {
                job.$($field).+ = match word {
                    $($word => $value,)+
                    _ => return,
                }
            },
            &[$(($word, $meaning)),+],
        )
    };
}
pub(super) use option;
pub(super) use options;

/// Sets a field to the result of `from` for the value of an option.
pub(super) fn set<V, T>(field: &mut impl Field<T>, value: V, from: impl FnOnce(V) -> T) {
    field.take(from(value));
}

/// Sets a field to the value that `read` parses from the text of an option.
pub(super) fn read<'a, T>(
    field: &mut impl Field<T>,
    reader: &mut OptionReader<'_>,
    text: &'a str,
    read: impl FnOnce(&mut OptionReader<'_>, &'a str) -> Result<T, String>,
) -> Result<(), String> {
    field.take(read(reader, text)?);
    Ok(())
}

/// Field of a job that takes the value of an option. The option's range must lie within the
/// field's: a number out of range becomes the largest, or `None`.
pub(super) trait Field<T> {
    /// Takes the value.
    fn take(&mut self, value: T);
}

impl<T> Field<T> for T {
    fn take(&mut self, value: T) {
        *self = value;
    }
}

impl<T> Field<T> for Option<T> {
    fn take(&mut self, value: T) {
        *self = Some(value);
    }
}

impl Field<u64> for u8 {
    fn take(&mut self, value: u64) {
        *self = Self::try_from(value).unwrap_or(Self::MAX);
    }
}

impl Field<u64> for Option<u8> {
    fn take(&mut self, value: u64) {
        *self = u8::try_from(value).ok();
    }
}

impl Field<u64> for u32 {
    fn take(&mut self, value: u64) {
        *self = Self::try_from(value).unwrap_or(Self::MAX);
    }
}

impl Field<i64> for i32 {
    fn take(&mut self, value: i64) {
        *self = Self::try_from(value).unwrap_or(Self::MAX);
    }
}

impl Field<i64> for Option<i32> {
    fn take(&mut self, value: i64) {
        *self = i32::try_from(value).ok();
    }
}

impl Field<&str> for String {
    fn take(&mut self, value: &str) {
        value.clone_into(self);
    }
}

impl Field<&str> for Option<String> {
    fn take(&mut self, value: &str) {
        *self = Some(value.to_owned());
    }
}

impl Field<&str> for Option<PathBuf> {
    fn take(&mut self, value: &str) {
        *self = Some(PathBuf::from(value));
    }
}

/// An option without a value sets an empty text.
impl Field<Option<&str>> for Option<String> {
    fn take(&mut self, value: Option<&str>) {
        *self = Some(value.unwrap_or("").to_owned());
    }
}

/// Directions without a value stay unchanged.
impl<T: Copy> Field<Each<T>> for [T; 3] {
    fn take(&mut self, value: Each<T>) {
        for (field, value) in self.iter_mut().zip(value) {
            *field = value.unwrap_or(*field);
        }
    }
}

/// Directions without a value stay unchanged.
impl<T: Copy> Field<Each<T>> for PerDirection<T> {
    fn take(&mut self, [read, write, trim]: Each<T>) {
        self.read = read.unwrap_or(self.read);
        self.write = write.unwrap_or(self.write);
        self.trim = trim.unwrap_or(self.trim);
    }
}

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

/// Parser of values under a job's settings.
pub(in crate::fio) struct OptionReader<'a> {
    /// Set with `kb_base=1000`.
    pub(in crate::fio) base_1000: bool,
    /// Access to the machine.
    pub(in crate::fio) env: &'a dyn Environment,
    /// Notes made while reading.
    pub(in crate::fio) notes: Vec<String>,
}

impl OptionReader<'_> {
    /// Parses a whole number, with or without a suffix.
    ///
    /// An unmatched closing parenthesis is ignored, because fio's own test
    /// programs contain some.
    pub(in crate::fio) fn signed(&mut self, text: &str) -> Result<i64, String> {
        let text = match text.strip_suffix(')') {
            Some(number) if !number.contains('(') => {
                self.notes.push(format!("the ')' of '{text}' is left out"));
                number
            }
            _ => text,
        };
        let amount = value::amount(text, self.base_1000)?;
        if amount.percent {
            return Err(format!("'{text}': percent is not understood here"));
        }
        self.note(text, amount.surprising, amount.value);
        i64::try_from(amount.value).map_err(|_| format!("'{text}' is too large"))
    }

    /// Parses a whole number that is not negative.
    pub(in crate::fio) fn count(&mut self, text: &str) -> Result<u64, String> {
        u64::try_from(self.signed(text)?).map_err(|_| format!("'{text}' may not be negative"))
    }

    /// Parses bytes or percent.
    pub(in crate::fio) fn extent(&mut self, text: &str) -> Result<Extent, String> {
        let amount = value::amount(text, self.base_1000)?;
        if !amount.percent {
            return self.count(text).map(Extent::Bytes);
        }
        match u8::try_from(amount.value) {
            Ok(percent) if percent <= 100 => Ok(Extent::Percent(f64::from(percent))),
            _ => Err(format!("'{text}' is not within 0% and 100%")),
        }
    }

    /// Parses `4k`, `4k-8k` or `4k:8k`.
    pub(in crate::fio) fn range(&mut self, text: &str) -> Result<Range, String> {
        let (low, high) = text.split_once(['-', ':', ',']).unwrap_or((text, text));
        let (low, high) = (self.count(low)?, self.count(high)?);
        Ok(Range {
            min: low.min(high),
            max: low.max(high),
        })
    }

    /// Parses `4k`, `4k,8k` or `4k,8k,16k`: reads, writes, trims. An empty part
    /// sets nothing; a single value applies to all; of two, trims get that of
    /// writes.
    pub(in crate::fio) fn each<T: Copy>(
        &mut self,
        text: &str,
        read: impl Fn(&mut Self, &str) -> Result<T, String>,
    ) -> Result<Each<T>, String> {
        let parts: Vec<&str> = text.split(',').collect();
        if parts.len() > 3 || parts.iter().all(|part| part.trim().is_empty()) {
            return Err(format!(
                "'{text}': write one to three values, for reads, writes and trims"
            ));
        }
        let mut values = [None; 3];
        for (value, part) in values.iter_mut().zip(&parts) {
            if !part.trim().is_empty() {
                *value = Some(read(self, part)?);
            }
        }
        match parts.len() {
            1 => values = [values[0]; 3],
            2 => values[2] = values[1],
            _ => {}
        }
        Ok(values)
    }

    /// Parses a number with a fraction.
    pub(in crate::fio) fn float(&mut self, text: &str) -> Result<f64, String> {
        text.trim()
            .parse::<f64>()
            .ok()
            .filter(|value| value.is_finite())
            .ok_or_else(|| format!("'{text}' is not a number"))
    }

    fn note(&mut self, text: &str, surprising: bool, value: i128) {
        if surprising {
            self.notes.push(format!(
                "'{text}' is {value} by fio's rule: with kb_base=1024, KiB, MiB … are powers of 1000 and k, m … are powers of 1024"
            ));
        }
    }
}

/// Returns the message for a value that is not in `names`.
pub(super) fn not_one_of<'a>(value: &str, names: impl Iterator<Item = &'a str> + Clone) -> String {
    let all: Vec<&str> = names.collect();
    format!("'{value}' is not known; use one of {}", all.join(", "))
}
