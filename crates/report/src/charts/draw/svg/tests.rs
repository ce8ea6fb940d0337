use super::*;
use crate::charts::draw::{
    Axis, Grid, GridCell, Measure, Panel, Plane, Point, Scale, Series, SeriesStyle, Tint,
};
use assay_model::figures::Unit;

fn axis(label: &str, scale: Scale) -> Axis {
    Axis {
        label: label.to_owned(),
        measure: Measure::Of(Unit::BytesPerSec),
        scale,
    }
}

fn chart(x: Scale, y: Scale, mark: SeriesStyle, points: Vec<Point>) -> Chart {
    let series = Series {
        name: "<b>&".to_owned(),
        tint: Tint::Write,
        mark,
        points,
    };
    Chart {
        name: "c".to_owned(),
        title: "Title <i>".to_owned(),
        description: "what \"it\" shows".to_owned(),
        body: Body::Plane(Plane {
            limits: None,
            x: axis("time", x),
            panels: vec![Panel {
                y: axis("rate", y),
                series: vec![series],
            }],
        }),
    }
}

fn grid(form: Form) -> Chart {
    let cell = |value: f64| {
        Some(GridCell {
            value,
            label: "device".to_owned(),
        })
    };
    let names = |names: [&str; 2]| names.map(str::to_owned).to_vec();
    Chart {
        body: Body::Grid(Grid {
            form,
            rows: ("file".to_owned(), names(["128 MiB", "256 MiB"])),
            columns: ("record".to_owned(), names(["4 KiB", "8 KiB"])),
            values: ("rate".to_owned(), Measure::Foreign("KiB/s".to_owned())),
            cells: vec![vec![cell(1.0), cell(2.0)], vec![cell(3.0), cell(4.0)]],
            edge: Some((1, "the page cache ends".to_owned())),
        }),
        ..chart(Scale::Span, Scale::Linear, SeriesStyle::Line, Vec::new())
    }
}

const MARKS: [SeriesStyle; 6] = [
    SeriesStyle::Line,
    SeriesStyle::Steps,
    SeriesStyle::Dots,
    SeriesStyle::Bars,
    SeriesStyle::Intervals,
    SeriesStyle::Spans,
];

#[test]
fn whatever_is_not_a_number_is_not_drawn_as_one() {
    let names = || Scale::Names(vec!["a".to_owned()]);
    for mark in MARKS {
        for points in [vec![], vec![Point::at(0.0, 0.0)]] {
            for (x, y) in [
                (Scale::Span, Scale::Linear),
                (Scale::Log, Scale::Log),
                (Scale::Nines, Scale::Log),
                (Scale::Close, names()),
                (names(), Scale::Linear),
            ] {
                let drawn = file(&chart(x, y, mark, points.clone()));
                assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
            }
        }
    }
}

