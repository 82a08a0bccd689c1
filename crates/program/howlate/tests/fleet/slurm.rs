//! A real Slurm cluster whose nodes are all this machine.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::common::{howlate, is_installed, is_root, skip, stdout, wait_until};

/// A cluster, stopped on drop. Programs on nodes called `slow…` are traced by strace, which delays each sleep by 10 ms; nodes called
/// `down…` have no daemon.
pub(crate) struct SlurmCluster {
    folder: TempDir,
    daemons: Vec<Child>,
}

impl SlurmCluster {
    /// `None` where Slurm is not installed, or must not be started.
    pub(crate) fn start(nodes: &[&str]) -> Option<Self> {
        for daemon in ["munged", "slurmctld", "slurmd"] {
            if !Path::new("/usr/sbin").join(daemon).exists() {
                skip(&format!("{daemon} is not installed"));
                return None;
            }
        }
        if !is_root() || !is_installed("strace") {
            skip("only root may be the user that Slurm runs as here, and a node needs strace");
            return None;
        }
        let folder = tempfile::Builder::new().prefix("slurm").tempdir().unwrap();
        let mut cluster = Self { folder, daemons: Vec::new() };
        cluster.configure(nodes);
        let munged = cluster.munged();
        cluster.daemon("/usr/sbin/munged", &munged);
        wait_until("munge", || cluster.file("munge").exists());
        cluster.daemon("/usr/sbin/slurmctld", &["-D".into(), "-c".into()]);
        let up: Vec<&str> = nodes.iter().copied().filter(|name| !name.starts_with("down")).collect();
        up.iter().for_each(|node| cluster.node(node));
        wait_until("nodes that are idle", || cluster.idle() == up.len());
        Some(cluster)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn configure(&self, nodes: &[&str]) {
        let folder = self.folder.path().display();
        fs::write(self.file("key"), [7; 1_024]).unwrap();
        fs::set_permissions(self.file("key"), PermissionsExt::from_mode(0o400)).unwrap();
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let host = host.split('.').next().unwrap();
        let ports = ports(nodes.len() + 1);
        let mut text = format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={}\nSlurmUser=root\nSlurmdUser=root\nAuthType=auth/munge\n\
             AuthInfo=socket={folder}/munge\nCryptoType=crypto/munge\nStateSaveLocation={folder}/state\nSlurmdSpoolDir={folder}/spool-%n\n\
             SlurmctldPidFile={folder}/controller.pid\nSlurmdPidFile={folder}/%n.pid\nSlurmctldLogFile={folder}/controller.log\n\
             SlurmdLogFile={folder}/%n.log\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nReturnToService=2\n\
             SelectType=select/cons_tres\nMpiDefault=none\nJobAcctGatherType=jobacct_gather/none\n\
             SchedulerParameters=sched_interval=1,sched_min_interval=0,batch_sched_delay=0\nPartitionName=all Nodes=ALL Default=YES State=UP\n",
            ports[0]
        );
        for (node, port) in nodes.iter().zip(&ports[1..]) {
            let state = if node.starts_with("down") { " State=DOWN Reason=\"disk is gone\"" } else { "" };
            text.push_str(&format!(
                "NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 Features={}{state}\n",
                if node.ends_with('1') { "odd,first" } else { "even" }
            ));
            fs::create_dir(self.file(&format!("spool-{node}"))).unwrap();
        }
        fs::create_dir(self.file("state")).unwrap();
        fs::write(self.file("slurm.conf"), text).unwrap();
    }

    fn munged(&self) -> Vec<String> {
        let folder = self.folder.path().display();
        let options =
            ["key-file=key", "socket=munge", "pid-file=munge.pid", "log-file=munge.log", "seed-file=seed"];
        let option = |option: &str| {
            let (name, file) = option.split_once('=').unwrap();
            format!("--{name}={folder}/{file}")
        };
        ["--foreground", "--force"].map(str::to_owned).into_iter().chain(options.map(option)).collect()
    }

    fn node(&mut self, name: &str) {
        let own = ["-D", "-N", name].map(str::to_owned);
        if !name.starts_with("slow") {
            return self.daemon("/usr/sbin/slurmd", &own);
        }
        let trace = ["--follow-forks", "--quiet=all", "--trace=clock_nanosleep", "--output=/dev/null"];
        let late = ["--inject=clock_nanosleep:delay_exit=10000", "/usr/sbin/slurmd"];
        let arguments =
            [trace.as_slice(), &late].concat().into_iter().map(str::to_owned).chain(own).collect::<Vec<_>>();
        self.daemon("strace", &arguments);
    }

    fn daemon(&mut self, program: &str, arguments: &[String]) {
        let mut command = Command::new(program);
        command.args(arguments).env("SLURM_CONF", self.file("slurm.conf"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.daemons.push(command.spawn().unwrap());
    }

    fn idle(&self) -> usize {
        self.query("sinfo", &["--noheader", "--Node", "--states=idle", "--format=%N"]).lines().count()
    }

    /// Output of one of Slurm's programs.
    pub(crate) fn query(&self, program: &str, arguments: &[&str]) -> String {
        stdout(
            &Command::new(program)
                .args(arguments)
                .env("SLURM_CONF", self.file("slurm.conf"))
                .output()
                .unwrap(),
        )
    }

    /// `howlate fleet` in a folder, on this cluster.
    pub(crate) fn fleet(&self, folder: &Path, arguments: &[&str]) -> Output {
        self.fleet_with(folder, arguments, &[])
    }

    /// As `fleet`, with environment variables.
    pub(crate) fn fleet_with(&self, folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
        let mut command = howlate(&["fleet"]);
        command.envs(variables.iter().copied());
        command.args(arguments).current_dir(folder).env("SLURM_CONF", self.file("slurm.conf"));
        command.output().unwrap()
    }
}

impl Drop for SlurmCluster {
    // Through PID files: killing strace would let the traced daemon go on.
    fn drop(&mut self) {
        let files = fs::read_dir(self.folder.path()).unwrap().flatten().map(|entry| entry.path());
        let files = files.filter(|path| path.extension().is_some_and(|ending| ending == "pid"));
        let pids = files.filter_map(|path| fs::read_to_string(path).ok()?.trim().parse().ok());
        let pids: Vec<Pid> = pids.filter_map(Pid::from_raw).collect();
        for pid in pids {
            let _ = kill_process(pid, Signal::KILL);
        }
        for daemon in &mut self.daemons {
            drop(daemon.kill());
            drop(daemon.wait());
        }
    }
}

/// Free ports, all held until the last one is chosen.
fn ports(number: usize) -> Vec<u16> {
    let held: Vec<TcpListener> = (0..number).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    held.iter().map(|listener| listener.local_addr().unwrap().port()).collect()
}
