use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;

use howlate_model::{Header, Line, MonotonicTime, WaitMinute};
use jiff::Timestamp;

use super::*;

/// A line of about so many bytes.
fn minute(number: i64, bytes: usize) -> Line {
    let at = format!("{}{}", "x".repeat(bytes), number);
    let (from, until) = (MonotonicTime::default(), MonotonicTime::from_nanos(number));
    Line::Minute(Box::new(WaitMinute {
        at,
        from,
        until,
        groups: vec![],
        incidents_lost: 0,
        incidents_left_out: 0,
        switches_unseen: 0,
        lines_lost: 0,
        turns_lost: 0,
        loops_left_out: 0,
        snaps_left_out: 0,
        late_above: None,
        removed: vec![],
        clock: None,
        requests: Vec::new(),
    }))
}

fn begin() -> Header {
    Header { started: "2020-02-02T02:15:00Z".into(), ..Header::for_conditions(vec![]) }
}

const SMALL: RotationLimits = RotationLimits { size: LEAST_SIZE, age: None };

fn open(path: &Path, bounds: RotationLimits) -> Result<RotatedRecording, RotationError> {
    RotatedRecording::open(path, "process 7, since noon", bounds, begin)
}

fn numbers(path: &Path) -> Vec<i64> {
    let mut all = Vec::new();
    let number = |line: Line| match line {
        Line::Minute(minute) => all.push(minute.until.as_nanos()),
        other => panic!("{other:?}"),
    };
    assert_eq!(read_between(path, (None, None), number).unwrap().damaged, Vec::<String>::new());
    all
}

fn bytes_in(path: &Path) -> u64 {
    std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum()
}

#[test]
fn the_oldest_make_room_and_no_byte_is_too_many() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept");
    let mut rotated = open(&path, SMALL).unwrap();
    let (mut most, mut removed) = (0, 0);
    for number in 0..2_000 {
        rotated.write(&minute(number, 1_000 + usize::try_from(number % 37).unwrap() * 40));
        most = most.max(bytes_in(&path));
        assert_eq!(rotated.size(), bytes_in(&path));
        removed += rotated.take_removed().iter().map(|one| one.files).sum::<u64>();
    }
    assert!(most <= LEAST_SIZE && most > LEAST_SIZE * 7 / 10, "{most}");
    let remaining = numbers(&path);
    assert!(remaining.len() > 300, "{}", remaining.len());
    let all: Vec<i64> = (2_000 - i64::try_from(remaining.len()).unwrap()..2_000).collect();
    assert_eq!(remaining, all, "the newest, without a hole");
    assert!(removed > 5 && rotated.take_write_status().loss.is_none());
}

#[test]
fn a_later_one_goes_on_and_a_cut_off_line_spoils_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept");
    let mut rotated = open(&path, SMALL).unwrap();
    (0..3).for_each(|number| rotated.write(&minute(number, 10)));
    drop(rotated);
    let first = segments(&path).unwrap().remove(0).path;
    let file = File::options().write(true).open(&first).unwrap();
    file.set_len(file.metadata().unwrap().len() - 5).unwrap();
    let mut rotated = open(&path, SMALL).unwrap();
    rotated.write(&minute(3, 10));
    assert_eq!(numbers(&path), [0, 1, 3]);
    assert_eq!(rotated.size(), bytes_in(&path));
    assert_eq!(read_between(&path, (None, None), drop).unwrap().cut_off, 1);
}

#[test]
fn a_second_one_is_told_who_holds_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept");
    let first = open(&path, SMALL).unwrap();
    assert_eq!(recorder_of(&path), None, "process 7 has nothing of it open");
    assert!(!has_ended(&path));
    let refused = open(&path, SMALL).err().unwrap().to_string();
    assert!(refused.ends_with("kept: process 7, since noon"), "{refused}");
    drop(first);
    assert_eq!(recorder_of(&path), None, "it has ended");
    assert!(has_ended(&path));
    assert!(open(&path, SMALL).is_ok());
}

