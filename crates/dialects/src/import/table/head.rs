//! Roles of a table's columns, by their names.

use super::Shape;
use super::sheet::SheetRow;

/// Role of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Condition,
    Metric,
    Unit,
    Count,
    Mean,
    Stdev,
    Value,
    Trial,
    Position,
    Measured,
    Operands,
    Seconds,
    Reported,
}

/// Usual names of columns.
const NAMES: [(Role, &[&str]); 13] = [
    (
        Role::Condition,
        &[
            "condition",
            "setting",
            "config",
            "configuration",
            "governor",
            "scheduler",
            "variant",
        ],
    ),
    (Role::Metric, &["metric", "test", "benchmark"]),
    (Role::Unit, &["unit", "units"]),
    (Role::Count, &["n", "trials", "runs"]),
    (Role::Mean, &["mean", "average", "avg"]),
    (
        Role::Stdev,
        &[
            "stdev",
            "stddev",
            "sd",
            "std",
            "std dev",
            "standard deviation",
        ],
    ),
    (Role::Value, &["value", "result"]),
    (Role::Trial, &["trial", "run", "repetition", "iteration"]),
    (Role::Position, &["position"]),
    (Role::Measured, &["measured", "label"]),
    (Role::Operands, &["operands"]),
    (Role::Seconds, &["seconds"]),
    (Role::Reported, &["reported"]),
];

/// Column of a table.
#[derive(Debug)]
struct Column {
    name: String,
    /// Unit in brackets after the name; empty without one.
    unit: String,
    role: Option<Role>,
}

/// Roles of all columns.
#[derive(Debug)]
pub(super) struct Head {
    columns: Vec<Column>,
}

impl Head {
    pub(super) fn of(cells: &[String]) -> Self {
        let columns = cells.iter().map(|cell| column(cell));
        Self {
            columns: columns.collect(),
        }
    }

    /// Returns the layout of figures below these columns; `None` if they have none.
    pub(super) fn shape(&self) -> Option<Shape> {
        let has = |role| self.place(role).is_some();
        if has(Role::Operands) && has(Role::Reported) {
            return Some(Shape::Copies);
        }
        if has(Role::Metric) && (has(Role::Value) || has(Role::Mean)) {
            return Some(Shape::Figures);
        }
        let unit = self.place(Role::Unit);
        if unit.is_some_and(|unit| unit > 0 && unit + 1 < self.columns.len()) {
            return Some(Shape::Metrics);
        }
        let mut metrics = self
            .columns
            .iter()
            .skip(1)
            .filter(|column| column.role.is_none());
        let with_units = metrics.any(|column| !column.unit.is_empty());
        let named = self.place(Role::Condition) == Some(0) && self.columns.len() > 1;
        (with_units || named).then_some(Shape::Conditions)
    }

    fn place(&self, role: Role) -> Option<usize> {
        self.columns
            .iter()
            .position(|column| column.role == Some(role))
    }

    /// Returns the number of the column with this role as text, from 1.
    pub(super) fn column_of(&self, role: Role) -> String {
        let place = self.place(role).map(|place| place + 1);
        place.map_or_else(|| "?".to_owned(), |number| number.to_string())
    }

    /// Returns a row's cell in the column with this role; `None` if it is empty.
    pub(super) fn cell<'a>(&self, row: &'a SheetRow, role: Role) -> Option<&'a str> {
        let cell = row.cells.get(self.place(role)?)?;
        (!cell.is_empty()).then_some(cell)
    }

    /// Returns cells before a column that have no role: they are part of the metric's
    /// name.
    pub(super) fn before<'a>(&self, role: Role, row: &'a SheetRow) -> Vec<&'a str> {
        let end = self.place(role).unwrap_or(0);
        let cells = self.columns.iter().zip(&row.cells).take(end);
        cells
            .filter(|(column, cell)| {
                !cell.is_empty() && (column.role.is_none() || column.role == Some(Role::Metric))
            })
            .map(|(_, cell)| cell.as_str())
            .collect()
    }

    /// Returns conditions with their cells.
    pub(super) fn after_unit<'a>(&'a self, row: &'a SheetRow) -> Vec<(&'a str, &'a str)> {
        let start = self.place(Role::Unit).map_or(0, |unit| unit + 1);
        let cells = self.columns.iter().zip(&row.cells).skip(start);
        cells
            .filter(|(column, _)| {
                let of_row = [Role::Count, Role::Position, Role::Measured];
                column.role.is_none_or(|role| !of_row.contains(&role))
            })
            .map(|(column, cell)| (column.name.as_str(), cell.as_str()))
            .collect()
    }

    /// Returns metrics with their units and cells.
    pub(super) fn metrics<'a>(&'a self, row: &'a SheetRow) -> Vec<(&'a str, &'a str, &'a str)> {
        let cells = self.columns.iter().zip(&row.cells).skip(1);
        cells
            .filter(|(column, _)| column.role.is_none())
            .map(|(column, cell)| (&*column.name, &*column.unit, cell.as_str()))
            .collect()
    }

    /// Returns names and cells of columns without a role.
    pub(super) fn others(&self, row: &SheetRow) -> Vec<String> {
        let cells = self.columns.iter().zip(&row.cells);
        cells
            .filter(|(column, cell)| column.role.is_none() && !cell.is_empty())
            .map(|(column, cell)| format!("{}={cell}", column.name))
            .collect()
    }

    /// Returns columns whose cells are not imported.
    pub(super) fn left_out(&self) -> Vec<&str> {
        if self.shape() != Some(Shape::Figures) {
            return Vec::new();
        }
        let metric = self.place(Role::Metric).unwrap_or(0);
        let behind = self.columns.iter().skip(metric);
        behind
            .filter(|column| column.role.is_none())
            .map(|column| column.name.as_str())
            .collect()
    }
}

/// Parses a column name with a unit: `Seq. read (MB/s)` or `Seq. read [MB/s]`.
fn column(cell: &str) -> Column {
    let word = cell.to_lowercase();
    let role = NAMES
        .iter()
        .find(|(_, names)| names.contains(&word.as_str()));
    let role = role.map(|(role, _)| *role);
    let brackets = [('(', ')'), ('[', ']')];
    let with_unit = brackets.into_iter().find_map(|(open, close)| {
        let (name, unit) = cell.strip_suffix(close)?.rsplit_once(open)?;
        Some((name.trim(), unit.trim()))
    });
    let (name, unit) = with_unit.unwrap_or((cell, ""));
    Column {
        name: name.to_owned(),
        unit: unit.to_owned(),
        role,
    }
}
