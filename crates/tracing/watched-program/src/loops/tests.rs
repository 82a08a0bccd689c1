//! Valid and invalid contents of the shared memory.

use super::layout::{
    CAPACITY, CLOCK, LOST, NAME, PERIOD, READ, SPAN_CAPACITY, SPAN_KINDS, SPAN_LOST, SPAN_NAMES, SPAN_READ,
    SPAN_TIMES, SPAN_WRITTEN, THREAD, TURN, TURNS, WRITTEN, ring,
};
use super::*;
use howlate_linux::clock;
use howlate_model::MonotonicTime;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::pwrite;

use super::layout::WORDS;

/// The program's side of the memory; its times are nanoseconds.
struct TestProgram {
    loops: MarkedLoops,
    written: u64,
    spans: u64,
}

impl TestProgram {
    fn new() -> Self {
        let loops = MarkedLoops::create(false).unwrap();
        let mut program = Self { loops, written: 0, spans: 0 };
        program.loops.memory.set(TAKEN, 1);
        program.set(PERIOD, 1_000_000);
        program.set(NAME.start, u64::from_ne_bytes(*b"control\0"));
        program.set(THREAD, 7 << 32 | 8);
        program
    }

    fn set(&mut self, word: usize, value: u64) {
        self.loops.memory.set(ring(0).start + word, value);
    }

    fn turn(&mut self, expected: u64, woke: u64, done: u64) {
        let read = self.loops.memory.word(ring(0).start + READ);
        if self.written - read >= CAPACITY {
            let lost = self.loops.memory.word(ring(0).start + LOST);
            return self.set(LOST, lost + 1);
        }
        let place = TURNS + usize::try_from(self.written % CAPACITY).unwrap() * TURN;
        [expected, woke, done]
            .into_iter()
            .enumerate()
            .for_each(|(word, value)| self.set(place + word, value));
        self.written += 1;
        self.set(WRITTEN, self.written);
    }

    fn read(&mut self) -> (Vec<LoopIteration>, u64) {
        let mut turns = Vec::new();
        let lost = self.read_all(&mut |turn, _| turns.push(turn));
        (turns, lost)
    }

    fn read_all(&mut self, take: &mut dyn FnMut(LoopIteration, &[SpanTime])) -> u64 {
        self.loops.read(&mut |MarkedTurn { number, marked_loop, turn, spans }| {
            let name = "control".to_owned();
            let period = Span::from_millis(1);
            assert_eq!((number, marked_loop), (0, &MarkedLoop { name, period, pid: 7, tid: 8 }));
            take(turn, spans);
        })
    }

    /// Name and nanoseconds of the spans of each turn.
    fn spans(&mut self) -> Vec<Vec<(String, u64)>> {
        let mut all = Vec::new();
        self.read_all(&mut |_, spans| {
            all.push(spans.iter().map(|span| (span.name.clone(), span.spent.as_nanos())).collect());
        });
        all
    }

    fn span(&mut self, name: u64, began: u64, ended: u64) {
        let read = self.loops.memory.word(ring(0).start + SPAN_READ);
        if self.spans - read >= SPAN_CAPACITY {
            let lost = self.loops.memory.word(ring(0).start + SPAN_LOST);
            return self.set(SPAN_LOST, lost + 1);
        }
        let place = SPAN_TIMES + usize::try_from(self.spans % SPAN_CAPACITY).unwrap() * 2;
        self.set(place, began);
        self.set(place + 1, ended.wrapping_sub(began) << 8 | name);
        self.spans += 1;
        self.set(SPAN_WRITTEN, self.spans);
    }

    fn names(&mut self, names: &[&[u8; 8]]) {
        for (place, name) in names.iter().enumerate() {
            self.set(SPAN_NAMES + place * NAME.len(), u64::from_ne_bytes(**name));
        }
    }
}

fn now() -> u64 {
    clock::now().as_nanos().unsigned_abs()
}

#[test]
fn turns_are_read_once_and_in_order() {
    let mut program = TestProgram::new();
    assert_eq!(program.read(), (vec![], 0));
    let [first_start, first_end] = [now(), now() + 1];
    program.turn(0, first_start, first_end);
    program.turn(first_start, first_end + 1, 0);
    let at = |nanos: u64| MonotonicTime::from_nanos(i64::try_from(nanos).unwrap());
    let first = LoopIteration { expected: None, woke: at(first_start), done: Some(at(first_end)) };
    let second = LoopIteration { expected: Some(at(first_start)), woke: at(first_end + 1), done: None };
    assert_eq!(program.read(), (vec![first, second], 0));
    assert_eq!(program.read(), (vec![], 0));
}

#[test]
fn what_does_not_fit_is_counted() {
    let mut program = TestProgram::new();
    let start = now();
    for turn in 0..CAPACITY + 5 {
        program.turn(0, start + turn, start + turn);
    }
    while now() < start + CAPACITY + 5 {}
    let (turns, lost) = program.read();
    assert_eq!((turns.len() as u64, lost), (CAPACITY, 5));
    let later = now();
    program.turn(0, later, later);
    assert_eq!(program.read().0.len(), 1);
}

