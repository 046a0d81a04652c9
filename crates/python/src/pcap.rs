//! Captures as pcapng, with nanosecond timestamps counted from the start of the run.

use playpath_sim::CapturedPacket;
use playpath_transport::codec::PcapNg;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

/// Writes the packets. The file appears when it is complete.
pub fn write(path: &Path, packets: &[CapturedPacket]) -> Result<(), String> {
    let partial = path.with_extension("partial");
    let write = || -> io::Result<()> {
        let mut capture = PcapNg::new(BufWriter::new(File::create(&partial)?), &["server"])?;
        for packet in packets {
            capture.write(0, packet.at.as_nanos(), &packet.headers, packet.ip_bytes)?;
        }
        capture.finish()?;
        std::fs::rename(&partial, path)
    };
    write().map_err(|error| format!("cannot write {}: {error}", path.display()))
}
