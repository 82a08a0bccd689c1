//! The recording of a pod, brought here out of its log.

use std::fs::File;
use std::io::{self, Read};

use super::api_types::KubeObject;
use super::kubectl::Kubectl;
use super::log_encoding::{self, RecordingDigest};
use super::manifest::MEASURE;
use super::states::report;
use crate::folder::Fleet;
use crate::scheduler::FetchResult;

/// What outcome out of the log.
type FetchOutcome = Option<io::Result<RecordingDigest>>;

/// Brings what a pod says that it has written, if it is whole. A connection that ends too early looks the same as a log
/// that was cut off, so it is read twice.
pub(super) fn fetch(
    kubectl: &Kubectl<'_>,
    fleet: &Fleet,
    node: usize,
    pod: &KubeObject,
) -> Result<FetchResult, String> {
    let Some(expected) = report(pod).and_then(|report| report.recording) else {
        return Ok(FetchResult::None);
    };
    match try_to_fetch(kubectl, fleet, node, pod, &expected)? {
        FetchResult::Lost(_) => try_to_fetch(kubectl, fleet, node, pod, &expected),
        fetched => Ok(fetched),
    }
}

fn try_to_fetch(
    kubectl: &Kubectl<'_>,
    fleet: &Fleet,
    node: usize,
    pod: &KubeObject,
    expected: &RecordingDigest,
) -> Result<FetchResult, String> {
    let wrong = |error: io::Error| format!("its recording cannot be kept here: {error}");
    let part = tempfile::NamedTempFile::new_in(&fleet.folder).map_err(wrong)?;
    let into = part.reopen().map_err(wrong)?;
    let (output, outcome) = kubectl
        .log(&pod.metadata.name, MEASURE, move |out| decode(out, into))
        .map_err(|error| error.to_string())?;
    if !output.is_success() {
        return Err(output.reason());
    }
    if !is_whole(outcome, expected) {
        return Ok(FetchResult::Lost(lost(expected)));
    }
    part.persist(fleet.recording(node)).map_err(|error| wrong(error.error))?;
    Ok(FetchResult::Here)
}

fn decode(out: Box<dyn Read>, into: File) -> FetchOutcome {
    Some(log_encoding::read(out, into))
}

/// Logs are cut off at their beginning when they grow too long, and at their end when a node is lost.
fn is_whole(outcome: FetchOutcome, expected: &RecordingDigest) -> bool {
    matches!(outcome, Some(Ok(outcome)) if outcome == *expected)
}

fn lost(expected: &RecordingDigest) -> String {
    format!(
        "its log does not hold its recording of {} bytes as it was written: the kubelet keeps the end of a log, 10 MiB \
         if not told otherwise, and a third of a recording must fit; raise its containerLogMaxSize, or measure less",
        expected.bytes
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_written_is_taken() {
        let mut log = Vec::new();
        let expected = log_encoding::write(&b"a recording"[..], &mut log).unwrap();
        let outcome = |log: Vec<u8>| decode(Box::new(io::Cursor::new(log)), tempfile::tempfile().unwrap());
        assert!(is_whole(outcome(log.clone()), &expected));
        let mut other = Vec::new();
        log_encoding::write(&b"another one"[..], &mut other).unwrap();
        for damaged in [Vec::new(), log[4..].to_vec(), other, [log, b"more\n".to_vec()].concat()] {
            assert!(!is_whole(outcome(damaged), &expected));
        }
        assert!(!is_whole(None, &expected));
    }
}
