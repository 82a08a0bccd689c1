//! The process that is meant by an id or a name.

use std::path::Path;

use howlate_procfs::{ProcessStat, Root, Status};

use crate::WatchError;

/// A process that can be watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its id, as this process sees it.
    pub pid: u32,
    /// What it is called.
    pub name: String,
}

/// Finds the process `asked` for: its id, that of one of its threads, or its name. `own` is this process.
///
/// # Errors
///
/// When there is none, or several, or it is none that can be watched.
pub fn find(root: &Root, asked: &str, own: u32) -> Result<Process, WatchError> {
    let found = match asked.parse() {
        Ok(pid) => by_id(root, pid, own),
        Err(_) => by_name(root, asked, own),
    };
    found.map_err(|error| if root.has_processes() { error } else { WatchError::NoProc })
}

/// Whether anything runs with the id `asked` for, as a process or as one of its threads, or by that name.
///
/// # Errors
///
/// When nothing does: what would be seen of it is nothing.
pub fn is_there(root: &Root, asked: &str) -> Result<(), WatchError> {
    let is_there = match asked.parse::<u32>() {
        Ok(pid) => Status::read(root, pid).reading.text().is_some(),
        Err(_) => called(root, asked).next().is_some() || !by_how_it_was_started(root, asked, 0).is_empty(),
    };
    if is_there { Ok(()) } else { Err(WatchError::not_there(asked)) }
}

fn by_id(root: &Root, pid: u32, own: u32) -> Result<Process, WatchError> {
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
    if ProcessStat::read(root, pid).is_some_and(|stat| stat.is_of_the_kernel()) {
        return Err(WatchError::Kernel { pid, name });
    }
    Ok(Process { pid, name })
}

/// Processes by the name that `ps` shows, which the kernel cuts after 15 letters.
fn called<'a>(root: &'a Root, name: &str) -> impl Iterator<Item = u32> + use<'a> {
    let cut: String = name.chars().take(15).collect();
    let is_called = move |pid: &u32| root.read(&format!("/proc/{pid}/comm")).is_ok_and(|comm| comm == cut);
    root.list("/proc").into_iter().filter_map(|entry| entry.parse().ok()).filter(is_called)
}

fn by_name(root: &Root, name: &str, own: u32) -> Result<Process, WatchError> {
    let called: Vec<u32> = called(root, name).filter(|pid| *pid != own).collect();
    let pids = if called.is_empty() { by_how_it_was_started(root, name, own) } else { called };
    match pids.as_slice() {
        [] => Err(WatchError::NoName { name: name.to_owned() }),
        [pid] => by_id(root, *pid, own),
        _ => {
            let first = first_of(root, &pids);
            Err(WatchError::Several { name: name.to_owned(), pids, first })
        }
    }
}

/// Processes that were started under a name, whatever they call themselves now: by their first word, their program's file, or the
/// script that an interpreter was given.
fn by_how_it_was_started(root: &Root, name: &str, own: u32) -> Vec<u32> {
    let pids = root.list("/proc").into_iter().filter_map(|entry| entry.parse::<u32>().ok());
    let is_meant = |pid: &u32| {
        let words = words(root, *pid);
        let script = words.iter().skip(1).find(|word| !word.starts_with('-'));
        let file = root.target(&format!("/proc/{pid}/exe"));
        // What was replaced on the disk while it runs.
        let file = file.as_deref().map(|file| file.strip_suffix(" (deleted)").unwrap_or(file));
        let is_script = || script.is_some_and(|script| is_script(script) && last_part(script) == name);
        words.first().is_some_and(|word| last_part(word) == name)
            || file.is_some_and(|file| last_part(file) == name)
            || is_script()
    };
    pids.filter(|pid| *pid != own).filter(is_meant).collect()
}

