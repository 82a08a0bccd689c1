//! The files of packages and archives.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

#[derive(Clone, Debug)]
pub(crate) struct PackageFile {
    /// Relative to `/usr`.
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) is_program: bool,
}

impl PackageFile {
    pub(crate) fn text(path: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self { path: path.into(), bytes, is_program: false }
    }
}

/// What `packaging/install.sh` installs, for distributions as well: manual pages and completions, which the program prints; systemd
/// units, and the recorder's user.
pub(crate) fn installed(root: &Path, program: &Path) -> io::Result<Vec<PackageFile>> {
    let folder = tempfile::tempdir()?;
    let mut script = Command::new(root.join("packaging/install.sh"));
    script.arg(program).arg(folder.path()).arg("vendor-completions");
    // The date in manual pages.
    let output = script.env("SOURCE_DATE_EPOCH", super::commit_time()?.to_string()).output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let mut files = Vec::new();
    add(folder.path(), "", &mut files)?;
    Ok(files)
}

/// Adds the files of a folder; `prefix` is its path in the package.
fn add(folder: &Path, prefix: &str, files: &mut Vec<PackageFile>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = format!("{prefix}{}", entry.file_name().display());
        match entry.file_type()?.is_dir() {
            true => add(&entry.path(), &format!("{path}/"), files)?,
            false => files.push(PackageFile::text(path, fs::read(entry.path())?)),
        }
    }
    Ok(())
}

/// All files, sorted by path.
pub(crate) fn all(root: &Path, installed: &[PackageFile], program: Vec<u8>) -> io::Result<Vec<PackageFile>> {
    let mut files = installed.to_vec();
    files.push(PackageFile { path: "bin/howlate".into(), bytes: program, is_program: true });
    for name in ["README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE-MIT", "LICENSE-APACHE"] {
        files.push(PackageFile::text(format!("share/doc/howlate/{name}"), fs::read(root.join(name))?));
    }
    files.extend(development_files(root)?);
    let module = fs::read(root.join("python/howlate/loop.py"))?;
    files.push(PackageFile::text("share/howlate/python/howlate_loop.py".to_owned(), module));
    for entry in fs::read_dir(root.join("plans"))? {
        let path = entry?.path();
        if let Some(name) =
            path.extension().is_some_and(|extension| extension == "toml").then(|| path.file_name()).flatten()
        {
            let name = name.display();
            files.push(PackageFile::text(format!("share/howlate/plans/{name}"), fs::read(&path)?));
        }
    }
    files.sort_by(|file, other| file.path.cmp(&other.path));
    Ok(files)
}

/// Headers, and the files by which pkg-config and CMake find them.
fn development_files(root: &Path) -> io::Result<Vec<PackageFile>> {
    let with_version = |name: &str| -> io::Result<Vec<u8>> {
        let text = fs::read_to_string(root.join("packaging/dev").join(name))?;
        Ok(text.replace("@VERSION@", super::VERSION).into_bytes())
    };
    Ok(vec![
        PackageFile::text("include/howlate.h", fs::read(root.join("loop/howlate.h"))?),
        PackageFile::text("include/howlate_snap.h", fs::read(root.join("loop/howlate_snap.h"))?),
        PackageFile::text("include/howlate_span.h", fs::read(root.join("loop/howlate_span.h"))?),
        PackageFile::text(
            "share/cmake/howlate/howlate-config-version.cmake",
            with_version("howlate-config-version.cmake")?,
        ),
        PackageFile::text("share/cmake/howlate/howlate-config.cmake", with_version("howlate-config.cmake")?),
        PackageFile::text("share/pkgconfig/howlate.pc", with_version("howlate.pc")?),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pkg_config_and_cmake_find_the_header() {
        let folder = tempfile::tempdir().unwrap();
        for file in development_files(&crate::cross::root().unwrap()).unwrap() {
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
        let cmake = |arguments: &[&str]| {
            let prefix = format!("-DCMAKE_PREFIX_PATH={}", folder.path().display());
            let output =
                Command::new("cmake").args(arguments).arg(prefix).current_dir(&project).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        };
        cmake(&["-S", ".", "-B", "b"]);
        let built = Command::new("cmake").args(["--build", "b"]).current_dir(&project).output().unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stdout));
    }

    /// Subcommands of subcommands have pages too; the user of the recorder's unit is created.
    #[test]
    fn a_package_has_every_page_and_unit() {
        let root = crate::cross::root().unwrap();
        let program = crate::cross::target_folder(&root).join("debug/howlate");
        if !program.exists() {
            return howlate_testing::skip("the program is not built: cargo build --package howlate");
        }
        let files = installed(&root, &program).unwrap();
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