#[test]
fn what_is_not_ours_is_not_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let (path, link) = (folder.path().join("kept"), folder.path().join("link"));
    drop(open(&path, SMALL).unwrap());
    symlink(&path, &link).unwrap();
    assert!(matches!(open(&link, SMALL), Err(RotationError::Link { .. })));
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    assert!(matches!(open(&file, SMALL), Err(RotationError::UnsafePath(_))));
    let few = RotationLimits { size: LEAST_SIZE - 1, age: None };
    assert!(matches!(open(&path, few), Err(RotationError::TooSmall { .. })));
}

#[test]
fn what_is_too_old_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept");
    let bounds = RotationLimits { age: Some(Span::from_secs(3_600)), ..SMALL };
    let mut rotated = open(&path, bounds).unwrap();
    (0..400).for_each(|number| rotated.write(&minute(number, 1_000)));
    let (files, now) = (segments(&path).unwrap().len(), Timestamp::now().as_second());
    assert!(files > 2);
    rotated.sync(now);
    assert_eq!(segments(&path).unwrap().len(), files, "they are new");
    rotated.sync(now + 3_700);
    assert_eq!(segments(&path).unwrap().len(), 1, "the one that is written stays");
    let files = u64::try_from(files - 1).unwrap();
    assert_eq!(rotated.take_removed(), [RemovedFiles { files, reason: RemovalReason::MaxAge }]);
}

#[test]
fn a_full_disk_drops_the_oldest_and_then_lines() {
    // /dev/full fails every write with ENOSPC, as a full disk does.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept");
    let mut rotated = open(&path, SMALL).unwrap();
    (0..400).for_each(|number| rotated.write(&minute(number, 1_000)));
    let files = segments(&path).unwrap().len();
    let full = File::options().write(true).open("/dev/full").unwrap();
    let good = std::mem::replace(&mut rotated.open.as_mut().unwrap().file, full);
    rotated.write(&minute(400, 10));
    let loss = rotated.take_write_status().loss.unwrap();
    assert_eq!((loss.lines, loss.reason.to_string().contains("No space left")), (1, true));
    let removed = RemovedFiles { files: u64::try_from(files - 1).unwrap(), reason: RemovalReason::DiskFull };
    assert_eq!(rotated.take_removed(), [removed]);
    rotated.open.as_mut().unwrap().file = good;
    rotated.write(&minute(401, 10));
    assert_eq!(numbers(&path).last(), Some(&401));
    assert_eq!(rotated.size(), bytes_in(&path));
}

#[test]
fn what_the_disk_does_not_confirm_is_not_called_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut rotated = open(&folder.path().join("kept"), SMALL).unwrap();
    (0..3).for_each(|number| rotated.write(&minute(number, 10)));
    rotated.sync(0);
    assert_eq!(rotated.take_write_status(), WriteStatus { confirmed: 3, loss: None });
    rotated.write(&minute(3, 10));
    rotated.write(&minute(4, 10));
    // A pipe takes what is written, and can never confirm it.
    let (_reader, pipe) = io::pipe().unwrap();
    let good = std::mem::replace(&mut rotated.open.as_mut().unwrap().file, File::from(OwnedFd::from(pipe)));
    rotated.sync(0);
    let status = rotated.take_write_status();
    let reason = status.loss.as_ref().map(|loss| loss.reason.to_string()).unwrap_or_default();
    assert_eq!((status.confirmed, status.loss.map(|loss| loss.lines)), (0, Some(2)));
    assert!(reason.contains("did not confirm"), "{reason}");
    rotated.open.as_mut().unwrap().file = good;
    rotated.write(&minute(5, 10));
    rotated.sync(0);
    assert_eq!(rotated.take_write_status().confirmed, 1);
}

