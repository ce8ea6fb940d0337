//! Tables of typed columns for other programs: CSV, JSON and Parquet. Rows arrive in batches, so
//! that a table may be larger than memory.

#[cfg(feature = "parquet")]
mod parquet;

use crate::machine::harmless;
use crate::machine::json::rfc3339;
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::io;
use std::io::Write;

/// Type of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Texts.
    Text,
    /// Whole numbers.
    Integer,
    /// Numbers.
    Real,
    /// Times, in milliseconds since 1970 (UTC).
    Time,
}

/// A cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Not known.
    Null,
    /// A text.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A number.
    Real(f64),
    /// Time, in milliseconds since 1970 (UTC).
    Time(i64),
}

/// Name and type of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name, unique in its table.
    pub name: String,
    /// Type of its values; values of other types are written as unknown.
    pub kind: Kind,
}

/// Format of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A header line, then a line for each row (RFC 4180).
    Csv,
    /// An array with an object for each row.
    Json,
    /// Apache Parquet, compressed with Snappy.
    Parquet,
}

/// Table under construction.
pub trait TableSink {
    /// Adds rows, each with a value for every column.
    ///
    /// # Errors
    /// If the output cannot be written.
    fn rows(&mut self, rows: &[Vec<Value>]) -> io::Result<()>;

    /// Ends the table.
    ///
    /// # Errors
    /// If the output cannot be written.
    fn end(self: Box<Self>) -> io::Result<()>;
}

impl Form {
    /// Begins a table.
    ///
    /// # Errors
    /// If `out` cannot be written, or this build of assay has no Parquet.
    pub fn begin<'a>(
        self,
        columns: Vec<Column>,
        out: &'a mut dyn Write,
    ) -> io::Result<Box<dyn TableSink + 'a>> {
        Ok(match self {
            Self::Csv => Box::new(CsvSink::begin(&columns, out)?),
            Self::Json => Box::new(JsonSink::begin(columns, out)?),
            #[cfg(feature = "parquet")]
            Self::Parquet => Box::new(parquet::ParquetSink::begin(&columns, out)?),
            #[cfg(not(feature = "parquet"))]
            Self::Parquet => return Err(io::Error::other(NO_PARQUET)),
        })
    }

    /// Writes a table from memory.
    ///
    /// # Errors
    /// As [`Form::begin`].
    pub fn write(
        self,
        columns: Vec<Column>,
        rows: &[Vec<Value>],
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let mut sink = self.begin(columns, out)?;
        sink.rows(rows)?;
        sink.end()
    }
}

/// True if this build of assay can write Parquet.
pub const HAS_PARQUET: bool = cfg!(feature = "parquet");

/// Error message of a build without Parquet.
pub const NO_PARQUET: &str = "this build of assay cannot write Parquet: take the one of the \
                              archives, or build it with --features parquet";

/// Determines the types of untyped columns from their values. A column contains times if each value
/// is a text as [`rfc3339`] writes it, and real numbers if one of them has a fraction. Mixed types
/// become texts. Repeated names get a number.
pub fn typed(names: Vec<String>, rows: &mut [Vec<Value>]) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::with_capacity(names.len());
    for (at, name) in names.into_iter().enumerate() {
        let kind = kind_of(rows.iter().filter_map(|row| row.get(at)));
        for value in rows.iter_mut().filter_map(|row| row.get_mut(at)) {
            value.become_of(kind);
        }
        let taken = |name: &str| columns.iter().any(|column| column.name == name);
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        let mut names = std::iter::once(name.clone()).chain(numbered);
        let name = names.find(|name| !taken(name)).unwrap_or_default();
        columns.push(Column { name, kind });
    }
    columns
}

/// Converts the values of a row to the types of their columns.
pub fn fit(columns: &[Column], mut row: Vec<Value>) -> Vec<Value> {
    for (value, column) in row.iter_mut().zip(columns) {
        value.become_of(column.kind);
    }
    row
}

