//! Captures as pcapng, with nanosecond timestamps counted from the start of the run.

use playpath_sim::CapturedPacket;
use playpath_transport::codec::PcapNg;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

/// Writes the packets; the caller gives the file its name when it is complete.
pub fn write(path: &Path, packets: &[CapturedPacket]) -> io::Result<()> {
    let mut capture = PcapNg::new(BufWriter::new(File::create(path)?), &["server"])?;
    for packet in packets {
        capture.write(0, packet.at.as_nanos(), &packet.headers, packet.ip_bytes)?;
    }
    capture.finish()
}
