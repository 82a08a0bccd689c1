use std::path::Path;

use howlate_model::{
    Block, Caveat, Condition, CpuSet, Distribution, EffectiveSettings, MonotonicTime, Policy, Span,
    TurnStarted, Wakeup, WakeupGrid, WorstWakeup,
};
use proptest::collection::vec;
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::reader::testing;
use crate::{Reader, Writer};

/// Wake-ups of one block: its condition, and how late each was.
type Late = (u32, Vec<i64>);

/// A block of a period of 1 ms.
fn block(condition: u32, late: &[i64]) -> Line {
    let mut block = Block { condition, ..Block::default() };
    let at = MonotonicTime::from_nanos;
    late.iter().for_each(|late| {
        block.record(
            Wakeup { expected: at(1_000), ran: at(1_000 + late) },
            Some(WakeupGrid::endless(Span::from_millis(1))),
        );
    });
    Line::Block(Box::new(block))
}

fn node(name: &str) -> Node {
    Node { name: Some(name.to_owned()), ..Node::default() }
}

/// A recording of two conditions that ended in order.
fn recording(path: &Path, id: &str, name: &str, blocks: &[Late]) {
    let header = Header { id: Some(id.to_owned()), node: node(name), ..testing::header(2) };
    let mut writer = Writer::create(path, &header).unwrap();
    blocks.iter().for_each(|(condition, late)| writer.write(&block(*condition, late)));
    writer.write(&Line::End(RecordingEnd { at: MonotonicTime::from_nanos(9), how: EndReason::Done }));
    assert_eq!(writer.close(), None);
}

/// Several recordings in a folder, as `(id, node, blocks)`.
fn folder(recordings: &[(&str, &str, &[Late])]) -> (TempDir, Vec<PathBuf>) {
    let folder = tempfile::tempdir().unwrap();
    let path = |place: usize| folder.path().join(format!("{place}.jsonl"));
    let paths: Vec<PathBuf> = (0..recordings.len()).map(path).collect();
    for ((id, name, blocks), path) in recordings.iter().zip(&paths) {
        recording(path, id, name, blocks);
    }
    (folder, paths)
}

/// A recording of a thread that came in the middle, as of a program that was watched.
fn with_late_comer(path: &Path, id: &str, thread: u32, late: &[i64]) {
    let header = Header { id: Some(id.to_owned()), node: node("n1"), ..testing::header(1) };
    let condition = Condition { thread, ..header.conditions[0].clone() };
    let mut writer = Writer::create(path, &header).unwrap();
    writer.write(&Line::Condition(Box::new(condition)));
    writer.write(&block(1, late));
    writer.write(&Line::End(RecordingEnd { at: MonotonicTime::from_nanos(9), how: EndReason::Done }));
    assert_eq!(writer.close(), None);
}

fn open(paths: &[PathBuf]) -> Sources {
    Sources::open(paths, "merged".into(), Vec::new()).unwrap()
}

/// What is to be the same however recordings are put together: of each condition the counts, missed periods and worst.
type Sum = Vec<(Option<String>, Distribution, u64, Option<WorstWakeup>)>;

fn sum(header: &Header, lines: impl Iterator<Item = Line>) -> Sum {
    let mut conditions = header.conditions.clone();
    let mut blocks: Vec<Block> = vec![Block::default(); conditions.len()];
    for line in lines {
        match line {
            Line::Condition(condition) => {
                conditions.push(*condition);
                blocks.push(Block::default());
            }
            Line::Block(block) => blocks[block.condition as usize].merge(&block),
            _ => {}
        }
    }
    let total = |(condition, block): (Condition, Block)| {
        (condition.node, block.latency, block.missed_periods, block.worst.first().copied())
    };
    conditions.into_iter().zip(blocks).map(total).collect()
}

fn caveats(paths: &[PathBuf]) -> Vec<Caveat> {
    open(paths).filter_map(|line| if let Line::Caveat(caveat) = line { Some(caveat) } else { None }).collect()
}

/// Writes the merged recording, and reads it back.
fn written(paths: &[PathBuf], out: &Path) -> Sum {
    let sources = open(paths);
    let mut merged = MergedFile::create(out, sources.header()).unwrap();
    sources.for_each(|line| merged.write(&line).unwrap());
    merged.close().unwrap();
    let reader = Reader::open(out).unwrap();
    let header = reader.header().clone();
    sum(&header, reader.map(Result::unwrap))
}

