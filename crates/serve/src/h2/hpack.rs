//! Field sections of HTTP/2. Received sections may use the dynamic table; sent ones do not.
//!
//! Reference: RFC 7541 §4 (dynamic table), §6 (representations), appendix A (static table).

use crate::h3::fields::{Field, Input, Known, MAX_BYTES, known, put_integer, put_string, text};
use std::collections::VecDeque;
use std::sync::LazyLock;

/// `SETTINGS_HEADER_TABLE_SIZE`, which stays at its default.
const TABLE_BYTES: usize = 4096;

/// A field as it came: its size counts octets (§4.1).
type Octets = (Vec<u8>, Vec<u8>);

/// The client's dynamic table.
#[derive(Debug)]
pub struct Decoder {
    table: VecDeque<Octets>,
    size: usize,
    limit: usize,
}

impl Default for Decoder {
    fn default() -> Decoder {
        Decoder { table: VecDeque::new(), size: 0, limit: TABLE_BYTES }
    }
}

impl Decoder {
    /// Decode a field section. `None`: it is malformed or too large, and the connection of no use any more (RFC 9113 §4.3).
    pub fn decode(&mut self, input: &[u8]) -> Option<Vec<Field>> {
        let mut input = Input(input);
        let (mut fields, mut size) = (Vec::new(), 0);
        while let Some(&first) = input.0.first() {
            let field = match first {
                0x80.. => self.field(input.integer(7)?.1)?,
                0x40.. => {
                    let field = self.literal(&mut input, 6)?;
                    self.insert(field.clone());
                    field
                }
                0x20.. => {
                    self.limit = usize::try_from(input.integer(5)?.1).ok().filter(|limit| *limit <= TABLE_BYTES)?;
                    self.evict();
                    continue;
                }
                _ => self.literal(&mut input, 4)?,
            };
            size += weight(&field);
            if size > MAX_BYTES {
                return None;
            }
            fields.push((text(&field.0), text(&field.1)));
        }
        Some(fields)
    }

    fn literal(&self, input: &mut Input, bits: u32) -> Option<Octets> {
        let name = match input.integer(bits)?.1 {
            0 => input.octets(7)?,
            index => self.field(index)?.0,
        };
        Some((name, input.octets(7)?))
    }

    fn field(&self, index: u64) -> Option<Octets> {
        let index = usize::try_from(index).ok()?.checked_sub(1)?;
        match STATIC.get(index) {
            Some((name, value)) => Some((name.as_bytes().to_vec(), value.as_bytes().to_vec())),
            None => self.table.get(index - STATIC.len()).cloned(),
        }
    }

    fn insert(&mut self, field: Octets) {
        self.size += weight(&field);
        self.table.push_front(field);
        self.evict();
    }

    fn evict(&mut self) {
        while self.size > self.limit {
            let Some(last) = self.table.pop_back() else { return };
            self.size -= weight(&last);
        }
    }
}

fn weight((name, value): &Octets) -> usize {
    name.len() + value.len() + 32
}

/// Encode a field section, without Huffman's code.
pub fn encode<'a>(fields: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in fields {
        if let Some(index) = STATIC.iter().position(|known| *known == (name, value)) {
            put_integer(&mut out, 0x80, 7, index as u64 + 1);
            continue;
        }
        match STATIC.iter().position(|known| known.0 == name) {
            Some(index) => put_integer(&mut out, 0x00, 4, index as u64 + 1),
            None => {
                out.push(0x00);
                put_string(&mut out, 7, name);
            }
        }
        put_string(&mut out, 7, value);
    }
    out
}

static STATIC: LazyLock<Vec<Known>> = LazyLock::new(|| known(include_str!("static.tsv")));

#[cfg(test)]
mod tests;