fn kind_of<'a>(values: impl Iterator<Item = &'a Value>) -> Kind {
    let mut kind = None;
    for value in values {
        let own = match value {
            Value::Null => continue,
            Value::Text(text) if moment(text).is_some() => Kind::Time,
            Value::Text(_) => Kind::Text,
            Value::Integer(_) => Kind::Integer,
            Value::Real(_) => Kind::Real,
            Value::Time(_) => Kind::Time,
        };
        kind = Some(match (kind, own) {
            (None, own) => own,
            (Some(kind), own) if kind == own => own,
            (Some(Kind::Integer | Kind::Real), Kind::Integer | Kind::Real) => Kind::Real,
            _ => return Kind::Text,
        });
    }
    kind.unwrap_or(Kind::Text)
}

impl Value {
    /// Converts the value to a type.
    fn become_of(&mut self, kind: Kind) {
        let changed = match (&*self, kind) {
            (Self::Integer(number), Kind::Real) => Self::Real(*number as f64),
            (Self::Text(text), Kind::Time) => moment(text).map_or(Self::Null, Self::Time),
            (Self::Integer(_) | Self::Real(_) | Self::Time(_), Kind::Text) => {
                Self::Text(self.text())
            }
            _ => return,
        };
        *self = changed;
    }

    /// Returns the value as text; empty if it is not known.
    pub fn text(&self) -> String {
        match self {
            Self::Null => String::new(),
            Self::Text(text) => text.clone(),
            Self::Integer(number) => number.to_string(),
            Self::Real(number) => number.to_string(),
            Self::Time(unix_ms) => u64::try_from(*unix_ms).map_or_else(|_| String::new(), rfc3339),
        }
    }
}

/// Parses a time as [`rfc3339`] writes it.
fn moment(text: &str) -> Option<i64> {
    let digits = |from: usize, to: usize| -> Option<i64> {
        let digits = text.get(from..to)?;
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse().ok().filter(|_| plain)
    };
    if text.len() != "2026-11-03T14:05:09.250Z".len() {
        return None;
    }
    let (year, month, day) = (digits(0, 4)?, digits(5, 7)?, digits(8, 10)?);
    let (hour, minute) = (digits(11, 13)?, digits(14, 16)?);
    let (second, milli) = (digits(17, 19)?, digits(20, 23)?);
    let days = days_from_civil(year, month, day);
    let unix_ms = ((days * 24 + hour) * 60 + minute) * 60_000 + second * 1_000 + milli;
    // Text that does not format back to itself is not a valid time, such as a 31st of February.
    let same = rfc3339(u64::try_from(unix_ms).ok()?) == text;
    same.then_some(unix_ms)
}

/// Returns the days from 1970 to a date (Howard Hinnant, "chrono-Compatible Low-Level Date
/// Algorithms").
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year - era * 400;
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// A table as CSV. Spreadsheets cannot run its texts as formulas.
struct CsvSink<'a> {
    csv: csv::Writer<&'a mut dyn Write>,
}

impl<'a> CsvSink<'a> {
    fn begin(columns: &[Column], out: &'a mut dyn Write) -> io::Result<Self> {
        let mut csv = csv::Writer::from_writer(out);
        let names = columns.iter().map(|column| harmless(&column.name));
        csv.write_record(names.map(|name| name.into_owned()))?;
        Ok(Self { csv })
    }
}

impl TableSink for CsvSink<'_> {
    fn rows(&mut self, rows: &[Vec<Value>]) -> io::Result<()> {
        for row in rows {
            let cells = row.iter().map(|value| match value {
                Value::Text(text) => harmless(text).into_owned(),
                other => other.text(),
            });
            self.csv.write_record(cells)?;
        }
        Ok(())
    }

    fn end(mut self: Box<Self>) -> io::Result<()> {
        self.csv.flush()
    }
}

struct JsonSink<'a> {
    columns: Vec<Column>,
    out: &'a mut dyn Write,
    /// Separator before the next row.
    before: &'static str,
}

impl<'a> JsonSink<'a> {
    fn begin(columns: Vec<Column>, out: &'a mut dyn Write) -> io::Result<Self> {
        out.write_all(b"[")?;
        Ok(Self {
            columns,
            out,
            before: "\n",
        })
    }
}

