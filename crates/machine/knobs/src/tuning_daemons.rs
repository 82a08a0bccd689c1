//! Other programs that change settings of the machine while they run.

use howlate_procfs::Root;

/// By the name of their process, which the kernel cuts after 15 bytes. Those that only act at the start of the machine
/// (tlp, cpupower) are none.
///
/// Source: the projects' own manuals; `proc_pid_comm(5)`.
const TUNERS: &[&str] = &[
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

/// Those that are at work.
pub fn at_work(root: &Root) -> Vec<&'static str> {
    let processes =
        root.list("/proc").into_iter().filter(|name| name.bytes().all(|one| one.is_ascii_digit()));
    let mut names: Vec<String> =
        processes.filter_map(|process| root.read(&format!("/proc/{process}/comm")).ok()).collect();
    names.sort_unstable();
    TUNERS.iter().copied().filter(|tuner| names.iter().any(|name| name == tuner)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tuner_is_known_by_the_name_of_its_process() {
        let folder = tempfile::tempdir().unwrap();
        for (process, name) in
            [("1", "systemd"), ("20", "tuned"), ("21", "power-profiles-"), ("self", "irqbalance")]
        {
            let place = folder.path().join("proc").join(process);
            std::fs::create_dir_all(&place).unwrap();
            std::fs::write(place.join("comm"), format!("{name}\n")).unwrap();
        }
        assert_eq!(at_work(&Root::at(folder.path())), ["tuned", "power-profiles-"]);
    }
}
