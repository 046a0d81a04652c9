use super::*;

/// Parts in order, some again, some across the ends of blocks and pieces: the file's bytes, whatever was read before.
#[test]
fn a_file_is_read_in_blocks() {
    let file = std::env::temp_dir().join(format!("playpath-blocks-{}", std::process::id()));
    let bytes: Vec<u8> = (0..60_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    std::fs::write(&file, &bytes).unwrap();
    let opened = Arc::new(File::open(&file).unwrap());
    let mut outgoing = Outgoing::default();
    outgoing.push(40_000, Source::File(opened.clone(), 1000));
    outgoing.push(20_000, Source::File(opened, 0));
    let stream = [&bytes[1000..41_000], &bytes[..20_000]].concat();
    let mut out = [0; 1400];
    for offset in (0..58_600usize).step_by(1400).flat_map(|at| [at, at.saturating_sub(20_000), at + 700, at]) {
        let part = &mut out[..1400.min(60_000 - offset)];
        outgoing.read(offset as u64, part).unwrap();
        assert_eq!(part, &stream[offset..offset + part.len()], "{offset}");
    }
    outgoing.release(60_000);
    assert_eq!(outgoing.block.borrow().bytes.capacity(), 0);
    std::fs::remove_file(file).unwrap();
}

#[test]
fn a_segment_may_span_pieces() {
    let mut outgoing = Outgoing::default();
    let piece = |text: &[u8]| (text.len() as u64, Source::Bytes(text.into()));
    for text in [&b"head "[..], b"", b"body "] {
        let (len, source) = piece(text);
        outgoing.push(len, source);
    }
    let file = std::env::temp_dir().join(format!("playpath-outgoing-{}", std::process::id()));
    std::fs::write(&file, b"0123456789").unwrap();
    outgoing.push(4, Source::File(Arc::new(File::open(&file).unwrap()), 3));
    let mut out = [0; 9];
    outgoing.read(3, &mut out).unwrap();
    assert_eq!(&out, b"d body 34");
    outgoing.release(9);
    assert_eq!(outgoing.pieces(), 2, "the body's last byte is still wanted");
    assert!(outgoing.read(4, &mut out[..1]).is_err(), "released");
    assert!(outgoing.read(13, &mut out[..2]).is_err(), "beyond the end");
    std::fs::write(&file, b"0123").unwrap();
    let mut later = Outgoing::default();
    later.push(4, Source::File(Arc::new(File::open(&file).unwrap()), 3));
    assert!(later.read(0, &mut out[..4]).is_err(), "the file has become shorter");
    std::fs::remove_file(file).unwrap();
}
