use super::*;
use proptest::collection::vec;
use proptest::prelude::*;
use std::path::PathBuf;

struct Site(PathBuf);

impl Site {
    fn new(name: &str) -> Site {
        let folder = std::env::temp_dir().join(format!("playpath-http2-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("small"), b"0123456789").unwrap();
        std::fs::write(folder.join("large"), vec![7; 200_000]).unwrap();
        Site(folder)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Kind, flags, stream and length of a frame.
type Left = (u8, u8, u32, usize);

/// A connection after the preface, and the store of a site.
struct Bed {
    two: Http2,
    store: Store,
    _site: Site,
}

impl Bed {
    fn new(name: &str) -> Bed {
        let site = Site::new(name);
        let mut bed = Bed { two: Http2::default(), store: Store::open(&site.0).unwrap(), _site: site };
        assert_eq!(bed.take(PREFACE), Ok(()));
        assert_eq!(bed.say((SETTINGS, 0, 0), &[]), Ok(()));
        bed
    }
    fn take(&mut self, mut input: &[u8]) -> Result<(), Broken> {
        while !input.is_empty() {
            let (consumed, answer) = self.two.handle(Time::ZERO, input, &self.store)?;
            assert!(consumed > 0, "whole frames");
            input = &input[consumed..];
            if let Some((id, mut answer)) = answer {
                let request = std::mem::take(&mut answer.request);
                let access = Access::new("10.0.0.1:1".parse().unwrap(), request, (answer.status, 0), Time::ZERO);
                self.two.respond(id, answer, access);
            }
        }
        Ok(())
    }
    fn say(&mut self, head: (u8, u8, u32), payload: &[u8]) -> Result<(), Broken> {
        let mut bytes = Vec::new();
        put_frame(&mut bytes, head, payload);
        self.take(&bytes)
    }
    fn ask(&mut self, id: u32, path: &str, more: &[(&str, &str)]) -> Result<(), Broken> {
        self.say((HEADERS, END_HEADERS | END_STREAM, id), &section("GET", path, more))
    }
    /// Each frame that leaves, and whose answers ended.
    fn frames(&mut self) -> (Vec<Left>, Vec<String>) {
        let (mut frames, mut ended) = (vec![], vec![]);
        while let Some(piece) = self.two.poll() {
            let mut rest = &piece.bytes[..];
            while !rest.is_empty() {
                let length = u32_at(&[&[0], &rest[..3]].concat(), 0) as usize;
                frames.push((rest[3], rest[4], u32_at(rest, 5), length));
                let held = FRAME_HEAD + if rest[3] == DATA { 0 } else { length };
                rest = &rest[held..];
            }
            if let Some((len, _)) = piece.body {
                assert_eq!(len as usize, frames.last().unwrap().3);
            }
            ended.extend(piece.ended.map(|access| access.request));
        }
        (frames, ended)
    }
}

fn section(method: &str, path: &str, more: &[(&str, &str)]) -> Vec<u8> {
    let base = [(":method", method), (":scheme", "https"), (":authority", "a.test"), (":path", path)];
    hpack::encode(base.into_iter().chain(more.iter().copied()))
}

fn window(more: u32) -> [u8; 4] {
    more.to_be_bytes()
}

#[test]
fn a_file_is_asked_for_and_comes() {
    let mut bed = Bed::new("file");
    bed.ask(1, "/small", &[]).unwrap();
    let (frames, ended) = bed.frames();
    let kinds: Vec<_> = frames.iter().map(|(kind, flags, id, _)| (*kind, *flags, *id)).collect();
    let own_settings = (SETTINGS, 0, 0);
    assert_eq!(kinds, [own_settings, (SETTINGS, ACK, 0), (HEADERS, END_HEADERS, 1), (DATA, END_STREAM, 1)]);
    assert_eq!((frames[3].3, &ended[..]), (10, &["GET /small HTTP/2".to_owned()][..]));
    assert!(bed.two.is_idle());
    // Nothing behind the head of a file that is not there, nor of a HEAD.
    bed.ask(3, "/none", &[]).unwrap();
    bed.say((HEADERS, END_HEADERS | END_STREAM, 5), &section("HEAD", "/small", &[])).unwrap();
    let (frames, _) = bed.frames();
    let kinds: Vec<_> = frames.iter().map(|(kind, flags, id, _)| (*kind, *flags, *id)).collect();
    assert_eq!(kinds, [(HEADERS, END_HEADERS | END_STREAM, 3), (HEADERS, END_HEADERS | END_STREAM, 5)]);
}

/// §5.2, §6.9: 65 535 bytes at first: three frames of 16 384 and one of 16 383; then as the client says, of stream and connection.
#[test]
fn windows_are_kept() {
    let mut bed = Bed::new("windows");
    bed.frames();
    bed.ask(1, "/large", &[]).unwrap();
    let sizes = |bed: &mut Bed| -> Vec<usize> {
        bed.frames().0.iter().filter(|frame| frame.0 == DATA).map(|frame| frame.3).collect()
    };
    assert_eq!(sizes(&mut bed), [16_384, 16_384, 16_384, 16_383]);
    bed.say((WINDOW_UPDATE, 0, 1), &window(100_000)).unwrap();
    assert!(sizes(&mut bed).is_empty(), "the connection's is used up");
    bed.say((WINDOW_UPDATE, 0, 0), &window(1000)).unwrap();
    assert_eq!(sizes(&mut bed), [1000]);
    // A smaller first window takes from what is left, below zero: 99 000 - 65 535 + 1 = 33 466.
    bed.say((SETTINGS, 0, 0), &[0, 4, 0, 0, 0, 1]).unwrap();
    bed.say((WINDOW_UPDATE, 0, 0), &window(1_000_000)).unwrap();
    assert_eq!(sizes(&mut bed).iter().sum::<usize>(), 33_466);
    bed.say((WINDOW_UPDATE, 0, 1), &window(1_000_000)).unwrap();
    assert_eq!(sizes(&mut bed).iter().sum::<usize>(), 200_000 - 65_535 - 1000 - 33_466);
    assert!(bed.two.is_idle());
}

/// RFC 9218: the urgent one first, though it came last; of equals the older; incremental ones by turns.
#[test]
fn priorities_are_kept() {
    let order = |priorities: &[&str]| -> Vec<u32> {
        let mut bed = Bed::new(&format!("priorities-{}", priorities.join("")));
        bed.frames();
        for (index, priority) in priorities.iter().enumerate() {
            bed.ask(2 * index as u32 + 1, "/large", &[("priority", priority)]).unwrap();
        }
        bed.frames().0.iter().filter(|frame| frame.0 == DATA).map(|frame| frame.2).collect()
    };
    assert_eq!(order(&["u=3", "u=3"]), [1, 1, 1, 1]);
    assert_eq!(order(&["u=3", "u=1"]), [3, 3, 3, 3]);
    assert_eq!(order(&["u=3, i", "u=3, i"]), [1, 3, 1, 3]);
}

/// RFC 9218 §7, §7.1: what comes before its request counts for more than the request's own field; the latest of it, and of no more
/// requests than may be under way.
#[test]
fn a_priority_may_come_before_its_request() {
    let mut bed = Bed::new("early");
    bed.frames();
    let update = |id: u32, value: &str| [&id.to_be_bytes()[..], value.as_bytes()].concat();
    for value in ["u=7", "u=1"] {
        bed.say((PRIORITY_UPDATE, 0, 0), &update(3, value)).unwrap();
    }
    bed.ask(1, "/large", &[]).unwrap();
    bed.ask(3, "/large", &[("priority", "u=6")]).unwrap();
    let order: Vec<_> = bed.frames().0.iter().filter(|frame| frame.0 == DATA).map(|frame| frame.2).collect();
    assert_eq!(order, [3, 3, 3, 3], "as much as the connection's window lets go");
    let idle = (0..MAX_STREAMS as u32 - 2).map(|index| 2 * index + 5);
    idle.for_each(|id| bed.say((PRIORITY_UPDATE, 0, 0), &update(id, "u=1")).unwrap());
    assert_eq!(bed.say((PRIORITY_UPDATE, 0, 0), &update(999, "u=1")), Err(PROTOCOL_ERROR));
    let nobody_s = [0, 2].map(|id| Bed::new("nobody").say((PRIORITY_UPDATE, 0, 0), &update(id, "u=1")));
    assert_eq!(nobody_s, [Err(PROTOCOL_ERROR); 2], "the connection, a push");
}

#[test]
fn an_upload_is_read_and_its_windows_opened_again() {
    let mut bed = Bed::new("upload");
    bed.frames();
    bed.say((HEADERS, END_HEADERS, 1), &section("PUT", "/new", &[("content-length", "6")])).unwrap();
    bed.say((DATA, 0, 1), b"abc").unwrap();
    // Two bytes of padding count, too.
    bed.say((DATA, END_STREAM | PADDED, 1), &[&[2], &b"def"[..], &[0, 0]].concat()).unwrap();
    let (frames, ended) = bed.frames();
    let kinds: Vec<_> = frames.iter().map(|(kind, _, id, _)| (*kind, *id)).collect();
    let updates = [(WINDOW_UPDATE, 0), (WINDOW_UPDATE, 1), (WINDOW_UPDATE, 0)];
    assert_eq!(kinds, [&updates[..], &[(HEADERS, 1), (DATA, 1)]].concat());
    assert_eq!(ended, ["PUT /new HTTP/2"]);
}

/// RFC 9110 §10.1.1: the client waits for it with the body.
#[test]
fn who_expects_it_is_told_to_go_on() {
    let mut bed = Bed::new("expect");
    bed.frames();
    let asked = [("content-length", "3"), ("expect", "100-continue")];
    bed.say((HEADERS, END_HEADERS, 1), &section("PUT", "/new", &asked)).unwrap();
    // `:status` by index 8 of the static table, and the three digits: five bytes.
    assert_eq!(bed.frames().0, [(HEADERS, END_HEADERS, 1, 5)]);
    bed.say((DATA, END_STREAM, 1), b"abc").unwrap();
    let kinds: Vec<_> = bed.frames().0.iter().map(|frame| (frame.0, frame.1)).collect();
    assert_eq!(kinds[kinds.len() - 2..], [(HEADERS, END_HEADERS), (DATA, END_STREAM)]);
}

/// RFC 9113 §8.1, §8.1.1, §8.2.1: trailers end a request that is whole, and are fields like others; white space belongs to none.
#[test]
fn trailers_and_values_that_are_malformed() {
    let mut bed = Bed::new("trailers");
    let trailers = |pairs: &[(&'static str, &'static str)]| hpack::encode(pairs.iter().copied());
    for (id, body, flags, end, is_right) in [
        (1, "abcdef", END_STREAM, trailers(&[("x", "y")]), true),
        (3, "abc", END_STREAM, trailers(&[("x", "y")]), false),
        (5, "abcdef", 0, trailers(&[("x", "y")]), false),
        (7, "abcdef", END_STREAM, trailers(&[(":path", "/")]), false),
        (9, "abcdef", END_STREAM, trailers(&[("x", " y")]), false),
    ] {
        bed.say((HEADERS, END_HEADERS, id), &section("PUT", "/new", &[("content-length", "6")])).unwrap();
        bed.say((DATA, 0, id), body.as_bytes()).unwrap();
        bed.say((HEADERS, END_HEADERS | flags, id), &end).unwrap();
        assert_eq!(!bed.frames().0.iter().any(|frame| (frame.0, frame.2) == (RST_STREAM, id)), is_right, "{id}");
    }
    for (id, value) in [(11, " y"), (13, "y\t")] {
        bed.ask(id, "/small", &[("x", value)]).unwrap();
        assert!(bed.frames().0.iter().any(|frame| (frame.0, frame.2) == (RST_STREAM, id)), "{value}");
    }
}

/// RFC 9113 §5.1: STREAM_CLOSED, of the stream while its answer is under way, then of the connection. What may have been sent before
/// the client knew of the end is passed over.
#[test]
fn nothing_comes_behind_the_end_of_a_request() {
    for (index, head) in [(DATA, END_STREAM, 1), (HEADERS, END_HEADERS | END_STREAM, 1)].into_iter().enumerate() {
        let more = if index == 0 { b"abc".to_vec() } else { section("GET", "/small", &[]) };
        let mut bed = Bed::new(&format!("closed-{index}"));
        bed.ask(1, "/large", &[]).unwrap();
        bed.say(head, &more).unwrap();
        assert!(bed.frames().0.iter().any(|frame| (frame.0, frame.2) == (RST_STREAM, 1)));
        bed.ask(3, "/small", &[]).unwrap();
        bed.frames();
        assert_eq!(bed.say((head.0, head.1, 3), &more), Err(STREAM_CLOSED));
        // 411 comes before the body is there.
        let mut bed = Bed::new(&format!("early-{index}"));
        bed.say((HEADERS, END_HEADERS, 1), &section("PUT", "/new", &[])).unwrap();
        assert_eq!(bed.frames().1, ["PUT /new HTTP/2"]);
        assert_eq!(bed.say(head, &more), Ok(()));
    }
}

/// Whatever came before: a head that drips in, in one frame or in several; not a body, nor who sends one frame after the other.
#[test]
fn when_what_is_not_complete_began() {
    let mut bed = Bed::new("drips");
    let store = Store::open(&bed._site.0).unwrap();
    let mut handle = |seconds, input: &[u8]| {
        let (consumed, _) = bed.two.handle(Time::from_secs(seconds), input, &store).unwrap();
        (consumed, bed.two.begun)
    };
    let began = |seconds| Some(Time::from_secs(seconds));
    let block = section("GET", "/small", &[]);
    let (mut whole, mut first, mut second, mut body) = (vec![], vec![], vec![], vec![]);
    put_frame(&mut whole, (HEADERS, END_HEADERS, 1), &section("PUT", "/new", &[("content-length", "9")]));
    put_frame(&mut first, (HEADERS, END_STREAM, 3), &block[..5]);
    put_frame(&mut second, (CONTINUATION, END_HEADERS, 3), &block[5..]);
    put_frame(&mut body, (DATA, 0, 1), b"abc");
    assert_eq!(handle(1, &whole[..1]), (0, began(1)));
    assert_eq!(handle(9, &whole[..20]), (0, began(1)));
    assert_eq!(handle(10, &whole), (whole.len(), None));
    assert_eq!(handle(11, &body[..10]), (0, None));
    assert_eq!(handle(12, &body), (12, None));
    assert_eq!(handle(13, &first), (14, began(13)));
    assert_eq!(handle(20, &second[..10]), (0, began(13)));
    assert_eq!(handle(21, &second), (second.len(), None));
    assert_eq!(handle(22, &whole[..4]), (0, began(22)));
}

/// Whether anybody reads the body or not (RFC 9113 §8.1.1).
#[test]
fn a_body_that_is_not_as_long_as_announced_is_malformed() {
    let mut bed = Bed::new("announced");
    for (id, method, body) in
        [(1, "PUT", Some(&b"abc"[..])), (3, "PUT", Some(b"abcdefg")), (5, "GET", Some(b"abc")), (7, "GET", None)]
    {
        let end = if body.is_none() { END_STREAM } else { 0 };
        let asked = section(method, "/small", &[("content-length", "6")]);
        bed.say((HEADERS, END_HEADERS | end, id), &asked).unwrap();
        body.into_iter().for_each(|body| bed.say((DATA, END_STREAM, id), body).unwrap());
        assert!(bed.frames().0.iter().any(|frame| (frame.0, frame.2) == (RST_STREAM, id)), "{id}");
    }
}

#[test]
fn what_breaks_a_connection() {
    let mut other = Http2::default();
    let store = Bed::new("preface").store;
    assert_eq!(other.handle(Time::ZERO, b"GET / HTTP/1.1\r\n\r\n......", &store).unwrap_err(), PROTOCOL_ERROR);
    for first in [(PING, 0, 0), (SETTINGS, ACK, 0)] {
        let mut bed = Bed { two: Http2::default(), ..Bed::new("first") };
        bed.take(PREFACE).unwrap();
        assert_eq!(bed.say(first, &[]), Err(PROTOCOL_ERROR), "§3.4: SETTINGS come first");
        assert_eq!(bed.two.break_off(1)[3], SETTINGS, "§3.4: ours, too");
    }
    let get = section("GET", "/small", &[]);
    for (index, (head, payload, code)) in [
        ((DATA, 0, 0), &b"a"[..], PROTOCOL_ERROR),
        ((DATA, 0, 1), b"a", PROTOCOL_ERROR),
        ((HEADERS, END_HEADERS, 2), &get, PROTOCOL_ERROR),
        ((HEADERS, END_HEADERS, 1), b"\x80", COMPRESSION_ERROR),
        ((HEADERS, END_HEADERS | PADDED, 1), b"\x09aa", PROTOCOL_ERROR),
        ((CONTINUATION, END_HEADERS, 1), &get, PROTOCOL_ERROR),
        ((PUSH_PROMISE, 0, 1), &get, PROTOCOL_ERROR),
        ((SETTINGS, 0, 1), b"", PROTOCOL_ERROR),
        ((SETTINGS, 0, 0), b"abc", FRAME_SIZE_ERROR),
        ((SETTINGS, 0, 0), &[0, 4, 0x80, 0, 0, 0], FLOW_CONTROL_ERROR),
        ((SETTINGS, 0, 0), &[0, 2, 0, 0, 0, 2], PROTOCOL_ERROR),
        ((PING, 0, 0), b"abc", FRAME_SIZE_ERROR),
        ((RST_STREAM, 0, 1), &[0; 4], PROTOCOL_ERROR),
        ((WINDOW_UPDATE, 0, 0), &[0; 4], PROTOCOL_ERROR),
        ((WINDOW_UPDATE, 0, 0), &[0x7f, 0xff, 0xff, 0xff], FLOW_CONTROL_ERROR),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(Bed::new(&format!("wrong-{index}")).say(head, payload), Err(code), "{index}");
    }
    let mut bed = Bed::new("open");
    bed.say((HEADERS, 0, 1), &get[..5]).unwrap();
    assert_eq!(bed.say((PING, 0, 0), &[0; 8]), Err(PROTOCOL_ERROR), "within a field section");
    let mut bed = Bed::new("again");
    bed.ask(3, "/small", &[]).unwrap();
    bed.frames();
    assert_eq!(bed.ask(1, "/small", &[]), Err(PROTOCOL_ERROR), "an older stream");
    assert_eq!(bed.take(&[0, 0x40, 1, DATA, 0, 0, 0, 0, 3]), Err(FRAME_SIZE_ERROR));
}

/// PINGs that nobody answers for, requests that are taken back, sections without an end, more streams than allowed.
#[test]
fn what_a_client_makes_us_keep_is_bounded() {
    let mut bed = Bed::new("pings");
    assert_eq!((0..2000).find_map(|_| bed.say((PING, 0, 0), &[0; 8]).err()), Some(ENHANCE_YOUR_CALM));
    let mut bed = Bed::new("resets");
    let reset = |id: u32, bed: &mut Bed| {
        bed.say((HEADERS, END_HEADERS, id), &section("PUT", "/new", &[("content-length", "6")]))?;
        bed.say((RST_STREAM, 0, id), &[0; 4])
    };
    assert_eq!((0..2000).find_map(|i| reset(2 * i + 1, &mut bed).err()), Some(ENHANCE_YOUR_CALM));
    let mut bed = Bed::new("sections");
    bed.say((HEADERS, 0, 1), &[0; 9]).unwrap();
    let more = vec![0; 9000];
    assert_eq!((0..3).find_map(|_| bed.say((CONTINUATION, 0, 1), &more).err()), Some(ENHANCE_YOUR_CALM));
    let mut bed = Bed::new("streams");
    for id in 0..101 {
        bed.say((HEADERS, END_HEADERS, 2 * id + 1), &section("PUT", "/new", &[("content-length", "6")])).unwrap();
    }
    assert_eq!(bed.two.streams.len(), MAX_STREAMS);
}

proptest! {
    #[test]
    fn any_frames_are_read_without_panic_and_within_bounds(
        frames in vec(
            (0..18u8, any::<u8>(), 0..12u32, prop_oneof![
                vec(any::<u8>(), 0..40),
                Just(section("GET", "/large", &[])),
                Just(section("PUT", "/new", &[("content-length", "60")])),
            ]),
            0..60,
        ),
    ) {
        let mut bed = Bed::new("any");
        for (index, (kind, flags, id, payload)) in frames.into_iter().enumerate() {
            // A section that ends is more often one that begins a request.
            let flags = if kind == HEADERS && flags % 4 > 0 { END_HEADERS } else { flags };
            if bed.say((kind, flags, id), &payload).is_err() {
                bed.two.break_off(1);
                break;
            }
            prop_assert!(bed.two.streams.len() <= MAX_STREAMS && bed.two.footprint() <= 128 * 1024);
            if index % 3 == 0 {
                bed.frames();
            }
        }
    }
}
