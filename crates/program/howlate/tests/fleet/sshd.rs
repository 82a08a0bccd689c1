//! Hosts that are reached by a real `ssh` through a real `sshd`, which all are this machine.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use crate::common::{copy_program, howlate, is_installed, is_root, skip};

const SSHD: &str = "/usr/sbin/sshd";

/// Hosts with keys of their own. A name says what is special: `gone-…` has no server, `stranger-…` an unknown key,
/// `barred-…` does not let us in, `arm-…` has another processor, `full-…` a disk without space, `slow-…` is traced
/// by one who returns each sleep 10 ms later.
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
        // As root it wants a folder that the system's own would have made.
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
        let known = names.iter().filter(|name| !name.starts_with("stranger"));
        let known: String = known.map(|name| format!("{name} {}", public("host"))).collect();
        self.write("known", &known, 0o600);
    }

    /// Configurations of servers: the usual one, and that of another processor.
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

    /// A server for each connection, at the other end of a pipe.
    fn client(&self, names: &[&str]) {
        let folder = self.folder.path().display();
        // A log of its own: whoever is in sshd's sandbox may not open the system's, and is killed for it.
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

    /// The home that whoever comes by `ssh` has.
    pub(crate) fn home(&self) -> PathBuf {
        self.file("home")
    }

    /// Where the fleets of that home are.
    pub(crate) fn fleets(&self) -> PathBuf {
        self.home().join(".cache/howlate/fleet")
    }

    /// `howlate fleet` in a folder, for which `ssh` knows these hosts. What it sends is smaller than what is tested.
    pub(crate) fn fleet(&self, folder: &Path, words: &[&str]) -> Command {
        let mut command = howlate(&["fleet", words[0]]);
        if words[0] == "run" {
            command.arg("--program").arg(self.file("howlate"));
        }
        command.args(&words[1..]);
        command.current_dir(folder).env("PATH", self.path());
        command
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, folder: &Path, words: &[&str]) -> Output {
        self.fleet(folder, words).output().unwrap()
    }

    /// The folder that a node has in each fleet.
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
    /// What a test that failed has left running is nobody's.
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
