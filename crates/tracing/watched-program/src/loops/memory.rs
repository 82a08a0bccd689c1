//! Shared memory of marked loops, which howlate reads as a file: a program cannot unmap it meanwhile, and reading untouched
//! parts allocates no page.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{Ordering, fence};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create};
use rustix::io::{pread, pwrite};

use super::layout::{MAGIC, WORDS};

const WORD: usize = size_of::<u64>();

/// The memory file.
pub(super) struct Memory {
    file: OwnedFd,
}

impl Memory {
    /// `memfd_create(2)`: zeroed memory, which no side can make longer or shorter.
    ///
    /// Source: <https://man7.org/linux/man-pages/man2/memfd_create.2.html>
    pub(super) fn create() -> io::Result<Self> {
        let file = memfd_create("howlate", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&file, (WORDS * WORD) as u64)?;
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Ok(Self { file })
    }

    /// The file that a program sent.
    pub(super) fn from_file(file: OwnedFd) -> io::Result<Self> {
        if is_memory(&file) { Ok(Self { file }) } else { Err(io::ErrorKind::InvalidData.into()) }
    }

    pub(super) const fn file(&self) -> &OwnedFd {
        &self.file
    }

    #[cfg(test)]
    pub(super) fn into_file(self) -> OwnedFd {
        self.file
    }

    /// Words from `index` on. What cannot be read is 0, as untouched memory is. Later reads return no older values.
    pub(super) fn words<const N: usize>(&self, index: usize) -> [u64; N] {
        let mut words = [0; N];
        let bytes = read(&self.file, index, N);
        words.iter_mut().zip(numbers(&bytes)).for_each(|(word, number)| *word = number);
        words
    }

    /// As [`Memory::words`], of a length known at run time.
    pub(super) fn words_vec(&self, index: usize, count: usize) -> Vec<u64> {
        if count == 0 {
            return Vec::new();
        }
        numbers(&read(&self.file, index, count)).collect()
    }

    pub(super) fn word(&self, index: usize) -> u64 {
        let [word] = self.words(index);
        word
    }

    /// Writes a word, ordered after all earlier reads. A program that forbids writing only harms itself.
    pub(super) fn set(&self, index: usize, word: u64) {
        fence(Ordering::Release);
        let _ = pwrite(&self.file, &word.to_ne_bytes(), (index * WORD) as u64);
    }
}

/// Whether a file is memory for loops. Seals are checked first: only memfds have them, and other files are refused before a
/// `read(2)` of them could block.
pub(super) fn is_memory(file: &OwnedFd) -> bool {
    let is_sealed =
        || fcntl_get_seals(file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK | SealFlags::GROW));
    let is_long = || fstat(file).is_ok_and(|found| u64::try_from(found.st_size) == Ok((WORDS * WORD) as u64));
    let has_magic = || numbers(&read(file, MAGIC.0, 1)).eq([MAGIC.1]);
    is_sealed() && is_long() && has_magic()
}

fn read(file: impl AsFd, index: usize, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count * WORD];
    let _ = pread(file, &mut bytes[..], (index * WORD) as u64);
    fence(Ordering::Acquire);
    bytes
}

/// The text of a name; `None` for an empty one.
pub(super) fn read_name(words: &[u64]) -> Option<String> {
    let name: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    (!name.is_empty()).then(|| String::from_utf8_lossy(name).into_owned())
}

fn numbers(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks_exact(WORD).filter_map(|word| Some(u64::from_ne_bytes(word.try_into().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(memory: &Memory) -> i64 {
        fstat(&memory.file).unwrap().st_blocks
    }

    #[test]
    fn reading_allocates_no_page() {
        let memory = Memory::create().unwrap();
        assert_eq!((memory.word(WORDS - 1), memory.words_vec(100, 3)), (0, vec![0, 0, 0]));
        assert_eq!(memory.words_vec(0, WORDS).len(), WORDS);
        assert_eq!(blocks(&memory), 0);
        memory.set(7, 9);
        assert_eq!((memory.words(6), blocks(&memory)), ([0, 9, 0], 8), "one page");
    }

    #[test]
    fn beyond_its_end_there_is_nothing() {
        let memory = Memory::create().unwrap();
        memory.set(WORDS - 1, 5);
        memory.set(WORDS, 6);
        assert_eq!(memory.words(WORDS - 1), [5, 0]);
        assert!(ftruncate(memory.file(), 0).is_err());
    }
}
