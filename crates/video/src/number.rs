//! Quantities as JSON numbers, in the units that records have.

use playpath_units::{Duration, Rate, Time};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;

/// For `#[serde(with)]`: a time in seconds, a rate in Mbit/s.
pub struct Number;

/// As [`Number`]; null where there is none.
pub struct MaybeNumber;

pub trait Quantity: Copy {
    fn number(self) -> f64;
    fn of(number: f64) -> Self;
}

macro_rules! quantities {
    ($($held:ty, $number:expr, $of:expr;)*) => {
        $(impl Quantity for $held {
            fn number(self) -> f64 {
                let number: fn($held) -> f64 = $number;
                number(self)
            }
            fn of(number: f64) -> $held {
                let of: fn(f64) -> $held = $of;
                of(number)
            }
        })*
    };
}

quantities! {
    Duration, |time| time.as_secs_f64(), Duration::from_secs_f64;
    Time, |time| time.as_secs_f64(), Time::from_secs_f64;
    Rate, |rate| rate.as_mbps(), |mbps| Rate::from_bits_per_sec((mbps * 1e6).round() as u64);
    // Parts in a million.
    u32, |ppm| f64::from(ppm) / 1e6, |speed| (speed * 1e6).round() as u32;
    // Nanoseconds.
    i64, |nanos| nanos as f64 / 1e9, |seconds| (seconds * 1e9).round() as i64;
}

impl Number {
    pub fn serialize<S: Serializer>(held: &impl Quantity, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(held.number())
    }
    pub fn deserialize<'de, T: Quantity, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
        f64::deserialize(from).map(T::of)
    }
}

impl MaybeNumber {
    pub fn serialize<T: Quantity, S: Serializer>(held: &Option<T>, to: S) -> Result<S::Ok, S::Error> {
        held.map(T::number).serialize(to)
    }
    pub fn deserialize<'de, T: Quantity, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
        Ok(Option::<f64>::deserialize(from)?.map(T::of))
    }
}

macro_rules! schemas {
    ($($form:ty = $json:ty;)*) => {
        $(impl JsonSchema for $form {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> Cow<'static, str> {
                <$json>::schema_name()
            }
            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                <$json>::json_schema(generator)
            }
        })*
    };
}

schemas! {
    Number = f64;
    MaybeNumber = Option<f64>;
}
