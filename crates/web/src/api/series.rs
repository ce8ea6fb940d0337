//! Series, their points and changes.

use super::json;
use crate::asked::Asked;
use crate::pages::series::one;
use crate::reply::{Problem, Reply};
use crate::wanted;
use assay_model::figures::{SeriesChange, StoredSeries};
use assay_report::described;
use assay_report::json::{ChangeEntry, PointEntry, SeriesEntry};

/// Rows of a page.
const ROWS: u32 = 100;

described! {
    /// Series, the one with the newest run first.
    pub struct SeriesPage {
        /// The series.
        pub series: Vec<SeriesEntry>,
        /// Value of `after` for further series; null: there are none.
        pub next: Option<String>,
    }

    /// A series with all its runs, the oldest first.
    pub struct PointList {
        /// The series.
        pub series: SeriesEntry,
        /// Runs of the series.
        pub points: Vec<PointEntry>,
    }

    /// Changes, the newest first.
    pub struct ChangePage {
        /// The changes.
        pub changes: Vec<ChangeOfSeries>,
        /// Value of `after` for older changes; null: there are none.
        pub next: Option<String>,
    }

    /// A change and its series.
    pub struct ChangeOfSeries {
        /// The series.
        pub series: SeriesEntry,
        /// The change.
        pub change: ChangeEntry,
    }
}

/// Answers with a page of series.
pub fn list(asked: &Asked<'_>) -> Result<Reply, Problem> {
    let filter = wanted::series(&asked.query)?;
    let after = wanted::after(&asked.query)?;
    let page = asked.store.series_page(&filter, after.as_ref(), ROWS)?;
    json(&SeriesPage {
        series: page.rows.iter().map(SeriesEntry::of).collect(),
        next: page.next.map(|key| key.to_string()),
    })
}

/// Answers with one series and all its runs.
pub fn points(asked: &Asked<'_>) -> Result<Reply, Problem> {
    let series = one(asked)?;
    let points = asked.store.points(&series.key)?;
    json(&PointList {
        series: SeriesEntry::of(&series),
        points: points.iter().map(PointEntry::of).collect(),
    })
}

/// Answers with a page of changes.
pub fn changes(asked: &Asked<'_>) -> Result<Reply, Problem> {
    let filter = wanted::series(&asked.query)?;
    let open = wanted::only_open(&asked.query, false)?;
    let after = wanted::after(&asked.query)?;
    let page = asked
        .store
        .change_page(&filter, open, after.as_ref(), ROWS)?;
    let entries = page.rows.iter();
    json(&ChangePage {
        changes: entries.map(ChangeOfSeries::of).collect(),
        next: page.next.map(|key| key.to_string()),
    })
}

impl ChangeOfSeries {
    fn of((series, change): &(StoredSeries, SeriesChange)) -> Self {
        Self {
            series: SeriesEntry::of(series),
            change: ChangeEntry::of(change),
        }
    }
}
