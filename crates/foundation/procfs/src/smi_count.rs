//! The CPU's count of system management interrupts.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::{CpuInfo, Root};

/// `MSR_SMI_COUNT`: Intel Software Developer's Manual, volume 4.
const SMI_COUNT: u64 = 0x34;

/// Whether the processor counts them: Intel's do since Nehalem, which are all of family 6 in use today.
pub fn counts_smis(root: &Root) -> bool {
    let info = CpuInfo::read(root);
    info.field("vendor_id") == Some("GenuineIntel")
        && info.field("cpu family") == Some("6")
        && info.has_flag("msr")
}

/// The counter of one CPU. Reading it interrupts that CPU.
#[derive(Debug)]
pub struct SmiCounter(File);

impl SmiCounter {
    pub fn path(cpu: u32) -> String {
        format!("/dev/cpu/{cpu}/msr")
    }

    /// # Errors
    ///
    /// Without root, and where the kernel module `msr` is not loaded.
    pub fn open(cpu: u32) -> io::Result<Self> {
        File::open(Self::path(cpu)).map(Self)
    }

    /// The count, which wraps around at 32 bits.
    ///
    /// # Errors
    ///
    /// Where the processor lacks the register.
    pub fn read(&self) -> io::Result<u64> {
        let mut count = [0; 8];
        self.0.read_exact_at(&mut count, SMI_COUNT)?;
        Ok(u64::from_ne_bytes(count) & u64::from(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_some_processors_count_them() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("proc")).unwrap();
        let counts = |vendor: &str| {
            let text = format!("vendor_id\t: {vendor}\ncpu family\t: 6\nflags\t\t: fpu msr\n");
            std::fs::write(folder.path().join("proc/cpuinfo"), text).unwrap();
            counts_smis(&Root::at(folder.path()))
        };
        assert_eq!(["GenuineIntel", "AuthenticAMD"].map(counts), [true, false]);
    }
}
