//! Transport parameters: reading a client's, writing a server's.
//!
//! Reference: RFC 9000 §7.3, §7.4, §18; draft-ietf-quic-multipath-21 §2.1 (`initial_max_path_id`).

use super::{Reader, bounded, put_varint};
use crate::quic::packet::TransportParameters;

pub const TRANSPORT_PARAMETER_ERROR: u64 = 0x08;

/// A client's parameters other than the common ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfClient {
    /// Common ones; `initial_max_stream_data` is what a server's answers may use, `_bidi_local`.
    pub common: TransportParameters,
    /// `max_udp_payload_size`.
    pub max_datagram: u64,
    pub max_uni_streams: u64,
    pub max_uni_data: u64,
    /// `active_connection_id_limit`.
    pub max_ids: u64,
    /// `initial_max_path_id`, of a client that speaks multipath.
    pub max_path_id: Option<u64>,
}

/// Read a client's parameters; `source` is the connection id that it calls itself. `None`: TRANSPORT_PARAMETER_ERROR.
pub fn read_parameters(bytes: &[u8], source: &[u8]) -> Option<OfClient> {
    let mut found = OfClient {
        common: TransportParameters {
            max_idle_timeout_ms: 0,
            initial_max_data: 0,
            initial_max_stream_data: 0,
            initial_max_streams: 0,
            ack_delay_exponent: 3,
            max_ack_delay_ms: 25,
            accepts_early_data: false,
        },
        max_datagram: 65_527,
        max_uni_streams: 0,
        max_uni_data: 0,
        max_ids: 2,
        max_path_id: None,
    };
    let (mut reader, mut seen, mut is_named) = (Reader::new(bytes), Vec::new(), false);
    while !reader.is_empty() {
        let (id, value) = (reader.varint()?, reader.prefixed()?);
        if seen.contains(&id) {
            return None; // §7.4
        }
        seen.push(id);
        let number = || {
            let mut reader = Reader::new(value);
            reader.varint().filter(|_| reader.is_empty())
        };
        match id {
            0x00 | 0x02 | 0x0d | 0x10 => return None, // §18.2: of a server
            0x01 => found.common.max_idle_timeout_ms = number()?,
            0x03 => found.max_datagram = number().filter(|&most| most >= 1200)?,
            0x04 => found.common.initial_max_data = number()?,
            0x05 => found.common.initial_max_stream_data = number()?,
            0x07 => found.max_uni_data = number()?,
            0x08 => found.common.initial_max_streams = bounded(number()?)?,
            0x09 => found.max_uni_streams = bounded(number()?)?,
            0x0c if !value.is_empty() => return None, // disable_active_migration
            0x0a => found.common.ack_delay_exponent = number().filter(|&exponent| exponent <= 20)? as u8,
            0x0b => found.common.max_ack_delay_ms = number().filter(|&delay| delay < 1 << 14)?,
            0x0e => found.max_ids = number().filter(|&limit| limit >= 2)?,
            0x0f => is_named = value == source,
            MAX_PATH_ID => found.max_path_id = Some(number().filter(|&most| most < 1 << 32)?),
            _ => {}
        }
    }
    // §7.3; several paths need non-empty ids to distinguish them.
    (is_named && (found.max_path_id.is_none() || !source.is_empty())).then_some(found)
}

/// Parameters that only a server sends (§18.2).
#[derive(Clone, Copy, Debug)]
pub struct OfServer<'a> {
    /// Connection id that the client's first packet went to.
    pub original: &'a [u8],
    /// The one that a Retry named, if there was one.
    pub retry: Option<&'a [u8]>,
    pub own: &'a [u8],
    /// Its stateless reset token (§10.3).
    pub reset_token: [u8; 16],
    /// Unidirectional streams that the client may open.
    pub max_uni_streams: u64,
    /// Most ids of the client kept at a time, per path.
    pub max_ids: u64,
    pub max_path_id: u8,
}

const MAX_PATH_ID: u64 = 0x3e;

pub fn put_parameters(parameters: &TransportParameters, server: &OfServer) -> Vec<u8> {
    let mut out = Vec::new();
    let mut bytes = |id: u64, value: &[u8]| {
        put_varint(&mut out, id);
        put_varint(&mut out, value.len() as u64);
        out.extend(value);
    };
    bytes(0x00, server.original);
    bytes(0x0f, server.own);
    server.retry.into_iter().for_each(|retry| bytes(0x10, retry));
    bytes(0x02, &server.reset_token);
    for (id, value) in [
        (0x01, parameters.max_idle_timeout_ms),
        (0x04, parameters.initial_max_data),
        (0x05, parameters.initial_max_stream_data),
        (0x06, parameters.initial_max_stream_data),
        (0x07, parameters.initial_max_stream_data),
        (0x08, parameters.initial_max_streams),
        (0x09, server.max_uni_streams),
        (0x0a, u64::from(parameters.ack_delay_exponent)),
        (0x0b, parameters.max_ack_delay_ms),
        (0x0e, server.max_ids),
        (MAX_PATH_ID, server.max_path_id.into()),
    ] {
        let mut number = Vec::new();
        put_varint(&mut number, value);
        bytes(id, &number);
    }
    out
}
