//! What the relay knows of a kernel TCP connection (`struct tcp_info`, linux/tcp.h), and what errors of its calls mean.

use rustix::io::Errno;
use socket2::Socket;
use std::io;
use std::os::fd::AsRawFd;

/// `tcpi_ca_state` in fast recovery.
pub const CA_RECOVERY: u8 = 3;
/// `tcpi_ca_state` after a timeout.
pub const CA_LOSS: u8 = 4;

/// The members that the relay reads, in the kernel's names and units (packets, µs, bytes per second). What an older kernel does
/// not tell is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the kernel's names")]
pub struct TcpInfo {
    pub ca_state: u8,
    /// Timeouts since the last progress.
    pub retransmits: u8,
    pub snd_mss: u32,
    pub unacked: u32,
    pub sacked: u32,
    pub lost: u32,
    pub retrans: u32,
    pub rtt: u32,
    pub rttvar: u32,
    pub snd_ssthresh: u32,
    pub snd_cwnd: u32,
    pub total_retrans: u32,
    pub pacing_rate: u64,
    pub notsent_bytes: u32,
    pub min_rtt: u32,
    pub data_segs_out: u32,
    pub delivery_rate: u64,
    pub bytes_sent: u64,
    pub total_rto: u16,
}

impl TcpInfo {
    /// Packets in the network, as the kernel counts them (`tcp_packets_in_flight`).
    pub fn in_flight(&self) -> u32 {
        (self.unacked + self.retrans).saturating_sub(self.sacked + self.lost)
    }
}

/// Read it.
#[allow(
    unsafe_code,
    reason = "getsockopt(TCP_INFO): neither rustix nor socket2 offers it; the crate's only unsafe call"
)]
pub fn info(socket: &Socket) -> io::Result<TcpInfo> {
    let mut bytes = [0u8; 512];
    let mut length = bytes.len() as libc::socklen_t;
    let (level, name, value) = (libc::IPPROTO_TCP, libc::TCP_INFO, bytes.as_mut_ptr().cast());
    // SAFETY: `bytes` and `length` are valid for writing, and `length` is the size of `bytes`.
    let result = unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, value, &raw mut length) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(parse(&bytes)) }
}

/// A socket that does not block connects: no error.
pub fn is_under_way(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::INPROGRESS)
}

/// What an operator can do whose congestion control was refused.
pub fn congestion_hint(error: &io::Error) -> &'static str {
    match Errno::from_io_error(error) {
        Some(Errno::NOENT) => "; net.ipv4.tcp_available_congestion_control lists what the kernel has",
        Some(Errno::PERM) => "; it needs root, or to be listed in net.ipv4.tcp_allowed_congestion_control",
        _ => "",
    }
}

fn parse(bytes: &[u8; 512]) -> TcpInfo {
    let u32_at = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
    let u64_at = |at: usize| u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    TcpInfo {
        ca_state: bytes[1],
        retransmits: bytes[2],
        snd_mss: u32_at(16),
        unacked: u32_at(24),
        sacked: u32_at(28),
        lost: u32_at(32),
        retrans: u32_at(36),
        rtt: u32_at(68),
        rttvar: u32_at(72),
        snd_ssthresh: u32_at(76),
        snd_cwnd: u32_at(80),
        total_retrans: u32_at(100),
        pacing_rate: u64_at(104),
        notsent_bytes: u32_at(144),
        min_rtt: u32_at(148),
        data_segs_out: u32_at(156),
        delivery_rate: u64_at(160),
        bytes_sent: u64_at(200),
        total_rto: u16::from_ne_bytes([bytes[240], bytes[241]]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    /// 3000 bytes over the loopback device: they are sent, acknowledged, and counted in the right members.
    #[test]
    fn a_live_connection_is_read() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        near.write_all(&[7; 3000]).unwrap();
        far.read_exact(&mut [0; 3000]).unwrap();
        let socket = Socket::from(near);
        socket.set_tcp_notsent_lowat(1448).unwrap();
        let read = info(&socket).unwrap();
        assert_eq!(read.bytes_sent, 3000);
        assert!(read.snd_mss >= 536 && read.snd_cwnd >= 2 && read.rtt > 0, "{read:?}");
        assert_eq!((read.notsent_bytes, read.retransmits), (0, 0));
    }

    #[test]
    fn in_flight_is_the_kernels() {
        let info = TcpInfo { unacked: 10, sacked: 3, lost: 2, retrans: 1, ..TcpInfo::default() };
        assert_eq!(info.in_flight(), 6);
    }
}
