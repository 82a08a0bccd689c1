//! The memory of a program's loops, which howlate reads as a file: nothing can be taken away below it, and where the program has
//! written nothing, reading makes no page.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{Ordering, fence};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate, memfd_create};
use rustix::io::{pread, pwrite};

use super::layout::{MAGIC, WORDS};

const WORD: usize = size_of::<u64>();

/// The file.
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

    /// What a program hands over.
    pub(super) fn received(file: OwnedFd) -> io::Result<Self> {
        if is_memory(&file) { Ok(Self { file }) } else { Err(io::ErrorKind::InvalidData.into()) }
    }

    pub(super) const fn file(&self) -> &OwnedFd {
        &self.file
    }

    #[cfg(test)]
    pub(super) fn into_file(self) -> OwnedFd {
        self.file
    }

    /// Words from `place` on, as they are now. What cannot be read is 0, as what nobody has written is. What is read later is not older.
    pub(super) fn words<const N: usize>(&self, place: usize) -> [u64; N] {
        let mut words = [0; N];
        let bytes = read(&self.file, place, N);
        words.iter_mut().zip(numbers(&bytes)).for_each(|(word, number)| *word = number);
        words
    }

    /// The same of so many.
    pub(super) fn many(&self, place: usize, count: usize) -> Vec<u64> {
        if count == 0 {
            return Vec::new();
        }
        numbers(&read(&self.file, place, count)).collect()
    }

    pub(super) fn word(&self, place: usize) -> u64 {
        let [word] = self.words(place);
        word
    }

    /// Writes a word, after all that was read before. A program that forbids that keeps it from itself.
    pub(super) fn set(&self, place: usize, word: u64) {
        fence(Ordering::Release);
        let _ = pwrite(&self.file, &word.to_ne_bytes(), (place * WORD) as u64);
    }
}

/// Whether a file is memory for loops. The seals come first: files that are no memory are refused by that, before anything is asked that
/// could take its owner's time.
pub(super) fn is_memory(file: &OwnedFd) -> bool {
    let is_sealed =
        || fcntl_get_seals(file).is_ok_and(|seals| seals.contains(SealFlags::SHRINK | SealFlags::GROW));
    let is_long = || fstat(file).is_ok_and(|found| u64::try_from(found.st_size) == Ok((WORDS * WORD) as u64));
    let is_known = || numbers(&read(file, MAGIC.0, 1)).eq([MAGIC.1]);
    is_sealed() && is_long() && is_known()
}

fn read(file: impl AsFd, place: usize, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count * WORD];
    let _ = pread(file, &mut bytes[..], (place * WORD) as u64);
    fence(Ordering::Acquire);
    bytes
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
    fn looking_makes_no_page() {
        let memory = Memory::create().unwrap();
        assert_eq!((memory.word(WORDS - 1), memory.many(100, 3)), (0, vec![0, 0, 0]));
        assert_eq!(memory.many(0, WORDS).len(), WORDS);
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
