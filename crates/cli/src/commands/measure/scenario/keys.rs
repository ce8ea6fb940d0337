//! Reading a table of a TOML file key by key: what is wrong is said with its line, and a
//! key that nobody asked for is a mistake, with the key that was probably meant.

use crate::ui::values::parse_time;
use assay_model::units::{Bytes, Nanos};
use std::cell::RefCell;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Words that are this alike are mistakes for each other.
const ALIKE: f64 = 0.7;

/// A mistake in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// From 1.
    pub line: usize,
    /// What is wrong, and what to do.
    pub why: String,
}

/// A table, and which of its keys were asked for.
pub struct Keys<'a> {
    text: &'a str,
    span: Range<usize>,
    table: &'a DeTable<'a>,
    asked: RefCell<Vec<&'static str>>,
}

impl<'a> Keys<'a> {
    pub fn new(text: &'a str, span: Range<usize>, table: &'a DeTable<'a>) -> Self {
        Self {
            text,
            span,
            table,
            asked: RefCell::default(),
        }
    }

    /// A mistake in the table as a whole.
    pub fn mistake(&self, why: impl Into<String>) -> Mistake {
        mistake(self.text, self.span.start, why)
    }

    /// A mistake in the value of a key.
    pub fn mistake_in(&self, key: &'static str, why: impl Into<String>) -> Mistake {
        let at = self
            .find(key)
            .map_or(self.span.start, |value| value.span().start);
        mistake(self.text, at, format!("{key}: {}", why.into()))
    }

    fn find(&self, key: &'static str) -> Option<&'a Spanned<DeValue<'a>>> {
        let mut asked = self.asked.borrow_mut();
        if !asked.contains(&key) {
            asked.push(key);
        }
        let mut pairs = self.table.iter();
        pairs.find_map(|(name, value)| (name.get_ref() == key).then_some(value))
    }

    fn wrong_kind(&self, key: &'static str, wanted: &str) -> Mistake {
        let found = self
            .find(key)
            .map_or("", |value| value.get_ref().type_str());
        self.mistake_in(key, format!("{wanted} is wanted here, not {found}"))
    }

    /// A text.
    pub fn text(&self, key: &'static str) -> Result<Option<String>, Mistake> {
        self.parsed(key, "a text in quotes", |text| Ok(text.to_owned()))
    }

    /// A text that has to be there.
    pub fn needed(&self, key: &'static str) -> Result<String, Mistake> {
        self.text(key)?
            .ok_or_else(|| self.mistake(format!("{key} is missing")))
    }

    /// `true` or `false`.
    pub fn flag(&self, key: &'static str) -> Result<bool, Mistake> {
        match self.find(key) {
            None => Ok(false),
            Some(value) => {
                let flag = value.get_ref().as_bool();
                flag.ok_or_else(|| self.wrong_kind(key, "true or false"))
            }
        }
    }

    /// A whole number between two.
    pub fn number(
        &self,
        key: &'static str,
        (least, most): (u64, u64),
    ) -> Result<Option<u64>, Mistake> {
        let Some(value) = self.find(key) else {
            return Ok(None);
        };
        let number = value.get_ref().as_integer();
        let number = number.ok_or_else(|| self.wrong_kind(key, "a whole number"))?;
        let digits = number.as_str().replace('_', "");
        match u64::from_str_radix(&digits, number.radix()) {
            Ok(number) if (least..=most).contains(&number) => Ok(Some(number)),
            _ => Err(self.mistake_in(key, format!("a number from {least} to {most} is wanted"))),
        }
    }

    /// A size such as `"64M"`; more than nothing.
    pub fn size(&self, key: &'static str) -> Result<Option<u64>, Mistake> {
        self.parsed(key, "a size in quotes, such as \"64M\",", size)
    }

    /// One size, or the smallest and largest of several.
    pub fn sizes(&self, key: &'static str) -> Result<Option<(u64, u64)>, Mistake> {
        let Some(array) = self.find(key).and_then(|value| value.get_ref().as_array()) else {
            return Ok(self.size(key)?.map(|one| (one, one)));
        };
        let texts: Vec<&str> = array.iter().filter_map(|v| v.get_ref().as_str()).collect();
        match texts[..] {
            [least, most] if array.len() == 2 => {
                let read = |text| size(text).map_err(|why| self.mistake_in(key, why));
                let (least, most) = (read(least)?, read(most)?);
                match least <= most {
                    true => Ok(Some((least, most))),
                    false => Err(self.mistake_in(key, "the smallest comes first")),
                }
            }
            _ => Err(self.wrong_kind(key, "a size, or [\"smallest\", \"largest\"],")),
        }
    }

