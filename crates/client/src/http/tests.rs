use super::*;

#[test]
fn only_the_range_that_was_asked_for_is_taken() {
    let check = |text: &str| check_head(&read_head(text.as_bytes())?, 10);
    assert!(check("HTTP/1.1 206 Partial Content\r\nContent-Length: 10\r\n\r\n").is_ok());
    let short = check("HTTP/1.1 206 Partial Content\r\ncontent-length: 9\r\n\r\n").unwrap_err();
    assert_eq!(
        short.to_string(),
        "the server answered `HTTP/1.1 206 Partial Content` with 9 bytes, not 206 with 10 bytes"
    );
    assert!(check("HTTP/1.1 404 Not Found\r\nContent-Length: 10\r\n\r\n").is_err());
    assert!(check("nonsense\r\n\r\n").is_err());
}

#[test]
fn what_the_server_tells_of_itself_is_read() {
    let head = |field: &str| read_head(format!("HTTP/1.1 206 Partial Content\r\n{field}\r\n\r\n").as_bytes());
    let outcome = |field: &str| server_data(&head(field).unwrap());
    let known = Cmsd { etp_kbps: Some(5200), mb_kbps: Some(3000), rtt_ms: None };
    assert_eq!(outcome("cmsd-dynamic: \"origin\";etp=5200;mb=3000"), Some(known));
    assert_eq!(outcome("CMSD-Dynamic: nonsense;"), None);
    assert_eq!(outcome("CMSD-Static: st=v"), None);
}
