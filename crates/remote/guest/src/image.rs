//! Kernel images: telling one from any other file, and reading its release.

use std::path::Path;

use crate::{Architecture, GuestError};

/// Where an x86 image says that it is one, and where its version is.
///
/// Source: `Documentation/arch/x86/boot.rst`, the real-mode kernel header.
const BOOT_FLAG: usize = 0x1fe;
const HEADER_MAGIC: usize = 0x202;
const VERSION_POINTER: usize = 0x20e;
const VERSION_BASE: usize = 0x200;

/// Where a 64-bit ARM image says that it is one.
///
/// Source: `Documentation/arch/arm64/booting.rst`.
const ARM64_MAGIC: usize = 56;

/// What follows in every uncompressed kernel is its release.
const BANNER: &[u8] = b"Linux version ";

/// The release of the kernel in `bytes`, as `uname -r` will print it.
///
/// # Errors
///
/// When it is no kernel for `architecture`.
pub(crate) fn release(bytes: &[u8], path: &Path, architecture: Architecture) -> Result<String, GuestError> {
    let found = match architecture {
        Architecture::X86_64 => x86(bytes),
        Architecture::Aarch64 => arm64(bytes),
    };
    found.ok_or_else(|| GuestError::NoKernel {
        path: path.to_owned(),
        found: what_it_is(bytes),
        expected: match architecture {
            Architecture::X86_64 => "a bzImage",
            Architecture::Aarch64 => "an uncompressed arm64 Image",
        },
    })
}

fn x86(bytes: &[u8]) -> Option<String> {
    let is_kernel = bytes.get(BOOT_FLAG..BOOT_FLAG + 2)? == [0x55, 0xaa]
        && bytes.get(HEADER_MAGIC..HEADER_MAGIC + 4)? == b"HdrS";
    let pointer = bytes.get(VERSION_POINTER..VERSION_POINTER + 2)?;
    let at = VERSION_BASE + usize::from(u16::from_le_bytes([pointer[0], pointer[1]]));
    is_kernel.then(|| first_word(&bytes[at.min(bytes.len())..])).flatten()
}

fn arm64(bytes: &[u8]) -> Option<String> {
    let is_kernel = bytes.get(ARM64_MAGIC..ARM64_MAGIC + 4)? == b"ARM\x64";
    let after = |(at, _): (usize, &[u8])| first_word(&bytes[at + BANNER.len()..]);
    // The first occurrence may be the format string, which has no release.
    let named = |word: &String| word.starts_with(|first: char| first.is_ascii_digit());
    let banners = bytes.windows(BANNER.len()).enumerate().filter(|(_, window)| *window == BANNER);
    is_kernel.then(|| banners.filter_map(after).find(named)).flatten()
}

fn first_word(bytes: &[u8]) -> Option<String> {
    let end = bytes.iter().position(|byte| byte.is_ascii_whitespace() || *byte == 0)?;
    Some(String::from_utf8_lossy(&bytes[..end]).into_owned()).filter(|word| !word.is_empty())
}

/// What people mistake for kernels.
fn what_it_is(bytes: &[u8]) -> &'static str {
    match bytes {
        [] => "an empty file",
        [0x7f, b'E', b'L', b'F', ..] => "an ELF file, such as a vmlinux for debuggers",
        [0x1f, 0x8b, ..] => "a gzip file",
        [b'!', b'<', b'a', b'r', b'c', b'h', ..] => "a package",
        _ if arm64(bytes).is_some() => "a kernel for aarch64",
        _ if x86(bytes).is_some() => "a kernel for x86_64",
        _ => "something else",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An image with nothing in it but what is looked at.
    pub(crate) fn x86_image(version: &str) -> Vec<u8> {
        let mut bytes = vec![0; 0x400];
        bytes[BOOT_FLAG..BOOT_FLAG + 2].copy_from_slice(&[0x55, 0xaa]);
        bytes[HEADER_MAGIC..HEADER_MAGIC + 4].copy_from_slice(b"HdrS");
        bytes[VERSION_POINTER..VERSION_POINTER + 2].copy_from_slice(&0x100_u16.to_le_bytes());
        bytes[0x300..0x300 + version.len()].copy_from_slice(version.as_bytes());
        bytes
    }

    #[test]
    fn the_release_is_the_first_word_of_the_version() {
        let image = x86_image("6.1.0-56-rt-amd64 (someone@example.org) #1 SMP PREEMPT_RT");
        assert_eq!(release(&image, Path::new("/k"), Architecture::X86_64).unwrap(), "6.1.0-56-rt-amd64");
    }

    #[test]
    fn an_arm_kernel_says_it_in_its_banner() {
        let mut image = vec![0; 64];
        image[ARM64_MAGIC..ARM64_MAGIC + 4].copy_from_slice(b"ARM\x64");
        image.extend_from_slice(b"Linux version %s (%s)\0Linux version 6.1.0-56-arm64 (x)\0");
        assert_eq!(release(&image, Path::new("/k"), Architecture::Aarch64).unwrap(), "6.1.0-56-arm64");
        let error = release(&image, Path::new("/k"), Architecture::X86_64).unwrap_err().to_string();
        assert!(error.contains("a kernel for aarch64"), "{error}");
    }

    #[test]
    fn what_is_no_kernel_is_named() {
        for (bytes, says) in [
            (&b""[..], "an empty file"),
            (b"\x7fELF\x02\x01", "an ELF file"),
            (b"#!/bin/sh\n", "something else"),
            (b"!<arch>\n", "a package"),
        ] {
            let error = release(bytes, Path::new("/k"), Architecture::X86_64).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
        let mut cut = x86_image("");
        cut.truncate(0x300);
        assert!(release(&cut, Path::new("/k"), Architecture::X86_64).is_err());
    }
}
