use super::*;
use playpath_http::MAX_HEAD_BYTES;

struct Site(std::path::PathBuf, Store);

impl Site {
    fn new(name: &str) -> Site {
        let folder = std::env::temp_dir().join(format!("playpath-http-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("clip.mp4"), "0123456789").unwrap();
        std::fs::write(folder.join("empty"), "").unwrap();
        let store = Store::open(&folder).unwrap();
        Site(folder, store)
    }
    fn ask(&self, text: &str) -> Step {
        Http::default().handle(text.as_bytes(), &self.1, SystemTime::UNIX_EPOCH)
    }
    fn answer(&self, text: &str) -> Answer {
        self.ask(text).answer.unwrap()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_file_a_part_of_it_and_its_head() {
    let site = Site::new("file");
    for (request, status, length) in [
        ("GET /clip.mp4 HTTP/1.1\r\nHost: a\r\n\r\n", "200 OK", Some(10)),
        ("GET /clip.mp4 HTTP/1.1\r\nHost: a\r\nrange: bytes=2-5\r\n\r\n", "206 Partial Content", Some(4)),
        ("GET /clip.mp4 HTTP/1.1\r\nHost: a\r\nRange: bytes=2-5\r\nIf-Range: \"old\"\r\n\r\n", "200 OK", Some(10)),
        ("HEAD /clip.mp4 HTTP/1.1\r\nHost: a\r\n\r\n", "200 OK", None),
        ("GET /empty HTTP/1.1\r\nHost: a\r\n\r\n", "200 OK", Some(0)),
        ("GET /clip.mp4 HTTP/1.1\r\nHost: a\r\nRange: bytes=90-\r\n\r\n", "416 Range Not Satisfiable", None),
        ("GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n", "404 Not Found", None),
        ("DELETE /clip.mp4 HTTP/1.1\r\nHost: a\r\n\r\n", "405 Method Not Allowed", None),
        ("PUT /clip.mp4 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", "411 Length Required", None),
    ] {
        let answer = site.answer(request);
        assert!(answer.head.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{request}: {}", answer.head);
        assert_eq!(answer.body.map(|body| body.0), length, "{request}");
    }
}

/// RFC 9110 §13.2.2: by tag, or else by date; §14.2: no range but of GET.
#[test]
fn conditions_are_kept() {
    let site = Site::new("conditions");
    let file = site.1.find("/clip.mp4").unwrap();
    let (tag, date) = (file.tag, httpdate::fmt_http_date(file.modified));
    let (old, late) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Fri, 31 Dec 9999 23:59:59 GMT");
    for (fields, status) in [
        (format!("If-None-Match: {tag}"), 304),
        (format!("If-None-Match: \"x\", W/{tag}"), 304),
        (format!("If-None-Match: \"x\"\r\nIf-None-Match: {tag}"), 304),
        ("If-None-Match: *".into(), 304),
        (format!("If-None-Match: \"x\"\r\nIf-Modified-Since: {date}"), 200),
        (format!("If-Modified-Since: {date}"), 304),
        (format!("If-Modified-Since: {late}"), 304),
        (format!("If-Modified-Since: {old}"), 200),
        ("If-Modified-Since: yesterday".into(), 200),
        (format!("If-Match: {tag}"), 200),
        (format!("If-Match: W/{tag}"), 412),
        (format!("If-Match: \"x\"\r\nIf-None-Match: {tag}"), 412),
        (format!("If-Match: *\r\nIf-Unmodified-Since: {old}"), 200),
        (format!("If-Unmodified-Since: {old}"), 412),
        (format!("If-Unmodified-Since: {date}\r\nRange: bytes=2-5"), 206),
        (format!("If-None-Match: {tag}\r\nRange: bytes=90-"), 304),
    ] {
        for method in ["GET", "HEAD"] {
            let answer = site.answer(&format!("{method} /clip.mp4 HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n"));
            let status = if method == "HEAD" && status == 206 { 200 } else { status };
            assert_eq!(answer.status, status, "{method} {fields}");
            assert!(answer.head.contains(&format!("ETag: {tag}\r\n")), "{fields}: {}", answer.head);
            assert_eq!(answer.head.contains("Content-Length"), status != 304, "{fields}");
            assert_eq!(answer.body.is_some(), method == "GET" && matches!(status, 200 | 206), "{fields}");
        }
    }
    assert_eq!(site.answer("GET /nothing HTTP/1.1\r\nHost: a\r\nIf-Match: *\r\n\r\n").status, 404);
}

/// Behind a proxy that reads a request in another way, the next viewer would get the answer to what was left (RFC 9112 §11.2).
#[test]
fn what_can_be_read_in_two_ways_is_refused() {
    let site = Site::new("smuggled");
    for (head, status) in [
        ("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked", "400 Bad Request"),
        ("GET /clip.mp4 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked", "411 Length Required"),
        ("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4", "400 Bad Request"),
        ("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3, 4", "400 Bad Request"),
        ("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: +0", "400 Bad Request"),
        ("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: ", "400 Bad Request"),
        ("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999", "400 Bad Request"),
        ("GET /clip.mp4 HTTP/1.1", "400 Bad Request"),
        ("GET /clip.mp4 HTTP/1.1\r\nHost: a\r\nHost: b", "400 Bad Request"),
        ("GET /clip.mp4 HTTP/1.1\r\nHost: a b/c@@", "400 Bad Request"),
        // The same length twice is one length; a body that is not wanted ends the connection.
        ("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 0\r\nConnection: close", "200 OK"),
        ("GET /clip.mp4 HTTP/1.1\r\nHost: a\r\nContent-Length: 3", "200 OK"),
        ("OPTIONS /clip.mp4 HTTP/1.1\r\nHost: a\r\nContent-Length: 3", "204 No Content"),
    ] {
        let answer = site.answer(&format!("{head}\r\n\r\n"));
        assert!(answer.head.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{head}: {}", answer.head);
        assert!(answer.is_last, "{head}");
    }
}

/// RFC 9110 §15.4.2: relative links of its page count from behind the slash. Never to another host.
#[test]
fn a_folder_has_a_slash_at_its_end() {
    let site = Site::new("folder");
    std::fs::create_dir_all(site.0.join("page")).unwrap();
    std::fs::write(site.0.join("page/index.html"), "<html>").unwrap();
    for (target, location) in
        [("/page", "/page/"), ("/page?a=b/c", "/page/?a=b/c"), ("//page", "/page/"), ("http://a/page", "/page/")]
    {
        let answer = site.answer(&format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert!(answer.status == 301 && answer.head.contains(&format!("Location: {location}\r\n")), "{}", answer.head);
    }
    assert_eq!(site.answer("GET /page/ HTTP/1.1\r\nHost: a\r\n\r\n").status, 200);
}

#[test]
fn a_target_may_name_the_host() {
    let site = Site::new("absolute");
    for (target, status) in [("http://a/clip.mp4", 200), ("HTTP://a:80/clip.mp4?x", 200), ("http://a", 404)] {
        assert_eq!(site.answer(&format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n")).status, status, "{target}");
    }
}

#[test]
fn a_connection_lasts_unless_somebody_wants_it_to_end() {
    let site = Site::new("last");
    for (request, is_last) in [
        ("GET /clip.mp4 HTTP/1.1\r\nHost: a\r\n\r\n", false),
        ("GET /clip.mp4 HTTP/1.1\r\nHost: a\r\nConnection: Close\r\n\r\n", true),
        ("GET /clip.mp4 HTTP/1.1\r\nHost: a\r\nConnection: x\r\nConnection: y, close\r\n\r\n", true),
        ("GET /clip.mp4 HTTP/1.2\r\nHost: a\r\n\r\n", false),
        ("GET /clip.mp4 HTTP/1.0\r\n\r\n", true),
        ("GET /clip.mp4 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", false),
        ("nonsense\r\n\r\n", true),
        ("GET /clip.mp4 HTTP/3.0\r\n\r\n", true),
    ] {
        let answer = site.answer(request);
        assert_eq!(answer.is_last, is_last, "{request}");
        assert_eq!(answer.head.contains("Connection: close"), is_last);
    }
}

#[test]
fn a_head_without_end_is_refused() {
    let site = Site::new("head");
    let long = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}", "x".repeat(MAX_HEAD_BYTES));
    assert!(site.answer(&long).head.starts_with("HTTP/1.1 431"));
    assert!(site.ask(&long[..MAX_HEAD_BYTES - 1]).answer.is_none());
    let many = format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "a: b\r\n".repeat(101));
    assert!(site.answer(&many).head.starts_with("HTTP/1.1 431"));
}

/// Two requests in one packet, the first with a body in two pieces.
#[test]
fn an_upload_is_measured() {
    let site = Site::new("upload");
    let mut http = Http::default();
    let mut handle = |text: &str| http.handle(text.as_bytes(), &site.1, SystemTime::UNIX_EPOCH);
    let first = handle("PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\nab");
    assert_eq!(first.answer.unwrap().head, "HTTP/1.1 100 Continue\r\n\r\n");
    assert!(handle("ab").answer.is_none());
    let last = handle("cGET / HTTP/1.1");
    assert_eq!(last.consumed, 1);
    let answer = last.answer.unwrap();
    assert_eq!(answer.request, "PUT /x HTTP/1.1");
    let Some((_, Source::Bytes(body))) = answer.body else { panic!() };
    // sha256sum of "abc" (FIPS 180-4, appendix B.1).
    let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(body[..], *format!("{{\"bytes\":3,\"sha256\":\"{hash}\"}}\n").as_bytes());
    let older = handle("PUT /x HTTP/1.0\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
    assert!(older.answer.is_none(), "RFC 9110 §10.1.1: HTTP/1.0 knows no interim responses");
}

/// RFC 9112 §9.3: it ends with the answer, unless both say otherwise.
#[test]
fn a_connection_of_http_1_0_is_kept_where_both_say_so() {
    let site = Site::new("older");
    for (request, told) in [
        ("GET /clip.mp4 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "keep-alive"),
        ("PUT /x HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n", "keep-alive"),
        ("GET /clip.mp4 HTTP/1.0\r\n\r\n", "close"),
        ("GET /clip.mp4 HTTP/1.1\r\nHost: a\r\n\r\n", ""),
    ] {
        let answer = site.answer(request);
        assert_eq!(answer.is_last, told == "close", "{request}");
        let said = answer.head.split("\r\n").find_map(|line| line.strip_prefix("Connection: "));
        assert_eq!(said.unwrap_or_default(), told, "{request}");
    }
}

/// In two pieces; another request behind it.
#[test]
fn reports_are_handed_on_and_are_no_requests() {
    let site = Site::new("reports");
    let mut http = Http::default();
    let mut handle = |text: &str| http.handle(text.as_bytes(), &site.1, SystemTime::UNIX_EPOCH);
    let head = "POST /any HTTP/1.1\r\nHost: a\r\nContent-Type: application/cmcd\r\nContent-Length";
    assert!(handle(&format!("{head}: 10\r\n\r\n")).answer.is_none());
    assert!(handle("e=ps\n").answer.is_none());
    let last = handle("e=rr\nGET / HTTP/1.1");
    assert_eq!(last.consumed, 5);
    let answer = last.answer.unwrap();
    assert!(answer.head.starts_with("HTTP/1.1 204 No Content\r\n") && answer.body.is_none());
    assert_eq!(answer.reports.as_deref(), Some("e=ps\ne=rr\n"));
    assert_eq!(handle(&format!("{head}: 0\r\n\r\n")).answer.unwrap().reports.as_deref(), Some(""));
    let long = handle(&format!("{head}: {}\r\n\r\n", MAX_REPORT_BYTES + 1)).answer.unwrap();
    assert!(long.head.starts_with("HTTP/1.1 413") && long.is_last);
    handle("GET /clip.mp4 HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(http.requests, 2, "what was refused, and the file");
}

#[test]
fn what_a_client_tells_of_itself_is_read_from_query_or_headers() {
    let site = Site::new("cmcd");
    for request in [
        "GET /clip.mp4?CMCD=bl%3D2100%2Cbr%3D3200 HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /clip.mp4 HTTP/1.1\r\nHost: a\r\nCMCD-Request: bl=2100\r\nCMCD-Object: br=3200\r\n\r\n",
    ] {
        let (cmcd, len) = site.answer(request).cmcd.unwrap();
        assert_eq!((cmcd.bl_ms, cmcd.br_kbps, len), (Some(2100), Some(3200), 10));
    }
    assert!(site.answer("GET /clip.mp4 HTTP/1.1\r\nHost: a\r\n\r\n").cmcd.is_none());
}
