//! Client data: what players send, what a lenient and mistrustful server makes of it, worked numbers.

use playpath_units::{AppParameters, Duration, Rate};
use playpath_video::cmcd::{
    Cmcd, Event, ObjectType, PlayerState, ServerView, StreamType, StreamingFormat, Warning, parse, parse_headers,
    parse_query, percent_decode, percent_encode, report_lines,
};
use proptest::prelude::*;

fn hints(cmcd: &Cmcd, object_bytes: Option<u64>) -> (Option<AppParameters>, Vec<Warning>) {
    let mut warnings = Vec::new();
    let hints = ServerView::default().handle_request(cmcd, object_bytes, &mut warnings);
    (hints, warnings)
}

/// 1000 ms · 5240 kbit/s = 5 240 000 bit = 655 000 B = 448.6 packets of 1460 B: 448 whole ones.
#[test]
fn worked_playout_buffer() {
    let cmcd = parse("br=5240,ot=v").cmcd;
    let (hints, warnings) = hints(&cmcd, None);
    let hints = hints.unwrap();
    assert_eq!(warnings, []);
    assert_eq!(hints.playout_buffer_bytes, 655_000);
    assert_eq!(hints.playout_buffer_bytes / 1460, 448);
    assert_eq!(hints.video_rate, Rate::from_bits_per_sec(5_240_000));
    assert_eq!(hints.playout_buffer_free_bytes, None);
}

/// The target wins over the largest level seen, and that over the configured cache. Free = (12 000 − 4500) ms · 1000 / 8.
#[test]
fn playout_buffer_from_target_level_or_default() {
    let mut view = ServerView::default();
    let mut warnings = Vec::new();
    let mut ask = |text: &str| view.handle_request(&parse(text).cmcd, None, &mut warnings).unwrap();
    assert_eq!(ask("br=1000,ot=v,bl=0,su").playout_buffer_bytes, 125_000);
    assert_eq!(ask("br=1000,ot=v,bl=8000").playout_buffer_bytes, 1_000_000);
    assert_eq!(ask("br=1000,ot=v,bl=3000").playout_buffer_bytes, 1_000_000);
    let with_target = ask("br=(1000),ot=v,bl=(4500),tbl=(12000),v=2");
    assert_eq!(with_target.playout_buffer_bytes, 1_500_000);
    assert_eq!(with_target.playout_buffer_free_bytes, Some(937_500));
    assert!(ask("br=1000,ot=v,bs").is_urgent && !ask("br=1000,ot=v").is_urgent);
    assert_eq!(warnings, []);
}

/// What a sender is told of the object: its size and time, only both together, and the best that the client can choose.
#[test]
fn the_object_and_the_top_rate_are_passed_on() {
    let (shown, warnings) = hints(&parse("br=1000,ot=v,d=2000,tb=6000").cmcd, Some(250_000));
    let shown = shown.unwrap();
    assert_eq!((shown.object_bytes, shown.object_duration), (Some(250_000), Some(Duration::from_secs(2))));
    assert_eq!(shown.top_rate, Some(Rate::from_bits_per_sec(6_000_000)));
    assert_eq!(warnings, []);
    let (without, _) = hints(&parse("br=1000,ot=v").cmcd, Some(250_000));
    assert_eq!(without.map(|h| (h.object_bytes, h.object_duration, h.top_rate)), Some((None, None, None)));
    // Ten minutes in one object and 900 Mbit/s are cut to the limits, with a warning each.
    let (wild, warnings) = hints(&parse("br=1000,ot=v,d=600000,tb=900000").cmcd, Some(75_000_000));
    assert_eq!(wild.unwrap().object_duration, Some(Duration::from_secs(60)));
    assert_eq!(wild.unwrap().top_rate, Some(Rate::from_bits_per_sec(200_000_000)));
    assert_eq!(warnings.len(), 2);
}

