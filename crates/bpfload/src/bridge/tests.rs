use super::*;
use crate::controls::find;
use playpath_units::Rate;
use playpath_video::cmcd::MAX_RATE_RATIO;
use serde_json::json;

/// Head and body of a complete request.
fn read(text: &str) -> (Head, String) {
    let (mut client, mut server) = UnixStream::pair().unwrap();
    client.write_all(text.as_bytes()).unwrap();
    read_request(&mut server, Instant::now() + Duration::from_secs(10)).unwrap()
}

#[test]
fn a_dead_bridges_socket_is_taken_over_and_nothing_else() {
    let folder = std::env::temp_dir().join(format!("playpath-agent-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("agent.sock");
    drop(UnixListener::bind(&path).unwrap()); // the file stays
    umask(Mode::empty());
    let alive = listen(&path).unwrap();
    let (socket, owner) = (fs::metadata(&path).unwrap(), fs::metadata(&folder).unwrap().uid());
    assert_eq!((socket.mode() & 0o777, socket.uid()), (0o600, owner));
    assert_eq!(listen(&path).unwrap_err().kind(), ErrorKind::AddrInUse);
    drop(alive);
    let file = folder.join("a-file");
    fs::write(&file, "text").unwrap();
    assert_eq!(listen(&file).unwrap_err().kind(), ErrorKind::AddrInUse);
    assert_eq!(fs::read_to_string(&file).unwrap(), "text");
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_peer_and_the_client_data_are_read_from_what_nginx_passes_on() {
    let text = "GET / HTTP/1.0\r\nX-Playpath-Peer: 10.0.0.2:4711\r\nX-Playpath-Uri: /a.mp4?CMCD=bl%3D900\r\n\r\n";
    let (head, _) = read(text);
    let shown = Question::of(&head, "").unwrap();
    assert_eq!(shown.peer, "10.0.0.2:4711".parse().unwrap());
    assert_eq!(shown.query, Some("CMCD=bl%3D900"));
    let (head, _) = read("GET / HTTP/1.0\r\nX-Playpath-Peer: 10.0.0.2:4711\r\nCMCD-Request: bl=900\r\n\r\n");
    let plain = Question::of(&head, "").unwrap();
    assert_eq!(plain.query, None);
    assert!(plain.head.field("CMCD-Request") == Some("bl=900"));
    assert!(Question::of(&read("GET / HTTP/1.0\r\nX-Playpath-Peer: nobody\r\n\r\n").0, "").is_none());
}

#[test]
fn a_peer_may_have_an_ipv6_address() {
    for (text, address) in [
        ("10.0.0.2:4711", "10.0.0.2:4711"),
        ("2001:db8::2:4711", "[2001:db8::2]:4711"),
        ("[2001:db8::2]:4711", "[2001:db8::2]:4711"),
    ] {
        assert_eq!(peer(text), Some(address.parse().unwrap()), "{text}");
    }
    assert_eq!(peer("2001:db8::2"), None, "a port of 2 at 2001:db8: is no address");
}

#[test]
fn a_request_that_drips_is_dropped_when_its_time_is_over() {
    let (mut client, mut server) = UnixStream::pair().unwrap();
    client.write_all(b"GET / HTTP/1.0\r\nX: ").unwrap();
    let over = Instant::now();
    assert_eq!(read_request(&mut server, over).unwrap_err().kind(), ErrorKind::TimedOut);
    // A byte every millisecond, without an end: each read is quick, the request is not.
    let dripping = std::thread::spawn(move || {
        while client.write_all(b"x").is_ok() {
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let error = read_request(&mut server, Instant::now() + Duration::from_millis(20)).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock), "{error}");
    drop(server);
    dripping.join().unwrap();
}

#[test]
fn a_claim_is_held_against_the_size_of_what_is_served() {
    let file = std::env::temp_dir().join(format!("playpath-object-{}", std::process::id()));
    fs::write(&file, vec![0; 65_500]).unwrap();
    let head = format!("GET / HTTP/1.0\r\nX-Playpath-Peer: 10.0.0.2:1\r\nX-Playpath-File: {}\r\n", file.display());
    let size = |more: &str| Question::of(&read(&format!("{head}{more}\r\n")).0, "").unwrap().object_bytes();
    assert_eq!(size(""), Some(65_500));
    assert_eq!(size("Range: bytes=100-299\r\n"), Some(200));
    assert_eq!(size("Range: bytes=100-\r\n"), Some(65_400));
    assert_eq!(size("Range: bytes=-500\r\n"), Some(500));
    // What a range claims beyond the file is not served, and what is not one part is the file.
    for range in ["0-99999999999", "-18446744073709551615", "300-100", "0-1,3-4", "70000-", "nonsense"] {
        assert_eq!(size(&format!("Range: bytes={range}\r\n")), Some(65_500), "{range}");
    }
    // 65 500 bytes that last 100 ms are 5240 kbit/s, and no 200 000.
    let text = format!("{head}CMCD-Object: br=200000,d=100\r\n\r\n");
    let (head, _) = read(&text);
    let question = Question::of(&head, "").unwrap();
    let cmcd = parse_headers(head.fields.iter().map(|(name, value)| (&**name, &**value))).cmcd;
    let (mut view, mut warnings) = (ServerView::default(), Vec::new());
    let hints = view.handle_request(&cmcd, question.object_bytes(), &mut warnings).unwrap();
    assert_eq!(hints.video_rate, Rate::from_bits_per_sec_f64(5_240e3 * MAX_RATE_RATIO));
    assert_eq!(warnings.len(), 1);
    fs::remove_file(&file).unwrap();
    assert_eq!(size(""), None);
}

#[test]
fn a_post_is_read_with_its_body_and_what_is_too_long_is_dropped() {
    let read = |text: &str| {
        let (mut client, mut server) = UnixStream::pair().unwrap();
        let text = text.to_string();
        let writing = std::thread::spawn(move || drop(client.write_all(text.as_bytes())));
        let found = read_request(&mut server, Instant::now() + Duration::from_secs(10));
        drop(server);
        writing.join().unwrap();
        found
    };
    let body = "e=ps,sid=\"a\"\ne=t,sid=\"a\"\n";
    let head = "POST /reports HTTP/1.0\r\nX-Playpath-Peer: 10.0.0.2:4711\r\nX-Playpath-Local: 10.0.0.1:80\r\n";
    let (post, read_body) = read(&format!("{head}Content-Length: {}\r\n\r\n{body}", body.len())).unwrap();
    let question = Question::of(&post, &read_body).unwrap();
    assert_eq!((&*post.method, &*post.target), OF_PLAYER);
    assert_eq!((question.body, question.local), (body, Some("10.0.0.1:80".parse().unwrap())));
    assert_eq!(report_lines(question.body).collect::<Vec<_>>(), ["e=ps,sid=\"a\"", "e=t,sid=\"a\""]);
    let long = "x".repeat(MAX_BODY + MAX_HEAD_BYTES);
    for (text, error) in [
        (format!("{head}Content-Length: 99999999\r\n\r\n{long}"), "a request that does not end"),
        (format!("{head}X: {long}"), "a head of more than 16 KiB"),
    ] {
        assert_eq!(read(&text).unwrap_err().to_string(), error);
    }
}

#[test]
fn reports_are_kept_and_concern_the_session_that_they_name() {
    let folder = std::env::temp_dir().join(format!("playpath-reports-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("reports.jsonl");
    let mut bridge = CmcdBridge::new(None, BufferMode::Free).collecting(File::create(&path).unwrap());
    let ask = |bridge: &mut CmcdBridge, peer: &str, query: &str| {
        let text = format!("GET / HTTP/1.0\r\nX-Playpath-Peer: {peer}\r\nX-Playpath-Uri: /a?CMCD={query}\r\n\r\n");
        bridge.take(&Question::of(&read(&text).0, "").unwrap()).unwrap();
    };
    ask(&mut bridge, "10.0.0.2:1", "br%3D1000%2Cbl%3D900%2Csid%3D%22a%22");
    ask(&mut bridge, "10.0.0.2:2", "br%3D1000%2Csid%3D%22a%22");
    let body = "bl=(200),br=(2000),e=ps,sid=\"a\",sta=r\n\nbl=(300),br=(9000),e=t,sid=\"b\"\n";
    let (post, _) = read("POST /reports HTTP/1.0\r\nX-Playpath-Peer: 10.0.0.2:3\r\n\r\n");
    bridge.collect(&Question::of(&post, body).unwrap()).unwrap();
    let shown = &bridge.sessions["a"];
    assert_eq!(shown.peers, ["10.0.0.2:1", "10.0.0.2:2"].map(|peer| peer.parse().unwrap()));
    let mut view = shown.view.clone();
    let hints = view.handle_request(&playpath_video::Cmcd::default(), None, &mut Vec::new()).unwrap();
    assert_eq!(hints.video_rate, Rate::from_bits_per_sec(2_000_000), "what the report told is known");
    assert!(!bridge.sessions.contains_key("b"), "a stranger's report makes no session");
    let kept = fs::read_to_string(&path).unwrap();
    let reports: Vec<serde_json::Value> = kept.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(reports.len(), 2);
    assert_eq!(reports[0]["report"], "bl=(200),br=(2000),e=ps,sid=\"a\",sta=r");
    assert_eq!((&reports[1]["peer"], &reports[1]["port"]), (&json!("10.0.0.2"), &json!(3)));
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_session_has_its_latest_connections_only() {
    let mut shown = CmcdSession::new();
    let peer = |port: u16| SocketAddr::new([10, 0, 0, 2].into(), port);
    (0..100).chain([90]).for_each(|port| shown.note(peer(port)));
    assert_eq!((shown.peers.len(), shown.peers[0], shown.peers[MAX_PEERS - 1]), (MAX_PEERS, peer(84), peer(90)));
}

#[test]
fn an_answer_tells_what_the_kernel_knows_and_the_suggestion() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (server, peer) = listener.accept().unwrap();
    let local = server.local_addr().unwrap();
    let ask = |bridge: &CmcdBridge, peer: SocketAddr| {
        let text = format!("GET / HTTP/1.0\r\nX-Playpath-Peer: {peer}\r\nX-Playpath-Local: {local}\r\n\r\n");
        bridge.server_data(&Question::of(&read(&text).0, "").unwrap())
    };
    let silent = CmcdBridge::new(None, BufferMode::Size);
    assert_eq!(ask(&silent, peer), "");
    let bridge = silent.with_estimates(Diag::open().unwrap(), Some(Rate::from_bits_per_sec(3_000_000)));
    let header = ask(&bridge, peer);
    let shown = Cmsd::parse(header.strip_prefix("CMSD-Dynamic: ").unwrap().trim());
    assert_eq!(shown.mb_kbps, Some(3000));
    assert!(shown.rtt_ms.is_some_and(|rtt| rtt < 1000), "{header}");
    // Nobody's connection: the suggestion holds all the same.
    assert_eq!(ask(&bridge, "203.0.113.9:1".parse().unwrap()), "CMSD-Dynamic: \"origin\";mb=3000\r\n");
    drop(client);
}

#[test]
fn a_control_gets_what_it_takes_and_no_more_than_its_range() {
    let hints = AppParameters {
        playout_buffer_bytes: 655_000,
        playout_buffer_free_bytes: Some(65_500),
        video_rate: Rate::from_bits_per_sec(5_240_000),
        is_urgent: true,
        ..AppParameters::default()
    };
    let outcome = |control: &str, hints: &AppParameters, mode| -> Vec<(&str, ParamValue)> {
        let values = values(find(control).unwrap(), hints, mode);
        values.into_iter().map(|(slot, value)| (slot.spec.name, value)).collect()
    };
    let (number, urgent) = (ParamValue::Number, ("urgent", ParamValue::Flag(true)));
    assert_eq!(outcome("ccplb", &hints, BufferMode::Size), [("pob_bytes", number(655_000.0)), urgent]);
    assert_eq!(outcome("ccplb", &hints, BufferMode::Free)[0], ("pob_bytes", number(65_500.0)));
    assert_eq!(outcome("ccplca", &hints, BufferMode::Size), [("video_kbps", number(5240.0))]);
    assert!(outcome("vegas", &hints, BufferMode::Size).is_empty());
    let whole = AppParameters {
        object_bytes: Some(1_310_000),
        object_duration: Some(playpath_units::Duration::from_millis(2_000)),
        top_rate: Some(Rate::from_bits_per_sec(5_240_000)),
        ..hints
    };
    let of_slack = [
        ("pob_bytes", number(655_000.0)),
        ("pob_free_bytes", number(65_500.0)),
        ("video_kbps", number(5240.0)),
        ("object_bytes", number(1_310_000.0)),
        ("object_ms", number(2_000.0)),
        urgent,
        ("top_kbps", number(5240.0)),
    ];
    assert_eq!(outcome("slack", &whole, BufferMode::Free), of_slack);
    // Nothing of the level, the object, or the best rate: words that the law takes for "not told".
    let little = outcome("slack", &AppParameters { playout_buffer_free_bytes: None, ..hints }, BufferMode::Size);
    assert_eq!(little[1], ("pob_free_bytes", number(f64::from(u32::MAX))));
    assert_eq!(little[3..5], [("object_bytes", number(0.0)), ("object_ms", number(0.0))]);
    assert_eq!(little[6], ("top_kbps", number(0.0)));
    let huge = AppParameters { playout_buffer_bytes: u64::MAX, ..hints };
    assert_eq!(outcome("ccplb", &huge, BufferMode::Size)[0], ("pob_bytes", number(1e9)));
}
