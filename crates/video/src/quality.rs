//! Perceptual quality of a ladder's representations, measured beforehand with the user's own tools: VMAF, SSIMplus, SSIM. Scores are
//! data: one for each rung, or for each segment of each rung.
//!
//! Table: CSV with a header. `representation` is an id of the manifest, or where not every row names one, a number from 0 (the
//! lowest rate); `segment` (may be left out, or empty: all segments of the rung) a number from 0; then one column or more of
//! `vmaf` (0 to 100), `ssimplus` (0 to 100), `ssim` (0 to below 1). A row for a segment takes precedence over one for the rung.
//!
//! Scores must cover the whole ladder: a mean over a measured part only would compare senders on different films. Tested by
//! `tests/quality.rs`.

use crate::ladder::Ladder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Scores of a segment in one representation; `None`, in JSON absent: not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scores {
    /// VMAF, 0 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    pub vmaf: Option<f64>,
    /// SSIMplus, 0 to 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    pub ssimplus: Option<f64>,
    /// SSIM, 0 to below 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    pub ssim: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    Vmaf,
    /// Rehman, Zeng and Wang's SSIMplus.
    SsimPlus,
    /// Wang et al.'s SSIM index.
    Ssim,
}

impl Measure {
    pub const ALL: [Measure; 3] = [Measure::Vmaf, Measure::SsimPlus, Measure::Ssim];

    /// Its name in a table's header, and in `[player]`.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Vmaf => "vmaf",
            Measure::SsimPlus => "ssimplus",
            Measure::Ssim => "ssim",
        }
    }

    pub fn parse(self, text: &str) -> Result<f64, String> {
        let score = text.trim().parse::<f64>().ok().filter(|score| score.is_finite());
        let (is_allowed, allowed) = match self {
            Measure::Vmaf | Measure::SsimPlus => (score.is_some_and(|s| (0.0..=100.0).contains(&s)), "0 to 100"),
            Measure::Ssim => (score.is_some_and(|s| (0.0..1.0).contains(&s)), "0 to below 1"),
        };
        let name = self.name();
        score
            .filter(|_| is_allowed)
            .ok_or_else(|| format!("{name} \"{}\" is not allowed; allowed: {allowed}", cut(text)))
    }

    /// A score for each rung, separated by commas.
    pub fn parse_list(self, text: &str) -> Result<Vec<f64>, String> {
        text.split(',').map(|score| self.parse(score)).collect()
    }
}

impl Scores {
    pub fn get(&self, measure: Measure) -> Option<f64> {
        match measure {
            Measure::Vmaf => self.vmaf,
            Measure::SsimPlus => self.ssimplus,
            Measure::Ssim => self.ssim,
        }
    }

    fn slot(&mut self, measure: Measure) -> &mut Option<f64> {
        match measure {
            Measure::Vmaf => &mut self.vmaf,
            Measure::SsimPlus => &mut self.ssimplus,
            Measure::Ssim => &mut self.ssim,
        }
    }
}

/// A table as read; it is matched to a ladder later.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QualityTable {
    measures: Vec<Measure>,
    rows: Vec<Row>,
}

#[derive(Clone, Debug, PartialEq)]
struct Row {
    line: u32,
    representation: String,
    segment: Option<usize>,
    scores: Scores,
}

enum Column {
    Representation,
    Segment,
    Of(Measure),
}

impl QualityTable {
    pub fn parse(text: &str) -> Result<QualityTable, String> {
        let mut lines = (1..).zip(text.trim_start_matches('\u{feff}').lines());
        let mut lines = lines.by_ref().filter(|(_, line)| !line.trim().is_empty());
        let (line, header) = lines.next().ok_or_else(|| at(0, "the table is empty".into()))?;
        let columns = header.split(',').map(column).collect::<Result<Vec<_>, _>>().map_err(|e| at(line, e))?;
        let names = |wanted: fn(&Column) -> bool| columns.iter().filter(|&c| wanted(c)).count();
        let measures: Vec<Measure> = columns.iter().filter_map(Column::measure).collect();
        let has_twice = (1..measures.len()).any(|i| measures[..i].contains(&measures[i]));
        let is_whole = names(|c| matches!(c, Column::Representation)) == 1
            && names(|c| matches!(c, Column::Segment)) <= 1
            && !measures.is_empty()
            && !has_twice;
        if !is_whole {
            return Err(at(line, "the header needs representation and one of vmaf, ssimplus, ssim, each once".into()));
        }
        let rows = lines.map(|(line, text)| row(line, text, &columns)).collect::<Result<_, _>>()?;
        Ok(QualityTable { measures, rows })
    }