#[test]
fn a_turn_may_begin_as_the_one_before_ends() {
    let mut program = TestProgram::new();
    let start = now();
    program.turn(0, start, start + 1_000);
    program.turn(0, start + 1_000, start + 2_000);
    while now() < start + 2_000 {}
    let (turns, invalid) = program.read();
    assert_eq!((turns.len(), invalid), (2, 0));
}

#[test]
fn impossible_turns_are_invalid() {
    let mut program = TestProgram::new();
    let start = now();
    program.turn(0, 5, 6);
    program.turn(0, start + 1_000, start);
    program.turn(0, u64::MAX, 0);
    program.turn(u64::MAX, start + 2_000, 0);
    program.turn(0, start + 3_000, 0);
    program.turn(0, start + 2_999, 0);
    while now() < start + 3_000 {}
    let (turns, invalid) = program.read();
    assert_eq!((turns.len(), invalid), (1, 5));
    program.set(WRITTEN, u64::MAX);
    assert_eq!(program.read(), (vec![], 1), "more than fits");
}

#[test]
fn loops_beyond_the_last_ring_are_counted() {
    let loops = MarkedLoops::create(true).unwrap();
    assert_eq!(loops.unmeasured_loops(), 0);
    loops.memory.set(TAKEN, RINGS as u64 + 3);
    assert_eq!(loops.unmeasured_loops(), 3);
    loops.memory.set(LOCKED_TAKEN, LOCKED as u64 + 2);
    assert_eq!(loops.unmeasured_loops(), 5);
}

#[test]
fn a_ring_that_was_taken_under_the_lock_has_a_number_of_its_own() {
    let mut loops = MarkedLoops::create(true).unwrap();
    loops.memory.set(LOCKED_TAKEN, 1);
    let (first, woke) = (ring(RINGS).start, now());
    let turn = [(CLOCK, 1), (THREAD, 7 << 32 | 8), (TURNS + 1, woke), (WRITTEN, 1)];
    turn.into_iter().for_each(|(word, value)| {
        loops.memory.set(first + word, value);
    });
    let mut found = Vec::new();
    let lost = loops.read(&mut |turn| found.push((turn.number, turn.turn.woke.as_nanos().unsigned_abs())));
    assert_eq!((found, lost), (vec![(RINGS, woke)], 0), "by the clock, whatever others count by");
}

/// `plan` twice, the second time with another `plan` in it and with `act`; one before the turn, one across its end.
#[test]
fn spans_are_added_up_for_the_turn_that_they_lie_in() {
    let mut program = TestProgram::new();
    program.names(&[b"plan\0\0\0\0", b"act\0\0\0\0\0"]);
    let start = now();
    program.span(0, start, start + 50);
    program.span(0, start + 100, start + 200);
    program.span(1, start + 320, start + 350);
    program.span(0, start + 310, start + 360);
    program.span(0, start + 300, start + 400);
    program.span(1, start + 900, start + 1_100);
    program.turn(0, start + 100, start + 1_000);
    program.turn(0, start + 1_000, start + 2_000);
    program.span(1, start + 2_000, start + 2_500);
    program.turn(0, start + 2_000, start + 3_000);
    while now() < start + 3_000 {}
    let span = |name: &str, spent| (name.to_owned(), spent);
    assert_eq!(program.spans(), [vec![span("plan", 200), span("act", 30)], vec![], vec![span("act", 500)]]);
    assert_eq!(program.loops.unmeasured_spans(), []);
}

#[test]
fn spans_that_do_not_fit_or_cannot_have_been_are_counted() {
    let mut program = TestProgram::new();
    program.names(&[b"plan\0\0\0\0"]);
    let start = now();
    for number in 0..SPAN_CAPACITY + 3 {
        program.span(0, start + number, start + number + 1);
    }
    program.turn(0, start, start + SPAN_CAPACITY);
    while now() < start + SPAN_CAPACITY {}
    assert_eq!(program.spans(), [vec![("plan".to_owned(), SPAN_CAPACITY)]]);
    // In the future, with an overflowing end, and with an unknown name.
    let later = now();
    program.span(0, u64::MAX, 0);
    program.span(0, later, u64::MAX);
    program.span(SPAN_KINDS as u64, later, later);
    program.turn(0, later, later + 1_000);
    while now() < later + 1_000 {}
    assert_eq!(program.spans(), [vec![]]);
    program.set(SPAN_WRITTEN, u64::MAX);
    assert_eq!(program.spans(), Vec::<Vec<(String, u64)>>::new(), "more than fits");
    let unmeasured = program.loops.unmeasured_spans();
    assert_eq!((unmeasured.len(), unmeasured[0].lost, &unmeasured[0].first), (1, 3 + 3 + 1, &None));
}

