//! Readers from package registries, installed among the temporary files of the tests.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use crate::common::skip;

/// Lock: two installations into one folder would collide.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("consumers").join(name)
}

/// Runs `install` once in a folder of this name. `None` where that is impossible, with the reason printed.
fn install_once(name: &str, install: impl FnOnce(&Path) -> Option<Command>) -> Option<PathBuf> {
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = folder(name);
    let done = folder.join("installed");
    std::fs::create_dir_all(&folder).unwrap();
    if !done.exists() {
        let ran = install(&folder).and_then(|mut command| command.stdin(Stdio::null()).output().ok());
        match ran {
            Some(output) if output.status.success() => std::fs::write(&done, "").unwrap(),
            other => {
                let message = other.map(|output| String::from_utf8_lossy(&output.stderr).into_owned());
                let last = message
                    .as_deref()
                    .and_then(|message| message.lines().last())
                    .unwrap_or("no such program");
                skip(&format!("{name} cannot be installed: {last}"));
                return None;
            }
        }
    }
    Some(folder)
}

pub(crate) fn python(name: &str, packages: &[&str]) -> Option<Command> {
    let folder = install_once(name, |folder| {
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--target"]).arg(folder).args(packages);
        Some(pip)
    })?;
    let mut python = Command::new("python3");
    python.env("PYTHONPATH", folder);
    Some(python)
}

/// The unpacked source archive of a package of PyPI.
pub(crate) fn python_source(name: &str, package: &str) -> Option<PathBuf> {
    install_once(name, |folder| {
        let bare = package.split("==").next().unwrap_or(package);
        let script = format!(
            "python3 -m pip download --quiet --no-deps --no-binary {bare} --dest . {package} && tar -xzf *.tar.gz"
        );
        let mut shell = Command::new("sh");
        shell.args(["-ec", &script]).current_dir(folder);
        Some(shell)
    })
}

/// `node` with packages of npm; scripts run in their folder.
pub(crate) fn node(name: &str, packages: &[&str]) -> Option<Command> {
    let folder = install_once(name, |folder| {
        std::fs::write(folder.join("package.json"), "{\"private\":true}").unwrap();
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--prefix"]).arg(folder).args(packages);
        Some(npm)
    })?;
    let mut node = Command::new("node");
    node.current_dir(folder);
    Some(node)
}

/// `go run` of a program with modules.
pub(crate) fn go(name: &str, modules: &[&str], program: &str) -> Option<Command> {
    let folder = install_once(name, |folder| {
        std::fs::write(folder.join("main.go"), program).unwrap();
        let script = format!("[ -f go.mod ] || go mod init reader; go get {}", modules.join(" "));
        let mut shell = Command::new("sh");
        shell.args(["-ec", &script]).current_dir(folder);
        Some(shell)
    })?;
    // The program may have changed since the modules were downloaded.
    std::fs::write(folder.join("main.go"), program).unwrap();
    let mut go = Command::new("go");
    go.args(["run", "."]).current_dir(folder);
    Some(go)
}

/// `java` with a library of Maven Central, running a source file.
pub(crate) fn java(name: &str, artifact: &str, program: &str) -> Option<Command> {
    let folder = install_once(name, |folder| {
        let mut maven = Command::new("mvn");
        maven.args(["-q", "-B", "dependency:copy"]);
        maven.arg(format!("-Dartifact={artifact}")).arg("-DoutputDirectory=.").current_dir(folder);
        Some(maven)
    })?;
    std::fs::write(folder.join("Reader.java"), program).unwrap();
    let mut java = Command::new("java");
    java.args(["-cp", "*", "Reader.java"]).current_dir(folder);
    Some(java)
}
