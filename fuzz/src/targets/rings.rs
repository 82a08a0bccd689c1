//! Memory that another thread or process writes: the ring of wake-ups, and the stamps of a receiver.

use crate::Target;

/// Each byte is a step of the writer or of the reader.
pub(crate) const RING: Target = Target { name: "ring", seeds: steps, body: howlate_measure::fuzzing::ring };

/// The memory of marked loops, as a program may have left it.
pub(crate) const LOOPS: Target =
    Target { name: "loops", seeds: loops, body: howlate_watched_program::fuzzing::loops };

/// The whole of the shared memory, as a receiver may have left it.
pub(crate) const SHARED: Target =
    Target { name: "shared-memory", seeds: memory, body: howlate_measure::fuzzing::shared_memory };

fn steps() -> Vec<Vec<u8>> {
    vec![vec![0; 40], (0..=255).collect(), [1, 200, 7].repeat(20)]
}

/// One ring was taken, by thread 8 of process 7; it holds turns, of which some are to come.
fn loops() -> Vec<Vec<u8>> {
    let mut words = vec![0_u64; 100];
    [words[0], words[1], words[2], words[3], words[9]] =
        [1, 7 << 32 | 8, 1_000_000, u64::from_le_bytes(*b"control\0"), 12];
    (65..100).for_each(|word| words[word] = 7 * (40 - word as u64 % 40) * 100 + 3);
    let bytes = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let mut many = words.clone();
    (many[0], many[9]) = (u64::MAX, u64::MAX);
    vec![bytes(&words), bytes(&many), bytes(&[64; 700])]
}

fn memory() -> Vec<Vec<u8>> {
    let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let mut stamps = vec![0; 112];
    stamps[0] = 3;
    stamps.extend([1, 1_000, 2, 2_000, 4, 2_500]);
    vec![words(&stamps), words(&[u64::MAX; 130]), words(&[0; 8])]
}