/// Audio and video rates add; the playback rate multiplies: (5000 + 128) · 1.5 = 7692 kbit/s.
#[test]
fn video_rate_is_the_sum_over_object_types() {
    let mut view = ServerView::default();
    let mut warnings = Vec::new();
    view.handle_request(&parse("br=128,ot=a,pr=1.5").cmcd, None, &mut warnings);
    view.handle_request(&parse("ot=i,br=1").cmcd, None, &mut warnings);
    let hints = view.handle_request(&parse("br=5000,ot=v,pr=1.5,rtp=20000").cmcd, None, &mut warnings).unwrap();
    assert_eq!(hints.video_rate, Rate::from_bits_per_sec(7_692_000));
}

/// The object has 1 MB for 4 s: 2000 kbit/s. A claim of 100 Mbit/s is cut to four times that, one of 1 kbit/s raised to a quarter.
#[test]
fn lies_about_the_rate_are_limited_by_the_object() {
    for (claim, used) in [(100_000u64, 8000.0), (1, 500.0)] {
        let cmcd = Cmcd { br_kbps: Some(claim), d_ms: Some(4000), ..Cmcd::default() };
        let (hints, warnings) = hints(&cmcd, Some(1_000_000));
        assert_eq!(hints.unwrap().video_rate, Rate::from_bits_per_sec_f64(used * 1e3));
        assert_eq!(warnings, [Warning::Implausible { key: "br", got: claim as f64, used }]);
    }
}

/// Of an initialization segment Shaka Player and hls.js say `d=0`: its 802 bytes are no reason to doubt the rate.
#[test]
fn an_object_without_a_length_in_time_is_no_measure() {
    let shown = parse("br=1015,d=0,ot=i");
    assert_eq!((shown.cmcd.d_ms, &shown.warnings[..]), (Some(0), &[][..]));
    let (hints, warnings) = hints(&shown.cmcd, Some(802));
    assert_eq!((hints, &warnings[..]), (None, &[][..]), "and is no media");
}

#[test]
fn a_buffer_of_days_is_cut_and_reported() {
    let parsed = parse("br=1000,tbl=(999999999999)");
    assert_eq!(parsed.warnings, [Warning::Clamped { key: "tbl", got: 999_999_999_999.0, used: 3_600_000.0 }]);
    let (hints, warnings) = hints(&parsed.cmcd, None);
    // 60 s of 1000 kbit/s.
    assert_eq!(hints.unwrap().playout_buffer_bytes, 7_500_000);
    assert_eq!(warnings, [Warning::Clamped { key: "tbl", got: 3_600_000.0, used: 60_000.0 }]);
}

/// As dash.js 5 sends it by default (query mode, version 1).
#[test]
fn a_query_of_dash_js() {
    let query = "/seg-7.m4s?x=1&CMCD=bl%3D13500%2Cbr%3D700%2Ccid%3D%22abc%22%2Cd%3D2000%2Cdl%3D13500%2Cmtp%3D4300%2C\
                 nor%3D%22..%252Fseg-8.m4s%22%2Cot%3Dv%2Crtp%3D600%2Csf%3Dd%2Csid%3D%22b248658d-1d1a\
                 -4039-91d0-8c08ba597da5%22%2Cst%3Dv%2Csu%2Ctb%3D700";
    let parsed = parse_query(query);
    assert_eq!(parsed.warnings, []);
    let expected = Cmcd {
        bl_ms: Some(13_500),
        br_kbps: Some(700),
        cid: Some("abc".into()),
        d_ms: Some(2000),
        dl_ms: Some(13_500),
        mtp_kbps: Some(4300),
        nor: Some("../seg-8.m4s".into()),
        ot: Some(ObjectType::Video),
        rtp_kbps: Some(600),
        sf: Some(StreamingFormat::Dash),
        sid: Some("b248658d-1d1a-4039-91d0-8c08ba597da5".into()),
        st: Some(StreamType::OnDemand),
        su: true,
        tb_kbps: Some(700),
        ..Cmcd::default()
    };
    assert_eq!(parsed.cmcd, expected);
}

#[test]
fn inner_lists_give_the_value_of_the_object_type() {
    let text = "bl=(3000;v 2000;a),br=(3200;v),ot=a,sta=r,v=2";
    let parsed = parse(text);
    assert_eq!(parsed.warnings, []);
    assert_eq!(parsed.cmcd.bl_ms, Some(2000));
    assert_eq!(parsed.cmcd.br_kbps, Some(3200));
    assert_eq!(parsed.cmcd.sta, Some(PlayerState::Rebuffering));
}

