//! Writing client data: keys in alphabetical order.

use super::Cmcd;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

impl Cmcd {
    /// `CMCD=…`, URL-encoded; `None` if no key is set.
    pub fn query(&self) -> Option<String> {
        let dictionary = self.dictionary();
        (!dictionary.is_empty()).then(|| format!("CMCD={}", percent_encode(&dictionary)))
    }

    /// Its line in the body of a report (event mode, `application/cmcd`).
    pub fn report(&self) -> String {
        self.dictionary() + "\n"
    }

    /// The dictionary, `br=3200,bs,…`; empty if no key is set.
    pub fn dictionary(&self) -> String {
        let is_v2 = self.version.is_some_and(|version| version >= 2);
        let mut out = Writer::default();
        // Inner lists since version 2 (CTA-5004-B): bl br mtp tb tbl, and nor.
        let list = |value: Option<u64>| value.map(|v| if is_v2 { format!("({v})") } else { v.to_string() });
        let hundreds = |value: Option<u64>| list(value.map(to_hundred));
        let plain = |value: Option<u64>| value.map(|v| v.to_string());
        out.put("bl", hundreds(self.bl_ms));
        out.put("br", list(self.br_kbps));
        out.flag("bs", self.bs);
        out.put("cid", self.cid.as_deref().map(quoted));
        out.put("d", plain(self.d_ms));
        out.put("dl", plain(self.dl_ms.map(to_hundred)));
        out.put("e", self.e.map(|event| event.token().to_string()));
        out.put("ltc", plain(self.ltc_ms));
        out.put("msd", plain(self.msd_ms));
        out.put("mtp", hundreds(self.mtp_kbps));
        let nor = self.nor.as_deref().map(|path| quoted(&percent_encode(path)));
        out.put("nor", nor.map(|path| if is_v2 { format!("({path})") } else { path }));
        out.put("nrr", self.nrr.as_deref().map(quoted));
        out.put("ot", self.ot.map(|value| value.token().to_string()));
        out.put("pr", self.pr.filter(|&rate| rate != 1.0).map(decimal));
        out.put("rc", plain(self.rc));
        out.put("rtp", plain(self.rtp_kbps.map(up_to_hundred)));
        out.put("sf", self.sf.map(|value| value.token().to_string()));
        out.put("sid", self.sid.as_deref().map(quoted));
        out.put("st", self.st.map(|value| value.token().to_string()));
        out.put("sta", self.sta.map(|value| value.token().to_string()));
        out.flag("su", self.su);
        out.put("tb", list(self.tb_kbps));
        out.put("tbl", hundreds(self.tbl_ms));
        out.put("ts", plain(self.ts_ms));
        out.put("ttfb", plain(self.ttfb_ms));
        out.put("ttlb", plain(self.ttlb_ms));
        out.put("url", self.url.as_deref().map(quoted));
        // The first version need not be named.
        out.put("v", plain(self.version.filter(|&version| version != 1)));
        out.text
    }
}

#[derive(Default)]
struct Writer {
    text: String,
}

impl Writer {
    fn put(&mut self, key: &str, value: Option<String>) {
        if let Some(value) = value {
            self.flag(key, true);
            self.text.push('=');
            self.text.push_str(&value);
        }
    }

    /// RFC 9651 §3.2: true is the key alone.
    fn flag(&mut self, key: &str, is_set: bool) {
        if is_set {
            self.text.push_str(if self.text.is_empty() { "" } else { "," });
            self.text.push_str(key);
        }
    }
}

fn to_hundred(value: u64) -> u64 {
    value.saturating_add(50) / 100 * 100
}

/// dash.js rounds the requested throughput up.
fn up_to_hundred(value: u64) -> u64 {
    value.div_ceil(100).saturating_mul(100)
}

/// RFC 9651 §4.1.6: printable ASCII; quotes and backslashes escaped. Other characters cannot be sent.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars().filter(|c| matches!(c, ' '..='~')) {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
    out
}

/// RFC 9651 §4.1.5: at most three places.
fn decimal(value: f64) -> String {
    let text = format!("{:.3}", value.clamp(0.0, 1e9));
    let shorter = text.trim_end_matches('0');
    if shorter.ends_with('.') { format!("{shorter}0") } else { shorter.to_string() }
}

/// RFC 3986 §2.3.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Percent-encoding of everything but RFC 3986's unreserved characters.
pub fn percent_encode(text: &str) -> String {
    utf8_percent_encode(text, UNRESERVED).to_string()
}

/// The reverse. A `%` without two hexadecimal digits stays as it is; bytes that are not UTF-8 become U+FFFD.
pub fn percent_decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}
