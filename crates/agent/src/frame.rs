//! Messages on a byte stream: a length of four bytes (little endian), then that many
//! bytes of JSON.
//!
//! The compiler generates serde's code for a type once for each way in which the deserializer may
//! call it. `serde_json` may pass a struct as a list or as a table, and a name as text, bytes or a
//! number, but messages use only tables and text. A `Tree` supports only those, which takes a third
//! less code.

use serde::de::value::{MapDeserializer, SeqDeserializer, StringDeserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer,
    MapAccess, SeqAccess, Unexpected, VariantAccess, Visitor,
};
use serde::{Deserialize, Serialize, forward_to_deserialize_any};
use std::io::{Read, Write};
use std::{fmt, io};
use thiserror::Error;

/// Defines deserializer methods that call a method of [`Tree`].
macro_rules! by {
    ($way:ident: $($method:ident($($more:ty),*)),+) => {$(
        fn $method<V: Visitor<'de>>(self, $(_: $more,)* visitor: V) -> Result<V::Value, serde_json::Error> {
            self.$way(visitor)
        }
    )+};
}

/// Bytes of a message, at most: ten times the size of a trial of weeks with all its
/// intervals and histograms.
pub const MAX_FRAME: u32 = 64 << 20;

/// Bytes that are allocated at once for an announced message.
const MOST_ARE_SHORTER: u32 = 64 << 10;

/// Reason why a message could not be sent or received.
#[derive(Debug, Error)]
pub enum FrameError {
    /// The stream failed.
    #[error("the connection was lost: {0}")]
    Link(#[from] io::Error),
    /// The received length exceeds [`MAX_FRAME`].
    #[error("the other side announced a message of {0} bytes; at most {MAX_FRAME} are taken")]
    TooLong(u32),
    /// The message to send exceeds [`MAX_FRAME`].
    #[error("a message of {0} bytes is too long to be sent; at most {MAX_FRAME} are taken")]
    Oversized(usize),
    /// The message to send cannot be represented in JSON.
    #[error("a message cannot be written as JSON: {0}")]
    Unsendable(serde_json::Error),
    /// The received bytes are not a message of this version.
    #[error("the other side sent something that is not a message of this version: {0}")]
    NotAMessage(serde_json::Error),
}

/// Sends one message and flushes.
///
/// # Errors
/// If the stream fails or the message is longer than [`MAX_FRAME`].
pub fn send(writer: &mut impl Write, message: &impl Serialize) -> Result<(), FrameError> {
    writer.write_all(&encode(message)?)?;
    writer.flush()?;
    Ok(())
}

/// Encodes a message as a frame.
pub(crate) fn encode(message: &impl Serialize) -> Result<Vec<u8>, FrameError> {
    // Space for the length.
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, message).map_err(FrameError::Unsendable)?;
    let body = frame.len() - 4;
    match u32::try_from(body) {
        Ok(length) if length <= MAX_FRAME => frame[..4].copy_from_slice(&length.to_le_bytes()),
        _ => return Err(FrameError::Oversized(body)),
    }
    Ok(frame)
}

/// Receives one message; `None` if the stream ended between messages.
///
/// # Errors
/// If the stream fails or ends within a message, or the bytes are not such a message.
pub fn receive<M: DeserializeOwned>(reader: &mut impl Read) -> Result<Option<M>, FrameError> {
    let Some(body) = body(reader)? else {
        return Ok(None);
    };
    let message = serde_json::from_slice(&body).map_err(FrameError::NotAMessage)?;
    Ok(Some(message))
}

/// Receives like [`receive`], with less code for each type, but more memory for a long
/// message.
pub(crate) fn receive_small<M: DeserializeOwned>(
    reader: &mut impl Read,
) -> Result<Option<M>, FrameError> {
    let Some(body) = body(reader)? else {
        return Ok(None);
    };
    let message = from_slice(&body).map_err(FrameError::NotAMessage)?;
    Ok(Some(message))
}

/// Reads the body of one message.
fn body(reader: &mut impl Read) -> Result<Option<Vec<u8>>, FrameError> {
    let mut length = [0; 4];
    match first_bytes(reader, &mut length)? {
        0 => return Ok(None),
        got => reader.read_exact(&mut length[got..])?,
    }
    let length = u32::from_le_bytes(length);
    if length > MAX_FRAME {
        return Err(FrameError::TooLong(length));
    }
    // Beyond this size the buffer grows as bytes arrive, so that an announced length
    // alone uses little memory.
    let mut body = Vec::with_capacity(length.min(MOST_ARE_SHORTER) as usize);
    let got = reader.take(u64::from(length)).read_to_end(&mut body)?;
    if got < length as usize {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    Ok(Some(body))
}

/// Reads like `Read::read`, and repeats after a signal.
fn first_bytes(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match reader.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            got => return got,
        }
    }
}

/// A JSON value.
enum Tree {
    Null,
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Text(String),
    List(Vec<Tree>),
    Table(Vec<(String, Tree)>),
}

