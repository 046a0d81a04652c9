//! The video: `[video]`. A real file's frame table, or a stated rate with a picture-size model.

use crate::direction::embedded;
use crate::manifest::{MANIFEST, ManifestSpec};
use crate::reader::Table;
use crate::{ReadFile, ScenarioError};
use playpath_units::{Duration, Kind, ParamSpec, Rate, TableSpec};
use playpath_video::Presentation;
use playpath_video::media::{self, FrameTable, GopModel, Media};
use playpath_video::quality::QualityTable;
use serde_json::{Value, json};
use std::sync::Arc;

const BUILT_IN: &str = "bigbuckbunny";

pub const VIDEO: TableSpec = TableSpec::new(
    "video",
    "What is played: a file, a manifest, or a stated rate and duration. Without it there is cross traffic alone.",
    &[
        ParamSpec::new(
            "source",
            Kind::File,
            "The built-in clip \"bigbuckbunny\", an MP4 file, a frame table (.csv), or a manifest.",
        )
        .or(BUILT_IN)
        .otherwise("frames of a modelled video of `rate` and `duration`")
        .example("\"clip.mp4\""),
        ParamSpec::new(
            "manifest",
            Kind::Either(&[Kind::File, Kind::Table(&MANIFEST)]),
            "MPD, HLS playlist or Sabre movie: the ladder that an adaptive player chooses from. Excludes the other keys but `quality`.",
        )
        .otherwise("none")
        .example("\"stream.mpd\""),
        ParamSpec::new("rate", Kind::Rate, "Mean rate; frames of a file are scaled to it.")
            .otherwise("the file's; without `source` the highest of a stated `player.ladder`, or it must be given")
            .example("\"5.24 Mbit/s\""),
        ParamSpec::new("duration", Kind::PositiveTime, "Playing time; a file is cut or repeated.")
            .otherwise("the file's; must be given without `source`")
            .example("\"120 s\""),
        ParamSpec::number("fps", 30.0, (1.0, 240.0), "frames/s", "Frame rate of a modelled video; excludes `source`.")
            .example("25"),
        ParamSpec::whole(
            "seed",
            1,
            (0, u64::MAX),
            "",
            "Random seed of the frame sizes of a modelled video, which are the same in every replication; excludes `source`.",
        ),
        ParamSpec::number(
            "scene_sd",
            0.0,
            (0.0, 2.0),
            "",
            "Standard deviation of the logarithm of a scene's rate in a modelled video, 0.4 for instance; excludes `source`.",
        )
        .since("0.2"),
        ParamSpec::text("scene_time", "8 s", Kind::PositiveTime, "Mean length of its scenes; excludes `source`.")
            .since("0.2"),
        ParamSpec::new(
            "quality",
            Kind::File,
            "Measured quality of an adaptive player's representations, a CSV table: `representation`, `segment` (may be left out), \
             and of `vmaf`, `ssimplus`, `ssim` what you have.",
        )
        .otherwise("none")
        .example("\"vmaf.csv\"")
        .since("0.2"),
    ],
);

#[derive(Clone)]
pub struct VideoSpec {
    source: Source,
    pub media: Arc<Media>,
    /// What a manifest offers, for adaptive players.
    pub presentation: Option<Presentation>,
    /// Measured quality of what an adaptive player chooses from.
    pub quality: Option<QualitySpec>,
    manifest: Option<ManifestSpec>,
}

/// A table of scores, with its text: it travels with the scenario.
#[derive(Clone)]
pub struct QualitySpec {
    pub table: QualityTable,
    text: String,
}

#[derive(Clone)]
enum Source {
    /// The committed clip, looped to a duration and scaled to a rate.
    BuiltIn {
        rate: Option<Rate>,
        duration: Option<Duration>,
    },
    /// A user's file. Its frame table travels with the scenario, so that a record is complete.
    File {
        table: String,
        rate: Option<Rate>,
        duration: Option<Duration>,
    },
    Model(GopModel),
}

impl VideoSpec {
    /// `highest_rung`: the rate of a modelled video that states none.
    pub(crate) fn read(
        table: &Table,
        highest_rung: Option<Rate>,
        read_file: ReadFile,
    ) -> Result<VideoSpec, ScenarioError> {
        let quality = read_quality(table, read_file)?;
        if let Some((manifest, presentation)) = ManifestSpec::read(table, read_file)? {
            let video = VideoSpec::of_manifest(manifest, presentation).map_err(|e| table.error("manifest", e))?;
            return Ok(VideoSpec { quality, ..video });
        }
        let (rate, duration) = (table.optional("rate"), table.optional("duration"));
        let of_model = ["fps", "seed", "scene_sd", "scene_time"].into_iter().find(|key| table.has(key));
        if let (Some(key), Some(_)) = (of_model, table.value("source")) {
            return Err(table.error(key, "describes a modelled video; `source` has its own frames"));
        }
        let (source, frames) = match table.value("source") {
            None => model(table, rate.or(highest_rung), duration)?,
            Some(Value::String(name)) if name == BUILT_IN => {
                (Source::BuiltIn { rate, duration }, fitted(table, media::big_buck_bunny(), rate, duration)?)
            }
            Some(_) => {
                let frames = read_source(table, read_file)?;
                let source = Source::File { table: frames.to_text(&[]), rate, duration };
                (source, fitted(table, frames, rate, duration)?)
            }
        };
        let media = Media::new(&frames).map_err(|e| table.error("source", e))?;
        Ok(VideoSpec { source, media: Arc::new(media), presentation: None, quality, manifest: None })
    }

