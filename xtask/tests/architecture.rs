//! The rules of ARCHITECTURE.md, checked.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Which crates of this project each crate may use. A stage knows the model and, where it must
/// touch the kernel, `linux`, `procfs` and `safe-path`; `session` joins those of a measurement, `tune` those of a search above it,
/// and only the program knows all.
const MAY_USE: &[(&str, &[&str])] = &[
    ("howlate-model", &[]),
    ("howlate-linux", &["howlate-model"]),
    ("howlate-procfs", &["howlate-model"]),
    ("howlate-safe-path", &[]),
    ("howlate-testing", &[]),
    ("howlate-knobs", &["howlate-model", "howlate-procfs"]),
    // Its remedies are the knobs' own commands.
    ("howlate-system", &["howlate-model", "howlate-knobs", "howlate-procfs"]),
    ("howlate-plan", &["howlate-model"]),
    ("howlate-cyclictest", &["howlate-model"]),
    ("howlate-load", &["howlate-model", "howlate-linux", "howlate-safe-path", "howlate-procfs"]),
    ("howlate-guard", &["howlate-model", "howlate-linux", "howlate-safe-path", "howlate-procfs"]),
    ("howlate-measure", &["howlate-model", "howlate-linux", "howlate-safe-path"]),
    ("howlate-runtimes", &["howlate-model", "howlate-linux", "howlate-safe-path", "howlate-procfs"]),
    ("howlate-fleet", &["howlate-model", "howlate-linux"]),
    ("howlate-guest", &["howlate-model", "howlate-linux", "howlate-safe-path", "howlate-procfs"]),
    // A recorded command line is read as cyclictest reads it.
    ("howlate-import", &["howlate-model", "howlate-cyclictest"]),
    ("howlate-record", &["howlate-model", "howlate-safe-path"]),
    ("howlate-trace", &["howlate-model", "howlate-linux", "howlate-procfs"]),
    ("howlate-watch", &["howlate-model", "howlate-linux", "howlate-procfs"]),
    ("howlate-serve", &["howlate-model", "howlate-linux"]),
    // Other people build it in.
    ("howlate-loop", &[]),
    ("howlate-analyse", &["howlate-model"]),
    ("howlate-render", &["howlate-model", "howlate-analyse"]),
    // It joins the stages of a measurement, and shows meanwhile how far it has come. Inside a guest it need not spare the
    // machine: nobody else is on it.
    (
        "howlate-session",
        &[
            "howlate-model",
            "howlate-analyse",
            "howlate-guard",
            "howlate-guest",
            "howlate-linux",
            "howlate-load",
            "howlate-measure",
            "howlate-plan",
            "howlate-procfs",
            "howlate-record",
            "howlate-render",
            "howlate-runtimes",
            "howlate-system",
            "howlate-trace",
        ],
    ),
    // It decides what is measured next, turns knobs through the guard, and looks at somebody's program while it does.
    (
        "howlate-tune",
        &[
            "howlate-model",
            "howlate-analyse",
            "howlate-guard",
            "howlate-knobs",
            "howlate-linux",
            "howlate-plan",
            "howlate-procfs",
            "howlate-record",
            "howlate-render",
            "howlate-session",
            "howlate-trace",
            "howlate-watch",
        ],
    ),
    // It watches for as long as asked: it records what tracers and marked loops see of somebody's program.
    (
        "howlate-watching",
        &[
            "howlate-model",
            "howlate-analyse",
            "howlate-linux",
            "howlate-procfs",
            "howlate-session",
            "howlate-trace",
            "howlate-watch",
        ],
    ),
    // It records the whole machine for as long as asked: what its tracer sees becomes lines by the same decomposition.
    (
        "howlate-blackbox",
        &[
            "howlate-model",
            "howlate-analyse",
            "howlate-linux",
            "howlate-procfs",
            "howlate-record",
            "howlate-trace",
        ],
    ),
    // It makes causes, has them traced, and judges what comes of it.
    (
        "howlate-selfcheck",
        &[
            "howlate-model",
            "howlate-analyse",
            "howlate-guard",
            "howlate-linux",
            "howlate-procfs",
            "howlate-trace",
        ],
    ),
    // Another page with the same words: it takes them from `render`.
    ("howlate-report", &["howlate-model", "howlate-analyse", "howlate-render"]),
];

/// What tests of every crate may use, and nothing but tests.
const TESTING: &str = "howlate-testing";

