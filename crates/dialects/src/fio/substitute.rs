//! Substitution in the lines of a job file: `${VARIABLE}`, `$ncpus`, `$mb_memory`, `$pagesize`.

use super::Environment;
use super::value::arithmetic::{self, Domain};

/// Longest line after substitution; fio's limit is 64 KiB.
const LONGEST: usize = 1 << 16;

/// Substitutes all variables and keywords in a value.
///
/// Variables that are not set are replaced by nothing, as in fio, and noted.
pub(super) fn substitute(
    value: &str,
    env: &dyn Environment,
    notes: &mut Vec<String>,
) -> Result<String, String> {
    if !value.contains('$') {
        return Ok(value.to_owned());
    }
    let value = variables(value, env, notes);
    let replaced = keywords(&value, env);
    if replaced.len() > LONGEST {
        return Err("the line is too long after its variables were put in".to_owned());
    }
    if replaced == value || !is_formula(&replaced) {
        return Ok(replaced);
    }
    let number = arithmetic::evaluate(&replaced, Domain::Size)?.integer()?;
    Ok(number.to_string())
}

fn variables(value: &str, env: &dyn Environment, notes: &mut Vec<String>) -> String {
    let mut result = String::new();
    let mut rest = value;
    while let Some(start) = rest.find("${") {
        let (before, at) = rest.split_at(start);
        result.push_str(before);
        let Some(end) = at.find('}') else {
            rest = at;
            break;
        };
        let name = &at[2..end];
        match env.var(name) {
            Some(text) => result.push_str(&text),
            None => notes.push(format!(
                "the variable {name} is not set and counts as empty"
            )),
        }
        rest = &at[end + 1..];
    }
    result + rest
}

fn keywords(value: &str, env: &dyn Environment) -> String {
    value
        .replace("$pagesize", &env.page_bytes().to_string())
        .replace("$mb_memory", &env.memory_mib().to_string())
        .replace("$ncpus", &env.cpus().to_string())
}

/// Returns true for a formula. After a keyword, formulas need no parentheses:
/// `size=$mb_memory*2`.
fn is_formula(value: &str) -> bool {
    value.contains(['+', '-', '*', '/'])
        && value
            .chars()
            .all(|c| c.is_ascii_digit() || " +-*/%^().".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio::tests::TestEnvironment;

    #[test]
    fn variables_and_keywords_are_replaced() {
        let env = TestEnvironment::default().with_var("DEV", "/dev/sdx");
        let mut notes = Vec::new();
        let mut read = |value| substitute(value, &env, &mut notes).expect("a value");
        assert_eq!(read("${DEV}1"), "/dev/sdx1");
        assert_eq!(read("$ncpus*2"), "8");
        assert_eq!(read("$pagesize"), "4096");
        assert_eq!(read("${DEV"), "${DEV");
        assert_eq!(read("/a$ncpus/b"), "/a4/b");
        assert_eq!(read("a${MISSING}b"), "ab");
        assert_eq!(notes.len(), 1);
    }
}
