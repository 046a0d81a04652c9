use super::*;
use playpath_http::delivery_line;
use playpath_units::Duration;

#[test]
fn a_request_says_how_many_bytes_and_how_they_are_written() {
    let delivery = Delivery::Chunks { bytes: 100_000, every: Duration::from_millis(100) };
    let line = delivery_line(delivery, Time::as_nanos);
    let text = format!("GET /zeros?CMCD=bl%3D1 HTTP/1.1\r\nHost: a\r\nRange: bytes=0-999\r\n{line}\r\nGET");
    let mut lines = text.as_bytes();
    assert_eq!(read_request(&mut lines).unwrap(), Some(DeliveryRequest { bytes: 1000, delivery }));
    assert_eq!(read_request(&mut lines).unwrap(), None, "half a request at the end of a connection");
    for wrong in ["Range: bytes=5-9", "Range: bytes=0-x", "Playpath-Delivery: 0 bytes every 5 ns"] {
        let text = format!("GET / HTTP/1.1\r\n{wrong}\r\n\r\n");
        assert_eq!(read_request(&mut text.as_bytes()).unwrap_err().to_string(), format!("cannot read `{wrong}`"));
    }
}
