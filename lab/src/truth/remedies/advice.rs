//! Follows a line of advice as a user would.

use howlate_guard::{AppliedSettings, Guard, SettingRequest};

/// A parsed line of advice.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// A command that starts the program: the text before the program's own.
    Before(String),
    /// A line to run in the shell that starts the program.
    InShell(String),
    /// A system call to add to the program: the sleeper's option for it.
    InProgram(&'static str),
    /// A file and its new value.
    FileWrite { path: String, value: String },
    /// Cannot be done during a test, or not by this one.
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
        let write = line.strip_prefix("echo ").and_then(|rest| rest.split_once(" | tee "));
        if let Some((value, path)) = write.filter(|(value, _)| !value.contains('$')) {
            let value = value.trim_matches(['"', '\'']).to_owned();
            return Self::FileWrite { path: path.to_owned(), value };
        }
        let is_shell = ["echo ", "exec "].iter().any(|command| line.starts_with(command));
        if is_shell { Self::InShell(line) } else { Self::NotHere(line) }
    }

    /// Raises the priority in the command above `priority`, if it is not higher already.
    pub fn above(self, priority: Option<u32>) -> Self {
        match (self, priority) {
            (Self::Before(before), Some(priority)) if priority >= 80 => {
                Self::Before(before.replace("80", &(priority + 1).to_string()))
            }
            (step, _) => step,
        }
    }

    /// The shell command that runs the program with the advice followed.
    pub fn command(&self, program: &str) -> String {
        match self {
            Self::Before(before) => format!("exec {before}{program}"),
            Self::InShell(line) => format!("{{ {line}; }} > /dev/null\nexec {program}"),
            Self::InProgram(option) => format!("exec {program} {option}"),
            Self::FileWrite { .. } | Self::NotHere(_) => format!("exec {program}"),
        }
    }

    /// Changes the machine's setting, until the result is dropped; `None` if the advice changes none.
    pub fn apply(&self, guard: &Guard) -> std::io::Result<Option<AppliedSettings>> {
        let Self::FileWrite { path, value } = self else { return Ok(None) };
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
            let command = Step::read(&line).command(&format!("od -An -td4 {file}"));
            let output = std::process::Command::new("sh").args(["-c", &command]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "0", "{command}");
        }
    }

    #[test]
    fn what_is_advised_is_done_as_it_says() {
        let read = |line: &str| Step::read(line);
        assert_eq!(read("chrt --fifo 80 PROGRAM …").command("p 1"), "exec chrt --fifo 80 p 1");
        let above = |priority| read("chrt --fifo 80 PROGRAM …").above(Some(priority)).command("p");
        assert_eq!([above(70), above(90)], ["exec chrt --fifo 80 p", "exec chrt --fifo 91 p"]);
        let slack = "echo 1 > /proc/$$/timerslack_ns   # this shell and what it starts";
        assert_eq!(read(slack).command("p"), "{ echo 1 > /proc/$$/timerslack_ns; } > /dev/null\nexec p");
        let held = "exec 9>/dev/cpu_dma_latency; printf '\\\\0\\\\0\\\\0\\\\0' >&9";
        assert_eq!(read(held).command("p"), format!("{{ {held}; }} > /dev/null\nexec p"));
        let call = "in a program of your own, call `mlockall(MCL_CURRENT | MCL_FUTURE)` before its loop";
        assert_eq!(read(call), Step::InProgram("mlockall"));
        let written = Step::FileWrite { path: "/sys/fs/cgroup/a/cpu.max".into(), value: "max 10000".into() };
        assert_eq!(read("echo \"max 10000\" | sudo tee /sys/fs/cgroup/a/cpu.max"), written);
        assert!(matches!(read("echo $$ | sudo tee /x/tasks   # moves this shell"), Step::InShell(_)));
        assert!(matches!(
            read("add `isolcpus=1` to the kernel's command line and restart"),
            Step::NotHere(_)
        ));
    }
}
