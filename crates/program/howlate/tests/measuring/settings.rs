//! Settings of the machine are restored, even if the processes that changed them are killed.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Output};

use crate::common::{
    OwnSettings, SETTING, SETTING_NAME, children, has_caveat, send, show_json, skip, stderr, stdout,
    wait_until,
};
use rustix::process::Signal;
use tempfile::TempDir;

const NO_ROOT: &str = "changing settings of the machine needs root";

/// A plan that sets the setting to 7, and measures for a while.
struct SettingExperiment {
    folder: TempDir,
    own: OwnSettings,
}

impl SettingExperiment {
    fn new(lasts: &str) -> Option<Self> {
        let own = OwnSettings::new()?;
        let folder = tempfile::tempdir().unwrap();
        let text = format!(
            "[system]\n{SETTING_NAME} = 7\n[[cyclic]]\nperiod = \"1ms\"\nthreads = 1\nduration = \"{lasts}\"\n"
        );
        fs::write(folder.path().join("plan.toml"), text).unwrap();
        Some(Self { folder, own })
    }

    fn out(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Starts the plan after the script `prepare`; the recording is called `name`.
    fn start_after(&self, prepare: &str, name: &str) -> Child {
        let (plan, out) = (self.out("plan.toml"), self.out(name));
        let arguments = ["run", plan.to_str().unwrap(), "--quiet", "--out", out.to_str().unwrap()];
        self.own.howlate_after(prepare, &arguments).spawn().unwrap()
    }

    fn run(&self, name: &str) -> Output {
        self.start_after("", name).wait_with_output().unwrap()
    }

    /// Starts it, and waits for its first measurement.
    fn measuring(&self, name: &str) -> Child {
        let child = self.start_after("", name);
        let out = self.out(name);
        let has_begun = || fs::read_to_string(&out).is_ok_and(|text| text.contains("\"started\""));
        wait_until("a measurement", has_begun);
        assert_eq!(self.own.value(), "7");
        child
    }
}

fn guardian(of: &Child) -> u32 {
    let found = children(of.id()).into_iter().find(|(_, word)| word == "__guardian");
    found.unwrap().0
}

#[test]
fn a_setting_is_in_force_while_it_is_measured_and_stands_in_the_recording() {
    let Some(run) = SettingExperiment::new("100ms") else { return skip(NO_ROOT) };
    let output = run.run("a.jsonl");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(run.own.value(), "1");
    let header = howlate_recording::Reader::open(&run.out("a.jsonl")).unwrap().header().clone();
    let [setting] = &header.settings[..] else { panic!("{:?}", header.settings) };
    assert_eq!((&*setting.path, &*setting.before, &*setting.in_force), (SETTING, "1", "7"));
}

#[test]
fn a_signal_to_the_run_leaves_nothing_changed() {
    for (name, signal) in [("kill.jsonl", Signal::KILL), ("int.jsonl", Signal::INT)] {
        // A separate setting: the guardian of a killed run lives a little longer.
        let Some(run) = SettingExperiment::new("1h") else { return skip(NO_ROOT) };
        let child = run.measuring(name);
        send(child.id(), signal);
        child.wait_with_output().unwrap();
        run.own.wait_for("1");
    }
}

#[test]
fn a_run_whose_guardian_is_killed_puts_back_and_says_so() {
    let Some(run) = SettingExperiment::new("1h") else { return skip(NO_ROOT) };
    let child = run.measuring("a.jsonl");
    send(guardian(&child), Signal::KILL);
    send(child.id(), Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(run.own.value(), "1");
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(has_caveat(&show_json(&run.out("a.jsonl")), "guardian_gone"), "{}", stdout(&output));
}

#[test]
fn what_two_killed_processes_left_is_put_back_at_the_next_start() {
    let Some(run) = SettingExperiment::new("1h") else { return skip(NO_ROOT) };
    let child = run.measuring("a.jsonl");
    send(guardian(&child), Signal::KILL);
    send(child.id(), Signal::KILL);
    child.wait_with_output().unwrap();
    assert_eq!(run.own.value(), "7", "nobody is left to put it back");

    let out = run.out("next.jsonl");
    let arguments = ["sleep", "--for", "1ms", "--samples", "1", "--quiet", "--out", out.to_str().unwrap()];
    let output = run.own.howlate(&arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(run.own.value(), "1");
    assert!(has_caveat(&show_json(&out), "setting_left_behind"), "{}", stdout(&output));
    let again = run.own.howlate(&["sleep", "--for", "1ms", "--samples", "1"]).output().unwrap();
    assert!(!stdout(&again).contains("was killed had left"), "{}", stdout(&again));
}

#[test]
fn a_second_run_does_not_rely_on_what_the_first_will_take_back() {
    let Some(run) = SettingExperiment::new("1h") else { return skip(NO_ROOT) };
    let first = run.measuring("first.jsonl");
    fs::write(run.out("plan.toml"), fs::read_to_string(run.out("plan.toml")).unwrap().replace("1h", "100ms"))
        .unwrap();
    let second = run.run("second.jsonl");
    let result = show_json(&run.out("second.jsonl"));
    assert!(has_caveat(&result, "setting_left_out"), "{}", stdout(&second));
    assert!(result.to_string().contains("another howlate keeps settings changed"), "{}", stdout(&second));
    assert_eq!(run.own.value(), "7");
    send(first.id(), Signal::INT);
    let first = first.wait_with_output().unwrap();
    assert_eq!(first.status.code(), Some(3), "{}", stderr(&first));
    assert_eq!(run.own.value(), "1");
}

#[test]
fn what_somebody_else_changes_meanwhile_is_said_and_put_back() {
    let Some(run) = SettingExperiment::new("1h") else { return skip(NO_ROOT) };
    let child = run.measuring("a.jsonl");
    fs::write(run.own.file(), "9").unwrap();
    send(child.id(), Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(has_caveat(&show_json(&run.out("a.jsonl")), "setting_changed"), "{}", stdout(&output));
    assert_eq!(run.own.value(), "1");
}

#[test]
fn a_prepared_journal_is_neither_followed_nor_cut_nor_waited_for() {
    let Some(run) = SettingExperiment::new("100ms") else { return skip(NO_ROOT) };
    let precious = run.out("precious");
    fs::write(&precious, "precious").unwrap();
    let precious_path = precious.display().to_string();
    let prepared = [
        ("link.jsonl", format!("mkdir -m 700 /run/howlate-journal; ln -sf {precious_path} /run/howlate-journal/settings;")),
        (
            "pipe.jsonl",
            "rm -rf /run/howlate-journal; mkdir -m 700 /run/howlate-journal; mkfifo /run/howlate-journal/settings;".to_owned(),
        ),
        (
            "folder.jsonl",
            "rm -rf /run/howlate-journal; mkdir -m 700 -p /run/howlate-journal; mkdir /run/howlate-journal/settings;".to_owned(),
        ),
        ("open.jsonl", "rm -rf /run/howlate-journal; mkdir -m 777 /run/howlate-journal;".to_owned()),
        (
            "other.jsonl",
            "rm -rf /run/howlate-journal; mkdir -m 700 /run/howlate-journal; chown 65534 /run/howlate-journal;".to_owned(),
        ),
        ("linked.jsonl", "rm -rf /run/howlate-journal; mkdir -m 777 /run/open; ln -s open /run/howlate-journal;".to_owned()),
    ];
    for (name, prepare) in prepared {
        let output = run.start_after(&prepare, name).wait_with_output().unwrap();
        let result = show_json(&run.out(name));
        assert!(has_caveat(&result, "setting_left_out"), "{name}: {}", stderr(&output));
        assert!(
            result.to_string().contains("nothing is changed without a journal"),
            "{name}: {}",
            stdout(&output)
        );
        assert_eq!(run.own.value(), "1", "{name}");
    }
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
}

/// Prepares what systemd does for the recorder: `RuntimeDirectory=` with its mode and owner.
fn folder_of_the_unit() -> String {
    let unit = include_str!("../../../../../packaging/systemd/howlate-recording.service");
    let value = |key: &str| unit.lines().find_map(|line| line.strip_prefix(key)).unwrap();
    let (name, mode) = (value("RuntimeDirectory="), value("RuntimeDirectoryMode="));
    format!("mkdir -m {mode} /run/{name}; chown 65534 /run/{name};")
}

#[test]
fn where_a_recorder_listens_settings_are_changed_as_well() {
    let Some(run) = SettingExperiment::new("100ms") else { return skip(NO_ROOT) };
    let of_root = "mkdir -m 755 /run/howlate;".to_owned();
    for (name, prepare) in [("unit.jsonl", folder_of_the_unit()), ("root.jsonl", of_root)] {
        let prepare = format!("rm -rf /run/howlate; {prepare}");
        let output = run.start_after(&prepare, name).wait_with_output().unwrap();
        let result = show_json(&run.out(name));
        assert_eq!(output.status.code(), Some(0), "{name}: {}", stderr(&output));
        assert!(!has_caveat(&result, "setting_left_out"), "{name}: {}", stdout(&output));
        assert_eq!(run.own.value(), "1", "{name}");
    }
}

#[test]
fn a_recorder_is_reached_by_everybody_whoever_changed_settings_before() {
    let Some(run) = SettingExperiment::new("100ms") else { return skip(NO_ROOT) };
    let folder = run.folder.path().join("recorded");
    // As an earlier version left it, in addition to this version's files.
    let closed = "mkdir -p -m 700 /run/howlate;";
    for prepare in ["", closed] {
        run.run("settings.jsonl");
        fs::remove_file(run.out("settings.jsonl")).unwrap();
        let arguments = ["record", "--duration", "300ms", "--out", folder.to_str().unwrap()];
        let output = run.own.howlate_after(prepare, &arguments).output().unwrap();
        if output.status.code() != Some(0) {
            return skip(&stderr(&output));
        }
        assert!(!stderr(&output).contains("cannot ask"), "{}", stderr(&output));
        let found = run.own.run().join("howlate").metadata().unwrap();
        assert_eq!(std::os::unix::fs::MetadataExt::mode(&found) & 0o777, 0o755);
        fs::remove_dir(run.own.run().join("howlate")).unwrap();
    }
}

#[test]
fn a_setting_that_the_machine_lacks_is_a_caveat() {
    let folder = tempfile::tempdir().unwrap();
    let (plan, out) = (folder.path().join("plan.toml"), folder.path().join("a.jsonl"));
    fs::write(&plan, "[system]\nkernel.no_such_setting = 1\n[[sleep]]\nfor = \"1ms\"\nsamples = 1\n")
        .unwrap();
    crate::common::run(&["run", plan.to_str().unwrap(), "--quiet", "--out", out.to_str().unwrap()]);
    assert!(has_caveat(&show_json(&out), "setting_left_out"));
}