#[test]
fn four_headers_are_one_dictionary() {
    let mut cmcd = parse("bl=1000,br=700,bs,d=2000,mtp=4300,ot=v,pr=1.25,rtp=600,sf=d,sid=\"s\",st=l,su,tb=700").cmcd;
    (cmcd.version, cmcd.tbl_ms, cmcd.ltc_ms) = (Some(2), Some(12_000), Some(3456));
    let headers = [
        ("cmcd-object", "br=(700),d=2000,ot=v,tb=(700)"),
        ("CMCD-Request", "bl=(1000),ltc=3456,mtp=(4300),su,tbl=(12000)"),
        ("CMCD-Session", "sf=d,sid=\"s\",st=l,v=2"),
        ("CMCD-Status", "bs,pr=1.25,rtp=600"),
        ("host", "br=1"),
    ];
    assert_eq!(parse_headers(headers).cmcd, cmcd);
}

#[test]
fn one_bad_member_costs_only_itself() {
    let parsed = parse("br=abc,bl=1000,=5,d=99x,su=\"yes\",com.example-Key=1,ot=zz,bl=2000,zzz=1,mtp=-5");
    assert_eq!(parsed.cmcd, Cmcd { bl_ms: Some(2000), mtp_kbps: Some(0), ..Cmcd::default() });
    let text: Vec<String> = parsed.warnings.iter().map(Warning::to_string).collect();
    assert_eq!(
        text,
        [
            "CMCD: \"=5\" is not key=value; ignored",
            "CMCD: \"d=99x\" is not key=value; ignored",
            "CMCD: `bl` came twice; the last counts",
            "CMCD: `ot` must be one of the standard's tokens; ignored",
            "CMCD: `br` must be a number; ignored",
            "CMCD: `su` must be a flag without value; ignored",
            "CMCD: `mtp` = -5 is out of range; 0 used",
        ]
    );
}

/// Levels and throughputs are rounded to 100, requested throughput up to 100.
#[test]
fn rounding() {
    let cmcd = Cmcd {
        bl_ms: Some(1049),
        dl_ms: Some(1050),
        mtp_kbps: Some(51),
        rtp_kbps: Some(401),
        tbl_ms: Some(30_000),
        ..Cmcd::default()
    };
    assert_eq!(cmcd.dictionary(), "bl=1000,dl=1100,mtp=100,rtp=500,tbl=30000");
    assert_eq!(cmcd.query().unwrap(), "CMCD=bl%3D1000%2Cdl%3D1100%2Cmtp%3D100%2Crtp%3D500%2Ctbl%3D30000");
    assert_eq!(Cmcd::default().query(), None);
}

fn any_cmcd() -> impl Strategy<Value = Cmcd> {
    let hundreds = |max: u64| proptest::option::of((0..=max / 100).prop_map(|x| x * 100));
    let text = || proptest::option::of("[ -~]{0,60}");
    (
        (hundreds(3_600_000), hundreds(3_600_000), hundreds(100_000_000), proptest::option::of(1u64..=1_000_000)),
        (text(), text(), text(), any::<bool>(), any::<bool>()),
        (proptest::option::of(0usize..9), proptest::option::of(0usize..10), proptest::option::of(0u32..=16_000)),
        any::<bool>(),
    )
        .prop_map(|((bl, tbl, mtp, br), (sid, cid, nor, bs, su), (ot, sta, pr), is_v2)| Cmcd {
            bl_ms: bl,
            tbl_ms: tbl,
            mtp_kbps: mtp,
            br_kbps: br,
            sid,
            cid,
            nor,
            bs,
            su,
            ot: ot.map(|i| ObjectType::ALL[i]),
            sta: sta.map(|i| PlayerState::ALL[i]),
            pr: pr.filter(|&pr| pr != 1000).map(|pr| f64::from(pr) / 1000.0),
            version: is_v2.then_some(2),
            ..Cmcd::default()
        })
}

