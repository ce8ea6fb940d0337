//! A table as CSV. Spreadsheets cannot run its texts as formulas.

use super::{Column, TableSink, Value};
use crate::machine::csv::harmless;
use std::io::{self, Write};

pub(super) struct CsvSink<'a> {
    csv: csv::Writer<&'a mut dyn Write>,
}

impl<'a> CsvSink<'a> {
    pub(super) fn begin(columns: &[Column], out: &'a mut dyn Write) -> io::Result<Self> {
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
