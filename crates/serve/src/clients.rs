//! What a server keeps of its clients over any transport: who has a packet to send and whose timer is due, and what is to be logged.

use crate::http_connection::Access;
use crate::record::Recorder;
use crate::settings::Limits;
use crate::store::Store;
use playpath_units::Time;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::net::SocketAddr;

/// A client's connection.
pub trait Client {
    fn handle_timeout(&mut self, now: Time, limits: &Limits);
    /// Read requests and write answers as far as both go.
    fn serve(&mut self, now: Time, store: &Store);
    /// Between requests: whoever needs its place may have it.
    fn is_idle(&self) -> bool;
    fn note(&mut self, now: Time, id: u64, recorder: &mut Recorder);
}

pub struct Clients<C> {
    pub by_id: BTreeMap<u64, C>,
    pub(crate) half_open: BTreeSet<u64>,
    /// When each wants to be called.
    deadlines: BTreeSet<(Time, u64)>,
    due_of: HashMap<u64, Time>,
    /// Those that may have something to send.
    pub(crate) ready: VecDeque<u64>,
    next_id: u64,
    pub(crate) recorder: Option<Recorder>,
    /// Answers that have arrived, and reports with their senders, not logged yet.
    pub accesses: VecDeque<Access>,
    pub reports: VecDeque<(SocketAddr, String)>,
}

impl<C> Default for Clients<C> {
    fn default() -> Clients<C> {
        Clients {
            by_id: BTreeMap::new(),
            half_open: BTreeSet::new(),
            deadlines: BTreeSet::new(),
            due_of: HashMap::new(),
            ready: VecDeque::new(),
            next_id: 0,
            recorder: None,
            accesses: VecDeque::new(),
            reports: VecDeque::new(),
        }
    }
}

impl<C: Client> Clients<C> {
    /// A new one, half open.
    pub(crate) fn add(&mut self, client: C) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.half_open.insert(id);
        self.by_id.insert(id, client);
        id
    }

    pub(crate) fn remove(&mut self, id: u64) -> Option<C> {
        self.half_open.remove(&id);
        if let Some(due) = self.due_of.remove(&id) {
            self.deadlines.remove(&(due, id));
        }
        self.by_id.remove(&id)
    }

    /// The half-open one that has to go before another may come.
    pub(crate) fn surplus(&self, limits: &Limits) -> Option<u64> {
        self.half_open.first().copied().filter(|_| self.half_open.len() >= limits.half_open)
    }

    /// One between requests, whose place another may have.
    pub(crate) fn idle(&self) -> Option<u64> {
        self.by_id.iter().find(|(_, client)| client.is_idle()).map(|(id, _)| *id)
    }

    pub(crate) fn handle_timeout(&mut self, now: Time, limits: &Limits, store: &Store) {
        if self.recorder.as_ref().is_some_and(|recorder| recorder.due <= now) {
            self.sample(now);
        }
        while let Some((due, id)) = self.deadlines.first().copied().filter(|(due, _)| *due <= now) {
            self.deadlines.remove(&(due, id));
            self.due_of.remove(&id);
            if let Some(client) = self.by_id.get_mut(&id) {
                client.handle_timeout(now, limits);
                client.serve(now, store);
                self.ready.push_back(id);
            }
        }
    }

    pub(crate) fn poll_timeout(&self) -> Time {
        let sample = self.recorder.as_ref().map_or(Time::MAX, |recorder| recorder.due);
        self.deadlines.first().map_or(Time::MAX, |(due, _)| *due).min(sample)
    }

    /// Call this one at `due`, no longer when it was to be called before.
    pub(crate) fn call_at(&mut self, id: u64, due: Time) {
        if let Some(before) = self.due_of.insert(id, due) {
            self.deadlines.remove(&(before, id));
        }
        self.deadlines.insert((due, id));
    }

    /// Do something with all of them that gives them something to send.
    pub(crate) fn for_all(&mut self, mut change: impl FnMut(&mut C)) {
        self.by_id.values_mut().for_each(&mut change);
        self.ready.extend(self.by_id.keys());
    }

    /// A look at one for the record.
    pub(crate) fn note(&mut self, now: Time, id: u64) {
        if let (Some(recorder), Some(client)) = (&mut self.recorder, self.by_id.get_mut(&id)) {
            client.note(now, id, recorder);
        }
    }

    fn sample(&mut self, now: Time) {
        let Some(recorder) = &mut self.recorder else { return };
        recorder.begin_sample(now);
        self.by_id.iter_mut().for_each(|(id, client)| client.note(now, *id, recorder));
    }

    /// The record, with a last look at everyone.
    pub fn take_record(&mut self, now: Time) -> Option<Recorder> {
        self.sample(now);
        self.recorder.take()
    }
}
