//! The programs of Kubernetes, built from the modules that Go's proxy serves, and checked by its checksum database.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::succeeds;

/// Newer than Debian's, as in current clusters.
const VERSION: &str = "1.34.3";
const PROGRAMS: [&str; 5] =
    ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kubectl"];

/// Path of a Go that was installed without a package.
const USUAL_GO: &str = "/usr/local/go/bin/go";

/// The folder of the programs, which are built where they are missing.
pub(super) fn programs(folder: &Path) -> io::Result<PathBuf> {
    let programs = folder.join(VERSION);
    if PROGRAMS.iter().all(|program| programs.join(program).exists()) {
        return Ok(programs);
    }
    println!("building Kubernetes {VERSION} in {}: 20 minutes of two CPUs", folder.display());
    fs::create_dir_all(&programs)?;
    let go = if Path::new(USUAL_GO).exists() { USUAL_GO } else { "go" };
    fs::write(folder.join("go.mod"), module(&manifest(go, folder)?))?;
    let version = format!(
        "-s -w -X k8s.io/component-base/version.gitVersion=v{VERSION} \
         -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=34"
    );
    for program in PROGRAMS {
        let mut build = Command::new("nice");
        build.args([go, "build", "-mod=mod", "-trimpath", "-ldflags", &version, "-o"]).arg(&programs);
        build.arg(format!("k8s.io/kubernetes/cmd/{program}")).env("CGO_ENABLED", "0").env("GOFLAGS", "");
        succeeds(build.current_dir(folder))?;
    }
    Ok(programs)
}

/// The module file of Kubernetes.
fn manifest(go: &str, folder: &Path) -> io::Result<String> {
    fs::write(folder.join("go.mod"), "module howlate.test/kubernetes\n")?;
    let module = format!("k8s.io/kubernetes@v{VERSION}");
    let mut download = Command::new(go);
    let output = download.args(["mod", "download", "-json", &module]).current_dir(folder).output()?;
    let json: serde_json::Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| io::Error::other(format!("{go} cannot download {module}: {error}")))?;
    fs::read_to_string(json["GoMod"].as_str().unwrap_or_default())
}

/// A module that builds Kubernetes: what it keeps in its own tree is taken from where it is published, as 0.X of its 1.X.
fn module(kubernetes: &str) -> String {
    let published = VERSION.split_once('.').map_or(VERSION, |(_, rest)| rest);
    let own = kubernetes
        .lines()
        .filter_map(|line| line.split_once(" => ./staging/src/")?.0.split_whitespace().last());
    let replaced: String = own.map(|name| format!("replace {name} => {name} v0.{published}\n")).collect();
    format!(
        "module howlate.test/kubernetes\n\ngo 1.24.0\n\nrequire k8s.io/kubernetes v{VERSION}\n\n{replaced}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_kubernetes_keeps_in_its_tree_is_taken_from_where_it_is_published() {
        let kubernetes =
            "module k8s.io/kubernetes\n\nreplace (\n\tk8s.io/api => ./staging/src/k8s.io/api\n)\n";
        let module = module(kubernetes);
        assert!(module.ends_with("\n\nreplace k8s.io/api => k8s.io/api v0.34.3\n"), "{module}");
    }
}
