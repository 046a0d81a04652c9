//! The TUN device: created and configured here, or an existing one used as it is.

use playpath_emulator::sys::{DeviceSettings, open_tun};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

/// Packets that the device keeps for us before it drops.
const TRANSMIT_QUEUE: u32 = 20_000;

pub struct Device {
    file: File,
    /// Packets that the kernel would not take.
    pub write_errors: u64,
}

impl Device {
    /// Open the device called `name`. If there is none it is made and set up: its own, the kernel's, end gets the other address of the
    /// /31 of each of `addresses` (RFC 3021). One that exists is left as it is: whoever made it for this user has set it up, and no
    /// right is needed. Errors: no right to make it, or it is in use.
    pub fn open(name: &str, addresses: &[IpAddr], mtu: u32) -> io::Result<Device> {
        let is_there = Path::new("/sys/class/net").join(name).exists();
        let file = open_tun(name)?;
        if !is_there {
            // Router solicitations would be counted as packets. Without IPv6 there is nothing to switch off.
            let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"), "1");
            for address in addresses {
                let IpAddr::V4(address) = address else {
                    return Err(io::Error::other("IPv6 needs a device made for it"));
                };
                let addresses = Some((other_of_pair(*address), *address));
                DeviceSettings { transmit_queue: TRANSMIT_QUEUE, mtu: Some(mtu), addresses }.apply(name)?;
            }
        }
        Ok(Device { file, write_errors: 0 })
    }

    /// The next packet that the kernel has for us; `None`: there is none now.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match self.file.read(buffer) {
            Ok(length) => Ok(Some(length)),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Hand a packet to the kernel. A device that is down refuses it: that is counted, not fatal.
    pub fn write(&mut self, packet: &[u8]) {
        self.write_errors += u64::from(self.file.write(packet).is_err());
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

pub fn other_of_pair(address: Ipv4Addr) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(address) ^ 1)
}
