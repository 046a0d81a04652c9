use super::*;

#[test]
fn heads_by_hand() {
    let text = "GET /a?b=c HTTP/1.1\r\nHost: a\r\nRange: bytes=0-9\r\n\r\nGET";
    let head = Head::of_request(text.as_bytes()).unwrap().unwrap();
    assert_eq!((head.first.as_str(), head.length), ("GET /a?b=c HTTP/1.1", text.len() - 3));
    assert_eq!((head.field("range"), head.field("cookie")), (Some("bytes=0-9"), None));
    let head = Head::of_response(b"HTTP/1.1 206 Partial Content\r\ncontent-length: 9\r\n\r\nx").unwrap().unwrap();
    assert_eq!((head.status, head.first.as_str()), (206, "HTTP/1.1 206 Partial Content"));
    assert_eq!(head.field("Content-Length"), Some("9"));
    assert_eq!(Head::of_response(b"HTTP/1.1 206 Partial Content\r\ncontent-le"), Ok(None));
}

/// RFC 9110 §2.5: a later minor version is read as the last that is known; another major one, or none, is refused.
#[test]
fn later_versions() {
    let head = Head::of_request(b"\r\nGET / HTTP/1.9\r\nHost: a\r\n\r\n").unwrap().unwrap();
    assert_eq!((head.minor, head.length), (1, 29));
    assert_eq!(Head::of_request(b"GET / HTTP/1.2"), Ok(None));
    for line in ["GET / HTTP/2.0\r\n", "GET / HTTP/1.x\r\n", "GET / HTTP/3.2\r\n"] {
        assert_eq!(Head::of_request(line.as_bytes()), Err(Broken::Version), "{line}");
    }
}

#[test]
fn what_is_wrong_is_refused() {
    assert!(matches!(Head::of_request(b"\x16\x03\x01"), Err(Broken::Syntax(_))));
    let endless = format!("GET / HTTP/1.1\r\nA: {}", "a".repeat(MAX_HEAD_BYTES));
    assert_eq!(Head::of_request(endless.as_bytes()), Err(Broken::TooLarge));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(MAX_FIELDS + 1));
    assert_eq!(Head::of_request(many.as_bytes()), Err(Broken::TooLarge));
}
