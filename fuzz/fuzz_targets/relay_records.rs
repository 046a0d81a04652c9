//! No bytes make the relay's reader of records panic, in whatever pieces they come; what it reads is read again as it was written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use playpath_relay::record::Decoder;

/// The records in the bytes, written again, and whether all of them were records.
fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<u8>, bool) {
    let (mut decoder, mut written) = (Decoder::default(), Vec::new());
    for piece in pieces {
        decoder.push(piece);
        loop {
            match decoder.next_record() {
                Ok(Some(record)) => record.encode(&mut written),
                Ok(None) => break,
                Err(error) => {
                    assert!(!error.to_string().contains('\n'));
                    return (written, false);
                }
            }
        }
    }
    (written, true)
}

fuzz_target!(|input: (u8, &[u8])| {
    let (piece, bytes) = input;
    let whole = read([bytes].into_iter());
    assert_eq!(read(bytes.chunks(usize::from(piece) + 1)), whole, "pieces matter");
    assert_eq!(read([&whole.0[..]].into_iter()), (whole.0.clone(), true), "what was written is read differently");
});
