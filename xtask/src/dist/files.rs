//! What a package holds.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

/// A file of a package.
#[derive(Clone, Debug)]
pub(crate) struct File {
    /// Below `/usr`, without a slash in front.
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_program: bool,
}

impl File {
    fn text(path: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self { path: path.into(), bytes, is_program: false }
    }
}

/// Commands that have a manual page of their own.
const COMMANDS: [&str; 13] = [
    "cyclic",
    "sleep",
    "notify",
    "run",
    "load",
    "cyclictest",
    "compare",
    "doctor",
    "guest",
    "show",
    "report",
    "completions",
    "man",
];

/// Where shells look for completions.
const SHELLS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/howlate"),
    ("zsh", "share/zsh/vendor-completions/_howlate"),
    ("fish", "share/fish/vendor_completions.d/howlate.fish"),
];

/// Manual pages and completions, from the program that runs here.
pub(crate) fn pages(program: &Path) -> io::Result<Vec<File>> {
    let mut pages = vec![page("howlate", said(program, &["man"])?)];
    for command in COMMANDS {
        pages.push(page(&format!("howlate-{command}"), said(program, &["man", command])?));
    }
    for (shell, path) in SHELLS {
        pages.push(File::text(path, said(program, &["completions", shell])?));
    }
    Ok(pages)
}

fn page(name: &str, text: Vec<u8>) -> File {
    File::text(format!("share/man/man1/{name}.1"), text)
}

fn said(program: &Path, words: &[&str]) -> io::Result<Vec<u8>> {
    let output = Command::new(program).args(words).output()?;
    if output.status.success() && !output.stdout.is_empty() {
        return Ok(output.stdout);
    }
    Err(io::Error::other(format!("`howlate {}` gave nothing", words.join(" "))))
}

/// Everything, sorted by path.
pub(crate) fn all(root: &Path, pages: &[File], program: Vec<u8>) -> io::Result<Vec<File>> {
    let mut files = pages.to_vec();
    files.push(File { path: "bin/howlate".into(), bytes: program, is_program: true });
    for name in ["README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        files.push(File::text(format!("share/doc/howlate/{name}"), fs::read(root.join(name))?));
    }
    for entry in fs::read_dir(root.join("plans"))? {
        let path = entry?.path();
        if let Some(name) =
            path.extension().is_some_and(|it| it == "toml").then(|| path.file_name()).flatten()
        {
            let name = name.display();
            files.push(File::text(format!("share/howlate/plans/{name}"), fs::read(&path)?));
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}
