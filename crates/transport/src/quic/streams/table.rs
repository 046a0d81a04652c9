//! The streams that are open, by id.

use super::halves::Stream;

/// In rising order of id. Few are open at a time, and the newest is asked for most: no tree is as quick.
#[derive(Debug, Default)]
pub(super) struct Table(Vec<(u64, Box<Stream>)>);

impl Table {
    #[inline]
    fn place(&self, id: u64) -> Result<usize, usize> {
        match self.0.last() {
            Some((last, _)) if *last == id => Ok(self.0.len() - 1),
            _ => self.0.binary_search_by_key(&id, |(id, _)| *id),
        }
    }
    #[inline]
    pub fn get(&self, id: u64) -> Option<&Stream> {
        self.place(id).ok().map(|place| &*self.0[place].1)
    }
    #[inline]
    pub fn get_mut(&mut self, id: u64) -> Option<&mut Stream> {
        self.place(id).ok().map(|place| &mut *self.0[place].1)
    }
    pub fn insert(&mut self, id: u64, stream: Stream) {
        match self.place(id) {
            Ok(place) => *self.0[place].1 = stream,
            Err(place) => self.0.insert(place, (id, Box::new(stream))),
        }
    }
    pub fn remove(&mut self, id: u64) {
        if let Ok(place) = self.place(id) {
            self.0.remove(place);
        }
    }
    pub fn iter(&self) -> impl Iterator<Item = (u64, &Stream)> {
        self.0.iter().map(|(id, stream)| (*id, &**stream))
    }
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (u64, &mut Stream)> {
        self.0.iter_mut().map(|(id, stream)| (*id, &mut **stream))
    }
}
