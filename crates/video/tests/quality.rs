//! Scores of a ladder: what a table says, what it refuses, and what a session made of it.

use playpath_units::{Duration, Rate};
use playpath_video::ObjectKind;
use playpath_video::ladder::Ladder;
use playpath_video::quality::{Measure, QualityTable, Scores, score_rungs};

/// Two rungs, three segments.
fn ladder() -> Ladder {
    let rates = [300, 800].map(|kbps| Rate::from_bits_per_sec(kbps * 1000));
    let second = Duration::from_secs(1);
    Ladder::of_rates(ObjectKind::Video, &rates, second * 2, second * 6).unwrap()
}

fn applied(text: &str) -> Result<Ladder, String> {
    QualityTable::parse(text).and_then(|table| table.apply(ladder())).map_err(|e| e.to_string())
}

#[test]
fn a_row_of_one_segment_goes_before_one_of_the_rung() {
    let text = "representation,segment,vmaf,ssim\n1,1,60.5,0.95\n0,,40,0.9\n1,,80,0.97\n";
    let ladder = applied(text).unwrap();
    let scores = |vmaf, ssim| Scores { vmaf: Some(vmaf), ssimplus: None, ssim: Some(ssim) };
    assert_eq!(ladder.scores(0, 0), scores(40.0, 0.9));
    assert_eq!([ladder.scores(0, 1), ladder.scores(1, 1)], [scores(80.0, 0.97), scores(60.5, 0.95)]);
    let by_name = applied("vmaf,representation\n80,800 kbit/s\n40,300 kbit/s\n").unwrap();
    assert_eq!([by_name.scores(2, 0).vmaf, by_name.scores(2, 1).vmaf], [Some(40.0), Some(80.0)]);
}

#[test]
fn what_does_not_fit_is_one_line_with_its_place() {
    for (text, expected) in [
        ("", "the table is empty"),
        ("representation,vmav\n", "line 1: column \"vmav\" is unknown; allowed: representation, segment, vmaf"),
        ("representation,segment\n", "line 1: the header needs representation and one of vmaf"),
        ("representation,vmaf,vmaf\n", "line 1: the header needs representation and one of vmaf"),
        ("representation,vmaf\n0,40,1\n", "line 2: 3 columns; the header has 2"),
        ("representation,vmaf\n0,101\n", "line 2: vmaf \"101\" is not allowed; allowed: 0 to 100"),
        ("representation,vmaf\n0,NaN\n", "line 2: vmaf \"NaN\" is not allowed"),
        ("representation,ssim\n0,1\n", "line 2: ssim \"1\" is not allowed; allowed: 0 to below 1"),
        ("representation,segment,vmaf\n0,-1,40\n", "line 2: segment \"-1\" is not a whole number"),
        ("representation,segment,vmaf\n0,,40\n1,3,40\n", "line 3: segment 3 is not there; allowed: 0 to 2"),
        ("representation,vmaf\n0,40\n2,80\n", "line 3: representation \"2\" is not there; allowed: 0 to 1"),
        ("representation,segment,vmaf\n0,,40\n1,0,80\n", "segment 1 of representation \"800 kbit/s\" has no vmaf"),
    ] {
        let error = applied(text).expect_err(text);
        assert!(error.starts_with(expected) && error.lines().count() == 1, "{error}");
    }
}

#[test]
fn scores_of_the_rungs() {
    let ladder = score_rungs(ladder(), Measure::Vmaf, &Measure::Vmaf.parse_list("40, 80").unwrap()).unwrap();
    assert_eq!((ladder.scores(2, 1).vmaf, ladder.scores(2, 1).ssim), (Some(80.0), None));
    let both = score_rungs(ladder.clone(), Measure::Ssim, &[0.9, 0.95]).unwrap();
    assert_eq!((both.scores(0, 0).vmaf, both.scores(0, 0).ssim), (Some(40.0), Some(0.9)));
    assert_eq!(
        score_rungs(both, Measure::Ssim, &[0.9]).unwrap_err(),
        "`ssim` has 1 scores; the video has 2 representations"
    );
    assert!(score_rungs(ladder, Measure::Vmaf, &[1.0, 2.0]).unwrap_err().contains("`video.quality`"));
    assert!(Measure::Vmaf.parse_list("40,,80").is_err());
}
