//! The interface to a connection that HTTP needs.

use playpath_transport::transports::Streams;
use playpath_units::Time;

/// Both ends of a connection; implemented by who carries the bytes. HTTP/1.1 and HTTP/2 take its one ordered stream, HTTP/3 its streams.
pub trait Carrier {
    fn now(&self) -> Time;
    /// The client writes; its requests are short and always taken.
    fn write_at_client(&mut self, bytes: u64);
    /// The client reads at most so much.
    fn read_at_client(&mut self, most: u64) -> u64;
    fn read_at_server(&mut self) -> u64;
    fn write_at_server(&mut self, bytes: u64) -> u64;
    /// Bytes that the server may write now by its low-water mark.
    fn room(&self) -> u64;
    /// Most unsent bytes that the server leaves with the transport.
    fn lowat(&self) -> Option<u64>;
    /// Whether the server wants one notice when there is room again below the mark.
    fn notify_of_room(&mut self, is_waiting: bool);
    /// Something is done with the client's streams; `None`: there are none.
    fn at_client<T>(&mut self, act: impl FnOnce(&mut dyn Streams, Time) -> T) -> Option<T>;
    /// Something is done with the server's streams.
    fn at_server<T>(&mut self, act: impl FnOnce(&mut dyn Streams, Time) -> T) -> Option<T>;
    /// The client has read so much from its streams.
    fn count_read(&mut self, bytes: u64);
}
