use super::*;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

#[test]
fn a_connection_is_found_by_its_ends_and_what_its_tcp_knows_is_read() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut server, peer) = listener.accept().unwrap();
    let diag = Diag::open().unwrap();
    let local = server.local_addr().unwrap();
    for _ in 0..20 {
        server.write_all(&[0; 10_000]).unwrap();
        client.read_exact(&mut [0; 10_000]).unwrap();
    }
    let shown = diag.of(local, peer).unwrap();
    // Loopback: the handshake took more than nothing and less than a second, and so did each delivery of 10 kB.
    assert!((1..1_000_000).contains(&shown.rtt), "{shown:?}");
    assert!(shown.delivery_rate > 10_000, "{shown:?}");
    // As a listener of both families writes them.
    let mapped = |address: SocketAddr| format!("[::ffff:127.0.0.1]:{}", address.port()).parse().unwrap();
    assert!(diag.of(mapped(local), mapped(peer)).is_some());
    let other = SocketAddr::new(peer.ip(), local.port());
    assert_eq!(diag.of(local, other), None, "no connection, and the next answer is not the last one's");
    assert!(diag.of(local, peer).is_some());
}

#[test]
fn what_is_no_answer_is_none() {
    let answer = |kind: u16, attribute: &[u8]| {
        let mut bytes = vec![0; HEADER + MESSAGE];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[HEADER + PEER_PORT] = 1;
        bytes.extend(attribute);
        bytes
    };
    let info = |length: u16| [length.to_ne_bytes(), INET_DIAG_INFO.to_ne_bytes()].concat();
    for (kind, attribute) in [
        (2, vec![]),                       // NLMSG_ERROR
        (SOCK_DIAG_BY_FAMILY, vec![]),     // no attribute
        (SOCK_DIAG_BY_FAMILY, info(400)),  // longer than the answer
        (SOCK_DIAG_BY_FAMILY, vec![0; 8]), // of no length
    ] {
        assert_eq!(read(&answer(kind, &attribute)), None, "{attribute:?}");
    }
    assert_eq!(read(&[]), None);
}

#[test]
fn what_an_older_kernel_does_not_tell_is_zero() {
    let mut info = [0xff; 104];
    info[RTT..RTT + 4].copy_from_slice(&50_000u32.to_ne_bytes());
    assert_eq!(TcpInfo::read(&info), TcpInfo { rtt: 50_000, delivery_rate: 0 });
    assert_eq!(TcpInfo::read(&[]), TcpInfo::default());
}