fn packages() -> Vec<Value> {
    let cargo = std::process::Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&cargo.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

#[test]
fn stages_do_not_know_each_other() {
    for package in packages() {
        let name = package["name"].as_str().unwrap();
        if matches!(name, "howlate" | "howlate-fuzz" | "howlate-lab" | "xtask") {
            continue;
        }
        let allowed = MAY_USE.iter().find(|(of, _)| *of == name);
        let allowed = allowed.unwrap_or_else(|| panic!("say in MAY_USE what {name} may use")).1;
        for dependency in package["dependencies"].as_array().unwrap() {
            let used = dependency["name"].as_str().unwrap();
            let is_of_tests = used == TESTING && dependency["kind"] == "dev";
            let may = !used.starts_with("howlate") || is_of_tests || allowed.contains(&used);
            assert!(may, "{name} must not use {used}");
        }
    }
}

fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        // Programs that are measured are no part of the crate that carries them.
        if path.is_dir() && !path.ends_with("crates/runtimes/programs") {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn unsafe_stays_in_linux() {
    let mut files = Vec::new();
    rust_files(&root().join("crates"), &mut files);
    rust_files(&root().join("loop"), &mut files);
    // The second maps the memory that programs of others share with howlate, of which it must not know more.
    let [linux, page] = ["crates/linux", "loop/src/page.rs"].map(|path| root().join(path));
    for file in files.iter().filter(|file| !file.starts_with(&linux) && **file != page) {
        for (number, line) in fs::read_to_string(file).unwrap().lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            let has = code.contains("unsafe {")
                || code.contains("unsafe fn")
                || code.contains("allow(unsafe_code)");
            assert!(!has, "{}:{}: unsafe belongs to crates/linux", file.display(), number + 1);
        }
    }
}

/// The lines of a file up to its tests, comments left out.
fn code(file: &Path) -> Vec<(usize, String)> {
    let text = fs::read_to_string(file).unwrap();
    let lines = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]"));
    let code = lines.map(|line| line.split("// ").next().unwrap_or_default().trim_start_matches("///"));
    code.map(str::to_owned).enumerate().collect()
}

/// The crates' files by name, but for their tests and those that an exception names, with their lines.
fn code_but_of(exceptions: &[(&str, &str)]) -> Vec<(String, Vec<(usize, String)>)> {
    let mut files = Vec::new();
    rust_files(&root().join("crates"), &mut files);
    let named =
        files.into_iter().map(|file| (file.strip_prefix(root()).unwrap().display().to_string(), file));
    let kept = named.filter(|(name, _)| {
        !name.contains("/tests/") && !exceptions.iter().any(|(who, _)| name.starts_with(who))
    });
    kept.map(|(name, file)| (name, code(&file))).collect()
}

/// Who may read clocks in another way, and why.
const READS_CLOCKS: &[(&str, &str)] =
    &[("crates/guard/", "once a setting"), ("crates/runtimes/programs/", "a program of its own")];

/// rustix looks for the vDSO with `dlsym(3)`, which a static program does not have: each of its readings is a system call
/// there, eight times as long.
#[test]
fn clocks_are_read_through_libc() {
    for (name, code) in code_but_of(READS_CLOCKS) {
        for (number, line) in code {
            let through_another = line.contains("clock_gettime") && !line.contains("libc::clock_gettime");
            assert!(!through_another, "{name}:{}: read it with howlate_linux::clock", number + 1);
        }
    }
}

/// Who may read the kernel's files without `procfs`, and why.
const READS_ITSELF: &[(&str, &str)] = &[
    ("crates/procfs/", "it is the reader"),
    ("crates/linux/", "asks one thing between fork and exec"),
    ("crates/guard/", "reads back what it has written, with the kernel's own words"),
    ("crates/guest/src/init.rs", "waits for a device as the first process, before there is anything"),
    ("crates/guest/src/program.rs", "packs this program, which is more than a text"),
    ("crates/trace/src/namespace.rs", "asks for its namespace, which is a link and no text"),
    ("crates/record/src/lock.rs", "asks where an open file is by now, which is a link and no text"),
];

#[test]
fn the_kernels_files_are_read_in_one_place() {
    for (name, code) in code_but_of(READS_ITSELF) {
        for (number, line) in code {
            let kernels = line.contains("\"/proc/") || line.contains("\"/sys/");
            let reads = ["fs::read", "read_dir(", "read_to_string(", "File::open("]
                .iter()
                .any(|call| line.contains(call));
            assert!(!(kernels && reads), "{name}:{}: read it through crates/procfs", number + 1);
        }
    }
}

