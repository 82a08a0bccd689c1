//! Programs that tests and developers need: Debian packages, and tools installed once by cargo in `target/tools`.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program, searched on the path, and the Debian package that has it.
pub struct DebianProgram {
    program: &'static str,
    package: &'static str,
}

pub const FOR_TESTS: &[DebianProgram] = &[
    DebianProgram { program: "cyclictest", package: "rt-tests" },
    DebianProgram { program: "script", package: "bsdutils" },
    DebianProgram { program: "stress-ng", package: "stress-ng" },
    // The shell of small systems, which has to accept the commands that howlate suggests.
    DebianProgram { program: "busybox", package: "busybox" },
    // The font of pictures, found by a path relative to a folder of the path.
    DebianProgram { program: "../share/fonts/truetype/dejavu/DejaVuSans.ttf", package: "fonts-dejavu-core" },
    // A browser for reports.
    DebianProgram { program: "chromium", package: "chromium" },
    DebianProgram { program: "chromedriver", package: "chromium-driver" },
    // Language runtimes whose sleeps are measured.
    DebianProgram { program: "python3", package: "python3" },
    DebianProgram { program: "pip3", package: "python3-pip" },
    DebianProgram { program: "python3", package: "python3-venv" },
    DebianProgram { program: "cc", package: "gcc" },
    DebianProgram { program: "c++", package: "g++" },
    DebianProgram { program: "node", package: "nodejs" },
    DebianProgram { program: "javac", package: "default-jdk-headless" },
    DebianProgram { program: "go", package: "golang-go" },
    // Readers of results.
    DebianProgram { program: "jq", package: "jq" },
    DebianProgram { program: "npm", package: "npm" },
    DebianProgram { program: "mvn", package: "maven" },
    DebianProgram { program: "mandoc", package: "mandoc" },
    DebianProgram { program: "qemu-system-x86_64", package: "qemu-system-x86" },
    DebianProgram { program: "podman", package: "podman" },
    DebianProgram { program: "runc", package: "runc" },
    // A fleet whose nodes all run on this machine.
    DebianProgram { program: "ssh", package: "openssh-client" },
    DebianProgram { program: "sshd", package: "openssh-server" },
    DebianProgram { program: "strace", package: "strace" },
    DebianProgram { program: "slurmctld", package: "slurm-wlm" },
    DebianProgram { program: "munged", package: "munge" },
    // Prints the types of a kernel (BTF).
    DebianProgram { program: "bpftool", package: "bpftool" },
    // Check packages, and find the header.
    DebianProgram { program: "lintian", package: "lintian" },
    DebianProgram { program: "cmake", package: "cmake" },
    DebianProgram { program: "pkg-config", package: "pkg-config" },
    // Checks metrics for Prometheus.
    DebianProgram { program: "promtool", package: "prometheus" },
];

/// For `test --consumers`; the libraries that read results come from their own package registries.
pub const FOR_CONSUMERS: &[DebianProgram] = &[
    DebianProgram { program: "cyclictest", package: "rt-tests" },
    DebianProgram { program: "python3", package: "python3" },
    DebianProgram { program: "pip3", package: "python3-pip" },
    DebianProgram { program: "node", package: "nodejs" },
    DebianProgram { program: "npm", package: "npm" },
    DebianProgram { program: "javac", package: "default-jdk-headless" },
    DebianProgram { program: "mvn", package: "maven" },
    DebianProgram { program: "go", package: "golang-go" },
    DebianProgram { program: "mandoc", package: "mandoc" },
];

/// For a cluster on this machine, besides Kubernetes itself.
pub const FOR_KUBERNETES: &[DebianProgram] = &[
    DebianProgram { program: "etcd", package: "etcd-server" },
    DebianProgram { program: "containerd", package: "containerd" },
    DebianProgram { program: "runc", package: "runc" },
    DebianProgram { program: "podman", package: "podman" },
    DebianProgram { program: "openssl", package: "openssl" },
    DebianProgram { program: "ip", package: "iproute2" },
    // Has no program on the path.
    DebianProgram { program: "../lib/cni/ptp", package: "containernetworking-plugins" },
];

pub const FOR_BENCHES: &[DebianProgram] = &[
    DebianProgram { program: "cyclictest", package: "rt-tests" },
    DebianProgram { program: "stress-ng", package: "stress-ng" },
    DebianProgram { program: "valgrind", package: "valgrind" },
];

/// For compiling the BPF programs.
pub const FOR_BPF: &[DebianProgram] = &[
    DebianProgram { program: "clang", package: "clang" },
    DebianProgram { program: "llvm-strip", package: "llvm" },
    DebianProgram { program: "clang", package: "libbpf-dev" },
];

