//! Parts of messages that are not deserialized.

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::marker::PhantomData;

/// Placeholder for a `T` that this program never reads, so that no code for `T` is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unread<T>(PhantomData<fn() -> T>);

impl<'de, T> Deserialize<'de> for Unread<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self(PhantomData))
    }
}

impl<T> Serialize for Unread<T> {
    /// Serializes to nothing, since the value was never read.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}
