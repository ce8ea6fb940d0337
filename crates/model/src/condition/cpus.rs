//! Lists of processors.

/// Largest number accepted, above that of any machine, so that a typing error does not exhaust
/// memory.
const MAX_CPU: usize = 4096;

/// Parses `0`, `0+2` or `0-3`: numbers and ranges joined with `+`, because a comma separates
/// values. `None` if it is not such a list.
///
/// ```
/// use assay_model::condition::parse_cpus;
/// assert_eq!(parse_cpus("0-2+5"), Some(vec![0, 1, 2, 5]));
/// assert_eq!(parse_cpus("2-0"), None);
/// ```
pub fn parse_cpus(text: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in text.split('+') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last > MAX_CPU {
            return None;
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}
