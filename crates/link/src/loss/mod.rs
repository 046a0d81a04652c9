//! Loss models: noise on the channel. One file per model, with its configuration; `LossProcess` is what a new one implements, and the
//! list at the end is where it is named.

use crate::error::LinkError;
use crate::registry::{About, Entry};
use crate::settings::Config;
use playpath_units::random::Stream;
use playpath_units::{Params, Time};

pub(crate) trait LossProcess: Sized {
    type Config: Config;
    const ABOUT: About;
    /// A model at its start, drawing from `stream`.
    fn new(config: &Self::Config, stream: Stream) -> Self;
    /// Whether a packet that passes at this time is lost. Asked once per packet, in order of time.
    fn loses(&mut self, at: Time) -> bool;
    /// Share of lost packets in the long run.
    fn mean_loss(config: &Self::Config) -> f64;
    /// Errors: the first setting that is not allowed.
    fn check(config: &Self::Config) -> Result<(), LinkError> {
        config.check(Self::ABOUT.name)
    }
}

const fn entry<M: LossProcess>(build: fn(&Params) -> Result<LossConfig, String>) -> Entry<LossConfig> {
    Entry { about: M::ABOUT, params: M::Config::PARAMS, build }
}

/// Generates the modules, configuration, registry and dispatch from the list of models.
macro_rules! losses {
    ($($model:ident($config:ident) in $file:ident,)+) => {
        $(mod $file;)+
        $(pub use $file::*;)+

        #[derive(Clone, Debug, Default, PartialEq)]
        #[allow(missing_docs, reason = "each is named after its model")]
        pub enum LossConfig {
            #[default]
            None,
            $($model($config),)+
        }

        impl LossConfig {
            pub fn kind(&self) -> &'static str {
                match self {
                    LossConfig::None => NONE.name,
                    $(LossConfig::$model(_) => $model::ABOUT.name,)+
                }
            }
            pub fn params(&self) -> Params {
                match self {
                    LossConfig::None => Params::defaults(&[]),
                    $(LossConfig::$model(config) => config.params(),)+
                }
            }
            pub fn mean_loss(&self) -> f64 {
                match self {
                    LossConfig::None => 0.0,
                    $(LossConfig::$model(config) => $model::mean_loss(config),)+
                }
            }
            pub(crate) fn check(&self) -> Result<(), LinkError> {
                match self {
                    LossConfig::None => Ok(()),
                    $(LossConfig::$model(config) => $model::check(config),)+
                }
            }
        }

        pub(crate) static ENTRIES: &[Entry<LossConfig>] = &[
            Entry { about: NONE, params: &[], build: |_| Ok(LossConfig::None) },
            $(entry::<$model>(|params| $config::of(params).map(LossConfig::$model)),)+
        ];

        #[derive(Clone, Debug)]
        #[allow(missing_docs, reason = "each is named after its model")]
        pub enum LossModel {
            $($model($model),)+
        }

        impl LossModel {
            /// The model that `config` describes, drawing from `stream`; `None`: nothing is lost.
            pub fn new(config: &LossConfig, stream: Stream) -> Option<LossModel> {
                Some(match config {
                    LossConfig::None => return None,
                    $(LossConfig::$model(config) => LossModel::$model($model::new(config, stream)),)+
                })
            }
            /// Whether a packet that passes at this time is lost. Times do not go back.
            pub fn loses(&mut self, at: Time) -> bool {
                match self {
                    $(LossModel::$model(model) => model.loses(at),)+
                }
            }
        }
    };
}

const NONE: About = About { name: "none", summary: "nothing is lost", reference: "" };

losses! {
    Bernoulli(BernoulliConfig) in bernoulli,
    Bursts(BurstsConfig) in bursts,
    GilbertElliott(GilbertElliottConfig) in gilbert_elliott,
    Pattern(PatternConfig) in pattern,
}
