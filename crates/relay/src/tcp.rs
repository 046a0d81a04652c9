//! What the relay asks of a kernel TCP connection (TCP_INFO), and what errors of its calls mean.

use playpath_shell::tcp_info::TcpInfo;
use rustix::io::Errno;
use socket2::Socket;
use std::io;
use std::os::fd::AsRawFd;

/// Read it.
#[allow(
    unsafe_code,
    reason = "getsockopt(TCP_INFO): neither rustix nor socket2 offers it; the crate's only unsafe call"
)]
pub fn info(socket: &Socket) -> io::Result<TcpInfo> {
    let mut bytes = [0u8; 512];
    let mut length = bytes.len() as libc::socklen_t;
    let (level, name, value) = (libc::IPPROTO_TCP, libc::TCP_INFO, bytes.as_mut_ptr().cast());
    // SAFETY: `bytes` and `length` are valid for writing, and `length` is the size of `bytes`.
    let result = unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, value, &raw mut length) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(TcpInfo::read(&bytes[..length as usize])) }
}

/// A socket that does not block connects: no error.
pub fn is_under_way(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::INPROGRESS)
}

/// What an operator can do whose congestion control was refused.
pub fn congestion_hint(error: &io::Error) -> &'static str {
    match Errno::from_io_error(error) {
        Some(Errno::NOENT) => "; net.ipv4.tcp_available_congestion_control lists what the kernel has",
        Some(Errno::PERM) => "; it needs root, or to be listed in net.ipv4.tcp_allowed_congestion_control",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    /// 3000 bytes over the loopback device: they are sent, acknowledged, and counted in the right members.
    #[test]
    fn a_live_connection_is_read() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        near.write_all(&[7; 3000]).unwrap();
        far.read_exact(&mut [0; 3000]).unwrap();
        let socket = Socket::from(near);
        socket.set_tcp_notsent_lowat(1448).unwrap();
        let read = info(&socket).unwrap();
        assert_eq!(read.bytes_sent, 3000);
        assert!(read.snd_mss >= 536 && read.snd_cwnd >= 2 && read.rtt > 0, "{read:?}");
        assert_eq!((read.notsent_bytes, read.retransmits), (0, 0));
    }
}
