//! Recognises commands that write a kernel file, and commands whose effect survives a reboot.

/// A file and the value that a command writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileWrite {
    pub path: String,
    pub value: String,
}

impl FileWrite {
    /// Of `echo VALUE | sudo tee FILE`, `echo VALUE > FILE` and `sysctl -w NAME=VALUE`.
    pub fn of(command: &str) -> Option<Self> {
        let command = command.split("  #").next()?.trim().replace("sudo ", "");
        if let Some(setting) = command.strip_prefix("sysctl ") {
            let (name, value) = setting.trim_start_matches("-w ").split_once('=')?;
            let path = format!("/proc/sys/{}", name.trim().replace('.', "/"));
            return Some(Self { path, value: value.trim().to_owned() });
        }
        let rest = command.strip_prefix("echo ")?;
        let (value, path) = rest.split_once(" | tee ").or_else(|| rest.split_once(" > "))?;
        let value = value.trim().trim_matches(['"', '\'']);
        let is_one = !path.trim().contains(' ') && path.starts_with('/') && !value.contains('$');
        is_one.then(|| Self { path: path.trim().to_owned(), value: value.to_owned() })
    }

    /// Whether it is a setting of the whole machine, which has to be restored.
    pub fn is_of_machine(&self) -> bool {
        let of_process = self.path.starts_with("/proc/") && !self.path.starts_with("/proc/sys/");
        let of_cell = self.path.contains("/howlate-truth-");
        !of_process && !of_cell
    }
}

/// Whether the effect of a command survives a reboot, so that it must not be tried.
pub fn stays(command: &str) -> bool {
    const LASTING: [&str; 11] = [
        "/etc/",
        "/boot/",
        "/usr/",
        "systemctl",
        "setcap",
        "setfacl",
        "usermod",
        "adduser",
        "apt",
        "grub",
        "modprobe",
    ];
    let is_word = |lasting: &str| command.split_whitespace().any(|word| word == lasting);
    LASTING.iter().any(|lasting| match lasting.starts_with('/') {
        true => command.contains(lasting),
        false => is_word(lasting),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_known() {
        let of = |command: &str| {
            FileWrite::of(command).map(|write| (write.is_of_machine(), write.path, write.value))
        };
        let expected =
            |is_of_machine, path: &str, value: &str| Some((is_of_machine, path.to_owned(), value.to_owned()));
        assert_eq!(
            of("echo \"max 100\" | sudo tee /sys/fs/cgroup/a/cpu.max   # b"),
            expected(true, "/sys/fs/cgroup/a/cpu.max", "max 100")
        );
        assert_eq!(
            of("sudo sysctl -w kernel.sched_rt_runtime_us=-1"),
            expected(true, "/proc/sys/kernel/sched_rt_runtime_us", "-1")
        );
        assert_eq!(of("echo 1 > /proc/12/timerslack_ns"), expected(false, "/proc/12/timerslack_ns", "1"));
        let own = "/sys/fs/cgroup/cpu/howlate-truth-quota-7/cpu.cfs_quota_us";
        assert_eq!(of(&format!("echo 90000 > {own}")), expected(false, own, "90000"));
        assert_eq!(of("echo $$ | sudo tee /x/tasks"), None, "the shell's own number");
        assert_eq!(of("chrt --fifo -p 80 7"), None);
    }

    #[test]
    fn what_stays_is_known() {
        assert!(stays("echo 'a - rtprio 99' | sudo tee /etc/security/limits.d/99-howlate.conf"));
        assert!(stays("sudo systemctl edit redis"));
        assert!(!stays("echo 1 > /proc/7/timerslack_ns"));
        assert!(!stays("chrt --fifo 80 ./adapter"));
    }
}
