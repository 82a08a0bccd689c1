//! `/proc/kallsyms`: the names of the kernel's functions.

use std::io::{BufRead, BufReader};

use crate::Root;

/// Addresses and names of the kernel's functions.
#[derive(Debug, Default)]
pub struct KernelSymbols {
    /// Address, start and end of the name in `names`; sorted.
    functions: Vec<(u64, u32, u32)>,
    names: String,
}

impl KernelSymbols {
    /// Empty where the kernel hides addresses from this process.
    pub fn read(root: &Root) -> Self {
        let Ok(file) = root.open("/proc/kallsyms") else { return Self::default() };
        let (mut all, mut lines, mut line) = (Self::default(), BufReader::new(file), String::new());
        // One buffer for all lines, as there are more than a hundred thousand.
        while lines.read_line(&mut line).is_ok_and(|length| length > 0) {
            all.add(&line);
            line.clear();
        }
        all.functions.sort_unstable();
        all
    }

    /// Parses `ffffffff81000000 T do_wait [module]`.
    fn add(&mut self, line: &str) -> Option<()> {
        let mut fields = line.split_ascii_whitespace();
        let address = u64::from_str_radix(fields.next()?, 16).ok().filter(|address| *address != 0)?;
        if !matches!(fields.next()?, "t" | "T" | "w" | "W") {
            return None;
        }
        let begin = u32::try_from(self.names.len()).ok()?;
        self.names.push_str(source_name(fields.next()?));
        self.functions.push((address, begin, u32::try_from(self.names.len()).ok()?));
        Some(())
    }

    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Name of the function that contains `address`.
    pub fn name(&self, address: u64) -> Option<&str> {
        let after = self.functions.partition_point(|(begin, ..)| *begin <= address);
        let (_, begin, end) = self.functions.get(after.checked_sub(1)?)?;
        self.names.get(*begin as usize..*end as usize)
    }
}

/// The name in the source: compilers append `.isra.0`, `.constprop.0`, `.part.0`.
fn source_name(name: &str) -> &str {
    match name.find('.') {
        Some(end) if end > 0 => &name[..end],
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbols_of(text: &str) -> KernelSymbols {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("proc")).unwrap();
        std::fs::write(folder.path().join("proc/kallsyms"), text).unwrap();
        KernelSymbols::read(&Root::at(folder.path()))
    }

    #[test]
    fn an_address_is_in_the_function_that_begins_before_it() {
        let all = symbols_of(
            "0000000000002000 t do_wait.part.0\n0000000000001000 T schedule\n0000000000001800 D jiffies\n0000000000003000 t fuse_read\t[fuse]\n",
        );
        let names = [0xfff, 0x1000, 0x1fff, 0x2000, 0x4000].map(|address| all.name(address));
        assert_eq!(
            names,
            [None, Some("schedule"), Some("schedule"), Some("do_wait"), Some("fuse_read")],
            "data symbols are left out"
        );
    }

    #[test]
    fn hidden_addresses_are_none() {
        let all = symbols_of("0000000000000000 T schedule\n0000000000000000 t do_wait\n");
        assert!(all.is_empty() && all.name(7).is_none());
        assert!(KernelSymbols::read(&Root::at("/none")).is_empty());
    }
}
