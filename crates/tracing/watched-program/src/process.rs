//! Finds a process by id or name, and reads the control groups of processes.

use std::collections::HashMap;
use std::path::Path;

use howlate_procfs::{CgroupMembership, ProcessStat, Root, Status};

use crate::WatchError;

/// A process that can be watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedProcess {
    /// As this process sees it, in its PID namespace.
    pub pid: u32,
    /// As in `/proc/PID/comm`.
    pub name: String,
}

/// Finds a process by its id, by the id of one of its threads, or by its name. `own` is howlate's own id.
///
/// # Errors
///
/// When there is none, or several, or it is none that can be watched.
pub fn find_process(root: &Root, query: &str, own: u32) -> Result<NamedProcess, WatchError> {
    let found = match query.parse() {
        Ok(pid) => by_id(root, pid, own),
        Err(_) => by_name(root, query, own),
    };
    found.map_err(|error| if root.has_processes() { error } else { WatchError::NoProc })
}

/// Whether a process or thread with this id, or a process with this name, exists.
///
/// # Errors
///
/// When nothing does: what would be seen of it is nothing.
pub fn process_exists(root: &Root, query: &str) -> Result<(), WatchError> {
    let exists = match query.parse::<u32>() {
        Ok(pid) => Status::read(root, pid).reading.text().is_some(),
        Err(_) => pids_named(root, query).next().is_some() || !pids_started_as(root, query, 0).is_empty(),
    };
    if exists { Ok(()) } else { Err(WatchError::not_there(query)) }
}

fn by_id(root: &Root, pid: u32, own: u32) -> Result<NamedProcess, WatchError> {
    let status = Status::read(root, pid);
    status.reading.text().ok_or(WatchError::NoProcess { pid })?;
    let name = status.field("Name").unwrap_or_default().to_owned();
    let pid = status.process().unwrap_or(pid);
    if pid == own {
        return Err(WatchError::Myself { pid });
    }
    if status.has_ended() {
        return Err(WatchError::Zombie { pid, name, parent: status.parent().unwrap_or(1) });
    }
    if ProcessStat::read(root, pid).is_some_and(|stat| stat.is_kernel_thread()) {
        return Err(WatchError::Kernel { pid, name });
    }
    Ok(NamedProcess { pid, name })
}

/// Processes by the name that `ps` shows, which the kernel truncates to 15 characters.
fn pids_named<'a>(root: &'a Root, name: &str) -> impl Iterator<Item = u32> + use<'a> {
    let comm_name: String = name.chars().take(15).collect();
    let is_called =
        move |pid: &u32| root.read(&format!("/proc/{pid}/comm")).is_ok_and(|comm| comm == comm_name);
    root.list("/proc").into_iter().filter_map(|entry| entry.parse().ok()).filter(is_called)
}

fn by_name(root: &Root, name: &str, own: u32) -> Result<NamedProcess, WatchError> {
    let named: Vec<u32> = pids_named(root, name).filter(|pid| *pid != own).collect();
    let pids = if named.is_empty() { pids_started_as(root, name, own) } else { named };
    match pids.as_slice() {
        [] => Err(WatchError::NoName { name: name.to_owned() }),
        [pid] => by_id(root, *pid, own),
        _ => {
            let first = common_ancestor(root, &pids);
            Err(WatchError::Several { name: name.to_owned(), pids, first })
        }
    }
}

/// Processes by what started them, if they renamed themselves: the first word of the command line, the executable, or an interpreter's
/// script.
fn pids_started_as(root: &Root, name: &str, own: u32) -> Vec<u32> {
    let pids = root.list("/proc").into_iter().filter_map(|entry| entry.parse::<u32>().ok());
    let matches_name = |pid: &u32| {
        let words = command_line(root, *pid);
        let script = words.iter().skip(1).find(|word| !word.starts_with('-'));
        let file = root.target(&format!("/proc/{pid}/exe"));
        // An executable that was replaced while the process runs.
        let file = file.as_deref().map(|file| file.strip_suffix(" (deleted)").unwrap_or(file));
        let is_script = || script.is_some_and(|script| is_script(script) && file_name(script) == name);
        words.first().is_some_and(|word| file_name(word) == name)
            || file.is_some_and(|file| file_name(file) == name)
            || is_script()
    };
    pids.filter(|pid| *pid != own).filter(matches_name).collect()
}

