//! Queues and active queue management. One file per discipline, with its configuration. A new discipline implements [`QueueDiscipline`] and
//! is added to the list at the end.

mod fifo;
mod limit;

use crate::Packet;
use crate::config::LinkFacts;
#[cfg(test)]
use crate::ecn::EcnField;
use crate::error::LinkError;
use crate::registry::{About, Entry};
use crate::settings::Config;
use crate::stats::ClassStats;
use crate::store::{Queued, Store};
pub(crate) use fifo::Fifo;
pub(crate) use limit::Limit;
use playpath_units::random::Stream;
use playpath_units::{Params, Time};

/// A queueing discipline. Times are logical: `now` of a dequeue is the moment the server became free, however
/// late the link was called, or its aggregate began, even if a packet came since. A packet handed in is either kept or dropped through
/// the store, which counts it.
pub(crate) trait QueueDiscipline: Sized {
    type Config: Config;
    const ABOUT: About;
    /// A queue in front of `link`. Values are checked against their declaration before; errors: what does not fit the link.
    fn new(config: &Self::Config, link: LinkFacts, stream: Stream) -> Result<Self, LinkError>;
    /// A packet arrives while the server is busy.
    fn enqueue<P: Packet>(&mut self, now: Time, packet: Queued, store: &mut Store<P>);
    /// The server is free: the next packet, or `None` if the queue is (or becomes) empty.
    fn dequeue<P: Packet>(&mut self, now: Time, store: &mut Store<P>) -> Option<Queued>;
    /// A packet arrives at an idle server and an empty queue.
    fn pass<P: Packet>(&mut self, now: Time, packet: Queued, store: &mut Store<P>) -> Option<Queued> {
        self.enqueue(now, packet, store);
        self.dequeue(now, store)
    }
    fn packets(&self) -> u32;
    fn bytes(&self) -> u64;
    /// Its classes, if it keeps several.
    fn classes(&self) -> Classes {
        Classes::default()
    }
}

