//! The rules of ARCHITECTURE.md, checked.

use std::fs;
use std::path::Path;

use serde_json::Value;

use sources::{root, rust_files};

mod sources;

/// Which crates of this project each crate may use. A stage knows the model and, where it must
/// touch the kernel, `linux`, `procfs` and `safe-path`; `session` joins those of a measurement, `tune` those of a search above it,
/// and only the program knows all.
const MAY_USE: &[(&str, &[&str])] = &[
    // Worth publishing: it needs no crate at all.
    ("howlate-histogram", &[]),
    ("howlate-model", &["howlate-histogram"]),
    ("howlate-linux", &["howlate-model"]),
    ("howlate-procfs", &["howlate-model", "howlate-safe-path"]),
    ("howlate-safe-path", &[]),
    ("howlate-testing", &[]),
    ("howlate-system", &["howlate-model", "howlate-procfs"]),
    ("howlate-plan", &["howlate-model"]),
    ("howlate-load", &["howlate-model", "howlate-linux", "howlate-safe-path", "howlate-procfs"]),
    ("howlate-guard", &["howlate-model", "howlate-linux", "howlate-safe-path", "howlate-procfs"]),
    ("howlate-measure", &["howlate-model", "howlate-linux", "howlate-safe-path", "howlate-procfs"]),
    ("howlate-runtimes", &["howlate-model", "howlate-linux", "howlate-safe-path", "howlate-procfs"]),
    ("howlate-fleet", &["howlate-model", "howlate-linux"]),
    ("howlate-guest", &["howlate-model", "howlate-linux", "howlate-safe-path", "howlate-procfs"]),
    // A recorded command line is read as cyclictest reads it.
    ("howlate-import", &["howlate-model", "howlate-rt-tests"]),
    ("howlate-recording", &["howlate-model", "howlate-safe-path"]),
    ("howlate-trace", &["howlate-model", "howlate-linux", "howlate-procfs"]),
    ("howlate-watched-program", &["howlate-model", "howlate-linux", "howlate-procfs"]),
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
            "howlate-recording",
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
            "howlate-linux",
            "howlate-plan",
            "howlate-procfs",
            "howlate-recording",
            "howlate-render",
            "howlate-session",
            "howlate-system",
            "howlate-trace",
            "howlate-watched-program",
        ],
    ),
    // Another program's command line and output.
    ("howlate-rt-tests", &["howlate-model"]),
    // It does what other programs do: measures as a session does, or gaps.
    (
        "howlate-rt-tests-run",
        &[
            "howlate-model",
            "howlate-analyse",
            "howlate-gaps",
            "howlate-guard",
            "howlate-linux",
            "howlate-measure",
            "howlate-procfs",
            "howlate-recording",
            "howlate-render",
            "howlate-rt-tests",
            "howlate-session",
            "howlate-system",
        ],
    ),
    // It watches for as long as asked: it records what tracers and marked loops see of somebody's program.
    (
        "howlate-watch-session",
        &[
            "howlate-model",
            "howlate-analyse",
            "howlate-linux",
            "howlate-procfs",
            "howlate-session",
            "howlate-system",
            "howlate-trace",
            "howlate-watched-program",
        ],
    ),
    // It records the whole machine for as long as asked: what its tracer sees becomes lines by the same decomposition, and
    // what is done about late wake-ups is the same.
    (
        "howlate-blackbox",
        &[
            "howlate-model",
            "howlate-analyse",
            "howlate-linux",
            "howlate-procfs",
            "howlate-recording",
            "howlate-session",
            "howlate-trace",
            "howlate-watch-session",
            "howlate-watched-program",
        ],
    ),
    // It spins, has the kernel's events traced meanwhile, and joins both.
    (
        "howlate-gaps",
        &[
            "howlate-model",
            "howlate-analyse",
            "howlate-linux",
            "howlate-measure",
            "howlate-procfs",
            "howlate-trace",
        ],
    ),
    // Options are parsed into the types of whoever acts on them; it calls nothing of theirs that acts.
    (
        "howlate-cli",
        &[
            "howlate-model",
            "howlate-analyse",
            "howlate-blackbox",
            "howlate-fleet",
            "howlate-gaps",
            "howlate-guest",
            "howlate-plan",
            "howlate-render",
            "howlate-report",
            "howlate-rt-tests",
            "howlate-selfcheck",
            "howlate-serve",
            "howlate-session",
            "howlate-system",
            "howlate-trace",
            "howlate-tune",
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
    // What is read is handed to the analysis, whoever wrote it, in letters that can be shown.
    (
        "howlate-open-results",
        &["howlate-model", "howlate-analyse", "howlate-import", "howlate-recording", "howlate-render"],
    ),
    // Another screen with the same words.
    ("howlate-live", &["howlate-model", "howlate-analyse", "howlate-linux", "howlate-render"]),
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

#[test]
fn unsafe_stays_in_linux() {
    let mut files = Vec::new();
    rust_files(&root().join("crates"), &mut files);
    rust_files(&root().join("loop"), &mut files);
    // The others map the memory that programs of others share with howlate, of which they must not know more, and hand it over.
    let allowed =
        ["crates/foundation/linux", "loop/src/page.rs", "loop/src/socket.rs"].map(|path| root().join(path));
    for file in files.iter().filter(|file| !allowed.iter().any(|allowed| file.starts_with(allowed))) {
        for (number, line) in fs::read_to_string(file).unwrap().lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            let has = code.contains("unsafe {")
                || code.contains("unsafe fn")
                || code.contains("allow(unsafe_code)");
            assert!(!has, "{}:{}: unsafe belongs to crates/foundation/linux", file.display(), number + 1);
        }
    }
}

/// The lines of a file up to its tests, comments left out.
fn code(file: &Path) -> Vec<(usize, String)> {
    let text = fs::read_to_string(file).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    // Of an item that only tests have, such as a file of helpers, the code goes on behind it.
    let begins_tests = |number: usize| {
        let item = lines[number..].iter().find(|line| !line.starts_with("#["));
        lines[number].starts_with("#[cfg(test)]") && item.is_some_and(|item| item.starts_with("mod tests"))
    };
    let end = (0..lines.len()).find(|number| begins_tests(*number)).unwrap_or(lines.len());
    let code = lines[..end]
        .iter()
        .map(|line| line.split("// ").next().unwrap_or_default().trim_start_matches("///"));
    code.map(str::to_owned).enumerate().collect()
}

/// Files that are nothing but tests, or what tests need.
const ONLY_TESTS: &[&str] = &[
    "/tests.rs",
    "/testing.rs",
    "crates/program/howlate/src/plan_file/schema.rs",
    "crates/program/cli/src/documented_tests.rs",
];

/// Joining the stages, printing and the exit status: more than this is somebody else's business.
const MOST_GLUE: usize = 6_000;

#[test]
fn the_program_is_glue() {
    let code = code_but_of(&[]);
    let of_the_program = code.iter().filter(|(name, _)| {
        name.starts_with("crates/program/howlate/src/") && !ONLY_TESTS.iter().any(|end| name.ends_with(end))
    });
    let lines: usize = of_the_program.map(|(_, lines)| lines.len()).sum();
    assert!(lines <= MOST_GLUE, "crates/program/howlate has {lines} lines without its tests");
    assert!(lines > MOST_GLUE / 2, "{lines} lines were found, which cannot be all");
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

/// What writes to a terminal, or changes its state.
const WRITES_TO_TERMINALS: &[&str] = &[
    "execute!(",
    "queue!(",
    "write_all(",
    "writeln!(",
    "enable_raw_mode(",
    "disable_raw_mode(",
    "CrosstermBackend::",
];

#[test]
fn the_live_view_has_one_place_that_writes() {
    let place = "crates/presentation/live/src/terminal/alternate_screen.rs";
    let code = code_but_of(&[]);
    let writes = |(_, lines): &&(String, Vec<(usize, String)>)| {
        lines.iter().any(|(_, line)| WRITES_TO_TERMINALS.iter().any(|call| line.contains(call)))
    };
    let found: Vec<&str> = code
        .iter()
        .filter(|(name, _)| name.starts_with("crates/presentation/live/src/"))
        .filter(writes)
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(found, [place]);
}

/// Who may read clocks in another way, and why.
const READS_CLOCKS: &[(&str, &str)] = &[
    ("crates/machine/guard/", "once a setting"),
    ("crates/measuring/runtimes/programs/", "a program of its own"),
];

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
    ("crates/foundation/procfs/", "it is the reader"),
    ("crates/foundation/linux/", "asks one thing between fork and exec"),
    ("crates/machine/guard/", "reads back what it has written, with the kernel's own words"),
    ("crates/remote/guest/src/init.rs", "waits for a device as the first process, before there is anything"),
    ("crates/remote/guest/src/program.rs", "packs this program, which is more than a text"),
    ("crates/tracing/trace/src/machine.rs", "asks for its namespace, which is a link and no text"),
    (
        "crates/results/recording/src/lock.rs",
        "asks where an open file is by now, which is a link and no text",
    ),
];

#[test]
fn the_kernels_files_are_read_in_one_place() {
    for (name, code) in code_but_of(READS_ITSELF) {
        for (number, line) in code {
            let kernels = line.contains("\"/proc/") || line.contains("\"/sys/");
            let reads = ["fs::read", "read_dir(", "read_to_string(", "File::open("]
                .iter()
                .any(|call| line.contains(call));
            assert!(!(kernels && reads), "{name}:{}: read it through crates/foundation/procfs", number + 1);
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
    ("crates/foundation/procfs/", "it is the parser"),
    ("crates/machine/guard/src/quota_cgroup.rs", "writes a quota, and reads back what it wrote"),
    (
        "crates/machine/guard/src/thread_setting.rs",
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
                "{name}:{}: {} is parsed in crates/foundation/procfs",
                number + 1,
                named.unwrap_or(&"")
            );
        }
    }
}

/// Who may write below `/sys` and `/proc/sys`, and why.
const CHANGES_SETTINGS: &[(&str, &str)] = &[
    ("crates/machine/guard/", "it puts back what it changes, or says why it does not"),
    (
        "crates/tracing/trace/src/tracefs/instance.rs",
        "a trace of its own, removed with it, or by the next howlate",
    ),
    ("crates/remote/guest/src/init.rs", "the machine is its own, and gone when it ends"),
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
            panic!("{name}:{}: settings of the machine are changed through crates/machine/guard", number + 1);
        }
    }
}

