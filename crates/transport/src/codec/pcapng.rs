//! Captures as pcapng (draft-ietf-opsawg-pcapng): raw IP packets, nanoseconds, an interface for each path. Writes to the given
//! writer and opens no files.

use std::io::{self, Write};

/// A capture being written.
pub struct PcapNg<W: Write>(W);

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const LINKTYPE_RAW: u16 = 101;
const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;
const NANOSECONDS: u8 = 9;

impl<W: Write> PcapNg<W> {
    pub fn new(out: W, interfaces: &[&str]) -> io::Result<PcapNg<W>> {
        let mut capture = PcapNg(out);
        // Byte order, version 1.0, a section of unknown length.
        capture.block(SECTION, &[&0x1a2b_3c4d_u32.to_le_bytes(), &[1, 0, 0, 0], &[0xff; 8]])?;
        for name in interfaces {
            let head = [LINKTYPE_RAW, 0, 0, 0].map(u16::to_le_bytes).concat();
            let options = [option(IF_NAME, name.as_bytes()), option(IF_TSRESOL, &[NANOSECONDS]), option(0, &[])];
            capture.block(INTERFACE, &[&head, &options.concat()])?;
        }
        Ok(capture)
    }

    /// Write a packet of `wire_bytes` bytes, of which `kept` was captured, that passed an interface at `nanos` ns.
    pub fn write(&mut self, interface: u32, nanos: u64, kept: &[u8], wire_bytes: u32) -> io::Result<()> {
        let head = [interface, (nanos >> 32) as u32, nanos as u32, kept.len() as u32, wire_bytes].map(u32::to_le_bytes);
        self.block(ENHANCED_PACKET, &[head.as_flattened(), kept])
    }

    /// All written, as far as the target says.
    pub fn finish(mut self) -> io::Result<()> {
        self.0.flush()
    }

    /// A block: type, length, body, length again, all in units of four bytes.
    fn block(&mut self, kind: u32, parts: &[&[u8]]) -> io::Result<()> {
        let body: usize = parts.iter().map(|part| part.len()).sum();
        let padding = body.next_multiple_of(4) - body;
        let length = ((12 + body + padding) as u32).to_le_bytes();
        self.0.write_all(&kind.to_le_bytes())?;
        self.0.write_all(&length)?;
        parts.iter().try_for_each(|part| self.0.write_all(part))?;
        self.0.write_all(&[0; 4][..padding])?;
        self.0.write_all(&length)
    }
}

fn option(code: u16, value: &[u8]) -> Vec<u8> {
    let mut option = [code, value.len() as u16].map(u16::to_le_bytes).concat();
    option.extend(value);
    option.resize(option.len().next_multiple_of(4), 0);
    option
}
