use super::*;
use crate::charts::draw::{Form, Grid, GridCell, Measure, Point, Tint};

const PLAIN: Style = Style {
    color: false,
    width: 60,
    ascii: false,
};

fn axis(label: &str, scale: Scale) -> Axis {
    Axis {
        label: label.to_owned(),
        measure: Measure::Seconds,
        scale,
    }
}

fn drawn(body: Body, style: Style) -> String {
    let chart = Chart {
        name: "c".to_owned(),
        title: "T\u{1b}[2J".to_owned(),
        description: "words".to_owned(),
        body,
    };
    let mut out = Vec::new();
    write(&chart, style, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn plane(y: Scale, series: Vec<Series>) -> Body {
    Body::Plane(Plane {
        limits: None,
        x: axis("time", Scale::Span),
        panels: vec![Panel {
            y: axis("rate", y),
            series,
        }],
    })
}

fn line(name: &str, slope: f64) -> Series {
    Series {
        name: name.to_owned(),
        tint: Tint::Read,
        mark: SeriesStyle::Line,
        points: (0..10)
            .map(|n| Point::at(f64::from(n), slope * f64::from(n)))
            .collect(),
    }
}

#[test]
fn one_curve_is_braille_and_several_have_signs() {
    let one = drawn(plane(Scale::Linear, vec![line("a", 1.0)]), PLAIN);
    assert!(
        one.chars().any(|c| ('\u{2801}'..='\u{28ff}').contains(&c)),
        "{one}"
    );
    let two = drawn(
        plane(Scale::Linear, vec![line("a", 1.0), line("b", 2.0)]),
        PLAIN,
    );
    assert!(two.contains("o a, x b"), "{two}");
    assert!(!two.contains('\u{1b}'));
}

#[test]
fn without_utf8_all_is_ascii() {
    let ascii = Style {
        ascii: true,
        ..PLAIN
    };
    let names = Scale::Names(vec!["row".to_owned()]);
    let bar = Series {
        mark: SeriesStyle::Bars,
        ..line("a", 0.0)
    };
    for body in [
        plane(Scale::Linear, vec![line("a", 1.0)]),
        plane(names, vec![bar]),
        grid(),
    ] {
        let text = drawn(body, ascii);
        assert!(text.is_ascii(), "{text}");
    }
}

#[test]
fn lines_are_no_wider_than_asked() {
    let many = drawn(plane(Scale::Linear, vec![line("a", 1.0)]), PLAIN);
    assert!(
        many.lines().all(|line| line.chars().count() <= 68),
        "{many}"
    );
}

fn grid() -> Body {
    let cell = |value| {
        Some(GridCell {
            value,
            label: "device".to_owned(),
        })
    };
    let names = |names: [&str; 2]| names.map(str::to_owned).to_vec();
    Body::Grid(Grid {
        form: Form::Map,
        rows: ("file".to_owned(), names(["128 MiB", "256 MiB"])),
        columns: ("record".to_owned(), names(["4 KiB", "8 KiB"])),
        values: ("rate".to_owned(), Measure::Foreign("KiB/s".to_owned())),
        cells: vec![vec![cell(1.0), None], vec![cell(3.0), cell(4.0)]],
        edge: Some((1, "the page cache ends".to_owned())),
    })
}

#[test]
fn a_grid_is_a_table_with_its_edge() {
    let text = drawn(grid(), PLAIN);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[2].split_whitespace().collect::<Vec<_>>(),
        ["4", "KiB", "8", "KiB"]
    );
    assert!(lines[4].contains("the page cache ends"), "{text}");
    assert!(lines[5].contains("█") && lines[5].contains('4'), "{text}");
}
