//! Linux's state of one TCP connection, by netlink (sock_diag).
//!
//! References: linux/inet_diag.h, linux/sock_diag.h, linux/tcp.h (`struct tcp_info`). A connection is looked up by both its ends,
//! so the cost does not grow with the number of connections. `idiag_cookie` of all ones: whatever socket has these ends.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with};

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
const INET_DIAG_INFO: u16 = 2;
const IPPROTO_TCP: u8 = 6;
const ALL_STATES: u32 = u32::MAX;
/// `struct nlmsghdr`, and `struct inet_diag_msg` after it.
const HEADER: usize = 16;
const MESSAGE: usize = 72;
const PEER_PORT: usize = 6;

/// Offsets of the members of `struct tcp_info`; members that an older kernel lacks read as zero.
const RTT: usize = 68;
const DELIVERY_RATE: usize = 160;

/// The quantities of a connection that the CMSD header carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// Smoothed round-trip time, in µs.
    pub rtt: u32,
    /// Newest sample, in bytes per second.
    pub delivery_rate: u64,
}

impl TcpInfo {
    fn read(info: &[u8]) -> TcpInfo {
        let word = |at: usize| Some(u32::from_ne_bytes(info.get(at..at + 4)?.try_into().ok()?));
        let long = |at: usize| Some(u64::from_ne_bytes(info.get(at..at + 8)?.try_into().ok()?));
        TcpInfo { rtt: word(RTT).unwrap_or(0), delivery_rate: long(DELIVERY_RATE).unwrap_or(0) }
    }
}

/// A netlink socket in the network namespace of this process.
pub struct Diag(OwnedFd);

impl Diag {
    /// Error: the kernel has no such netlink (CONFIG_INET_DIAG).
    pub fn open() -> io::Result<Diag> {
        let kind = Some(netlink::SOCK_DIAG);
        Ok(Diag(socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, kind)?))
    }

    /// The connection between these ends; `None`: there is none.
    pub fn of(&self, local: SocketAddr, peer: SocketAddr) -> Option<TcpInfo> {
        send(&self.0, &question(local, peer), SendFlags::empty()).ok()?;
        let mut answer = [0; 4096];
        let (count, _) = recv(&self.0, &mut answer, RecvFlags::empty()).ok()?;
        read(&answer[..count])
    }
}

/// `struct nlmsghdr`, `struct inet_diag_req_v2`.
fn question(local: SocketAddr, peer: SocketAddr) -> Vec<u8> {
    // A dual-stack socket, too, is found by the IPv4 address of an IPv4 peer.
    let (local, peer) = (canonical(local), canonical(peer));
    let family = if local.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let mut id = Vec::new();
    id.extend([local.port().to_be_bytes(), peer.port().to_be_bytes()].concat());
    id.extend([address(local.ip()), address(peer.ip())].concat());
    id.extend(0u32.to_ne_bytes());
    id.extend([0xff; 8]);
    let mut request = vec![family.as_raw() as u8, IPPROTO_TCP, 1 << (INET_DIAG_INFO - 1), 0];
    request.extend(ALL_STATES.to_ne_bytes());
    request.extend(id);
    let mut message = ((HEADER + request.len()) as u32).to_ne_bytes().to_vec();
    message.extend([SOCK_DIAG_BY_FAMILY.to_ne_bytes(), NLM_F_REQUEST.to_ne_bytes()].concat());
    message.extend([0; 8]);
    message.extend(request);
    message
}

fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

fn address(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V6(address) => address.octets(),
        IpAddr::V4(address) => {
            let mut words = [0; 16];
            words[..4].copy_from_slice(&address.octets());
            words
        }
    }
}

fn read(answer: &[u8]) -> Option<TcpInfo> {
    let word = |bytes: &[u8], at: usize| Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    // Without a connection the kernel finds the listener, which has no peer.
    if word(answer, 4)? != SOCK_DIAG_BY_FAMILY || word(answer, HEADER + PEER_PORT)? == 0 {
        return None;
    }
    let mut rest = answer.get(HEADER + MESSAGE..)?;
    loop {
        let length = usize::from(word(rest, 0)?);
        let value = rest.get(4..length)?;
        if word(rest, 2)? == INET_DIAG_INFO {
            return Some(TcpInfo::read(value));
        }
        rest = rest.get(length.next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
mod tests;
