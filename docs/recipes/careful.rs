//! The highest rate that half of the last download's throughput allows.
//!
//! Reference: none, the example of docs/recipes/add-an-abr-rule.md.
//! Differences from the reference: none. Units: bit/s. Tested here.

use super::{Abr, AbrEntry, Context, Decision};
use playpath_units::{ParamSpec, Params};

pub(super) static ENTRY: AbrEntry = AbrEntry {
    name: "careful",
    summary: "a share of what the last segment came with",
    reference: "docs/recipes/add-an-abr-rule.md",
    params: PARAMS,
    build: |params| Box::new(Careful::new(params)),
};

const PARAMS: &[ParamSpec] =
    &[ParamSpec::number("share", 0.5, (0.1, 1.0), "", "of the last throughput (our choice: room for a fall by half)")];

struct Careful {
    share: f64,
}

impl Careful {
    fn new(params: &Params) -> Careful {
        Careful { share: params.number("share") }
    }
}

impl Abr for Careful {
    fn choose(&mut self, context: &Context) -> Decision {
        let Some(last) = context.downloads.last() else { return Decision::fetch(0, "no estimate yet") };
        let estimate = self.share * last.bits_per_sec();
        Decision::fetch(context.ladder.highest_at_most(estimate), "share of the last throughput")
            .with_estimate(estimate)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{context, download, ladder};
    use super::super::{Choice, Context};
    use super::*;

    /// 1400 kbit in 1 s: half of them are 700 kbit/s, above 600 and below 900.
    #[test]
    fn half_of_the_last_throughput() {
        let ladder = ladder(&[300, 600, 900]);
        let mut rule = (ENTRY.build)(&Params::defaults(ENTRY.params));
        let at = context(&ladder, 10.0, 30.0, Some(0));
        assert_eq!(rule.choose(&at).choice, Choice::Fetch(0));
        let downloads = [download(1400, 1.0, 0.1)];
        assert_eq!(rule.choose(&Context { downloads: &downloads, ..at }).choice, Choice::Fetch(1));
    }
}
