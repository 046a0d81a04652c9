use super::*;

/// dash.js: 1 s three times; hls.js: 1, 2, 4, 8, 8, 8 s, nothing after time-outs; Shaka: 1 s once; ExoPlayer: 0, 1, 2 s.
#[test]
fn waits_are_those_of_the_sources() {
    let waits = |retries: Retries, is_timeout| -> Vec<f64> {
        (1..).map_while(|number| retries.wait(number, is_timeout)).map(|wait| wait.as_secs_f64()).collect()
    };
    assert_eq!(waits(Retries::DASH_JS, false), [1.0, 1.0, 1.0]);
    assert_eq!(waits(Retries::HLS_JS, false), [1.0, 2.0, 4.0, 8.0, 8.0, 8.0]);
    assert_eq!(waits(Retries::HLS_JS, true), [0.0; 4]);
    assert_eq!(waits(Retries::SHAKA, true), [1.0]);
    assert_eq!(waits(Retries::EXOPLAYER, false), [0.0, 1.0, 2.0]);
}
