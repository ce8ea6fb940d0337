//! JSON types with a schema: one definition contains the fields to write and their description in
//! the OpenAPI document.

use serde_json::{Value, json};

/// Type with a JSON schema.
pub trait Described {
    /// Returns the schema of the JSON.
    fn schema() -> Value;
}

impl Described for String {
    fn schema() -> Value {
        json!({ "type": "string" })
    }
}

impl Described for f64 {
    fn schema() -> Value {
        json!({ "type": "number" })
    }
}

impl Described for bool {
    fn schema() -> Value {
        json!({ "type": "boolean" })
    }
}

/// Implements the schema of whole numbers that JSON readers represent exactly.
macro_rules! whole {
    ($($number:ty),*) => { $(
        impl Described for $number {
            fn schema() -> Value {
                json!({ "type": "integer", "minimum": 0 })
            }
        }
    )* };
}
whole!(u32, u64);

impl<T: Described> Described for Vec<T> {
    fn schema() -> Value {
        json!({ "type": "array", "items": T::schema() })
    }
}

impl<T: Described> Described for Option<T> {
    fn schema() -> Value {
        json!({ "anyOf": [T::schema(), { "type": "null" }] })
    }
}

/// Any JSON object; docs/json.md describes it.
impl Described for Value {
    fn schema() -> Value {
        json!({ "type": "object" })
    }
}

/// Declares JSON types, with the doc comment of each field as its description. Every field is
/// written; an unknown one is `null`. With `of (argument)`, each field also has a value, an
/// expression of the argument, and the type has a constructor `of`:
///
/// ```
/// assay_report::described! {
///     /// A point of a plane.
///     pub struct Point of (at: (f64, f64)) {
///         /// Distance to the right.
///         pub x: f64 = at.0,
///         /// Distance upwards.
///         pub y: f64 = at.1,
///     }
/// }
/// assert_eq!(Point::of((1.0, 2.0)).y, 2.0);
/// ```
#[macro_export]
macro_rules! described {
    ($($(#[doc = $about:literal])+ pub struct $name:ident of ($input:ident: $from:ty) {
        $($(#[doc = $doc:literal])+ pub $field:ident: $kind:ty = $value:expr,)+
    })+) => {
        $crate::described! { $(
            $(#[doc = $about])+
            pub struct $name { $($(#[doc = $doc])+ pub $field: $kind,)+ }
        )+ }
        $(
            impl $name {
                /// Makes the JSON of a value.
                pub fn of($input: $from) -> Self {
                    Self { $($field: $value,)+ }
                }
            }
        )+
    };
    ($($(#[doc = $about:literal])+ pub struct $name:ident {
        $($(#[doc = $doc:literal])+ pub $field:ident: $kind:ty,)+
    })+) => { $(
        $(#[doc = $about])+
        #[derive(Clone, Debug, serde::Serialize)]
        pub struct $name { $($(#[doc = $doc])+ pub $field: $kind,)+ }

        impl $crate::machine::described::Described for $name {
            fn schema() -> serde_json::Value {
                let mut properties = serde_json::Map::new();
                $(
                    let mut schema = <$kind as $crate::machine::described::Described>::schema();
                    schema["description"] = concat!($($doc),+).trim().into();
                    properties.insert(stringify!($field).to_owned(), schema);
                )+
                serde_json::json!({
                    "type": "object",
                    "description": concat!($($about),+).trim(),
                    "required": [$(stringify!($field)),+],
                    "properties": properties,
                })
            }
        }
    )+ };
}

#[cfg(test)]
mod tests {
    use super::*;

    described! {
        /// A thing.
        pub struct Thing {
            /// Name of the thing.
            pub name: String,
            /// Parts of it, where
            /// they are known.
            pub parts: Option<Vec<u32>>,
        }
    }

    #[test]
    fn the_schema_has_the_fields_that_are_written() {
        let schema = Thing::schema();
        let written = serde_json::to_value(Thing {
            name: "a".to_owned(),
            parts: None,
        });
        let written = written.unwrap();
        let fields: Vec<&String> = written.as_object().unwrap().keys().collect();
        let known: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(fields, known);
        assert_eq!(schema["required"], json!(["name", "parts"]));
        let parts = &schema["properties"]["parts"];
        assert_eq!(parts["description"], "Parts of it, where they are known.");
        assert_eq!(parts["anyOf"][0]["items"]["type"], "integer");
    }
}
