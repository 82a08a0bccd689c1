//! `howlate-VERSION-py3-none-….whl` and `howlate-VERSION.tar.gz`: what `pip install howlate` installs, by maturin.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::moment;
use crate::cross::{self, Target};
use crate::python::{Environment, TOOLS, maturin, output};

/// A static program runs on systems of glibc and of musl alike, whichever version they have. maturin takes one of the two.
const GLIBC: [&str; 2] = ["--compatibility", "manylinux_2_17"];
const MUSL: &str = "+musllinux_1_1";

/// The environment in which maturin is, below `target`.
pub(crate) fn tools(target: &Path) -> io::Result<Environment> {
    Environment::provide(target, "tools", "python3", &TOOLS)
}

/// The wheel with the static program of an architecture; returns where.
pub(crate) fn write(
    out: &Path,
    tools: &Environment,
    one: &Target,
    root: &Path,
    target: &Path,
) -> io::Result<PathBuf> {
    let mut settings = cross::settings(one, root, target);
    settings.push(("SOURCE_DATE_EPOCH".to_owned(), moment()?.to_string().into()));
    let words = [&["build"], &cross::words(one)[..], &GLIBC].concat();
    let made = maturin(tools, root, &target.join("python/dist"), &words, &settings)?;
    let mut tags = tools.command("python");
    tags.args(["-m", "wheel", "tags", "--remove", "--platform-tag", &format!("{MUSL}_{}", one.architecture)]);
    let name = output(tags.arg(&made).envs(settings))?;
    kept(out, &made.with_file_name(name.trim()))
}

/// The source archive, from which pip builds where there is no wheel; returns where.
pub(crate) fn source(out: &Path, tools: &Environment, root: &Path, target: &Path) -> io::Result<PathBuf> {
    let settings = [("SOURCE_DATE_EPOCH".to_owned(), moment()?.to_string().into())];
    kept(out, &maturin(tools, root, &target.join("python/dist"), &["sdist"], &settings)?)
}

/// Copies it to the others.
fn kept(out: &Path, made: &Path) -> io::Result<PathBuf> {
    let path = out.join(made.file_name().unwrap_or_default());
    fs::copy(made, &path)?;
    Ok(path)
}
