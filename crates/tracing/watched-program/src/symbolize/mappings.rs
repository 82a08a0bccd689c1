//! Executable mappings of a process, from `/proc/PID/maps`.
//!
//! Source: proc_pid_maps(5).

use std::ops::Range;

use howlate_procfs::Root;

/// An executable mapping of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mapping {
    pub(super) range: Range<u64>,
    pub(super) path: String,
    offset: u64,
}

impl Mapping {
    /// Offset of an address in the file.
    pub(super) const fn offset_of(&self, address: u64) -> u64 {
        address - self.range.start + self.offset
    }
}

/// The executable mappings of a process, that of the program first; empty if the process has ended.
pub(super) fn mappings(root: &Root, process: u32) -> Vec<Mapping> {
    let text = root.read(&format!("/proc/{process}/maps")).unwrap_or_default();
    text.lines().filter_map(mapping).collect()
}

/// As in `7f1c-7f2d r-xp 0002d000 fe:01 1234   /usr/lib/libc.so.6`.
fn mapping(line: &str) -> Option<Mapping> {
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let is_executable = fields.next()?.contains('x');
    let offset = hex(fields.next()?)?;
    let path = line.find('/').map(|at| line[at..].trim_end_matches(" (deleted)").to_owned())?;
    is_executable.then_some(Mapping { range: hex(start)?..hex(end)?, path, offset })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_executed_and_has_a_file_counts() {
        let line = "7f00-7f80 r-xp 00001000 fe:01 12   /usr/lib/with space.so (deleted)";
        let found = mapping(line).unwrap();
        assert_eq!((found.path.as_str(), found.offset_of(0x7f10)), ("/usr/lib/with space.so", 0x1010));
        for other in ["7f00-7f80 r--p 0 fe:01 12 /usr/lib/a.so", "7f00-7f80 r-xp 0 00:00 0 [vdso]", "x", ""] {
            assert_eq!(mapping(other), None, "{other}");
        }
    }
}
