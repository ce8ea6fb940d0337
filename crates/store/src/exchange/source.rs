//! Local store as a source.

use super::reading::{Known, annotations_of, fitting, known_after, known_of, records_of};
use super::{ExchangeError, Given, Offer, Parcel, Part, Record, SaidOfChange, Source};
use crate::derived::opinions::said_of;
use crate::runs::Store;
use assay_model::annotation::Annotation;
use std::collections::HashMap;

impl Source for Store {
    fn find(&mut self, word: &str) -> Result<String, ExchangeError> {
        Ok(Self::find(self, word)?.id().to_owned())
    }

    fn offers(&mut self, ids: &[String]) -> Result<Vec<Offer>, ExchangeError> {
        let known = self.database.snapshot(|t| known_of(t, ids))?;
        Ok(self.with_hashes(known)?)
    }

    fn offers_after(&mut self, id: &str) -> Result<Vec<Offer>, ExchangeError> {
        let known = self.database.snapshot(|t| known_after(t, id))?;
        Ok(self.with_hashes(known)?)
    }

    fn give(&mut self, ids: &[String], part: Part) -> Result<Vec<Given>, ExchangeError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let given = self.database.snapshot(|t| {
            let (ids, mut records) = match part {
                Part::Annotation => (ids, HashMap::new()),
                Part::Whole => {
                    let some = fitting(t, ids)?;
                    (some, records_of(t, some)?)
                }
            };
            let known = known_of(t, ids)?.into_iter();
            let mut known: HashMap<String, Known> =
                known.map(|known| (known.offer.id.clone(), known)).collect();
            let mut annotations = annotations_of(t, ids)?;
            let given = ids.iter().map(|id| {
                let record = records.remove(id);
                let annotation = annotations.remove(id).unwrap_or_default();
                match known.remove(id) {
                    Some(known) if part == Part::Annotation || record.is_some() => {
                        parcel(known.offer, record, annotation)
                    }
                    _ => damaged(id, "it was removed or resumed meanwhile"),
                }
            });
            Ok(given.collect())
        })?;
        Ok(given)
    }

    fn opinions(&mut self, ids: &[String]) -> Result<Vec<SaidOfChange>, ExchangeError> {
        Ok(self.database.snapshot(|t| said_of(t, ids))?)
    }
}

/// Returns a parcel if the record has not changed since it was hashed.
fn parcel(mut offer: Offer, record: Option<Record>, annotation: Annotation) -> Given {
    if let (None, Some(record)) = (&offer.sha256, &record) {
        offer.sha256 = Some(record.sha256());
    }
    let parcel = Parcel {
        offer,
        record,
        annotation,
        facts: None,
    };
    match parcel.check() {
        Ok(_) => Given::Parcel(Box::new(parcel)),
        Err(why) => damaged(&parcel.offer.id, &why),
    }
}

fn damaged(id: &str, why: &str) -> Given {
    Given::Damaged {
        id: id.to_owned(),
        why: why.to_owned(),
    }
}