/// Files that are named beside settings and beside findings, because they describe the machine and are no setting.
const NO_SETTING: &[&str] = &[
    "/sys/devices/system/cpu",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/cpu/isolated",
    "/sys/kernel/realtime",
];

/// The file of a setting is named in `settings/` only; findings use it from there.
#[test]
fn a_setting_is_described_once() {
    let code = code_but_of(&[]);
    let kernels_files = |folder: &str| -> Vec<(String, String)> {
        let lines = code.iter().filter(|(name, _)| name.starts_with(folder)).flat_map(|(name, lines)| {
            lines.iter().map(move |(number, line)| (format!("{name}:{}", number + 1), line))
        });
        let quoted = |(place, line): (String, &String)| {
            let texts = line.split('"').skip(1).step_by(2);
            let files = texts.filter(|text| text.starts_with("/proc/") || text.starts_with("/sys/"));
            files.map(|file| (place.clone(), file.to_owned())).collect::<Vec<_>>()
        };
        lines.flat_map(quoted).collect()
    };
    let (settings, findings) = (
        kernels_files("crates/machine/system/src/settings/"),
        kernels_files("crates/machine/system/src/findings/"),
    );
    assert!(settings.len() > 20 && findings.len() > 20, "{} and {}", settings.len(), findings.len());
    for (place, file) in findings.iter().filter(|(_, file)| !NO_SETTING.contains(&file.as_str())) {
        let twice = settings.iter().find(|(_, other)| other == file);
        assert!(twice.is_none(), "{place} names {file}, as {} does", twice.map_or("", |twice| &twice.0));
    }
}