/// Command line of a process; empty for a kernel thread or an ended process.
fn command_line(root: &Root, pid: u32) -> Vec<String> {
    let text = root.read(&format!("/proc/{pid}/cmdline")).unwrap_or_default();
    text.split('\0').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Whether a word of a command line looks like a script: it has a file extension.
fn is_script(word: &str) -> bool {
    Path::new(word).extension().is_some_and(|ending| !ending.is_empty())
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The process that is an ancestor of all others.
fn common_ancestor(root: &Root, pids: &[u32]) -> Option<u32> {
    pids.iter()
        .copied()
        .find(|ancestor| pids.iter().all(|pid| pid == ancestor || descends_from(root, *pid, *ancestor)))
}

/// Whether `ancestor` started the process, directly or through its descendants.
fn descends_from(root: &Root, pid: u32, ancestor: u32) -> bool {
    /// Longest chain of parents that is followed.
    const DEEPEST: usize = 64;
    let parent = |pid: &u32| Status::read(root, *pid).parent().filter(|parent| *parent > 1);
    std::iter::successors(parent(&pid), parent).take(DEEPEST).any(|parent| parent == ancestor)
}

/// The control groups of processes, each read once: processes rarely move.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessCgroups(HashMap<u32, String>);

impl ProcessCgroups {
    /// Reads the groups of new processes, and forgets processes that are not in `pids`.
    pub fn update(&mut self, pids: &[u32]) {
        self.0.retain(|pid, _| pids.contains(pid));
        for pid in pids {
            if !self.0.contains_key(pid)
                && let Some(path) = CgroupMembership::read(&Root::live(), *pid).path()
            {
                self.0.insert(*pid, path.to_owned());
            }
        }
    }

    /// Paths by process id.
    pub const fn paths(&self) -> &HashMap<u32, String> {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_of_an_ended_process_is_forgotten() {
        let mut groups = ProcessCgroups::default();
        let own = std::process::id();
        groups.update(&[own]);
        assert_eq!(groups.paths().keys().collect::<Vec<_>>(), [&own]);
        groups.update(&[]);
        assert!(groups.paths().is_empty());
    }

    /// Processes by id, name, state and flags; the parent of each is 1.
    fn machine(processes: &[(u32, &str, &str, u64)]) -> (tempfile::TempDir, Root) {
        let folder = tempfile::tempdir().unwrap();
        for (pid, name, state, flags) in processes {
            let at = folder.path().join(format!("proc/{pid}"));
            std::fs::create_dir_all(&at).unwrap();
            std::fs::write(at.join("comm"), format!("{name}\n")).unwrap();
            let status = format!("Name:\t{name}\nState:\t{state}\nTgid:\t{pid}\nPPid:\t1\n");
            std::fs::write(at.join("status"), status).unwrap();
            std::fs::write(at.join("stat"), format!("{pid} ({name}) S 1 1 1 0 -1 {flags} 0")).unwrap();
        }
        let root = Root::at(folder.path());
        (folder, root)
    }

    #[test]
    fn a_process_is_found_by_id_and_name() {
        let (_folder, root) = machine(&[(7, "loop) S 1", "S (sleeping)", 0x400), (8, "other", "S", 0)]);
        let expected = NamedProcess { pid: 7, name: "loop) S 1".to_owned() };
        assert_eq!(find_process(&root, "7", 1).unwrap(), expected);
        assert_eq!(find_process(&root, "loop) S 1", 1).unwrap(), expected);
    }

    #[test]
    fn a_long_name_is_cut_as_the_kernel_cuts_it() {
        let (_folder, root) = machine(&[(7, "ros2_control_no", "S", 0)]);
        assert_eq!(find_process(&root, "ros2_control_node", 1).unwrap().pid, 7);
    }

    #[test]
    fn a_missing_process_is_an_error() {
        let (_folder, root) = machine(&[(2, "kthreadd", "S", 0x20_8040), (7, "ros2_control_no", "S", 0)]);
        for query in ["2", "7", "kthreadd", "ros2_control_node"] {
            assert!(process_exists(&root, query).is_ok(), "{query}");
        }
        assert!(matches!(process_exists(&root, "77"), Err(WatchError::NoProcess { pid: 77 })));
        assert!(matches!(process_exists(&root, "nosuch"), Err(WatchError::NoName { .. })));
    }

    #[test]
    fn each_kind_of_unwatchable_process_has_its_error() {
        let (_folder, root) = machine(&[
            (2, "kthreadd", "S", 0x20_8040),
            (7, "dead", "Z (zombie)", 0),
            (8, "x", "S", 0),
            (9, "x", "S", 0),
        ]);
        let error = |query: &str| find_process(&root, query, 8).unwrap_err();
        assert!(matches!(error("2"), WatchError::Kernel { pid: 2, .. }));
        assert!(matches!(error("7"), WatchError::Zombie { pid: 7, parent: 1, .. }));
        assert!(matches!(error("8"), WatchError::Myself { pid: 8 }));
        assert!(matches!(error("77"), WatchError::NoProcess { pid: 77 }));
        assert!(matches!(error("nobody"), WatchError::NoName { .. }));
        let bare = tempfile::tempdir().unwrap();
        for query in ["8", "x"] {
            assert!(
                matches!(find_process(&Root::at(bare.path()), query, 1), Err(WatchError::NoProc)),
                "{query}"
            );
        }
        let several = find_process(&root, "x", 1).unwrap_err();
        assert_eq!(several.to_string(), "2 processes are called `x`: 8, 9");
        assert_eq!(
            several.hint(&["howlate", "watch", "x"].map(str::to_owned)).unwrap(),
            "give one of them, such as `howlate watch 8`"
        );
    }

    #[test]
    fn a_renamed_process_is_found_by_its_command_line() {
        let (folder, root) = machine(&[
            (7, "control", "S", 0),
            (8, "python3", "S", 0),
            (9, "planner", "S", 0),
            (10, "x", "S", 0),
        ]);
        let started = |pid: u32, line: &str| {
            howlate_testing::write_below(folder.path(), &format!("proc/{pid}/cmdline"), line);
        };
        started(7, "./ctl2\0--rate\08\0");
        started(8, "python3\0-u\0/srv/loop.py\0ctl3\0");
        std::os::unix::fs::symlink("/opt/bin/plan (deleted)", folder.path().join("proc/9/exe")).unwrap();
        let found = |name: &str| find_process(&root, name, 1).map(|process| process.pid).ok();
        assert_eq!((found("ctl2"), found("loop.py"), found("plan")), (Some(7), Some(8), Some(9)));
        assert_eq!((found("ctl3"), found("control")), (None, Some(7)), "that is an argument");
        assert!(process_exists(&root, "ctl2").is_ok());
    }

    #[test]
    fn the_common_ancestor_of_several_is_suggested() {
        let (folder, root) = machine(&[
            (29, "nginx", "S", 0),
            (30, "nginx", "S", 0),
            (31, "nginx", "S", 0),
            (40, "x", "S", 0),
            (41, "x", "S", 0),
        ]);
        for (pid, parent) in [(30, 29), (31, 30)] {
            let status = format!("Name:\tnginx\nState:\tS\nTgid:\t{pid}\nPPid:\t{parent}\n");
            howlate_testing::write_below(folder.path(), &format!("proc/{pid}/status"), &status);
        }
        let first = |name: &str| match find_process(&root, name, 1) {
            Err(WatchError::Several { first, .. }) => first,
            other => panic!("{other:?}"),
        };
        assert_eq!((first("nginx"), first("x")), (Some(29), None));
        let hint = find_process(&root, "nginx", 1)
            .unwrap_err()
            .hint(&["howlate", "watch", "nginx"].map(str::to_owned))
            .unwrap();
        assert!(hint.contains("`howlate watch --follow 29`"), "{hint}");
    }
}
