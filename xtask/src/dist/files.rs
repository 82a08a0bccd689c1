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

/// Where shells look for completions.
const SHELLS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/howlate"),
    ("zsh", "share/zsh/vendor-completions/_howlate"),
    ("fish", "share/fish/vendor_completions.d/howlate.fish"),
];

/// Manual pages and completions, from the program that runs here.
pub(crate) fn pages(program: &Path) -> io::Result<Vec<File>> {
    let mut pages = vec![page("howlate", said(program, &["man"])?)];
    let help = String::from_utf8_lossy(&said(program, &["--help"])?).into_owned();
    for command in commands(&help) {
        pages.push(page(&format!("howlate-{command}"), said(program, &["man", command])?));
    }
    for (shell, path) in SHELLS {
        pages.push(File::text(path, said(program, &["completions", shell])?));
    }
    Ok(pages)
}

/// The commands that `help` lists, which have manual pages of their own; but for `help`.
fn commands(help: &str) -> impl Iterator<Item = &str> {
    let listed =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // What goes on from the line above is further in.
    let names = listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !matches!(*name, "" | "help"))
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
    files.push(File::text("include/howlate.h".to_owned(), fs::read(root.join("loop/howlate.h"))?));
    let module = fs::read(root.join("python/howlate/loop.py"))?;
    files.push(File::text("share/howlate/python/howlate_loop.py".to_owned(), module));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_those_of_the_help() {
        let help = "howlate says\n\nCommands:\n  cyclic  Measure\n  man     Print\n          it\n  help    Print\n\nOptions:\n  -q\n";
        assert!(commands(help).eq(["cyclic", "man"]));
    }
}
