//! Recipes of distributions, checked by the distributions' own tools.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use howlate_testing::skip;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// The standard output of a program, which must succeed; `None` if it is not installed.
fn run(program: &str, arguments: &[&str], folder: &str) -> Option<String> {
    let output = Command::new(program).args(arguments).current_dir(root().join(folder)).output();
    let Ok(output) = output else {
        skip(&format!("{program} is not installed"));
        return None;
    };
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{program}: {stdout}{}", String::from_utf8_lossy(&output.stderr));
    Some(stdout)
}

#[test]
fn nix_reads_the_flake_and_the_package() {
    for file in ["flake.nix", "packaging/nix/package.nix"] {
        run("nix-instantiate", &["--parse", file], ".");
    }
}

#[test]
fn actionlint_finds_no_fault_in_the_workflows() {
    run("actionlint", &[".github/workflows/ci.yml", ".github/workflows/nightly.yml"], ".");
}

#[test]
fn makepkg_reads_the_recipe_of_arch() {
    // makepkg refuses to run as root, and requires a pacman on the path, although only building uses it.
    let script = "id -u nobody >/dev/null && cp PKGBUILD \"$0\" && cd \"$0\" && chmod 755 . && if [ $(id -u) = 0 ]; then \
                  chown nobody . && exec setpriv --reuid nobody --clear-groups env PACMAN=true HOME=\"$0\" makepkg --printsrcinfo; else \
                  exec env PACMAN=true makepkg --printsrcinfo; fi";
    let has = Command::new("makepkg").arg("--version").output().is_ok();
    if !has {
        return skip("makepkg is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    let info = run("sh", &["-c", script, folder.path().to_str().unwrap()], "packaging/aur").unwrap();
    assert!(info.contains("pkgname = howlate") && info.contains("makedepends = cargo>=1.90"), "{info}");
}

/// Without the vendored crates, which would have to be fetched: only the packaging is checked.
#[test]
fn dpkg_source_makes_the_source_package() {
    if Command::new("dpkg-source").arg("--version").output().is_err() {
        return skip("dpkg-source is not installed");
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    let script = format!("WITHOUT_CRATES=1 packaging/debian/source.sh {out}");
    run("bash", &["-c", &script], ".");
    let package = fs::read_dir(out).unwrap().map(|entry| entry.unwrap().path());
    let package = package
        .into_iter()
        .find(|path| path.extension().is_some_and(|extension| extension == "dsc"))
        .unwrap();
    let text = fs::read_to_string(&package).unwrap();
    assert!(text.contains("Binary: howlate, howlate-dev") && text.contains("Version: 0.1.0-1"), "{text}");
    let has = Command::new("lintian").arg("--version").output().is_ok();
    if !has {
        return skip("lintian is not installed");
    }
    run("lintian", &["--allow-root", "--fail-on", "error", package.to_str().unwrap()], ".");
}

/// A folder with the built program and a fake `cargo`, which "builds" a script that starts the program. So recipes are tested without a
/// build: they install the program, let it write its pages, and pack all that. `None` if the program was not built.
fn fake_cargo() -> Option<tempfile::TempDir> {
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
    let is_installed =
        Command::new("sh").args(["-c", &format!("command -v {program}")]).output().unwrap().status.success();
    if !is_installed {
        skip(&format!("{program} is not installed"));
    }
    is_installed
}

/// Files that the package of every distribution has.
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
    let Some(tools) = fake_cargo() else { return };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().display();
    let script = format!(
        "WITHOUT_CRATES=1 packaging/debian/source.sh {out} && cd {out} && dpkg-source -x *.dsc tree && cd tree && \
         PATH={}:$PATH dpkg-buildpackage -d -b -us -uc && cd .. && for package in *.deb; do dpkg-deb -c $package; done",
        tools.path().display()
    );
    let listing = run("bash", &["-ec", &script], ".").unwrap();
    for file in PACKED.iter().chain(&["usr/share/pkgconfig/howlate.pc"]) {
        assert!(listing.lines().any(|line| line.contains(file)), "{file}: {listing}");
    }
    if has("lintian") {
        let script = format!("lintian --allow-root --fail-on error {out}/*.deb");
        run("sh", &["-c", &script], ".");
    }
}

#[test]
fn arch_packs_all_of_it() {
    if !has("makepkg") || !has("fakeroot") || !has("bsdtar") {
        return;
    }
    let Some(tools) = fake_cargo() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (out, tools) = (folder.path().display(), tools.path().display());
    let version = env!("CARGO_PKG_VERSION");
    // Instead of the download: an archive of this commit.
    let script = format!(
        "git archive --prefix=howlate-{version}/ -o {out}/howlate-{version}.tar.gz HEAD && cp packaging/aur/PKGBUILD {out} && cd {out} && \
         chmod 755 . && export PATH={tools}:$PATH PACMAN=true HOME={out} PKGEXT=.pkg.tar CARCH=$(uname -m) && \
         if [ $(id -u) = 0 ]; then chown -R nobody . && setpriv --reuid nobody --clear-groups makepkg -d; else makepkg -d; fi && \
         bsdtar -tf howlate-{version}-1-*.pkg.tar"
    );
    let listing = run("bash", &["-ec", &script], ".").unwrap();
    for file in PACKED.iter().chain(&["usr/share/licenses/howlate/LICENSE-MIT"]) {
        assert!(listing.lines().any(|line| line.contains(file)), "{file}: {listing}");
    }
}

/// A stub of nixpkgs with what the flake uses; a package evaluates to its attributes.
const NIXPKGS: &str = r#"
root:
let
  lib = {
    importTOML = path: builtins.fromTOML (builtins.readFile path);
    genAttrs = names: of: builtins.listToAttrs (map (name: { inherit name; value = of name; }) names);
    licenses = { mit = "MIT"; asl20 = "Apache-2.0"; };
    platforms.linux = [ ];
  };
  callPackage = file: arguments: import file ({ inherit lib; rustPlatform.buildRustPackage = package: package; } // arguments);
  system = { inherit callPackage; mkShell = arguments: arguments; };
  nixpkgs = { inherit lib; legacyPackages = { x86_64-linux = system; aarch64-linux = system; }; };
in
((import (root + "/flake.nix")).outputs { self = root; inherit nixpkgs; }).packages.x86_64-linux.default
"#;

/// A stub of the function of nixpkgs that the package's script calls.
const SUBSTITUTE: &str = r#"
substituteInPlace() {
    local files=()
    while [ "$1" != --replace-quiet ]; do files+=("$1"); shift; done
    sed -i "s|$2|$3|g" "${files[@]}"
}
"#;

/// Nothing is built: the flake is evaluated, and its `postInstall` packs the fake program.
#[test]
fn nix_packs_all_of_it() {
    if !has("nix-instantiate") {
        return;
    }
    let Some(tools) = fake_cargo() else { return };
    let out = tools.path().join("out");
    let attribute = |name: &str| {
        let expression = format!("(({NIXPKGS}) \"{}\").{name}", root().display());
        let arguments = ["--store", "dummy://", "--eval", "--strict", "--json", "--expr", &expression];
        let json = run("nix-instantiate", &arguments, ".").unwrap();
        serde_json::from_str::<serde_json::Value>(&json).unwrap().as_str().unwrap().to_owned()
    };
    assert_eq!(attribute("version"), env!("CARGO_PKG_VERSION"));
    fs::create_dir_all(out.join("bin")).unwrap();
    fs::rename(tools.path().join("howlate"), out.join("bin/howlate")).unwrap();
    let script = format!("out={}\n{}{}", out.display(), SUBSTITUTE, attribute("postInstall"));
    run("bash", &["-euc", &script], ".");
    for file in PACKED {
        assert!(out.join(file.trim_start_matches("usr/")).exists(), "{file}");
    }
    let unit = fs::read_to_string(out.join("lib/systemd/system/howlate-serve.service")).unwrap();
    assert!(unit.contains(&format!("ExecStart={}/bin/howlate ", out.display())), "{unit}");
}

/// Buildroot runs `cargo install --path ./` in the recipe's folder, with the recipe's options at the end.
#[test]
fn buildroot_installs_by_the_options_of_the_recipe() {
    let recipe = fs::read_to_string(root().join("packaging/buildroot/package/howlate/howlate.mk")).unwrap();
    let variable =
        |name: &str| recipe.lines().find_map(|line| line.strip_prefix(&format!("HOWLATE_{name} = ")));
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
        .args(variable("CARGO_INSTALL_OPTS").unwrap_or_default().split_whitespace())
        // `--dry-run` is still unstable.
        .args(["--dry-run", "-Z", "unstable-options"])
        .env("RUSTC_BOOTSTRAP", "1")
        .current_dir(root().join(variable("SUBDIR").unwrap_or_default()))
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && stderr.contains("bin/howlate"), "{stderr}");
}

/// `check-package` of Buildroot's `utils/`
#[test]
fn buildroot_finds_no_fault() {
    let folder = root().join("packaging/buildroot");
    let files = ["Config.in", "external.mk", "package/howlate/Config.in", "package/howlate/howlate.mk"];
    if has("check-package") {
        let arguments = ["-b"].into_iter().chain(files).collect::<Vec<_>>();
        run("check-package", &arguments, folder.to_str().unwrap());
    }
}

/// Without the check that the project's page answers, which does not depend on the recipe.
#[test]
fn yocto_finds_no_fault() {
    if has("oelint-adv") {
        let arguments =
            ["--quiet", "--exit-zero", "--suppress", "oelint.vars.homepageping", "howlate_0.1.0.bb"];
        let output = Command::new("oelint-adv")
            .args(arguments)
            .current_dir(root().join("packaging/yocto/recipes-devtools/howlate"))
            .output()
            .unwrap();
        let text =
            [output.stderr, output.stdout].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        assert!(!text.contains(":warning:") && !text.contains(":error:"), "{text}");
    }
}

#[test]
fn systemd_reads_the_units() {
    // The units' program is not installed here.
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
        if run("systemd-analyze", &["verify", path.to_str().unwrap()], ".").is_none() {
            return;
        }
    }
    // systemd's exposure level, from 0 (safe) to 10.
    for (unit, limit) in [("howlate-recording", 1.5), ("howlate-serve", 1.5), ("howlate-run@night", 3.0)] {
        let path = folder.path().join(format!("{unit}.service"));
        let output =
            Command::new("systemd-analyze").args(["security", "--offline=true"]).arg(path).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let level = text.split("exposure level for").nth(1).and_then(|rest| rest.split_whitespace().nth(1));
        let level: f64 = level.and_then(|level| level.parse().ok()).unwrap_or_else(|| panic!("{text}"));
        assert!(level <= limit, "{unit}: {level}");
    }
}

/// The manifest is valid YAML, and its containers have the capabilities that they need and no others.
#[test]
fn the_recorder_of_a_cluster_has_two_capabilities() {
    let script = "import sys, yaml\n\
        add, sees, secure = {}, {}, {}\n\
        for manifest in yaml.safe_load_all(open(sys.argv[1])):\n\
        \x20   pod = manifest['spec']['template']\n\
        \x20   assert manifest['kind'] == 'DaemonSet' and manifest['spec']['selector']['matchLabels'] == pod['metadata']['labels']\n\
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
    run("python3", &["-c", script, "docs/howlate-record-daemonset.yaml"], ".");
}

/// Yocto fetches each crate itself, from a list generated from `Cargo.lock`.
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
    let generated = format!(
        "# From Cargo.lock: HOWLATE_UPDATE=1 cargo test -p xtask --test packaging\n\nSRC_URI += \"\\\n{sources}\"\n\n{sums}"
    );
    let path = root().join("packaging/yocto/recipes-devtools/howlate/howlate-crates.inc");
    if std::env::var_os("HOWLATE_UPDATE").is_some() {
        fs::write(&path, &generated).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap_or_default() == generated,
        "run HOWLATE_UPDATE=1 cargo test -p xtask --test packaging"
    );
}

/// A recipe with another version would fetch another program.
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
