//! The packets that pass the server's ends of the paths, as pcapng: one interface for each path, headers without payload,
//! nanoseconds of the wall clock.

use playpath_transport::codec::{Packet, PcapNg};
use playpath_units::Time;
use std::fs::File;
use std::io::{self, BufWriter};
use std::time::{SystemTime, UNIX_EPOCH};

/// Bytes kept of a packet that is neither TCP nor UDP: more than any header takes.
const SNAP: usize = 96;

pub struct Capture {
    writer: PcapNg<BufWriter<File>>,
    /// The wall clock at the start of the run.
    epoch_nanos: u64,
    error: Option<io::Error>,
}

impl Capture {
    /// Begin the file, with an interface for each of `paths`. Errors: it cannot be written.
    pub fn create(path: &str, paths: &[&str]) -> io::Result<Capture> {
        let file = BufWriter::with_capacity(1 << 20, File::create(path)?);
        let mut capture = Capture { writer: PcapNg::new(file, paths)?, epoch_nanos: 0, error: None };
        capture.start();
        Ok(capture)
    }

    pub fn start(&mut self) {
        self.epoch_nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    }

    /// A packet passed the server's end of a path.
    pub fn note(&mut self, path: u16, bytes: &[u8], packet: Option<&Packet<'_>>, now: Time) {
        let kept = packet.map_or(bytes.len().min(SNAP), |packet| packet.header_bytes);
        let nanos = self.epoch_nanos + now.as_nanos();
        let written = self.writer.write(path.into(), nanos, &bytes[..kept], bytes.len() as u32);
        if let Err(error) = written {
            self.error.get_or_insert(error);
        }
    }

    /// The end of the run. Errors: the first one that writing met.
    pub fn finish(self) -> io::Result<()> {
        let finished = self.writer.finish();
        self.error.map_or(finished, Err)
    }
}
