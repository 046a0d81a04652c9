//! Captures as pcapng, with nanosecond timestamps counted from the start of the run.

use pcap_file::DataLink;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use playpath_sim::CapturedPacket;
use std::borrow::Cow;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::time::Duration;

/// Writes the packets. The file appears when it is complete.
pub fn write(path: &Path, packets: &[CapturedPacket]) -> Result<(), String> {
    let failed = |e: &dyn std::fmt::Display| format!("cannot write {}: {e}", path.display());
    let partial = path.with_extension("partial");
    let file = File::create(&partial).map_err(|e| failed(&e))?;
    let mut writer = PcapNgWriter::new(BufWriter::new(file)).map_err(|e| failed(&e))?;
    let interface = InterfaceDescriptionBlock {
        linktype: DataLink::RAW,
        snaplen: 0,
        // 10^-9 s.
        options: vec![InterfaceDescriptionOption::IfTsResol(9)],
    };
    writer.write_pcapng_block(interface).map_err(|e| failed(&e))?;
    for packet in packets {
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp: Duration::from_nanos(packet.at.as_nanos()),
            original_len: packet.ip_bytes,
            data: Cow::Borrowed(&packet.headers),
            options: Vec::new(),
        };
        writer.write_pcapng_block(block).map_err(|e| failed(&e))?;
    }
    drop(writer);
    std::fs::rename(&partial, path).map_err(|e| failed(&e))
}
