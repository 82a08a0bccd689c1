//! Real containers: missing permissions are reported with the flag that grants them, and the flag works.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;

use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};

use common::{is_root, skip, stderr};
use serde_json::Value;
use tempfile::TempDir;

/// Lock: the tests change the real-time share of the cgroup that all containers are in.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The program with its libraries, as a container's root.
struct ContainerRoot {
    folder: TempDir,
    _turn: MutexGuard<'static, ()>,
}

/// `None` where containers cannot be run, with the reason printed.
fn root() -> Option<ContainerRoot> {
    if !is_root() {
        skip("needs root, to run containers");
        return None;
    }
    for tool in ["podman", "runc"] {
        if !common::is_installed(tool) {
            skip(&format!("{tool} is not installed"));
            return None;
        }
    }
    let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    for name in ["proc", "sys", "dev", "tmp", "etc", "run"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    common::copy_program(&folder.path().join("howlate"));
    common::copy_libraries(folder.path());
    make_readable(folder.path());
    let root = ContainerRoot { folder, _turn: turn };
    let tried = root.podman(&[], &["--version"]).unwrap();
    assert!(tried.status.success(), "podman and runc are here, and start no container: {}", stderr(&tried));
    Some(root)
}

/// Readable by any user, as in an image.
fn make_readable(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder, PermissionsExt::from_mode(0o755)).unwrap();
}

impl ContainerRoot {
    /// Runs howlate in a container with these flags. Limits are those of this machine.
    fn podman(&self, flags: &[&str], arguments: &[&str]) -> std::io::Result<Output> {
        let mut command = Command::new("podman");
        command.args(["--runtime", "runc", "run", "--rm", "--network", "none"]);
        command.args(["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=4096:4096"]).args(flags);
        command.arg("--rootfs").arg(self.folder.path()).arg("/howlate").args(arguments).output()
    }

    #[track_caller]
    fn json(&self, flags: &[&str], arguments: &[&str], status: i32) -> Value {
        let output = self.podman(flags, arguments).unwrap();
        assert_eq!(output.status.code(), Some(status), "{}", stderr(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Verdict of a finding, and its remedy's commands.
    fn finding(&self, flags: &[&str], id: &str) -> (String, String) {
        let result = self.json(flags, &["doctor", "--json"], 0);
        let findings = result["findings"].as_array().unwrap();
        let Some(finding) = findings.iter().find(|finding| finding["id"] == id) else {
            return Default::default();
        };
        let steps = finding["remedy"]["apply"].as_array().into_iter().flatten();
        let steps: Vec<&str> = steps.filter_map(Value::as_str).collect();
        (finding["verdict"].as_str().unwrap().to_owned(), steps.join("\n"))
    }
}

const FIFO: [&str; 9] =
    ["cyclic", "--policy", "fifo:80", "--threads", "1", "--samples", "20", "--quiet", "--json"];

/// Podman's parent cgroup in cgroup v1.
const PARENT: &str = "/sys/fs/cgroup/cpu/libpod_parent/cpu.rt_runtime_us";

/// The real-time share of containers; restored on drop.
struct RealtimeShare(String);

impl RealtimeShare {
    /// `None` where the kernel has no real-time groups in cgroup v1.
    fn set(microseconds: u32) -> Option<Self> {
        let before = std::fs::read_to_string(PARENT).ok()?;
        std::fs::write(PARENT, microseconds.to_string()).ok()?;
        Some(Self(before))
    }
}

impl Drop for RealtimeShare {
    fn drop(&mut self) {
        drop(std::fs::write(PARENT, self.0.trim()));
    }
}

#[test]
fn without_the_capability_it_is_named_and_the_rest_is_measured() {
    let Some(root) = root() else { return };
    let (verdict, advice) = root.finding(&[], "realtime_permission");
    assert_eq!(verdict, "blocks");
    assert!(advice.contains("--cap-add=SYS_NICE"), "{advice}");
    let result = root.json(&[], &FIFO, 3);
    assert_eq!(result["results"][0]["count"], 20);
    assert_eq!(result["results"][0]["in_force"]["policy"], "other");
    assert!(result["system"]["container"].as_str().unwrap().starts_with("podman"));
}

#[test]
fn a_capability_without_a_share_is_told_apart_and_with_one_it_works() {
    let Some(root) = root() else { return };
    let capable = ["--cap-add", "SYS_NICE"];
    let Some(_none) = RealtimeShare::set(0) else {
        return skip("this kernel does not divide real-time time among cgroup v1 groups");
    };
    assert_eq!(root.finding(&capable, "realtime_permission").0, "good");
    let (verdict, advice) = root.finding(&capable, "rt_group_scheduling");
    assert_eq!(verdict, "blocks");
    assert!(advice.contains("libpod_parent") && advice.contains("--cpu-rt-runtime"), "{advice}");
    assert_eq!(root.json(&capable, &FIFO, 3)["results"][0]["in_force"]["policy"], "other");
    let _some = RealtimeShare::set(400_000).unwrap();
    let share = ["--cap-add", "SYS_NICE", "--cpu-rt-runtime", "300000"];
    assert_eq!(root.finding(&share, "rt_group_scheduling").0, "good");
    let result = root.json(&share, &FIFO, 0);
    assert_eq!(result["results"][0]["in_force"]["policy"], "fifo");
    assert_eq!(result["results"][0]["count"], 20);
}

#[test]
fn a_quota_that_is_used_up_stands_in_the_result() {
    let Some(root) = root() else { return };
    let (verdict, advice) = root.finding(&["--cpus", "0.2"], "cpu_quota");
    assert_eq!(verdict, "costs");
    assert!(advice.contains("--cpu-quota=-1"), "{advice}");
    let arguments = ["cyclic", "--threads", "1", "--duration", "1s", "--load", "cpu", "--quiet", "--json"];
    let result = root.json(&["--cpus", "0.2"], &arguments, 0);
    let caveat = result["caveats"].as_array().unwrap().iter().find(|caveat| caveat["caveat"] == "throttled");
    let caveat = caveat.unwrap_or_else(|| panic!("{}", result["caveats"]));
    assert!(
        caveat["stopped"].as_u64().unwrap() > 0 && caveat["stopped_ns"].as_u64().unwrap() > 0,
        "{caveat}"
    );
    let free = root.json(&[], &arguments, 0);
    assert!(!common::has_caveat(&free, "throttled"));
}

#[test]
fn any_user_with_a_root_that_cannot_be_written_measures() {
    let Some(root) = root() else { return };
    let flags = ["--read-only", "--user", "1000:1000"];
    let result = root.json(&flags, &FIFO, 3);
    assert_eq!(result["results"][0]["count"], 20);
    let refused = root.podman(&flags, &["cyclic", "--samples", "1", "--out", "/result.jsonl"]).unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("cannot write /result.jsonl"), "{}", stderr(&refused));
}

#[test]
fn a_seccomp_filter_is_named() {
    let Some(root) = root() else { return };
    let filtered = root.finding(&[], "seccomp");
    let free = root.finding(&["--security-opt", "seccomp=unconfined"], "seccomp");
    if filtered == free {
        return skip("this podman applies no seccomp profile");
    }
    assert!(filtered.1.contains("--security-opt seccomp=unconfined"), "{}", filtered.1);
    assert_eq!(free.0, "");
}
