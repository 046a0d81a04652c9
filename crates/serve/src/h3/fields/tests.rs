use super::*;

/// RFC 9204 appendix B.1: a literal with the name of entry 1, `/index.html`.
#[test]
fn the_example_of_the_rfc() {
    let section = [&[0x00, 0x00, 0x51, 0x0b][..], b"/index.html"].concat();
    assert_eq!(decode(&section), Some(vec![(":path".into(), "/index.html".into())]));
    assert_eq!(encode([(":path", "/index.html")].into_iter()), section);
}

/// RFC 7541 appendix C.4.1: `www.example.com` in Huffman's code.
#[test]
fn huffman() {
    let code = [0xf1, 0xe3, 0xc2, 0xe5, 0xf2, 0x3a, 0x6b, 0xa0, 0xab, 0x90, 0xf4, 0xff];
    let section = [&[0x00, 0x00, 0x50, 0x8c][..], &code].concat();
    assert_eq!(decode(&section), Some(vec![(":authority".into(), "www.example.com".into())]));
}

/// RFC 9110 §5.5: Latin-1 in a value is no reason to end a connection.
#[test]
fn other_octets_than_ascii() {
    let section = [&[0x00, 0x00, 0x21, b'x', 0x04][..], b"caf\xe9"].concat();
    assert_eq!(decode(&section), Some(vec![("x".into(), "caf\u{fffd}".into())]));
}

#[test]
fn what_is_encoded_is_decoded() {
    let long = "x".repeat(700);
    let fields = [(":status", "206"), ("content-type", "video/mp4"), ("x-long-name-of-a-header", long.as_str())];
    let expected: Vec<Field> = fields.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    assert_eq!(decode(&encode(fields.into_iter())), Some(expected));
}

#[test]
fn what_is_refused() {
    for (section, why) in [
        (&[0x01, 0x00][..], "a dynamic table"),
        (&[0x00], "no base"),
        (&[0x00, 0x00, 0x80], "dynamic index"),
        (&[0x00, 0x00, 0x10], "post-base index"),
        (&[0x00, 0x00, 0xff, 0x64], "beyond the static table"),
        (&[0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], "an integer without end"),
        (&[0x00, 0x00, 0x51, 0x05, b'a'], "cut"),
        (&[0x00, 0x00, 0x51, 0x81, 0x00], "padding of zeros: `0` is 00000"),
        (&[0x00, 0x00, 0x51, 0x82, 0x07, 0xff], "a byte of padding"),
    ] {
        assert_eq!(decode(section), None, "{why}");
    }
    let bomb = [&[0x00, 0x00][..], &vec![0xc1; 2000]].concat();
    assert_eq!(decode(&bomb), None, "2000 fields");
}
