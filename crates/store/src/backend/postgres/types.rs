//! Conversion of values from and to PostgreSQL's formats.

use crate::backend::Value;
use crate::backend::value::Columns;
use postgres::types::private::BytesMut;
use postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use std::error::Error;
use std::fmt::Write as _;

type Anything = Box<dyn Error + Sync + Send>;

impl Columns for postgres::Row {
    fn names(&self) -> Vec<&str> {
        self.columns().iter().map(postgres::Column::name).collect()
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.columns()
            .iter()
            .position(|column| column.name() == name)
    }

    fn read(&self, index: usize) -> Result<Value, String> {
        let value = self.try_get::<usize, Option<Value>>(index);
        match value {
            Ok(value) => Ok(value.unwrap_or(Value::Null)),
            Err(error) => Err(match error.source() {
                Some(source) => source.to_string(),
                None => error.to_string(),
            }),
        }
    }
}

/// Returns true if values of a type are read in binary form; other types are cast to text.
pub fn is_read(kind: &Type) -> bool {
    let known = [
        Type::BOOL,
        Type::INT2,
        Type::INT4,
        Type::INT8,
        Type::FLOAT4,
        Type::FLOAT8,
        Type::NUMERIC,
        Type::TEXT,
        Type::VARCHAR,
        Type::BPCHAR,
        Type::NAME,
        Type::UNKNOWN,
        Type::JSON,
        Type::JSONB,
        Type::BYTEA,
        Type::TIMESTAMPTZ,
        Type::TIMESTAMP,
        Type::FLOAT8_ARRAY,
    ];
    known.contains(kind)
}

impl<'a> FromSql<'a> for Value {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, Anything> {
        Ok(match *kind {
            Type::BOOL => Self::Int(bool::from_sql(kind, raw)?.into()),
            Type::INT2 => Self::Int(i16::from_sql(kind, raw)?.into()),
            Type::INT4 => Self::Int(i32::from_sql(kind, raw)?.into()),
            Type::INT8 => Self::Int(i64::from_sql(kind, raw)?),
            Type::FLOAT4 => Self::Real(f32::from_sql(kind, raw)?.into()),
            Type::FLOAT8 => Self::Real(f64::from_sql(kind, raw)?),
            Type::NUMERIC => numeric(raw).ok_or("a number that cannot be read")?,
            Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME | Type::UNKNOWN | Type::JSON => {
                Self::Text(std::str::from_utf8(raw)?.to_owned())
            }
            // Text after a byte with the version of the format.
            Type::JSONB => {
                Self::Text(std::str::from_utf8(raw.get(1..).unwrap_or_default())?.into())
            }
            Type::BYTEA => Self::Blob(raw.to_owned()),
            Type::TIMESTAMPTZ | Type::TIMESTAMP => {
                timestamp(raw).ok_or("a time that cannot be read")?
            }
            Type::FLOAT8_ARRAY => Self::Reals(Vec::from_sql(kind, raw)?),
            _ => return Err(format!("its type {kind} is not known here: cast it to text").into()),
        })
    }

    fn accepts(_kind: &Type) -> bool {
        true
    }
}

/// Reads a number of any size: count of base-10000 digits, weight, sign, scale, and the digits.
/// Whole numbers that fit remain whole.
fn numeric(raw: &[u8]) -> Option<Value> {
    let mut words = raw.chunks_exact(2).map(|word| {
        <[u8; 2]>::try_from(word)
            .map(i16::from_be_bytes)
            .unwrap_or_default()
    });
    let _count = words.next()?;
    let weight = i32::from(words.next()?);
    let sign = words.next()?;
    let behind = words.next()?;
    let digits: Vec<i16> = words.collect();
    let sign = match sign {
        0 => 1.0,
        0x4000 => -1.0,
        _ => return Some(Value::Real(f64::NAN)),
    };
    // Parsed as text, so that the result is the nearest number.
    let mut text = String::from("0");
    for &digit in &digits {
        let _ = write!(text, "{digit:04}");
    }
    let exponent = (weight + 1 - i32::try_from(digits.len()).ok()?).checked_mul(4)?;
    let number: f64 = format!("{text}e{exponent}").parse().ok()?;
    #[expect(clippy::cast_possible_truncation, reason = "far below the limits")]
    match behind == 0 && number < 9e15 {
        true => Some(Value::Int((sign * number) as i64)),
        false => Some(Value::Real(sign * number)),
    }
}

