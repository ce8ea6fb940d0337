//! A table as Apache Parquet, with one row group per batch of rows.

use super::{Column, Kind, TableSink, Value};
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};
use std::io::{self, Write};
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

/// Buffer between the Parquet writer and the output. The writer needs an output that can be sent to
/// other threads, which a borrowed one cannot.
#[derive(Clone, Default)]
struct Pending(Arc<Mutex<Vec<u8>>>);

impl Pending {
    fn take(&self) -> Vec<u8> {
        mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Pending {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pending.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(super) struct ParquetSink<'a> {
    writer: SerializedFileWriter<Pending>,
    pending: Pending,
    out: &'a mut dyn Write,
}

impl<'a> ParquetSink<'a> {
    pub(super) fn begin(columns: &[Column], out: &'a mut dyn Write) -> io::Result<Self> {
        let pending = Pending::default();
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
        let properties = properties
            .set_created_by(format!("assay {}", env!("CARGO_PKG_VERSION")))
            .build();
        let writer =
            SerializedFileWriter::new(pending.clone(), schema(columns)?, Arc::new(properties))?;
        Ok(Self {
            writer,
            pending,
            out,
        })
    }

    fn row_group(&mut self, rows: &[Vec<Value>]) -> Result<()> {
        let mut group = self.writer.next_row_group()?;
        let mut at = 0;
        while let Some(mut column) = group.next_column()? {
            let values = rows.iter().map(|row| row.get(at).unwrap_or(&Value::Null));
            write_column(column.untyped(), values)?;
            column.close()?;
            at += 1;
        }
        group.close().map(|_| ())
    }
}

impl TableSink for ParquetSink<'_> {
    fn rows(&mut self, rows: &[Vec<Value>]) -> io::Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        self.row_group(rows)?;
        self.writer.inner_mut().flush()?;
        self.out.write_all(&self.pending.take())
    }

    fn end(self: Box<Self>) -> io::Result<()> {
        let Self {
            writer,
            pending,
            out,
        } = *self;
        writer.close()?;
        out.write_all(&pending.take())
    }
}

/// Returns the schema; every column allows unknown values.
fn schema(columns: &[Column]) -> Result<TypePtr> {
    let fields = columns.iter().map(|column| {
        let (physical, logical) = match column.kind {
            Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Kind::Integer => (Physical::INT64, None),
            Kind::Real => (Physical::DOUBLE, None),
            Kind::Time => {
                let moment = LogicalType::timestamp(true, TimeUnit::MILLIS);
                (Physical::INT64, Some(moment))
            }
        };
        let field = Type::primitive_type_builder(&column.name, physical)
            .with_logical_type(logical)
            .with_repetition(Repetition::OPTIONAL);
        field.build().map(Arc::new)
    });
    let fields: Result<Vec<TypePtr>> = fields.collect();
    let root = Type::group_type_builder("assay").with_fields(fields?);
    root.build().map(Arc::new)
}

/// Writes the known values, and for each row whether its value is known.
fn write_column<'v>(
    writer: &mut ColumnWriter<'_>,
    values: impl Iterator<Item = &'v Value>,
) -> Result<()> {
    fn known<'v, T>(
        values: impl Iterator<Item = &'v Value>,
        of: impl Fn(&'v Value) -> Option<T>,
    ) -> (Vec<T>, Vec<i16>) {
        let (mut known, mut levels) = (Vec::new(), Vec::new());
        for value in values.map(of) {
            levels.push(i16::from(value.is_some()));
            known.extend(value);
        }
        (known, levels)
    }
    match writer {
        ColumnWriter::ByteArrayColumnWriter(writer) => {
            let (texts, levels) = known(values, |value| match value {
                Value::Text(text) => Some(ByteArray::from(text.as_bytes().to_vec())),
                _ => None,
            });
            writer.write_batch(&texts, Some(&levels), None)
        }
        ColumnWriter::DoubleColumnWriter(writer) => {
            let (numbers, levels) = known(values, |value| match value {
                Value::Real(number) => Some(*number),
                _ => None,
            });
            writer.write_batch(&numbers, Some(&levels), None)
        }
        ColumnWriter::Int64ColumnWriter(writer) => {
            let (numbers, levels) = known(values, |value| match value {
                Value::Integer(number) | Value::Time(number) => Some(*number),
                _ => None,
            });
            writer.write_batch(&numbers, Some(&levels), None)
        }
        _ => Ok(0),
    }
    .map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    #[test]
    fn each_type_comes_back_from_several_batches() {
        let kinds = [Kind::Text, Kind::Integer, Kind::Real, Kind::Time];
        let columns: Vec<Column> = kinds
            .iter()
            .map(|kind| Column {
                name: format!("{kind:?}"),
                kind: *kind,
            })
            .collect();
        let full = vec![
            Value::Text("'; DROP TABLE runs; --".to_owned()),
            Value::Integer(-7),
            Value::Real(0.25),
            Value::Time(1_793_714_709_250),
        ];
        let empty = vec![Value::Null; 4];
        let mut file = Vec::new();
        let mut sink = ParquetSink::begin(&columns, &mut file).unwrap();
        sink.rows(&[full.clone(), empty.clone()]).unwrap();
        sink.rows(&[]).unwrap();
        sink.rows(&[empty]).unwrap();
        Box::new(sink).end().unwrap();

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        std::fs::write(&path, file).unwrap();
        let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
        assert_eq!(reader.num_row_groups(), 2);
        let rows = reader.get_row_iter(None).unwrap();
        let rows: Vec<String> = rows.map(|row| row.unwrap().to_string()).collect();
        assert_eq!(rows.len(), 3);
        let first = rows.first().unwrap();
        for part in ["DROP TABLE runs", "Integer: -7", "Real: 0.25", "2026-11-03"] {
            assert!(first.contains(part), "{first}");
        }
        assert!(
            rows.iter()
                .skip(1)
                .all(|row| row.matches("null").count() == 4)
        );
    }
}
