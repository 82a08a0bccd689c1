//! Recipes of distributions, each by the tool that reads it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use howlate_testing::skip;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// What a tool says of a recipe, which it must accept; `None` where it is not installed.
fn accepted(program: &str, words: &[&str], folder: &str) -> Option<String> {
    let output = Command::new(program).args(words).current_dir(root().join(folder)).output();
    let Ok(output) = output else {
        skip(&format!("{program} is not installed"));
        return None;
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{program}: {said}{}", String::from_utf8_lossy(&output.stderr));
    Some(said)
}

#[test]
fn nix_reads_the_flake_and_the_package() {
    for file in ["flake.nix", "packaging/nix/package.nix"] {
        accepted("nix-instantiate", &["--parse", file], ".");
    }
}

#[test]
fn actionlint_finds_no_fault_in_the_workflows() {
    accepted("actionlint", &[".github/workflows/ci.yml", ".github/workflows/nightly.yml"], ".");
}

#[test]
fn makepkg_reads_the_recipe_of_arch() {
    // As root it refuses to; it wants a pacman on the path, which only building uses.
    let script = "id -u nobody >/dev/null && cp PKGBUILD \"$0\" && cd \"$0\" && chmod 755 . && if [ $(id -u) = 0 ]; then \
                  chown nobody . && exec setpriv --reuid nobody --clear-groups env PACMAN=true HOME=\"$0\" makepkg --printsrcinfo; else \
                  exec env PACMAN=true makepkg --printsrcinfo; fi";
    let has = Command::new("makepkg").arg("--version").output().is_ok();
    if !has {
        return skip("makepkg is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    let said = accepted("sh", &["-c", script, folder.path().to_str().unwrap()], "packaging/aur").unwrap();
    assert!(said.contains("pkgname = howlate") && said.contains("makedepends = cargo>=1.90"), "{said}");
}

/// Without the crates, which are fetched: what is read is the packaging.
#[test]
fn dpkg_source_makes_the_source_package() {
    if Command::new("dpkg-source").arg("--version").output().is_err() {
        return skip("dpkg-source is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let script = format!("WITHOUT_CRATES=1 packaging/debian/source.sh {out}");
    accepted("bash", &["-c", &script], ".");
    let package = fs::read_dir(out).unwrap().map(|entry| entry.unwrap().path());
    let package = package.into_iter().find(|path| path.extension().is_some_and(|it| it == "dsc")).unwrap();
    let text = fs::read_to_string(&package).unwrap();
    assert!(text.contains("Binary: howlate, howlate-dev") && text.contains("Version: 0.1.0-1"), "{text}");
    let has = Command::new("lintian").arg("--version").output().is_ok();
    if !has {
        return skip("lintian is not installed");
    }
    accepted("lintian", &["--allow-root", "--fail-on", "error", package.to_str().unwrap()], ".");
}

/// A folder with the program, and with what stands in for cargo: it builds a script that starts the program. What is tested is the
/// recipe, which installs it, has it write its pages, and packs all that. `None` where the program was not built.
fn instead_of_building() -> Option<tempfile::TempDir> {
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("debug/howlate");
    if !built.exists() {
        skip("the program is not built: cargo build --package howlate");
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("howlate");
    fs::copy(built, &program).unwrap();
    let cargo = format!(
        "#!/bin/sh\n[ \"$1\" = build ] || exit 0\nmkdir -p target/release && cd target/release &&\nprintf '#!/bin/sh\\nexec {} \"$@\"\\n' > \
         howlate && chmod 755 howlate\n",
        program.display()
    );
    fs::write(folder.path().join("cargo"), cargo).unwrap();
    for path in [folder.path().to_owned(), folder.path().join("cargo")] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    Some(folder)
}

fn has(program: &str) -> bool {
    let is =
        Command::new("sh").args(["-c", &format!("command -v {program}")]).output().unwrap().status.success();
    if !is {
        skip(&format!("{program} is not installed"));
    }
    is
}

/// All that belongs to a package, whichever distribution it is for.
const PACKED: [&str; 9] = [
    "usr/bin/howlate",
    "usr/include/howlate_snap.h",
    "usr/include/howlate_span.h",
    "usr/share/man/man1/howlate.1",
    "usr/share/man/man1/howlate-cyclic.1",
    "usr/share/man/man1/howlate-fleet-run.1",
    "usr/share/bash-completion/completions/howlate",
    "lib/systemd/system/howlate-serve.service",
    "lib/sysusers.d/howlate-recording.conf",
];

#[test]
fn debian_packs_all_of_it() {
    if !has("dpkg-buildpackage") || !has("dh") {
        return;
    }
    let Some(tools) = instead_of_building() else { return };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display();
    let script = format!(
        "WITHOUT_CRATES=1 packaging/debian/source.sh {out} && cd {out} && dpkg-source -x *.dsc tree && cd tree && \
         PATH={}:$PATH dpkg-buildpackage -d -b -us -uc && cd .. && for one in *.deb; do dpkg-deb -c $one; done",
        tools.path().display()
    );
    let said = accepted("bash", &["-ec", &script], ".").unwrap();
    for file in PACKED.iter().chain(&["usr/share/pkgconfig/howlate.pc"]) {
        assert!(said.lines().any(|line| line.contains(file)), "{file}: {said}");
    }
    if has("lintian") {
        let words = format!("lintian --allow-root --fail-on error {out}/*.deb");
        accepted("sh", &["-c", &words], ".");
    }
}

#[test]
fn arch_packs_all_of_it() {
    if !has("makepkg") || !has("fakeroot") || !has("bsdtar") {
        return;
    }
    let Some(tools) = instead_of_building() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (out, tools) = (folder.path().display(), tools.path().display());
    let version = env!("CARGO_PKG_VERSION");
    // What the recipe would download, of this commit.
    let script = format!(
        "git archive --prefix=howlate-{version}/ -o {out}/howlate-{version}.tar.gz HEAD && cp packaging/aur/PKGBUILD {out} && cd {out} && \
         chmod 755 . && export PATH={tools}:$PATH PACMAN=true HOME={out} PKGEXT=.pkg.tar CARCH=$(uname -m) && \
         if [ $(id -u) = 0 ]; then chown -R nobody . && setpriv --reuid nobody --clear-groups makepkg -d; else makepkg -d; fi && \
         bsdtar -tf howlate-{version}-1-*.pkg.tar"
    );
    let said = accepted("bash", &["-ec", &script], ".").unwrap();
    for file in PACKED.iter().chain(&["usr/share/licenses/howlate/LICENSE-MIT"]) {
        assert!(said.lines().any(|line| line.contains(file)), "{file}: {said}");
    }
}

/// What the flake takes of nixpkgs, for this system; a package is then what it is made from.
const NIXPKGS: &str = r#"
root:
let
  lib = {
    importTOML = path: builtins.fromTOML (builtins.readFile path);
    genAttrs = names: of: builtins.listToAttrs (map (name: { inherit name; value = of name; }) names);
    licenses = { mit = "MIT"; asl20 = "Apache-2.0"; };
    platforms.linux = [ ];
  };
  callPackage = file: words: import file ({ inherit lib; rustPlatform.buildRustPackage = made: made; } // words);
  system = { inherit callPackage; mkShell = words: words; };
  nixpkgs = { inherit lib; legacyPackages = { x86_64-linux = system; aarch64-linux = system; }; };
in
((import (root + "/flake.nix")).outputs { self = root; inherit nixpkgs; }).packages.x86_64-linux.default
"#;

/// What nixpkgs brings for scripts of packages.
const SUBSTITUTE: &str = r#"
substituteInPlace() {
    local files=()
    while [ "$1" != --replace-quiet ]; do files+=("$1"); shift; done
    sed -i "s|$2|$3|g" "${files[@]}"
}
"#;

/// Nothing is built: the flake is evaluated, and the package's own script packs what stands for the built program.
#[test]
fn nix_packs_all_of_it() {
    if !has("nix-instantiate") {
        return;
    }
    let Some(tools) = instead_of_building() else { return };
    let out = tools.path().join("out");
    let of = |name: &str| {
        let asked = format!("(({NIXPKGS}) \"{}\").{name}", root().display());
        let words = ["--store", "dummy://", "--eval", "--strict", "--json", "--expr", &asked];
        let said = accepted("nix-instantiate", &words, ".").unwrap();
        serde_json::from_str::<serde_json::Value>(&said).unwrap().as_str().unwrap().to_owned()
    };
    assert_eq!(of("version"), env!("CARGO_PKG_VERSION"));
    fs::create_dir_all(out.join("bin")).unwrap();
    fs::rename(tools.path().join("howlate"), out.join("bin/howlate")).unwrap();
    let script = format!("out={}\n{}{}", out.display(), SUBSTITUTE, of("postInstall"));
    accepted("bash", &["-euc", &script], ".");
    for file in PACKED {
        assert!(out.join(file.trim_start_matches("usr/")).exists(), "{file}");
    }
    let unit = fs::read_to_string(out.join("lib/systemd/system/howlate-serve.service")).unwrap();
    assert!(unit.contains(&format!("ExecStart={}/bin/howlate ", out.display())), "{unit}");
}

/// Buildroot's infrastructure installs the crate of a folder by `cargo install --path ./`, with the options of the recipe behind.
#[test]
fn buildroot_installs_by_the_options_of_the_recipe() {
    let recipe = fs::read_to_string(root().join("packaging/buildroot/package/howlate/howlate.mk")).unwrap();
    let of = |name: &str| recipe.lines().find_map(|line| line.strip_prefix(&format!("HOWLATE_{name} = ")));
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO"))
        .args([
            "install",
            "--offline",
            "--bins",
            "--path",
            "./",
            "--no-track",
            "--force",
            "--locked",
            "--root",
        ])
        .arg(folder.path())
        .args(of("CARGO_INSTALL_OPTS").unwrap_or_default().split_whitespace())
        // So far only a cargo that takes unstable options tells what it would do.
        .args(["--dry-run", "-Z", "unstable-options"])
        .env("RUSTC_BOOTSTRAP", "1")
        .current_dir(root().join(of("SUBDIR").unwrap_or_default()))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("bin/howlate"), "{said}");
}

/// Buildroot's own check of packages, which is in its `utils/`.
#[test]
fn buildroot_finds_no_fault() {
    let folder = root().join("packaging/buildroot");
    let files = ["Config.in", "external.mk", "package/howlate/Config.in", "package/howlate/howlate.mk"];
    if has("check-package") {
        let words = ["-b"].into_iter().chain(files).collect::<Vec<_>>();
        accepted("check-package", &words, folder.to_str().unwrap());
    }
}

/// Of the warnings of Yocto's linter, whether the project's page answers is not a matter of the recipe.
#[test]
fn yocto_finds_no_fault() {
    if has("oelint-adv") {
        let words = ["--quiet", "--exit-zero", "--suppress", "oelint.vars.homepageping", "howlate_0.1.0.bb"];
        let output = Command::new("oelint-adv")
            .args(words)
            .current_dir(root().join("packaging/yocto/recipes-devtools/howlate"))
            .output()
            .unwrap();
        let said =
            [output.stderr, output.stdout].map(|said| String::from_utf8_lossy(&said).into_owned()).concat();
        assert!(!said.contains(":warning:") && !said.contains(":error:"), "{said}");
    }
}

#[test]
fn systemd_reads_the_units() {
    // What is started is not installed here.
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(root().join("packaging/systemd")).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path)
            .unwrap()
            .replace("/usr/bin/howlate", "/bin/true")
            .replace("Documentation", "#");
        fs::write(folder.path().join(path.file_name().unwrap()), text).unwrap();
    }
    for unit in [
        "howlate-recording.service",
        "howlate-serve.service",
        "howlate-run@night.service",
        "howlate-run@night.timer",
    ] {
        let template = unit.replace("@night", "@");
        let path = folder.path().join(unit);
        if template != unit {
            fs::copy(folder.path().join(&template), &path).unwrap();
        }
        if accepted("systemd-analyze", &["verify", path.to_str().unwrap()], ".").is_none() {
            return;
        }
    }
    // What a unit may do beyond what it needs, by systemd's own measure: 0 is nothing, 10 all.
    for (unit, most) in [("howlate-recording", 1.5), ("howlate-serve", 1.5), ("howlate-run@night", 3.0)] {
        let path = folder.path().join(format!("{unit}.service"));
        let said =
            Command::new("systemd-analyze").args(["security", "--offline=true"]).arg(path).output().unwrap();
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let level = said.split("exposure level for").nth(1).and_then(|rest| rest.split_whitespace().nth(1));
        let level: f64 = level.and_then(|level| level.parse().ok()).unwrap_or_else(|| panic!("{said}"));
        assert!(level <= most, "{unit}: {level}");
    }
}

/// What is applied to a cluster is YAML, and its containers may do what they need and nothing else.
#[test]
fn the_recorder_of_a_cluster_has_two_capabilities() {
    let script = "import sys, yaml\n\
        add, sees, secure = {}, {}, {}\n\
        for one in yaml.safe_load_all(open(sys.argv[1])):\n\
        \x20   pod = one['spec']['template']\n\
        \x20   assert one['kind'] == 'DaemonSet' and one['spec']['selector']['matchLabels'] == pod['metadata']['labels']\n\
        \x20   volumes = {v['name'] for v in pod['spec']['volumes']}\n\
        \x20   [c] = pod['spec']['containers']\n\
        \x20   may = {**pod['spec'].get('securityContext', {}), **c['securityContext']}\n\
        \x20   assert may['capabilities']['drop'] == ['ALL'] and not may['allowPrivilegeEscalation'], c\n\
        \x20   assert may['seccompProfile'] == {'type': 'RuntimeDefault'} and may['runAsGroup'] == 65532, c\n\
        \x20   assert {m['name'] for m in c['volumeMounts']} <= volumes, c\n\
        \x20   add[c['name']] = may['capabilities'].get('add', [])\n\
        \x20   sees[c['name']] = pod['spec'].get('hostPID', False)\n\
        \x20   secure[c['name']] = (may['runAsUser'], '--no-auth' in c['args'])\n\
        assert add == {'record': ['BPF', 'PERFMON'], 'serve': []}, add\n\
        assert sees == {'record': True, 'serve': False}, sees\n\
        assert secure == {'record': (0, False), 'serve': (65532, False)}, secure\n";
    let has =
        Command::new("python3").args(["-c", "import yaml"]).output().is_ok_and(|out| out.status.success());
    if !has {
        return skip("python3 has no yaml");
    }
    accepted("python3", &["-c", script, "docs/howlate-record-daemonset.yaml"], ".");
}

/// Yocto fetches each crate itself; the list follows from `Cargo.lock`.
#[test]
fn yocto_fetches_the_crates_of_the_lock_file() {
    let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let field = |package: &str, name: &str| {
        let text = package.lines().find_map(|line| line.strip_prefix(&format!("{name} = \"")))?;
        Some(text.trim_end_matches('"').to_owned())
    };
    let (mut sources, mut sums) = (String::new(), String::new());
    for package in lock.split("[[package]]").skip(1) {
        let Some(sum) = field(package, "checksum") else { continue };
        let (name, version) = (field(package, "name").unwrap(), field(package, "version").unwrap());
        sources.push_str(&format!("    crate://crates.io/{name}/{version} \\\n"));
        sums.push_str(&format!("SRC_URI[{name}-{version}.sha256sum] = \"{sum}\"\n"));
    }
    let now = format!(
        "# From Cargo.lock: HOWLATE_UPDATE=1 cargo test -p xtask --test packaging\n\nSRC_URI += \"\\\n{sources}\"\n\n{sums}"
    );
    let path = root().join("packaging/yocto/recipes-devtools/howlate/howlate-crates.inc");
    if std::env::var_os("HOWLATE_UPDATE").is_some() {
        fs::write(&path, &now).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap_or_default() == now,
        "run HOWLATE_UPDATE=1 cargo test -p xtask --test packaging"
    );
}

/// A recipe that names another version than the program has would fetch another.
#[test]
fn recipes_are_of_this_version() {
    let version = env!("CARGO_PKG_VERSION");
    for (file, line) in [
        ("debian/changelog", format!("howlate ({version}-1) ")),
        ("aur/PKGBUILD", format!("pkgver={version}\n")),
        ("buildroot/package/howlate/howlate.mk", format!("HOWLATE_VERSION = {version}\n")),
    ] {
        let text = fs::read_to_string(root().join("packaging").join(file)).unwrap();
        assert!(text.contains(&line), "{file}: {line}");
    }
    let recipe = format!("packaging/yocto/recipes-devtools/howlate/howlate_{version}.bb");
    let text = fs::read_to_string(root().join(recipe)).unwrap();
    for license in ["LICENSE-MIT", "LICENSE-APACHE"] {
        let output = Command::new("md5sum").arg(root().join(license)).output().unwrap();
        let sum = String::from_utf8_lossy(&output.stdout).split(' ').next().unwrap().to_owned();
        assert!(text.contains(&format!("file://{license};md5={sum}")), "{license}");
    }
}
