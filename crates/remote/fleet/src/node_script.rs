//! What each node runs, whatever scheduler started it.

use howlate_model::shell_word;

use crate::files::PROGRAM;
use crate::state::CANCELLED;
use crate::task::NodeTask;

/// The script that is run in the folder of a node, called with the node's name, and `--label KEY=VALUE` for each label. It
/// checks the program, measures, and leaves recording, messages and status. `machine` is what `uname -m` must say, `arguments`
/// are further options of what is done.
pub fn node_script(
    id: &str,
    sha256: &str,
    machine: Option<&str>,
    task: NodeTask,
    arguments: &[String],
) -> String {
    let arguments: String = arguments.iter().map(|word| shell_word(word) + " ").collect();
    let (commands, left) = (task.commands(&arguments), task.left());
    let machine = machine.map_or("*".to_owned(), shell_word);
    format!(
        r#"#!/bin/sh
# What the fleet {id} runs on each node, in a folder of that node: one measurement.
# The first word is what the node is called; those after it are options of `howlate run`.
umask 077
# Who ends the whole group means the measurement: it writes what it has, and this waits for it.
cancelled=
trap cancelled=yes TERM INT HUP
rm -f status {left}
node=$1
shift
status=2
found=$(sha256sum ../../{PROGRAM})
case $(uname -m) in
    {machine}) fits=yes ;;
    *) fits= ;;
esac
if [ "${{found%% *}}" != {sha256} ]; then
    echo "the program there is not the one that was sent" > log
elif [ -z "$fits" ]; then
    echo "its processor is $(uname -m), and the program is for "{machine}": send another with --program" > log
elif ! ../../{PROGRAM} --version > log 2>&1; then
    echo "the program does not start there ($(tail -n 1 log)): send a static one with --program" > log.new
    mv log.new log
else
    {commands}
    [ -z "$cancelled" ] || status={CANCELLED}
fi
echo $status > status.new && mv status.new status
exit $status
"#
    )
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    use super::*;
    use crate::files::{NODES, SCRIPT};

    #[test]
    fn words_stay_words() {
        let script = node_script(
            "f1",
            "abc",
            None,
            NodeTask::Plan,
            &["--fail-above".into(), "max>1ms; rm -rf /".into()],
        );
        assert!(script.contains("--fail-above 'max>1ms; rm -rf /' --quiet"), "{script}");
        assert!(script.contains("!= abc ]"), "{script}");
    }

    /// What a node of these says last, with `program` for howlate.
    #[track_caller]
    fn last_words_of(
        task: NodeTask,
        folder: &Path,
        program: &str,
        sha256: &str,
        machine: Option<&str>,
    ) -> (Option<i32>, String) {
        use std::os::unix::fs::PermissionsExt;
        let node = folder.join(NODES).join("n1");
        fs::create_dir_all(&node).unwrap();
        // By another process: one that is started meanwhile would inherit the open file, which then cannot be run.
        let write = "printf %s \"$1\" > howlate.new && mv howlate.new howlate && sha256sum howlate";
        let hash = Command::new("sh")
            .args(["-c", write, "sh", program])
            .current_dir(folder)
            .output()
            .unwrap()
            .stdout;
        let hash = String::from_utf8(hash).unwrap();
        fs::set_permissions(folder.join(PROGRAM), PermissionsExt::from_mode(0o755)).unwrap();
        let hash = if sha256.is_empty() { hash.split(' ').next().unwrap() } else { sha256 };
        fs::write(folder.join(SCRIPT), node_script("f1", hash, machine, task, &[])).unwrap();
        let status = Command::new("sh").args(["../../node.sh", "n1"]).current_dir(&node).status().unwrap();
        let written: i32 = fs::read_to_string(node.join("status")).unwrap().trim().parse().unwrap();
        assert_eq!(status.code(), Some(written));
        (status.code(), fs::read_to_string(node.join("log")).unwrap())
    }

    #[test]
    fn a_program_that_cannot_be_right_is_not_run() {
        let folder = tempfile::tempdir().unwrap();
        let says = |program: &str, sha256: &str, machine: Option<&str>| {
            last_words_of(NodeTask::Plan, folder.path(), program, sha256, machine)
        };
        let good = "#!/bin/sh\necho \"$@\"\nexit 3\n";
        let good = good.replace("exit 3", "[ \"$1\" = --version ] || exit 3");
        let (status, log) = says(&good, "", None);
        assert_eq!((status, log.trim()), (Some(3), "run ../../plan.toml --node n1 --quiet --out run.jsonl"));
        for (program, sha256, machine, expected) in [
            (good.as_str(), "abc", None, "not the one that was sent"),
            (&good, "", Some("pdp11"), "and the program is for pdp11"),
            ("#!/nowhere\n", "", None, "does not start there ("),
            (
                "#!/bin/sh\necho no such library >&2; exit 1\n",
                "",
                None,
                "does not start there (no such library)",
            ),
        ] {
            let (status, log) = says(program, sha256, machine);
            assert!(status == Some(2) && log.contains(expected), "{log}");
            assert_eq!(log.lines().count(), 1, "{log}");
        }
    }

    #[test]
    fn a_signal_that_only_the_program_has_seen_cancels() {
        let folder = tempfile::tempdir().unwrap();
        let ends = |how: &str| {
            let line = format!(r#"{{"end":{{"at_ns":9,"how":"{how}"}}}}"#);
            let program = format!("#!/bin/sh\n[ \"$1\" = --version ] || echo '{line}' > run.jsonl\n");
            last_words_of(NodeTask::Plan, folder.path(), &program, "", None).0
        };
        assert_eq!((ends("done"), ends("interrupted")), (Some(0), Some(i32::from(CANCELLED))));
    }

    #[test]
    fn what_a_recorder_leaves_is_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let program =
            "#!/bin/sh\n[ \"$1\" = --version ] || { mkdir recorded && echo \"$@\" > recorded/1.jsonl; }\n";
        assert_eq!(
            last_words_of(NodeTask::Record, folder.path(), program, "", None),
            (Some(0), String::new())
        );
        let tar = std::fs::File::open(folder.path().join("nodes/n1/recorded.tar")).unwrap();
        let kept = tempfile::tempdir_in(folder.path()).unwrap();
        crate::recorder_archive::unpack(tar, kept.path()).unwrap();
        let file = std::fs::read_to_string(kept.path().join("1.jsonl")).unwrap();
        assert_eq!(file.trim(), "record --quiet --out recorded");
    }
}
