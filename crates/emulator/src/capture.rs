//! The packets that pass the server's ends of the paths, as pcapng: one interface for each path, headers without payload,
//! nanoseconds of the wall clock.

use crate::segment::Segment;
use pcap_file::DataLink;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use playpath_units::Time;
use std::borrow::Cow;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Of a packet that is neither TCP nor UDP: more than any of its headers.
const SNAP: usize = 96;

/// A capture file being written.
pub struct Capture {
    writer: PcapNgWriter<BufWriter<File>>,
    /// The wall clock at the start of the run.
    epoch: Duration,
    error: Option<String>,
}

impl Capture {
    /// Begin the file, with an interface for each of `paths`. Errors: it cannot be written.
    pub fn create(path: &str, paths: &[&str]) -> Result<Capture, String> {
        let file = File::create(path).map_err(|error| error.to_string())?;
        let mut writer = PcapNgWriter::new(BufWriter::with_capacity(1 << 20, file)).map_err(|e| e.to_string())?;
        for name in paths {
            let interface = InterfaceDescriptionBlock {
                linktype: DataLink::RAW,
                snaplen: 0,
                options: vec![
                    InterfaceDescriptionOption::IfName(Cow::Borrowed(name)),
                    InterfaceDescriptionOption::IfTsResol(9), // 10^-9 s
                ],
            };
            writer.write_pcapng_block(interface).map_err(|error| error.to_string())?;
        }
        Ok(Capture { writer, epoch: Duration::ZERO, error: None })
    }

    /// The run starts now.
    pub fn start(&mut self) {
        self.epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    }

    /// A packet passed the server's end of a path.
    pub fn note(&mut self, path: u16, bytes: &[u8], now: Time) {
        let headers = Segment::parse(bytes).map_or(bytes.len().min(SNAP), |segment| segment.header_bytes);
        let block = EnhancedPacketBlock {
            interface_id: u32::from(path),
            timestamp: self.epoch + Duration::from_nanos(now.as_nanos()),
            original_len: bytes.len() as u32,
            data: Cow::Borrowed(&bytes[..headers]),
            options: Vec::new(),
        };
        if let Err(error) = self.writer.write_pcapng_block(block) {
            self.error.get_or_insert_with(|| error.to_string());
        }
    }

    /// The end of the run. Errors: the first one that writing met.
    pub fn finish(self) -> Result<(), String> {
        let mut file = self.writer.into_inner();
        self.error.map_or(Ok(()), Err).and_then(|()| file.flush().map_err(|error| error.to_string()))
    }
}
