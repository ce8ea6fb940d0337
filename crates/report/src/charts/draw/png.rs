//! Charts as PNG: resvg renders the SVG with an embedded font (a part of Roboto, see
//! `fonts/README.md`).

use super::{Chart, svg};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};
use std::io::{self, Write};
use std::sync::Arc;

const FONT: &[u8] = include_bytes!("fonts/Roboto-subset.ttf");
/// Pixels per unit of the drawing, so that charts are sharp on slides.
const SCALE: f32 = 2.0;

/// Writes the chart as PNG in light colours.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(chart: &Chart, out: &mut dyn Write) -> io::Result<()> {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_data(FONT.to_vec());
    let options = Options {
        font_family: "Roboto".to_owned(),
        fontdb: Arc::new(fonts),
        ..Options::default()
    };
    let tree = Tree::from_str(&svg::plain(chart), &options).map_err(io::Error::other)?;
    let size = tree.size().to_int_size().scale_by(SCALE);
    let pixels = size.and_then(|size| Pixmap::new(size.width(), size.height()));
    let mut pixels =
        pixels.ok_or_else(|| io::Error::other("the chart is too large to be drawn"))?;
    resvg::render(
        &tree,
        Transform::from_scale(SCALE, SCALE),
        &mut pixels.as_mut(),
    );
    out.write_all(&pixels.encode_png().map_err(io::Error::other)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::Gallery;
    use crate::testing::samples;

    #[test]
    fn every_chart_is_a_picture_with_something_on_it() {
        for run in [samples::with_sustained(), samples::with_matrix()] {
            let gallery = Gallery::of(&run);
            for charts in [&gallery.trials, &gallery.matrices, &gallery.courses] {
                for chart in charts.iter().take(1) {
                    let mut out = Vec::new();
                    write(chart, &mut out).unwrap();
                    let pixels = Pixmap::decode_png(&out).unwrap();
                    let first = pixels.pixels()[0];
                    let drawn = pixels
                        .pixels()
                        .iter()
                        .filter(|pixel| **pixel != first)
                        .count();
                    assert!(drawn > 5_000, "{}: {drawn} pixels", chart.name);
                }
            }
        }
    }
}
