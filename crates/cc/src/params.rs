//! Declared parameters live in `playpath-units`: players, ABR rules and links declare theirs the same way.

pub use playpath_units::{ParamSpec, ParamValue, Params};
