//! Translation of the texts that assay shows to users.
//!
//! As in gettext, the English text in the source is the key, and a catalogue in `po` contains
//! its translation. Placeholders have names, so that a translation may reorder them:
//!
//! ```
//! use assay_lang::{Language, counted, tr, within};
//! let list = |a: &str, n: u64| {
//!     tr!("{first} and {last}", first = a, last = counted!(n, "{n} card", "{n} cards"))
//! };
//! assert_eq!(list("a phone", 1), "a phone and 1 card");
//! within(Language::Chinese, || assert_eq!(list("a phone", 3), "a phone 和 3 cards"));
//! ```
//!
//! A text without a translation stays English.
//!
//! Output for programs (JSON, CSV, exit codes, formats of other tools) is always in English: the
//! code that writes it runs in [`in_english`].

use std::cell::Cell;
use std::fmt::{self, Display, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

/// A language with a catalogue, or the language of the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// The language of the source.
    #[default]
    English,
    /// Simplified Chinese.
    Chinese,
}

/// English texts and their translations, sorted by the English text.
type Catalogue = &'static [(&'static str, &'static str)];

#[cfg(feature = "catalogues")]
const CHINESE: Catalogue = include!(concat!(env!("OUT_DIR"), "/zh.rs"));
#[cfg(not(feature = "catalogues"))]
const CHINESE: Catalogue = &[];

impl Language {
    /// All languages, English first.
    pub const ALL: [Self; 2] = [Self::English, Self::Chinese];

    /// Returns the language tag, as in `--lang` and in the `lang` attribute of a page.
    pub const fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh",
        }
    }

    /// Returns the language of a tag; `None` if there is no catalogue.
    pub fn of_tag(tag: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.tag() == tag)
    }

    /// Returns the language of a locale such as `zh_CN.UTF-8`; English if there is no catalogue.
    pub fn of_locale(locale: &str) -> Self {
        let end = locale.find(['_', '.', '@', '-']).unwrap_or(locale.len());
        Self::of_tag(&locale[..end].to_ascii_lowercase()).unwrap_or_default()
    }

    const fn catalogue(self) -> Catalogue {
        match self {
            Self::English => &[],
            Self::Chinese => CHINESE,
        }
    }
}

/// True if Chinese is the language of threads that do not set one. A flag suffices for two
/// languages.
static CHINESE_BY_DEFAULT: AtomicBool = AtomicBool::new(false);

thread_local! {
    static WITHIN: Cell<Option<Language>> = const { Cell::new(None) };
}

/// Sets the language of the whole program. Must be called once, at its start.
pub fn speak(language: Language) {
    CHINESE_BY_DEFAULT.store(language == Language::Chinese, Ordering::Relaxed);
}

/// Returns the language of the current thread.
pub fn current() -> Language {
    let by_default = || match CHINESE_BY_DEFAULT.load(Ordering::Relaxed) {
        true => Language::Chinese,
        false => Language::English,
    };
    WITHIN.get().unwrap_or_else(by_default)
}

/// Runs `act` in another language, in this thread only.
pub fn within<T>(language: Language, act: impl FnOnce() -> T) -> T {
    /// Restores the previous language, even if `act` panics.
    struct Back(Option<Language>);
    impl Drop for Back {
        fn drop(&mut self) {
            WITHIN.set(self.0);
        }
    }
    let _back = Back(WITHIN.replace(Some(language)));
    act()
}

/// Runs `act` in English, to write output for programs.
pub fn in_english<T>(act: impl FnOnce() -> T) -> T {
    within(Language::English, act)
}

/// A text in the current language and in English. Its `Display` selects the one for the language
/// in which it is displayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    english: String,
    here: String,
}

impl Told {
    /// Builds the text in both languages.
    pub fn of(say: impl Fn() -> String) -> Self {
        Self {
            english: in_english(&say),
            here: say(),
        }
    }

    /// Builds a list of texts, which must have the same items in both languages.
    pub fn all(say: impl Fn() -> Vec<String>) -> Vec<Self> {
        let both = in_english(&say).into_iter().zip(say());
        both.map(|(english, here)| Self { english, here }).collect()
    }
}

impl Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match current() {
            Language::English => &self.english,
            Language::Chinese => &self.here,
        })
    }
}

/// Returns the translation of an English text, or the text itself if it has none.
pub fn translated(english: &str) -> &str {
    template(english).unwrap_or(english)
}

/// Returns the translation with its placeholders; `None` in English.
#[doc(hidden)]
pub fn template(english: &str) -> Option<&'static str> {
    let catalogue = current().catalogue();
    let found = catalogue.binary_search_by_key(&english, |(key, _)| key);
    found.ok().map(|index| catalogue[index].1)
}

