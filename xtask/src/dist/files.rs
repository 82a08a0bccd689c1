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

/// Manual pages and completions, from the program that runs here; units, and the user that the recorder runs as. Everything that
/// recipes install as well.
pub(crate) fn beside(root: &Path, program: &Path) -> io::Result<Vec<File>> {
    let folder = tempfile::tempdir()?;
    let mut script = Command::new(root.join("packaging/install.sh"));
    script.arg(program).arg(folder.path()).arg("vendor-completions");
    // Manual pages have a date.
    let output = script.env("SOURCE_DATE_EPOCH", super::moment()?.to_string()).output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let mut files = Vec::new();
    add(folder.path(), "", &mut files)?;
    Ok(files)
}

/// The files of a folder, called what they are called below it.
fn add(folder: &Path, below: &str, files: &mut Vec<File>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = format!("{below}{}", entry.file_name().display());
        match entry.file_type()?.is_dir() {
            true => add(&entry.path(), &format!("{path}/"), files)?,
            false => files.push(File::text(path, fs::read(entry.path())?)),
        }
    }
    Ok(())
}

/// Everything, sorted by path.
pub(crate) fn all(root: &Path, beside: &[File], program: Vec<u8>) -> io::Result<Vec<File>> {
    let mut files = beside.to_vec();
    files.push(File { path: "bin/howlate".into(), bytes: program, is_program: true });
    for name in ["README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        files.push(File::text(format!("share/doc/howlate/{name}"), fs::read(root.join(name))?));
    }
    files.extend(for_programs(root)?);
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

/// What programs are built with: the headers, and how they are found.
pub(crate) fn for_programs(root: &Path) -> io::Result<Vec<File>> {
    let named = |name: &str| -> io::Result<Vec<u8>> {
        let text = fs::read_to_string(root.join("packaging/dev").join(name))?;
        Ok(text.replace("@VERSION@", super::VERSION).into_bytes())
    };
    Ok(vec![
        File::text("include/howlate.h", fs::read(root.join("loop/howlate.h"))?),
        File::text("include/howlate_snap.h", fs::read(root.join("loop/howlate_snap.h"))?),
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

    /// Commands of commands have pages, too; the recorder's unit has its user.
    #[test]
    fn a_package_has_every_page_and_unit() {
        let root = crate::cross::root().unwrap();
        let program = crate::cross::target_folder(&root).join("debug/howlate");
        if !program.exists() {
            return howlate_testing::skip("the program is not built: cargo build --package howlate");
        }
        let files = beside(&root, &program).unwrap();
        let text = |path: &str| {
            let file = files.iter().find(|file| file.path == path);
            String::from_utf8(file.unwrap_or_else(|| panic!("{path}: {files:?}")).bytes.clone()).unwrap()
        };
        let unit = text("lib/systemd/system/howlate-recording.service");
        assert!(
            unit.contains("\nExecStart=/usr/bin/howlate record --quiet\n")
                && unit.contains("\nUser=howlate\n")
        );
        assert!(text("lib/sysusers.d/howlate-recording.conf").starts_with("u howlate - "));
        for page in ["howlate", "howlate-cyclic", "howlate-fleet-run", "howlate-tune-program"] {
            assert!(text(&format!("share/man/man1/{page}.1")).contains(".TH "), "{page}");
        }
        for path in [
            "share/bash-completion/completions/howlate",
            "share/zsh/vendor-completions/_howlate",
            "share/fish/vendor_completions.d/howlate.fish",
        ] {
            assert!(text(path).contains("cyclic"), "{path}");
        }
    }
}