#[test]
fn the_first_name_that_does_not_fit_is_reported() {
    let mut program = TestProgram::new();
    program.names(&[b"plan\0\0\0\0"; SPAN_KINDS]);
    let start = now();
    program.turn(0, start, start);
    program.read();
    assert_eq!(program.loops.unmeasured_spans(), []);
    program.set(SPAN_NAMES + SPAN_KINDS * NAME.len(), u64::from_ne_bytes(*b"beyond\0\0"));
    let [unmeasured] = program.loops.unmeasured_spans().try_into().unwrap();
    let beyond = Some("beyond".to_owned());
    let expected =
        UnmeasuredSpans { name: "control".to_owned(), lost: 0, first: beyond, kept: SPAN_KINDS as u64 };
    assert_eq!(unmeasured, expected);
}

/// Programs built with an older header write no spans; newer ones check whether howlate reads them.
#[test]
fn the_memory_says_that_spans_are_read() {
    let loops = MarkedLoops::create(false).unwrap();
    assert_eq!(loops.memory.word(SPANS), 1);
}

/// Memory with the right magic number, or a wrong one.
fn memory_file(valid: bool) -> OwnedFd {
    let memory = Memory::create().unwrap();
    memory.set(MAGIC.0, if valid { MAGIC.1 } else { 7 });
    memory.into_file()
}

/// Memory of any length and seals.
fn odd_file(length: usize, seals: SealFlags) -> OwnedFd {
    let file = memfd_create("odd", MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&file, (length * 8) as u64).unwrap();
    pwrite(&file, &MAGIC.1.to_ne_bytes(), (MAGIC.0 * 8) as u64).unwrap();
    fcntl_add_seals(&file, seals).unwrap();
    file
}

#[test]
fn only_memory_for_loops_is_received() {
    let sealed = SealFlags::SHRINK | SealFlags::GROW;
    assert!(MarkedLoops::from_file(memory_file(true)).is_ok());
    assert!(MarkedLoops::from_file(odd_file(WORDS, sealed)).is_ok());
    for (file, why) in [
        (odd_file(WORDS - 1, sealed), "too short"),
        (odd_file(WORDS + 1, sealed), "too long"),
        (odd_file(WORDS, SealFlags::GROW), "can be made shorter"),
        (memory_file(false), "of another kind"),
        (std::fs::File::open("/dev/zero").unwrap().into(), "not even memory"),
        (tempfile::tempfile().unwrap().into(), "a file that can be made shorter"),
    ] {
        assert!(MarkedLoops::from_file(file).is_err(), "{why}");
    }
}

#[test]
fn recent_turns_of_received_memory_count() {
    let before = clock::now();
    let mut loops = MarkedLoops::from_file(memory_file(true)).unwrap();
    let at = |time: MonotonicTime| time.as_nanos().unsigned_abs();
    loops.memory.set(TAKEN, 1);
    // One a moment ago that was due long before, and one that was long before itself.
    let long_before = before.minus(Span::from_secs(60));
    for (number, (expected, woke)) in
        [(before, long_before), (before, before), (long_before, before)].into_iter().enumerate()
    {
        let turn = [expected, woke, woke].map(|time| at(time).max(1));
        for (word, value) in turn.into_iter().enumerate() {
            loops.memory.set(ring(0).start + TURNS + number * TURN + word, value);
        }
    }
    loops.memory.set(ring(0).start + WRITTEN, 3);
    loops.memory.set(ring(0).start + THREAD, 7 << 32 | 8);
    let mut turns = Vec::new();
    assert_eq!(loops.read(&mut |turn| turns.push(turn.turn.woke)), 2);
    assert_eq!(turns, [before]);
}

#[test]
fn the_newest_turns_are_read_up_to_the_limit() {
    let mut program = TestProgram::new();
    program.names(&[b"plan\0\0\0\0"]);
    let start = now();
    for turn in 0..10 {
        program.span(0, start + turn * 10, start + turn * 10 + 5);
        program.turn(0, start + turn * 10, start + turn * 10 + 9);
    }
    while now() < start + 100 {}
    let (mut most, mut turns) = (5, Vec::new());
    let mut take = |turn: MarkedTurn<'_>| {
        turns.push((turn.turn.woke.as_nanos().unsigned_abs() - start, turn.spans.len()))
    };
    assert_eq!(program.loops.read_at_most(&mut most, &mut take), 5);
    assert_eq!(
        (most, turns),
        (0, [50, 60, 70, 80, 90].map(|at| (at, 0)).to_vec()),
        "spans are of the same measure"
    );
    assert_eq!(program.loops.unmeasured_spans()[0].lost, 10);
    let later = now();
    program.span(0, later, later + 5);
    program.turn(0, later, later + 9);
    while now() < later + 9 {}
    assert_eq!(program.spans(), [vec![("plan".to_owned(), 5)]], "and it goes on from there");
}
