//! Compact letters for a table of pairs.

/// Assigns letters such that two items share one exactly if they do not differ (insert and absorb,
/// Piepho 2004). `differ` is symmetric; items are in the order of the table, so that the first has
/// an `a`.
///
/// ```
/// use assay_stats::verdict::ranking::letters::assign;
/// // The first and the last differ, the middle one from neither.
/// let differ = [
///     vec![false, false, true],
///     vec![false, false, false],
///     vec![true, false, false],
/// ];
/// assert_eq!(assign(&differ), ["a", "ab", "b"]);
/// ```
pub fn assign(differ: &[Vec<bool>]) -> Vec<String> {
    let k = differ.len();
    let mut columns: Vec<Vec<bool>> = vec![vec![true; k]];
    for (i, j) in pairs(k) {
        if differ[i][j] {
            columns = absorb(split(columns, i, j));
        }
    }
    // Columns are compared item by item, so the column with the first item comes first.
    columns.sort_by(|one, other| other.cmp(one));
    let letters = |item: usize| {
        let of_item = columns
            .iter()
            .enumerate()
            .filter(|(_, column)| column[item]);
        of_item.map(|(number, _)| letter(number)).collect()
    };
    (0..k).map(letters).collect()
}

/// Returns each pair of `k` items once.
pub(super) fn pairs(k: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..k).flat_map(move |i| (i + 1..k).map(move |j| (i, j)))
}

/// Splits a column with both items into two with one each.
fn split(columns: Vec<Vec<bool>>, i: usize, j: usize) -> Vec<Vec<bool>> {
    let mut split = Vec::new();
    for column in columns {
        if column[i] && column[j] {
            for item in [i, j] {
                let mut without = column.clone();
                without[item] = false;
                split.push(without);
            }
        } else {
            split.push(column);
        }
    }
    split
}

/// Drops columns that are subsets of another.
fn absorb(columns: Vec<Vec<bool>>) -> Vec<Vec<bool>> {
    let mut kept: Vec<Vec<bool>> = Vec::new();
    for column in columns {
        let within = |outer: &Vec<bool>| column.iter().zip(outer).all(|(a, b)| !a || *b);
        if kept.iter().any(within) {
            continue;
        }
        kept.retain(|old| !old.iter().zip(&column).all(|(a, b)| !a || *b));
        kept.push(column);
    }
    kept
}

/// Returns the name of a letter: a to z, then a1, b1, ...
fn letter(number: usize) -> String {
    let name = (b'a'..=b'z').nth(number % 26).map_or('?', char::from);
    match number / 26 {
        0 => name.to_string(),
        round => format!("{name}{round}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_differs_or_everything_does() {
        assert_eq!(assign(&vec![vec![false; 3]; 3]), ["a", "a", "a"]);
        let all: Vec<Vec<bool>> = (0..3).map(|i| (0..3).map(|j| i != j).collect()).collect();
        assert_eq!(assign(&all), ["a", "b", "c"]);
        assert!(assign(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn a_common_letter_means_no_difference(bits in prop::collection::vec(any::<bool>(), 28)) {
            let mut differ = vec![vec![false; 8]; 8];
            for ((i, j), bit) in pairs(8).zip(bits) {
                differ[i][j] = bit;
                differ[j][i] = bit;
            }
            let letters = assign(&differ);
            for (i, j) in pairs(8) {
                let common = letters[i].chars().any(|c| letters[j].contains(c));
                prop_assert_eq!(common, !differ[i][j]);
            }
        }
    }
}
