//! Loss models, with their settings as they are typed.

use super::Entry;
use crate::settings::{Field, apply, infos, read, values};
use crate::{GilbertElliottConfig, LossConfig, LossPattern};
use playpath_units::Ratio;
use std::sync::Arc;

impl LossConfig {
    /// Name in the registry.
    pub fn kind(&self) -> &'static str {
        match self {
            LossConfig::None => "none",
            LossConfig::Bernoulli { .. } => "bernoulli",
            LossConfig::GilbertElliott(_) => "gilbert_elliott",
            LossConfig::Pattern { .. } => "pattern",
        }
    }

    /// Every setting with its value as it would be typed, for a resolved scenario.
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        match self {
            LossConfig::None => Vec::new(),
            LossConfig::Bernoulli { loss } => values(loss, BERNOULLI),
            LossConfig::GilbertElliott(config) => values(config, GILBERT_ELLIOTT),
            LossConfig::Pattern { pattern } => values(&pattern.to_string(), PATTERN),
        }
    }
}

pub(super) static ENTRIES: [Entry<LossConfig>; 4] = [
    Entry {
        name: "none",
        summary: "nothing is lost",
        reference: "",
        settings: Vec::new,
        build: |settings| apply(LossConfig::None, &[], settings),
    },
    Entry {
        name: "bernoulli",
        summary: "each packet is lost with the same probability",
        reference: "netem loss random; ns-2 ErrorModel",
        settings: || infos(&Ratio::default(), BERNOULLI),
        build: |settings| apply(Ratio::default(), BERNOULLI, settings).map(|loss| LossConfig::Bernoulli { loss }),
    },
    Entry {
        name: "gilbert_elliott",
        summary: "losses in bursts: a two-state chain",
        reference: "Gilbert 1960, Elliott 1963; netem loss gemodel",
        settings: || infos(&default_chain(), GILBERT_ELLIOTT),
        build: |settings| apply(default_chain(), GILBERT_ELLIOTT, settings).map(LossConfig::GilbertElliott),
    },
    Entry {
        name: "pattern",
        summary: "a recorded sequence of lost packets, repeated",
        reference: "ns-2 ErrorModel/List",
        settings: || infos(&String::new(), PATTERN),
        build: |settings| {
            let content = apply(String::new(), PATTERN, settings)?;
            let pattern = LossPattern::parse(&content).map_err(|error| error.to_string())?;
            Ok(LossConfig::Pattern { pattern: Arc::new(pattern) })
        },
    },
];

/// p 1 %, r 25 %: 3.8 % lost in bursts of 4.
fn default_chain() -> GilbertElliottConfig {
    let [p, r] = [0.01, 0.25].map(|x| Ratio::new(x).expect("within 0 to 1"));
    GilbertElliottConfig::simple(p, r)
}

const SHARE: &str = "0 % to 100 %";

const BERNOULLI: &[Field<Ratio>] = &[Field {
    name: "loss",
    allowed: SHARE,
    doc: "chance to lose a packet",
    write: |loss| loss.to_string(),
    read: |loss, text| read(loss, text),
}];

const GILBERT_ELLIOTT: &[Field<GilbertElliottConfig>] = &[
    Field {
        name: "p",
        allowed: SHARE,
        doc: "chance to go from good to bad, per packet",
        write: |c| c.good_to_bad.to_string(),
        read: |c, text| read(&mut c.good_to_bad, text),
    },
    Field {
        name: "r",
        allowed: SHARE,
        doc: "chance to go from bad to good, per packet; 1/r is the mean length of a burst",
        write: |c| c.bad_to_good.to_string(),
        read: |c, text| read(&mut c.bad_to_good, text),
    },
    Field {
        name: "loss_in_good",
        allowed: SHARE,
        doc: "chance to lose a packet in the good state (netem 1-k)",
        write: |c| c.loss_in_good.to_string(),
        read: |c, text| read(&mut c.loss_in_good, text),
    },
    Field {
        name: "loss_in_bad",
        allowed: SHARE,
        doc: "chance to lose a packet in the bad state (netem 1-h)",
        write: |c| c.loss_in_bad.to_string(),
        read: |c, text| read(&mut c.loss_in_bad, text),
    },
];

const PATTERN: &[Field<String>] = &[Field {
    name: "content",
    allowed: "0 and 1, one per packet; or \"length N\" and packet numbers, one per line",
    doc: "which packets are lost",
    write: String::clone,
    read: |content, text| read(content, text),
}];
