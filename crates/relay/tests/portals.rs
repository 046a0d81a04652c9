//! One of two paths leads to something that is no relay: a captive portal that answers every connection with a page of its own, a server
//! with a banner, one that takes everything and says nothing. The session carries on over the other path; without another it ends, and
//! says why.

mod support;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use support::{Running, free_port, origin, watch};

/// Whoever connects meets this.
fn portal(manners: fn(TcpStream)) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        listener.incoming().for_each(|stream| drop(std::thread::spawn(move || manners(stream.unwrap()))));
    });
    address
}

/// Its page, once something was asked, and the end.
fn page(mut stream: TcpStream) {
    let _ = stream.read(&mut [0; 4096]);
    let _ = stream.write_all(b"HTTP/1.1 302 Found\r\nLocation: http://portal/\r\nConnection: close\r\n\r\n");
}

/// Speaks first, in a line shorter than a record's header, and stays.
fn banner(mut stream: TcpStream) {
    let _ = stream.write_all(b"220 x\r\n");
    silent(stream);
}

/// First bytes as a record of ours would have them, an acknowledgement of nothing.
fn mimic(mut stream: TcpStream) {
    let _ = stream.write_all(&[4, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0]);
    silent(stream);
}

fn silent(mut stream: TcpStream) {
    while stream.read(&mut [0; 4096]).is_ok_and(|count| count > 0) {}
}

#[test]
fn the_session_carries_on_over_the_other_path() {
    let (origin, _) = origin();
    let relay = format!("127.0.0.1:{}", free_port());
    let _server = Running::start(&["server", "--listen", &relay, "--origin", &origin.to_string()]);
    for manners in [page, banner, mimic, silent] {
        let door = free_port().to_string();
        let portal = portal(manners);
        let paths = [format!("portal={portal}"), format!("other={relay}")];
        let client = Running::start(&["client", "--listen", &door, "--path", &paths[0], "--path", &paths[1]]);
        for _ in 0..3 {
            assert_eq!(watch(&door), Ok(()));
        }
        assert_eq!(client.end(), "");
    }
}

#[test]
fn a_session_with_portals_alone_ends_and_says_why() {
    let door = free_port().to_string();
    let paths = [page as fn(TcpStream), banner].map(portal).map(|address| format!("p{}={address}", address.port()));
    let client = Running::start(&["client", "--listen", &door, "--path", &paths[0], "--path", &paths[1]]);
    assert_eq!(watch(&door), Err(0));
    let told = client.end();
    assert!(told.contains("no path to the other relay") && told.contains("no record of a playpath relay"), "{told}");
}
