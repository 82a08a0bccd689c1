//! Where everything is in the memory, in words of 8 bytes: as `loop/howlate.h` has it, which leaves the first 64 to nobody.

/// Where the first ring begins, and how long each is.
const FIRST: usize = 65_536 / 8;
const RING: usize = 131_072 / 8;
/// How many rings there are for those who count in shared memory, and behind them for those who do so under a lock.
pub(super) const RINGS: usize = 64;
pub(super) const LOCKED: usize = 16;
/// Words of all of it.
pub(super) const WORDS: usize = FIRST + (RINGS + LOCKED) * RING;

/// What the memory is known by.
pub(super) const MAGIC: (usize, u64) = (64, u64::from_le_bytes(*b"howlate1"));
/// How many rings were taken, or asked for, of each kind.
pub(super) const TAKEN: usize = 65;
pub(super) const LOCKED_TAKEN: usize = 67;
/// Whether times are ticks of the processor.
pub(super) const TICKS: usize = 66;
/// Whether howlate reads spans: programs leave them out where an older one does not.
pub(super) const SPANS: usize = 68;

/// In a ring: its process and thread, its period, and the words of its name.
pub(super) const THREAD: usize = 0;
pub(super) const PERIOD: usize = 1;
pub(super) const NAME: std::ops::Range<usize> = 2..6;
/// Whether its times are readings of the clock even where those of others are ticks.
pub(super) const CLOCK: usize = 6;
/// Turns that were written, that were read, and that did not fit.
pub(super) const WRITTEN: usize = 8;
pub(super) const READ: usize = 16;
pub(super) const LOST: usize = 24;
/// Words at its start that say all that.
pub(super) const HEAD: usize = 25;
/// Where the turns begin, how many there are, and the words of each.
pub(super) const TURNS: usize = 64;
pub(super) const CAPACITY: u64 = 4_096;
pub(super) const TURN: usize = 3;
/// Spans that were written, that did not fit, and that were read.
pub(super) const SPAN_WRITTEN: usize = 9;
pub(super) const SPAN_LOST: usize = 10;
pub(super) const SPAN_READ: usize = 17;
/// Names of spans, one behind the other, and how many; behind the last is the first name that found no place.
pub(super) const SPAN_NAMES: usize = 12_352;
pub(super) const SPAN_KINDS: usize = 16;
/// Where spans begin, how many there are, and the words of each.
pub(super) const SPAN_TIMES: usize = 12_480;
pub(super) const SPAN_CAPACITY: u64 = 1_952;
pub(super) const SPAN: usize = 2;

/// The words of a ring.
pub(super) const fn ring(number: usize) -> std::ops::Range<usize> {
    let first = FIRST + number * RING;
    first..first + RING
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of those that programs build in.
    fn shared(name: &str) -> String {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../loop");
        std::fs::read_to_string(format!("{folder}/{name}")).unwrap()
    }

    /// The value of a name in the header's enumerations.
    fn header(name: &str) -> usize {
        let text = shared("howlate.h") + &shared("howlate_span.h");
        let rest = text.split(&format!("HOWLATE_{name} = ")).nth(1).unwrap();
        rest.split([',', ' ']).next().unwrap().parse().unwrap()
    }

    /// The value of a name in the crate's.
    fn published(name: &str) -> usize {
        let text = shared("src/layout.rs");
        let rest = text.split(&format!("const {name}: ")).nth(1).unwrap();
        let value = rest.split(['=', ';']).nth(1).unwrap();
        value.trim().trim_start_matches('(').split(',').next().unwrap().replace('_', "").parse().unwrap()
    }

    /// The value of a name in the Python class's, which assigns several at a time.
    fn python(name: &str) -> usize {
        let text = shared("../python/howlate/loop.py");
        let assigned = text.lines().filter_map(|line| line.split_once(" = "));
        let value = assigned.filter(|(names, _)| names.starts_with('_')).find_map(|(names, values)| {
            let place = names.split(", ").position(|one| one.trim_start_matches('_') == name)?;
            values.split(", ").nth(place)
        });
        value.unwrap().replace('_', "").parse().unwrap()
    }

    #[test]
    fn programs_and_howlate_mean_the_same_memory() {
        let of_others = [("TAKEN", TAKEN), ("TICKS", TICKS)];
        let of_python = [("LOCKED_TAKEN", LOCKED_TAKEN), ("CLOCK", CLOCK)];
        let of_all = [
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
        for (name, value) in of_others {
            assert_eq!((header(name), published(name)), (value, value), "{name}");
        }
        for (name, value) in of_all {
            assert_eq!((header(name), published(name), python(name)), (value, value, value), "{name}");
        }
        for (name, value) in of_python {
            assert_eq!(python(name), value, "{name}");
        }
        assert!(shared("howlate.h").contains(&format!("UINT64_C(0x{:x})", MAGIC.1)));
        let known = String::from_utf8(MAGIC.1.to_le_bytes().to_vec()).unwrap();
        assert!(shared("../python/howlate/loop.py").contains(&format!("b\"{known}\"")));
        assert!(TURNS + usize::try_from(CAPACITY).unwrap() * TURN <= SPAN_NAMES);
        assert!(SPAN_NAMES + (SPAN_KINDS + 1) * NAME.len() <= SPAN_TIMES);
        assert!(SPAN_TIMES + usize::try_from(SPAN_CAPACITY).unwrap() * SPAN <= RING);
    }
}
