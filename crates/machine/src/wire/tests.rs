//! Tests of the frames: whole, in pieces, torn, too long, and made of anything.
use serde_json::json;

use super::*;

fn hello(wire: u32) -> FromOwner {
    FromOwner::Hello(Hello {
        wire,
        powerband: "0.1".into(),
        purpose: Purpose::Measure,
        doing: "try".into(),
        owner: None,
    })
}

/// Pseudo-random bits from a seed.
fn drawn(seed: &mut u64) -> u64 {
    powerband_record::splitmix(seed) >> 7
}

#[test]
fn what_is_said_in_pieces_is_heard_whole() {
    let said = [hello(1), FromOwner::Call(1, Call::Read("/a".into())), FromOwner::Call(2, Call::Lease(7))];
    let bytes: Vec<u8> = said.iter().flat_map(|message| frame(message).unwrap()).collect();
    for piece in [1, 2, 3, 5, 64, bytes.len()] {
        let (mut frames, mut heard) = (Frames::default(), Vec::new());
        for bytes in bytes.chunks(piece) {
            frames.take_in(bytes);
            while let Some(json) = frames.next_frame().unwrap() {
                heard.push(message::<FromOwner>(&json).unwrap());
            }
        }
        assert_eq!(heard, said);
        assert!(!frames.is_torn());
    }
}

#[test]
fn a_torn_frame_is_no_message_and_is_known_as_torn() {
    let bytes = frame(&hello(1)).unwrap();
    for end in 1..bytes.len() {
        let mut frames = Frames::default();
        frames.take_in(&bytes[..end]);
        assert_eq!(frames.next_frame(), Ok(None));
        assert!(frames.is_torn());
    }
}

#[test]
fn what_a_shell_prints_is_told_from_the_protocol() {
    let mut frames = Frames::default();
    frames.take_in(b"sh: 1: powerband: not found\n");
    let error = frames.next_frame().unwrap_err();
    assert!(error.to_string().contains("not powerband's protocol"), "{error}");
}

#[test]
fn another_version_is_refused_by_its_number_whatever_else_it_says() {
    let of_tomorrow = json!({"hello": {"wire": 10, "powerband": "7.0", "colour": "green"}}).to_string();
    let error = first_message::<FromOwner>(of_tomorrow.as_bytes()).unwrap_err();
    assert_eq!(error, WireError::OtherVersion { wire: 10, powerband: "7.0".into() });
    assert!(error.to_string().contains("version 10") && error.to_string().contains("same powerband on both machines"));
    let ours = serde_json::to_vec(&hello(WIRE_VERSION)).unwrap();
    assert_eq!(first_message::<FromOwner>(&ours), Ok(hello(WIRE_VERSION)));
}

#[test]
fn nothing_anybody_sends_is_more_than_an_error() {
    let mut seed = 4711;
    let whole = frame(&FromOwner::Call(3, Call::Undo(EntryId(4), true))).unwrap();
    let (mut heard, mut refused) = (0, 0);
    for _ in 0..20_000 {
        let mut bytes = whole.clone();
        for _ in 0..=drawn(&mut seed) % 3 {
            let at = usize::try_from(drawn(&mut seed)).unwrap() % bytes.len();
            bytes[at] = u8::try_from(drawn(&mut seed) & 0xff).unwrap();
        }
        let mut frames = Frames::default();
        frames.take_in(&bytes);
        match frames.next_frame() {
            Ok(Some(json)) => match first_message::<FromOwner>(&json) {
                Ok(_) => heard += 1,
                Err(_) => refused += 1,
            },
            Ok(None) => assert!(frames.is_torn()),
            Err(_) => refused += 1,
        }
    }
    assert!(heard > 0 && refused > 1000, "{heard} {refused}");
}
