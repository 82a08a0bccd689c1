//! What is kept of requests for what all CPUs have just done: lines, and the name of the file.

use howlate_model::{MonotonicTime, SnapProgram, Snapshot};
use howlate_recording::{compact, date_and_time};

use crate::requests::SnapRequest;
use crate::thread_owner::Origins;

/// Letters of a reason in the name of a file.
const LETTERS: usize = 40;

/// The name of the file, after its moment and the first program that asked for it.
pub(crate) fn name_of(at: &str, first: Option<&SnapRequest>) -> String {
    let why = first.map_or_else(String::new, |first| format!("-{}", plain(first.reason.as_deref())));
    format!("{}-snap{why}", compact(at))
}

/// Small letters and digits, and a dash for all that lies between: `frame-dropped`.
fn plain(reason: Option<&str>) -> String {
    let lower = reason.unwrap_or_default().to_ascii_lowercase();
    let words = lower.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let plain: String = words.collect::<Vec<_>>().join("-").chars().take(LETTERS).collect();
    if plain.is_empty() { "program".to_owned() } else { plain }
}

/// A line for each program that asked, or one for `howlate snap` and the signal; the clock of the day is `ahead`.
pub(crate) fn snapped(
    asked: &[SnapRequest],
    now: MonotonicTime,
    ahead: i64,
    timeline: Option<&str>,
    origins: &mut Origins,
) -> Vec<Snapshot> {
    let line = |at_ns: MonotonicTime, reason: Option<String>, program: Option<SnapProgram>| Snapshot {
        at: date_and_time(at_ns, ahead),
        at_ns,
        reason,
        program,
        timeline: timeline.map(str::to_owned),
    };
    if asked.is_empty() {
        return vec![line(now, None, None)];
    }
    let of = |one: &SnapRequest| line(one.at.unwrap_or(now), one.reason.clone(), Some(program(one, origins)));
    asked.iter().map(of).collect()
}

/// One that has ended by now is called as its thread said that it was.
fn program(one: &SnapRequest, origins: &mut Origins) -> SnapProgram {
    let process = origins.of_thread(one.peer.pid).map_or_else(|| one.thread.clone(), |origin| origin.process);
    SnapProgram { process, pid: one.peer.pid, uid: one.peer.uid }
}

#[cfg(test)]
mod tests {
    use howlate_linux::peer::Peer;
    use howlate_procfs::Root;

    use super::*;

    fn asked(pid: u32, at: Option<i64>, reason: &str) -> SnapRequest {
        let (at, thread) = (at.map(MonotonicTime::from_nanos), "decoder".to_owned());
        SnapRequest { peer: Peer { pid, uid: 5 }, at, thread, reason: Some(reason.to_owned()) }
    }

    #[test]
    fn a_file_is_named_after_why_it_is_there() {
        let at = "2026-11-25T03:12:07.123456Z";
        let name = |reason: &str| name_of(at, Some(&asked(7, None, reason)));
        assert_eq!(name_of(at, None), "20261125T031207.123456Z-snap");
        assert_eq!(name("Frame dropped!"), "20261125T031207.123456Z-snap-frame-dropped");
        assert_eq!(name("../../etc/passwd"), "20261125T031207.123456Z-snap-etc-passwd");
        assert_eq!(name("\u{1f600}/"), "20261125T031207.123456Z-snap-program");
        assert_eq!(name(&"a".repeat(99)).len(), "20261125T031207.123456Z-snap-".len() + LETTERS);
    }

    #[test]
    fn each_program_has_its_line_by_the_name_that_it_has_or_had() {
        let folder = tempfile::tempdir().unwrap();
        howlate_testing::write_below(folder.path(), "proc/8/status", "Tgid:\t8\n");
        howlate_testing::write_below(folder.path(), "proc/8/comm", "player");
        let mut origins = Origins::new(Root::at(folder.path()));
        let now = MonotonicTime::from_nanos(9_000_000_000);
        let all = [asked(8, Some(8_000_000_000), "frame dropped"), asked(9, None, "late")];
        let lines = snapped(&all, now, 0, Some("7.trace.json"), &mut origins);
        let told = |line: &Snapshot| {
            let program = line.program.clone().unwrap();
            (line.at.clone(), program.process, program.pid, line.reason.clone().unwrap())
        };
        let wanted = [("08", "player", 8, "frame dropped"), ("09", "decoder", 9, "late")].map(
            |(second, name, pid, why)| {
                (format!("1970-01-01T00:00:{second}.000000Z"), name.to_owned(), pid, why.to_owned())
            },
        );
        assert_eq!(lines.iter().map(told).collect::<Vec<_>>(), wanted);
        let by_signal = snapped(&[], now, 0, None, &mut origins);
        assert_eq!((by_signal.len(), &by_signal[0].program, by_signal[0].at_ns), (1, &None, now));
    }
}
