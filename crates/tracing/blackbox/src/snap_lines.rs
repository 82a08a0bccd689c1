//! Lines and file name of requested timelines.

use howlate_model::{MonotonicTime, SnapProgram, Snapshot};
use howlate_recording::{compact, date_and_time};

use crate::requests::SnapRequest;
use crate::thread_owner::ThreadOwners;

/// Maximum characters of a reason in the file name.
const LETTERS: usize = 40;

/// File name from the time and the reason of the first request.
pub(crate) fn snap_file_name(at: &str, first: Option<&SnapRequest>) -> String {
    let why = first.map_or_else(String::new, |first| format!("-{}", slug(first.reason.as_deref())));
    format!("{}-snap{why}", compact(at))
}

/// Lower-case letters and digits, joined by dashes: `frame-dropped`.
fn slug(reason: Option<&str>) -> String {
    let lower = reason.unwrap_or_default().to_ascii_lowercase();
    let parts = lower.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    let slug: String = parts.collect::<Vec<_>>().join("-").chars().take(LETTERS).collect();
    if slug.is_empty() { "program".to_owned() } else { slug }
}

/// A line for each request, or one for `howlate snap` and the signal. `ahead`: offset of the wall clock.
pub(crate) fn snap_lines(
    requests: &[SnapRequest],
    now: MonotonicTime,
    ahead: i64,
    timeline: Option<&str>,
    owners: &mut ThreadOwners,
) -> Vec<Snapshot> {
    let line = |at_ns: MonotonicTime, reason: Option<String>, program: Option<SnapProgram>| Snapshot {
        at: date_and_time(at_ns, ahead),
        at_ns,
        reason,
        program,
        timeline: timeline.map(str::to_owned),
    };
    if requests.is_empty() {
        return vec![line(now, None, None)];
    }
    let snap_line = |request: &SnapRequest| {
        line(request.at.unwrap_or(now), request.reason.clone(), Some(program(request, owners)))
    };
    requests.iter().map(snap_line).collect()
}

/// An ended process is named after its thread.
fn program(request: &SnapRequest, owners: &mut ThreadOwners) -> SnapProgram {
    let process = owners.of_thread(request.peer.pid).process.unwrap_or_else(|| request.thread.clone());
    SnapProgram { process, pid: request.peer.pid, uid: request.peer.uid }
}

#[cfg(test)]
mod tests {
    use howlate_linux::socket::Peer;
    use howlate_procfs::Root;

    use super::*;

    fn request(pid: u32, at: Option<i64>, reason: &str) -> SnapRequest {
        let (at, thread) = (at.map(MonotonicTime::from_nanos), "decoder".to_owned());
        SnapRequest { peer: Peer { pid, uid: 5 }, at, thread, reason: Some(reason.to_owned()) }
    }

    #[test]
    fn a_file_is_named_after_why_it_is_there() {
        let at = "2026-11-25T03:12:07.123456Z";
        let name = |reason: &str| snap_file_name(at, Some(&request(7, None, reason)));
        assert_eq!(snap_file_name(at, None), "20261125T031207.123456Z-snap");
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
        let mut owners = ThreadOwners::new(Root::at(folder.path()));
        let now = MonotonicTime::from_nanos(9_000_000_000);
        let requests = [request(8, Some(8_000_000_000), "frame dropped"), request(9, None, "late")];
        let lines = snap_lines(&requests, now, 0, Some("7.trace.json"), &mut owners);
        let fields = |line: &Snapshot| {
            let program = line.program.clone().unwrap();
            (line.at.clone(), program.process, program.pid, line.reason.clone().unwrap())
        };
        let expected = [("08", "player", 8, "frame dropped"), ("09", "decoder", 9, "late")].map(
            |(second, name, pid, why)| {
                (format!("1970-01-01T00:00:{second}.000000Z"), name.to_owned(), pid, why.to_owned())
            },
        );
        assert_eq!(lines.iter().map(fields).collect::<Vec<_>>(), expected);
        let by_signal = snap_lines(&[], now, 0, None, &mut owners);
        assert_eq!((by_signal.len(), &by_signal[0].program, by_signal[0].at_ns), (1, &None, now));
    }
}
