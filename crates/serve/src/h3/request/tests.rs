use super::*;

fn fields(pairs: &[(&str, &str)]) -> Vec<Field> {
    pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

const GET: [(&str, &str); 4] =
    [(":method", "GET"), (":scheme", "https"), (":authority", "a.test"), (":path", "/clip.mp4")];

#[test]
fn a_head_in_the_older_form() {
    let asked = fields(&[&GET[..], &[("range", "bytes=0-9"), ("te", "trailers")]].concat());
    let expected = "GET /clip.mp4 HTTP/1.1\r\nhost: a.test\r\nrange: bytes=0-9\r\nte: trailers\r\n\r\n";
    assert_eq!(head(&asked).as_deref(), Some(expected));
    let by_host = fields(&[GET[0], GET[1], GET[3], ("host", "a.test")]);
    assert_eq!(head(&by_host).as_deref(), Some("GET /clip.mp4 HTTP/1.1\r\nhost: a.test\r\n\r\n"));
}

/// Each of these could be read as something else behind it (RFC 9114 §10.3).
#[test]
fn malformed_requests() {
    let with = |more: &[(&'static str, &'static str)]| fields(&[&GET[..], more].concat());
    for (asked, why) in [
        (with(&[("x", "a\r\nGET /other HTTP/1.1")]), "a line break in a value"),
        (with(&[("x\r\ny", "a")]), "a line break in a name"),
        (with(&[("X", "a")]), "upper case"),
        (with(&[("transfer-encoding", "chunked")]), "of a connection"),
        (with(&[("connection", "close")]), "of a connection"),
        (with(&[("te", "gzip")]), "te"),
        (with(&[(":method", "PUT")]), "two methods"),
        (with(&[("a", "b"), (":path", "/")]), "a pseudo-header behind others"),
        (with(&[(":status", "200")]), "of a response"),
        (with(&[("host", "b.test")]), "two hosts"),
        (fields(&GET[..3]), "no path"),
        (fields(&[GET[0], GET[1], GET[3]]), "no host"),
        (fields(&[GET[0], GET[1], GET[2], (":path", "/a HTTP/1.1")]), "a space in the path"),
        (fields(&[(":method", "GET /x"), GET[1], GET[2], GET[3]]), "a space in the method"),
    ] {
        assert_eq!(head(&asked), None, "{why}");
    }
}

/// What DATA frames of these sizes come to behind `content-length: 6`: malformed, cut at the end, or neither.
fn announced_six(method: &str, sizes: &[u64]) -> &'static str {
    let store = Store::open(std::path::Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
    let mut request = Request::default();
    let pairs = [(":method", method), GET[1], GET[2], (":path", "/Cargo.toml"), ("content-length", "6")];
    let mut input = headers(pairs.into_iter());
    for &size in sizes {
        input.push(DATA as u8);
        put_varint(&mut input, size);
        input.resize(input.len() + size as usize, b'x');
    }
    let mut at = 0;
    while let Ok((consumed, outcome)) = request.handle(&input[at..], &store, SystemTime::UNIX_EPOCH)
        && consumed > 0
    {
        at += consumed;
        if matches!(outcome, Outcome::Refused(MESSAGE_ERROR)) {
            return "malformed";
        }
    }
    if request.missing() == Some(MESSAGE_ERROR) { "cut" } else { "whole" }
}

/// RFC 9114 §4.1, §4.3: nothing but frames of no known type comes behind trailers, and they have no pseudo-fields.
#[test]
fn trailers_end_a_request() {
    let store = Store::open(std::path::Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
    let after_head = |frames: &[&[u8]]| {
        let mut request = Request::default();
        assert_eq!(request.missing(), Some(REQUEST_INCOMPLETE));
        let head = headers(GET.into_iter());
        assert!(matches!(request.handle(&head, &store, SystemTime::UNIX_EPOCH), Ok((_, Outcome::Answer(_)))));
        assert_eq!(request.missing(), None);
        frames.iter().map(|frame| request.handle(frame, &store, SystemTime::UNIX_EPOCH)).last().unwrap()
    };
    let trailers = headers([("x", "y")].into_iter());
    let is_passed = |found| matches!(found, Ok((consumed, Outcome::Nothing)) if consumed > 0);
    assert!(is_passed(after_head(&[&trailers])));
    assert!(is_passed(after_head(&[&trailers, &[0x21, 0x00]])));
    for more in [&trailers[..], &[0x00, 0x01]] {
        assert_eq!(after_head(&[&trailers, more]).err(), Some(FRAME_UNEXPECTED));
    }
    assert_eq!(after_head(&[&[0x01, 0x03, 0x00, 0x00, 0x80]]).err(), Some(DECOMPRESSION_FAILED));
    let found = after_head(&[&headers([(":method", "GET")].into_iter())]);
    assert!(matches!(found, Ok((_, Outcome::Refused(MESSAGE_ERROR)))));
    let found = after_head(&[&[0x01, 0x80, 0x01, 0x00, 0x00]]);
    assert!(matches!(found, Ok((5, Outcome::Refused(TOO_LARGE)))));
}

/// RFC 9114 §4.1.2: whether anybody reads the body or not.
#[test]
fn a_body_that_is_not_as_long_as_announced_is_malformed() {
    for method in ["PUT", "GET"] {
        let found: Vec<&str> =
            [&[6][..], &[2, 4], &[], &[5], &[7], &[6, 1]].map(|sizes| announced_six(method, sizes)).into();
        assert_eq!(found, ["whole", "whole", "cut", "cut", "malformed", "malformed"], "{method}");
    }
}

/// RFC 9110 §10.1.1: the client waits for 100 (Continue) with the body.
#[test]
fn who_expects_it_is_told_to_go_on() {
    let store = Store::open(std::path::Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
    let more = [(":method", "PUT"), GET[1], GET[2], GET[3], ("content-length", "3"), ("expect", "100-continue")];
    let mut request = Request::default();
    let found = request.handle(&headers(more.into_iter()), &store, SystemTime::UNIX_EPOCH);
    assert!(matches!(found, Ok((_, Outcome::Continue))));
    assert!(matches!(request.handle(&[0x00, 0x03], &store, SystemTime::UNIX_EPOCH), Ok((2, Outcome::Nothing))));
    let found = request.handle(b"abc", &store, SystemTime::UNIX_EPOCH);
    let Ok((3, Outcome::Answer(answer))) = found else { panic!() };
    assert_eq!((answer.status, answer.request.as_str()), (200, "PUT /clip.mp4 HTTP/3"));
    let mut out = Outgoing::default();
    put_continue(&mut out);
    let mut bytes = vec![0; out.end as usize];
    out.read(0, &mut bytes).unwrap();
    assert_eq!(bytes, [0x01, 4, 0, 0, 0xff, 0], "HEADERS of entry 63 of QPACK's static table");
}

#[test]
fn priorities() {
    for (value, urgency, incremental) in
        [("u=1, i", 1, true), ("i", 3, true), ("u=9", 3, false), ("", 3, false), ("u=0,i=?0", 0, false)]
    {
        assert_eq!(priority(value), Priority { urgency, incremental }, "{value}");
    }
}

/// RFC 9218 §7: the latest counts, and what is kept is bounded.
#[test]
fn priorities_that_come_before_their_requests() {
    let urgent = |urgency| Priority { urgency, ..Priority::default() };
    let mut early = Early::default();
    (0..1000).for_each(|index| early.keep(4 * index, urgent(1)));
    early.keep(3996, urgent(7));
    assert_eq!(early.len(), MAX_EARLY);
    assert_eq!(early.take(4), None, "it gave way to later ones");
    assert_eq!(early.take(3992), Some(urgent(1)));
    assert_eq!(early.take(3996), Some(urgent(7)));
    assert_eq!(early.len(), 0);
}
