//! Renders a rate over time or position as a line of blocks, with stalls on the line below.

use super::Page;
use crate::words::style::Tone;
use crate::words::text::width;
use assay_model::number::as_usize;
use std::io;

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII: [char; 8] = ['.', ':', '-', '=', '+', '*', '%', '#'];
/// Minimum width of a name, in columns.
const NAME: usize = 3;

impl Page<'_> {
    pub(super) fn curve(
        &mut self,
        name: &str,
        values: &[Option<f64>],
        end: &str,
    ) -> io::Result<()> {
        let before = (width(name) + 1).max(NAME) + 2;
        let room = self.style.columns().saturating_sub(before + width(end) + 4);
        let blocks = if self.style.ascii { &ASCII } else { &BLOCKS };
        let (curve, marks) = spark(values, room, blocks);
        let blanks = " ".repeat(before - 2 - width(name));
        self.line(&format!("  {name}{blanks}{curve}  {end}"))?;
        if marks.contains('x') {
            let marks = self.style.paint(Tone::Bad, &marks);
            self.line(&format!("{}{marks}", " ".repeat(before)))?;
        }
        Ok(())
    }
}

/// Returns a block for the mean of each stretch of values, and an `x` below each stretch with a
/// stall.
fn spark(values: &[Option<f64>], room: usize, blocks: &[char; 8]) -> (String, String) {
    let peak = values.iter().flatten().copied().fold(0.0, f64::max);
    let per_block = values.len().div_ceil(room.max(1)).max(1);
    let (mut curve, mut marks) = (String::new(), String::new());
    for stretch in values.chunks(per_block) {
        let known: Vec<f64> = stretch.iter().flatten().copied().collect();
        let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
        curve.push(block(mean, peak, blocks));
        let stalled = known.iter().any(|rate| *rate <= 0.0);
        marks.push(if stalled { 'x' } else { ' ' });
    }
    (curve, marks.trim_end().to_owned())
}

fn block(rate: f64, peak: f64, blocks: &[char; 8]) -> char {
    if rate <= 0.0 || peak <= 0.0 {
        return ' ';
    }
    let index = as_usize(rate / peak * 8.0);
    blocks[index.min(blocks.len() - 1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_between_fast_intervals_is_marked() {
        let mut rates = vec![Some(80e6); 200];
        rates[100] = Some(0.0);
        let (blocks, marks) = spark(&rates, 50, &BLOCKS);
        assert_eq!(blocks.chars().count(), 50);
        assert_eq!(marks.matches('x').count(), 1);
        assert_eq!(marks.find('x'), Some(25));
    }

    #[test]
    fn a_cliff_is_seen_and_gaps_stay_empty() {
        let rates = [80e6, 80e6, 20e6, 20e6].map(Some);
        assert_eq!(spark(&rates, 10, &BLOCKS).0, "██▃▃");
        let curve = [Some(80.0), None, Some(40.0), Some(1.0)];
        assert_eq!(spark(&curve, 4, &BLOCKS).0, "█ ▅▁");
        assert_eq!(spark(&curve, 4, &ASCII).0, "# +.");
    }
}
