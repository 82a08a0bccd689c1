//! What other processes send or write into shared memory: probes, guests, programs that ask a recorder, loops, receivers.

use howlate_model::Line;
use howlate_recording::LineMerger;

use super::recordings::recordings;
use crate::Target;

/// The output of a probe: `docs/probes.md`.
pub(crate) const PROBE: Target = Target {
    name: "probe",
    seeds: probe_outputs,
    body: |input| howlate_runtimes::fuzzing::talk(&String::from_utf8_lossy(input)),
};

/// Lines from a guest, and merging them into a recording.
pub(crate) const GUEST: Target = Target { name: "guest", seeds: guest_lines, body: merge_guest_lines };

/// Messages of programs to a recorder.
pub(crate) const REQUESTS: Target =
    Target { name: "requests", seeds: requests, body: howlate_blackbox::fuzzing::message };

/// The ring of wake-ups; each byte is a step of the writer or of the reader.
pub(crate) const RING: Target =
    Target { name: "ring", seeds: ring_steps, body: howlate_measure::fuzzing::ring };

/// The shared memory of `howlate notify`, written by a receiver.
pub(crate) const SHARED_MEMORY: Target =
    Target { name: "shared-memory", seeds: receiver_memory, body: howlate_measure::fuzzing::shared_memory };

/// The shared memory of marked loops, written by a program.
pub(crate) const LOOPS: Target =
    Target { name: "loops", seeds: loop_memory, body: howlate_watched_program::fuzzing::loops };

fn probe_outputs() -> Vec<Vec<u8>> {
    let outputs = [
        "howlate-probe 1 monotonic Python 3.11.7: time.sleep\n1000 1100\n1200 1400\n1500 1501\nend\n",
        "howlate-probe 1 realtime C\n1700000000000000000 1700000000000000100\n1700000000000000200 1700000000000000900\nend\n",
        "howlate-probe 2 monotonic\n",
        "-bash: no such file\n",
    ];
    outputs.iter().map(|output| output.as_bytes().to_vec()).collect()
}

/// One line per seed.
fn guest_lines() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = recordings()
        .iter()
        .flat_map(|recording| {
            recording.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>()
        })
        .collect();
    seeds.push(b"{\"over\":{\"exit_status\":3,\"said\":\"error: no\"}}\n".to_vec());
    seeds
}

fn merge_guest_lines(input: &[u8]) {
    let mut merger = None;
    for line in howlate_guest::fuzzing::lines(&String::from_utf8_lossy(input)) {
        match (line, &mut merger) {
            (Line::Header(header), merger) => {
                let merger =
                    merger.get_or_insert_with(|| LineMerger::into_conditions(header.conditions.clone()));
                drop(merger.begin(&header.conditions, 7));
            }
            (line, Some(merger)) => drop(merger.line(line)),
            _ => {}
        }
    }
}

fn requests() -> Vec<Vec<u8>> {
    let snap = [&b"snap1\0\0\0"[..], &[7; 8], b"player\0\0\0\0\0\0\0\0\0\0", b"frame dropped\0"].concat();
    vec![snap, b"loops1\0\0".to_vec(), [0xff; 256].to_vec()]
}

fn ring_steps() -> Vec<Vec<u8>> {
    vec![vec![0; 40], (0..=255).collect(), [1, 200, 7].repeat(20)]
}

/// The words as memory has them.
fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The memory of one loop of thread 8 of process 7, and two with impossible counts.
fn loop_memory() -> Vec<Vec<u8>> {
    let mut words = vec![0_u64; 100];
    [words[0], words[1], words[2], words[3], words[9]] =
        [1, 7 << 32 | 8, 1_000_000, u64::from_le_bytes(*b"control\0"), 12];
    (65..100).for_each(|word| words[word] = 7 * (40 - word as u64 % 40) * 100 + 3);
    let mut most = words.clone();
    (most[0], most[9]) = (u64::MAX, u64::MAX);
    vec![bytes(&words), bytes(&most), bytes(&[64; 700])]
}

fn receiver_memory() -> Vec<Vec<u8>> {
    let mut stamps = vec![0; 112];
    stamps[0] = 3;
    stamps.extend([1, 1_000, 2, 2_000, 4, 2_500]);
    vec![bytes(&stamps), bytes(&[u64::MAX; 130]), bytes(&[0; 8])]
}
