//! The kernel inside of its image for x86, and its type information.
//!
//! Source: `Documentation/arch/x86/boot.rst`: `setup_sects`, `payload_offset`, `payload_length`.

use std::io;
use std::path::Path;
use std::process::Command;

use elf::ElfBytes;
use elf::endian::LittleEndian;

use super::printed;

/// `HdrS`: what the header of an image says at this place.
const MAGIC: (usize, &[u8]) = (0x202, b"HdrS");
const SETUP_SECTORS: usize = 0x1f1;
const PAYLOAD_OFFSET: usize = 0x248;
const PAYLOAD_LENGTH: usize = 0x24c;
const SECTOR: usize = 512;

/// How kernels are packed: what the payload begins with, who unpacks it, and how many bytes the build has put behind it, which
/// are the length of what is unpacked.
const PACKED: [(&[u8], &str, usize); 3] = [
    (&[0x1f, 0x8b], "gzip", 0),
    (&[0xfd, b'7', b'z', b'X', b'Z', 0], "xz", 4),
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstd", 4),
];

/// The kernel as an ELF file.
pub(super) fn unpacked(image: &Path) -> io::Result<Vec<u8>> {
    let image = std::fs::read(image)?;
    let payload = payload(&image).ok_or_else(|| io::Error::other("it is no image for x86"))?;
    let packed = PACKED.iter().find(|(magic, ..)| payload.starts_with(magic));
    let (_, program, more) = packed.ok_or_else(|| io::Error::other("it is packed in an unknown way"))?;
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), &payload[..payload.len().saturating_sub(*more)])?;
    printed(Command::new(program).arg("-dc").stdin(file.reopen()?))
}

fn payload(image: &[u8]) -> Option<&[u8]> {
    let word = |at: usize| Some(u32::from_le_bytes(image.get(at..at + 4)?.try_into().ok()?) as usize);
    let (at, magic) = MAGIC;
    image.get(at..)?.starts_with(magic).then_some(())?;
    // None stands for four, as of old.
    let sectors = Some(usize::from(*image.get(SETUP_SECTORS)?)).filter(|count| *count > 0).unwrap_or(4);
    let begin = (sectors + 1) * SECTOR + word(PAYLOAD_OFFSET)?;
    image.get(begin..begin.checked_add(word(PAYLOAD_LENGTH)?)?)
}

/// Its section `.BTF`.
pub(super) fn types(kernel: &[u8]) -> io::Result<Vec<u8>> {
    let file = ElfBytes::<LittleEndian>::minimal_parse(kernel).map_err(io::Error::other)?;
    let header = file.section_header_by_name(".BTF").map_err(io::Error::other)?;
    let header = header.ok_or_else(|| io::Error::other("it does not describe its types"))?;
    Ok(file.section_data(&header).map_err(io::Error::other)?.0.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_payload_lies_behind_the_sectors_that_set_up() {
        let mut image = vec![0; 2_000];
        image[SETUP_SECTORS] = 1;
        image[MAGIC.0..][..4].copy_from_slice(MAGIC.1);
        image[PAYLOAD_OFFSET] = 8;
        image[PAYLOAD_LENGTH] = 3;
        image[2 * SECTOR + 8..][..3].copy_from_slice(b"abc");
        assert_eq!(payload(&image), Some(&b"abc"[..]));
        image[PAYLOAD_LENGTH + 3] = 1;
        assert_eq!(payload(&image), None, "it does not reach so far");
        image[MAGIC.0] = 0;
        assert_eq!(payload(&image), None);
    }
}
