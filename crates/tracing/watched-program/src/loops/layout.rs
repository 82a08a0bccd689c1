//! Layout of the shared memory in words of 8 bytes, as in `loop/howlate.h`, which leaves the first 64 words unused.

/// Start of the first ring, and length of each.
const FIRST: usize = 65_536 / 8;
const RING: usize = 131_072 / 8;
/// Rings that are allocated by an atomic counter in the memory, and behind them those allocated under a lock.
pub(super) const RINGS: usize = 64;
pub(super) const LOCKED: usize = 16;
/// Length of the memory.
pub(super) const WORDS: usize = FIRST + (RINGS + LOCKED) * RING;

pub(super) const MAGIC: (usize, u64) = (64, u64::from_le_bytes(*b"howlate1"));
/// Rings of each kind that programs took or asked for.
pub(super) const TAKEN: usize = 65;
pub(super) const LOCKED_TAKEN: usize = 67;
/// Whether times are processor ticks.
pub(super) const TICKS: usize = 66;
/// Whether howlate reads spans: programs do not write them for an older one, which does not.
pub(super) const SPANS: usize = 68;

/// In a ring: process and thread, period, and words of the name.
pub(super) const THREAD: usize = 0;
pub(super) const PERIOD: usize = 1;
pub(super) const NAME: std::ops::Range<usize> = 2..6;
/// Whether the times of this ring are nanoseconds even where others are ticks.
pub(super) const CLOCK: usize = 6;
/// Turns that were written, read, and dropped for lack of room.
pub(super) const WRITTEN: usize = 8;
pub(super) const READ: usize = 16;
pub(super) const LOST: usize = 24;
/// Words of the ring's header.
pub(super) const HEAD: usize = 25;
/// Start of the turns, how many fit, and words of each.
pub(super) const TURNS: usize = 64;
pub(super) const CAPACITY: u64 = 4_096;
pub(super) const TURN: usize = 3;
/// Spans that were written, dropped, and read.
pub(super) const SPAN_WRITTEN: usize = 9;
pub(super) const SPAN_LOST: usize = 10;
pub(super) const SPAN_READ: usize = 17;
/// Names of spans in sequence, and how many fit; behind the last is the first name that did not fit.
pub(super) const SPAN_NAMES: usize = 12_352;
pub(super) const SPAN_KINDS: usize = 16;
/// Start of the spans, how many fit, and words of each.
pub(super) const SPAN_TIMES: usize = 12_480;
pub(super) const SPAN_CAPACITY: u64 = 1_952;
pub(super) const SPAN: usize = 2;

pub(super) const fn ring(number: usize) -> std::ops::Range<usize> {
    let first = FIRST + number * RING;
    first..first + RING
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that programs build in.
    fn shared(name: &str) -> String {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../loop");
        std::fs::read_to_string(format!("{folder}/{name}")).unwrap()
    }

    /// Value of a constant in the C header.
    fn header(name: &str) -> usize {
        let text = shared("howlate.h") + &shared("howlate_span.h");
        let rest = text.split(&format!("HOWLATE_{name} = ")).nth(1).unwrap();
        rest.split([',', ' ']).next().unwrap().parse().unwrap()
    }

    /// Value of a constant in the Rust crate.
    fn published(name: &str) -> usize {
        let text = shared("src/layout.rs");
        let rest = text.split(&format!("const {name}: ")).nth(1).unwrap();
        let value = rest.split(['=', ';']).nth(1).unwrap();
        value.trim().trim_start_matches('(').split(',').next().unwrap().replace('_', "").parse().unwrap()
    }

    /// Value of a constant in the Python class, which assigns several per line.
    fn python(name: &str) -> usize {
        let text = shared("../python/howlate/loop.py");
        let assigned = text.lines().filter_map(|line| line.split_once(" = "));
        let value = assigned.filter(|(names, _)| names.starts_with('_')).find_map(|(names, values)| {
            let place = names.split(", ").position(|constant| constant.trim_start_matches('_') == name)?;
            values.split(", ").nth(place)
        });
        value.unwrap().replace('_', "").parse().unwrap()
    }

    #[test]
    fn programs_and_howlate_mean_the_same_memory() {
        let in_c_and_rust = [("TAKEN", TAKEN), ("TICKS", TICKS)];
        let in_python = [("LOCKED_TAKEN", LOCKED_TAKEN), ("CLOCK", CLOCK)];
        let in_all = [
            ("FIRST", FIRST * 8),
            ("RING", RING * 8),
            ("RINGS", RINGS),
            ("LOCKED", LOCKED),
            ("MAGIC", MAGIC.0),
            ("THREAD", THREAD),
            ("PERIOD", PERIOD),
            ("NAME", NAME.start),
            ("LETTERS", NAME.len() * 8),
            ("WRITTEN", WRITTEN),
            ("READ", READ),
            ("LOST", LOST),
            ("TURNS", TURNS),
            ("CAPACITY", usize::try_from(CAPACITY).unwrap()),
            ("SPANS", SPANS),
            ("SPAN_WRITTEN", SPAN_WRITTEN),
            ("SPAN_LOST", SPAN_LOST),
            ("SPAN_READ", SPAN_READ),
            ("SPAN_NAMES", SPAN_NAMES),
            ("SPAN_KINDS", SPAN_KINDS),
            ("SPAN_TIMES", SPAN_TIMES),
            ("SPAN_CAPACITY", usize::try_from(SPAN_CAPACITY).unwrap()),
        ];
        for (name, value) in in_c_and_rust {
            assert_eq!((header(name), published(name)), (value, value), "{name}");
        }
        for (name, value) in in_all {
            assert_eq!((header(name), published(name), python(name)), (value, value, value), "{name}");
        }
        for (name, value) in in_python {
            assert_eq!(python(name), value, "{name}");
        }
        assert!(shared("howlate.h").contains(&format!("UINT64_C(0x{:x})", MAGIC.1)));
        let magic = String::from_utf8(MAGIC.1.to_le_bytes().to_vec()).unwrap();
        assert!(shared("../python/howlate/loop.py").contains(&format!("b\"{magic}\"")));
        assert!(TURNS + usize::try_from(CAPACITY).unwrap() * TURN <= SPAN_NAMES);
        assert!(SPAN_NAMES + (SPAN_KINDS + 1) * NAME.len() <= SPAN_TIMES);
        assert!(SPAN_TIMES + usize::try_from(SPAN_CAPACITY).unwrap() * SPAN <= RING);
    }
}
