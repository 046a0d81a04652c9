//! The ends of the paths: TUN devices in network namespaces.

use crate::config::{EndSpec, Namespace, PathSpec};
use crate::sys;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, RawFd};

/// Packets that a device keeps before it drops: enough for 100 ms at 2 Gbit/s.
const TRANSMIT_QUEUE: u32 = 20_000;

/// One end of a path.
pub struct Device {
    name: String,
    file: File,
    namespace: File,
    /// Packets that the kernel would not take.
    pub write_errors: u64,
}

/// Make both devices of a path. Errors: which device, and why.
pub fn open_path(path: &PathSpec) -> Result<[Device; 2], String> {
    let addresses = path.server.address.zip(path.client.address);
    let server = open_end(&path.server, addresses, path.mtu)?;
    let client = open_end(&path.client, addresses.map(|(server, client)| (client, server)), path.mtu)?;
    Ok([server, client])
}

fn open_end(end: &EndSpec, addresses: Option<(Ipv4Addr, Ipv4Addr)>, mtu: Option<u32>) -> Result<Device, String> {
    let namespace = open_namespace(&end.namespace)?;
    let made = inside(&namespace, || make_device(&end.device, addresses, mtu));
    let file = made.map_err(|error| format!("device {}: {error}{}", end.device, hint(&error)))?;
    Ok(Device { name: end.device.clone(), file, namespace, write_errors: 0 })
}

fn open_namespace(namespace: &Namespace) -> Result<File, String> {
    let (name, opened) = match namespace {
        Namespace::Own => ("own".to_string(), sys::own_namespace()),
        Namespace::Named(name) => (name.clone(), File::open(format!("/run/netns/{name}"))),
        Namespace::OfProcess(pid) => (format!("of process {pid}"), File::open(format!("/proc/{pid}/ns/net"))),
    };
    opened.map_err(|error| format!("namespace {name}: {error}"))
}

fn make_device(name: &str, addresses: Option<(Ipv4Addr, Ipv4Addr)>, mtu: Option<u32>) -> io::Result<File> {
    let file = sys::open_tun(name)?;
    let settings = sys::DeviceSettings::new()?;
    sys::set_transmit_queue(name, TRANSMIT_QUEUE)?;
    if let Some(mtu) = mtu {
        settings.set_mtu(name, mtu)?;
    }
    // Router solicitations would count as packets. Where there is no IPv6 there is nothing to switch off.
    let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"), "1");
    if let Some((own, peer)) = addresses {
        settings.set_point_to_point(name, own, peer)?;
        settings.bring_up(name)?;
    }
    Ok(file)
}

/// Do something in a network namespace and come back, if that is allowed: within a user namespace the way back to the
/// machine's own network namespace is barred, and nothing here depends on it.
fn inside<T>(namespace: &File, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let own = sys::own_namespace()?;
    sys::enter_namespace(namespace)?;
    let result = work();
    let _ = sys::enter_namespace(&own);
    result
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "; it needs root or CAP_NET_ADMIN and CAP_SYS_ADMIN",
        io::ErrorKind::ResourceBusy => "; a device of this name exists already",
        io::ErrorKind::NotFound => "; /dev/net/tun is missing (modprobe tun)",
        _ => "",
    }
}

impl Device {
    /// Name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// For waiting.
    pub fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// The next packet that the kernel has sent; `None` if there is none now.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match self.file.read(buffer) {
            Ok(length) => Ok(Some(length)),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(None),
            Err(error) => Err(error),
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