/// Files of the kernel that are parsed in `procfs`, each once, as the ends of their paths.
const PARSED_ONCE: &[&str] = &[
    "}/cgroup",
    "self/cgroup",
    "}/status",
    "self/status",
    "}/stat",
    "}/limits",
    "self/limits",
    "mountinfo",
    "self/mounts",
    "cpu.max",
    "cpu.stat",
    "cpu.cfs_quota_us",
    "cpu.cfs_period_us",
    "scaling_governor",
];

/// Who names such a file elsewhere, and why.
const NAMES_THEM: &[(&str, &str)] = &[
    ("crates/procfs/", "it is the parser"),
    ("crates/guard/src/group.rs", "writes a quota, and reads back what it wrote"),
    (
        "crates/guard/src/thread.rs",
        "tells why a thread cannot be asked for its age, with the kernel's own words",
    ),
];

#[test]
fn the_kernels_files_are_parsed_in_one_place() {
    for (name, code) in code_but_of(NAMES_THEM) {
        for (number, line) in code {
            let named = PARSED_ONCE.iter().find(|file| line.contains(&format!("{file}\"")));
            assert!(
                named.is_none(),
                "{name}:{}: {} is parsed in crates/procfs",
                number + 1,
                named.unwrap_or(&"")
            );
        }
    }
}

/// Who may write below `/sys` and `/proc/sys`, and why.
const CHANGES_SETTINGS: &[(&str, &str)] = &[
    ("crates/guard/", "it puts back what it changes, or says why it does not"),
    ("crates/trace/src/tracefs/instance.rs", "a trace of its own, removed with it, or by the next howlate"),
    ("crates/guest/src/init.rs", "the machine is its own, and gone when it ends"),
];

/// Ways to write a file.
const WRITES: &[&str] =
    &["fs::write(", "File::create(", "File::options(", "OpenOptions", ".write(true)", "write_all("];

#[test]
fn settings_of_the_machine_are_changed_in_one_place() {
    for (name, code) in code_but_of(CHANGES_SETTINGS) {
        let names = code.iter().any(|(_, line)| line.contains("\"/sys/") || line.contains("\"/proc/sys/"));
        let writes = code.iter().find(|(_, line)| WRITES.iter().any(|call| line.contains(call)));
        if let (true, Some((number, _))) = (names, writes) {
            panic!("{name}:{}: settings of the machine are changed through crates/guard", number + 1);
        }
    }
}

#[test]
fn every_command_and_option_is_documented() {
    let documented = fs::read_to_string(root().join("docs/commands.md")).unwrap();
    let commands = fs::read_to_string(root().join("crates/howlate/src/cli/mod.rs")).unwrap();
    let enumeration = commands.split("enum Command {").nth(1).unwrap().split("\n}\n").next().unwrap();
    for line in enumeration
        .lines()
        .filter(|line| line.starts_with("    ") && line.trim().starts_with(char::is_uppercase))
    {
        let name: String = line.trim().chars().take_while(|letter| letter.is_alphanumeric()).collect();
        let name = name.to_lowercase();
        assert!(documented.contains(&format!("`howlate {name}")), "docs/commands.md lacks `howlate {name}`");
    }
    let mut cli = Vec::new();
    rust_files(&root().join("crates/howlate/src/cli"), &mut cli);
    for file in cli {
        for option in long_options(&fs::read_to_string(&file).unwrap()) {
            assert!(documented.contains(&format!("`--{option}")), "docs/commands.md lacks `--{option}`");
        }
    }
}

/// The names of fields that clap makes long options of.
fn long_options(source: &str) -> Vec<String> {
    let mut options = Vec::new();
    let mut is_long = false;
    for line in source.lines() {
        if let Some(name) = line.split("long = \"").nth(1).and_then(|rest| rest.split('"').next()) {
            options.push(name.to_owned());
        } else if line.contains("#[arg(long") {
            is_long = true;
        } else if let Some(field) = line.trim().strip_prefix("pub(crate) ").filter(|_| is_long) {
            options.push(field.split(':').next().unwrap_or_default().replace('_', "-"));
            is_long = false;
        }
    }
    options
}

