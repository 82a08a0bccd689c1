//! The recording of a pod, brought here out of its log.

use std::fs::File;
use std::io::{self, Read};

use super::kubectl::Kubectl;
use super::lines::{self, Written};
use super::manifest::MEASURE;
use super::object::Object;
use super::seen::report;
use crate::folder::Fleet;
use crate::scheduler::Fetched;

/// What came out of the log.
type Came = Option<io::Result<Written>>;

/// Brings what a pod says that it has written, if it is whole.
pub(super) fn fetch(
    kubectl: &Kubectl<'_>,
    fleet: &Fleet,
    node: usize,
    pod: &Object,
) -> Result<Fetched, String> {
    let Some(expected) = report(pod).and_then(|report| report.recording) else { return Ok(Fetched::None) };
    let wrong = |error: io::Error| format!("its recording cannot be kept here: {error}");
    let part = tempfile::NamedTempFile::new_in(&fleet.folder).map_err(wrong)?;
    let into = part.reopen().map_err(wrong)?;
    let (said, came) = kubectl
        .log(&pod.metadata.name, MEASURE, move |out| taken(out, into))
        .map_err(|error| error.to_string())?;
    if !said.is_success() {
        return Err(said.reason());
    }
    is_whole(came, &expected)?;
    part.persist(fleet.recording(node)).map_err(|error| wrong(error.error))?;
    Ok(Fetched::Here)
}

fn taken(out: Box<dyn Read>, into: File) -> Came {
    Some(lines::read(out, into))
}

/// Logs are cut off at their beginning when they grow too long, and at their end when a node is lost.
fn is_whole(came: Came, expected: &Written) -> Result<(), String> {
    match came {
        Some(Ok(came)) if came == *expected => Ok(()),
        _ => Err(format!(
            "its log does not hold its recording of {} bytes as it was written: the kubelet keeps so much of a log \
             (containerLogMaxSize), and a third of the recording must fit",
            expected.bytes
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_written_is_taken() {
        let mut log = Vec::new();
        let expected = lines::write(&b"a recording"[..], &mut log).unwrap();
        let came = |log: Vec<u8>| taken(Box::new(io::Cursor::new(log)), tempfile::tempfile().unwrap());
        assert_eq!(is_whole(came(log.clone()), &expected), Ok(()));
        let mut other = Vec::new();
        lines::write(&b"another one"[..], &mut other).unwrap();
        for damaged in [Vec::new(), log[4..].to_vec(), other, [log, b"more\n".to_vec()].concat()] {
            assert!(is_whole(came(damaged), &expected).is_err());
        }
        assert!(is_whole(None, &expected).is_err());
    }
}
