//! Copying from a source to a sink, in batches.

use super::{
    ExchangeError, Given, MOST_OFFERS, NameHeld, Offer, Parcel, Part, Sink, Source, Standing,
    Taken, TakenAs,
};
use std::collections::HashSet;

/// Outcome of a transfer so far. "There" is the sink.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransferTally {
    /// Runs and imports added.
    pub added: Vec<String>,
    /// Runs replaced by a version with more trials.
    pub extended: Vec<String>,
    /// Existing runs and imports with an updated name, tags or note.
    pub annotated: Vec<String>,
    /// Existing runs and imports: the same, or the same run with more trials.
    pub there: Vec<String>,
    /// Runs and imports whose id has other contents in the sink.
    pub conflicts: Vec<String>,
    /// Runs and imports that were removed from the sink.
    pub removed: Vec<String>,
    /// Runs that are under way in either store.
    pub under_way: Vec<String>,
    /// Runs and imports copied without their name, because another record has it in the sink.
    pub nameless: Vec<(String, NameHeld)>,
    /// Runs and imports that were not copied, with the reason.
    pub refused: Vec<(String, String)>,
    /// Number of opinions on changes that were newer than those of the sink.
    pub opinions: usize,
}

impl TransferTally {
    /// Returns the number of runs and imports processed.
    pub fn seen(&self) -> usize {
        let Self {
            added,
            extended,
            annotated,
            there,
            conflicts,
            removed,
            under_way,
            refused,
            nameless: _,
            opinions: _,
        } = self;
        let lists = [
            added, extended, annotated, there, conflicts, removed, under_way,
        ];
        lists.into_iter().map(Vec::len).sum::<usize>() + refused.len()
    }

    /// Returns the runs that differ between the sink and the source.
    fn apart(&self) -> HashSet<&String> {
        let lists = [&self.conflicts, &self.removed, &self.under_way];
        let refused = self.refused.iter().map(|(id, _)| id);
        lists.into_iter().flatten().chain(refused).collect()
    }

    fn note(&mut self, taken: Taken, part: Part) {
        let Taken {
            id,
            outcome,
            nameless,
        } = taken;
        self.nameless
            .extend(nameless.map(|name| (id.clone(), name)));
        let list = match outcome {
            TakenAs::Added => &mut self.added,
            TakenAs::Extended => &mut self.extended,
            TakenAs::Same if part == Part::Annotation => &mut self.annotated,
            TakenAs::Same | TakenAs::Longer => &mut self.there,
            TakenAs::Conflict => &mut self.conflicts,
            TakenAs::UnderWay => &mut self.under_way,
            TakenAs::Removed => &mut self.removed,
            TakenAs::Refused { why } => return self.refused.push((id, why)),
        };
        list.push(id);
    }
}

/// Copies records from one store to another.
pub struct Transfer<'a> {
    /// Store that runs are copied from.
    pub from: &'a mut dyn Source,
    /// Store that they are copied to.
    pub to: &'a mut dyn Sink,
    /// True to copy records again that were removed from the sink.
    pub again: bool,
    /// Called with the parcels of a batch before they are sent.
    pub prepare: &'a mut dyn FnMut(&mut [Parcel]),
    /// Called after each batch.
    pub tell: &'a mut dyn FnMut(&TransferTally),
}

impl Transfer<'_> {
    /// Copies these runs and imports. After an error, the tally contains the records copied before it.
    ///
    /// # Errors
    /// If one of the stores can no longer be used.
    pub fn these(
        &mut self,
        ids: &[String],
        tally: &mut TransferTally,
    ) -> Result<(), ExchangeError> {
        for ids in ids.chunks(MOST_OFFERS) {
            let offers = self.from.offers(ids)?;
            self.batch(&offers, tally)?;
        }
        Ok(())
    }

    /// Copies all records of the source.
    ///
    /// # Errors
    /// As [`Self::these`].
    pub fn everything(&mut self, tally: &mut TransferTally) -> Result<(), ExchangeError> {
        let mut last = String::new();
        loop {
            let offers = self.from.offers_after(&last)?;
            let Some(offer) = offers.last() else {
                return Ok(());
            };
            last.clone_from(&offer.id);
            for offers in offers.chunks(MOST_OFFERS) {
                self.batch(offers, tally)?;
            }
        }
    }

    fn batch(&mut self, offers: &[Offer], tally: &mut TransferTally) -> Result<(), ExchangeError> {
        let mut ended: Vec<Offer> = Vec::new();
        for offer in offers {
            match offer.sha256 {
                Some(_) => ended.push(offer.clone()),
                None => tally.under_way.push(offer.id.clone()),
            }
        }
        let (mut records, mut annotations) = (Vec::new(), Vec::new());
        for (offer, standing) in ended.iter().zip(self.to.compare(&ended)?) {
            let id = offer.id.clone();
            match standing {
                Standing::Absent | Standing::Other => records.push(id),
                Standing::Removed if self.again => records.push(id),
                Standing::Removed => tally.removed.push(id),
                Standing::UnderWay => tally.under_way.push(id),
                Standing::Same { annotated_unix_ms }
                    if offer.annotated_unix_ms > annotated_unix_ms =>
                {
                    annotations.push(id);
                }
                Standing::Same { .. } => tally.there.push(id),
            }
        }
        self.send(&records, Part::Whole, tally)?;
        self.send(&annotations, Part::Annotation, tally)?;
        let ended: Vec<String> = ended.into_iter().map(|offer| offer.id).collect();
        self.send_opinions(&ended, tally)?;
        (self.tell)(tally);
        Ok(())
    }

    /// Sends the opinions on changes that begin with runs that both stores have.
    fn send_opinions(
        &mut self,
        ids: &[String],
        tally: &mut TransferTally,
    ) -> Result<(), ExchangeError> {
        let mut opinions = self.from.opinions(ids)?;
        if !opinions.is_empty() {
            let apart = tally.apart();
            opinions.retain(|said| !apart.contains(&said.run));
        }
        if !opinions.is_empty() {
            tally.opinions += self.to.take_opinions(opinions)?;
        }
        Ok(())
    }

    fn send(
        &mut self,
        ids: &[String],
        part: Part,
        tally: &mut TransferTally,
    ) -> Result<(), ExchangeError> {
        let mut left = ids;
        while !left.is_empty() {
            let given = self.from.give(left, part)?;
            left = left.get(given.len().max(1)..).unwrap_or_default();
            let mut parcels = Vec::new();
            for given in given {
                match given {
                    Given::Damaged { id, why } => tally.refused.push((id, why)),
                    Given::Parcel(parcel) => parcels.push(*parcel),
                }
            }
            (self.prepare)(&mut parcels);
            for taken in self.to.take(parcels, self.again)? {
                tally.note(taken, part);
            }
            (self.tell)(tally);
        }
        Ok(())
    }
}
