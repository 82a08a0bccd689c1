//! The kernel inside of its image, and its type information.
//!
//! For x86 the image is a program that unpacks an ELF file, which has a section for the types. For aarch64 it is the kernel as
//! it lies in memory, maybe packed: the types are found by what they begin with.
//!
//! Source: `Documentation/arch/x86/boot.rst` (`setup_sects`, `payload_offset`, `payload_length`),
//! `Documentation/arch/arm64/booting.rst` (`magic`), `Documentation/bpf/btf.rst` (`struct btf_header`),
//! `drivers/firmware/efi/libstub/zboot-header.S`.

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

/// `ARMd`: what the header of an image for aarch64 says at this place.
const ARM64_MAGIC: (usize, &[u8]) = (56, b"ARMd");
/// What an image says that unpacks itself as a program of the firmware, and where what it unpacks begins and how long it is.
const ZBOOT_MAGIC: (usize, &[u8]) = (4, b"zimg");
const ZBOOT_OFFSET: usize = 8;
const ZBOOT_LENGTH: usize = 12;
/// What type information begins with: its magic number, version 1, no flags, and a header of 24 bytes.
const BTF_MAGIC: [u8; 8] = [0x9f, 0xeb, 1, 0, 24, 0, 0, 0];
/// Where its header says where its strings are, which come last, and how long they are.
const BTF_STRINGS: usize = 16;

/// The types that the kernel in an image describes.
pub(super) fn types_of(image: &Path) -> io::Result<Vec<u8>> {
    let image = std::fs::read(image)?;
    if let Some(payload) = payload(&image) {
        return types(&unpacked(payload, true)?);
    }
    let word = |at: usize| word(&image, at);
    let packed = has(&image, ZBOOT_MAGIC).then(|| {
        let (begin, length) = (word(ZBOOT_OFFSET)?, word(ZBOOT_LENGTH)?);
        image.get(begin..begin.checked_add(length)?)
    });
    let packed = packed.flatten().unwrap_or(&image);
    let kernel = unpacked(packed, false).unwrap_or_else(|_| image.clone());
    if !has(&kernel, ARM64_MAGIC) {
        return Err(io::Error::other("it is no image for x86 or aarch64"));
    }
    types_in_memory(&kernel).ok_or_else(|| io::Error::other("it does not describe its types"))
}

fn has(image: &[u8], (at, magic): (usize, &[u8])) -> bool {
    image.get(at..).is_some_and(|image| image.starts_with(magic))
}

fn word(image: &[u8], at: usize) -> Option<usize> {
    Some(u32::from_le_bytes(image.get(at..at + 4)?.try_into().ok()?) as usize)
}

/// What is packed in a way that kernels are; `has_length`: the build has put the length behind it.
fn unpacked(packed: &[u8], has_length: bool) -> io::Result<Vec<u8>> {
    let way = PACKED.iter().find(|(magic, ..)| packed.starts_with(magic));
    let (_, program, more) = way.ok_or_else(|| io::Error::other("it is packed in an unknown way"))?;
    let more = if has_length { *more } else { 0 };
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), &packed[..packed.len().saturating_sub(more)])?;
    printed(Command::new(program).arg("-dc").stdin(file.reopen()?))
}

/// The longest of what looks like type information: modules that are built in have none of their own.
fn types_in_memory(kernel: &[u8]) -> Option<Vec<u8>> {
    let places = kernel.windows(BTF_MAGIC.len()).enumerate().filter(|(_, bytes)| **bytes == BTF_MAGIC);
    let all = places.filter_map(|(begin, _)| {
        let [strings, length] = [BTF_STRINGS, BTF_STRINGS + 4].map(|at| word(kernel, begin + at));
        let whole = BTF_MAGIC.len() + 16 + strings?.checked_add(length?)?;
        kernel.get(begin..begin.checked_add(whole)?)
    });
    all.max_by_key(|types| types.len()).map(<[u8]>::to_vec)
}

fn payload(image: &[u8]) -> Option<&[u8]> {
    let word = |at: usize| word(image, at);
    has(image, MAGIC).then_some(())?;
    // None stands for four, as of old.
    let sectors = Some(usize::from(*image.get(SETUP_SECTORS)?)).filter(|count| *count > 0).unwrap_or(4);
    let begin = (sectors + 1) * SECTOR + word(PAYLOAD_OFFSET)?;
    image.get(begin..begin.checked_add(word(PAYLOAD_LENGTH)?)?)
}

/// The section `.BTF` of an ELF file.
fn types(kernel: &[u8]) -> io::Result<Vec<u8>> {
    let file = ElfBytes::<LittleEndian>::minimal_parse(kernel).map_err(io::Error::other)?;
    let header = file.section_header_by_name(".BTF").map_err(io::Error::other)?;
    let header = header.ok_or_else(|| io::Error::other("it does not describe its types"))?;
    Ok(file.section_data(&header).map_err(io::Error::other)?.0.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_in_memory_are_the_longest_that_fit() {
        let blob = |strings: u32| {
            let mut blob = BTF_MAGIC.to_vec();
            blob.extend([0, 4, 4, strings].iter().flat_map(|word| word.to_le_bytes()));
            blob.extend(vec![7; 4 + strings as usize]);
            blob
        };
        let mut kernel = [vec![1; 100], blob(3), vec![2; 50], blob(20), vec![3; 9]].concat();
        assert_eq!(types_in_memory(&kernel), Some(blob(20)));
        kernel.truncate(kernel.len() - 10);
        assert_eq!(types_in_memory(&kernel), Some(blob(3)), "the other one does not reach so far");
        assert_eq!(types_in_memory(&[0; 40]), None);
    }

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