    /// Pictures for players that need them: modelled at the highest rate that the manifest offers.
    fn of_manifest(manifest: ManifestSpec, presentation: Presentation) -> Result<VideoSpec, media::MediaError> {
        let rate = *presentation.video.bitrates().last().expect("a ladder has a rung");
        let (duration, fps) = (presentation.video.media_duration(), 30.0);
        let model = GopModel::new(rate, duration, fps);
        let (media, source) = (Arc::new(Media::new(&model.frame_table()?)?), Source::Model(model));
        Ok(VideoSpec { source, media, presentation: Some(presentation), quality: None, manifest: Some(manifest) })
    }

    /// Says of a live stream what it is to a player that has no distance to its edge.
    pub(crate) fn warn_if_live(&mut self) {
        let is_live = self.presentation.as_ref().is_some_and(|presentation| presentation.is_live);
        let length = self.duration();
        if let Some(manifest) = self.manifest.as_mut().filter(|_| is_live) {
            let what = format!("a live stream, played as a film of {length}; `player.latency_target` plays it live");
            manifest.warnings.push(what);
        }
    }

    /// What of a manifest was understood and not used.
    pub fn warnings(&self) -> impl Iterator<Item = String> + '_ {
        self.manifest.iter().flat_map(|manifest| &manifest.warnings).map(|warning| format!("manifest: {warning}"))
    }

    pub fn duration(&self) -> Duration {
        match &self.presentation {
            Some(presentation) => presentation.video.media_duration(),
            None => self.media.duration,
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        let mut json = self.source_json();
        if let Some(quality) = &self.quality {
            json["quality"] = json!({ "content": quality.text });
        }
        json
    }

    fn source_json(&self) -> Value {
        if let Some(manifest) = &self.manifest {
            return json!({ "manifest": manifest.to_json() });
        }
        let text = |value: &Option<Rate>| value.map(|r| r.to_string());
        let length = |value: &Option<Duration>| value.map(|d| d.to_string());
        match &self.source {
            Source::BuiltIn { rate, duration } => {
                json!({ "source": BUILT_IN, "rate": text(rate), "duration": length(duration) })
            }
            Source::File { table, rate, duration } => {
                json!({ "source": { "content": table }, "rate": text(rate), "duration": length(duration) })
            }
            Source::Model(model) => json!({
                "rate": model.rate.to_string(),
                "duration": model.duration.to_string(),
                "fps": model.fps,
                "seed": model.seed,
                "scene_sd": model.scene_sd,
                "scene_time": model.scene_time.to_string(),
            }),
        }
    }
}

fn read_quality(table: &Table, read_file: ReadFile) -> Result<Option<QualitySpec>, ScenarioError> {
    let Some(text) = embedded(table, "quality", read_file)? else { return Ok(None) };
    let parsed = QualityTable::parse(&text).map_err(|e| table.content_error("quality", e))?;
    Ok(Some(QualitySpec { table: parsed, text }))
}

fn model(table: &Table, rate: Option<Rate>, duration: Option<Duration>) -> Result<(Source, FrameTable), ScenarioError> {
    let rate = rate
        .ok_or_else(|| table.missing("rate", "give `source`, or `rate` and `duration`; or state a `player.ladder`"))?;
    let duration = duration.ok_or_else(|| table.missing("duration", "give it with a unit, such as \"60 s\""))?;
    // The same video for every replication: its seed is part of the video, not of the run.
    let model = GopModel {
        seed: table.get("seed"),
        scene_sd: table.get("scene_sd"),
        scene_time: table.get("scene_time"),
        ..GopModel::new(rate, duration, table.get("fps"))
    };
    let frames = model.frame_table().map_err(|e| table.error("rate", e))?;
    Ok((Source::Model(model), frames))
}

/// A file by its name's ending: a frame table (.csv), or an MP4 file.
fn read_source(table: &Table, read_file: ReadFile) -> Result<FrameTable, ScenarioError> {
    if let Some(content) = table.value("source").and_then(|source| source.get("content")) {
        return FrameTable::parse(content.as_str().expect("checked")).map_err(|e| table.error("source", e));
    }
    let name = table.text("source").expect("present");
    let bytes =
        read_file(name).map_err(|e| table.error("source", format!("{e}; the built-in clip is \"{BUILT_IN}\"")))?;
    let failed = |e: media::MediaError| table.error("source", format!("\"{name}\": {e}"));
    if name.ends_with(".json") {
        let remedy = "not an MP4 file; `ffmpeg -i VIDEO -c copy VIDEO.mp4` converts a video that ffprobe can read";
        return Err(table.error("source", format!("\"{name}\" is {remedy}")));
    }
    if !name.ends_with(".csv") {
        return media::parse_mp4(&bytes).map_err(failed);
    }
    let text =
        std::str::from_utf8(&bytes).map_err(|_| table.error("source", format!("\"{name}\" is not a text file")))?;
    FrameTable::parse(text).map_err(failed)
}

/// Looped to the duration, scaled to the rate.
fn fitted(
    table: &Table,
    mut frames: FrameTable,
    rate: Option<Rate>,
    duration: Option<Duration>,
) -> Result<FrameTable, ScenarioError> {
    if let Some(duration) = duration {
        frames = frames.looped(duration);
    }
    match rate {
        Some(rate) => frames.scaled(rate).map_err(|e| table.error("rate", e)),
        None => Ok(frames),
    }
}
