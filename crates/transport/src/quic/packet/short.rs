//! A datagram with one packet of data, as nearly all are once a connection is open, in the form in which it lies in a packet in flight. So
//! it needs no place of its own, whose memory would not be in the processor's cache when it arrives.

use super::{Ack, Address, Datagram, Frame, Kind};

/// Most ranges of its ACK.
const RANGES: usize = 4;

/// A packet under a short header with at most one frame besides an ACK frame of few ranges.
#[derive(Clone, Copy, Debug)]
pub struct Short {
    number: u64,
    frame: Frame,
    largest: u64,
    below: [(u32, u32); RANGES],
    delay: u32,
    bytes: u32,
    from: Address,
    to: Address,
    path_id: u8,
    frames: u8,
    /// Ranges of the ACK; 0: there is none.
    ranges: u8,
}

impl Short {
    /// The datagram has no more than that.
    #[inline(always)]
    pub fn fits(datagram: &Datagram) -> bool {
        let packet = &datagram.packet;
        let is_plain = packet.kind == Kind::OneRtt && packet.padding == 0 && packet.parameters.is_none();
        let fits = |ack: &Ack| usize::from(ack.len) <= RANGES && ack.ecn.is_none() && ack.delay <= u64::from(u32::MAX);
        is_plain && packet.frames.len <= 1 && datagram.coalesced.is_empty() && packet.ack().is_none_or(fits)
    }

    /// Of one that [`fits`](Self::fits).
    #[inline(always)]
    pub fn of(datagram: &Datagram) -> Short {
        let packet = &datagram.packet;
        let (mut below, mut ack) = ([(0, 0); RANGES], (0, 0, 0));
        if let Some(sent) = packet.ack() {
            ack = (sent.len, sent.largest, sent.delay as u32);
            below.iter_mut().zip(sent.below()).for_each(|(to, from)| *to = *from);
        }
        Short {
            number: packet.number,
            frame: packet.frames.frames[0],
            largest: ack.1,
            below,
            delay: ack.2,
            bytes: packet.bytes,
            from: datagram.from,
            to: datagram.to,
            path_id: datagram.path_id,
            frames: packet.frames.len,
            ranges: ack.0,
        }
    }

    /// Written to a place whose datagram has no further packets.
    #[inline(always)]
    pub fn unpack(&self, out: &mut Datagram) {
        (out.from, out.to, out.path_id) = (self.from, self.to, self.path_id);
        let packet = &mut out.packet;
        (packet.kind, packet.number, packet.bytes) = (Kind::OneRtt, self.number, self.bytes);
        (packet.frames.len, packet.frames.frames[0]) = (self.frames, self.frame);
        packet.has_ack = self.ranges > 0;
        if packet.has_ack {
            let Ack { len, largest, delay, below, .. } = &mut packet.ack;
            (*len, *largest, *delay) = (self.ranges, self.largest, self.delay.into());
            below.iter_mut().zip(&self.below[..usize::from(self.ranges)]).for_each(|(to, from)| *to = *from);
        }
    }
}
