//! What we write of CTA-5004 and CTA-5006, through the SVTA's library that dash.js uses: it reads it, and writes it alike. Skipped where
//! Node.js or the packages of `tests/players` are not installed.

use playpath_video::cmcd::{Cmcd, Event, ObjectType, PlayerState, StreamType, StreamingFormat};
use playpath_video::cmsd::Cmsd;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A table of values: each key alone and all together, the ends of their ranges, characters that must be escaped.
fn lines() -> Vec<String> {
    let request = Cmcd {
        br_kbps: Some(3200),
        bl_ms: Some(4200),
        bs: true,
        su: true,
        d_ms: Some(4004),
        dl_ms: Some(4200),
        mtp_kbps: Some(25_400),
        rtp_kbps: Some(15_000),
        tb_kbps: Some(6000),
        pr: Some(1.25),
        sid: Some("6e2fb550-c457-11e9-bb97-0800200c9a66".into()),
        cid: Some("a \"b\" \\ c".into()),
        ot: Some(ObjectType::Video),
        sf: Some(StreamingFormat::Dash),
        st: Some(StreamType::Live),
        ..Cmcd::default()
    };
    let zero = Cmcd { br_kbps: Some(1), bl_ms: Some(0), d_ms: Some(1), mtp_kbps: Some(0), ..Cmcd::default() };
    let second = |cmcd: &Cmcd| Cmcd {
        tbl_ms: Some(12_000),
        sta: Some(PlayerState::Rebuffering),
        ltc_ms: Some(3456),
        version: Some(2),
        ..cmcd.clone()
    };
    let report = |event, cmcd: &Cmcd| Cmcd { e: Some(event), ts_ms: Some(1_700_000_000_000), ..second(cmcd) };
    let response = Cmcd {
        rc: Some(200),
        ttfb_ms: Some(80),
        ttlb_ms: Some(950),
        url: Some("video/1.m4s".into()),
        ..report(Event::ResponseReceived, &request)
    };
    let mut lines = Vec::new();
    for cmcd in [&request, &zero] {
        lines.push(format!("cmcd1 {}", cmcd.dictionary()));
        lines.push(format!("cmcd2 {}", second(cmcd).dictionary()));
        lines.extend(Event::ALL.iter().map(|&event| format!("event {}", report(event, cmcd).dictionary())));
    }
    lines.push(format!("event {}", response.dictionary()));
    for (etp, mb, rtt) in [(Some(5200), Some(3000), Some(48)), (Some(0), None, None), (None, Some(1), Some(0))] {
        lines.push(format!("cmsd {}", Cmsd { etp_kbps: etp, mb_kbps: mb, rtt_ms: rtt }.dynamic()));
    }
    lines
}

#[test]
fn the_library_writes_what_we_write() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/players");
    if !folder.join("node_modules/@svta/cml-cmsd").exists() {
        return eprintln!("skipped: npm ci in tests/players");
    }
    let program =
        Command::new("node").arg("cta.mjs").current_dir(&folder).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(mut node) = program else { return eprintln!("skipped: no Node.js") };
    let lines = lines();
    node.stdin.take().unwrap().write_all(lines.join("\n").as_bytes()).unwrap();
    let answer = String::from_utf8(node.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(answer.lines().count(), lines.len(), "{answer}");
    for (ours, theirs) in lines.iter().zip(answer.lines()) {
        assert_eq!(ours.split_once(' ').unwrap().1, theirs);
    }
}
