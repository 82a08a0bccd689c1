//! Scripts for the shell of a node, as text.
//!
//! All but the program goes to `sh -s` on its standard input, as whoever comes may have any shell; results follow a mark,
//! as that shell may greet.

use howlate_model::shell_word;

use crate::files::{NODES, PROGRAM, SCRIPT};
use crate::folder::Fleet;

/// What is said before results.
pub(super) fn mark(fleet: &Fleet) -> String {
    format!("howlate-fleet-{}", fleet.id)
}

/// The fleet's folder there.
fn folder(fleet: &Fleet) -> String {
    format!("\"$HOME\"/.cache/howlate/fleet/{}", fleet.id)
}

/// The folder of a node there. Names are of letters that no shell makes anything of.
fn node_folder(fleet: &Fleet, node: usize) -> String {
    format!("{}/{NODES}/{}", folder(fleet), fleet.members[node].name())
}

/// True where the process of the file `pid` still is the node's: another that has got its number works elsewhere.
const RUNS: &str = "[ \"$(readlink \"/proc/$(cat pid 2>/dev/null)/cwd\")\" = \"$(pwd -P)\" ]";

/// Makes the folder there; says whether the program is there already.
pub(super) fn prepare(fleet: &Fleet, node: usize) -> String {
    let sha256 = fleet.hash();
    format!(
        "umask 077\nmkdir -p {} && cd {}/.. || exit 1\nfound=$(sha256sum {sha256} 2>/dev/null)\necho {}\n\
         if [ \"${{found%% *}}\" = {sha256} ]; then echo there; else echo send; fi\n",
        node_folder(fleet, node),
        folder(fleet),
        mark(fleet),
    )
}

/// Takes the program from standard input: one command, which any shell hands on to `sh` as it is. What was cut off
/// does not stay. One that is there and right is not replaced: nodes of one home would miss it for a moment when they link to
/// it, as link(2) finds no file where another has just taken its place.
pub(super) fn receive(fleet: &Fleet, node: usize) -> String {
    let (part, sha256) = (format!("{}.{}.part", fleet.hash(), fleet.members[node].name()), fleet.hash());
    format!(
        "sh -c 'umask 077; mkdir -p {0} && cd {0}/.. && {{ cat > {part} && chmod 700 {part} && {{ ln {part} {sha256} 2>/dev/null || \
         [ \"$(sha256sum < {sha256})\" = \"$(sha256sum < {part})\" ] || mv {part} {sha256}; }} || {{ rm -f {part}; exit 1; }}; }}; rm -f {part}'",
        folder(fleet)
    )
}

/// Puts texts by their names into the folder, the script among them, and starts the script in a session of its own, so that it goes on when the
/// connection ends. Nothing is started twice.
pub(super) fn start(fleet: &Fleet, node: usize, texts: &[(&str, String)]) -> String {
    let arguments = fleet.members[node].arguments();
    let arguments: Vec<_> = arguments.iter().map(shell_word).collect();
    let sha256 = fleet.hash();
    // In none of the texts: it holds the fleet's id, which was drawn for it.
    let end = format!("END-OF-{}", fleet.id);
    let name = fleet.members[node].name();
    let put = |(file, text): &(&str, String)| {
        format!(
            "cat > {file}.{name} <<'{end}' && mv {file}.{name} {file} || exit 1\n{}\n{end}\n",
            text.trim_end()
        )
    };
    format!(
        "umask 077\ncd {} || exit 1\nif {RUNS}; then exit 0; fi\n\
         command -v setsid > /dev/null || {{ echo \"there is no setsid\" >&2; exit 1; }}\ncd ../..\n\
         ln ../{sha256} {PROGRAM} 2>/dev/null || [ -e {PROGRAM} ] || {{ echo \"the program is not there any more\" >&2; exit 1; }}\n{}cd {NODES}/{name} || exit 1\nrm -f status\n\
         setsid sh ../../{SCRIPT} {} < /dev/null > /dev/null 2>&1 &\necho $! > pid\n",
        node_folder(fleet, node),
        texts.iter().map(put).collect::<String>(),
        arguments.join(" "),
    )
}

/// Says `running`, `absent`, or how it ended and its last messages.
pub(super) fn look(fleet: &Fleet, node: usize) -> String {
    format!(
        "echo {}\ncd {} 2>/dev/null || {{ echo absent; exit 0; }}\n\
         if {RUNS}; then echo running; elif [ -e status ]; then cat status; else echo lost; fi\n\
         tail -c 2000 log 2>/dev/null\nexit 0\n",
        mark(fleet),
        node_folder(fleet, node)
    )
}

/// Hands over what was left; nothing where there is nothing.
pub(super) fn hand_over(fleet: &Fleet, node: usize) -> String {
    let left = fleet.task.left();
    format!(
        "cd {} || exit 1\necho {}\nif [ -e {left} ]; then cat {left}; fi\n",
        node_folder(fleet, node),
        mark(fleet)
    )
}

/// Removes what was left there. Hosts may be one machine, or share their home: the last of them takes the rest.
pub(super) fn remove(fleet: &Fleet, node: usize) -> String {
    let folder = folder(fleet);
    format!(
        "rm -rf {}\nrmdir {folder}/{NODES} 2>/dev/null && rm -rf {folder}\nexit 0\n",
        node_folder(fleet, node)
    )
}

/// Ends what runs there as Ctrl-C would: what was measured until then is written.
pub(super) fn cancel(fleet: &Fleet, node: usize) -> String {
    format!(
        "cd {} 2>/dev/null || exit 0\nif {RUNS}; then kill -s TERM -- \"-$(cat pid)\"; fi\n",
        node_folder(fleet, node)
    )
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::process::Command;

    use super::*;
    use crate::folder::FleetMember;

    #[test]
    fn a_program_that_is_there_and_right_is_not_replaced() {
        let home = tempfile::tempdir().unwrap();
        let sent = home.path().join("sent");
        fs::write(&sent, "a program").unwrap();
        let fleet = Fleet {
            id: "f1".into(),
            on: "ssh:n1".into(),
            sha256: Some("abc".into()),
            machine: None,
            task: crate::NodeTask::Plan,
            arguments: Vec::new(),
            at_once: 1,
            timeout_s: None,
            pods: None,
            slurm: crate::SlurmOptions::default(),
            members: vec![FleetMember { host: "n1".parse().unwrap(), ..FleetMember::default() }],
            folder: home.path().to_owned(),
        };
        let place = home.path().join(".cache/howlate/fleet/abc");
        let receive = || {
            let mut sh = Command::new("sh");
            sh.args(["-c", &receive(&fleet, 0)]).env("HOME", home.path());
            assert!(sh.stdin(File::open(&sent).unwrap()).status().unwrap().success());
            assert_eq!(fs::read_to_string(&place).unwrap(), "a program");
            assert_eq!(fs::metadata(&place).unwrap().permissions().mode() & 0o777, 0o700);
            assert_eq!(
                fs::read_dir(place.parent().unwrap()).unwrap().count(),
                2,
                "the fleet's folder, and this"
            );
            fs::metadata(&place).unwrap().ino()
        };
        assert_eq!(receive(), receive());
        fs::write(&place, "a prog").unwrap();
        receive();
    }
}
