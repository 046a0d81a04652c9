//! Prints a frame table: `frame_table clip`, or `frame_table model RATE DURATION FPS SEED`, e.g. `model "1.2 Mbit/s" "60 s" 25 1`.
//! `docs/figures/media_model.py` draws its figure from these.

use playpath_video::media::{FrameTable, GopModel, big_buck_bunny};

const USAGE: &str = "usage: frame_table clip | frame_table model RATE DURATION FPS SEED";

fn main() -> Result<(), String> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let table = match words[..] {
        ["clip"] => big_buck_bunny(),
        ["model", rate, duration, fps, seed] => model(rate, duration, fps, seed)?,
        _ => return Err(USAGE.into()),
    };
    print!("{}", table.to_text(&[]));
    Ok(())
}

fn model(rate: &str, duration: &str, fps: &str, seed: &str) -> Result<FrameTable, String> {
    let rate = rate.parse().map_err(|e| format!("{e}"))?;
    let duration = duration.parse().map_err(|e| format!("{e}"))?;
    let fps = fps.parse().map_err(|e| format!("fps \"{fps}\": {e}"))?;
    let seed = seed.parse().map_err(|e| format!("seed \"{seed}\": {e}"))?;
    GopModel { seed, ..GopModel::new(rate, duration, fps) }.frame_table().map_err(|e| e.to_string())
}
