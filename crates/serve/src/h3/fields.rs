//! Field sections: QPACK with the static table and Huffman's code, without a dynamic table.
//!
//! Reference: RFC 9204 §4.5 (field lines), appendix A (static table); RFC 7541 §5.1 (prefixed integers), §5.2 (strings; the code by
//! the crate `httlib-huffman`).

use httlib_huffman::DecoderSpeed;
use std::sync::LazyLock;

/// Most bytes of names and values of a field section, each counted with 32 more (RFC 9114 §4.2.2).
pub(crate) const MAX_BYTES: usize = 32 * 1024;

pub type Field = (String, String);

/// Decode a field section. `None` if it is malformed, too large, or refers to the dynamic table, which is not supported.
pub fn decode(input: &[u8]) -> Option<Vec<Field>> {
    let mut input = Input(input);
    if input.integer(8)?.1 != 0 {
        return None; // Required Insert Count
    }
    input.integer(7)?; // Base
    let (mut fields, mut size) = (Vec::new(), 0);
    while let Some(&first) = input.0.first() {
        let field = match first {
            0x80.. => {
                let (flags, index) = input.integer(6)?;
                if flags & 0x40 == 0 {
                    return None;
                }
                let (name, value) = STATIC.get(index as usize)?;
                (name.to_string(), value.to_string())
            }
            0x40.. => {
                let (flags, index) = input.integer(4)?;
                if flags & 0x10 == 0 {
                    return None;
                }
                (STATIC.get(index as usize)?.0.to_string(), input.string(7)?)
            }
            0x20.. => (input.string(3)?, input.string(7)?),
            _ => return None, // post-base: dynamic
        };
        size += field.0.len() + field.1.len() + 32;
        if size > MAX_BYTES {
            return None;
        }
        fields.push(field);
    }
    Some(fields)
}

/// Encode a field section, without Huffman's code.
pub fn encode<'a>(fields: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<u8> {
    let mut out = vec![0, 0];
    for (name, value) in fields {
        if let Some(index) = STATIC.iter().position(|known| *known == (name, value)) {
            put_integer(&mut out, 0xc0, 6, index as u64);
            continue;
        }
        match STATIC.iter().position(|known| known.0 == name) {
            Some(index) => put_integer(&mut out, 0x50, 4, index as u64),
            None => {
                put_integer(&mut out, 0x20, 3, name.len() as u64);
                out.extend(name.as_bytes());
            }
        }
        put_string(&mut out, 7, value);
    }
    out
}

/// The rest of a field section.
pub(crate) struct Input<'a>(pub &'a [u8]);

impl Input<'_> {
    /// An integer whose prefix has `bits` bits, and the flags before it (RFC 7541 §5.1).
    pub fn integer(&mut self, bits: u32) -> Option<(u8, u64)> {
        let (&first, mut rest) = self.0.split_first()?;
        let most = (1u64 << bits) - 1;
        let flags = first & !(most as u8);
        let mut value = u64::from(first) & most;
        if value == most {
            for shift in (0..56).step_by(7) {
                let (&byte, after) = rest.split_first()?;
                rest = after;
                value += u64::from(byte & 0x7f) << shift;
                if byte & 0x80 == 0 {
                    self.0 = rest;
                    return Some((flags, value));
                }
            }
            return None;
        }
        self.0 = rest;
        Some((flags, value))
    }

    /// As [`octets`](Self::octets), as text.
    pub fn string(&mut self, bits: u32) -> Option<String> {
        Some(text(&self.octets(bits)?))
    }

    /// A string whose length has a prefix of `bits` bits, and the bit before it says that it is Huffman-coded.
    pub fn octets(&mut self, bits: u32) -> Option<Vec<u8>> {
        let is_coded = self.0.first()? & (1 << bits) != 0;
        let (_, length) = self.integer(bits)?;
        let bytes = self.0.get(..usize::try_from(length).ok()?)?;
        self.0 = &self.0[bytes.len()..];
        if !is_coded {
            return Some(bytes.to_vec());
        }
        let (mut decoded, mut again) = (Vec::new(), Vec::new());
        httlib_huffman::decode(bytes, &mut decoded, DecoderSpeed::FourBits).ok()?;
        // RFC 7541 §5.2: padding is the fewest bits, and ones; the decoder does not look.
        httlib_huffman::encode(&decoded, &mut again).ok()?;
        (again == bytes).then_some(decoded)
    }
}

/// Other octets than ASCII's may stand in a value, in whatever code (RFC 9110 §5.5).
pub(crate) fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

/// Without Huffman's code.
pub(crate) fn put_string(out: &mut Vec<u8>, bits: u32, text: &str) {
    put_integer(out, 0x00, bits, text.len() as u64);
    out.extend(text.as_bytes());
}

pub(crate) fn put_integer(out: &mut Vec<u8>, flags: u8, bits: u32, value: u64) {
    let most = (1u64 << bits) - 1;
    if value < most {
        out.push(flags | value as u8);
        return;
    }
    out.push(flags | most as u8);
    let mut rest = value - most;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// RFC 9204, appendix A.
static STATIC: LazyLock<Vec<Known>> = LazyLock::new(|| known(include_str!("static.tsv")));

/// A name and its value, as a static table has them.
pub(crate) type Known = (&'static str, &'static str);

/// The entries of a table: a line for each, a tab between name and value.
pub(crate) fn known(table: &'static str) -> Vec<Known> {
    table.lines().filter_map(|line| line.split_once('\t')).collect()
}

#[cfg(test)]
mod tests;
