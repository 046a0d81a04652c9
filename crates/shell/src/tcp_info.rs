//! What Linux's TCP tells of a connection (`struct tcp_info`, linux/tcp.h).
//! Tested here, and by the relay and the loader against live connections.

/// `tcpi_ca_state` in fast recovery.
pub const CA_RECOVERY: u8 = 3;
/// `tcpi_ca_state` after a timeout.
pub const CA_LOSS: u8 = 4;

/// Where the last member that is read ends.
const KNOWN: usize = 242;

/// The members that programs read, in the kernel's names and units (packets, µs, bytes per second). What an older kernel does
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
    /// From what the kernel has written, by TCP_INFO or INET_DIAG_INFO.
    pub fn read(bytes: &[u8]) -> TcpInfo {
        let mut known = [0; KNOWN];
        let length = bytes.len().min(KNOWN);
        known[..length].copy_from_slice(&bytes[..length]);
        let u32_at = |at: usize| u32::from_ne_bytes(known[at..at + 4].try_into().expect("four bytes"));
        let u64_at = |at: usize| u64::from_ne_bytes(known[at..at + 8].try_into().expect("eight bytes"));
        TcpInfo {
            ca_state: known[1],
            retransmits: known[2],
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
            total_rto: u16::from_ne_bytes([known[240], known[241]]),
        }
    }

    /// Packets in the network, as the kernel counts them (`tcp_packets_in_flight`).
    pub fn in_flight(&self) -> u32 {
        (self.unacked + self.retrans).saturating_sub(self.sacked + self.lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_flight_is_the_kernels() {
        let info = TcpInfo { unacked: 10, sacked: 3, lost: 2, retrans: 1, ..TcpInfo::default() };
        assert_eq!(info.in_flight(), 6);
    }

    #[test]
    fn what_an_older_kernel_does_not_tell_is_zero() {
        let mut bytes = [0xff; 104];
        bytes[68..72].copy_from_slice(&50_000u32.to_ne_bytes());
        let info = TcpInfo::read(&bytes);
        assert_eq!((info.rtt, info.total_retrans, info.pacing_rate), (50_000, u32::MAX, 0));
        assert_eq!(TcpInfo::read(&[]), TcpInfo::default());
    }
}