fn blocks() -> impl Strategy<Value = Vec<Late>> {
    vec((0..2u32, vec(0..5_000_000i64, 1..20)), 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, ..ProptestConfig::default() })]

    /// Recordings of one machine are one recording of all their blocks; those of several are, machine by machine.
    #[test]
    fn merging_is_analysing_all_blocks_together(three in [blocks(), blocks(), blocks()]) {
        let [a, b, c] = &three;
        let all: Vec<Late> = three.concat();
        let (_folder, whole) = folder(&[("all", "n1", &all)]);
        let together = sum(&open(&whole).header().clone(), open(&whole));

        let (folder, paths) = super::tests::folder(&[("a", "n1", a), ("b", "n1", b), ("c", "n1", c)]);
        let out = folder.path().join("out");
        prop_assert_eq!(&written(&paths, &out), &together);

        let (folder, paths) = super::tests::folder(&[("a", "n1", a), ("b", "n2", b), ("c", "n1", c)]);
        let (first, second) = (folder.path().join("first"), folder.path().join("second"));
        let at_once = written(&paths, &first);
        let count = |name: &str| -> u64 {
            at_once.iter().filter(|total| total.0.as_deref() == Some(name)).map(|total| total.1.count()).sum()
        };
        let of = |blocks: &[Late]| blocks.iter().map(|(_, late)| late.len() as u64).sum::<u64>();
        prop_assert_eq!((count("n1"), count("n2")), (of(a) + of(c), of(b)));
        // One after the other gives the same as all at once; what is in it already counts once.
        written(&paths[..2], &second);
        let rest = [second, paths[2].clone(), paths[0].clone()];
        let mut stepwise = written(&rest, &folder.path().join("third"));
        let mut at_once = at_once;
        let key = |total: &(Option<String>, Distribution, u64, Option<WorstWakeup>)| (total.0.clone(), total.1.count(), total.2);
        stepwise.sort_by_key(key);
        at_once.sort_by_key(key);
        prop_assert_eq!(stepwise, at_once);
    }
}

#[test]
fn what_was_sent_twice_counts_once_and_the_whole_copy_is_taken() {
    let late: [Late; 2] = [(0, vec![5, 6]), (1, vec![7])];
    let (folder, mut paths) = folder(&[("a", "n1", &late), ("b", "n2", &late)]);
    let whole = std::fs::read(&paths[0]).unwrap();
    let cut = folder.path().join("cut.jsonl");
    std::fs::write(&cut, &whole[..whole.len() * 3 / 4]).unwrap();
    paths.insert(0, cut.clone());
    let counts = |paths: &[PathBuf]| {
        sum(&open(paths).header().clone(), open(paths)).iter().map(|total| total.1.count()).sum::<u64>()
    };
    assert_eq!(counts(&paths), 6);
    assert_eq!(caveats(&paths), [Caveat::SourceTwice { path: cut.display().to_string() }]);
    // Where the better one is damaged, the other does.
    std::fs::write(&paths[1], [&whole[..], b"{}\n"].concat()).unwrap();
    assert!(
        matches!(&caveats(&paths)[..], [Caveat::SourceLeftOut { .. }, Caveat::RecordingCutOff { path }] if *path == cut.display().to_string())
    );
}

#[test]
fn what_is_damaged_is_left_out_whole_and_named() {
    let late: [Late; 2] = [(0, vec![5, 6]), (1, vec![7])];
    let (folder, paths) = folder(&[("a", "n1", &late), ("b", "n2", &late)]);
    let text = std::fs::read_to_string(&paths[1]).unwrap();
    let (start, end) = text.split_at(text.rfind("\"hdr\":\"").unwrap());
    std::fs::write(&paths[1], format!("{start}{}", end.replacen("\"hdr\":\"", "\"hdr\":\"!", 1))).unwrap();
    std::fs::write(folder.path().join("newer.jsonl"), "{\"header\":{\"format\":99}}\n").unwrap();
    let all =
        [paths.clone(), vec![folder.path().join("newer.jsonl"), folder.path().join("none.jsonl")]].concat();
    let left_out = caveats(&all);
    let reasons: Vec<&str> = left_out
        .iter()
        .map(|total| if let Caveat::SourceLeftOut { reason, .. } = total { reason.as_str() } else { "" })
        .collect();
    assert!(reasons.iter().any(|reason| reason.contains("is damaged")), "{reasons:?}");
    assert!(reasons.iter().any(|reason| reason.contains("has format 99")), "{reasons:?}");
    assert_eq!(left_out.len(), 3);
    let total = |paths: &[PathBuf]| open(paths).filter(|line| matches!(line, Line::Block(_))).count();
    assert_eq!(total(&all), 2, "nothing of a damaged one");
    assert!(matches!(
        Sources::open(&all[2..], String::new(), vec![]),
        Err(SourceError::Unreadable { of: 2, .. })
    ));
}

#[test]
fn a_policy_that_was_refused_is_kept_apart_from_where_it_ran() {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = ["ran", "refused", "ran again"].map(|name| folder.path().join(name)).into();
    for (path, policy) in paths.iter().zip(["fifo:80", "other", "fifo:80"]) {
        let mut header =
            Header { id: Some(path.display().to_string()), node: node("n1"), ..testing::header(1) };
        header.conditions[0].policy = "fifo:80".parse().unwrap();
        let mut writer = Writer::create(path, &header).unwrap();
        writer.write(&Line::Started(started(policy.parse().unwrap())));
        writer.write(&block(0, &[5]));
        writer.close();
    }
    let counts: Vec<u64> =
        sum(&open(&paths).header().clone(), open(&paths)).iter().map(|total| total.1.count()).collect();
    assert_eq!(counts, [2, 1]);
}

