//! A Kubernetes cluster played by a script; its pods run real processes.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use crate::common::{howlate, is_installed, skip};

/// A cluster; its processes end on drop.
pub(crate) struct KubernetesCluster {
    folder: TempDir,
}

impl KubernetesCluster {
    /// With these nodes; `None` without Python. `kubectl.py` documents the meaning of their names.
    pub(crate) fn start(nodes: &[&str]) -> Option<Self> {
        if !is_installed("python3") {
            skip("python3 is not installed");
            return None;
        }
        let cluster = Self { folder: tempfile::Builder::new().prefix("cluster").tempdir().unwrap() };
        let kubectl = cluster.file("kubectl");
        std::fs::write(&kubectl, include_str!("kubectl.py")).unwrap();
        std::fs::set_permissions(&kubectl, PermissionsExt::from_mode(0o755)).unwrap();
        std::fs::write(cluster.file("nodes"), nodes.join(" ")).unwrap();
        Some(cluster)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Refuses new objects from now on.
    pub(crate) fn refuses(&self, why: &str) {
        let state = serde_json::json!({"objects": [], "refuses": why});
        std::fs::write(self.file("state.json"), state.to_string()).unwrap();
    }

    pub(crate) fn objects(&self) -> Vec<serde_json::Value> {
        let state = std::fs::read(self.file("state.json")).unwrap();
        let state: serde_json::Value = serde_json::from_slice(&state).unwrap();
        state["objects"].as_array().unwrap().clone()
    }

    fn path(&self) -> OsString {
        let path = std::env::var_os("PATH").unwrap();
        std::env::join_paths(
            std::iter::once(self.folder.path().to_owned()).chain(std::env::split_paths(&path)),
        )
        .unwrap()
    }

    /// `howlate fleet` in a folder, on this cluster.
    pub(crate) fn fleet(&self, folder: &Path, arguments: &[&str]) -> Output {
        let mut command: Command = howlate(&["fleet"]);
        command.args(arguments).current_dir(folder).env("PATH", self.path());
        command.env("HOWLATE", env!("CARGO_BIN_EXE_howlate")).output().unwrap()
    }
}

impl Drop for KubernetesCluster {
    fn drop(&mut self) {
        if !self.file("state.json").exists() {
            return;
        }
        let pids =
            self.objects().into_iter().filter_map(|object| i32::try_from(object["pid"].as_i64()?).ok());
        for pid in pids.filter_map(Pid::from_raw) {
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}
