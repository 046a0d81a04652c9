//! The streams that are open, by id.

use super::halves::Stream;

/// In rising order of id. Few are open at a time, and the newest is asked for most: it has a place of its own, and no tree is as quick for the
/// others.
#[derive(Debug, Default)]
pub(super) struct Table {
    newest: Option<(u64, Box<Stream>)>,
    others: Vec<(u64, Box<Stream>)>,
}

impl Table {
    fn place(&self, id: u64) -> Result<usize, usize> {
        self.others.binary_search_by_key(&id, |(id, _)| *id)
    }
    #[inline(always)]
    pub fn get(&self, id: u64) -> Option<&Stream> {
        match &self.newest {
            Some((newest, stream)) if *newest == id => Some(stream),
            _ => self.place(id).ok().map(|place| &*self.others[place].1),
        }
    }
    #[inline(always)]
    pub fn get_mut(&mut self, id: u64) -> Option<&mut Stream> {
        let place = match &mut self.newest {
            Some((newest, stream)) if *newest == id => return Some(stream),
            _ => self.others.binary_search_by_key(&id, |(id, _)| *id),
        };
        place.ok().map(|place| &mut *self.others[place].1)
    }
    pub fn insert(&mut self, id: u64, stream: Stream) {
        let stream = (id, Box::new(stream));
        match &self.newest {
            Some((newest, _)) if *newest > id => match self.place(id) {
                Ok(place) => self.others[place] = stream,
                Err(place) => self.others.insert(place, stream),
            },
            Some((newest, _)) if *newest == id => self.newest = Some(stream),
            _ => self.others.extend(self.newest.replace(stream)),
        }
    }
    pub fn remove(&mut self, id: u64) {
        if self.newest.as_ref().is_some_and(|(newest, _)| *newest == id) {
            self.newest = self.others.pop();
        } else if let Ok(place) = self.place(id) {
            self.others.remove(place);
        }
    }
    pub fn iter(&self) -> impl Iterator<Item = (u64, &Stream)> {
        self.others.iter().chain(&self.newest).map(|(id, stream)| (*id, &**stream))
    }
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (u64, &mut Stream)> {
        self.others.iter_mut().chain(&mut self.newest).map(|(id, stream)| (*id, &mut **stream))
    }
}
