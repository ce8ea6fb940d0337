//! Who the device is, where the path leads, which run and machine it was.

use super::parts;
use crate::results::describe;
use crate::results::summary::Summary;
use crate::words::identity;
use crate::words::text::clean;
use assay_lang::tr;
use maud::{Markup, html};

pub fn markup(summary: &Summary<'_>) -> Markup {
    let run = summary.run;
    let storage = &run.header.storage;
    let devices = storage
        .layers
        .iter()
        .filter(|layer| identity::is_device(layer));
    html! {
        div.columns {
            @for layer in devices {
                div {
                    h3 { (tr!("Device {name}", name = clean(&layer.name))) }
                    (parts::facts(&identity::device_facts(layer)))
                    @if !layer.identity.raw.is_empty() {
                        details {
                            summary { (tr!("As the kernel shows it")) }
                            dl.raw {
                                @for (name, value) in &layer.identity.raw {
                                    dt { code { (clean(name)) } }
                                    dd { code { (clean(value)) } }
                                }
                            }
                        }
                    }
                }
            }
            div {
                h3 { (tr!("Path")) }
                (parts::facts(&identity::path_facts(storage)))
            }
            div {
                h3 { (tr!("Run")) }
                (parts::facts(&describe::run_facts(summary)))
            }
            div {
                h3 { (tr!("Machine")) }
                (parts::facts(&identity::system_facts(run)))
            }
        }
    }
}
