//! Hosts behind a real `ssh` and a real `sshd`; all are this machine.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use crate::common::{copy_program, howlate, is_installed, is_root, skip};

const SSHD: &str = "/usr/sbin/sshd";

/// Hosts with keys of their own. The name has a meaning: `gone-…` has no server, `stranger-…` an unknown host key, `barred-…` denies
/// access, `arm-…` has another processor, `full-…` a full disk, and strace delays each sleep on `slow-…` by 10 ms.
pub(crate) struct Hosts {
    folder: TempDir,
}

impl Hosts {
    /// `None` where OpenSSH is missing.
    pub(crate) fn start(names: &[&str]) -> Option<Self> {
        if !Path::new(SSHD).exists() || !is_installed("ssh") {
            skip("openssh-server is not installed");
            return None;
        }
        // sshd as root needs a folder that the system's service creates.
        if is_root() {
            std::fs::create_dir_all("/run/sshd").unwrap();
        }
        let hosts = Self { folder: tempfile::Builder::new().prefix("hosts").tempdir().unwrap() };
        let program = hosts.file("howlate");
        let stripped =
            Command::new("strip").arg("-o").arg(&program).arg(env!("CARGO_BIN_EXE_howlate")).status();
        if !stripped.is_ok_and(|status| status.success()) {
            copy_program(&program);
        }
        hosts.keys(names);
        hosts.servers();
        hosts.client(names);
        Some(hosts)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str, mode: u32) {
        std::fs::write(self.file(name), text).unwrap();
        std::fs::set_permissions(self.file(name), PermissionsExt::from_mode(mode)).unwrap();
    }

    fn keys(&self, names: &[&str]) {
        for name in ["host", "user", "other"] {
            let mut keygen = Command::new("ssh-keygen");
            let made = keygen.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(self.file(name)).status();
            assert!(made.unwrap().success());
        }
        let public = |name: &str| std::fs::read_to_string(self.file(name).with_extension("pub")).unwrap();
        self.write("authorized", &public("user"), 0o600);
        let known_hosts = names.iter().filter(|name| !name.starts_with("stranger"));
        let known_hosts: String = known_hosts.map(|name| format!("{name} {}", public("host"))).collect();
        self.write("known", &known_hosts, 0o600);
    }

    /// Server configurations: the usual one, and one with another processor.
    fn servers(&self) {
        std::fs::create_dir(self.home()).unwrap();
        std::fs::create_dir(self.file("arm")).unwrap();
        self.write("arm/uname", "#!/bin/sh\necho pdp11\n", 0o755);
        let (folder, home) = (self.folder.path().display(), self.home());
        let path = std::env::var("PATH").unwrap();
        for (name, path) in
            [("sshd_config", path.clone()), ("sshd_config_arm", format!("{folder}/arm:{path}"))]
        {
            let text = format!(
                "HostKey {folder}/host\nAuthorizedKeysFile {folder}/authorized\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nLogLevel ERROR\n\
                 PidFile none\nPrintMotd no\nPrintLastLog no\nSetEnv HOME={} PATH={path}\n",
                home.display()
            );
            self.write(name, &text, 0o600);
        }
    }

    /// One server per connection, on a pipe.
    fn client(&self, names: &[&str]) {
        let folder = self.folder.path().display();
        // A private log: sshd's sandbox kills a process that opens the system's log.
        let sshd = |config: &str| format!("{SSHD} -i -E {folder}/sshd.log -f {folder}/{config}");
        let full = format!(
            "mount -t tmpfs -o size=1m none {} && exec {}",
            self.home().display(),
            sshd("sshd_config")
        );
        self.write("full", &format!("#!/bin/sh\n{full}\n"), 0o755);
        let late = "strace --follow-forks --quiet=all --trace=clock_nanosleep --inject=clock_nanosleep:delay_exit=10000 --output=/dev/null";
        let mut text = String::new();
        for name in names {
            let command = match name.split('-').next().unwrap() {
                "gone" => "none\n  HostName 127.0.0.1\n  Port 1".to_owned(),
                "arm" => sshd("sshd_config_arm"),
                "full" => format!("unshare --mount --propagation private {folder}/full"),
                "slow" => format!("{late} {}", sshd("sshd_config")),
                _ => sshd("sshd_config"),
            };
            let key = if name.starts_with("barred") { "other" } else { "user" };
            writeln!(
                text,
                "Host {name}\n  ProxyCommand {command}\n  IdentityFile {folder}/{key}\n  HostKeyAlias {name}"
            )
            .unwrap();
        }
        let all = format!(
            "Host *\n  IdentitiesOnly yes\n  IdentityAgent none\n  UserKnownHostsFile {folder}/known\n  \
             GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n  Ciphers aes128-gcm@openssh.com\n  KexAlgorithms curve25519-sha256\n  CheckHostIP no\n  LogLevel ERROR\n"
        );
        self.write("ssh_config", &(text + &all), 0o600);
        let path = std::env::var_os("PATH").unwrap();
        let real = std::env::split_paths(&path)
            .map(|folder| folder.join("ssh"))
            .find(|file| file.is_file())
            .unwrap();
        std::fs::create_dir(self.file("bin")).unwrap();
        self.write(
            "bin/ssh",
            &format!("#!/bin/sh\nexec {} -F {folder}/ssh_config \"$@\"\n", real.display()),
            0o755,
        );
    }

    /// Home folder of the ssh sessions.
    pub(crate) fn home(&self) -> PathBuf {
        self.file("home")
    }

    /// Fleet folders below that home.
    pub(crate) fn fleets(&self) -> PathBuf {
        self.home().join(".cache/howlate/fleet")
    }

    /// `howlate fleet` in a folder, with an `ssh` that knows these hosts. The program that it sends is smaller than the tested one.
    pub(crate) fn fleet(&self, folder: &Path, arguments: &[&str]) -> Command {
        let mut command = howlate(&["fleet", arguments[0]]);
        if arguments[0] == "run" {
            command.arg("--program").arg(self.file("howlate"));
        }
        command.args(&arguments[1..]);
        command.current_dir(folder).env("PATH", self.path());
        command
    }

    pub(crate) fn run(&self, folder: &Path, arguments: &[&str]) -> Output {
        self.fleet(folder, arguments).output().unwrap()
    }

    /// Folder of a node in each fleet.
    pub(crate) fn node(&self, name: &str) -> Vec<PathBuf> {
        let fleets = std::fs::read_dir(self.fleets()).into_iter().flatten().flatten();
        let folders = fleets.map(|fleet| fleet.path().join("nodes").join(name));
        folders.filter(|folder| folder.is_dir()).collect()
    }

    fn path(&self) -> OsString {
        let path = std::env::var_os("PATH").unwrap();
        std::env::join_paths(std::iter::once(self.file("bin")).chain(std::env::split_paths(&path))).unwrap()
    }
}

impl Drop for Hosts {
    // Kills what a failed test left running.
    fn drop(&mut self) {
        let fleets = std::fs::read_dir(self.fleets()).into_iter().flatten().flatten();
        let nodes = fleets
            .flat_map(|fleet| std::fs::read_dir(fleet.path().join("nodes")).into_iter().flatten().flatten());
        let pids = nodes
            .filter_map(|node| std::fs::read_to_string(node.path().join("pid")).ok()?.trim().parse().ok());
        for pid in pids.filter_map(Pid::from_raw) {
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}
