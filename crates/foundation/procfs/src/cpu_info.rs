//! `/proc/cpuinfo`: the processor's model and flags.

use crate::Root;

/// The file as read; empty where there is none.
pub struct CpuInfo {
    text: String,
}

impl CpuInfo {
    pub fn read(root: &Root) -> Self {
        Self { text: root.read("/proc/cpuinfo").unwrap_or_default() }
    }

    /// The first value under `name`: `model name`, `vendor_id`.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.text.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == name).then(|| value.trim())
        })
    }

    /// Whether the first processor has the flag.
    pub fn has_flag(&self, flag: &str) -> bool {
        self.field("flags").is_some_and(|flags| flags.split_whitespace().any(|word| word == flag))
    }

    /// Whether the file contains `text` anywhere.
    pub fn mentions(&self, text: &str) -> bool {
        self.text.contains(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_flags_are_whole_words() {
        let text = "model name\t: Test CPU\nflags\t\t: fpu hypervisor_x\n\nmodel name\t: Other\n".to_owned();
        let info = CpuInfo { text };
        assert_eq!(info.field("model name"), Some("Test CPU"));
        assert_eq!(info.field("model"), None);
        assert!(info.has_flag("fpu") && !info.has_flag("hypervisor"));
        assert!(info.mentions("Other"));
    }
}