#[test]
fn every_crate_is_in_the_code_map() {
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for package in packages() {
        let manifest = package["manifest_path"].as_str().unwrap();
        let folder =
            Path::new(manifest).parent().unwrap().strip_prefix(root()).unwrap().display().to_string();
        assert!(map.contains(&format!("`{folder}/`")), "ARCHITECTURE.md lacks `{folder}/`");
    }
}

#[test]
fn links_between_pages_lead_somewhere() {
    const OTHERS: [&str; 6] = [
        "README.md",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "python/README.md",
    ];
    let mut pages = pages(&root().join("docs"));
    pages.extend(OTHERS.map(|page| root().join(page)));
    for page in &pages {
        let text = fs::read_to_string(page).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let (target, heading) = link.split_once('#').unwrap_or((link, ""));
            if target.contains("://") {
                continue;
            }
            let file = if target.is_empty() { page.clone() } else { page.parent().unwrap().join(target) };
            assert!(file.exists(), "{} links to {target}", page.display());
            let is_there = heading.is_empty() || headings(&file).iter().any(|one| one == heading);
            assert!(is_there, "{} links to {link}, which has no such heading", page.display());
        }
    }
}

/// Every page below a folder.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let (folders, files): (Vec<_>, Vec<_>) =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).partition(|path| path.is_dir());
    let is_page = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "md");
    files.into_iter().filter(is_page).chain(folders.iter().flat_map(|folder| pages(folder))).collect()
}

#[test]
fn every_page_has_its_place_in_the_book() {
    let summary = root().join("docs/SUMMARY.md");
    let text = fs::read_to_string(&summary).unwrap();
    let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let mut listed: Vec<PathBuf> =
        links.map(|link| summary.with_file_name(link).canonicalize().unwrap()).collect();
    listed.sort();
    for two in listed.windows(2) {
        assert!(two[0] != two[1], "{} has two places", two[0].display());
    }
    let docs = root().join("docs").canonicalize().unwrap();
    for page in pages(&docs).iter().filter(|page| !page.ends_with("SUMMARY.md")) {
        assert!(listed.contains(page), "docs/SUMMARY.md lacks {}", page.display());
    }
}

/// What links call the headings of a page, as GitHub makes it.
fn headings(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap();
    let titles =
        text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let plain = |letter: &char| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_');
    titles
        .map(|title| title.to_lowercase().chars().filter(plain).collect::<String>().replace(' ', "-"))
        .collect()
}

/// What `cargo package` leaves out cannot be built from: files outside the crate, folders with a manifest of their own, and
/// crates of which it does not know the version.
#[test]
fn a_crate_holds_what_it_is_built_from() {
    let mut files = Vec::new();
    rust_files(&root().join("crates"), &mut files);
    for file in files.iter().filter(|file| file.components().any(|part| part.as_os_str() == "src")) {
        let source = fs::read_to_string(file).unwrap();
        let krate = file.ancestors().find(|folder| folder.join("Cargo.toml").exists()).unwrap();
        for path in included(&source) {
            let path = file.parent().unwrap().join(path).canonicalize().unwrap();
            assert!(path.starts_with(krate), "{} includes {}", file.display(), path.display());
            let folder = path.ancestors().find(|folder| folder.join("Cargo.toml").exists());
            assert_eq!(folder, Some(krate), "{} includes {}", file.display(), path.display());
        }
    }
    let packages = packages();
    // `publish = false` is an empty list of where to.
    let is_published =
        |name: &str| packages.iter().any(|one| one["name"] == name && one["publish"].is_null());
    for package in &packages {
        for dependency in package["dependencies"].as_array().unwrap() {
            if dependency["path"].is_null() || dependency["name"] == TESTING {
                continue;
            }
            let (name, needed) = (package["name"].as_str().unwrap(), dependency["name"].as_str().unwrap());
            assert!(dependency["req"] != "*", "{name} needs {needed} in any version");
            // Or else it is taken from crates.io, where another project may have the name.
            assert!(is_published(needed), "{name} needs {needed}, which is not published");
        }
    }
}

/// The paths in `include_str!("…")` and its relatives; of those put together the folder.
fn included(source: &str) -> Vec<&str> {
    let calls = ["include_str!(", "include_bytes!(", "include_bytes_aligned!("];
    let path = |place: usize| source[place..].split('"').nth(1);
    let found =
        calls.iter().flat_map(|call| source.match_indices(call).map(|(place, call)| place + call.len()));
    found.filter_map(path).collect()
}
