//! The process that is meant by an id or a name.

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

/// By the name that `ps` shows, which the kernel cuts after 15 letters.
fn by_name(root: &Root, name: &str, own: u32) -> Result<Process, WatchError> {
    let cut: String = name.chars().take(15).collect();
    let is_called = |pid: &u32| root.read(&format!("/proc/{pid}/comm")).is_ok_and(|comm| comm == cut);
    let all = root.list("/proc").into_iter().filter_map(|entry| entry.parse().ok());
    let pids: Vec<u32> = all.filter(|pid| *pid != own).filter(is_called).collect();
    match pids.as_slice() {
        [] => Err(WatchError::NoName { name: name.to_owned() }),
        [pid] => by_id(root, *pid, own),
        _ => Err(WatchError::Several { name: name.to_owned(), pids }),
    }
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
}
