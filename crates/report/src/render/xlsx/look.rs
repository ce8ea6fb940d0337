//! Fonts, shades and names shared by all sheets.

use crate::words::clean;
use assay_lang::key;
use rust_xlsxwriter::{Color, Format, FormatAlign, FormatBorder, FormatPattern, Worksheet};

/// Maximum length of a sheet's name, in characters (Excel's limit).
const LONGEST_NAME: usize = 31;
/// Characters that Excel does not allow in a sheet's name.
const NOT_IN_NAMES: [char; 7] = ['[', ']', ':', '*', '?', '/', '\\'];
/// Name of the sheet with the results in short.
pub const SUMMARY: &str = "Summary";
/// Name of the sheet with the evidence of every trial.
pub const EVIDENCE: &str = "Evidence";
/// Name of the sheet of charts.
pub const CHARTS: &str = "Charts";
/// Name of the sheet with every metric of every trial.
pub const TRIALS: &str = "Trials";
/// Name of the sheet of varied conditions, or of differences between two sides.
pub const CONDITIONS: &str = "Conditions";
/// Name of the sheet for sweeps over two settings.
pub const SURFACES: &str = "Surfaces";

/// Marking of figures with the same label. The mark is also in the cell, because not every reader
/// sees a shade and not every printer prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shade {
    /// Label that it represents.
    pub label: &'static str,
    /// Mark beside the number.
    pub mark: &'static str,
    /// Description in words.
    pub words: &'static str,
    background: Option<(Color, FormatPattern)>,
}

/// Shades of all labels; the first is that of a plain cell.
pub const SHADES: [Shade; 7] = [
    Shade {
        label: "device",
        mark: "",
        words: key!("not shaded, no mark"),
        background: None,
    },
    Shade {
        label: "device-unflushed",
        mark: "u",
        words: key!("not shaded, marked u"),
        background: None,
    },
    Shade {
        label: "page-cache",
        mark: "c",
        words: key!("shaded dark, marked c"),
        background: Some((Color::RGB(0xF4_B1_83), FormatPattern::Solid)),
    },
    Shade {
        label: "mixed",
        mark: "m",
        words: key!("shaded light, marked m"),
        background: Some((Color::RGB(0xFF_F2_CC), FormatPattern::Solid)),
    },
    Shade {
        label: "simulated",
        mark: "s",
        words: key!("striped, marked s"),
        background: Some((Color::RGB(0x9D_C3_E6), FormatPattern::LightUp)),
    },
    Shade {
        label: "unknown",
        mark: "?",
        words: key!("striped, marked ?"),
        background: Some((Color::RGB(0xBF_BF_BF), FormatPattern::LightUp)),
    },
    Shade {
        label: "differs",
        mark: "d",
        words: key!("striped, marked d"),
        background: Some((Color::RGB(0xF4_B1_83), FormatPattern::LightUp)),
    },
];

impl Shade {
    /// Returns the shade of a label; cells with an unknown label or without one have the shade of
    /// `unknown`.
    pub fn of(label: Option<&str>) -> &'static Self {
        let [.., unknown, _] = &SHADES;
        let known = SHADES.iter().find(|shade| Some(shade.label) == label);
        known.unwrap_or(unknown)
    }

    /// Returns the format of a text in this shade.
    pub fn text(&self) -> Format {
        let format = Format::new().set_border(FormatBorder::Hair);
        match self.background {
            None => format,
            Some((color, FormatPattern::Solid)) => format.set_background_color(color),
            Some((color, pattern)) => format.set_pattern(pattern).set_foreground_color(color),
        }
    }

    /// Returns the format of a number in this shade, with its mark; `digits` is Excel's code for
    /// the number.
    pub fn number(&self, digits: &str) -> Format {
        // `_c` adds space of a mark's width, so that all numbers are aligned.
        let code = match self.mark {
            "" => format!("{digits}_ _c"),
            mark => format!("{digits}\" {mark}\""),
        };
        self.text().set_num_format(code)
    }
}

/// Returns the format of a sheet's first line.
pub fn title() -> Format {
    Format::new().set_bold().set_font_size(14)
}

/// Returns the format of headings.
pub fn head() -> Format {
    Format::new()
        .set_bold()
        .set_border_bottom(FormatBorder::Thin)
}

/// Returns the format of a heading in front of a line.
pub fn name() -> Format {
    Format::new().set_bold()
}

/// Returns the format of a figure: the cell contains it in the unit of the source, and shows it in
/// a readable unit.
pub fn quantity(unit: &str) -> Format {
    // Each comma after the digits divides the displayed number by a thousand; `_c` adds space
    // before the next cell.
    let code = match unit {
        "B/s" => "#,##0.00,,\" MB/s\"_c",
        "ns" => "#,##0.00,\" µs\"_c",
        "IOPS" => "#,##0\" IOPS\"_c",
        "TPS" => "#,##0.0\" TPS\"_c",
        _ => "#,##0.00_c",
    };
    Format::new().set_num_format(code)
}