fn started(policy: Policy) -> TurnStarted {
    let in_force = EffectiveSettings {
        tid: 1,
        policy,
        slack: Span::ZERO,
        cpus: CpuSet::default(),
        memory_locked: true,
        dma_latency_us: None,
        slice: None,
    };
    let at = MonotonicTime::default();
    TurnStarted {
        condition: 0,
        round: 0,
        at,
        in_force,
        sender_in_force: None,
        runtime: None,
        warm_up: None,
        caveats: vec![],
    }
}

#[test]
fn conditions_that_come_later_are_told_apart_by_machine_too() {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = ["n1", "n2"].map(|name| folder.path().join(name)).into();
    for (path, name) in paths.iter().zip(["n1", "n2"]) {
        let header = Header { id: Some(name.into()), node: node(name), ..testing::header(0) };
        let mut writer = Writer::create(path, &header).unwrap();
        writer.write(&Line::Condition(Box::new(testing::header(1).conditions.remove(0))));
        writer.write(&block(0, &[5]));
        writer.close();
    }
    let sum = sum(&open(&paths).header().clone(), open(&paths));
    let named: Vec<_> = sum.iter().map(|total| (total.0.as_deref(), total.1.count())).collect();
    assert_eq!(named, [(Some("n1"), 1), (Some("n2"), 1)]);
}

/// A recording without lines, begun when the clock of the day and that of the boot said this.
fn begun(folder: &Path, name: &str, boot: Option<&str>, started: &str, at: i64) -> PathBuf {
    let path = folder.join(name);
    let header = Header {
        id: Some(name.into()),
        node: Node { boot: boot.map(Into::into), ..node(boot.unwrap_or(name)) },
        started: started.into(),
        at: MonotonicTime::from_nanos(at),
        ..testing::header(1)
    };
    Writer::create(&path, &header).unwrap().close();
    path
}

/// When each recording began, by the merged clock.
fn beginnings(paths: &[PathBuf]) -> Vec<i64> {
    open(paths)
        .filter_map(|line| if let Line::Source(source) = line { Some(source.at.as_nanos()) } else { None })
        .collect()
}

#[test]
fn clocks_of_machines_move_to_one() {
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &str, started: &str, at| begun(folder.path(), name, None, started, at);
    let paths = [
        make("late", "2026-01-01T00:00:05Z", 100),
        make("first", "2026-01-01T00:00:00Z", 7_000),
        make("never set", "1970-01-01T00:00:00Z", 1),
    ];
    // The clock that was never set would be the earliest; the day is all that is known of it.
    assert_eq!(open(&paths[..2]).header().at.as_nanos(), 7_000);
    assert_eq!(beginnings(&paths[..2]), [5_000_007_000, 7_000]);
    assert_eq!(beginnings(&paths).len(), 3);
}

#[test]
fn recordings_of_one_boot_keep_their_distance() {
    let folder = tempfile::tempdir().unwrap();
    let make =
        |name: &str, boot: &str, started: &str, at| begun(folder.path(), name, Some(boot), started, at);
    // A second begins between the last two, which are 0.1 s apart.
    let paths = [
        make("a", "n1", "2026-01-01T00:00:00Z", 7_000),
        make("b", "n2", "2026-01-01T00:00:05Z", 1_000_000_000),
        make("c", "n2", "2026-01-01T00:00:06Z", 1_100_000_000),
    ];
    let moved = beginnings(&paths);
    assert_eq!(moved[2] - moved[1], 100_000_000, "{moved:?}");
}

#[test]
fn a_part_that_is_skipped_leaves_the_conditions_of_the_others_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    with_late_comer(&at("a"), "a", 5, &[7, 8]);
    with_late_comer(&at("c"), "c", 6, &[9, 10, 11]);
    let both = written(&[at("a"), at("c")], &at("both"));
    let counts = |sum: &Sum| sum.iter().map(|total| total.1.count()).collect::<Vec<_>>();
    assert_eq!(counts(&both), [0, 2, 3]);
    for (first, then) in [("a", "1"), ("c", "2")] {
        let again = written(&[at(first), at("both")], &at(then));
        let mut found = counts(&again);
        found.sort_unstable();
        assert_eq!(found, [0, 2, 3], "{first}");
        let late = |count| again.iter().find(|total| total.1.count() == count).unwrap().1.clone();
        assert_eq!((late(2), late(3)), (both[1].1.clone(), both[2].1.clone()), "{first}");
    }
}