/// Name and counters of each class; at most two.
pub(crate) type Classes = [Option<(&'static str, ClassStats)>; 2];

/// A packet of so many bytes, for tests of the disciplines.
#[cfg(test)]
pub(crate) struct Plain(pub u32);

#[cfg(test)]
impl Packet for Plain {
    fn wire_bytes(&self) -> u32 {
        self.0
    }
    fn flow_hash(&self) -> u64 {
        0
    }
    fn ecn(&self) -> EcnField {
        EcnField::NotEct
    }
    fn set_ecn(&mut self, _field: EcnField) {}
}

const fn entry<Q: QueueDiscipline>(build: fn(&Params) -> Result<QueueConfig, String>) -> Entry<QueueConfig> {
    Entry { about: Q::ABOUT, params: Q::Config::PARAMS, build }
}

fn built<Q: QueueDiscipline>(config: &Q::Config, link: LinkFacts, stream: Stream) -> Result<Q, LinkError> {
    config.check(Q::ABOUT.name)?;
    Q::new(config, link, stream)
}

#[inline(always)]
fn enqueue<P: Packet>(queue: &mut impl QueueDiscipline, now: Time, packet: Queued, store: &mut Store<P>) -> u32 {
    queue.enqueue(now, packet, store);
    queue.packets()
}

#[inline(always)]
fn dequeue<P: Packet>(queue: &mut impl QueueDiscipline, now: Time, store: &mut Store<P>) -> (Option<Queued>, u32) {
    let packet = queue.dequeue(now, store);
    (packet, queue.packets())
}

/// Generates the modules, configuration, registry and dispatch from the list of disciplines. Dispatch is static, and without a jump for the
/// first, drop-tail, which most links have.
macro_rules! queues {
    ($plain:ident($plain_config:ident) in $plain_file:ident, $($managed:ident($config:ident) in $file:ident,)+) => {
        mod $plain_file;
        $(mod $file;)+
        pub use $plain_file::*;
        $(pub use $file::*;)+

        #[derive(Clone, Debug, PartialEq)]
        #[allow(missing_docs, reason = "each is named after its model")]
        pub enum QueueConfig {
            $plain($plain_config),
            $($managed($config),)+
        }

        impl QueueConfig {
            pub fn kind(&self) -> &'static str {
                match self {
                    QueueConfig::$plain(_) => $plain::ABOUT.name,
                    $(QueueConfig::$managed(_) => $managed::ABOUT.name,)+
                }
            }
            pub fn params(&self) -> Params {
                match self {
                    QueueConfig::$plain(config) => config.params(),
                    $(QueueConfig::$managed(config) => config.params(),)+
                }
            }
        }

        pub(crate) static ENTRIES: &[Entry<QueueConfig>] = &[
            entry::<$plain>(|params| $plain_config::of(params).map(QueueConfig::$plain)),
            $(entry::<$managed>(|params| $config::of(params).map(QueueConfig::$managed)),)+
        ];

        pub(crate) enum Queue {
            $plain($plain),
            Managed(Box<Managed>),
        }

        /// Active queue management at work.
        pub(crate) enum Managed {
            $($managed($managed),)+
        }

        impl Queue {
            /// Errors: the first setting that is not allowed.
            pub(crate) fn new(config: &QueueConfig, link: LinkFacts, stream: Stream) -> Result<Queue, LinkError> {
                Ok(match config {
                    QueueConfig::$plain(config) => Queue::$plain(built(config, link, stream)?),
                    $(QueueConfig::$managed(config) => {
                        Queue::Managed(Box::new(Managed::$managed(built(config, link, stream)?)))
                    })+
                })
            }
            /// Returns how many packets wait then.
            #[inline(always)]
            pub(crate) fn enqueue<P: Packet>(&mut self, now: Time, packet: Queued, store: &mut Store<P>) -> u32 {
                match self {
                    Queue::$plain(queue) => enqueue(queue, now, packet, store),
                    Queue::Managed(managed) => match managed.as_mut() {
                        $(Managed::$managed(queue) => enqueue(queue, now, packet, store),)+
                    },
                }
            }
            /// Also returns the number of packets that then wait.
            #[inline(always)]
            pub(crate) fn dequeue<P: Packet>(&mut self, now: Time, store: &mut Store<P>) -> (Option<Queued>, u32) {
                match self {
                    Queue::$plain(queue) => dequeue(queue, now, store),
                    Queue::Managed(managed) => match managed.as_mut() {
                        $(Managed::$managed(queue) => dequeue(queue, now, store),)+
                    },
                }
            }
            #[inline]
            pub(crate) fn pass<P: Packet>(&mut self, now: Time, packet: Queued, store: &mut Store<P>) -> Option<Queued> {
                match self {
                    Queue::$plain(queue) => queue.pass(now, packet, store),
                    Queue::Managed(managed) => match managed.as_mut() {
                        $(Managed::$managed(queue) => queue.pass(now, packet, store),)+
                    },
                }
            }
            #[inline]
            pub(crate) fn packets(&self) -> u32 {
                match self {
                    Queue::$plain(queue) => queue.packets(),
                    Queue::Managed(managed) => match managed.as_ref() {
                        $(Managed::$managed(queue) => queue.packets(),)+
                    },
                }
            }
            pub(crate) fn classes(&self) -> Classes {
                match self {
                    Queue::$plain(queue) => queue.classes(),
                    Queue::Managed(managed) => match managed.as_ref() {
                        $(Managed::$managed(queue) => queue.classes(),)+
                    },
                }
            }
            #[inline]
            pub(crate) fn bytes(&self) -> u64 {
                match self {
                    Queue::$plain(queue) => queue.bytes(),
                    Queue::Managed(managed) => match managed.as_ref() {
                        $(Managed::$managed(queue) => queue.bytes(),)+
                    },
                }
            }
        }
    };
}

queues! {
    DropTail(DropTailConfig) in drop_tail,
    Red(RedConfig) in red,
    CoDel(CoDelConfig) in codel,
    FqCoDel(FqCoDelConfig) in fq_codel,
    Pie(PieConfig) in pie,
    DualPi2(DualPi2Config) in dualpi2,
}

impl Default for QueueConfig {
    /// Drop-tail with one bandwidth-delay product.
    fn default() -> QueueConfig {
        QueueConfig::DropTail(DropTailConfig::default())
    }
}
