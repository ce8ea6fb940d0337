//! A table as JSON: an array of objects, one per line.

use super::{Column, TableSink, Value};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::io::{self, Write};

pub(super) struct JsonSink<'a> {
    columns: Vec<Column>,
    out: &'a mut dyn Write,
    /// Separator before the next row.
    before: &'static str,
}

impl<'a> JsonSink<'a> {
    pub(super) fn begin(columns: Vec<Column>, out: &'a mut dyn Write) -> io::Result<Self> {
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
