//! `howlate-VERSION-py3-none-….whl` and `howlate-VERSION.tar.gz` for `pip install howlate`, built by maturin.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::commit_time;
use crate::cross::{self, CrossTarget};
use crate::python::{TOOLS, VirtualEnvironment, maturin, output};

/// A static program runs with any version of glibc and of musl, but maturin takes only one platform tag: the other is added.
const GLIBC: [&str; 2] = ["--compatibility", "manylinux_2_17"];
const MUSL: &str = "+musllinux_1_1";

/// The virtual environment with maturin.
pub(crate) fn tools(target: &Path) -> io::Result<VirtualEnvironment> {
    VirtualEnvironment::provide(target, "tools", "python3", &TOOLS)
}

/// Builds the wheel with the static program; returns its path.
pub(crate) fn write(
    out: &Path,
    tools: &VirtualEnvironment,
    package_target: &CrossTarget,
    root: &Path,
    target: &Path,
) -> io::Result<PathBuf> {
    let mut environment = cross::cargo_environment(package_target, root, target);
    environment.push(("SOURCE_DATE_EPOCH".to_owned(), commit_time()?.to_string().into()));
    let arguments = [&["build"], &cross::cargo_arguments(package_target)[..], &GLIBC].concat();
    let built = maturin(tools, root, &target.join("python/dist"), &arguments, &environment)?;
    let mut tags = tools.command("python");
    tags.args([
        "-m",
        "wheel",
        "tags",
        "--remove",
        "--platform-tag",
        &format!("{MUSL}_{}", package_target.architecture),
    ]);
    let name = output(tags.arg(&built).envs(environment))?;
    copy_into(out, &built.with_file_name(name.trim()))
}

/// Builds the source archive, which pip uses where no wheel fits; returns its path.
pub(crate) fn source(
    out: &Path,
    tools: &VirtualEnvironment,
    root: &Path,
    target: &Path,
) -> io::Result<PathBuf> {
    let environment = [("SOURCE_DATE_EPOCH".to_owned(), commit_time()?.to_string().into())];
    copy_into(out, &maturin(tools, root, &target.join("python/dist"), &["sdist"], &environment)?)
}

fn copy_into(folder: &Path, file: &Path) -> io::Result<PathBuf> {
    let path = folder.join(file.file_name().unwrap_or_default());
    fs::copy(file, &path)?;
    Ok(path)
}
