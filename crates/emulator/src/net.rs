//! The ends of the paths: TUN devices in network namespaces.

use crate::config::{EndSpec, Namespace, RouteSpec};
use crate::error::EmulatorError;
use crate::sys::{self, DeviceSettings};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd};

/// Packets that a device keeps before it drops: enough for 100 ms at 2 Gbit/s.
const TRANSMIT_QUEUE: u32 = 20_000;

pub struct Device {
    pub name: String,
    file: File,
    namespace: File,
    /// Packets that the kernel would not take.
    pub write_errors: u64,
}

/// Make the devices of both ends. Errors: which device, and why.
pub fn open_ends(route: &RouteSpec) -> Result<[Device; 2], EmulatorError> {
    let addresses = route.server.address.zip(route.client.address);
    let server = open_end(&route.server, addresses, route.mtu)?;
    let client = open_end(&route.client, addresses.map(|(server, client)| (client, server)), route.mtu)?;
    Ok([server, client])
}

fn open_end(end: &EndSpec, addresses: Option<(Ipv4Addr, Ipv4Addr)>, mtu: Option<u32>) -> Result<Device, EmulatorError> {
    let namespace = open_namespace(&end.namespace)?;
    let settings = DeviceSettings { transmit_queue: TRANSMIT_QUEUE, mtu, addresses };
    let made = inside(&namespace, || make_device(&end.device, settings));
    let name = end.device.clone();
    match made {
        Ok(file) => Ok(Device { name, file, namespace, write_errors: 0 }),
        Err(source) => Err(EmulatorError::Device { name, source }),
    }
}

fn open_namespace(namespace: &Namespace) -> Result<File, EmulatorError> {
    let (name, opened) = match namespace {
        Namespace::Own => ("own".to_string(), sys::own_namespace()),
        Namespace::Named(name) => (name.clone(), File::open(format!("/run/netns/{name}"))),
        Namespace::OfProcess(pid) => (format!("of process {pid}"), File::open(format!("/proc/{pid}/ns/net"))),
    };
    opened.map_err(|source| EmulatorError::File { what: "namespace", name, source })
}

fn make_device(name: &str, settings: DeviceSettings) -> io::Result<File> {
    let file = sys::open_tun(name)?;
    // Router solicitations would be counted as packets. Without IPv6 there is nothing to switch off.
    let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"), "1");
    settings.apply(name)?;
    Ok(file)
}

/// Run `work` in a network namespace and return to the previous one if that is permitted: a user namespace forbids returning to the
/// machine's own network namespace, and nothing here depends on it.
fn inside<T>(namespace: &File, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let own = sys::own_namespace()?;
    sys::enter_namespace(namespace)?;
    let result = work();
    let _ = sys::enter_namespace(&own);
    result
}

impl Device {
    /// The next packet that the kernel has sent; `None` if there is none now.
    pub fn read(&mut self, buffer: &mut [u8]) -> Result<Option<usize>, EmulatorError> {
        match self.file.read(buffer) {
            Ok(length) => Ok(Some(length)),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(None),
            Err(source) => Err(EmulatorError::Device { name: self.name.clone(), source }),
        }
    }

    /// Hand a packet to the kernel. A device that is down refuses it: that is counted, not fatal.
    pub fn write(&mut self, packet: &[u8]) {
        if self.file.write(packet).is_err() {
            self.write_errors += 1;
        }
    }

    /// Packets that the device dropped because the emulator did not read them in time; `None` if it is not known.
    pub fn transmit_drops(&self) -> Option<u64> {
        let table = inside(&self.namespace, || std::fs::read_to_string("/proc/thread-self/net/dev")).ok()?;
        let line = table.lines().find_map(|line| line.trim_start().strip_prefix(&self.name)?.strip_prefix(':'))?;
        // Eight columns of receiving, then bytes, packets, errs, drop of sending.
        line.split_whitespace().nth(11)?.parse().ok()
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