#[test]
fn only_files_of_the_time_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept");
    let mut rotated = open(&path, SMALL).unwrap();
    (0..400).for_each(|number| rotated.write(&minute(number, 1_000)));
    let count = |from: Option<Timestamp>, until: Option<Timestamp>| {
        let mut lines = 0;
        read_between(&path, (from, until), |_| lines += 1).unwrap();
        lines
    };
    let now = Timestamp::now();
    let hour = jiff::SignedDuration::from_hours(1);
    assert_eq!(count(Some(now - hour), Some(now + hour)), 400);
    assert_eq!(count(Some(now + hour), None), 0);
    assert_eq!(count(None, Some("2020-02-02T02:14:59Z".parse().unwrap())), 0);
}

#[test]
fn what_is_made_beside_takes_a_quarter_and_goes_with_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept");
    let mut rotated = open(&path, SMALL).unwrap();
    let write = |rotated: &mut RotatedRecording, name: &str, bytes: usize| {
        rotated.write_beside(&SideFile::Seen(name.to_owned()), &vec![b'x'; bytes])
    };
    let first = write(&mut rotated, "first", 100_000).unwrap();
    assert_eq!(first, "00000001-first.trace.json");
    let second = write(&mut rotated, "second", 100_000).unwrap();
    assert!(path.join(&first).exists());
    let third = write(&mut rotated, "third", 100_000).unwrap();
    let there = [&first, &second, &third].map(|name| path.join(name).exists());
    assert_eq!(there, [false, true, true], "the oldest made room");
    assert_eq!(write(&mut rotated, "large", 300_000), None);
    let last = write(&mut rotated, "last", 1_000).unwrap();
    rotated.remove_beside(&last);
    assert!(!path.join(last).exists());
    drop(rotated);
    let cut = path.join("00000001-cut.trace.json.part");
    std::fs::write(&cut, "[{").unwrap();
    let mut rotated = open(&path, SMALL).unwrap();
    assert_eq!(rotated.size(), bytes_in(&path), "a later one counts them");
    assert!(!cut.exists(), "a killed one was not done with it");
    let remaining = write(&mut rotated, "kept", 1).unwrap();
    (0..2_000).for_each(|number| {
        rotated.write(&minute(number, 1_000));
        assert!(bytes_in(&path) <= LEAST_SIZE);
    });
    assert!(!path.join(remaining).exists() && !path.join(third).exists());
    assert_eq!(rotated.size(), bytes_in(&path));
}

#[test]
fn a_folder_of_a_stranger_keeps_nobody_waiting_and_leads_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept");
    let mut rotated = open(&path, SMALL).unwrap();
    rotated.write(&minute(1, 10));
    let whole = segments(&path).unwrap().pop().unwrap().path;
    assert_eq!(whole.metadata().unwrap().mode() & 0o777 & !0o640, 0, "not for everybody");
    let [pipe, link] =
        ["00000002-20261125T031200Z.jsonl", "00000003-20261125T031300Z.jsonl"].map(|name| path.join(name));
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    std::os::unix::fs::symlink(&whole, &link).unwrap();
    let mut lines = 0;
    let read = read_between(&path, (None, None), |_| lines += 1).unwrap();
    assert_eq!((lines, read.damaged.len()), (1, 2), "{:?}", read.damaged);
}

#[test]
fn what_is_asked_for_takes_no_room_from_what_was_seen() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept");
    let mut rotated = open(&path, SMALL).unwrap();
    let moment = |second: u32| format!("20261125T0312{second:02}.000000Z");
    let seen = rotated.write_beside(&SideFile::Seen(moment(0)), &[b'x'; 100_000]).unwrap();
    let write_requested = |rotated: &mut RotatedRecording, second: u32| {
        rotated.write_beside(&SideFile::Asked(format!("{}-snap-why", moment(second))), &[b'x'; 50_000])
    };
    let first = write_requested(&mut rotated, 1).unwrap();
    drop(rotated);
    // They are told apart by their names.
    let mut rotated = open(&path, SMALL).unwrap();
    let later: Vec<String> = (2..20).map(|second| write_requested(&mut rotated, second).unwrap()).collect();
    assert!(path.join(seen).exists() && !path.join(first).exists());
    assert_eq!(later.iter().filter(|name| path.join(name).exists()).count(), 2);
    assert_eq!(
        rotated.write_beside(&SideFile::Asked(format!("{}-snap-large", moment(30))), &[b'x'; 200_000]),
        None
    );
}

