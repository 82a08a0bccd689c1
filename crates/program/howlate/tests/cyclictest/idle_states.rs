//! `--deepest-idle-state`: idle states are enabled again after any end of the run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::Signal;

use crate::common::{is_root, send, skip, wait_until};

const CPUS: &str = "/sys/devices/system/cpu";

/// CPU 0 with three idle states, in a private mount of the kernel's files.
struct IdleStateMachine(tempfile::TempDir);

impl IdleStateMachine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("run")).unwrap();
        for state in 0..3 {
            let state = folder.path().join(format!("cpus/cpu0/cpuidle/state{state}"));
            fs::create_dir_all(&state).unwrap();
            fs::write(state.join("disable"), "0\n").unwrap();
        }
        for list in ["present", "online"] {
            fs::copy(Path::new(CPUS).join(list), folder.path().join("cpus").join(list)).unwrap();
        }
        Self(folder)
    }

    fn disabled(&self) -> [String; 3] {
        let file =
            |state| -> PathBuf { self.0.path().join(format!("cpus/cpu0/cpuidle/state{state}/disable")) };
        [0, 1, 2].map(|state| fs::read_to_string(file(state)).unwrap().trim().to_owned())
    }

    fn cyclictest(&self, arguments: &[&str]) -> Child {
        let script =
            format!("mount --bind \"$1\" {CPUS} && mount --bind \"$2\" /run && shift 2 && exec \"$@\"");
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c", &script, "sh"]);
        command.arg(self.0.path().join("cpus")).arg(self.0.path().join("run"));
        command.args([
            env!("CARGO_BIN_EXE_howlate"),
            "cyclictest",
            "-q",
            "-a",
            "0",
            "--deepest-idle-state",
            "0",
        ]);
        command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }
}

#[test]
fn idle_states_are_disabled_for_the_run_and_enabled_again() {
    if !is_root() {
        return skip("changing idle states needs root");
    }
    let machine = IdleStateMachine::new();
    for signal in [Signal::INT, Signal::KILL] {
        let mut running = machine.cyclictest(&["-D", "1h"]);
        wait_until("deeper states disabled", || machine.disabled() == ["0", "1", "1"]);
        send(running.id(), signal);
        running.wait().unwrap();
        wait_until("all states enabled", || machine.disabled() == ["0", "0", "0"]);
    }
}
