//! A recording as lines of a log: gzip in base64, which `base64 --decode | gunzip` reads as well.
//!
//! A third of its length, more of a recording fits: the kubelet keeps the last 10 MiB of a log, if not told otherwise
//! (`containerLogMaxSize`). What has become of it on its way shows its hash.

use std::io::{self, BufRead, BufReader, Read, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::{GzDecoder, GzEncoder};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::program::hexadecimal;
use crate::scheduler::LONGEST_RECORDING;

/// Bytes in a line: whole groups of base64, and shorter than what runtimes take for one line of a log (16 KiB).
const IN_A_LINE: usize = 6_000;
/// A longer line is none of ours.
const LONGEST_LINE: u64 = 16 << 10;

/// Length and hash of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RecordingDigest {
    /// Bytes of the recording.
    pub(super) bytes: u64,
    /// SHA-256 of them, hexadecimal.
    pub(super) sha256: String,
}

/// Counts and hashes what is written.
struct HashingWriter<W> {
    into: W,
    bytes: u64,
    hash: Sha256,
}

impl<W> HashingWriter<W> {
    fn new(into: W) -> Self {
        Self { into, bytes: 0, hash: Sha256::new() }
    }

    fn digest(self) -> RecordingDigest {
        RecordingDigest { bytes: self.bytes, sha256: hexadecimal(&self.hash.finalize()) }
    }
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes > LONGEST_RECORDING {
            return Err(io::Error::other("it is longer than 1 GiB"));
        }
        let written = self.into.write(bytes)?;
        self.bytes += written as u64;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.into.flush()
    }
}

/// Encodes what is written as base64 lines.
struct LineEncoder<W: Write> {
    into: W,
    rest: Vec<u8>,
}

impl<W: Write> LineEncoder<W> {
    fn end(&mut self) -> io::Result<()> {
        let line = STANDARD.encode(&self.rest) + "\n";
        self.rest.clear();
        self.into.write_all(line.as_bytes())
    }
}

impl<W: Write> Write for LineEncoder<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(IN_A_LINE - self.rest.len());
        self.rest.extend_from_slice(&bytes[..taken]);
        if self.rest.len() == IN_A_LINE {
            self.end()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.into.flush()
    }
}

/// Writes a recording as lines.
pub(super) fn write(mut recording: impl Read, into: impl Write) -> io::Result<RecordingDigest> {
    let lines = LineEncoder { into, rest: Vec::with_capacity(IN_A_LINE) };
    let mut packed = HashingWriter::new(GzEncoder::new(lines, Compression::best()));
    io::copy(&mut recording, &mut packed)?;
    packed.into.try_finish()?;
    let lines = packed.into.get_mut();
    lines.end()?;
    lines.flush()?;
    Ok(packed.digest())
}

/// Decodes such lines from untrusted input.
pub(super) fn read(lines: impl Read, into: impl Write) -> io::Result<RecordingDigest> {
    let mut lines = BufReader::new(lines);
    let mut unpacked = GzDecoder::new(HashingWriter::new(into));
    let mut line = Vec::new();
    loop {
        line.clear();
        if lines.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let bytes = STANDARD.decode(line.trim_ascii()).map_err(io::Error::other)?;
        unpacked.write_all(&bytes)?;
    }
    Ok(unpacked.finish()?.digest())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Something that does not get much shorter.
    fn recording(bytes: u32) -> Vec<u8> {
        (0..bytes).map(|number| Sha256::digest(number.to_le_bytes())[0]).collect()
    }

    #[test]
    fn what_is_written_can_be_read_again() {
        for length in [0, 1, 5_999, 100_000] {
            let (recording, mut log, mut again) = (recording(length), Vec::new(), Vec::new());
            let written = write(recording.as_slice(), &mut log).unwrap();
            assert_eq!(written.bytes, u64::from(length));
            assert!(log.split(|byte| *byte == b'\n').all(|line| line.len() <= 8_000));
            assert_eq!(read(log.as_slice(), &mut again).unwrap(), written);
            assert_eq!(again, recording);
        }
    }

    #[test]
    fn what_was_cut_off_or_changed_shows() {
        let mut log = Vec::new();
        let written = write(recording(100_000).as_slice(), &mut log).unwrap();
        let line = log.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        let swapped = [&log[line..2 * line], &log[..line], &log[2 * line..]].concat();
        let cut = log.len() - line;
        for damaged in [&log[line..], &log[..cut], &log[..3], &swapped, b"not a recording\n", &[b'A'; 50_000]]
        {
            assert!(
                read(damaged, io::sink()).is_ok_and(|read| read != written)
                    || read(damaged, io::sink()).is_err()
            );
        }
    }
}
