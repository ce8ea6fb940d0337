//! Macro for JSON types whose fields are declared with their values.

/// Declares JSON types, each with a constructor `of`: `struct Name of (arguments)` lists for each
/// field its type and its value, an expression of the arguments. The fields are written in this
/// order, with their serde attributes. `of` has the visibility of its type. Statements in braces
/// before the fields compute shared values:
///
/// ```text
/// parts! {
///     /// The device under test.
///     struct DevicePart<'a> of (storage: &'a Storage) {
///         { let device = storage.device(); }
///         disk: Option<&'a str> = device.map(|layer| layer.name.as_str()),
///         size_bytes: Option<u64> = device.and_then(|layer| layer.size).map(|size| size.0),
///         #[serde(skip_serializing_if = "Option::is_none")]
///         mount: Option<&'a Mount> = storage.mount.as_ref(),
///     }
/// }
/// let part = DevicePart::of(&storage);
/// ```
macro_rules! parts {
    ($(
        $(#[$about:meta])*
        $visibility:vis struct $name:ident $(<$life:lifetime>)? of ($($input:ident: $from:ty),+) {
            $({ $($first:tt)+ })?
            $($(#[$attribute:meta])* $field:ident: $kind:ty = $value:expr,)+
        }
    )+) => { $(
        $(#[$about])*
        #[derive(serde::Serialize)]
        $visibility struct $name $(<$life>)? {
            $($(#[$attribute])* $field: $kind,)+
        }

        impl $(<$life>)? $name $(<$life>)? {
            $visibility fn of($($input: $from),+) -> Self {
                $($($first)+)?
                Self { $($field: $value,)+ }
            }
        }
    )+ };
}

pub(crate) use parts;
