//! Memory that another thread or process writes: the ring of wake-ups, and the stamps of a receiver.

use crate::Target;

/// Each byte is a step of the writer or of the reader.
pub(crate) const RING: Target = Target { name: "ring", seeds: steps, body: howlate_measure::fuzzing::ring };

/// The whole of the shared memory, as a receiver may have left it.
pub(crate) const SHARED: Target =
    Target { name: "shared-memory", seeds: memory, body: howlate_measure::fuzzing::shared_memory };

fn steps() -> Vec<Vec<u8>> {
    vec![vec![0; 40], (0..=255).collect(), [1, 200, 7].repeat(20)]
}

fn memory() -> Vec<Vec<u8>> {
    let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let mut stamps = vec![0; 112];
    stamps[0] = 3;
    stamps.extend([1, 1_000, 2, 2_000, 4, 2_500]);
    vec![words(&stamps), words(&[u64::MAX; 130]), words(&[0; 8])]
}
