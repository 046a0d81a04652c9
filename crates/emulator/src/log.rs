//! The packet log: one line per packet that has left or was dropped.

use playpath_link::DropCause;
use playpath_units::Time;
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::rc::Rc;

/// Shared list of the packets that the links have dropped.
#[derive(Clone, Default)]
pub struct DropLog(Rc<RefCell<Vec<(u64, DropCause)>>>);

impl DropLog {
    pub fn note(&self, id: u64, cause: DropCause) {
        self.0.borrow_mut().push((id, cause));
    }
}

/// The fields of a packet's log line that are known when it arrives.
#[derive(Clone, Copy)]
struct Arrived {
    route: u16,
    wire_bytes: u32,
    arrival: Time,
}

pub struct PacketLog {
    file: BufWriter<File>,
    route_names: Vec<String>,
    drops: DropLog,
    /// Packets inside, by id; the first one has id `first_id`.
    inside: std::collections::VecDeque<Option<Arrived>>,
    first_id: u64,
    error: Option<io::Error>,
}

impl PacketLog {
    /// Begin the file. Errors: it cannot be written.
    pub fn create(path: &str, route_names: Vec<String>) -> io::Result<PacketLog> {
        let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
        writeln!(file, "id,path,direction,bytes,in_ns,verdict,due_ns,out_ns")?;
        Ok(PacketLog {
            file,
            route_names,
            drops: DropLog::default(),
            inside: Default::default(),
            first_id: 0,
            error: None,
        })
    }

    pub fn drop_log(&self) -> DropLog {
        self.drops.clone()
    }

    /// A packet has arrived. Ids count up from 0.
    pub fn note_arrival(&mut self, id: u64, route: u16, wire_bytes: u32, arrival: Time) {
        debug_assert_eq!(id, self.first_id + self.inside.len() as u64);
        self.inside.push_back(Some(Arrived { route, wire_bytes, arrival }));
    }

    /// A packet has left: when it was due, when it was handed over.
    pub fn note_delivery(&mut self, id: u64, due: Time, out: Time) {
        self.write(id, "delivered", Some((due, out)));
    }

    /// Write down the drops since the last call.
    pub fn write_drops(&mut self) {
        let drops = std::mem::take(&mut *self.drops.0.borrow_mut());
        for (id, cause) in drops {
            self.write(id, cause.name(), None);
        }
    }

    /// The end of the run. Errors: the first one that writing met.
    pub fn finish(mut self) -> io::Result<()> {
        match self.error.take() {
            Some(error) => Err(error),
            None => self.file.flush(),
        }
    }

    fn write(&mut self, id: u64, verdict: &str, times: Option<(Time, Time)>) {
        let index = (id - self.first_id) as usize;
        let Some(Arrived { route, wire_bytes, arrival }) = self.inside[index].take() else { return };
        while let Some(None) = self.inside.front() {
            self.inside.pop_front();
            self.first_id += 1;
        }
        let name = &self.route_names[usize::from(route)];
        let arrival = arrival.as_nanos();
        let written = match times {
            Some((due, out)) => {
                let (due, out) = (due.as_nanos(), out.as_nanos());
                writeln!(self.file, "{id},{name},{wire_bytes},{arrival},{verdict},{due},{out}")
            }
            None => writeln!(self.file, "{id},{name},{wire_bytes},{arrival},{verdict},,"),
        };
        if let Err(error) = written {
            self.error.get_or_insert(error);
        }
    }
}
