//! The machine as the loop sees it: a clock, sleep, the ends of the paths, and orders to begin and to end. Tests of the loop use a
//! simulated machine whose clock they control (`engine/tests.rs`).

use crate::error::EmulatorError;
use crate::net::Device;
use crate::orders::{Order, Orders};
use rustix::event::{PollFd, PollFlags, poll};
use std::fs::File;
use std::io;
use std::os::unix::net::UnixStream;

/// A machine with the devices of all paths: server's and client's end of each, alternately.
pub trait Machine {
    /// Nanoseconds of a clock that never goes back.
    fn now_nanos(&self) -> u64;
    /// Sleep until a packet or an order has arrived, for at most `nanos` ns (`None`: without limit). Returns whether one has.
    fn wait(&mut self, nanos: Option<u64>) -> Result<bool, EmulatorError>;
    /// The next order received up to the last wait.
    fn next_order(&mut self) -> Result<Order, EmulatorError>;
    /// Whether a device had a packet at the last wait.
    fn has_packet(&self, device: usize) -> bool;
    /// Read the next packet from a device, if there is one.
    fn read(&mut self, device: usize, buffer: &mut [u8]) -> Result<Option<usize>, EmulatorError>;
    fn write(&mut self, device: usize, packet: &[u8]);
}

pub struct Linux {
    pub devices: Vec<Device>,
    signals: UnixStream,
    stdin: Option<(File, Orders)>,
    /// Whether the devices, the signals and standard input were ready at the last wait.
    is_ready: Vec<bool>,
}

impl Linux {
    /// A machine with these devices. It reports the end when `signals` becomes readable, or when `stdin`, if given, is closed.
    pub fn new(devices: Vec<Device>, signals: UnixStream, stdin: Option<File>) -> Linux {
        let is_ready = vec![false; devices.len() + 2];
        Linux { devices, signals, stdin: stdin.map(|file| (file, Orders::default())), is_ready }
    }
}

impl Machine for Linux {
    fn now_nanos(&self) -> u64 {
        playpath_shell::monotonic_nanos()
    }

    fn wait(&mut self, nanos: Option<u64>) -> Result<bool, EmulatorError> {
        let mut files: Vec<PollFd<'_>> = self.devices.iter().map(|device| PollFd::new(device, PollFlags::IN)).collect();
        files.push(PollFd::new(&self.signals, PollFlags::IN));
        files.extend(self.stdin.iter().map(|(file, _)| PollFd::new(file, PollFlags::IN)));
        let timeout = nanos.map(playpath_shell::timespec);
        match poll(&mut files, timeout.as_ref()) {
            Ok(_) => self.is_ready.iter_mut().zip(&files).for_each(|(ready, file)| *ready = !file.revents().is_empty()),
            Err(rustix::io::Errno::INTR) => self.is_ready.fill(false),
            Err(error) => return Err(EmulatorError::system("waiting for packets")(io::Error::from(error))),
        }
        Ok(self.is_ready.contains(&true))
    }

    fn next_order(&mut self) -> Result<Order, EmulatorError> {
        let signals = self.devices.len();
        match &mut self.stdin {
            _ if self.is_ready[signals] => Ok(Order::End),
            Some((file, orders)) if self.is_ready[signals + 1] => orders.read(file),
            _ => Ok(Order::Nothing),
        }
    }

    fn has_packet(&self, device: usize) -> bool {
        self.is_ready[device]
    }

    fn read(&mut self, device: usize, buffer: &mut [u8]) -> Result<Option<usize>, EmulatorError> {
        self.devices[device].read(buffer)
    }

    fn write(&mut self, device: usize, packet: &[u8]) {
        self.devices[device].write(packet);
    }
}
