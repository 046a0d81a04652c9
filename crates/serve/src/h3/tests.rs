use super::*;

#[test]
fn a_control_stream_begins_with_settings() {
    let mut control = Control::default();
    assert_eq!(control.handle(2, (true, false), &[0x00]), Ok((1, None)));
    assert_eq!(control.handle(2, (false, false), &[0x04, 0x02, 0x06]), Ok((0, None)), "not all there");
    assert_eq!(control.handle(2, (false, false), &[0x04, 0x02, 0x06, 0x05, 0x0d]), Ok((4, None)));
    assert_eq!(control.handle(2, (false, false), &[0x0d, 0x01, 0x08]), Ok((3, None)));
    // PRIORITY_UPDATE of stream 4: u=1
    let frame = [0x80, 0x0f, 0x07, 0x00, 0x04, 0x04, b'u', b'=', b'1'];
    let update = Update { stream: 4, value: "u=1".into() };
    assert_eq!(control.handle(2, (false, false), &frame), Ok((9, Some(update))));
    assert_eq!(control.handle(2, (false, false), &[0x21, 0x05, 1, 2]), Ok((2, None)), "an unknown frame");
    assert_eq!(control.handle(2, (false, false), &[1, 2, 3]), Ok((3, None)), "is skipped");
}

#[test]
fn what_breaks_a_connection() {
    let begun = || {
        let mut control = Control::default();
        control.handle(2, (true, false), &[0x00]).unwrap();
        control
    };
    let settled = || {
        let mut control = begun();
        control.handle(2, (false, false), &[0x04, 0x00]).unwrap();
        control
    };
    assert_eq!(begun().handle(2, (false, false), &[0x0d, 0x01, 0x00]), Err(MISSING_SETTINGS));
    assert_eq!(begun().handle(2, (false, false), &[0x04, 0x02, 0x02, 0x00]), Err(SETTINGS_ERROR), "of HTTP/2");
    assert_eq!(begun().handle(2, (false, false), &[0x04, 0x04, 0x21, 0, 0x21, 0]), Err(SETTINGS_ERROR), "twice");
    assert_eq!(begun().handle(6, (true, false), &[0x00]), Err(STREAM_CREATION_ERROR), "a second one");
    assert_eq!(begun().handle(6, (true, false), &[0x01]), Err(STREAM_CREATION_ERROR), "a client's push");
    assert_eq!(settled().handle(2, (false, false), &[0x04, 0x00]), Err(FRAME_UNEXPECTED));
    assert_eq!(settled().handle(2, (false, false), &[0x00, 0x00]), Err(FRAME_UNEXPECTED), "DATA");
    assert_eq!(settled().handle(2, (false, false), &[0x08, 0x00]), Err(FRAME_UNEXPECTED), "HTTP/2's");
    assert_eq!(settled().handle(2, (false, true), &[]), Err(CLOSED_CRITICAL_STREAM));
    assert_eq!(settled().handle(6, (true, true), &[0x02]), Err(CLOSED_CRITICAL_STREAM));
    assert_eq!(settled().handle(2, (false, false), &[0x0d, 0x60, 0x00]), Err(EXCESSIVE_LOAD));
}

/// RFC 9114 §5.2, §7.2.3, §7.2.7; RFC 9218 §7.2.
#[test]
fn identifiers_have_bounds() {
    let after = |frames: &[&[u8]]| {
        let mut control = Control::default();
        control.handle(2, (true, false), &[0x00]).unwrap();
        control.handle(2, (false, false), &[0x04, 0x00]).unwrap();
        frames.iter().map(|frame| control.handle(2, (false, false), frame)).last().unwrap()
    };
    assert_eq!(after(&[&[0x0d, 0x01, 0x08], &[0x0d, 0x01, 0x08]]), Ok((3, None)));
    assert_eq!(after(&[&[0x0d, 0x01, 0x08], &[0x0d, 0x01, 0x07]]), Err(ID_ERROR), "a bound that shrinks");
    assert_eq!(after(&[&[0x07, 0x01, 0x08], &[0x07, 0x01, 0x07]]), Ok((3, None)));
    assert_eq!(after(&[&[0x07, 0x01, 0x08], &[0x07, 0x01, 0x09]]), Err(ID_ERROR), "a farewell that grows");
    assert_eq!(after(&[&[0x0d, 0x01, 0x08], &[0x03, 0x01, 0x00]]), Err(ID_ERROR), "no push was promised");
    let update = |last_byte: u8, id: u8| [0x80, 0x0f, 0x07, last_byte, 0x02, id, b'i'];
    assert_eq!(after(&[&update(0x00, 0x02)]), Err(ID_ERROR), "no request");
    assert_eq!(after(&[&update(0x01, 0x00)]), Err(ID_ERROR), "a push");
    assert_eq!(after(&[&[0x0d, 0x02, 0x08, 0x00]]), Err(FRAME_ERROR), "more than an identifier");
    assert_eq!(after(&[&[0x07, 0x00]]), Err(FRAME_ERROR), "none");
}

#[test]
fn what_qpack_s_streams_may_say_without_a_table() {
    let mut control = Control::default();
    assert_eq!(control.handle(2, (true, false), &[0x02]), Ok((1, None)));
    assert_eq!(control.handle(6, (true, false), &[0x03]), Ok((1, None)));
    assert_eq!(control.handle(2, (false, false), &[0x20]), Ok((1, None)), "a capacity of 0");
    assert_eq!(control.handle(2, (false, false), &[0x3f, 0x45]), Err(ENCODER_STREAM_ERROR), "of 100");
    assert_eq!(control.handle(6, (false, false), &[0x44]), Ok((1, None)), "stream 4 is cancelled");
    assert_eq!(control.handle(6, (false, false), &[0x7f]), Ok((0, None)), "not all there");
    assert_eq!(control.handle(6, (false, false), &[0x7f, 0x81, 0x01]), Ok((3, None)));
    assert_eq!(control.handle(6, (false, false), &[0x84]), Err(DECODER_STREAM_ERROR), "a section without references");
    assert_eq!(control.handle(6, (false, false), &[0x00]), Err(DECODER_STREAM_ERROR), "an increment");
}
