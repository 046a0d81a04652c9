//! Sockets that the standard library cannot make: MPTCP ones, and ones that connect without blocking.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, ipproto, listen, socket_with, sockopt};

use crate::plan::{Place, Protocol};

const BACKLOG: i32 = 128;

/// Start a non-blocking connect to `server`: the socket becomes writable once it is connected (or has failed: `TcpStream::take_error`).
pub fn begin_connect(server: SocketAddr, protocol: Protocol) -> io::Result<TcpStream> {
    let socket = new(server, protocol, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC)?;
    match connect(&socket, &server) {
        Ok(()) | Err(rustix::io::Errno::INPROGRESS) => Ok(TcpStream::from(socket)),
        Err(e) => Err(e.into()),
    }
}

pub fn listen_at(place: &Place) -> io::Result<TcpListener> {
    let socket = new(place.server, place.protocol, SocketFlags::CLOEXEC)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    bind(&socket, &place.server)?;
    listen(&socket, BACKLOG)?;
    Ok(TcpListener::from(socket))
}

fn new(address: SocketAddr, protocol: Protocol, flags: SocketFlags) -> io::Result<std::os::fd::OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let number = if protocol == Protocol::Mptcp { ipproto::MPTCP } else { ipproto::TCP };
    Ok(socket_with(family, SocketType::STREAM, flags, Some(number))?)
}
