//! Numbers of a table, in which a comma may be a decimal mark or separate
//! thousands.

/// Number, with its deviation and unit.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Quantity {
    pub(super) value: f64,
    /// Number after `±`.
    pub(super) stdev: Option<f64>,
    /// Unit; empty without one.
    pub(super) unit: String,
}

/// Meaning of commas and points in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marks {
    /// Set if a comma is certainly a decimal mark in some cell.
    comma: bool,
    /// Set if a point is certainly a decimal mark in some cell.
    point: bool,
    /// Set if semicolons separate the cells, as spreadsheets write if the comma
    /// is the decimal mark.
    semicolons: bool,
}

impl Marks {
    /// Determines the marks from all cells.
    pub(super) fn of<'a>(cells: impl Iterator<Item = &'a str>, semicolons: bool) -> Self {
        let mut marks = Self {
            comma: false,
            point: false,
            semicolons,
        };
        for number in cells.filter_map(|cell| cell.split(['±', ' ']).next()) {
            if !number
                .bytes()
                .all(|b| b.is_ascii_digit() || b == b',' || b == b'.')
            {
                continue;
            }
            match number.rfind([',', '.']) {
                // It occurs once and is not followed by three digits, or it
                // follows the other mark.
                Some(at) if is_decimal(number, at) => {
                    marks.comma |= number.as_bytes()[at] == b',';
                    marks.point |= number.as_bytes()[at] == b'.';
                }
                _ => {}
            }
        }
        marks
    }

    /// Parses `65.28`, `65,28`, `65.28 ± 0.77`, `11.8 MB/s`.
    pub(super) fn quantity(self, cell: &str) -> Result<Quantity, String> {
        let mut parts = cell.splitn(2, '±');
        let (mean, behind) = match (parts.next(), parts.next()) {
            (Some(mean), Some(stdev)) => (mean.trim(), Some(stdev.trim())),
            _ => (cell, None),
        };
        let (value, unit) = self.number_and_unit(mean, cell)?;
        let stdev = behind.map(|stdev| self.number_and_unit(stdev, cell));
        let (stdev, later) = stdev.transpose()?.unzip();
        Ok(Quantity {
            value,
            stdev,
            unit: later.filter(|_| unit.is_empty()).unwrap_or(unit).to_owned(),
        })
    }

    fn number_and_unit<'a>(self, text: &'a str, cell: &str) -> Result<(f64, &'a str), String> {
        let odd = || format!("'{cell}' is not a number");
        let number = text.split_whitespace().next().unwrap_or_default();
        let unit = text[number.len()..].trim();
        let is_number = |c: char| c.is_ascii_digit() || ",.-+eE".contains(c);
        if !number.contains(|c: char| c.is_ascii_digit()) || !number.chars().all(is_number) {
            return Err(odd());
        }
        let plain = self.plain(number)?;
        let value: f64 = plain.parse().map_err(|_| odd())?;
        Ok((value, unit))
    }

    /// Converts to a point as decimal mark, without separators of thousands.
    fn plain(self, number: &str) -> Result<String, String> {
        let Some(last) = number.rfind([',', '.']) else {
            return Ok(number.to_owned());
        };
        let mark = number.as_bytes()[last];
        let here = if mark == b',' {
            self.comma || self.semicolons
        } else {
            self.point
        };
        let other = if mark == b',' { self.point } else { self.comma };
        let many = number.matches(char::from(mark)).count() > 1;
        let decimal = !many
            && (is_decimal(number, last)
                || match (here, other) {
                    (true, false) => true,
                    (false, true) => false,
                    // A single point is the programs' decimal mark.
                    (false, false) if mark == b'.' => true,
                    _ => {
                        let without = number.replace([',', '.'], "");
                        return Err(format!(
                            "'{number}' may be {without} or a fraction: write it without the mark"
                        ));
                    }
                });
        if !decimal && !has_groups(number) {
            return Err(format!("'{number}' is not a number"));
        }
        let (whole, fraction) = number.split_at(last);
        let whole = whole.replace([',', '.'], "");
        let fraction = &fraction[1..];
        Ok(if decimal {
            format!("{whole}.{fraction}")
        } else {
            format!("{whole}{fraction}")
        })
    }
}

/// Returns true if the mark at that position can only be a decimal mark.
fn is_decimal(number: &str, at: usize) -> bool {
    let mark = &number[at..=at];
    let other = if mark == "," { "." } else { "," };
    let digits = number[at + 1..]
        .bytes()
        .take_while(u8::is_ascii_digit)
        .count();
    let once = number.matches(mark).count() == 1;
    let small = number[..at].trim_start_matches(['-', '+']) == "0";
    once && (digits != 3 || small || number[..at].contains(other) || at > 3 + signs(number))
}

/// Returns true if the marks separate groups of three digits.
fn has_groups(number: &str) -> bool {
    let groups = number.split([',', '.']).skip(1);
    groups.into_iter().all(|group| group.len() == 3)
}

fn signs(number: &str) -> usize {
    usize::from(number.starts_with(['-', '+']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(cells: &[&str], semicolons: bool) -> Vec<Result<f64, String>> {
        let marks = Marks::of(cells.iter().copied(), semicolons);
        let quantities = cells.iter().map(|cell| marks.quantity(cell));
        quantities
            .map(|read| read.map(|quantity| quantity.value))
            .collect()
    }

    #[test]
    fn commas_are_what_the_table_shows_them_to_be() {
        let ok = |values: &[f64]| values.iter().map(|v| Ok(*v)).collect::<Vec<_>>();
        assert_eq!(read(&["65,28", "1,849"], false), ok(&[65.28, 1.849]));
        assert_eq!(read(&["1.849,93", "0,5"], true), ok(&[1849.93, 0.5]));
        assert_eq!(
            read(&["1,849.93", "12,345"], false),
            ok(&[1849.93, 12345.0])
        );
        assert_eq!(read(&["1.849"], false), ok(&[1.849]));
        assert_eq!(read(&["1,849"], true), ok(&[1.849]));
        assert_eq!(read(&["1,234,567"], false), ok(&[1_234_567.0]));
        assert_eq!(read(&["1.234.567,5"], false), ok(&[1_234_567.5]));
        assert_eq!(read(&["12345,678"], false), ok(&[12345.678]));
        let unsure = &read(&["1,849"], false)[0];
        assert_eq!(
            unsure.as_ref().unwrap_err(),
            "'1,849' may be 1849 or a fraction: write it without the mark"
        );
    }

    #[test]
    fn what_is_no_number_is_said() {
        for cell in [
            "", "-", "abc", "NaN", "inf", "1.2.3", "1.2.3x", "±", "1 ± x", "é",
        ] {
            assert!(read(&[cell], false)[0].is_err(), "{cell}");
        }
    }

    #[test]
    fn spread_and_unit_stand_behind_a_number() {
        let marks = Marks::of(["65.28"].into_iter(), false);
        let read = marks.quantity("65.28 ± 0.77 MB/s").unwrap();
        assert_eq!((read.value, read.stdev), (65.28, Some(0.77)));
        assert_eq!(read.unit, "MB/s");
        assert_eq!(marks.quantity("11.8 MB/s").unwrap().unit, "MB/s");
    }
}
