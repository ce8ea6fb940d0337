//! The languages in which assay speaks to people.
//!
//! As with gettext, the English text in the source is the key, and a catalogue
//! in `po` has its translation. Placeholders have names, so that a language may
//! put them in another order:
//!
//! ```
//! use assay_lang::{Language, counted, tr, within};
//! let told = |a: &str, n: u64| {
//!     tr!("{first} and {last}", first = a, last = counted!(n, "{n} card", "{n} cards"))
//! };
//! assert_eq!(told("a phone", 1), "a phone and 1 card");
//! within(Language::Chinese, || assert_eq!(told("a phone", 3), "a phone 和 3 cards"));
//! ```
//!
//! A text without a translation stays English.
//!
//! What programs read (JSON, CSV, exit codes, other tools' formats) is English
//! always: its writers stand in [`in_english`].

use std::cell::Cell;
use std::fmt::{self, Display, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

/// A language that has a catalogue, or is the source's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// The language of the source.
    #[default]
    English,
    /// Simplified Chinese.
    Chinese,
}

/// English texts and their translations, in the order of the English ones.
type Catalogue = &'static [(&'static str, &'static str)];

#[cfg(feature = "catalogues")]
const CHINESE: Catalogue = include!(concat!(env!("OUT_DIR"), "/zh.rs"));
#[cfg(not(feature = "catalogues"))]
const CHINESE: Catalogue = &[];

impl Language {
    /// Every language, English first.
    pub const ALL: [Self; 2] = [Self::English, Self::Chinese];

    /// Language tag, as in `--lang` and in the `lang` of a page.
    pub const fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Chinese => "zh",
        }
    }

    /// The language of a tag; `None` for one without a catalogue.
    pub fn of_tag(tag: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|language| language.tag() == tag)
    }

    /// The language of a locale such as `zh_CN.UTF-8`; English where there is
    /// no catalogue.
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

/// Language of threads without a setting of their own: there are two languages.
static CHINESE_BY_DEFAULT: AtomicBool = AtomicBool::new(false);

thread_local! {
    static WITHIN: Cell<Option<Language>> = const { Cell::new(None) };
}

/// Sets the language of the whole program. To be called once, at its start.
pub fn speak(language: Language) {
    CHINESE_BY_DEFAULT.store(language == Language::Chinese, Ordering::Relaxed);
}

/// The language in force here.
pub fn current() -> Language {
    let by_default = || match CHINESE_BY_DEFAULT.load(Ordering::Relaxed) {
        true => Language::Chinese,
        false => Language::English,
    };
    WITHIN.get().unwrap_or_else(by_default)
}

/// Does something in another language, in this thread only.
pub fn within<T>(language: Language, act: impl FnOnce() -> T) -> T {
    /// Puts the former language back, also when `act` panics.
    struct Back(Option<Language>);
    impl Drop for Back {
        fn drop(&mut self) {
            WITHIN.set(self.0);
        }
    }
    let _back = Back(WITHIN.replace(Some(language)));
    act()
}

/// Writes what programs read.
pub fn in_english<T>(act: impl FnOnce() -> T) -> T {
    within(Language::English, act)
}

/// A sentence in the language in force, and in English for programs to read. Its `Display` shows
/// the one that is asked for at that place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    english: String,
    here: String,
}

impl Told {
    /// Says the same in both.
    pub fn of(say: impl Fn() -> String) -> Self {
        Self {
            english: in_english(&say),
            here: say(),
        }
    }

    /// The same of a list, which has the same points in every language.
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

/// The translation of an English text; the text itself where there is none.
pub fn translated(english: &str) -> &str {
    template(english).unwrap_or(english)
}

/// The translation with its placeholders; `None` in English.
#[doc(hidden)]
pub fn template(english: &str) -> Option<&'static str> {
    let catalogue = current().catalogue();
    let found = catalogue.binary_search_by_key(&english, |(key, _)| key);
    found.ok().map(|index| catalogue[index].1)
}

/// Puts values into the placeholders of a template. One that has no value stays
/// as it is.
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

/// `a`, `a and b`, `a, b and c`.
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

/// The text in the language in force: a `&str` for a plain text, a `String` for
/// one with placeholders. A value is `name`, or `name = expression`; what needs
/// a format of its own is given as `format_args!(..)`.
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

/// A number of things: the first text for one, the second for any other number.
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

/// A text that is kept in English and translated where it is shown, with
/// [`translated`]: for constants, and for words that programs read too.
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
