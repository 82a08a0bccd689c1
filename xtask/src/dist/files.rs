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

/// Units, and what `systemd-sysusers` makes a user of.
const UNITS: [&str; 4] =
    ["howlate-recording.service", "howlate-serve.service", "howlate-run@.service", "howlate-run@.timer"];
const USER: (&str, &str) = ("lib/sysusers.d", "howlate-recording.conf");

/// Manual pages and completions, from the program that runs here.
pub(crate) fn pages(program: &Path) -> io::Result<Vec<File>> {
    let mut pages = vec![page("howlate", output_of(program, &["man"])?)];
    add_pages(program, &[], &mut pages)?;
    for (shell, path) in SHELLS {
        pages.push(File::text(path, output_of(program, &["completions", shell])?));
    }
    Ok(pages)
}

/// The pages of commands within a command, and of those within them: `howlate-fleet-run`.
fn add_pages(program: &Path, within: &[String], pages: &mut Vec<File>) -> io::Result<()> {
    let words: Vec<&str> = within.iter().map(String::as_str).chain(["--help"]).collect();
    let help = String::from_utf8_lossy(&output_of(program, &words)?).into_owned();
    for command in commands(&help) {
        let path = [within, &[command.to_owned()]].concat();
        let name = path.join("-");
        pages.push(page(&format!("howlate-{name}"), output_of(program, &["man", &name])?));
        add_pages(program, &path, pages)?;
    }
    Ok(())
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

fn output_of(program: &Path, words: &[&str]) -> io::Result<Vec<u8>> {
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
    files.extend(for_programs(root)?);
    files.extend(units(root)?);
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

/// For systemd; and the user that the recorder runs as.
fn units(root: &Path) -> io::Result<Vec<File>> {
    let named = |(folder, name): (&str, &str)| {
        Ok(File::text(format!("{folder}/{name}"), fs::read(root.join("packaging/systemd").join(name))?))
    };
    UNITS.map(|unit| ("lib/systemd/system", unit)).into_iter().chain([USER]).map(named).collect()
}

/// What programs are built with: the headers, and how they are found.
pub(crate) fn for_programs(root: &Path) -> io::Result<Vec<File>> {
    let named = |name: &str| -> io::Result<Vec<u8>> {
        let text = fs::read_to_string(root.join("packaging/dev").join(name))?;
        Ok(text.replace("@VERSION@", super::VERSION).into_bytes())
    };
    Ok(vec![
        File::text("include/howlate.h", fs::read(root.join("loop/howlate.h"))?),
        File::text("include/howlate_span.h", fs::read(root.join("loop/howlate_span.h"))?),
        File::text(
            "share/cmake/howlate/howlate-config-version.cmake",
            named("howlate-config-version.cmake")?,
        ),
        File::text("share/cmake/howlate/howlate-config.cmake", named("howlate-config.cmake")?),
        File::text("share/pkgconfig/howlate.pc", named("howlate.pc")?),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pkg_config_and_cmake_find_the_header() {
        let folder = tempfile::tempdir().unwrap();
        for file in for_programs(&crate::cross::root().unwrap()).unwrap() {
            let path = folder.path().join(&file.path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file.bytes).unwrap();
        }
        let has = |program: &str| Command::new(program).arg("--version").output().is_ok();
        if !has("pkg-config") || !has("cmake") || !has("cc") {
            return howlate_testing::skip("pkg-config, cmake or cc is not installed");
        }
        let output = Command::new("pkg-config")
            .args([
                "--cflags",
                "--exists",
                "--print-errors",
                concat!("howlate = ", env!("CARGO_PKG_VERSION")),
            ])
            .env("PKG_CONFIG_PATH", folder.path().join("share/pkgconfig"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let project = folder.path().join("project");
        fs::create_dir(&project).unwrap();
        let lists = "cmake_minimum_required(VERSION 3.16)\nproject(p C)\nfind_package(howlate 0.1 REQUIRED)\n\
                     add_executable(p p.c)\ntarget_link_libraries(p howlate::howlate)\n";
        fs::write(project.join("CMakeLists.txt"), lists).unwrap();
        fs::write(project.join("p.c"), "#include <howlate_span.h>\nint main(void) { return 0; }\n").unwrap();
        let cmake = |words: &[&str]| {
            let prefix = format!("-DCMAKE_PREFIX_PATH={}", folder.path().display());
            let output =
                Command::new("cmake").args(words).arg(prefix).current_dir(&project).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        };
        cmake(&["-S", ".", "-B", "b"]);
        let built = Command::new("cmake").args(["--build", "b"]).current_dir(&project).output().unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stdout));
    }

    #[test]
    fn the_package_has_the_recorders_unit_and_user() {
        let files = units(&crate::cross::root().unwrap()).unwrap();
        let text = |path: &str| {
            let file = files.iter().find(|file| file.path == path).unwrap();
            String::from_utf8(file.bytes.clone()).unwrap()
        };
        let unit = text("lib/systemd/system/howlate-recording.service");
        assert!(
            unit.contains("\nExecStart=/usr/bin/howlate record --quiet\n")
                && unit.contains("\nUser=howlate\n")
        );
        assert!(text("lib/sysusers.d/howlate-recording.conf").starts_with("u howlate - "));
    }

    #[test]
    fn commands_are_those_of_the_help() {
        let help = "howlate says\n\nCommands:\n  cyclic  Measure\n  man     Print\n          it\n  help    Print\n\nOptions:\n  -q\n";
        assert!(commands(help).eq(["cyclic", "man"]));
    }
}
