//! Servers, with their settings as they are typed.

use super::Entry;
use crate::ServerConfig;
use crate::settings::{Field, apply, infos, read, read_or_auto};
use crate::trace::{Trace, TraceFormat};
use playpath_units::Rate;

pub(super) static ENTRIES: [Entry<ServerConfig>; 3] = [
    Entry {
        name: "constant",
        summary: "a constant rate",
        reference: "",
        settings: || infos(&DEFAULT_RATE, CONSTANT),
        build: |settings| apply(DEFAULT_RATE, CONSTANT, settings).map(|rate| ServerConfig::Constant { rate }),
    },
    Entry {
        name: "trace",
        summary: "delivery opportunities (Mahimahi) or a rate over time (Pensieve, Sabre, CSV); repeats at its end",
        reference: "Mahimahi, USENIX ATC 2015; Pensieve, SIGCOMM 2017; Sabre, MMSys 2018",
        settings: || infos(&TraceText::default(), TRACE),
        build: |settings| {
            let TraceText { content, format } = apply(TraceText::default(), TRACE, settings)?;
            Ok(Trace::parse(&content, format).map_err(|error| error.to_string())?.into_server())
        },
    },
    Entry {
        name: "unlimited",
        summary: "no limit: packets never queue",
        reference: "",
        settings: Vec::new,
        build: |settings| apply(ServerConfig::Unlimited, &[], settings),
    },
];

const DEFAULT_RATE: Rate = Rate::from_bits_per_sec(10_000_000);

const CONSTANT: &[Field<Rate>] = &[Field {
    name: "rate",
    allowed: "a rate above 0, such as \"10 Mbit/s\"",
    doc: "rate, paid by the bytes of packets with their headers",
    write: |rate| rate.to_string(),
    read: |rate, text| read(rate, text),
}];

#[derive(Default)]
struct TraceText {
    content: String,
    format: Option<TraceFormat>,
}

const TRACE: &[Field<TraceText>] = &[
    Field {
        name: "content",
        allowed: "the text of a trace",
        doc: "the trace itself",
        write: |c| c.content.clone(),
        read: |c, text| read(&mut c.content, text),
    },
    Field {
        name: "format",
        allowed: "mahimahi, pensieve, sabre, csv, or \"auto\"",
        doc: "how the text is read; auto: by its first line",
        write: |c| crate::settings::or_auto(&c.format),
        read: |c, text| read_or_auto(&mut c.format, text),
    },
];
