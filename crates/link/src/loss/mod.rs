//! Loss models: noise on the channel. One file per model.

mod bernoulli;
mod gilbert_elliott;
mod pattern;

pub use bernoulli::Bernoulli;
pub use gilbert_elliott::{GilbertElliott, GilbertElliottConfig};
pub use pattern::{LossPattern, LossPatternError};
use playpath_units::Ratio;
use playpath_units::random::Stream;
use std::sync::Arc;

/// Which loss model, with its parameters.
#[derive(Clone, Debug, Default)]
pub enum LossConfig {
    /// Nothing is lost.
    #[default]
    None,
    /// Independent loss.
    Bernoulli {
        /// Chance to lose a packet.
        loss: Ratio,
    },
    /// Bursts from a two-state chain.
    GilbertElliott(GilbertElliottConfig),
    /// A recorded sequence; wraps.
    Pattern {
        /// Shared, never copied.
        pattern: Arc<LossPattern>,
    },
}

impl LossConfig {
    /// Share of lost packets in the long run.
    pub fn mean_loss(&self) -> f64 {
        match self {
            LossConfig::None => 0.0,
            LossConfig::Bernoulli { loss } => loss.get(),
            LossConfig::GilbertElliott(config) => config.mean_loss(),
            LossConfig::Pattern { pattern } => pattern.mean_loss(),
        }
    }
}

/// A loss model at work. It is asked once per packet.
#[derive(Clone, Debug)]
pub enum LossModel {
    /// Independent loss.
    Bernoulli(Bernoulli),
    /// Bursts from a two-state chain.
    GilbertElliott(GilbertElliott),
    /// A recorded sequence and the position in it.
    Pattern(Arc<LossPattern>, usize),
}

impl LossModel {
    /// The model that `config` describes, drawing from `stream`; `None`: nothing is lost.
    pub fn new(config: &LossConfig, stream: Stream) -> Option<LossModel> {
        Some(match config {
            LossConfig::None => return None,
            LossConfig::Bernoulli { loss } => LossModel::Bernoulli(Bernoulli::new(*loss, stream)),
            LossConfig::GilbertElliott(c) => LossModel::GilbertElliott(GilbertElliott::new(*c, stream)),
            LossConfig::Pattern { pattern } => LossModel::Pattern(Arc::clone(pattern), 0),
        })
    }

    /// Whether the next packet is lost.
    pub fn loses_next(&mut self) -> bool {
        match self {
            LossModel::Bernoulli(model) => model.loses_next(),
            LossModel::GilbertElliott(model) => model.loses_next(),
            LossModel::Pattern(pattern, position) => {
                let lost = pattern.is_lost(*position);
                *position = (*position + 1) % pattern.len();
                lost
            }
        }
    }
}