/// Returns the code for the numbers of an axis.
pub fn axis_code(unit: &str) -> &'static str {
    match unit {
        "B/s" => "#,##0.##,,\" MB/s\"",
        "ns" => "#,##0.##,,\" ms\"",
        "IOPS" | "TPS" => "#,##0",
        _ => "General",
    }
}

/// Returns the width of a figure in the format of its unit: Excel shows `###` in a narrower cell.
pub fn columns_of(value: f64, unit: &str) -> usize {
    let (divisor, behind) = match unit {
        "B/s" => (1e6, ".00 MB/s_"),
        "ns" => (1e3, ".00 µs_"),
        "IOPS" => (1.0, " IOPS_"),
        "TPS" => (1.0, ".0 TPS_"),
        _ => (1.0, ".00_"),
    };
    let digits = format!("{:.0}", value / divisor).len();
    digits + digits.saturating_sub(1) / 3 + behind.chars().count()
}

/// Returns the format of a change in percent.
pub fn percent() -> Format {
    Format::new().set_num_format("+0.0\" %\"_c;-0.0\" %\"_c;0.0\" %\"_c")
}

/// Returns the format of a number of things.
pub fn count() -> Format {
    Format::new().set_num_format("#,##0_c")
}

/// Returns the format of a share, 0 to 1.
pub fn share() -> Format {
    Format::new().set_num_format("0.0 %_c")
}

/// Parses a numeric heading.
pub fn numeric_heading(head: &str) -> Option<f64> {
    head.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Converts a number to the number type of cells.
#[expect(clippy::cast_precision_loss, reason = "cells are numbers of that kind")]
pub const fn number(n: u64) -> f64 {
    n as f64
}

/// Returns the format of a p value.
pub fn probability() -> Format {
    Format::new().set_num_format("0.0000_c")
}

/// Returns the format of a verdict: the colour repeats the word.
pub fn verdict(word: &str) -> Format {
    let format = Format::new().set_bold();
    match word {
        "faster" => format.set_background_color(Color::RGB(0xC6_E0_B4)),
        "slower" => format.set_background_color(Color::RGB(0xF4_B1_83)),
        "equivalent" => format.set_background_color(Color::RGB(0xDD_EB_F7)),
        _ => format,
    }
}

/// Returns the format of a line of text that wraps.
pub fn wrapped() -> Format {
    Format::new().set_text_wrap().set_align(FormatAlign::Top)
}

/// Sets up a sheet for printing, scaled to the width of a page.
pub fn on_paper(sheet: &mut Worksheet) {
    const A4: u8 = 9;
    sheet
        .set_paper_size(A4)
        .set_landscape()
        .set_print_fit_to_pages(1, 0);
}

/// Returns a unique name for the sheet of each title, without disallowed characters and within
/// Excel's limit.
pub fn sheet_names<'a>(titles: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for title in titles {
        let title = clean(title).replace(NOT_IN_NAMES, " ");
        let title = match title.trim().trim_matches('\'') {
            "" => "Matrix",
            title => title,
        };
        let numbered = |n: u32| {
            let number = if n == 1 {
                String::new()
            } else {
                format!(" {n}")
            };
            let room = LONGEST_NAME - number.len();
            let short: String = title.chars().take(room).collect();
            format!("{}{number}", short.trim_end())
        };
        let taken = |name: &str| {
            let fixed = [
                SUMMARY, CHARTS, EVIDENCE, TRIALS, CONDITIONS, SURFACES, "History",
            ];
            let fixed = fixed.into_iter();
            let mut all = fixed.chain(names.iter().map(String::as_str));
            all.any(|other| other.eq_ignore_ascii_case(name))
        };
        let free = (1..).map(numbered).find(|name| !taken(name));
        names.extend(free);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_label_has_its_mark_and_a_missing_one_is_unknown() {
        let mark = |label| Shade::of(label).mark;
        assert_eq!(mark(Some("page-cache")), "c");
        assert_eq!(mark(Some("device")), "");
        assert_eq!(mark(Some("differs")), "d");
        assert_eq!(mark(Some("from-mars")), "?");
        assert_eq!(mark(None), "?");
    }

    #[test]
    fn names_of_sheets_are_legal_and_each_is_there_once() {
        let long = "a very long title of a test that goes on and on";
        let titles = [
            "Writer report",
            "writer report",
            "a/b[1]",
            long,
            long,
            "evidence",
            "",
        ];
        let names = sheet_names(titles.into_iter());
        assert_eq!(
            names,
            [
                "Writer report",
                "writer report 2",
                "a b 1",
                "a very long title of a test tha",
                "a very long title of a test t 2",
                "evidence 2",
                "Matrix",
            ]
        );
    }
}
