//! A session in a log: the transfers that one viewer requested over one connection, in order.

use serde::Deserialize;

/// A transfer from its request to its last byte. Times in seconds since the session's first request.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    pub at_s: f64,
    /// Time from the request to the last byte.
    pub took_s: f64,
    pub bytes: f64,
    /// Time from the request to the first byte, if logged.
    #[serde(default)]
    pub first_byte_s: Option<f64>,
    /// Packets retransmitted in it, if the log counts them.
    #[serde(default)]
    pub again: Option<f64>,
    /// The server's TCP_INFO at the request, if logged.
    #[serde(default)]
    pub socket: Option<Socket>,
}

/// TCP_INFO of the server at the request; fields that are not logged are `None`.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Socket {
    /// Congestion window in packets.
    pub cwnd: Option<f64>,
    /// Slow start threshold in packets; none: no congestion yet, or not logged.
    pub ssthresh: Option<f64>,
    /// Smoothed RTT, seconds.
    pub rtt_s: Option<f64>,
    /// Retransmission timeout, seconds.
    pub rto_s: Option<f64>,
    /// Smallest RTT, seconds.
    pub min_rtt_s: Option<f64>,
    /// Since the last data was sent, seconds.
    pub idle_s: Option<f64>,
}

impl Transfer {
    pub fn end_s(&self) -> f64 {
        self.at_s + self.took_s
    }
}

/// Bytes of a full packet on the wire.
const PACKET: f64 = 1500.0;

/// By how much each transfer's first byte came later than the earliest, seconds; 0 where the log has none. A first byte comes with a whole
/// packet, and over a slower link that takes longer: 12 ms at 1 Mbit/s. So what a packet takes at the rate that the rest of the transfer
/// shows, less what it takes at the fastest, is not late.
pub(crate) fn late_s(transfers: &[Transfer]) -> Vec<f64> {
    let least = |times: &mut dyn Iterator<Item = f64>| times.fold(f64::INFINITY, f64::min);
    let packet_s = |t: &Transfer, first_byte: f64| PACKET * (t.took_s - first_byte).max(0.0) / t.bytes.max(PACKET);
    let earliest = least(&mut transfers.iter().filter_map(|t| t.first_byte_s));
    let fastest = least(&mut transfers.iter().filter_map(|t| t.first_byte_s.map(|first_byte| packet_s(t, first_byte))));
    let late = |t: &Transfer, first_byte| (first_byte - earliest - (packet_s(t, first_byte) - fastest)).max(0.0);
    transfers.iter().map(|t| t.first_byte_s.map_or(0.0, |first_byte| late(t, first_byte))).collect()
}

/// The server is assumed to delay a first byte by at most this; the rest is an outage of the path.
const MAX_SERVER_S: f64 = 0.5;

/// Server time of each transfer beyond the minimum of all, seconds.
pub(crate) fn server_s(transfers: &[Transfer]) -> Vec<f64> {
    late_s(transfers).into_iter().map(|late| late.min(MAX_SERVER_S)).collect()
}

/// Transfers with the server's time subtracted, as if each had been requested that much later.
pub(crate) fn without(server_s: &[f64], transfers: &[Transfer]) -> Vec<Transfer> {
    let asked_later = |(transfer, late): (&Transfer, &f64)| Transfer {
        at_s: transfer.at_s + late,
        took_s: transfer.took_s - late,
        first_byte_s: transfer.first_byte_s.map(|first_byte| first_byte - late),
        ..*transfer
    };
    transfers.iter().zip(server_s).map(asked_later).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_first_byte_was_late_by_is_the_servers_and_goes_from_the_transfer() {
        let one =
            |at_s, took_s, first_byte_s| Transfer { at_s, took_s, bytes: 1e5, first_byte_s, again: None, socket: None };
        let logged = [one(0.0, 0.5, Some(0.1)), one(1.0, 0.8, Some(0.4)), one(3.0, 0.5, None)];
        let late = server_s(&logged);
        assert!((late[1] - 0.3).abs() < 1e-12 && late[0] == 0.0 && late[2] == 0.0);
        let served = without(&late, &logged);
        // An outage of 3 s is the path's.
        assert_eq!(server_s(&[logged[0], one(1.0, 3.9, Some(3.1))]), [0.0, 0.5]);
        assert!((served[1].at_s - 1.3).abs() < 1e-12 && (served[1].took_s - 0.5).abs() < 1e-12);
        assert_eq!(served[1].first_byte_s.map(|s| (s * 1e9).round()), Some(1e8));
        assert!((served[1].end_s() - logged[1].end_s()).abs() < 1e-12);
    }

    #[test]
    fn a_packet_of_a_slow_link_is_not_late() {
        // A round trip of 50 ms and a packet: the link falls from 20 to 1 Mbit/s, and once another flow's 30 ms are in the queue.
        let on = |at_s, bits_per_s: f64, waits_s| {
            let first_byte = 0.05 + 8.0 * PACKET / bits_per_s + waits_s;
            let took_s = first_byte + 8.0 * 250_000.0 / bits_per_s;
            Transfer { at_s, took_s, bytes: 250_000.0, first_byte_s: Some(first_byte), again: None, socket: None }
        };
        let late = late_s(&[on(0.0, 20e6, 0.0), on(4.0, 1e6, 0.0), on(8.0, 1e6, 0.03)]);
        assert!(late[0] == 0.0 && late[1] < 1e-9 && (late[2] - 0.03).abs() < 1e-9, "{late:?}");
    }
}