#[test]
fn every_crate_is_in_the_code_map() {
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for package in packages() {
        let folder = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap();
        let folder = folder.strip_prefix(root()).unwrap();
        // Crates have a table for each stage.
        let row = match folder.strip_prefix("crates") {
            Ok(of_stage) => {
                let stage = of_stage.parent().unwrap().display();
                let table = map.split(&format!("### `crates/{stage}/`")).nth(1).unwrap_or_default();
                let name = of_stage.file_name().unwrap().to_string_lossy();
                table.split("\n### ").next().unwrap().contains(&format!("| `{name}/` |"))
            }
            Err(_) => map.contains(&format!("| `{}/` |", folder.display())),
        };
        assert!(row, "ARCHITECTURE.md lacks {}", folder.display());
    }
}

/// The table of what people add most: an example of each kind, as code and as users type or read it.
const ADDED: &[(&str, &[&str])] = &[
    ("a way to notify", &["PosixMq", "posix-mq"]),
    ("a finding of `doctor`", &["ThermalThrottling", "thermal_throttling"]),
    ("a cause of lateness", &["LongWork"]),
];

#[test]
fn where_to_add_names_every_file() {
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for (kind, names) in ADDED {
        let row = map.lines().find(|line| line.starts_with(&format!("| {kind} |")));
        let row = row.unwrap_or_else(|| panic!("ARCHITECTURE.md says nothing on {kind}"));
        let places: Vec<&str> = row.split('`').skip(1).step_by(2).filter(|text| text.contains('/')).collect();
        assert!(places.iter().all(|place| root().join(place).exists()), "{row}");
        for file in files_that_name(names) {
            let is_listed = places.iter().any(|place| file.starts_with(place));
            assert!(is_listed, "{file} names {names:?}: add it to the row of {kind} in ARCHITECTURE.md");
        }
    }
}

/// Sources outside tests, and pages written by hand, with one of these names as a word.
fn files_that_name(names: &[&str]) -> Vec<String> {
    let mut files = Vec::new();
    rust_files(&root().join("crates"), &mut files);
    files.extend(fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path()));
    let is_of_word = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '-';
    let found = files.iter().filter(|file| file.is_file()).filter(|file| {
        let text = fs::read_to_string(file).unwrap();
        let code = text.split("#[cfg(test)]\nmod ").next().unwrap();
        let is_generated = text.contains("made from the program") || file.extension().unwrap() == "json";
        !is_generated && code.split(|letter| !is_of_word(letter)).any(|word| names.contains(&word))
    });
    let name = |file: &std::path::PathBuf| file.strip_prefix(root()).unwrap().display().to_string();
    found.map(name).filter(|name| !name.contains("tests")).collect()
}

#[test]
fn paths_in_the_guides_exist() {
    for page in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let paths = text.split('`').skip(1).step_by(2);
        let paths = paths.filter(|path| path.starts_with("crates/") || path.starts_with("xtask/"));
        for path in paths.filter(|path| !path.contains(['{', '*', ' '])) {
            assert!(root().join(path).exists(), "{page}: there is no {path}");
        }
    }
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
