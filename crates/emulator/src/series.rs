//! Time series of the links: the simulator's columns, sampled at a fixed interval of the run's time.

use crate::packet::IpPacket;
use playpath_link::Link;
use playpath_units::{Duration, Time};
use serde_json::{Map, Value, json};

const COLUMNS: [&str; 6] =
    ["time_s", "queue_packets", "queue_bytes", "dropped_packets", "delivered_packets", "offered_bytes"];

pub struct Series {
    interval: Option<Duration>,
    due: Time,
    values: Vec<[Vec<f64>; COLUMNS.len()]>,
}

impl Series {
    /// A row every `interval`; none without one.
    pub fn new(interval: Option<Duration>, links: usize) -> Series {
        let due = if interval.is_some() { Time::ZERO } else { Time::MAX };
        Series { interval, due, values: vec![Default::default(); links] }
    }

    /// The run begins now: no row yet.
    pub fn begin(&mut self) {
        *self = Series::new(self.interval, self.values.len());
    }

    pub fn due(&self) -> Time {
        self.due
    }

    /// A row for every link, if one is due.
    pub fn sample(&mut self, now: Time, links: &mut [Link<IpPacket>]) {
        let Some(interval) = self.interval.filter(|_| now >= self.due) else { return };
        for (columns, link) in self.values.iter_mut().zip(links) {
            let stats = link.stats(now);
            let row = [
                now.as_secs_f64(),
                f64::from(link.queue_packets()),
                link.queue_bytes() as f64,
                stats.dropped.total().packets as f64,
                stats.delivered.packets as f64,
                stats.offered.bytes as f64,
            ];
            columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
        }
        while self.due <= now {
            self.due += interval;
        }
    }

    pub fn to_json<'a>(&self, names: impl Iterator<Item = &'a str>) -> Value {
        let table = |columns: &[Vec<f64>; COLUMNS.len()]| {
            COLUMNS
                .iter()
                .zip(columns)
                .map(|(name, values)| ((*name).to_string(), json!(values)))
                .collect::<Map<_, _>>()
        };
        let kept = self.interval.map_or(0, |_| self.values.len());
        names
            .zip(&self.values[..kept])
            .map(|(name, columns)| (name.to_string(), Value::Object(table(columns))))
            .collect::<Map<_, _>>()
            .into()
    }
}
