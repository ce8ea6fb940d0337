//! Rank of a run's figures among those of other units of its kind.

use crate::document::{Cell, Column, Keep, Section, Table, TableRow};
use crate::results::describe;
use crate::results::population::{Placed, Standings};
use crate::words::{Tone, clean, quantity};
use assay_lang::{counted, tr, translated};
use assay_stats::summary::FEWEST_UNITS;

/// Returns a row for each deciding figure that enough other units have.
pub fn section(standings: &Standings) -> Section {
    let mut section = Section::new("population", tr!("Among other units of its kind"));
    let kind = match standings.bus.as_str() {
        "" => clean(&standings.model),
        bus => format!("{} ({})", clean(&standings.model), clean(bus)),
    };
    let decisive = standings.figures.iter().filter(|placed| placed.primary);
    let rows: Vec<TableRow> = decisive.map(row).collect();
    let units = counted!(standings.units, "{n} other unit", "{n} other units");
    if rows.is_empty() {
        let fewest = FEWEST_UNITS;
        let said = tr!(
            "{kind}: no job of this run was measured on {fewest} other units or more (the population \
             has {units} of this model and bus)",
            kind,
            fewest,
            units
        );
        section.say(said, Some(Tone::Soft));
        return section;
    }
    section.say(
        tr!(
            "{kind}, {units}. P0 is the worst unit, P100 the best, in brackets the 90 % band; each \
             unit counts once, by the median of its runs.",
            kind,
            units
        ),
        Some(Tone::Soft),
    );
    if let Some(runs) = standings.newest_runs {
        let runs = counted!(runs, "{n} run", "{n} runs");
        let said = tr!(
            "Of the store, the newest runs on these units count: {runs}.",
            runs
        );
        section.say(said, Some(Tone::Soft));
    }
    section.table(Table {
        columns: vec![
            Column::text(tr!("job")),
            Column::text(tr!("metric")).keep(Keep::IfRoom),
            Column::number(tr!("this unit")),
            Column::number(tr!("median of units")),
            Column::number(tr!("P5 to P95 of units")).keep(Keep::IfRoom),
            Column::text(tr!("standing")),
            Column::text(tr!("measured")).keep(Keep::IfRoom),
        ],
        rows,
    });
    section
}

fn row(placed: &Placed) -> TableRow {
    let shown = |value: f64| quantity(placed.unit, value);
    let quantile = |name: &str| placed.quantiles.get(name).map(|value| shown(*value));
    let spread = quantile("p5").zip(quantile("p95"));
    let spread = spread.map(|(low, high)| tr!("{low} to {high}", low, high));
    let cells = vec![
        Cell::Text(clean(&placed.job)),
        Cell::Text(describe::metric(&placed.metric)),
        Cell::Text(shown(placed.value)),
        Cell::known(quantile("p50")),
        Cell::known(spread),
        Cell::Text(standing(placed)),
        Cell::Text(translated(&placed.label).to_owned()),
    ];
    TableRow::new(cells)
}

/// Formats a rank: `P38 (21 to 55), of 44 units`.
fn standing(placed: &Placed) -> String {
    let [low, high] = placed.band;
    let of = counted!(placed.units, "{n} unit", "{n} units");
    tr!(
        "P{percentile} ({low} to {high}), of {of}",
        percentile = format!("{:.0}", placed.percentile),
        low = format!("{low:.0}"),
        high = format!("{high:.0}"),
        of
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Block;
    use crate::results::facts;
    use crate::results::population::Others;
    use crate::results::population::tests::others;
    use crate::testing::fixture;

    #[test]
    fn a_standing_has_its_band_and_its_units() {
        let facts = facts::of(&fixture::run());
        let standings = Others::of(&facts, None, others(&facts, 20)).place(&facts);
        let section = section(&standings);
        let table = section.blocks.iter().find_map(|block| match block {
            Block::Table(table) => Some(table),
            _ => None,
        });
        let row = table.unwrap().rows.first().unwrap();
        let standing = row.cells.get(5).unwrap().text();
        assert_eq!(standing, "P50 (30 to 70), of 20 units");
    }

    #[test]
    fn nothing_is_said_of_four_units() {
        let facts = facts::of(&fixture::run());
        let standings = Others::of(&facts, None, others(&facts, 4)).place(&facts);
        let section = section(&standings);
        assert_eq!(section.blocks.len(), 1);
        assert!(
            matches!(&section.blocks[..], [Block::Paragraph { text, .. }] if text.contains("4 other units"))
        );
    }
}
