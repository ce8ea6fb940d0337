//! Structs whose fields have default values.

/// Defines a struct with its default values: `field: Type = value` for a field whose default is
/// `value`, an expression; without a value, the default is that of the type.
///
/// ```
/// assay_model::defaults! {
///     /// A lamp.
///     #[derive(Clone, Debug, PartialEq)]
///     pub struct Lamp {
///         /// Where it stands, if that is known.
///         pub room: Option<String>,
///         /// Brightness in percent.
///         pub brightness: u32 = 100,
///     }
/// }
/// let lamp = Lamp { room: None, brightness: 100 };
/// assert_eq!(Lamp::default(), lamp);
/// ```
#[macro_export]
macro_rules! defaults {
    (@value) => { ::std::default::Default::default() };
    (@value $value:expr) => { $value };
    (
        $(#[$about:meta])*
        $visibility:vis struct $type:ident {
            $($(#[$of_field:meta])* $seen:vis $field:ident: $kind:ty $(= $value:expr)?,)+
        }
    ) => {
        $(#[$about])*
        $visibility struct $type {
            $($(#[$of_field])* $seen $field: $kind,)+
        }

        impl ::std::default::Default for $type {
            fn default() -> Self {
                Self { $($field: $crate::defaults!(@value $($value)?),)+ }
            }
        }
    };
}
