//! Daemons that change settings of the machine while they run.

use howlate_procfs::Root;

/// Process names, which the kernel cuts after 15 bytes. Without services that act only at boot (tlp, cpupower).
///
/// Source: the projects' own manuals; `proc_pid_comm(5)`.
const DAEMONS: &[&str] = &[
    "tuned",
    "tuned-ppd",
    "power-profiles-",
    "ananicy-cpp",
    "auto-cpufreq",
    "irqbalance",
    "ksmtuned",
    "numad",
    "gamemoded",
    "uresourced",
    "system76-power",
    "watt",
];

/// The daemons that are running.
pub fn running(root: &Root) -> Vec<&'static str> {
    let processes =
        root.list("/proc").into_iter().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    let mut names: Vec<String> =
        processes.filter_map(|process| root.read(&format!("/proc/{process}/comm")).ok()).collect();
    names.sort_unstable();
    DAEMONS.iter().copied().filter(|daemon| names.iter().any(|name| name == daemon)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_is_found_by_its_process_name() {
        let folder = tempfile::tempdir().unwrap();
        for (process, name) in
            [("1", "systemd"), ("20", "tuned"), ("21", "power-profiles-"), ("self", "irqbalance")]
        {
            let place = folder.path().join("proc").join(process);
            std::fs::create_dir_all(&place).unwrap();
            std::fs::write(place.join("comm"), format!("{name}\n")).unwrap();
        }
        assert_eq!(running(&Root::at(folder.path())), ["tuned", "power-profiles-"]);
    }
}