/// Replaces the placeholders of a template by values. A placeholder without a value is not
/// changed.
#[doc(hidden)]
pub fn fill(template: &str, values: &[(&str, &dyn Display)]) -> String {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let value = after.split_once('}').and_then(|(name, after)| {
            let value = values.iter().find(|(known, _)| *known == name)?;
            Some((value.1, after))
        });
        match value {
            // Writing to a String cannot fail.
            Some((value, after)) => {
                let _ = write!(filled, "{value}");
                rest = after;
            }
            None => {
                filled.push('{');
                rest = after;
            }
        }
    }
    filled.push_str(rest);
    filled
}

/// Joins items as a list: `a`, `a and b`, `a, b and c`.
pub fn enumerate<T: AsRef<str>>(items: &[T]) -> String {
    match items {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            let (first, last) = (first.join(tr!(", ")), last.as_ref());
            tr!("{first} and {last}", first, last)
        }
    }
}

/// Translates a text into the current language: a `&str` for a plain text, a `String` for one
/// with placeholders. A value is `name`, or `name = expression`; a value with a special format
/// is passed as `format_args!(..)`.
#[macro_export]
macro_rules! tr {
    ($english:literal $(,)?) => {
        $crate::translated($english)
    };
    ($english:literal, $($name:ident $(= $value:expr)?),+ $(,)?) => {
        match $crate::template($english) {
            None => ::std::format!($english, $($name = $crate::value!($name $(= $value)?)),+),
            Some(template) => $crate::fill(
                template,
                &[$((::std::stringify!($name), &$crate::value!($name $(= $value)?))),+],
            ),
        }
    };
}

/// Translates a text with a number: the first text is for one, the second for any other number.
/// The number is the placeholder `n`.
#[macro_export]
macro_rules! counted {
    ($n:expr, $one:literal, $many:literal $(, $name:ident $(= $value:expr)?)* $(,)?) => {
        match ($n, $crate::template($one)) {
            (1, None) => ::std::format!($one, n = 1 $(, $name = $crate::value!($name $(= $value)?))*),
            (n, None) => ::std::format!($many, n = n $(, $name = $crate::value!($name $(= $value)?))*),
            (n, Some(template)) => $crate::fill(
                template,
                &[("n", &n) $(, (::std::stringify!($name), &$crate::value!($name $(= $value)?)))*],
            ),
        }
    };
}

/// Marks a text that is stored in English and translated with [`translated`] where it is shown:
/// for constants, and for words that are also part of machine-readable output.
#[macro_export]
macro_rules! key {
    ($english:literal) => {
        $english
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! value {
    ($name:ident) => {
        $name
    };
    ($name:ident = $value:expr) => {
        $value
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_language_of_a_locale_is_its_first_part() {
        for (locale, language) in [
            ("zh_CN.UTF-8", Language::Chinese),
            ("zh", Language::Chinese),
            ("zh-Hans", Language::Chinese),
            ("en_GB.UTF-8", Language::English),
            ("de_DE@euro", Language::English),
            ("C", Language::English),
            ("zha_CN", Language::English),
            ("", Language::English),
        ] {
            assert_eq!(Language::of_locale(locale), language, "{locale}");
        }
    }

    #[test]
    fn a_scope_ends_with_what_was_before_even_by_a_panic() {
        within(Language::Chinese, || {
            in_english(|| assert_eq!(current(), Language::English));
            let panicked = std::panic::catch_unwind(|| in_english(|| panic!("on purpose")));
            assert!(panicked.is_err());
            assert_eq!(current(), Language::Chinese);
        });
        assert_eq!(current(), Language::English);
    }

    #[test]
    fn placeholders_may_come_in_any_order_and_values_are_not_looked_into() {
        let values: &[(&str, &dyn Display)] = &[("a", &"{b}"), ("b", &2)];
        assert_eq!(fill("{b} of {a}, {c} {", values), "2 of {b}, {c} {");
    }

    #[test]
    fn lists_read_as_a_person_would_write_them() {
        let all = ["a", "b", "c"];
        assert_eq!(enumerate::<&str>(&[]), "");
        assert_eq!(enumerate(&all[..1]), "a");
        assert_eq!(enumerate(&all), "a, b and c");
        within(Language::Chinese, || {
            assert_eq!(enumerate(&all), "a、b 和 c")
        });
    }

    #[test]
    fn a_text_without_a_translation_is_english() {
        within(Language::Chinese, || {
            assert_eq!(translated("no such key"), "no such key");
        });
    }
}