#[test]
fn who_follows_gets_each_line_once_and_only_whole_ones() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept");
    let mut rotated = open(&path, SMALL).unwrap();
    rotated.write(&minute(1, 10));
    let mut follow = FolderFollower::from_now(&path).unwrap();
    let mut numbers = || {
        let mut all = Vec::new();
        follow
            .read(|line| {
                all.extend(match line {
                    Line::Minute(minute) => Some(minute.until.as_nanos()),
                    _ => None,
                })
            })
            .unwrap();
        all
    };
    assert_eq!(numbers(), Vec::<i64>::new(), "what was there already is not read");
    // Through several files, the oldest of which make room.
    (2..400).for_each(|number| rotated.write(&minute(number, 2_000)));
    let read = numbers();
    assert!(path.read_dir().unwrap().count() > 3 && read == (2..400).collect::<Vec<_>>(), "{read:?}");
    let open = segments(&path).unwrap().pop().unwrap().path;
    let mut text = serde_json::to_vec(&minute(400, 10)).unwrap();
    let rest = text.split_off(20);
    let mut file = File::options().append(true).open(open).unwrap();
    file.write_all(&text).unwrap();
    assert_eq!(numbers(), Vec::<i64>::new());
    file.write_all(&rest).unwrap();
    file.write_all(b"\n").unwrap();
    assert_eq!((numbers(), numbers()), (vec![400], vec![]));
}

#[test]
fn whoever_reads_knows_when_the_last_line_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept");
    let mut rotated = open(&path, SMALL).unwrap();
    let last = |write_requested: (Option<&str>, Option<&str>)| {
        let write_requested =
            [write_requested.0, write_requested.1].map(|at| at.map(|at| at.parse().unwrap()));
        read_between(&path, write_requested.into(), |_| {}).unwrap().last.map(|at| at.to_string())
    };
    assert_eq!(last((None, None)).as_deref(), Some("2020-02-02T02:15:00Z"), "it has only begun");
    let Line::Minute(one) = minute(7, 10) else { panic!("a minute") };
    rotated.write(&Line::Minute(Box::new(WaitMinute { at: "2020-02-02T02:16:00Z".to_owned(), ..*one })));
    let written = last((None, None));
    assert_eq!(written.as_deref(), Some("2020-02-02T02:16:00Z"));
    // Wherever somebody looks; the end of a killed one is not whole.
    assert_eq!(last((Some("2030-01-01T00:00:00Z"), None)), written);
    assert_eq!(last((None, Some("2020-01-01T00:00:00Z"))), written);
    let open = segments(&path).unwrap().pop().unwrap().path;
    File::options().append(true).open(open).unwrap().write_all(b"{\"incident\":").unwrap();
    assert_eq!(last((None, None)), written);
}

#[test]
fn a_folder_that_is_taken_away_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let (path, elsewhere) = (folder.path().join("kept"), folder.path().join("elsewhere"));
    let mut rotated = open(&path, SMALL).unwrap();
    rotated.write(&minute(1, 10));
    assert!(rotated.is_in_place());
    std::fs::rename(&path, &elsewhere).unwrap();
    assert!(!rotated.is_in_place());
    std::fs::rename(&elsewhere, &path).unwrap();
    assert!(rotated.is_in_place());
    std::fs::remove_dir_all(&path).unwrap();
    assert!(!rotated.is_in_place());
    // Another one in its place is none of its.
    drop(open(&path, SMALL));
    assert!(!rotated.is_in_place());
}
