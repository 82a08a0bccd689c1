//! Parsing of messages; nothing in them is trusted.

use howlate_model::{MonotonicTime, Span};

/// Lengths of the fields: kind, time, thread name, reason.
const KIND: usize = 8;
const TIME: usize = 8;
const COMM: usize = 16;
const REASON: usize = 128;
/// Buffer size, more than the longest message.
pub(super) const LONGEST: usize = 256;
/// Maximum age of a request's time; older times are ignored.
const RECENT: Span = Span::from_secs(10);

#[derive(Debug, PartialEq, Eq)]
pub(super) enum RequestMessage {
    Snap { at: Option<MonotonicTime>, thread: String, reason: Option<String> },
    Loops,
}

/// `None` for unknown messages.
pub(super) fn message(bytes: &[u8], now: MonotonicTime) -> Option<RequestMessage> {
    let (kind, rest) = bytes.split_at_checked(KIND)?;
    match text(kind).as_str() {
        "loops1" => Some(RequestMessage::Loops),
        "snap1" => {
            let (time, rest) = rest.split_first_chunk::<TIME>()?;
            let (thread, reason) = rest.split_at_checked(COMM)?;
            let reason = text(reason.get(..REASON).unwrap_or(reason));
            let at = recent(u64::from_ne_bytes(*time), now);
            Some(RequestMessage::Snap {
                at,
                thread: text(thread),
                reason: Some(reason).filter(|why| !why.is_empty()),
            })
        }
        _ => None,
    }
}

/// Panics unless the parsed message is short and legible.
pub(crate) fn check(bytes: &[u8], now: MonotonicTime) {
    let Some(RequestMessage::Snap { at, thread, reason }) = message(bytes, now) else { return };
    let reason = reason.unwrap_or_default();
    assert!(at.is_none_or(|at| at <= now && now.since(at) <= RECENT));
    assert!(thread.chars().count() <= COMM && reason.chars().count() <= REASON);
    assert!(!(thread + &reason).contains(char::is_control));
}

/// Text up to the first zero, control characters replaced by spaces.
fn text(bytes: &[u8]) -> String {
    let bytes = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    let printable = |letter: char| if letter.is_control() { ' ' } else { letter };
    String::from_utf8_lossy(bytes).chars().map(printable).collect::<String>().trim().to_owned()
}

/// A time of the recent past.
fn recent(nanos: u64, now: MonotonicTime) -> Option<MonotonicTime> {
    let at = MonotonicTime::from_nanos(i64::try_from(nanos).ok()?);
    (at <= now && now.since(at) <= RECENT).then_some(at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::socket_file::{DEFAULT_PATH, VARIABLE};
    use super::*;

    const NOW: MonotonicTime = MonotonicTime::from_nanos(60_000_000_000);

    fn snap(at: u64, thread: &[u8], reason: &[u8]) -> Vec<u8> {
        let mut thread = thread.to_vec();
        thread.resize(COMM, 0);
        [&b"snap1\0\0\0"[..], &at.to_ne_bytes(), &thread, reason].concat()
    }

    #[test]
    fn a_message_says_who_when_and_why() {
        let expected = |at, thread: &str, reason: Option<&str>| {
            let (thread, reason) = (thread.to_owned(), reason.map(str::to_owned));
            Some(RequestMessage::Snap { at, thread, reason })
        };
        let then = MonotonicTime::from_nanos(59_000_000_000);
        let at = 59_000_000_000;
        assert_eq!(
            message(&snap(at, b"player", b"frame dropped\0\0"), NOW),
            expected(Some(then), "player", Some("frame dropped"))
        );
        assert_eq!(message(&snap(at, b"", b""), NOW), expected(Some(then), "", None));
        assert_eq!(message(b"loops1\0\0", NOW), Some(RequestMessage::Loops));
    }

    #[test]
    fn what_cannot_be_is_not_believed() {
        for bytes in [
            &b""[..],
            b"snap1",
            b"snap1\0\0\0",
            b"snap2\0\0\0",
            b"loops1",
            b"\xff\xff\xff\xff\xff\xff\xff\xff",
            &snap(0, b"", b"")[..KIND + TIME + COMM - 1],
        ] {
            assert_eq!(message(bytes, NOW), None, "{bytes:?}");
        }
        for at in [0, 49_000_000_000, 60_000_000_001, u64::MAX] {
            let Some(RequestMessage::Snap { at, .. }) = message(&snap(at, b"a", b"b"), NOW) else {
                panic!("{at}")
            };
            assert_eq!(at, None);
        }
        let hostile = snap(0, b"\x1b[2J\xfe", &[b'a'; 500]);
        let Some(RequestMessage::Snap { thread, reason, .. }) = message(&hostile, NOW) else {
            panic!("none")
        };
        assert_eq!((thread.as_str(), reason.unwrap().len()), ("[2J\u{fffd}", REASON));
        let lines = snap(0, b"a", b"one\ntwo\r\"\x7f");
        let Some(RequestMessage::Snap { reason, .. }) = message(&lines, NOW) else { panic!("none") };
        assert_eq!(reason.as_deref(), Some("one two \""));
    }

    proptest! {
        #[test]
        fn whatever_is_said_is_short_and_legible(
            kind in prop_oneof![Just(*b"snap1\0\0\0"), Just(*b"loops1\0\0"), any::<[u8; KIND]>()],
            rest in prop::collection::vec(any::<u8>(), 0..LONGEST),
        ) {
            let parsed = message(&[&kind[..], &rest].concat(), NOW);
            prop_assert_eq!(parsed.is_none(), &kind != b"loops1\0\0" && (&kind != b"snap1\0\0\0" || rest.len() < TIME + COMM));
            check(&[&kind[..], &rest].concat(), NOW);
        }
    }

    /// Source of a client library.
    fn published(name: &str) -> String {
        std::fs::read_to_string(format!("{}/../../../{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    #[test]
    fn programs_of_each_language_say_it_the_same_way() {
        let header = published("loop/howlate_snap.h") + &published("loop/howlate.h");
        let rust = published("loop/src/layout.rs") + &published("loop/src/recorder.rs");
        let python = published("python/howlate/loop.py");
        for (name, value) in [("KIND", KIND), ("COMM", COMM), ("REASON", REASON)] {
            assert!(header.contains(&format!("HOWLATE_{name} = {value}")), "{name}");
            assert!(rust.contains(&format!("const {name}: usize = {value};")), "{name}");
        }
        assert!(python.contains(&format!("_KIND, _COMM, _REASON = {KIND}, {COMM}, {REASON}\n")));
        for text in [&header, &rust, &python] {
            for word in ["snap1", "loops1", DEFAULT_PATH, VARIABLE] {
                assert!(text.contains(&format!("\"{word}")), "{word}");
            }
        }
    }
}
