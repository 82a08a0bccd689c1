//! Names in the memory.

/// A name; `None` where nothing is written.
pub(super) fn read(words: &[u64]) -> Option<String> {
    let name: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    (!name.is_empty()).then(|| String::from_utf8_lossy(name).into_owned())
}
