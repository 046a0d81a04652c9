use super::*;
use std::net::{TcpListener, TcpStream};

#[test]
fn addresses_are_read_as_the_kernel_writes_them() {
    // 10.0.0.2 is 0A 00 00 02 in network order, read as one little-endian word.
    if cfg!(target_endian = "little") {
        assert_eq!(address("0200000A:1267"), Some("10.0.0.2:4711".parse().unwrap()));
        let mapped = address("0000000000000000FFFF00000200000A:1267").unwrap();
        assert_eq!(mapped.ip().to_canonical(), "10.0.0.2".parse::<IpAddr>().unwrap());
    }
    assert_eq!(address("nonsense"), None);
    assert_eq!(address("0200000A"), None);
}

#[test]
fn the_one_socket_to_a_peer_is_found_and_others_are_not() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (accepted, peer) = listener.accept().unwrap();
    let pid = std::process::id();
    let inodes = inodes_of(pid, peer);
    assert_eq!(descriptors_of(pid, &inodes).unwrap(), [accepted.as_raw_fd()]);
    drop((client, accepted));
    let nobody = "203.0.113.9:1".parse().unwrap();
    let error = Socket::of(pid, nobody).err().unwrap().to_string();
    assert!(error.starts_with(&format!("process {pid} has no TCP socket to 203.0.113.9:1")), "{error}");
}