/// Formats microseconds since 2000 as `2026-03-14T09:26:53.589Z`.
fn timestamp(raw: &[u8]) -> Option<Value> {
    const FROM_1970: i64 = 946_684_800_000;
    let micros = i64::from_be_bytes(raw.try_into().ok()?);
    if micros == i64::MAX || micros == i64::MIN {
        return Some(Value::Null);
    }
    let ms = micros.div_euclid(1_000) + FROM_1970;
    let at = jiff::Timestamp::from_millisecond(ms).ok()?;
    Some(Value::Text(
        at.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string(),
    ))
}

impl ToSql for Value {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Anything> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(number) => whole(*number, kind, out),
            Self::Real(number) => match *kind {
                #[expect(clippy::cast_possible_truncation, reason = "the column is that small")]
                Type::FLOAT4 => (*number as f32).to_sql(kind, out),
                Type::FLOAT8 => number.to_sql(kind, out),
                _ => Err(unfit(self, kind)),
            },
            Self::Text(text) => match *kind {
                Type::BYTEA => Err(unfit(self, kind)),
                // PostgreSQL's text cannot contain this character.
                _ => text.replace('\0', "\u{fffd}").to_sql(kind, out),
            },
            Self::Blob(bytes) => match *kind {
                Type::BYTEA => bytes.to_sql(kind, out),
                _ => Err(unfit(self, kind)),
            },
            Self::Reals(numbers) => match *kind {
                Type::FLOAT8_ARRAY => numbers.to_sql(kind, out),
                _ => Err(unfit(self, kind)),
            },
        }
    }

    fn accepts(_kind: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

#[expect(clippy::cast_precision_loss, reason = "as SQLite does")]
fn whole(number: i64, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Anything> {
    match *kind {
        Type::BOOL => (number != 0).to_sql(kind, out),
        Type::INT2 => i16::try_from(number)?.to_sql(kind, out),
        Type::INT4 => i32::try_from(number)?.to_sql(kind, out),
        Type::INT8 => number.to_sql(kind, out),
        Type::FLOAT8 => (number as f64).to_sql(kind, out),
        _ => Err(unfit(&Value::Int(number), kind)),
    }
}

fn unfit(value: &Value, kind: &Type) -> Anything {
    format!("{} was given for the type {kind}", value.kind()).into()
}

/// Appends a line in the text format of COPY.
pub fn copied(values: &[Value], line: &mut Vec<u8>) {
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            line.push(b'\t');
        }
        match value {
            Value::Null => line.extend(b"\\N"),
            Value::Int(number) => line.extend(number.to_string().as_bytes()),
            Value::Real(number) => line.extend(number.to_string().as_bytes()),
            Value::Text(text) => escaped(text, line),
            Value::Blob(bytes) => {
                line.extend(b"\\\\x");
                line.extend(
                    bytes
                        .iter()
                        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]),
                );
            }
            Value::Reals(numbers) => {
                let texts: Vec<String> = numbers.iter().map(f64::to_string).collect();
                line.extend(format!("{{{}}}", texts.join(",")).as_bytes());
            }
        }
    }
    line.push(b'\n');
}

fn escaped(text: &str, line: &mut Vec<u8>) {
    for byte in text.bytes() {
        match byte {
            b'\\' => line.extend(b"\\\\"),
            b'\n' => line.extend(b"\\n"),
            b'\r' => line.extend(b"\\r"),
            b'\t' => line.extend(b"\\t"),
            0 => line.extend("\u{fffd}".bytes()),
            byte => line.push(byte),
        }
    }
}

fn digit(nibble: u8) -> u8 {
    match nibble {
        0..=9 => b'0' + nibble,
        _ => b'a' + nibble - 10,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_dates() {
        let at = |ms: i64| {
            let micros = (ms - 946_684_800_000) * 1_000;
            match timestamp(&micros.to_be_bytes()) {
                Some(Value::Text(text)) => text,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(at(1_773_480_413_589), "2026-03-14T09:26:53.589Z");
        assert_eq!(at(951_782_400_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(at(-1), "1969-12-31T23:59:59.999Z");
    }

    #[test]
    fn a_line_of_a_copy_keeps_its_values_apart() {
        let mut line = Vec::new();
        let values = [
            Value::Null,
            "a\tb\\c\nd".into(),
            vec![0_u8, 0xaf].into(),
            vec![1.5, -2.0].into(),
            7_u32.into(),
        ];
        copied(&values, &mut line);
        let line = String::from_utf8(line).unwrap();
        assert_eq!(line, "\\N\ta\\tb\\\\c\\nd\t\\\\x00af\t{1.5,-2}\t7\n");
    }
}