impl TableSink for JsonSink<'_> {
    fn rows(&mut self, rows: &[Vec<Value>]) -> io::Result<()> {
        for row in rows {
            self.out.write_all(self.before.as_bytes())?;
            self.before = ",\n";
            let row = Row(&self.columns, row);
            serde_json::to_writer(&mut *self.out, &row)?;
        }
        Ok(())
    }

    fn end(self: Box<Self>) -> io::Result<()> {
        let end = match self.before {
            "\n" => "]\n",
            _ => "\n]\n",
        };
        self.out.write_all(end.as_bytes())
    }
}

/// Row with the names of its columns, in order.
struct Row<'a>(&'a [Column], &'a [Value]);

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.0.len()))?;
        for (column, value) in self.0.iter().zip(self.1) {
            match value {
                Value::Null => map.serialize_entry(&column.name, &())?,
                Value::Integer(number) => map.serialize_entry(&column.name, number)?,
                Value::Real(number) => map.serialize_entry(&column.name, number)?,
                Value::Text(_) | Value::Time(_) => {
                    map.serialize_entry(&column.name, &value.text())?;
                }
            }
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    fn written(form: Form, names: &[&str], mut rows: Vec<Vec<Value>>) -> String {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let columns = typed(names, &mut rows);
        let mut out = Vec::new();
        form.write(columns, &rows, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn types_come_from_the_values() {
        let moment = "2026-11-03T14:05:09.250Z";
        let mut rows = vec![
            vec![
                Value::Integer(1),
                Value::Integer(1),
                text(moment),
                text("a"),
            ],
            vec![
                Value::Null,
                Value::Real(0.5),
                Value::Null,
                Value::Integer(2),
            ],
        ];
        let names = ["n", "x", "at", "n"].map(str::to_owned).into();
        let columns = typed(names, &mut rows);
        let kinds: Vec<Kind> = columns.iter().map(|column| column.kind).collect();
        assert_eq!(kinds, [Kind::Integer, Kind::Real, Kind::Time, Kind::Text]);
        assert_eq!(columns[3].name, "n_2");
        assert_eq!(rows[0][1], Value::Real(1.0));
        assert_eq!(rows[0][2], Value::Time(1_793_714_709_250));
        assert_eq!(rows[1][3], text("2"));
    }

    #[test]
    fn what_is_no_moment_stays_a_text() {
        for words in [
            "2026-02-31T14:05:09.250Z",
            "2026-11-03 14:05:09.250Z",
            "2026-11-03T14:05:09.250+",
            "+026-11-03T14:05:09.250Z",
            "yesterday, about tea time",
            "éééééééééééé",
        ] {
            assert_eq!(moment(words), None, "{words}");
        }
    }

    proptest! {
        #[test]
        fn each_moment_is_read_as_it_was_written(unix_ms in 0_u64..253_402_300_800_000) {
            prop_assert_eq!(moment(&rfc3339(unix_ms)), i64::try_from(unix_ms).ok());
        }
    }

    #[test]
    fn texts_of_others_are_no_formulas_in_csv() {
        let rows = vec![
            vec![text("=cmd|' /C calc'!A0"), Value::Integer(-1)],
            vec![text("'; DROP TABLE runs; --"), Value::Null],
            vec![text("a,\"b\"\nc"), Value::Integer(3)],
        ];
        let csv = written(Form::Csv, &["=name", "n"], rows);
        let expected = "'=name,n\n'=cmd|' /C calc'!A0,-1\n'; DROP TABLE runs; --,\n\
                        \"a,\"\"b\"\"\nc\",3\n";
        assert_eq!(csv, expected);
    }

    #[test]
    fn json_has_an_object_for_each_row() {
        let rows = vec![
            vec![text("a\"\n"), Value::Real(f64::NAN)],
            vec![Value::Null, Value::Real(0.1)],
        ];
        let json = written(Form::Json, &["name", "x"], rows);
        let read: serde_json::Value = serde_json::from_str(&json).unwrap();
        let expected = serde_json::json!([{"name": "a\"\n", "x": null}, {"name": null, "x": 0.1}]);
        assert_eq!(read, expected);
        assert_eq!(written(Form::Json, &["name"], Vec::new()), "[]\n");
    }
}
