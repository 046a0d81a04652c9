//! Draws of a capacity in steps of equal length: the mean of each step, and quantiles of the rate at a moment of the step.

use crate::filter::Course;
use crate::session::Draw;

/// A step of the capacity, bit/s.
#[derive(Clone, Copy, Debug)]
pub struct StepRate {
    /// Over the draws and the step.
    pub mean: f64,
    /// Of the rate at any moment of the step: 5 %.
    pub p05: f64,
    /// Median.
    pub p50: f64,
    /// 95 %.
    pub p95: f64,
}

/// From 0 to `lasts_s` in steps of `step_s`.
pub fn steps(draws: &[Draw], lasts_s: f64, step_s: f64) -> Vec<StepRate> {
    let count = libm::ceil(lasts_s / step_s).max(1.0) as usize;
    let mut all: Vec<Vec<(f64, f64)>> = vec![vec![]; count];
    for Draw { course, .. } in draws {
        all.iter_mut().zip(parts(course, lasts_s, step_s, count)).for_each(|(all, own)| all.extend(own));
    }
    all.iter_mut().map(|part| summary(part)).collect()
}

/// In each of the first `count` steps, the rates of a course and how long each stays.
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

fn summary(part: &mut [(f64, f64)]) -> StepRate {
    part.sort_by(|a, b| a.0.total_cmp(&b.0));
    let total: f64 = part.iter().map(|p| p.1).sum();
    let mean = part.iter().map(|p| p.0 * p.1).sum::<f64>() / total;
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
