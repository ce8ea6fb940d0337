//! JSON in fio's layout: members in order, `"key" : value`, two spaces per level, six decimals.
//! `serde_json` does the rest.
//!
//! The type `Value` of `serde_json` would sort the members. Its feature `preserve_order` is no
//! solution: cargo enables it for the whole program, where it would change the order of other JSON
//! output.

use serde::ser::{Serialize, Serializer};
use serde_json::ser::Formatter;
use std::io::{self, Write};

/// Any JSON value.
#[derive(serde::Serialize)]
#[serde(untagged)]
pub(super) enum JsonValue {
    Null,
    Flag(bool),
    Whole(u64),
    Real(f64),
    Text(String),
    List(Vec<JsonValue>),
    Map(Map),
}

/// Object that keeps the order of its members.
pub(super) struct Map(Vec<(String, JsonValue)>);

impl Map {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(super) fn add(&mut self, key: &str, value: impl Into<JsonValue>) {
        self.0.push((key.to_owned(), value.into()));
    }
}

impl From<u64> for JsonValue {
    fn from(value: u64) -> Self {
        Self::Whole(value)
    }
}

impl From<u32> for JsonValue {
    fn from(value: u32) -> Self {
        Self::Whole(u64::from(value))
    }
}

impl From<f64> for JsonValue {
    /// Converts a number; JSON has no infinity.
    fn from(value: f64) -> Self {
        if value.is_finite() {
            Self::Real(value)
        } else {
            Self::Null
        }
    }
}

impl From<&str> for JsonValue {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<Map> for JsonValue {
    fn from(value: Map) -> Self {
        Self::Map(value)
    }
}

impl From<Vec<Self>> for JsonValue {
    fn from(value: Vec<Self>) -> Self {
        Self::List(value)
    }
}

/// An absent value is `null`, not zero.
impl<T: Into<Self>> From<Option<T>> for JsonValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl Serialize for Map {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

/// Writes an object and a line end.
pub(super) fn write(map: &Map, out: &mut dyn Write) -> io::Result<()> {
    let formatter = Layout { level: 0 };
    let mut serializer = serde_json::Serializer::with_formatter(&mut *out, formatter);
    map.serialize(&mut serializer)?;
    writeln!(out)
}

struct Layout {
    level: usize,
}

impl Layout {
    fn open<W: ?Sized + Write>(&mut self, bracket: &str, out: &mut W) -> io::Result<()> {
        self.level += 1;
        writeln!(out, "{bracket}")
    }

    fn close<W: ?Sized + Write>(&mut self, bracket: &str, out: &mut W) -> io::Result<()> {
        self.level -= 1;
        write!(out, "\n{:1$}{bracket}", "", self.level * 2)
    }

    fn next<W: ?Sized + Write>(&self, first: bool, out: &mut W) -> io::Result<()> {
        let separator = if first { "" } else { ",\n" };
        write!(out, "{separator}{:1$}", "", self.level * 2)
    }
}

impl Formatter for Layout {
    fn write_f64<W: ?Sized + Write>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        write!(out, "{value:.6}")
    }

    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open("[", out)
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close("]", out)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.next(first, out)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.open("{", out)
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.close("}", out)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.next(first, out)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(b" : ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spelling_is_fios() {
        let mut options = Map::new();
        options.add("description", "q\"u\\o\n");
        let mut map = Map::new();
        map.add("fio version", "fio-3.33");
        map.add("global options", Map::new());
        map.add(
            "jobs",
            vec![JsonValue::from(options), JsonValue::from(1_u64)],
        );
        map.add("util", 20.080_320_9);
        map.add("absent", None::<u64>);
        let mut text = Vec::new();
        write(&map, &mut text).unwrap();
        let expected = r#"{
  "fio version" : "fio-3.33",
  "global options" : {

  },
  "jobs" : [
    {
      "description" : "q\"u\\o\n"
    },
    1
  ],
  "util" : 20.080321,
  "absent" : null
}
"#;
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
