//! Traces that each tracer took of real wake-ups, decomposed again.

use std::fs;
use std::path::{Path, PathBuf};

use howlate_model::{MonotonicTime, TracedSleep, Wakeup, WakeupBreakdown};
use serde::Deserialize;

use super::Joiner;

/// A trace as `crates/tracing/trace` captures it.
#[derive(Deserialize)]
struct CapturedTrace {
    /// The expected time of each wake-up, and the thread's own clock reading.
    wakeups: Vec<[MonotonicTime; 2]>,
    seen: Vec<TracedSleep>,
}

fn traces() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testdata/traces");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect()
}

fn replay(trace: CapturedTrace) -> Joiner {
    let mut joiner = Joiner::new(false);
    trace.seen.into_iter().for_each(|sleep| joiner.record_sleep(sleep));
    joiner.record_wakeups(trace.wakeups.into_iter().map(|[expected, ran]| Wakeup { expected, ran }));
    joiner.end();
    joiner
}

#[test]
fn captured_traces_have_their_parts() {
    let traces = traces();
    assert_eq!(
        traces.len(),
        18,
        "one of each tracer, here, in Debian's 6.1 kernels for two architectures, and in its 7.2"
    );
    for path in traces {
        let trace: CapturedTrace = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let count = trace.wakeups.len();
        let joiner = replay(trace);
        let worst: &[WakeupBreakdown] = joiner.ledger.worst();
        assert_eq!((worst.len(), joiner.ledger.clamped), (count, 0), "{}", path.display());
        for wakeup in worst {
            let sum: u64 = wakeup.parts.iter().map(|part| part.ns.as_nanos()).sum();
            assert_eq!(i64::try_from(sum).unwrap(), wakeup.latency.as_nanos(), "{}", path.display());
        }
        let (found, expected) =
            (serde_json::to_string_pretty(worst).unwrap() + "\n", path.with_extension("parts"));
        if std::env::var_os("HOWLATE_UPDATE").is_some() {
            fs::write(expected, found).unwrap();
        } else {
            assert_eq!(found, fs::read_to_string(expected).unwrap(), "{}", path.display());
        }
    }
}
