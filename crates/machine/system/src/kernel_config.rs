//! The kernel's build configuration.

use howlate_procfs::{Reading, Root};

/// The configuration from the first place where it can be read.
pub(crate) struct KernelConfig {
    reading: Reading,
}

impl KernelConfig {
    /// Distributions keep it as `/boot/config-RELEASE` or under `/lib/modules`; kernels
    /// built with `CONFIG_IKCONFIG_PROC` offer it as `/proc/config.gz`.
    pub(crate) fn read(root: &Root) -> Self {
        let release = root.read("/proc/sys/kernel/osrelease").unwrap_or_default();
        let boot = root.reading(format!("/boot/config-{release}"));
        let readable = [boot.clone()]
            .into_iter()
            .chain(std::iter::once_with(|| root.reading(format!("/lib/modules/{release}/config"))))
            .chain(std::iter::once_with(|| compressed(root)))
            .find(|reading| reading.text().is_some());
        Self { reading: readable.unwrap_or(boot) }
    }

    /// The value of an option; `None` for an option that is off.
    pub(crate) fn value(&self, option: &str) -> Option<&str> {
        let (text, assigned) = (self.reading.text()?, format!("{option}="));
        let inside = || text.find(&format!("\n{assigned}")).map(|line| line + 1);
        let line = if text.starts_with(&assigned) { 0 } else { inside()? };
        text.get(line + assigned.len()..)?.split('\n').next()
    }

    /// Whether an option is `y`; `None` without a configuration.
    pub(crate) fn has(&self, option: &str) -> Option<bool> {
        self.reading.text().map(|_| self.value(option) == Some("y"))
    }

    /// Whether the kernel was certainly built without an option. A complete configuration has no line for an option whose dependency is
    /// off; a captured one may lack lines.
    pub(crate) fn is_off(&self, option: &str) -> bool {
        let line = format!("# {option} is not set");
        self.reading.text().is_some_and(|text| {
            let is_whole = text.trim_start().starts_with("#\n# Automatically generated file");
            text.lines().any(|config_line| config_line == line) || is_whole && self.value(option).is_none()
        })
    }

    /// The lines of `options`, as evidence.
    pub(crate) fn only(&self, options: &[&str]) -> Reading {
        let about = |line: &str| {
            let line = line.strip_prefix("# ").unwrap_or(line);
            let names =
                |option: &&str| line.strip_prefix(*option).is_some_and(|rest| rest.starts_with(['=', ' ']));
            options.iter().any(names)
        };
        let mut lines = self.reading.lines(about);
        if lines.text() == Some("") {
            lines.content = Ok(format!("no {}", options.join(", ")));
        }
        lines
    }
}

fn compressed(root: &Root) -> Reading {
    let path = "/proc/config.gz";
    Reading { path: path.into(), content: root.read_compressed(path) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use howlate_procfs::Unreadable;

    fn config(text: &str) -> KernelConfig {
        KernelConfig { reading: Reading { path: "/boot/config".into(), content: Ok(text.into()) } }
    }

    #[test]
    fn options_are_looked_up_by_whole_name() {
        let config = config(
            "CONFIG_HZ_250=y\nCONFIG_HZ=250\n# CONFIG_PREEMPT is not set\nCONFIG_PREEMPT_RCU=y\nCONFIG_E=",
        );
        assert_eq!(config.value("CONFIG_HZ"), Some("250"));
        assert_eq!((config.value("CONFIG_HZ_250"), config.value("CONFIG_E")), (Some("y"), Some("")));
        assert_eq!((config.value("HZ"), config.value("CONFIG_NOWHERE")), (None, None));
        assert_eq!(config.has("CONFIG_PREEMPT"), Some(false));
        assert!(config.is_off("CONFIG_PREEMPT") && !config.is_off("CONFIG_PREEMPT_RCU"));
        assert!(!config.is_off("CONFIG_NOWHERE"), "that is not told");
        assert_eq!(config.only(&["CONFIG_PREEMPT"]).text(), Some("# CONFIG_PREEMPT is not set"));
        assert_eq!(config.only(&["CONFIG_X"]).text(), Some("no CONFIG_X"));
    }

    #[test]
    fn without_a_configuration_nothing_is_known() {
        let missing =
            KernelConfig { reading: Reading { path: "/b".into(), content: Err(Unreadable::Missing) } };
        assert_eq!(missing.has("CONFIG_HZ"), None);
    }
}
