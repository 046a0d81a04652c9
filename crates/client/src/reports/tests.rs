use super::*;
use crate::plan::Protocol;
use playpath_video::cmcd::{Event, parse, report_lines};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;

fn place(listener: &TcpListener) -> Place {
    let server = listener.local_addr().unwrap();
    Place { server, client: None, path: "/cmcd".into(), protocol: Protocol::Tcp }
}

/// Reads a POST: its first line and its body.
fn take(lines: &mut impl BufRead) -> (String, String) {
    let mut line = || {
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        line.trim_end().to_string()
    };
    let first = line();
    let head: Vec<String> = std::iter::repeat_with(&mut line).take_while(|line| !line.is_empty()).collect();
    let length = head.iter().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    lines.read_exact(&mut body).unwrap();
    (first, String::from_utf8(body).unwrap())
}

fn drive(reports: &mut Reports, until: impl Fn(&Reports) -> bool) -> io::Result<()> {
    while !until(reports) {
        poll(&mut [reports.poll_fd().unwrap()], None).unwrap();
        reports.handle()?;
    }
    Ok(())
}

#[test]
fn reports_arrive_one_after_the_other_and_their_answers_are_read() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = place(&listener);
    let mut reports = Reports::new(&place, "s1".into());
    let mut cmcd = Cmcd { e: Some(Event::PlayState), ts_ms: Some(1500), version: Some(2), ..Cmcd::default() };
    reports.sign(&mut cmcd);
    // Two before the handshake is done.
    reports.send(&cmcd).unwrap();
    reports.send(&Cmcd { ts_ms: Some(1600), ..cmcd.clone() }).unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    drive(&mut reports, |reports| reports.unsent.is_empty()).unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap());
    for ts in [1500, 1600] {
        let (first, body) = take(&mut lines);
        assert_eq!(first, "POST /cmcd HTTP/1.1");
        let shown: Vec<_> = report_lines(&body).map(|line| parse(line).cmcd).collect();
        assert_eq!(shown, [Cmcd { ts_ms: Some(ts), ..cmcd.clone() }]);
    }
    assert_eq!((reports.count, cmcd.sid.as_deref()), (2, Some("s1")));
    // Two answers in one piece, the third a refusal.
    let answer = "HTTP/1.1 204 No Content\r\nServer: x\r\n\r\n";
    stream.write_all(format!("{answer}{answer}HTTP/1.1 404 Not Found\r\n\r\n").as_bytes()).unwrap();
    let refused = drive(&mut reports, |_| false).unwrap_err();
    assert_eq!(refused.to_string(), "the collector answered `HTTP/1.1 404 Not Found`, not 204");
}

#[test]
fn a_collector_that_goes_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = place(&listener);
    let mut reports = Reports::new(&place, "s1".into());
    assert!(reports.poll_fd().is_none());
    reports.send(&Cmcd::default()).unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    drive(&mut reports, |reports| reports.unsent.is_empty()).unwrap();
    let _ = stream.read(&mut [0; 1024]).unwrap();
    drop(stream);
    let error = drive(&mut reports, |_| false).unwrap_err();
    assert_eq!(error.to_string(), "the collector closed the connection");
}