/// Parses like [`serde_json::from_slice`].
fn from_slice<M: DeserializeOwned>(json: &[u8]) -> Result<M, serde_json::Error> {
    M::deserialize(serde_json::from_slice::<Tree>(json)?)
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_any(Planting)
    }
}

/// Visitor that builds a [`Tree`] from JSON.
struct Planting;

impl<'de> Visitor<'de> for Planting {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Unsigned(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Signed(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        Ok(Tree::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Tree, A::Error> {
        let mut all = Vec::new();
        while let Some(one) = list.next_element()? {
            all.push(one);
        }
        Ok(Tree::List(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<Tree, A::Error> {
        let mut all = Vec::new();
        while let Some(entry) = table.next_entry()? {
            all.push(entry);
        }
        Ok(Tree::Table(all))
    }
}

impl Tree {
    /// Returns the error for a value of the wrong type.
    fn is_not<'de>(&self, wanted: &impl Visitor<'de>) -> serde_json::Error {
        let found = match self {
            Self::Null => Unexpected::Unit,
            Self::Bool(value) => Unexpected::Bool(*value),
            Self::Unsigned(value) => Unexpected::Unsigned(*value),
            Self::Signed(value) => Unexpected::Signed(*value),
            Self::Float(value) => Unexpected::Float(*value),
            Self::Text(value) => Unexpected::Str(value),
            Self::List(_) => Unexpected::Seq,
            Self::Table(_) => Unexpected::Map,
        };
        serde_json::Error::invalid_type(found, wanted)
    }

    fn number<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, serde_json::Error> {
        match self {
            Self::Unsigned(value) => visitor.visit_u64(value),
            Self::Signed(value) => visitor.visit_i64(value),
            Self::Float(value) => visitor.visit_f64(value),
            other => Err(other.is_not(&visitor)),
        }
    }

    fn text<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, serde_json::Error> {
        match self {
            Self::Text(value) => visitor.visit_string(value),
            other => Err(other.is_not(&visitor)),
        }
    }

    fn list<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, serde_json::Error> {
        let Self::List(all) = self else {
            return Err(self.is_not(&visitor));
        };
        let mut list = SeqDeserializer::new(all.into_iter());
        let value = visitor.visit_seq(&mut list)?;
        list.end()?;
        Ok(value)
    }

    fn table<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, serde_json::Error> {
        let Self::Table(all) = self else {
            return Err(self.is_not(&visitor));
        };
        let mut table = MapDeserializer::new(all.into_iter());
        let value = visitor.visit_map(&mut table)?;
        table.end()?;
        Ok(value)
    }
}

impl<'de> IntoDeserializer<'de, serde_json::Error> for Tree {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Tree {
    type Error = serde_json::Error;

    /// Types whose tag is among their fields request this.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, serde_json::Error> {
        match self {
            Self::Null => visitor.visit_unit(),
            Self::Bool(value) => visitor.visit_bool(value),
            Self::Text(value) => visitor.visit_string(value),
            Self::List(_) => self.list(visitor),
            Self::Table(_) => self.table(visitor),
            number => number.number(visitor),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, serde_json::Error> {
        match self {
            Self::Bool(value) => visitor.visit_bool(value),
            other => Err(other.is_not(&visitor)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> Result<V::Value, serde_json::Error> {
        match self {
            Self::Null => visitor.visit_none(),
            some => visitor.visit_some(some),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, serde_json::Error> {
        match self {
            Self::Null => visitor.visit_unit(),
            other => Err(other.is_not(&visitor)),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(
        self,
        visitor: V,
    ) -> Result<V::Value, serde_json::Error> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, serde_json::Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, serde_json::Error> {
        match self {
            Self::Text(name) => visitor.visit_enum(Choice(name, Self::Null)),
            Self::Table(mut all) => match (all.pop(), all.is_empty()) {
                (Some((name, what)), true) => visitor.visit_enum(Choice(name, what)),
                _ => Err(Self::Table(all).is_not(&visitor)),
            },
            other => Err(other.is_not(&visitor)),
        }
    }

    by!(number: deserialize_u8(), deserialize_u16(), deserialize_u32(), deserialize_u64(),
        deserialize_i8(), deserialize_i16(), deserialize_i32(), deserialize_i64(),
        deserialize_f32(), deserialize_f64());
    by!(text: deserialize_str(), deserialize_string(), deserialize_identifier());
    by!(list: deserialize_seq(), deserialize_tuple(usize),
        deserialize_tuple_struct(&'static str, usize));
    by!(table: deserialize_map(), deserialize_struct(&'static str, &'static [&'static str]));

    // No message contains these types.
    forward_to_deserialize_any! { char bytes byte_buf unit_struct }
}

/// Name and content of an enum variant.
struct Choice(String, Tree);

impl<'de> EnumAccess<'de> for Choice {
    type Error = serde_json::Error;
    type Variant = Tree;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Tree), serde_json::Error> {
        let name = StringDeserializer::<serde_json::Error>::new(self.0);
        Ok((seed.deserialize(name)?, self.1))
    }
}

impl<'de> VariantAccess<'de> for Tree {
    type Error = serde_json::Error;

    fn unit_variant(self) -> Result<(), serde_json::Error> {
        <()>::deserialize(self)
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<S::Value, serde_json::Error> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, serde_json::Error> {
        self.list(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, serde_json::Error> {
        self.table(visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::wire::{Greeting, ToAgent};
    use serde::Serialize;
    use std::collections::BTreeMap;

    #[test]
    fn messages_survive_the_stream() {
        let mut stream = Vec::new();
        let hello = ToAgent::Hello(Greeting::of_host());
        send(&mut stream, &hello).unwrap();
        send(&mut stream, &ToAgent::Cancel).unwrap();
        let mut reader = stream.as_slice();
        let first = receive::<ToAgent>(&mut reader).unwrap();
        assert_eq!(first, Some(hello));
        assert_eq!(receive(&mut reader).unwrap(), Some(ToAgent::Cancel));
        assert_eq!(receive::<ToAgent>(&mut reader).unwrap(), None);
    }

    #[test]
    fn a_message_of_our_own_that_is_too_long_is_not_blamed_on_the_other_side() {
        let mut stream = Vec::new();
        let long = "x".repeat(MAX_FRAME as usize);
        let error = send(&mut stream, &long).unwrap_err();
        assert!(matches!(error, FrameError::Oversized(_)), "{error}");
        assert!(!error.to_string().contains("other side"), "{error}");
        assert!(stream.is_empty());
    }

    #[test]
    fn a_malformed_frame_is_refused() {
        let mut long: &[u8] = &[255, 255, 255, 255];
        assert!(matches!(
            receive::<ToAgent>(&mut long),
            Err(FrameError::TooLong(_))
        ));
        let mut cut: &[u8] = &[10, 0, 0, 0, b'{'];
        assert!(matches!(
            receive::<ToAgent>(&mut cut),
            Err(FrameError::Link(_))
        ));
        let mut other: &[u8] = &[2, 0, 0, 0, b'h', b'i'];
        assert!(matches!(
            receive::<ToAgent>(&mut other),
            Err(FrameError::NotAMessage(_))
        ));
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct All {
        flag: bool,
        small: u8,
        large: u64,
        negative: i64,
        real: f64,
        whole: f64,
        absent: Option<u32>,
        present: Option<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        empty: Vec<u8>,
        pair: (String, u32),
        table: BTreeMap<String, i32>,
        enums: Vec<Outside>,
        tagged: Vec<Inside>,
        wrapped: Wrapped,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Wrapped(u64);

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Outside {
        Plain,
        One(Wrapped),
        Two(u8, u8),
        Named { value: Option<Wrapped> },
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(tag = "kind", rename_all = "snake_case")]
    enum Inside {
        Plain,
        Named { value: Outside, more: Vec<u8> },
    }

    fn all() -> All {
        All {
            flag: true,
            small: 255,
            large: u64::MAX,
            negative: i64::MIN,
            real: 0.25,
            whole: 3.0,
            absent: None,
            present: Some("\u{e9}\"\n".to_owned()),
            empty: Vec::new(),
            pair: ("a".to_owned(), 1),
            table: BTreeMap::from([("b".to_owned(), -1)]),
            enums: vec![
                Outside::Plain,
                Outside::One(Wrapped(1)),
                Outside::Two(1, 2),
                Outside::Named { value: None },
            ],
            tagged: vec![
                Inside::Plain,
                Inside::Named {
                    value: Outside::Two(3, 4),
                    more: vec![5],
                },
            ],
            wrapped: Wrapped(7),
        }
    }

    #[test]
    fn all_that_messages_are_made_of_is_read_as_it_was_written() {
        let json = serde_json::to_vec(&all()).unwrap();
        assert_eq!(from_slice::<All>(&json).unwrap(), all());
    }

    #[test]
    fn an_unexpected_json_value_is_named_in_the_error() {
        let error = |json: &str| from_slice::<Vec<Outside>>(json.as_bytes()).unwrap_err();
        for (json, expected) in [
            ("[", "EOF"),
            ("{}", "invalid type: map, expected a sequence"),
            ("[7]", "invalid type: integer `7`"),
            ("[\"x\"]", "unknown variant `x`"),
            ("[{}]", "invalid type: map"),
            ("[{\"one\":1,\"two\":2}]", "invalid type: map"),
            ("[{\"two\":[1]}]", "invalid length 1"),
            ("[{\"two\":[1,2,3]}]", "invalid length 3"),
            ("[{\"one\":-1}]", "invalid value: integer `-1`"),
            ("[{\"named\":[]}]", "invalid type: sequence"),
        ] {
            let said = error(json).to_string();
            assert!(said.contains(expected), "{json}: {said}");
        }
        let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
        assert!(error(&deep).to_string().contains("recursion limit"));
    }
}
