//! What howlate tells people to type, done as they would do it.

use howlate_guard::{AppliedSettings, Guard, SettingRequest};

/// A line of a remedy, understood.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// A command that the program is started with: what stands before it.
    Before(String),
    /// A line that the shell runs from which the program is started.
    InShell(String),
    /// What the author of the program has to call: its option here.
    InProgram(&'static str),
    /// A file and its new value.
    Written { path: String, value: String },
    /// Nothing that can be done while a test runs, or by this one.
    NotHere(String),
}

impl Step {
    pub fn read(line: &str) -> Self {
        let line = line.split("   #").next().unwrap_or(line).trim().replace("sudo ", "");
        if let Some((_, call)) = line.split_once("in a program of your own, call `") {
            return match call {
                call if call.starts_with("prctl(PR_SET_TIMERSLACK") => Self::InProgram("slack"),
                call if call.starts_with("mlockall") => Self::InProgram("mlockall"),
                _ => Self::NotHere(line),
            };
        }
        if let Some(before) = line.strip_suffix("PROGRAM …") {
            return Self::Before(before.to_owned());
        }
        let written = line.strip_prefix("echo ").and_then(|rest| rest.split_once(" | tee "));
        if let Some((value, path)) = written.filter(|(value, _)| !value.contains('$')) {
            let value = value.trim_matches(['"', '\'']).to_owned();
            return Self::Written { path: path.to_owned(), value };
        }
        let is_shell = ["echo ", "exec "].iter().any(|word| line.starts_with(word));
        if is_shell { Self::InShell(line) } else { Self::NotHere(line) }
    }

    /// The same with a priority above that one, where it is about priorities and says a lower one.
    pub fn above(self, priority: Option<u32>) -> Self {
        match (self, priority) {
            (Self::Before(before), Some(priority)) if priority >= 80 => {
                Self::Before(before.replace("80", &(priority + 1).to_string()))
            }
            (step, _) => step,
        }
    }

    /// The shell's line by which the program is run with the advice taken.
    pub fn followed(&self, program: &str) -> String {
        match self {
            Self::Before(before) => format!("exec {before}{program}"),
            Self::InShell(line) => format!("{{ {line}; }} > /dev/null\nexec {program}"),
            Self::InProgram(option) => format!("exec {program} {option}"),
            Self::Written { .. } | Self::NotHere(_) => format!("exec {program}"),
        }
    }

    /// What it changes of the machine, until what is returned is dropped.
    pub fn applied(&self, guard: &Guard) -> std::io::Result<Option<AppliedSettings>> {
        let Self::Written { path, value } = self else { return Ok(None) };
        let setting = SettingRequest::parse(path, value).map_err(std::io::Error::other)?;
        let applied = guard.apply(&[setting]);
        match applied.settings.is_empty() {
            true => Err(std::io::Error::other(format!("{path}: {:?}", applied.caveats))),
            false => Ok(Some(applied)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The row of `cpu_dma_latency` depends on the program having the file open that the shell has opened.
    #[test]
    fn what_a_shell_holds_open_is_held_while_the_program_runs() {
        let file = "/dev/cpu_dma_latency";
        if std::fs::File::options().write(true).open(file).is_err() {
            return howlate_testing::skip("only root may hold /dev/cpu_dma_latency");
        }
        // As `tune` has it, and as doctor has it, who says nothing where CPUs have no idle states: of a machine that has some.
        let knob = howlate_system::settings::find("cpu_dma_latency").unwrap();
        let tree = concat!(env!("CARGO_MANIFEST_DIR"), "/../testdata/systems/rt-kernel");
        let root = howlate_procfs::Root::at(tree);
        let findings = howlate_system::examine(&root);
        let finding =
            findings.into_iter().find(|finding| finding.id == howlate_model::FindingId::CpuDmaLatency);
        let of_doctor =
            finding.and_then(|finding| finding.remedy).into_iter().flat_map(|remedy| remedy.apply);
        let of_tune = knob
            .permanent(&knob.state(&root), howlate_system::settings::AppliesTo::Program)
            .into_iter()
            .filter(|finding| finding.by == "shell");
        let of_tune = of_tune.map(|finding| finding.apply);
        let lines: Vec<String> = of_tune.chain(of_doctor).collect();
        assert_eq!(lines.len(), 2, "{lines:?}");
        for line in lines {
            let followed = Step::read(&line).followed(&format!("od -An -td4 {file}"));
            let output = std::process::Command::new("sh").args(["-c", &followed]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "0", "{followed}");
        }
    }

    #[test]
    fn what_is_advised_is_done_as_it_says() {
        let read = |line: &str| Step::read(line);
        assert_eq!(read("chrt --fifo 80 PROGRAM …").followed("p 1"), "exec chrt --fifo 80 p 1");
        let above = |priority| read("chrt --fifo 80 PROGRAM …").above(Some(priority)).followed("p");
        assert_eq!([above(70), above(90)], ["exec chrt --fifo 80 p", "exec chrt --fifo 91 p"]);
        let slack = "echo 1 > /proc/$$/timerslack_ns   # this shell and what it starts";
        assert_eq!(read(slack).followed("p"), "{ echo 1 > /proc/$$/timerslack_ns; } > /dev/null\nexec p");
        let held = "exec 9>/dev/cpu_dma_latency; printf '\\\\0\\\\0\\\\0\\\\0' >&9";
        assert_eq!(read(held).followed("p"), format!("{{ {held}; }} > /dev/null\nexec p"));
        let call = "in a program of your own, call `mlockall(MCL_CURRENT | MCL_FUTURE)` before its loop";
        assert_eq!(read(call), Step::InProgram("mlockall"));
        let written = Step::Written { path: "/sys/fs/cgroup/a/cpu.max".into(), value: "max 10000".into() };
        assert_eq!(read("echo \"max 10000\" | sudo tee /sys/fs/cgroup/a/cpu.max"), written);
        assert!(matches!(read("echo $$ | sudo tee /x/tasks   # moves this shell"), Step::InShell(_)));
        assert!(matches!(
            read("add `isolcpus=1` to the kernel's command line and restart"),
            Step::NotHere(_)
        ));
    }
}
