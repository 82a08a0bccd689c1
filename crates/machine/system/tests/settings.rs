//! The state of all tunables on captured machines: each file under `testdata/systems` is one.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use howlate_model::{PermanentSetting, SettingScope};
use howlate_procfs::Root;
use howlate_system::settings::{AppliesTo, Change, Tunable, TunableStatus, all, find, remedy};

fn source(system: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testdata/systems").join(system)
}

/// A copy that can be written to, wherever the project lies.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        match path.is_dir() {
            true => copy(&path, &target),
            false => fs::write(target, fs::read(path).unwrap()).unwrap(),
        }
    }
}

fn system(name: &str) -> (tempfile::TempDir, Root) {
    let folder = tempfile::tempdir().unwrap();
    copy(&source(name), folder.path());
    let root = Root::at(folder.path());
    (folder, root)
}

fn describe_status(status: &TunableStatus) -> String {
    match status {
        TunableStatus::Ready => "ready".to_owned(),
        TunableStatus::InForce => "in force".to_owned(),
        TunableStatus::Absent(reason) => format!("absent: {reason}"),
        TunableStatus::NotPermitted(reason) => format!("not permitted: {reason}"),
        TunableStatus::BootOnly => "boot only".to_owned(),
        TunableStatus::NeverTried(reason) => format!("left: {reason}"),
    }
}

#[test]
fn each_system_lists_its_tunables() {
    for name in ["laptop", "raspberry-pi", "rt-kernel", "vm", "container"] {
        let (_folder, root) = system(name);
        let line = |tunable: &'static Tunable| {
            let state = tunable.state(&root);
            let change = if state.from == state.to {
                state.from.clone()
            } else {
                format!("{} -> {}", state.from, state.to)
            };
            format!(
                "{:<8} {:<23} {} ({change})\n",
                tunable.scope.name(),
                tunable.name,
                describe_status(&state.status)
            )
        };
        let lines: String = all().map(line).collect();
        insta::with_settings!({ snapshot_suffix => name, omit_expression => true }, {
            insta::assert_snapshot!("tunables", lines);
        });
    }
}

#[test]
fn every_tunable_has_a_unique_name_and_a_cost() {
    let names: Vec<&str> = all().map(|tunable| tunable.name).collect();
    for (index, tunable) in all().enumerate() {
        assert!(!names[..index].contains(&tunable.name), "{} twice", tunable.name);
        assert!(!tunable.cost.is_empty() && !tunable.what.is_empty(), "{}", tunable.name);
        assert!(
            tunable.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'),
            "{}",
            tunable.name
        );
        assert_eq!(find(tunable.name).map(|tunable| tunable.name), Some(tunable.name));
    }
}

#[test]
fn changes_can_be_made_permanent_and_undone() {
    for name in ["laptop", "raspberry-pi", "rt-kernel", "vm"] {
        let (_folder, root) = system(name);
        for tunable in all() {
            let state = tunable.state(&root);
            if state.change.is_none() || state.changes_nothing() {
                continue;
            }
            for applies_to in [AppliesTo::Program, AppliesTo::Threads(&[7])] {
                let ways = tunable.permanent(&state, applies_to);
                assert!(!ways.is_empty(), "{name}: {}", tunable.name);
                let is_whole = |way: &PermanentSetting| !way.apply.is_empty() && !way.undo.is_empty();
                assert!(ways.iter().all(is_whole), "{}", tunable.name);
            }
        }
    }
}

/// Settings of a program or a unit apply to all of its threads, also to those that compute and make others late.
#[test]
fn a_setting_for_one_thread_is_not_advised_for_its_whole_program() {
    let (_folder, root) = system("vm");
    for name in ["fifo", "nice", "slice", "timer_slack", "affinity"] {
        let tunable = find(name).unwrap();
        let ways = |applies_to| tunable.permanent(&tunable.state(&root), applies_to);
        let sets_all = |way: &&PermanentSetting| ["systemd", "shell"].contains(&way.by);
        let of_thread = ways(AppliesTo::Threads(&[4711]));
        assert_eq!(of_thread.iter().find(sets_all), None, "{name}");
        assert!(of_thread.iter().all(|way| !way.apply.contains("in each thread") || name == "timer_slack"));
        assert!(of_thread.iter().any(|way| way.by == "now" && way.apply.contains("4711")), "{name}");
        assert!(ways(AppliesTo::Program).iter().any(|way| sets_all(&way)), "{name}");
        assert!(ways(AppliesTo::Program).iter().all(|way| way.by != "now"), "{name}");
        let is_placeholder = |way: &PermanentSetting| way.apply.contains('@') || way.apply.contains("=N");
        assert!(!of_thread.iter().chain(&ways(AppliesTo::Program)).any(is_placeholder), "{name}");
    }
}

#[test]
fn writes_contain_the_present_values_of_the_files() {
    let (_folder, root) = system("raspberry-pi");
    let Some(Change::Files(writes)) = find("frequency_governor").unwrap().state(&root).change else {
        panic!("the Pi has a governor");
    };
    assert_eq!(writes.files.len(), 4);
    for write in &writes.files {
        assert_eq!(root.read(&write.path).as_deref(), Ok(write.now.as_str()));
        assert_eq!(write.value, "performance");
    }
    assert_eq!(
        remedy(&root, "frequency_governor").apply,
        ["echo performance | sudo tee /sys/devices/system/cpu/cpufreq/policy*/scaling_governor"]
    );
}

#[test]
fn the_energy_preference_is_watched_when_the_governor_changes() {
    let (_folder, root) = system("laptop");
    let state = find("frequency_governor").unwrap().state(&root);
    assert_eq!((state.from.as_str(), state.to.as_str()), ("powersave", "performance"));
    let Some(Change::Files(writes)) = state.change else { panic!("the laptop has a governor") };
    let name = "energy_performance_preference";
    assert_eq!(writes.watched.len(), writes.files.len());
    for write in &writes.watched {
        assert!(write.path.ends_with(name) && write.watched, "{write:?}");
        assert_eq!(root.read(&write.path).as_deref(), Ok(write.now.as_str()));
    }
    let (_folder, root) = system("raspberry-pi");
    let change = find("frequency_governor").unwrap().state(&root).change;
    assert!(matches!(change, Some(Change::Files(writes)) if writes.watched.is_empty()), "the Pi has none");
}

#[test]
fn an_ordinary_user_may_change_no_setting_of_the_machine() {
    let (_folder, root) = system("laptop");
    let ready = |tunable: &&'static Tunable| tunable.state(&root).status == TunableStatus::Ready;
    let ready: Vec<_> = all().filter(ready).collect();
    assert!(ready.iter().all(|tunable| tunable.scope == SettingScope::Thread));
    assert!(ready.iter().any(|tunable| tunable.name == "timer_slack"));
    assert!(!ready.iter().any(|tunable| tunable.name == "fifo"), "it has no right to that");
}
