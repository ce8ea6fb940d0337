//! What is wrong with a file in TOML, and where.

/// The line, and why.
pub fn said(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start));
    let line = before.map(|before| before.matches('\n').count() + 1);
    let line = line.map(|line| format!("line {line}: "));
    format!("{}{}", line.unwrap_or_default(), error.message())
}
