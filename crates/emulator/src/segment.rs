//! What counting and capturing read in a packet: IPv4 addresses and ports, TCP's numbers and SACK blocks (RFC 791, 9293, 2018).

/// A packet of TCP or UDP.
#[derive(Clone, Debug)]
pub struct Segment {
    /// Sender's address.
    pub source: [u8; 4],
    /// Receiver's address.
    pub destination: [u8; 4],
    /// Sender's port.
    pub source_port: u16,
    /// Receiver's port.
    pub destination_port: u16,
    /// Protocol number.
    pub protocol: u8,
    /// Bytes behind all headers.
    pub payload_bytes: u32,
    /// Bytes of all headers.
    pub header_bytes: usize,
    /// Of a TCP segment.
    pub tcp: Option<Tcp>,
}

/// The fields of a TCP header.
#[derive(Clone, Debug)]
pub struct Tcp {
    /// First sequence number.
    pub seq: u32,
    /// Acknowledgement number.
    pub ack: u32,
    /// The ACK flag.
    pub is_ack: bool,
    /// SACK blocks.
    pub sack: [Option<(u32, u32)>; 4],
}

const TCP: u8 = 6;
const UDP: u8 = 17;

impl Segment {
    /// Of an unfragmented IPv4 packet of TCP or UDP; `None` of everything else.
    pub fn parse(bytes: &[u8]) -> Option<Segment> {
        let first = *bytes.first()?;
        let ip_bytes = usize::from(first & 0x0f) * 4;
        let is_fragment = u16_at(bytes, 6)? & 0x3fff != 0;
        if first >> 4 != 4 || ip_bytes < 20 || is_fragment {
            return None;
        }
        let protocol = *bytes.get(9)?;
        let transport = bytes.get(ip_bytes..)?;
        let transport_bytes = match protocol {
            TCP => usize::from(transport.get(12)? >> 4) * 4,
            UDP => 8,
            _ => return None,
        };
        let header_bytes = ip_bytes + transport_bytes;
        if header_bytes > bytes.len() || (protocol == TCP && transport_bytes < 20) {
            return None;
        }
        let tcp = (protocol == TCP).then(|| read_tcp(&transport[..transport_bytes])).flatten();
        Some(Segment {
            source: address_at(bytes, 12)?,
            destination: address_at(bytes, 16)?,
            source_port: u16_at(transport, 0)?,
            destination_port: u16_at(transport, 2)?,
            protocol,
            payload_bytes: (bytes.len() - header_bytes) as u32,
            header_bytes,
            tcp,
        })
    }
}

fn read_tcp(header: &[u8]) -> Option<Tcp> {
    Some(Tcp {
        seq: u32_at(header, 4)?,
        ack: u32_at(header, 8)?,
        is_ack: header[13] & 0x10 != 0,
        sack: read_sack(&header[20..]),
    })
}

fn read_sack(mut options: &[u8]) -> [Option<(u32, u32)>; 4] {
    const END: u8 = 0;
    const NOTHING: u8 = 1;
    const SACK: u8 = 5;
    let mut blocks = [None; 4];
    while let Some(kind) = options.first() {
        let length = match *kind {
            END => break,
            NOTHING => 1,
            _ => usize::from(options.get(1).copied().unwrap_or(0)),
        };
        if length == 0 || length > options.len() || (length < 2 && *kind > NOTHING) {
            break;
        }
        if *kind == SACK {
            let found = options[2..length].chunks_exact(8);
            for (block, bytes) in blocks.iter_mut().zip(found) {
                *block = u32_at(bytes, 0).zip(u32_at(bytes, 4));
            }
        }
        options = &options[length..];
    }
    blocks
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn address_at(bytes: &[u8], at: usize) -> Option<[u8; 4]> {
    bytes.get(at..at + 4)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IPv4 of 20 bytes; TCP of 32 with NOP, NOP, SACK 100 to 200; 3 bytes of payload.
    fn packet() -> Vec<u8> {
        let mut bytes = vec![0x45, 0, 0, 55, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        bytes.extend([0, 80, 0x10, 0, 0, 0, 0, 7, 0, 0, 0, 9, 0x80, 0x10, 0, 0, 0, 0, 0, 0]);
        bytes.extend([1, 1, 5, 10, 0, 0, 0, 100, 0, 0, 0, 200, 1, 2, 3]);
        bytes
    }

    #[test]
    fn the_fields_are_read() {
        let segment = Segment::parse(&packet()).unwrap();
        assert_eq!((segment.source, segment.source_port), ([10, 0, 0, 1], 80));
        assert_eq!((segment.destination, segment.destination_port), ([10, 0, 0, 2], 4096));
        assert_eq!((segment.payload_bytes, segment.header_bytes), (3, 52));
        let tcp = segment.tcp.unwrap();
        assert_eq!((tcp.seq, tcp.ack, tcp.is_ack), (7, 9, true));
        assert_eq!(tcp.sack, [Some((100, 200)), None, None, None]);
    }

    #[test]
    fn what_is_cut_short_or_strange_is_nothing_or_a_segment_and_never_a_panic() {
        let whole = packet();
        for length in 0..whole.len() {
            assert!(Segment::parse(&whole[..length]).is_none_or(|s| s.header_bytes <= length));
        }
        for place in 0..whole.len() {
            for value in [0, 1, 2, 5, 0x4f, 0xff] {
                let mut bytes = whole.clone();
                bytes[place] = value;
                let _ = Segment::parse(&bytes);
            }
        }
        let mut fragment = whole.clone();
        fragment[7] = 1;
        assert!(Segment::parse(&fragment).is_none());
    }
}