#[test]
fn a_file_is_described_and_escaped() {
    let drawn = file(&chart(
        Scale::Span,
        Scale::Linear,
        SeriesStyle::Line,
        vec![Point::at(0.0, 1.0)],
    ));
    assert!(drawn.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
    assert!(drawn.contains("<title>Title &lt;i&gt;</title>"));
    assert!(drawn.contains("<desc>what &quot;it&quot; shows</desc>"));
    assert!(!drawn.contains("<b>"));
    assert!(drawn.contains("prefers-color-scheme: dark"));
}

#[test]
fn every_colour_of_a_plain_file_is_written_out() {
    for chart in [grid(Form::Map), grid(Form::Surface)] {
        let drawn = plain(&chart);
        assert!(
            !drawn.contains("var(") && !drawn.contains("@media"),
            "{drawn}"
        );
        assert!(file(&chart).contains("var(--ink)"));
    }
}

#[test]
fn every_variable_has_a_colour() {
    for part in STYLE.split("var(--").skip(1) {
        let name = part.split(')').next().unwrap();
        assert!(colours().iter().any(|colour| colour.0 == name), "{name}");
    }
}

#[test]
fn the_edge_of_the_page_cache_is_drawn_and_named() {
    for form in [Form::Map, Form::Surface] {
        let drawn = in_page(&grid(form), NARROW).into_string();
        assert_eq!(drawn.matches("class=\"edge\"").count(), 1, "{form:?}");
        assert!(drawn.contains("the page cache ends"));
    }
    let map = in_page(&grid(Form::Map), NARROW).into_string();
    assert_eq!(map.matches("class=\"tile\"").count(), 4);
    let surface = in_page(&grid(Form::Surface), NARROW).into_string();
    assert_eq!(surface.matches("class=\"mesh\"").count(), 1);
}

#[test]
fn a_single_stall_of_many_intervals_is_wide_enough_to_be_seen() {
    let stall = Point {
        ends: Some((300.0, 300.1)),
        ..Point::default()
    };
    let Body::Plane(mut plane) = chart(
        Scale::Span,
        Scale::Names(vec!["stalls".to_owned()]),
        SeriesStyle::Spans,
        vec![stall],
    )
    .body
    else {
        panic!("a plane");
    };
    plane.panels[0].series[0].points.push(Point {
        ends: Some((0.0, 600.0)),
        ..Point::default()
    });
    let drawn = plane::draw(&plane, NARROW).body.into_string();
    let widths = drawn.split("class=\"stretch").skip(1).map(|rect| {
        let width = rect.split_once("width=\"").unwrap().1;
        width.split('"').next().unwrap().parse::<f64>().unwrap()
    });
    assert!(widths.into_iter().all(|width| width >= 2.0), "{drawn}");
}

/// A row with an interval whose value is 1, on a chart of so many limits.
fn interval(name: &str, high: f64, limits: Option<(f64, f64)>) -> String {
    let point = Point {
        ends: Some((0.5, high)),
        ..Point::at(1.0, 0.0)
    };
    let names = Scale::Names(vec![name.to_owned()]);
    let Body::Plane(mut plane) =
        chart(Scale::Linear, names, SeriesStyle::Intervals, vec![point]).body
    else {
        panic!("a plane");
    };
    plane.limits = limits;
    plane::draw(&plane, NARROW).body.into_string()
}

/// Upright ticks of the interval that was drawn.
fn ticks(drawn: &str) -> usize {
    let interval = drawn.rsplit("class=\"interval").next().unwrap();
    interval.split('"').nth(2).unwrap().matches('v').count()
}

#[test]
fn an_interval_beyond_the_limits_has_no_end_there() {
    assert_eq!(ticks(&interval("a", 1000.0, None)), 3);
    assert_eq!(ticks(&interval("a", 1000.0, Some((0.0, 2.0)))), 2);
    let wide = interval("a", 1000.0, Some((0.0, 2.0)));
    assert!(wide.contains(">2 B/s<") && !wide.contains("KB/s"), "{wide}");
}

#[test]
fn a_name_without_room_beside_its_row_stands_above_it() {
    let name = "seq-read-1m under scheduler=none,read_ahead_kb=128";
    let long = interval(name, 2.0, None);
    assert!(long.contains(name), "whole: {long}");
    assert!(!long.contains("class=\"end name\""), "{long}");
    assert!(interval("short", 2.0, None).contains("class=\"end name\""));
}

#[test]
fn each_of_two_long_names_stands_below_its_axis() {
    let names = [
        "A: /srv/results/before-the-patch.json",
        "B: /srv/results/after-the-patch.json",
    ];
    let names = Scale::Names(names.map(str::to_owned).to_vec());
    let points = vec![Point::at(0.0, 1.0), Point::at(1.0, 2.0)];
    let chart = chart(names, Scale::Close, SeriesStyle::Dots, points);
    let drawn = draw(&chart, 330.0).body.into_string();
    for side in [">A: /", ">B: /"] {
        assert!(drawn.contains(side), "{side}: {drawn}");
    }
}
