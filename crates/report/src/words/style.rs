//! Style of terminal output: width and colour. Colour only repeats what the words express.

/// Appearance of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// True if escape sequences for colour may be used.
    pub color: bool,
    /// Width in columns; at least 40 are used.
    pub width: usize,
    /// True if curves are drawn with ASCII only.
    pub ascii: bool,
}

/// Meaning of a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Heading.
    Strong,
    /// Minor detail.
    Soft,
    /// Good result.
    Good,
    /// Result with reservations.
    Care,
    /// Misleading or bad result.
    Bad,
}

impl Tone {
    /// Returns the tone of a label.
    pub(crate) fn of_label(label: Option<&str>) -> Self {
        match label {
            Some("device" | "memory") => Self::Good,
            Some("page-cache" | "simulated") => Self::Bad,
            _ => Self::Care,
        }
    }

    /// Returns the SGR parameters (ECMA-48): the 16 colours that the terminal's user can configure.
    const fn sgr(self) -> &'static str {
        match self {
            Self::Strong => "1",
            Self::Soft => "2",
            Self::Good => "32",
            Self::Care => "33",
            Self::Bad => "31",
        }
    }
}

impl Style {
    /// Returns the text in a tone.
    pub(crate) fn paint(self, tone: Tone, text: &str) -> String {
        if self.color && !text.is_empty() {
            format!("\u{1b}[{}m{text}\u{1b}[0m", tone.sgr())
        } else {
            text.to_owned()
        }
    }

    /// Returns the text as a heading.
    pub(crate) fn strong(self, text: &str) -> String {
        self.paint(Tone::Strong, text)
    }

    /// Paints text of lesser importance.
    pub(crate) fn soft(self, text: &str) -> String {
        self.paint(Tone::Soft, text)
    }

    /// Returns the number of columns to use.
    pub(crate) fn columns(self) -> usize {
        self.width.max(40)
    }
}
