//! Data types of assay: units, jobs, plans, trials, evidence, identities and the messages between
//! host and agent.
//!
//! This crate does no I/O and reads no clock, so every rule in it can be tested with values alone.
//! See `docs/architecture.md` for its use by the other crates.

pub mod act;
pub mod annotation;
pub mod checkup;
pub mod condition;
pub mod device;
pub mod evidence;
pub mod figures;
pub mod job;
pub mod load;
pub mod plan;
pub mod rng;
pub mod run;
pub mod storage;
pub mod text;
pub mod trial;
pub mod units;
pub mod wire;

/// Defines an enum that gives each variant a name: [`Display`](std::fmt::Display) writes it,
/// `name` returns it, and `ALL` has every variant in order.
///
/// ```
/// assay_model::named! {
///     /// State of a lamp.
///     #[derive(Clone, Copy, Debug, PartialEq)]
///     pub enum Lamp {
///         /// It shines.
///         On = "on",
///         /// It does not.
///         Off = "off",
///     }
/// }
/// assert_eq!(Lamp::ALL.map(Lamp::name), ["on", "off"]);
/// assert_eq!(Lamp::Off.to_string(), "off");
/// ```
#[macro_export]
macro_rules! named {
    (
        $(#[$of_type:meta])*
        pub enum $type:ident {
            $($(#[$of_variant:meta])* $variant:ident = $name:literal,)*
        }
    ) => {
        $(#[$of_type])*
        pub enum $type {
            $($(#[$of_variant])* $variant,)*
        }

        impl $type {
            /// Every variant, in order.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$variant),*];

            /// Name of the variant.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }

        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

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