    /// A time such as `"33ms"`; more than nothing.
    pub fn time(&self, key: &'static str) -> Result<Option<u64>, Mistake> {
        self.parsed(
            key,
            "a time in quotes, such as \"33ms\",",
            |text| match parse_time(text)? {
                Nanos(0) => Err("a time is more than 0".to_owned()),
                Nanos(time) => Ok(time),
            },
        )
    }

    /// A text that means something else.
    pub fn parsed<T>(
        &self,
        key: &'static str,
        wanted: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, Mistake> {
        let Some(value) = self.find(key) else {
            return Ok(None);
        };
        let text = value.get_ref().as_str();
        let text = text.ok_or_else(|| self.wrong_kind(key, wanted))?;
        read(text)
            .map(Some)
            .map_err(|why| self.mistake_in(key, why))
    }

    /// One of some words.
    pub fn word<T: Copy>(
        &self,
        key: &'static str,
        words: &[(&'static str, T)],
    ) -> Result<Option<T>, Mistake> {
        self.parsed(key, "a word in quotes", |text| {
            let known = words.iter().find(|(word, _)| *word == text);
            known.map(|(_, value)| *value).ok_or_else(|| {
                let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                let meant = meant(text, &words);
                format!("{text} is none of {}{meant}", words.join(", "))
            })
        })
    }

    /// Texts.
    pub fn texts(&self, key: &'static str) -> Result<Option<Vec<String>>, Mistake> {
        let Some(value) = self.find(key) else {
            return Ok(None);
        };
        let wrong = || self.wrong_kind(key, "a list of texts in quotes");
        let array = value.get_ref().as_array().ok_or_else(wrong)?;
        let texts = array
            .iter()
            .map(|v| v.get_ref().as_str().map(str::to_owned));
        texts
            .collect::<Option<Vec<_>>>()
            .map(Some)
            .ok_or_else(wrong)
    }

    /// Tables of a list, `[[key]]`.
    pub fn tables(&self, key: &'static str) -> Result<Vec<Keys<'a>>, Mistake> {
        let Some(value) = self.find(key) else {
            return Ok(Vec::new());
        };
        let wrong = || self.wrong_kind(key, &format!("tables, each headed [[{key}]],"));
        let array = value.get_ref().as_array().ok_or_else(wrong)?;
        let tables = array.iter().map(|entry| {
            let table = entry.get_ref().as_table().ok_or_else(wrong)?;
            Ok(Keys::new(self.text, entry.span(), table))
        });
        tables.collect()
    }

    /// All keys have been asked for that there may be: another one is a mistake.
    pub fn close(&self, what: &str) -> Result<(), Mistake> {
        let asked = self.asked.borrow();
        let names = self.table.iter().map(|(name, _)| name);
        let Some(unknown) = names
            .into_iter()
            .find(|name| !asked.contains(&&**name.get_ref()))
        else {
            return Ok(());
        };
        let meant = meant(unknown.get_ref(), &asked);
        let why = format!(
            "{what} has no {}{meant}; it has {}",
            unknown.get_ref(),
            asked.join(", ")
        );
        Err(mistake(self.text, unknown.span().start, why))
    }
}

/// A mistake at a place in a text.
pub fn mistake(text: &str, at: usize, why: impl Into<String>) -> Mistake {
    let before = text.get(..at).unwrap_or(text);
    Mistake {
        line: before.matches('\n').count() + 1,
        why: why.into(),
    }
}

/// What was probably meant.
pub fn meant(word: &str, known: &[&str]) -> String {
    let alike = known.iter().map(|k| (strsim::jaro_winkler(word, k), *k));
    let best = alike.max_by(|a, b| a.0.total_cmp(&b.0));
    match best {
        Some((score, known)) if score >= ALIKE => format!(" (did you mean {known}?)"),
        _ => String::new(),
    }
}

fn size(text: &str) -> Result<u64, String> {
    match text.parse::<Bytes>() {
        Ok(Bytes(0)) => Err("a size is more than 0".to_owned()),
        Ok(Bytes(size)) => Ok(size),
        Err(error) => Err(error.to_string()),
    }
}
