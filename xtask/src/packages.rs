//! Debian packages that tests and benchmarks use.

use std::process::Command;

/// A program, and the package that brings it.
pub struct Needed {
    program: &'static str,
    package: &'static str,
}

/// What the tests use besides Rust.
pub const FOR_TESTS: &[Needed] = &[
    Needed { program: "cyclictest", package: "rt-tests" },
    Needed { program: "script", package: "bsdutils" },
    Needed { program: "stress-ng", package: "stress-ng" },
    // A shell that people have on small systems, and that must read what is to be typed.
    Needed { program: "busybox", package: "busybox" },
    // Letters for pictures; a font is no program.
    Needed { program: "../share/fonts/truetype/dejavu/DejaVuSans.ttf", package: "fonts-dejavu-core" },
    // A browser for reports.
    Needed { program: "chromium", package: "chromium" },
    Needed { program: "chromedriver", package: "chromium-driver" },
    // Languages whose sleep is measured.
    Needed { program: "python3", package: "python3" },
    Needed { program: "pip3", package: "python3-pip" },
    Needed { program: "python3", package: "python3-venv" },
    Needed { program: "cc", package: "gcc" },
    Needed { program: "c++", package: "g++" },
    Needed { program: "node", package: "nodejs" },
    Needed { program: "javac", package: "default-jdk-headless" },
    Needed { program: "go", package: "golang-go" },
    // What reads results.
    Needed { program: "npm", package: "npm" },
    Needed { program: "mvn", package: "maven" },
    Needed { program: "mandoc", package: "mandoc" },
    Needed { program: "qemu-system-x86_64", package: "qemu-system-x86" },
    Needed { program: "podman", package: "podman" },
    Needed { program: "runc", package: "runc" },
    // A fleet of this machine alone, one of whose nodes is late.
    Needed { program: "ssh", package: "openssh-client" },
    Needed { program: "sshd", package: "openssh-server" },
    Needed { program: "strace", package: "strace" },
    Needed { program: "slurmctld", package: "slurm-wlm" },
    Needed { program: "munged", package: "munge" },
    // What tells the types of a kernel.
    Needed { program: "bpftool", package: "bpftool" },
    // What reads packages, and what finds a header.
    Needed { program: "lintian", package: "lintian" },
    Needed { program: "cmake", package: "cmake" },
    Needed { program: "pkg-config", package: "pkg-config" },
    // What reads results for Prometheus.
    Needed { program: "promtool", package: "prometheus" },
];

/// What the readers of results use; they themselves come from package registries.
pub const FOR_CONSUMERS: &[Needed] = &[
    Needed { program: "cyclictest", package: "rt-tests" },
    Needed { program: "python3", package: "python3" },
    Needed { program: "pip3", package: "python3-pip" },
    Needed { program: "node", package: "nodejs" },
    Needed { program: "npm", package: "npm" },
    Needed { program: "javac", package: "default-jdk-headless" },
    Needed { program: "mvn", package: "maven" },
    Needed { program: "go", package: "golang-go" },
    Needed { program: "mandoc", package: "mandoc" },
];

/// What a cluster of this machine uses besides Kubernetes itself.
pub const FOR_KUBERNETES: &[Needed] = &[
    Needed { program: "etcd", package: "etcd-server" },
    Needed { program: "containerd", package: "containerd" },
    Needed { program: "runc", package: "runc" },
    Needed { program: "podman", package: "podman" },
    Needed { program: "openssl", package: "openssl" },
    Needed { program: "ip", package: "iproute2" },
    // It has no program of its own on the path.
    Needed { program: "../lib/cni/ptp", package: "containernetworking-plugins" },
];

/// What the benchmarks use besides.
pub const FOR_BENCHES: &[Needed] = &[
    Needed { program: "cyclictest", package: "rt-tests" },
    Needed { program: "stress-ng", package: "stress-ng" },
    Needed { program: "valgrind", package: "valgrind" },
];

/// What making the programs for the kernel uses.
pub const FOR_BPF: &[Needed] = &[
    Needed { program: "clang", package: "clang" },
    Needed { program: "llvm-strip", package: "llvm" },
    Needed { program: "clang", package: "libbpf-dev" },
];

/// What taking a kernel apart uses.
pub const FOR_KERNELS: &[Needed] = &[
    Needed { program: "bpftool", package: "bpftool" },
    Needed { program: "xz", package: "xz-utils" },
    Needed { program: "zstd", package: "zstd" },
];

/// What building for the other architecture uses.
pub const FOR_CROSS: &[Needed] = if cfg!(target_arch = "aarch64") {
    &[
        Needed { program: "x86_64-linux-gnu-gcc", package: "gcc-x86-64-linux-gnu" },
        Needed { program: "x86_64-linux-gnu-gcc", package: "libc6-dev-amd64-cross" },
    ]
} else {
    &[
        Needed { program: "aarch64-linux-gnu-gcc", package: "gcc-aarch64-linux-gnu" },
        Needed { program: "aarch64-linux-gnu-gcc", package: "libc6-dev-arm64-cross" },
    ]
};

/// Packages that bring services, which tests start by themselves, and what those are called: none is to run, now or after
/// the next start of the machine, because somebody tested here.
const SERVICES: [(&str, &[&str]); 6] = [
    ("openssh-server", &["ssh"]),
    ("munge", &["munge"]),
    ("slurm-wlm", &["slurmctld", "slurmd"]),
    ("prometheus", &["prometheus"]),
    ("etcd-server", &["etcd"]),
    ("containerd", &["containerd"]),
];

/// Keeps systemctl from speaking to the first process: packages that are installed start nothing.
const NOT_NOW: (&str, &str) = ("SYSTEMD_OFFLINE", "1");

fn disable_services(installed: &[&str]) {
    let of_these = SERVICES.iter().filter(|(package, _)| installed.contains(package));
    let names: Vec<&str> = of_these.flat_map(|(_, services)| services.iter().copied()).collect();
    if !names.is_empty() && is_installed("systemctl") {
        drop(
            Command::new("systemctl")
                .args(["--quiet", "disable"])
                .args(names)
                .env(NOT_NOW.0, NOT_NOW.1)
                .status(),
        );
    }
}

/// Installs what is missing, or says what is missing where that is not possible.
pub fn provide(needed: &[Needed]) {
    let missing: Vec<&str> =
        needed.iter().filter(|one| !is_installed(one.program)).map(|one| one.package).collect();
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
        // Somebody else may be installing: their lock is waited for.
        apt.args(["-o", "DPkg::Lock::Timeout=300"])
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .env(NOT_NOW.0, NOT_NOW.1)
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

/// Whether a program is on the path, or in a folder that only root has on its path.
fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let extra = ["/usr/sbin", "/sbin"].map(std::path::PathBuf::from);
    std::env::split_paths(&path).chain(extra).any(|folder| folder.join(program).exists())
}

fn may_install() -> bool {
    let root = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout.starts_with(b"0\n"));
    root && is_installed("apt-get")
}