proptest! {
    #[test]
    fn what_is_written_is_read(cmcd in any_cmcd()) {
        let parsed = parse(&cmcd.dictionary());
        prop_assert_eq!(&parsed.warnings, &vec![]);
        prop_assert_eq!(&parsed.cmcd, &cmcd);
        if let Some(query) = cmcd.query() {
            prop_assert_eq!(&parse_query(&query).cmcd, &cmcd);
        }
    }

    #[test]
    fn any_text_is_read_without_panic_and_within_bounds(
        text in "(\\PC{0,80}|((br|bl|su|sid|pr|tbl|ot|d|v)(=(-?[0-9]{1,20}(\\.[0-9]{1,5})?|\"[^\"]{0,20}\"?|\\([0-9a-z; ]{0,12}\\)?|[a-z]{1,3}))?,?){0,8})"
    ) {
        let cmcd = parse(&text).cmcd;
        parse_query(&text);
        prop_assert!(cmcd.br_kbps.is_none_or(|x| (1..=1_000_000).contains(&x)));
        prop_assert!(cmcd.bl_ms.max(cmcd.tbl_ms).is_none_or(|x| x <= 3_600_000));
        prop_assert!(cmcd.pr.is_none_or(|x| (0.0..=16.0).contains(&x)));
        let (hints, _) = hints(&cmcd, Some(1000));
        // 60 s of at most 200 Mbit/s.
        prop_assert!(hints.is_none_or(|h| h.playout_buffer_bytes <= 1_500_000_000 * 16));
    }

    #[test]
    fn percent_encoding_round_trips(text in "\\PC{0,40}") {
        prop_assert_eq!(percent_decode(&percent_encode(&text)), text);
    }
}

/// Lines as dash.js 5 and the SVTA's library write them; times beyond a structured field's range are cut.
#[test]
fn reports_of_event_mode() {
    let body =
        "bl=(4200),br=(800),e=ps,sta=r,ts=1700000000000,v=2\n\ne=rr,rc=200,ttfb=80,ttlb=950,url=\"a/1.m4s\",ts=1,v=2\n";
    let found: Vec<Cmcd> =
        report_lines(body).map(parse).inspect(|parsed| assert_eq!(parsed.warnings, [])).map(|p| p.cmcd).collect();
    assert_eq!((found[0].e, found[0].ts_ms), (Some(Event::PlayState), Some(1_700_000_000_000)));
    assert_eq!((found[1].rc, found[1].ttfb_ms, found[1].ttlb_ms), (Some(200), Some(80), Some(950)));
    let report = found[1].report();
    assert_eq!(report, "e=rr,rc=200,ts=1,ttfb=80,ttlb=950,url=\"a/1.m4s\",v=2\n");
}

/// Between requests: 4.2 s of 12 s at 800 kbit/s are left: (12 000 - 4200) ms x 800 / 8 = 780 000 B free. The object stays.
#[test]
fn a_report_tells_level_and_state_and_leaves_the_object() {
    let mut view = ServerView::default();
    let mut warnings = Vec::new();
    assert_eq!(view.handle_report(&parse("e=t,bl=(4200),v=2").cmcd, &mut warnings), None, "no rate is known");
    view.handle_request(&parse("br=(800),ot=v,d=2000,bl=(9000),tbl=(12000),v=2").cmcd, Some(200_000), &mut warnings);
    let mut tell = |text: &str| view.handle_report(&parse(text).cmcd, &mut warnings).unwrap();
    let shown = tell("e=t,bl=(4200),br=(800),sta=p,v=2");
    assert_eq!((shown.playout_buffer_free_bytes, shown.is_urgent), (Some(780_000), false));
    assert_eq!((shown.object_bytes, shown.object_duration), (Some(200_000), Some(Duration::from_secs(2))));
    assert!(tell("e=ps,bl=(0),sta=r,v=2").is_urgent, "it waits for data");
    // A report of a response tells a duration, and no bytes: what is being sent is still what was asked for last.
    assert_eq!(tell("e=rr,ot=v,br=(800),d=4000,bl=(6000),v=2").object_bytes, Some(200_000));
    assert_eq!(warnings, []);
}
