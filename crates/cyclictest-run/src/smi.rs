//! `--smi`: how many system management interrupts came during the run.
//!
//! Counted before and after the run, not at every wake-up: reading another CPU's register
//! interrupts it, which would add to the latencies.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use howlate_cyclictest::Results;
use howlate_model::Turn;
use howlate_procfs::{CpuInfo, Root};

use crate::failure::Failure;

/// `MSR_SMI_COUNT`: Intel Software Developer's Manual, volume 4.
const SMI_COUNT: u64 = 0x34;

/// The counters of the measured CPUs, one per thread.
pub(crate) struct Counters {
    counters: Vec<(File, u64)>,
}

impl Counters {
    pub(crate) fn open(turn: &Turn) -> Result<Self, Failure> {
        if !is_supported() {
            return Err(Failure::NoSmi);
        }
        let cpus = turn.tasks.iter().filter_map(|task| task.cpu);
        let counters = cpus.map(counter).collect::<Result<_, _>>()?;
        Ok(Self { counters })
    }

    /// Adds what has come since.
    pub(crate) fn count(&self, results: &mut Results) {
        for (thread, (file, before)) in self.counters.iter().enumerate() {
            let now = read(file).unwrap_or(*before);
            results.counted_smis(thread, now.wrapping_sub(*before) & u64::from(u32::MAX));
        }
    }
}

fn counter(cpu: u32) -> Result<(File, u64), Failure> {
    let path = format!("/dev/cpu/{cpu}/msr");
    let opened = File::open(&path).and_then(|file| read(&file).map(|count| (file, count)));
    opened.map_err(|source| Failure::Smi { cpu, path, source })
}

fn read(file: &File) -> io::Result<u64> {
    let mut count = [0; 8];
    file.read_exact_at(&mut count, SMI_COUNT)?;
    Ok(u64::from_ne_bytes(count))
}

/// Intel's processors have the counter since Nehalem: all of family 6 that matter today.
fn is_supported() -> bool {
    let info = CpuInfo::read(&Root::live());
    info.field("vendor_id") == Some("GenuineIntel")
        && info.field("cpu family") == Some("6")
        && info.has_flag("msr")
}