/// The command line of a process; none of a thread of the kernel, or of one that has ended.
fn words(root: &Root, pid: u32) -> Vec<String> {
    let text = root.read(&format!("/proc/{pid}/cmdline")).unwrap_or_default();
    text.split('\0').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Whether a word of a command line is the file of a program's text.
fn is_script(word: &str) -> bool {
    Path::new(word).extension().is_some_and(|ending| !ending.is_empty())
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The one of several processes from which all others come.
fn first_of(root: &Root, pids: &[u32]) -> Option<u32> {
    pids.iter().copied().find(|first| pids.iter().all(|pid| pid == first || comes_from(root, *pid, *first)))
}

/// Whether a process was started by another one, or by one that it has started.
fn comes_from(root: &Root, pid: u32, first: u32) -> bool {
    /// No program starts the next one from one that deep.
    const DEEPEST: usize = 64;
    let parent = |pid: &u32| Status::read(root, *pid).parent().filter(|parent| *parent > 1);
    std::iter::successors(parent(&pid), parent).take(DEEPEST).any(|parent| parent == first)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Processes: id, name, state, flags; each has the parent 1.
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
        let wanted = Process { pid: 7, name: "loop) S 1".to_owned() };
        assert_eq!(find(&root, "7", 1).unwrap(), wanted);
        assert_eq!(find(&root, "loop) S 1", 1).unwrap(), wanted);
    }

    #[test]
    fn a_long_name_is_cut_as_the_kernel_cuts_it() {
        let (_folder, root) = machine(&[(7, "ros2_control_no", "S", 0)]);
        assert_eq!(find(&root, "ros2_control_node", 1).unwrap().pid, 7);
    }

    #[test]
    fn what_does_not_run_is_known_at_once() {
        let (_folder, root) = machine(&[(2, "kthreadd", "S", 0x20_8040), (7, "ros2_control_no", "S", 0)]);
        for there in ["2", "7", "kthreadd", "ros2_control_node"] {
            assert!(is_there(&root, there).is_ok(), "{there}");
        }
        assert!(matches!(is_there(&root, "77"), Err(WatchError::NoProcess { pid: 77 })));
        assert!(matches!(is_there(&root, "nosuch"), Err(WatchError::NoName { .. })));
    }

    #[test]
    fn what_cannot_be_watched_is_told_apart() {
        let (_folder, root) = machine(&[
            (2, "kthreadd", "S", 0x20_8040),
            (7, "dead", "Z (zombie)", 0),
            (8, "x", "S", 0),
            (9, "x", "S", 0),
        ]);
        let error = |asked: &str| find(&root, asked, 8).unwrap_err();
        assert!(matches!(error("2"), WatchError::Kernel { pid: 2, .. }));
        assert!(matches!(error("7"), WatchError::Zombie { pid: 7, parent: 1, .. }));
        assert!(matches!(error("8"), WatchError::Myself { pid: 8 }));
        assert!(matches!(error("77"), WatchError::NoProcess { pid: 77 }));
        assert!(matches!(error("nobody"), WatchError::NoName { .. }));
        let bare = tempfile::tempdir().unwrap();
        for asked in ["8", "x"] {
            assert!(matches!(find(&Root::at(bare.path()), asked, 1), Err(WatchError::NoProc)), "{asked}");
        }
        let several = find(&root, "x", 1).unwrap_err();
        assert_eq!(several.to_string(), "2 processes are called `x`: 8, 9");
        assert_eq!(several.hint().unwrap(), "give one of them, such as `howlate watch 8`");
    }

    #[test]
    fn one_that_calls_itself_otherwise_is_found_by_how_it_was_started() {
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
        let found = |name: &str| find(&root, name, 1).map(|one| one.pid).ok();
        assert_eq!((found("ctl2"), found("loop.py"), found("plan")), (Some(7), Some(8), Some(9)));
        assert_eq!((found("ctl3"), found("control")), (None, Some(7)), "that is an argument");
        assert!(is_there(&root, "ctl2").is_ok());
    }

    #[test]
    fn of_several_the_one_is_named_that_started_the_others() {
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
        let first = |name: &str| match find(&root, name, 1) {
            Err(WatchError::Several { first, .. }) => first,
            other => panic!("{other:?}"),
        };
        assert_eq!((first("nginx"), first("x")), (Some(29), None));
        let hint = find(&root, "nginx", 1).unwrap_err().hint().unwrap();
        assert!(hint.contains("`howlate watch --follow 29`"), "{hint}");
    }
}