/// For unpacking kernel packages.
pub const FOR_KERNELS: &[DebianProgram] = &[
    DebianProgram { program: "bpftool", package: "bpftool" },
    DebianProgram { program: "xz", package: "xz-utils" },
    DebianProgram { program: "zstd", package: "zstd" },
];

/// For building for the other architecture.
pub const FOR_CROSS: &[DebianProgram] = if cfg!(target_arch = "aarch64") {
    &[
        DebianProgram { program: "x86_64-linux-gnu-gcc", package: "gcc-x86-64-linux-gnu" },
        DebianProgram { program: "x86_64-linux-gnu-gcc", package: "libc6-dev-amd64-cross" },
    ]
} else {
    &[
        DebianProgram { program: "aarch64-linux-gnu-gcc", package: "gcc-aarch64-linux-gnu" },
        DebianProgram { program: "aarch64-linux-gnu-gcc", package: "libc6-dev-arm64-cross" },
    ]
};

/// A program that cargo can install.
pub(crate) struct CargoTool {
    /// Name of the program and of its crate.
    pub(crate) name: &'static str,
    /// The version to install if none is on the path.
    pub(crate) version: &'static str,
    /// More arguments of `cargo install`.
    pub(crate) options: &'static [&'static str],
}

impl CargoTool {
    /// The program on the path, or else in `target/tools`.
    pub(crate) fn find(&self, target: &Path) -> Option<PathBuf> {
        let is_there = |program: &PathBuf| Command::new(program).arg("--version").output().is_ok();
        [PathBuf::from(self.name), self.installed_path(target)].into_iter().find(is_there)
    }

    /// The program, installed if missing.
    pub(crate) fn provide(&self, target: &Path) -> io::Result<PathBuf> {
        if let Some(found) = self.find(target) {
            return Ok(found);
        }
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["install", self.name, "--version", self.version, "--locked"]).args(self.options);
        match cargo.arg("--root").arg(target.join("tools")).status()?.success() {
            true => Ok(self.installed_path(target)),
            false => Err(io::Error::other(format!(
                "{} is not on the path and could not be installed by cargo",
                self.name
            ))),
        }
    }

    fn installed_path(&self, target: &Path) -> PathBuf {
        target.join("tools/bin").join(self.name)
    }
}

/// Packages and their services. Tests start these themselves, so that the installed ones are disabled: running tests must not
/// leave services behind, not even after a reboot.
const SERVICES: [(&str, &[&str]); 6] = [
    ("openssh-server", &["ssh"]),
    ("munge", &["munge"]),
    ("slurm-wlm", &["slurmctld", "slurmd"]),
    ("prometheus", &["prometheus"]),
    ("etcd-server", &["etcd"]),
    ("containerd", &["containerd"]),
];

/// Keeps `systemctl` from talking to systemd, so that installing packages starts no services.
const OFFLINE: (&str, &str) = ("SYSTEMD_OFFLINE", "1");

fn disable_services(installed: &[&str]) {
    let services = SERVICES.iter().filter(|(package, _)| installed.contains(package));
    let names: Vec<&str> = services.flat_map(|(_, services)| services.iter().copied()).collect();
    if !names.is_empty() && is_installed("systemctl") {
        drop(
            Command::new("systemctl")
                .args(["--quiet", "disable"])
                .args(names)
                .env(OFFLINE.0, OFFLINE.1)
                .status(),
        );
    }
}

/// Installs missing packages; without root or `apt-get`, prints which are missing.
pub fn provide(programs: &[DebianProgram]) {
    let missing: Vec<&str> =
        programs.iter().filter(|needed| !is_installed(needed.program)).map(|needed| needed.package).collect();
    if missing.is_empty() {
        return;
    }
    if !may_install() {
        println!("missing: {}. Tests that need them are skipped.", missing.join(", "));
        println!("To run them too: sudo apt-get install {}", missing.join(" "));
        return;
    }
    println!("installing Debian packages: {}", missing.join(", "));
    let apt = |arguments: &[&str]| {
        let mut apt = Command::new("apt-get");
        // Waits up to 300 s for the lock of another `apt-get`.
        apt.args(["-o", "DPkg::Lock::Timeout=300"])
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .env(OFFLINE.0, OFFLINE.1)
            .status()
            .is_ok_and(|status| status.success())
    };
    let mut install = vec!["install", "-y", "-qq", "--no-install-recommends"];
    install.extend(&missing);
    if !(apt(&["update", "-qq"]) && apt(&install)) {
        println!("could not install them. Tests that need them are skipped.");
    }
    disable_services(&missing);
}

/// Whether a program is on the path, or in one of the folders that only root's path has.
fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let extra = ["/usr/sbin", "/sbin"].map(std::path::PathBuf::from);
    std::env::split_paths(&path).chain(extra).any(|folder| folder.join(program).exists())
}

fn may_install() -> bool {
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout.starts_with(b"0\n"));
    is_root && is_installed("apt-get")
}
