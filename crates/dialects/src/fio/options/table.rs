//! Rows of the option table, and setters of fields.

use super::reader::OptionReader;
use crate::fio::job::Each;
use assay_model::load::PerDirection;
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
        $visible static $table: &[$crate::fio::options::define::OptionDef] = &[$(
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
        $crate::fio::options::make::$make($($given)*)
    };
    (text($($given:tt)*) [$($field:ident).+]) => {
        $crate::fio::options::table::option!(
            text($($given)*) [$($field).+ = |_, value| Ok(value)]
        )
    };
    (text($($given:tt)*) [$($field:ident).+ = $read:expr]) => {
        $crate::fio::options::make::text($($given)*, |job, reader, value| {
            $crate::fio::options::table::read(&mut job.$($field).+, reader, value, $read)
        })
    };
    ($make:ident($($given:tt)*) [$($field:ident).+]) => {
        $crate::fio::options::make::$make($($given)*, |job, value| {
            $crate::fio::options::table::Field::take(&mut job.$($field).+, value);
        })
    };
    ($make:ident($($given:tt)*) [!$($field:ident).+]) => {
        $crate::fio::options::make::$make($($given)*, |job, on| job.$($field).+ = !on)
    };
    ($make:ident($($given:tt)*) [$($field:ident).+ = $from:expr]) => {
        $crate::fio::options::make::$make($($given)*, |job, value| {
            $crate::fio::options::table::set(&mut job.$($field).+, value, $from);
        })
    };
    (choice($($given:tt)*) {$($word:literal: $meaning:literal,)+}) => {
        $crate::fio::options::make::choice($($given)*, &[$(($word, $meaning)),+])
    };
    (choice($($given:tt)*) [$($field:ident).+] {
        $($word:literal: $meaning:literal => $value:expr,)+
    }) => {
        $crate::fio::options::make::choice(
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

pub(super) use {option, options};

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
