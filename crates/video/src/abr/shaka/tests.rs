use super::super::Download;
use super::super::testing::{context, download, ladder};
use super::*;
use playpath_units::Duration;

fn report(rule: &mut Shaka, at: f64, bytes: u64) -> Option<usize> {
    let ladder = ladder(&[500, 1000, 2000]);
    let now = Time::ZERO + Duration::from_secs_f64(at);
    let so_far = Download { bytes, requested_at: Time::ZERO, ..download(0, 1.0, 0.1) };
    let at = Context { now, ..context(&ladder, 5.0, 10.0, None) };
    rule.abandon(&at, &Progress { so_far, total_bytes: 1_000_000, reports: 1 }).map(|a| a.representation)
}

/// The first choice: 0.95 of 1 Mbit/s. 150 kB in 0.5 s (2.4 Mbit/s): 0.95 · 2.4 = 2.28: rung 2, at once. Then 8 s of rest: 20 kB in a
/// second each; at 8.5 s the smaller average has fallen to what carries rung 0. Less than 16 kB or 100 ms are no sample.
#[test]
fn a_choice_holds_for_8_s() {
    let ladder = ladder(&[500, 1000, 2000]);
    let mut rule = Shaka::new(&Params::defaults(PARAMS));
    let start = Context { now: Time::ZERO, ..context(&ladder, 0.0, 10.0, None) };
    assert_eq!(rule.choose(&start).representation(), Some(0));
    assert_eq!([report(&mut rule, 0.1, 150_000), report(&mut rule, 0.4, 15_000)], [None, None]);
    assert_eq!(report(&mut rule, 0.5, 150_000), Some(2));
    let later: Vec<_> = (1..=8).map(|i| report(&mut rule, 0.5 + f64::from(i), 150_000 + 20_000 * i as u64)).collect();
    assert_eq!(later[..7], [None; 7]);
    assert_eq!(later[7], Some(0));
}

/// Chunk by chunk, or mixed with the server's estimate, the given rate is sampled: 62.5 kB in half a second are 1 Mbit/s, the chunks
/// came with 4: 0.95 of that carries all rungs.
#[test]
fn the_pauses_between_chunks_do_not_count() {
    let ladder = ladder(&[500, 1000, 2000]);
    let mut rule = Shaka::new(&Params::defaults(PARAMS));
    let mut choice = None;
    for (at, bytes) in [(0.5, 62_500), (1.0, 125_000), (1.5, 187_500)] {
        let now = Time::ZERO + Duration::from_secs_f64(at);
        let so_far =
            Download { bytes, requested_at: Time::ZERO, burst_bits_per_sec: Some(4e6), ..download(0, 1.0, 0.1) };
        let at = Context { now, ..context(&ladder, 5.0, 10.0, None) };
        choice = rule.abandon(&at, &Progress { so_far, total_bytes: 1_000_000, reports: 1 }).or(choice);
    }
    assert_eq!(choice.map(|a| a.representation), Some(2));
}
