//! Errors of a copy: all are counted, the first are located.

use assay_model::trial::{IoErrorRecord, IoErrors};

/// So many errors of reading, of writing and of flushing are located each; all
/// are counted. Many errors of one kind hide none of another.
const KEPT: usize = 8;

/// Counts an error, and keeps the first ones of its direction.
pub(super) fn add(errors: &mut IoErrors, error: IoErrorRecord) {
    errors.count += 1;
    let alike = errors.first.iter();
    let alike = alike.filter(|known| known.direction == error.direction);
    if alike.count() < KEPT {
        errors.first.push(error);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::job::Direction;

    #[test]
    fn many_errors_are_counted_and_hide_none_of_another_kind() {
        let mut errors = IoErrors::default();
        let of = |direction| IoErrorRecord {
            direction,
            offset: 0,
            length: 512,
            errno: Some(5),
            message: "Input/output error".to_owned(),
            at_ns: 0,
        };
        for _ in 0..1000 {
            add(&mut errors, of(Some(Direction::Read)));
        }
        add(&mut errors, of(None));
        assert_eq!(errors.count, 1001);
        assert_eq!(errors.first.len(), KEPT + 1);
        assert_eq!(errors.first[KEPT].direction, None);
    }
}
