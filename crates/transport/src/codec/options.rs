//! TCP options (RFC 9293 §3.1, RFC 7323, RFC 2018, RFC 9768, RFC 8684), laid out as Linux does.

use super::{DecodeError, mptcp};
use crate::mptcp::option::MptcpOption;
use crate::segment::{AccEcn, Flags, SackBlocks, Segment, SynOptions, Timestamps};

/// Bytes of options that a TCP header has room for.
pub(super) const MAX: usize = 40;

const END: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
pub(super) const MPTCP: u8 = 30;
const ACCECN0: u8 = AccEcn::KINDS[0];
const ACCECN1: u8 = AccEcn::KINDS[1];

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TcpOption {
    /// Maximum segment size.
    Mss(u16),
    /// Shift of the window field, at most 14 (RFC 7323 §2.3).
    WindowScale(u8),
    SackPermitted,
    Sack(SackBlocks),
    Timestamps(Timestamps),
    /// Bytes under each ECN codepoint.
    AccEcn(AccEcn),
    /// MPTCP; `None` where subtype or length are unknown.
    Mptcp(MptcpOption),
    /// Any other one: to be ignored (RFC 9293 §3.1).
    Unknown {
        kind: u8,
    },
}

/// The options of a header, in their order. Iteration ends after an error.
#[derive(Clone, Debug)]
pub struct TcpOptions<'a> {
    rest: &'a [u8],
    /// Addresses of a REMOVE_ADDR that have not been handed out.
    removed: &'a [u8],
}

impl<'a> TcpOptions<'a> {
    #[inline]
    pub(super) fn new(bytes: &'a [u8]) -> TcpOptions<'a> {
        TcpOptions { rest: bytes, removed: &[] }
    }
}

impl Iterator for TcpOptions<'_> {
    type Item = Result<TcpOption, DecodeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if let [address_id, removed @ ..] = self.removed {
            self.removed = removed;
            return Some(Ok(TcpOption::Mptcp(MptcpOption::RemoveAddress { address_id: *address_id })));
        }
        while let [NOP, rest @ ..] = self.rest {
            self.rest = rest;
        }
        let kind = *self.rest.first().filter(|kind| **kind != END)?;
        let option = std::mem::take(&mut self.rest);
        let len = option.get(1).map_or(0, |len| usize::from(*len));
        if len < 2 || len > option.len() {
            return Some(Err(DecodeError::BadHeader));
        }
        self.rest = &option[len..];
        let body = &option[2..len];
        if kind == MPTCP {
            self.removed = mptcp::further_removed(body);
        }
        Some(decode(kind, body))
    }
}

#[inline]
fn decode(kind: u8, body: &[u8]) -> Result<TcpOption, DecodeError> {
    Ok(match (kind, body.len()) {
        (TIMESTAMPS, 8) => TcpOption::Timestamps(Timestamps { value: u32_at(body, 0), echo: u32_at(body, 4) }),
        (SACK, 8 | 16 | 24 | 32) => {
            let mut blocks = SackBlocks::EMPTY;
            for block in body.chunks_exact(8) {
                blocks.push(u32_at(block, 0), u32_at(block, 4));
            }
            TcpOption::Sack(blocks)
        }
        (MSS, 2) => TcpOption::Mss(u16_at(body, 0)),
        (WINDOW_SCALE, 1) => TcpOption::WindowScale(body[0].min(14)),
        (SACK_PERMITTED, 0) => TcpOption::SackPermitted,
        (ACCECN0 | ACCECN1, _) => TcpOption::AccEcn(AccEcn::decoded(kind == ACCECN1, body)),
        (MPTCP, 1..) => TcpOption::Mptcp(mptcp::decode(body)),
        (MSS | WINDOW_SCALE | SACK_PERMITTED | SACK | TIMESTAMPS | MPTCP, _) => return Err(DecodeError::BadHeader),
        _ => TcpOption::Unknown { kind },
    })
}

/// Append the options of a segment and `more` of MPTCP's, padded to four bytes.
pub(super) fn encode(segment: &Segment, more: &[MptcpOption], out: &mut Vec<u8>) {
    let SynOptions { mss, window_scale, sack_permitted } = segment.syn_options;
    let is_syn = segment.flags.contains(Flags::SYN);
    if is_syn && mss != 0 {
        out.extend_from_slice(&[MSS, 4]);
        out.extend_from_slice(&mss.to_be_bytes());
    }
    let permitted = is_syn && sack_permitted;
    if let Some(timestamps) = segment.timestamps {
        out.extend_from_slice(if permitted { &[SACK_PERMITTED, 2] } else { &[NOP, NOP] });
        out.extend_from_slice(&[TIMESTAMPS, 10]);
        out.extend_from_slice(&timestamps.value.to_be_bytes());
        out.extend_from_slice(&timestamps.echo.to_be_bytes());
    } else if permitted {
        out.extend_from_slice(&[NOP, NOP, SACK_PERMITTED, 2]);
    }
    if let (true, Some(shift)) = (is_syn, window_scale) {
        out.extend_from_slice(&[NOP, WINDOW_SCALE, 3, shift]);
    }
    if !segment.sack.is_empty() {
        out.extend_from_slice(&[NOP, NOP, SACK, 2 + 8 * segment.sack.len() as u8]);
        for (left, right) in segment.sack.as_slice() {
            out.extend_from_slice(&left.to_be_bytes());
            out.extend_from_slice(&right.to_be_bytes());
        }
    }
    if let Some(accecn) = &segment.accecn {
        out.extend_from_slice(&[accecn.encoded().0, accecn.encoded_bytes() as u8]);
        out.extend_from_slice(accecn.encoded().1.as_flattened());
    }
    mptcp::encode(std::iter::once(&segment.mptcp).chain(more), out);
    out.resize(out.len().next_multiple_of(4), NOP);
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(array_at(bytes, at))
}
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(array_at(bytes, at))
}
pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(array_at(bytes, at))
}
pub(super) fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[at..at + N]);
    array
}
