//! The program that is sent to nodes.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use elf::ElfBytes;
use elf::abi::{EM_AARCH64, EM_PPC64, EM_RISCV, EM_S390, EM_X86_64};
use elf::endian::AnyEndian;
use sha2::{Digest, Sha256};

use crate::FleetError;

/// A program, and what a node must know of it before it runs it.
#[derive(Clone, Debug)]
pub struct FleetProgram {
    /// Where the file is on this machine.
    pub path: PathBuf,
    /// SHA-256 of what is in it, hexadecimal.
    pub sha256: String,
    /// What `uname -m` says where it runs; `None` for one of which that is not known.
    pub machine: Option<String>,
}

impl FleetProgram {
    /// The program in a file.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or is nothing that a kernel starts.
    pub fn read(path: &Path) -> Result<Self, FleetError> {
        let bytes = std::fs::read(path).map_err(FleetError::file(path))?;
        let wrong = |error: elf::ParseError| FleetError::NotAProgram {
            path: path.to_owned(),
            reason: error.to_string(),
        };
        let header = ElfBytes::<AnyEndian>::minimal_parse(&bytes).map_err(wrong)?.ehdr;
        let machine = machine(header.e_machine).map(str::to_owned);
        Ok(Self { path: path.to_owned(), sha256: hexadecimal(&Sha256::digest(&bytes)), machine })
    }
}

/// Kernels' names of the 64-bit processors that Linux runs on; the numbers are the ELF specification's.
const fn machine(number: u16) -> Option<&'static str> {
    match number {
        EM_X86_64 => Some("x86_64"),
        EM_AARCH64 => Some("aarch64"),
        EM_RISCV => Some("riscv64"),
        EM_PPC64 => Some("ppc64le"),
        EM_S390 => Some("s390x"),
        _ => None,
    }
}

pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_knows_its_processor_and_its_hash() {
        let own = FleetProgram::read(Path::new("/proc/self/exe")).unwrap();
        assert_eq!(own.machine.as_deref(), Some(std::env::consts::ARCH));
        assert_eq!(own.sha256.len(), 64);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "#!/bin/sh\n").unwrap();
        assert!(matches!(FleetProgram::read(file.path()), Err(FleetError::NotAProgram { .. })));
        let none = FleetProgram::read(Path::new("/nowhere/howlate"));
        assert!(matches!(none, Err(FleetError::File { .. })));
        assert_eq!(
            hexadecimal(&Sha256::digest(b"")),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }
}
