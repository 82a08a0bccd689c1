//! A cluster of one node, which is this machine. It answers on the loopback alone, and only to who has its key.

use std::fs::{self, File};
use std::io::{self, Read};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::{image, succeeds};

/// Period of checking whether something is ready.
const LOOK: Duration = Duration::from_millis(500);
/// Checks until giving up: test machines are busy.
const LOOKS: u32 = 480;

/// The running daemons, ended on drop.
pub(super) struct Cluster {
    folder: PathBuf,
    programs: PathBuf,
    daemons: Vec<Child>,
}

impl Cluster {
    /// In a folder with the archive of its images.
    pub(super) fn start(programs: &Path, folder: &Path) -> io::Result<Self> {
        let mut cluster =
            Self { folder: folder.to_owned(), programs: programs.to_owned(), daemons: Vec::new() };
        let [etcd, peer, api, kubelet] = ports()?;
        cluster.keys(api)?;
        cluster.etcd(etcd, peer)?;
        cluster.control_plane(etcd, api)?;
        cluster.node(kubelet)?;
        // The program is where tests expect it.
        std::os::unix::fs::symlink(cluster.programs.join("kubectl"), cluster.path("kubectl"))?;
        Ok(cluster)
    }

    fn folder(&self) -> &Path {
        &self.folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// The kubeconfig file for kubectl.
    pub(super) fn access(&self) -> PathBuf {
        self.path("access.json")
    }

    fn write(&self, name: &str, value: &Value) -> io::Result<PathBuf> {
        let path = self.path(name);
        fs::write(&path, format!("{value:#}"))?;
        Ok(path)
    }

    /// Creates one key and certificate for all components, with full access.
    fn keys(&self, api: u16) -> io::Result<()> {
        let arguments = [
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "1",
            "-subj",
            "/O=system:masters/CN=test",
        ];
        let (key, certificate) = (self.path("key"), self.path("certificate"));
        let mut openssl = Command::new("openssl");
        openssl.args(arguments).arg("-keyout").arg(&key).arg("-out").arg(&certificate);
        succeeds(openssl.stderr(Stdio::null()))?;
        let access = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": format!("https://127.0.0.1:{api}"), "insecure-skip-tls-verify": true}}],
            "users": [{"name": "test", "user": {"client-certificate": certificate, "client-key": key}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        });
        self.write("access.json", &access).map(drop)
    }

    fn etcd(&mut self, port: u16, peer: u16) -> io::Result<()> {
        let (here, peers) = (format!("http://127.0.0.1:{port}"), format!("http://127.0.0.1:{peer}"));
        let data = self.path("etcd").display().to_string();
        self.daemon(
            "etcd",
            &[
                format!("--data-dir={data}"),
                format!("--listen-client-urls={here}"),
                format!("--advertise-client-urls={here}"),
                format!("--listen-peer-urls={peers}"),
                format!("--initial-advertise-peer-urls={peers}"),
                format!("--initial-cluster=default={peers}"),
            ],
        )
    }

    fn control_plane(&mut self, etcd: u16, api: u16) -> io::Result<()> {
        let folder = self.folder().display().to_string();
        let access = format!("--kubeconfig={folder}/access.json");
        self.daemon(
            "kube-apiserver",
            &[
                format!("--etcd-servers=http://127.0.0.1:{etcd}"),
                format!("--secure-port={api}"),
                "--bind-address=127.0.0.1".to_owned(),
                format!("--cert-dir={folder}/api"),
                format!("--client-ca-file={folder}/certificate"),
                format!("--service-account-key-file={folder}/key"),
                format!("--service-account-signing-key-file={folder}/key"),
                "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
                "--authorization-mode=RBAC".to_owned(),
                "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
                // The node is called so that its name leads to the loopback.
                "--kubelet-preferred-address-types=Hostname".to_owned(),
                format!("--kubelet-client-certificate={folder}/certificate"),
                format!("--kubelet-client-key={folder}/key"),
            ],
        )?;
        self.until("the API server", &["get", "--raw=/readyz"])?;
        let alone = ["--leader-elect=false".to_owned(), "--secure-port=0".to_owned()];
        let key = format!("--service-account-private-key-file={folder}/key");
        // Its own would be made in a folder of the system.
        let plugins = format!("--flex-volume-plugin-dir={folder}/plugins");
        self.daemon("kube-controller-manager", &[&[access.clone(), key, plugins], &alone[..]].concat())?;
        self.daemon("kube-scheduler", &[&[access], &alone[..]].concat())?;
        self.until("its accounts", &["get", "serviceaccount", "default"])
    }

    fn node(&mut self, port: u16) -> io::Result<()> {
        let folder = self.folder().display().to_string();
        fs::create_dir(self.path("cni"))?;
        let addresses = json!({"type": "host-local", "subnet": "10.88.77.0/24", "dataDir": format!("{folder}/addresses")});
        let network =
            json!({"cniVersion": "0.4.0", "name": "pods", "plugins": [{"type": "ptp", "ipam": addresses}]});
        self.write("cni/pods.conflist", &network)?;
        fs::write(self.path("containerd.toml"), containerd(&folder))?;
        self.daemon("containerd", &[format!("--config={folder}/containerd.toml")])?;
        let socket = self.path("containerd.sock");
        wait_until("containerd", || socket.exists())?;
        let mut ctr = Command::new("ctr");
        ctr.arg("--address")
            .arg(&socket)
            .args(["--namespace", "k8s.io", "images", "import"])
            .arg(self.path(image::ARCHIVE));
        succeeds(ctr.stdout(Stdio::null()))?;
        self.write("kubelet.json", &kubelet(&folder, port))?;
        self.daemon(
            "kubelet",
            &[
                format!("--kubeconfig={folder}/access.json"),
                format!("--config={folder}/kubelet.json"),
                format!("--root-dir={folder}/kubelet"),
                format!("--cert-dir={folder}/kubelet-keys"),
                "--hostname-override=localhost".to_owned(),
            ],
        )?;
        self.until("the node", &["wait", "--for=condition=Ready", "--timeout=1s", "node/localhost"])
    }

    /// Starts a program with its log beside it.
    fn daemon(&mut self, name: &str, arguments: &[String]) -> io::Result<()> {
        let own = self.programs.join(name);
        let log = File::create(self.path(&format!("{name}.log")))?;
        let mut command = Command::new(if own.exists() { own } else { name.into() });
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .current_dir(self.folder());
        self.daemons.push(command.spawn().map_err(|error| io::Error::other(format!("{name}: {error}")))?);
        Ok(())
    }

    fn kubectl(&self, arguments: &[&str]) -> Command {
        let mut kubectl = Command::new(self.programs.join("kubectl"));
        kubectl.args(arguments).env("KUBECONFIG", self.access());
        kubectl
    }

    /// Waits until kubectl ends well.
    fn until(&self, what: &str, arguments: &[&str]) -> io::Result<()> {
        let is_there = || self.kubectl(arguments).output().is_ok_and(|output| output.status.success());
        wait_until(what, is_there)
            .map_err(|error| io::Error::other(format!("{error}\n{}", self.last_words())))
    }

    /// The last lines of all logs.
    pub(super) fn last_words(&self) -> String {
        let files = fs::read_dir(self.folder()).into_iter().flatten().flatten().map(|entry| entry.path());
        let logs = files.filter(|path| path.extension().is_some_and(|ending| ending == "log"));
        let end = |path: PathBuf| {
            let mut text = String::new();
            drop(File::open(&path).and_then(|mut file| file.read_to_string(&mut text)));
            let lines: Vec<&str> = text.lines().rev().take(8).collect();
            format!("== {}\n{}\n", path.display(), lines.into_iter().rev().collect::<Vec<_>>().join("\n"))
        };
        logs.map(end).collect()
    }

    /// Removes what a failed test may have left there, and ends all daemons.
    pub(super) fn end(self) -> io::Result<()> {
        let all = ["delete", "jobs,daemonsets,pods,configmaps", "--all", "--wait=true", "--grace-period=1"];
        drop(self.kubectl(&all).stdout(Stdio::null()).stderr(Stdio::null()).status());
        let is_empty = || {
            self.kubectl(&["get", "pods", "--output=name"])
                .output()
                .is_ok_and(|output| output.stdout.is_empty())
        };
        wait_until("the end of all pods", is_empty)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for daemon in self.daemons.iter_mut().rev() {
            drop(daemon.kill());
            drop(daemon.wait());
        }
    }
}

fn containerd(folder: &str) -> String {
    format!(
        "version = 2\nroot = \"{folder}/containers\"\nstate = \"{folder}/running\"\n\
         [grpc]\naddress = \"{folder}/containerd.sock\"\n\
         [plugins.\"io.containerd.grpc.v1.cri\"]\nsandbox_image = \"{}\"\nrestrict_oom_score_adj = true\n\
         [plugins.\"io.containerd.grpc.v1.cri\".cni]\nbin_dir = \"/usr/lib/cni\"\nconf_dir = \"{folder}/cni\"\n",
        image::PAUSE
    )
}

/// It answers to the API server's key alone, and evicts nothing from a disk that is nearly full.
fn kubelet(folder: &str, port: u16) -> Value {
    json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
        "address": "127.0.0.1", "port": port, "healthzPort": 0,
        "authentication": {"anonymous": {"enabled": false}, "webhook": {"enabled": false},
            "x509": {"clientCAFile": format!("{folder}/certificate")}},
        "authorization": {"mode": "AlwaysAllow"},
        "containerRuntimeEndpoint": format!("unix://{folder}/containerd.sock"),
        "cgroupDriver": "cgroupfs", "cgroupRoot": "/", "failCgroupV1": false, "failSwapOn": false, "enforceNodeAllocatable": [],
        "evictionHard": {"memory.available": "1Mi", "nodefs.available": "0%", "imagefs.available": "0%"},
        "podLogsDir": format!("{folder}/logs"), "volumePluginDir": format!("{folder}/plugins"), "resolvConf": "",
    })
}

/// Ports that are free: all are held until each is known.
fn ports<const N: usize>() -> io::Result<[u16; N]> {
    let held: Vec<TcpListener> =
        (0..N).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<io::Result<_>>()?;
    let mut ports = [0; N];
    for (port, listener) in ports.iter_mut().zip(&held) {
        *port = listener.local_addr()?.port();
    }
    Ok(ports)
}

fn wait_until(what: &str, mut is_there: impl FnMut() -> bool) -> io::Result<()> {
    for _ in 0..LOOKS {
        if is_there() {
            return Ok(());
        }
        thread::park_timeout(LOOK);
    }
    Err(io::Error::other(format!("{what} did not come")))
}
