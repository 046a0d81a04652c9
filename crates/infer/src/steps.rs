//! Draws of a capacity in steps of equal length: the mean of each step, and quantiles of the rate at a moment of the step.

use crate::filter::Course;
use crate::session::Draw;

/// A step of the capacity, bit/s.
#[derive(Clone, Copy, Debug)]
pub struct StepRate {
    pub mean: f64,
    /// 5 % quantile of the rate at any moment of the step.
    pub p05: f64,
    pub p50: f64,
    /// 95 %.
    pub p95: f64,
}

/// From 0 to `lasts_s` in steps of `step_s`. Where the log does not count losses, draws of a path that loses at random are in the
/// quantiles only: the log does not show how much faster than the session such a path is, and the mean would be that of the prior. If all
/// draws are of such paths, the mean is theirs.
pub fn steps(draws: &[Draw], lasts_s: f64, step_s: f64, is_loss_counted: bool) -> Vec<StepRate> {
    let count = libm::ceil(lasts_s / step_s).max(1.0) as usize;
    let mut all: Vec<Vec<(f64, f64)>> = vec![vec![]; count];
    let mut sums = vec![(0.0, 0.0); count];
    let loses_none = |draw: &Draw| draw.reading.loss == 0.0;
    let takes_all = is_loss_counted || !draws.iter().any(loses_none);
    for draw in draws {
        for (index, own) in parts(&draw.course, lasts_s, step_s, count).into_iter().enumerate() {
            if takes_all || loses_none(draw) {
                let add = |sum: (f64, f64), part: &(f64, f64)| (sum.0 + part.0 * part.1, sum.1 + part.1);
                sums[index] = own.iter().fold(sums[index], add);
            }
            all[index].extend(own);
        }
    }
    all.iter_mut().zip(sums).map(|(part, (sum, seconds))| summary(part, sum / seconds)).collect()
}

/// For each of the first `count` steps, the rates of a course and the duration of each.
pub(crate) fn parts(course: &Course, lasts_s: f64, step_s: f64, count: usize) -> Vec<Vec<(f64, f64)>> {
    let mut parts = vec![vec![]; count];
    for (index, &(from, rate)) in course.iter().enumerate() {
        let until = course.get(index + 1).map_or(lasts_s, |next| next.0);
        spread(&mut parts, from, until, rate, step_s);
    }
    parts
}

fn spread(parts: &mut [Vec<(f64, f64)>], from: f64, until: f64, rate: f64, step_s: f64) {
    let mut at = from.max(0.0);
    while at < until {
        let index = (at / step_s) as usize;
        let Some(part) = parts.get_mut(index) else { return };
        let end = ((index + 1) as f64 * step_s).min(until);
        if end > at {
            part.push((rate, end - at));
        }
        at = end.max(at + 1e-9);
    }
}

fn summary(part: &mut [(f64, f64)], mean: f64) -> StepRate {
    part.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = part.iter().map(|p| p.1).sum();
    let at = |share: f64| {
        let mut left = share * total;
        part.iter()
            .find(|p| {
                left -= p.1;
                left <= 0.0
            })
            .or(part.last())
            .map_or(f64::NAN, |p| p.0)
    };
    StepRate { mean, p05: at(0.05), p50: at(0.5), p95: at(0.95) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::readings::Reading;

    #[test]
    fn where_losses_are_not_counted_a_lossy_path_is_in_the_quantiles_and_not_in_the_mean() {
        let draw = |rate: f64, loss: f64| {
            let reading = Reading { loss, ..Reading::PLAIN };
            Draw { course: vec![(0.0, rate)], rtt_s: 0.05, reading, phase: 0, queue: 130 }
        };
        let draws = [draw(4e6, 0.0), draw(6e6, 0.0), draw(50e6, 0.01)];
        for (is_loss_counted, mean) in [(false, 5e6), (true, 20e6)] {
            let [step] = steps(&draws, 5.0, 5.0, is_loss_counted)[..] else { panic!("one step") };
            assert!((step.mean - mean).abs() < 1.0);
            assert_eq!((step.p05, step.p95), (4e6, 50e6));
        }
        let [step] = steps(&draws[2..], 5.0, 5.0, false)[..] else { panic!("one step") };
        assert!((step.mean - 50e6).abs() < 1.0, "no draw loses none");
    }
}