    /// A ladder with these scores. Error: a row that fits nothing in it, or a score that is not there.
    pub fn apply(&self, ladder: Ladder) -> Result<Ladder, String> {
        let ids: BTreeMap<&str, usize> =
            ladder.representations().iter().enumerate().map(|(rung, r)| (r.id.as_str(), rung)).collect();
        let by_id = self.rows.iter().all(|row| ids.contains_key(row.representation.as_str()));
        let mut scores = vec![Scores::default(); ladder.segments() * ladder.count()];
        for is_of_segment in [false, true] {
            for row in self.rows.iter().filter(|row| row.segment.is_some() == is_of_segment) {
                let rung = if by_id { ids.get(row.representation.as_str()).copied() } else { row.number(&ladder) };
                let rung = rung.ok_or_else(|| at(row.line, unknown(&row.representation, &ladder)))?;
                for segment in row.segments(&ladder)? {
                    scores[segment * ladder.count() + rung] = row.scores;
                }
            }
        }
        let hole = scores.iter().enumerate().find_map(|(place, scores)| {
            let measure = self.measures.iter().find(|&&measure| scores.get(measure).is_none())?;
            Some((place, measure))
        });
        if let Some((place, measure)) = hole {
            let (segment, id) = (place / ladder.count(), &ladder.representations()[place % ladder.count()].id);
            let name = measure.name();
            return Err(at(
                0,
                format!("segment {segment} of representation \"{id}\" has no {name}; all must have one"),
            ));
        }
        Ok(ladder.with_scores(scores))
    }
}

/// A ladder whose rungs have these scores, in every segment. Error: another number of scores than of rungs, or they have scores of
/// this kind already.
pub fn score_rungs(ladder: Ladder, measure: Measure, scores: &[f64]) -> Result<Ladder, String> {
    let (name, got, count) = (measure.name(), scores.len(), ladder.count());
    if got != count {
        return Err(format!("`{name}` has {got} scores; the video has {count} representations"));
    }
    if ladder.scores(0, 0).get(measure).is_some() {
        return Err(format!("`{name}` is also in `video.quality`; give only one of them"));
    }
    let place = |place: usize| ladder.scores(place / count, place % count);
    let mut all: Vec<Scores> = (0..ladder.segments() * count).map(place).collect();
    for (place, all) in all.iter_mut().enumerate() {
        *all.slot(measure) = Some(scores[place % count]);
    }
    Ok(ladder.with_scores(all))
}

impl Column {
    fn measure(&self) -> Option<Measure> {
        if let Column::Of(measure) = self { Some(*measure) } else { None }
    }
}

impl Row {
    fn number(&self, ladder: &Ladder) -> Option<usize> {
        self.representation.parse().ok().filter(|&rung| rung < ladder.count())
    }

    fn segments(&self, ladder: &Ladder) -> Result<std::ops::Range<usize>, String> {
        match self.segment {
            None => Ok(0..ladder.segments()),
            Some(segment) if segment < ladder.segments() => Ok(segment..segment + 1),
            Some(segment) => {
                let last = ladder.segments() - 1;
                Err(at(self.line, format!("segment {segment} is not there; allowed: 0 to {last}")))
            }
        }
    }
}

fn column(name: &str) -> Result<Column, String> {
    let measure = |name: &str| Measure::ALL.into_iter().find(|measure| measure.name() == name);
    match name.trim() {
        "representation" => Ok(Column::Representation),
        "segment" => Ok(Column::Segment),
        name => measure(name).map(Column::Of).ok_or_else(|| {
            format!("column \"{}\" is unknown; allowed: representation, segment, vmaf, ssimplus, ssim", cut(name))
        }),
    }
}

fn row(line: u32, text: &str, columns: &[Column]) -> Result<Row, String> {
    let cells: Vec<&str> = text.split(',').map(str::trim).collect();
    if cells.len() != columns.len() {
        return Err(at(line, format!("{} columns; the header has {}", cells.len(), columns.len())));
    }
    let mut row = Row { line, representation: String::new(), segment: None, scores: Scores::default() };
    for (cell, column) in cells.into_iter().zip(columns) {
        match column {
            Column::Representation => row.representation = cell.into(),
            Column::Segment if cell.is_empty() => {}
            Column::Segment => {
                let wrong = || at(line, format!("segment \"{}\" is not a whole number from 0", cut(cell)));
                row.segment = Some(cell.parse().map_err(|_| wrong())?);
            }
            Column::Of(measure) => *row.scores.slot(*measure) = Some(measure.parse(cell).map_err(|e| at(line, e))?),
        }
    }
    Ok(row)
}

fn unknown(name: &str, ladder: &Ladder) -> String {
    let ids: Vec<String> = ladder.representations().iter().map(|r| format!("\"{}\"", cut(&r.id))).collect();
    let last = ladder.count() - 1;
    format!("representation \"{}\" is not there; allowed: 0 to {last}, or for all rows {}", cut(name), ids.join(", "))
}

/// The error with its place; line 0: it has none.
fn at(line: u32, problem: String) -> String {
    if line == 0 { problem } else { format!("line {line}: {problem}") }
}

/// At most 40 characters, on one line.
fn cut(text: &str) -> String {
    text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).take(40).collect()
}
