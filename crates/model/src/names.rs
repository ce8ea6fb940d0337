//! Enums whose variants have names.

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
