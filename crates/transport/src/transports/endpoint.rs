//! One end of a connection, whatever the transport. TCP over one path, which crowds consist of, is in its place; it and QUIC are called
//! directly, every other transport behind its verbs.

use super::quic::QuicEnd;
use super::{Drawn, Multipath, Packet, PathInfo, PayloadPool, Streams, Totals, Transport};
use crate::quic::qlog::Qlog;
use crate::{Connection, Events};
use playpath_cc::AppParameters;
use playpath_units::Time;

#[expect(clippy::large_enum_variant, reason = "the common case, TCP, is the large one")]
pub enum Endpoint {
    Tcp(Connection),
    Other(Other),
}

/// Asked for after TCP: so no verb of a crowd of TCP looks twice at what it is.
pub enum Other {
    Quic(Box<QuicEnd>),
    Any(Box<dyn Transport>),
}

impl Endpoint {
    pub fn of(end: impl Transport + 'static) -> Endpoint {
        Endpoint::Other(Other::Any(Box::new(end)))
    }
}

/// Every verb by the end that there is.
macro_rules! forward {
    ($(fn $verb:ident(&mut self $(, $name:ident: $kind:ty)*) $(-> $answer:ty)?;)* @ $(fn $getter:ident(&self $(, $arg:ident: $of:ty)*) -> $value:ty;)*) => {
        impl Transport for Endpoint {
            $(#[inline]
            fn $verb(&mut self $(, $name: $kind)*) $(-> $answer)? {
                match self {
                    Endpoint::Tcp(tcp) => Transport::$verb(tcp $(, $name)*),
                    Endpoint::Other(Other::Quic(quic)) => Transport::$verb(&mut **quic $(, $name)*),
                    Endpoint::Other(Other::Any(end)) => end.$verb($($name),*),
                }
            })*
            $(#[inline]
            fn $getter(&self $(, $arg: $of)*) -> $value {
                match self {
                    Endpoint::Tcp(tcp) => Transport::$getter(tcp $(, $arg)*),
                    Endpoint::Other(Other::Quic(quic)) => Transport::$getter(&**quic $(, $arg)*),
                    Endpoint::Other(Other::Any(end)) => end.$getter($($arg),*),
                }
            })*
        }
    };
}

forward! {
    fn handle_packet(&mut self, now: Time, packet: &Packet, payload_pool: &mut PayloadPool);
    fn handle_too_big(&mut self, now: Time, packet: &Packet, mtu: u32, payload_pool: &mut PayloadPool);
    fn handle_timeout(&mut self, now: Time);
    fn poll_transmit(&mut self, now: Time, out: &mut Packet, payload_pool: &mut PayloadPool) -> bool;
    fn log(&mut self, log: Qlog);
    fn take_events(&mut self) -> Events;
    fn write(&mut self, bytes: u64) -> u64;
    fn read(&mut self, now: Time, most: u64) -> u64;
    fn close(&mut self, now: Time);
    fn abort(&mut self, now: Time);
    fn refuse(&mut self, now: Time, packet: &Packet);
    fn migrate(&mut self, now: Time, path: usize) -> bool;
    fn set_app_parameters(&mut self, now: Time, parameters: AppParameters);
    fn streams(&mut self) -> Option<&mut dyn Streams>;
    fn multipath_mut(&mut self) -> Option<&mut dyn Multipath>;
    @
    fn has_nothing(&self) -> bool;
    fn may_have_more(&self) -> bool;
    fn poll_timeout(&self) -> Time;
    fn readable(&self) -> u64;
    fn unsent_bytes(&self) -> u64;
    fn has_packet_waiting(&self) -> bool;
    fn survives_rebinding(&self) -> bool;
    fn failure(&self) -> Option<&'static str>;
    fn has_more_than_a_packet_waiting(&self) -> bool;
    fn may_answer_read(&self) -> bool;
    fn path_count(&self) -> usize;
    fn path_info(&self, path: usize) -> Option<PathInfo>;
    fn path_totals(&self, path: usize) -> Totals;
    fn totals(&self) -> Totals;
    fn multipath(&self) -> Option<&dyn Multipath>;
    fn is_drawn(&self) -> bool;
    fn drawn(&self, packet: &Packet) -> Option<Drawn>;
}
