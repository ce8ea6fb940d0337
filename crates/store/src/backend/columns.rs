//! Columns of a table with the values of a row.

/// Declares the columns of a table together with the values of a row: the constant contains the
/// names of the columns, the function makes a row. Statements in braces before the columns compute
/// shared values; values may fail.
///
/// ```text
/// rows! {
///     /// Columns of `lamps`.
///     LAMPS of lamp_row(lamp: &Lamp) {
///         name = &lamp.name,
///         facts = record::to_text(&lamp.facts).map_err(unwritable(&lamp.run))?,
///     }
/// }
/// t.insert_many("lamps", LAMPS, [lamp_row(&lamp)?])?;
/// ```
macro_rules! rows {
    (
        $(#[$about:meta])*
        $visibility:vis $columns:ident of $row:ident($($input:ident: $from:ty),+ $(,)?) {
            $({ $($first:tt)+ })?
            $($column:ident = $value:expr,)+
        }
    ) => {
        $(#[$about])*
        $visibility const $columns: &[&str] = &[$(stringify!($column)),+];

        $visibility fn $row(
            $($input: $from),+
        ) -> Result<Vec<$crate::backend::Value>, $crate::error::StoreError> {
            $($($first)+)?
            Ok(vec![$($value.into()),+])
        }
    };
}

pub(crate) use rows;
