//! Samples over an extent: the curves of rates, and the access times.

use super::figure;
use crate::charts::data::Gallery;
use assay_lang::tr;
use maud::{Markup, html};

pub fn markup(gallery: &Gallery) -> Option<Markup> {
    let charts = &gallery.extents;
    (!charts.is_empty()).then(|| {
        html! {
            p.soft {
                (tr!("Each sample where it was taken, from the begin of the device or file to its end. The average \
                 counts all samples alike, as GNOME Disks does; the rate of the trial divides all bytes by all time."))
            }
            div.charts { @for chart in charts { (figure::of(chart)) } }
        }
    })
}
