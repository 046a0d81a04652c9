//! A live socket of another process, borrowed: found by its peer in `/proc/PID/net`, its descriptor copied with
//! `pidfd_getfd` (which requires the rights of ptrace). The kernel takes such a descriptor as the key of socket storage.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};

use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

/// Why a process's connection cannot be taken.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    #[error("process {pid} has no TCP socket to {peer} (a subflow of MPTCP has no descriptor: leave out --pid)")]
    None { pid: u32, peer: SocketAddr },
    #[error("process {pid} has {count} TCP sockets to {peer}")]
    Several { pid: u32, peer: SocketAddr, count: usize },
    #[error("there is no process {0}")]
    NoProcess(u32),
    #[error("cannot look into process {pid}: {source}")]
    Process { pid: u32, source: std::io::Error },
}

/// A connection of a process to a peer.
pub struct Socket {
    pub peer: SocketAddr,
    descriptor: OwnedFd,
}

impl Socket {
    /// The connection of process `pid` to `peer`; an error if it has none, or several.
    pub fn of(pid: u32, peer: SocketAddr) -> Result<Socket, SocketError> {
        let inodes = inodes_of(pid, peer);
        let numbers = descriptors_of(pid, &inodes)?;
        match numbers.as_slice() {
            [number] => Ok(Socket { peer, descriptor: borrow(pid, *number)? }),
            [] => Err(SocketError::None { pid, peer }),
            several => Err(SocketError::Several { pid, peer, count: several.len() }),
        }
    }

    pub fn key(&self) -> [u8; 4] {
        self.descriptor.as_raw_fd().to_ne_bytes()
    }
}

/// Inodes of the sockets with this peer, in the network namespace of the process.
fn inodes_of(pid: u32, peer: SocketAddr) -> Vec<u64> {
    let mut found = Vec::new();
    for table in ["tcp", "tcp6"] {
        let path = format!("/proc/{pid}/net/{table}");
        // Without IPv6 there is no tcp6; without the process there is no table at all, which `descriptors_of` reports.
        let text = fs::read_to_string(&path).unwrap_or_default();
        found.extend(text.lines().skip(1).filter_map(|line| inode_if(line, peer)).filter(|inode| *inode != 0));
    }
    found
}

/// The inode of a line of `/proc/net/tcp` whose remote address is `peer`.
fn inode_if(line: &str, peer: SocketAddr) -> Option<u64> {
    let mut fields = line.split_whitespace();
    let remote = address(fields.nth(2)?)?;
    let is_it = remote.port() == peer.port() && remote.ip().to_canonical() == peer.ip().to_canonical();
    // After `rem_address`: st, queues, timer, retransmissions, uid, timeout, inode.
    if is_it { fields.nth(6)?.parse().ok() } else { None }
}

/// `0200000A:1267`: words of the address in the machine's order, port in plain hexadecimal.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let word = |at: usize| u32::from_str_radix(ip.get(at..at + 8)?, 16).ok().map(u32::to_ne_bytes);
    let ip = if ip.len() == 8 {
        IpAddr::V4(Ipv4Addr::from(word(0)?))
    } else {
        let words = [word(0)?, word(8)?, word(16)?, word(24)?];
        IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(words.concat()).ok()?))
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

fn descriptors_of(pid: u32, inodes: &[u64]) -> Result<Vec<RawFd>, SocketError> {
    let folder = format!("/proc/{pid}/fd");
    let entries = fs::read_dir(&folder).map_err(|source| SocketError::Process { pid, source })?;
    let wanted: Vec<String> = inodes.iter().map(|inode| format!("socket:[{inode}]")).collect();
    Ok(entries
        .flatten()
        .filter(|entry| fs::read_link(entry.path()).is_ok_and(|to| wanted.iter().any(|w| to.as_os_str() == w.as_str())))
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect())
}

fn borrow(pid: u32, number: RawFd) -> Result<OwnedFd, SocketError> {
    let id = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(SocketError::NoProcess(pid))?;
    let failed = |errno: rustix::io::Errno| SocketError::Process { pid, source: errno.into() };
    let process = pidfd_open(id, PidfdFlags::empty()).map_err(failed)?;
    pidfd_getfd(process.as_fd(), number, PidfdGetfdFlags::empty()).map_err(failed)
}

#[cfg(test)]
mod tests;
